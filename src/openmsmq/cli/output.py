"""How commands print: tables and words for people, JSON lines for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

UNWRAPPED: Final = 10_000
"Columns for a program: a line is wrapped for a person and left whole otherwise."
LONG_WORK: Final = 5_000
"Messages that take long enough for a progress bar."
_UNKNOWN: Final = "\N{REPLACEMENT CHARACTER}"
_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")
_AGES: Final = ((2 * 86_400, 86_400, "d"), (2 * 3_600, 3_600, "h"), (120, 60, "min"))

Advance = Callable[[int], None]


def print_json(document: Mapping[str, Any]) -> None:
    """One object, one line; ASCII, so that any text survives any terminal and pipe."""
    sys.stdout.write(json.dumps(document) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table without lines; a column whose name begins with `>` is set to the right."""
    if not sys.stdout.isatty():
        _print_plain(columns, [[printable(str(cell)) for cell in row] for row in rows])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        right = column.startswith(">")
        table.add_column(
            column.removeprefix(">"), justify="right" if right else "left", no_wrap=right
        )
    for row in rows:
        table.add_row(*(printable(str(cell)) for cell in row))
    _print(table)


def _print_plain(columns: Sequence[str], rows: list[list[str]]) -> None:
    """The same for a program: lines of any length, and thousands of them in no time."""
    from rich.cells import cell_len

    lines = [[column.removeprefix(">") for column in columns], *rows]
    widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        cells = []
        for column, cell, width in zip(columns, line, widths, strict=True):
            space = " " * (width - cell_len(cell))
            cells.append(space + cell if column.startswith(">") else cell + space)
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def print_properties(properties: Iterable[tuple[str, object]]) -> None:
    """Names and values, one pair on each line."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in properties:
        table.add_row(name, printable(str(value)))
    _print(table)


def _print(table: Table) -> None:
    """A table; for a program without the spaces that fill up its lines."""
    made = console()
    if sys.stdout.isatty():
        made.print(table)
        return
    with made.capture() as capture:
        made.print(table)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def console(*, quiet: bool = False) -> Console:
    """Where text for people goes; nowhere if it is quiet."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else UNWRAPPED
    return Console(highlight=False, markup=False, emoji=False, width=width, quiet=quiet)


@contextmanager
def progress(doing: str, total: int, *, shown: bool = True) -> Iterator[Advance]:
    """A bar on stderr for long work that a person waits for; gives what moves it on."""
    if not (shown and total >= LONG_WORK and sys.stderr.isatty()):
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda count: bar.advance(task, count)


def printable(text: str, keep: str = "") -> str:
    """Text without what would command a terminal; messages come from anywhere."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else _UNKNOWN for c in text)


def is_like(name: str, pattern: str) -> bool:
    """Whether a pattern fits the name of a queue or its last part, whatever the case."""
    name, pattern = name.lower(), pattern.lower()
    return any(fnmatchcase(form, pattern) for form in (name, name.rpartition("\\")[2]))


def size_text(size: int) -> str:
    """A number of bytes as people say it."""
    if size < 1024:
        return f"{size} B"
    power = 1
    while power < len(_UNITS) and size >= 1000 << 10 * power:
        power += 1
    value = size / (1 << 10 * power)
    return f"{value:.{value < 100:d}f} {_UNITS[power - 1]}"


def quota_text(kib: int | None) -> str:
    """A quota as people say it."""
    return "no limit" if kib is None else size_text(kib * 1024)


def age_text(seconds: float | None) -> str:
    """A time span as people say it; nothing for None."""
    if seconds is None:
        return ""
    for least, unit, name in _AGES:
        if seconds >= least:
            return f"{seconds // unit:.0f} {name}"
    return f"{seconds:.0f} s"


def count_text(count: int, what: str = "message") -> str:
    """`1 message`, `2 messages`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def time_json(moment: datetime | float) -> str:
    """A moment in ISO 8601, UTC."""
    if not isinstance(moment, datetime):
        moment = datetime.fromtimestamp(moment, UTC)
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def time_text(moment: datetime | float) -> str:
    """A moment as people read it, in UTC, to the millisecond if it has them."""
    return time_json(moment).replace("T", " ").replace("Z", " UTC")
