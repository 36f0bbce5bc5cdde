"""What the demonstration looks like."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from openmsmq.demo.counts import Count
from openmsmq.demo.orders import KILLED, RUNNING, Moment
from openmsmq.demo.show import PLOT_HEIGHT, PLOT_WIDTH, Screen, plot, reading_view, transfer_view


def screen(*, terminal: bool = False) -> tuple[Screen, StringIO]:
    file = StringIO()
    return Screen(Console(file=file, force_terminal=terminal, width=100, color_system=None)), file


def test_steps_are_numbered_and_timed() -> None:
    shown, file = screen()
    for title in ("start", "end"):
        with shown.step(title) as update:
            update("not seen by a program")
    shown.detail("more")
    lines = file.getvalue().splitlines()
    assert [line[:8].rstrip() for line in lines] == ["1  start", "2  end", "    more"]
    assert lines[0].endswith(" s")
    assert "not seen" not in file.getvalue()


def test_a_terminal_shows_how_far_it_is() -> None:
    shown, file = screen(terminal=True)
    with shown.step("send") as update:
        update(reading_view(100, 140))
    assert "100 of 100" in file.getvalue()


def test_a_manager_that_died_is_reported() -> None:
    console = Console(file=StringIO(), width=100)
    with console.capture() as captured:
        console.print(transfer_view(100, Moment(0.1, 60, 50, RUNNING)))
        console.print(transfer_view(100, Moment(0.2, 60, 50, KILLED)))
    assert "both managers run" in captured.get()
    assert "the office was killed" in captured.get()
    assert captured.get().count("60 of 100") == 2


def test_counts_that_are_wrong_are_marked() -> None:
    shown, file = screen()
    shown.say("hello")
    shown.counts([Count("a", 1000, 1000), Count("b", 1000, 999)])
    _, _, right, wrong = file.getvalue().splitlines()
    assert right.split() == ["a", "1,000", "1,000", "exact"]
    assert wrong.split() == ["b", "1,000", "999", "WRONG"]


def test_the_plot_has_a_bar_where_orders_arrived() -> None:
    moments = [
        Moment(0.0, 0, 0, RUNNING),
        Moment(1.0, 40, 40, RUNNING),
        Moment(2.0, 80, 40, KILLED),
        Moment(3.0, 80, 80, RUNNING),
    ]
    title, *rows, axis, times, _ = [line for line, _ in plot(moments)]
    assert "up to 40 a second" in title
    assert len(rows) == PLOT_HEIGHT
    assert rows[-1] == "│█ █"
    assert axis == "└─┄─"
    assert times.split() == ["0", "s", "3.0", "s"]


def test_the_plot_is_never_wider_than_a_terminal() -> None:
    moments = [Moment(n / 10, n, n, RUNNING) for n in range(1000)]
    shown, file = screen()
    shown.plot(moments)
    assert max(map(len, file.getvalue().splitlines())) <= PLOT_WIDTH + 1
