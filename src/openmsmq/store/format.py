"""The version of what is in the tables, and the way from older versions to this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.errors import StoreDamaged, StoreForeign, StoreTooNew
from openmsmq.store.migrations import (
    to_2,
    to_3,
    to_4,
    to_5,
    to_6,
    to_7,
    to_8,
    to_9,
    to_10,
    to_11,
    to_12,
    to_13,
)

FORMAT: Final = 13
"The version that this program reads and writes."
FORMAT_KEY: Final = b"format"
_MARK: Final = b"OpenMSMQ "

Migration = Callable[[Writer], None]
MIGRATIONS: Final[Mapping[int, Migration]] = {
    1: to_2,
    2: to_3,
    3: to_4,
    4: to_5,
    5: to_6,
    6: to_7,
    7: to_8,
    8: to_9,
    9: to_10,
    10: to_11,
    11: to_12,
    12: to_13,
}
"From each older version to the next; each sees the rows as the one before has left them."


def format_row(version: int = FORMAT) -> bytes:
    """What the row `FORMAT_KEY` of META holds."""
    return _MARK + str(version).encode()


def read_format(row: bytes | None, where: object) -> int:
    """The version of a store that can be opened, after migration if it is an older one."""
    if row is None or not row.startswith(_MARK):
        raise StoreForeign(f"{where} has no format row")
    digits = row.removeprefix(_MARK)
    if not digits.isdigit() or not int(digits):
        raise StoreDamaged(f"{where} has the format row {row!r}")
    version = int(digits)
    if version > FORMAT:
        raise StoreTooNew(f"{where} has format {version}, this program knows {FORMAT}")
    return version


def migrate(
    writer: Writer,
    version: int,
    *,
    to: int = FORMAT,
    migrations: Mapping[int, Migration] = MIGRATIONS,
) -> None:
    """Take the rows from `version` step by step to another, all in the caller's transaction."""
    for step in range(version, to):
        migrations[step](writer)
    writer.put(Table.META, FORMAT_KEY, format_row(to))
