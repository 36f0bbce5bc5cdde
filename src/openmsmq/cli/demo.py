"""`openmsmq demo`: the whole product in two minutes."""

from __future__ import annotations

import signal
from dataclasses import asdict
from pathlib import Path
from types import FrameType

import click

from openmsmq.cli.options import Refusal, json_option
from openmsmq.cli.output import console, print_json
from openmsmq.demo.counts import are_right
from openmsmq.demo.live import LiveShow
from openmsmq.demo.play import ORDERS, Outcome, Play
from openmsmq.demo.show import Screen
from openmsmq.errors import ServiceNotAvailable
from openmsmq.pipelines.faults import PipelineError


@click.command()
@click.option(
    "--orders",
    "count",
    metavar="N",
    type=click.IntRange(100, 10_000_000),
    default=ORDERS,
    show_default=True,
    help="How many orders are sent.",
)
@click.option(
    "--keep",
    is_flag=True,
    help="Leave the queue managers running, with orders going on and a console to watch them.",
)
@click.option(
    "--plot",
    metavar="FILE.svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw how the orders arrived.",
)
@json_option
def demo(count: int, *, keep: bool, plot: Path | None, as_json: bool) -> None:
    """Run the main job from end to end, and count that nothing was lost or doubled.

    Two queue managers start on this computer, in a directory of their own. Orders go from one to
    the other in transactions over MSMQ's binary protocol; the receiver is killed half-way and
    started again. Spark reads the queue into a table and sends invoices to another queue. It needs
    Java 17, the extra openmsmq[spark] and about a minute, and leaves nothing behind without --keep.

    Exits with 1 if any count is wrong.

    \b
    Examples:
      openmsmq demo
      openmsmq demo --orders 1000000 --plot orders.svg
      openmsmq demo --keep
    """
    signal.signal(signal.SIGTERM, _interrupt)
    screen = Screen(console(quiet=as_json))
    try:
        _play(screen, count, keep=keep, plot=plot, as_json=as_json)
    except PipelineError as error:
        raise Refusal(str(error)) from error


def _play(screen: Screen, count: int, *, keep: bool, plot: Path | None, as_json: bool) -> None:
    with Play(screen, count, keep=keep) as play:
        outcome = play.run()
        if plot is not None:
            plot.write_text(outcome.drawing())
        if as_json:
            print_json({"counts": [asdict(one) for one in outcome.counts]})
        _tell(screen, outcome)
        if keep:
            _how_to_go_on(screen, play)
    if not are_right(outcome.counts):
        raise Refusal("some counts are wrong")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _tell(screen: Screen, outcome: Outcome) -> None:
    screen.say()
    screen.plot(outcome.moments)
    screen.say()
    screen.counts(outcome.counts)
    screen.say()
    if are_right(outcome.counts):
        screen.say(
            "every order arrived exactly once and in order, and every cent is there", "green"
        )


def _how_to_go_on(screen: Screen, play: Play) -> None:
    """What there is to look at, and how it ends."""
    shop, office = play.managers.shop, play.managers.office
    live = LiveShow(play.folder, play.managers)
    screen.say()
    try:
        link = live.start()
        screen.say("Both managers are running, and orders go on. Watch them in a browser:", "bold")
        screen.say(f"  {link}")
    except ServiceNotAvailable as error:
        screen.say(f"There is no console to watch them in: {error.detail}", "red")
    screen.say("Both managers are running. Look around:")
    for line in (
        f"openmsmq queue list --manager {office.address}",
        f"openmsmq message peek invoices --manager {office.address}",
        f"openmsmq outgoing list --manager {shop.address}",
        f"openmsmq doctor --manager {shop.address}",
    ):
        screen.say(f"  {line}")
    screen.say(f"The table is in {play.folder / 'spark' / 'orders'} (Parquet). To end all this:")
    pids = " ".join(map(str, (*live.pids, shop.pid, office.pid)))
    screen.say(f"  kill {pids} && rm -r {play.folder}")
