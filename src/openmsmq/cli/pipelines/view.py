"""What a person or a program sees while a pipeline runs, and how they stop it."""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final

from openmsmq.cli.output import age_text, console, print_json, printable
from openmsmq.pipelines.run import Audience
from openmsmq.pipelines.work import Progress

if TYPE_CHECKING:
    from rich.table import Table

SHOWN: Final = 10
"Batches on the screen."
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """Counts requests to stop; before Spark is there the first one ends the process."""

    def __init__(self) -> None:
        self.count = 0
        self._is_started = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}
        self._install()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def started(self) -> None:
        """Spark is there, with a handler of its own for Ctrl-C."""
        self._is_started = True
        self._install()

    def _install(self) -> None:
        for number in _SIGNALS:
            signal.signal(number, self._came)

    def _came(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if not self._is_started:
            raise KeyboardInterrupt


@contextmanager
def view(*, as_json: bool, signals: Signals) -> Iterator[Audience]:
    """Who looks on: a program gets a line for each batch, a terminal a table that changes."""
    screen: Quiet
    if as_json:
        screen = JsonView()
    elif sys.stdout.isatty():
        screen = LiveView()
    else:
        screen = Quiet()

    def started() -> None:
        signals.started()
        screen.started()

    with screen:
        yield Audience(
            on_start=started,
            on_progress=screen.progress,
            on_rows=screen.rows,
            stopping=lambda: signals.count > 0,
            at_once=lambda: signals.count > 1,
        )


class Quiet:
    """Nothing but the rows that were asked for."""

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def started(self) -> None:
        """Spark is there."""

    def progress(self, progress: Progress) -> None:
        """A batch is done."""

    def rows(self, rows: list[dict[str, Any]]) -> None:
        """Rows of a `console` sink."""
        if rows:
            console().print(_rows_table(rows))


class JsonView(Quiet):
    """A JSON object for each batch."""

    def progress(self, progress: Progress) -> None:
        """A batch is done."""
        print_json({"event": "batch", **progress.document()})
        sys.stdout.flush()

    def rows(self, rows: list[dict[str, Any]]) -> None:
        """Rows of a `console` sink."""
        for row in rows:
            print_json({"event": "row", **{name: _plain(value) for name, value in row.items()}})


class LiveView(Quiet):
    """The newest batches, and what all of them have done."""

    def __init__(self) -> None:
        from rich.live import Live

        self._console = console()
        self._batches: deque[Progress] = deque(maxlen=SHOWN)
        self._total = 0
        self._live = Live("Spark starts", console=self._console, refresh_per_second=4)

    def __enter__(self) -> LiveView:
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.transient = not self._batches  # nothing is left of it
        self._live.stop()

    def started(self) -> None:
        """Spark is there."""
        self._live.update("The first batch is on its way", refresh=True)

    def progress(self, progress: Progress) -> None:
        """A batch is done."""
        self._batches.append(progress)
        self._total += progress.rows
        self._live.update(self._table())

    def rows(self, rows: list[dict[str, Any]]) -> None:
        """Rows of a `console` sink."""
        if rows:
            self._console.print(_rows_table(rows))

    def _table(self) -> Table:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("BATCH", "ROWS", "ROWS/S", "LAG", "BATCH TIME", "OLDEST WAITING", "ALL ROWS"):
            table.add_column(name, justify="right", no_wrap=True)
        for number, one in enumerate(self._batches, 1):
            total = f"{self._total:,}" if number == len(self._batches) else ""
            lag = "" if one.lag is None else f"{one.lag:,}"
            oldest = "" if one.oldest is None else age_text(one.oldest)
            seconds, rate = f"{one.seconds:.1f} s", f"{one.rate:,.0f}"
            table.add_row(str(one.batch), f"{one.rows:,}", rate, lag, seconds, oldest, total)
        return table


def _rows_table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in rows[0]:
        table.add_column(name)
    for row in rows:
        table.add_row(*(printable(str(_plain(value))) for value in row.values()))
    return table


def _plain(value: Any) -> Any:
    """A value of a row as JSON has it: bytes in hex, times as text."""
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return value if isinstance(value, str | int | float | bool | None) else str(value)
