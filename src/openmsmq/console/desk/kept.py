"""What people tell the console: kept in a file of its manager, or while the console runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from openmsmq.access.owner_file import OwnerFile
from openmsmq.errors import StorageError
from openmsmq.runtime.logs import log_event

_log: Final = logging.getLogger(__name__)


class KeptDamaged(StorageError):
    """A file of the console makes no sense, and does not count; remove it."""


class Remark(msgspec.Struct, frozen=True):
    """Something that was said about something else."""

    @property
    def key(self) -> str:
        """What it is about: there is one remark on each."""
        raise NotImplementedError


R = TypeVar("R", bound=Remark)


class KeptRemarks(Generic[R]):
    """Remarks by key; those of a file are what it says now: other processes change it, too."""

    def __init__(self, kind: type[R], path: Path | None = None) -> None:
        """Without a path they are gone when the console ends."""
        self._values: dict[str, R] = {}
        self._file: OwnerFile[R] | None = None

        def decode(given: dict[str, Any]) -> tuple[str, R]:
            try:
                value = msgspec.convert(given, kind)
            except msgspec.ValidationError as error:
                raise ValueError(str(error)) from None
            return value.key, value

        if path is not None:
            self._file = OwnerFile(path, path.stem, decode, msgspec.to_builtins, KeptDamaged)

    def read(self) -> dict[str, R]:
        """All of them; none if the file cannot be read, which the log says."""
        if self._file is None:
            return self._values
        try:
            self._file.refresh()
        except StorageError as error:
            log_event(_log, "console", level=logging.ERROR, error=error)
        return self._file.values

    @contextmanager
    def changing(self) -> Iterator[dict[str, R]]:
        """Change them, while no other process does."""
        if self._file is None:
            yield self._values
            return
        with self._file.changing() as values:
            yield values
