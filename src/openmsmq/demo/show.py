"""How the demonstration looks in a terminal; a program gets the same in plain lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from math import ceil
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from openmsmq.demo.counts import Count
from openmsmq.demo.orders import KILLED, Moment

Update = Callable[[RenderableType], None]
PLOT_WIDTH: Final = 72
PLOT_HEIGHT: Final = 6
_BAR_WIDTH: Final = 40
_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_INDENT: Final = 4


class Screen:
    """Prints steps as they are taken."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._number = 0

    def say(self, text: str = "", style: str = "") -> None:
        """A line."""
        self._console.print(Text(text, style))

    def detail(self, text: str) -> None:
        """A line that belongs to the last step."""
        self._console.print(Text(" " * _INDENT + text, "dim"))

    @contextmanager
    def step(self, title: str) -> Iterator[Update]:
        """Something that takes time; gives what shows how far it is."""
        self._number += 1
        head = f"{self._number}  {title}"
        began = time.monotonic()
        if not self._console.is_terminal:
            yield lambda what: None
        else:
            spinner = Spinner("dots", Text(f"{self._number}  {title}", "bold"))
            with Live(spinner, console=self._console, transient=True) as live:

                def update(what: RenderableType) -> None:
                    inside = Padding(what, (0, 0, 0, _INDENT))
                    live.update(Group(spinner, inside))

                yield update
        took = f"  {time.monotonic() - began:.1f} s"
        self._console.print(Text.assemble((head, "bold"), (took, "dim")))

    def counts(self, counts: Sequence[Count]) -> None:
        """What was counted beside what was expected."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("COUNTED", no_wrap=True)
        table.add_column("EXPECTED", justify="right", no_wrap=True)
        table.add_column("FOUND", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for one in counts:
            mark = Text("exact", "green") if one.is_right else Text("WRONG", "bold red")
            table.add_row(one.what, f"{one.expected:,}", f"{one.found:,}", mark)
        self._console.print(table)

    def plot(self, moments: Sequence[Moment]) -> None:
        """Orders that arrived, over time."""
        for line, style in plot(moments):
            self._console.print(Text(line, style))


def transfer_view(count: int, moment: Moment) -> RenderableType:
    """How far orders are on their way."""
    table = Table.grid(padding=(0, 1))
    for name, done in (("sent", moment.sent), ("arrived", moment.arrived)):
        bar = ProgressBar(total=count, completed=done, width=_BAR_WIDTH)
        table.add_row(name, bar, f"{done:,} of {count:,}")
    if moment.state == KILLED:
        return Group(
            table, Text("the office was killed (SIGKILL); the shop keeps its orders", "red")
        )
    return Group(table, Text("both managers run", "green"))


def reading_view(count: int, done: int) -> RenderableType:
    """How far Spark is."""
    table = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=count, completed=min(done, count), width=_BAR_WIDTH)
    table.add_row("read", bar, f"{min(done, count):,} of {count:,}")
    return table


def plot(moments: Sequence[Moment]) -> list[tuple[str, str]]:
    """Orders that arrived in each part of the time, as lines with their styles."""
    total = moments[-1].seconds
    width = max(1, min(PLOT_WIDTH, len(moments) - 1))
    arrived = [0.0] * width
    dead = [False] * width
    for before, after in pairwise(moments):
        first, last = before.seconds / total * width, after.seconds / total * width
        for place in range(int(first), min(width, ceil(last))):
            share = (min(last, place + 1) - max(first, place)) / (last - first)
            arrived[place] += (after.arrived - before.arrived) * share
            dead[place] |= after.state == KILLED
    most = max(arrived) or 1.0
    rate = most * width / total
    lines = [(f"orders that arrived, up to {rate:,.0f} a second", "bold")]
    for row in reversed(range(PLOT_HEIGHT)):
        heights = (value / most * PLOT_HEIGHT - row for value in arrived)
        cells = (_EIGHTHS[max(0, min(8, round(height * 8)))] for height in heights)
        lines.append(("│" + "".join(cells), "blue"))
    lines.append(("└" + "".join("┄" if one else "─" for one in dead), ""))
    end = f"{total:.1f} s"
    lines.append((f" 0 s{end:>{max(len(end) + 1, width - 3)}}", "dim"))
    lines.append((" ┄ the office was dead: killed (SIGKILL), then started again", "dim"))
    return lines
