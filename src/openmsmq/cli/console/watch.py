"""`openmsmq watch`: the queues of a manager, live."""

from __future__ import annotations

import time
from collections.abc import Mapping

import click
from rich.live import Live
from rich.table import Table

from openmsmq.cli.options import ManagerLocation, manager_options
from openmsmq.cli.output import console, print_json
from openmsmq.console.attention import age_text
from openmsmq.console.filters import is_like
from openmsmq.types.queues import QueueInfo


@click.command()
@click.argument("pattern", default="*")
@click.option("--interval", type=click.FloatRange(0.1), default=1.0, help="Seconds between looks.")
@click.option("--count", type=click.IntRange(1), help="Stop after this many looks.")
@click.option("--all", "everything", is_flag=True, help="Also system queues and empty journals.")
@manager_options
def watch(
    pattern: str,
    *,
    location: ManagerLocation,
    as_json: bool,
    interval: float,
    count: int | None,
    everything: bool,
) -> None:
    """Watch the queues of a manager live: message counts and rates.

    PATTERN chooses queues by name; * and ? are wild.

    \b
    Examples:
      openmsmq watch
      openmsmq watch 'order*' --interval 5
      openmsmq watch --count 1 --json
    """
    before: Mapping[str, int] = {}
    looks, last = 0, 0.0
    wanted = pattern if "*" in pattern else f"*{pattern}*"
    with location.open() as manager, Live(console=console(), auto_refresh=False) as live:
        while count is None or looks < count:
            if looks:
                time.sleep(interval)
            looks += 1
            now = time.monotonic()
            infos = [
                info for info in manager.queues(everything=everything) if is_like(info.name, wanted)
            ]
            seconds = now - last if before else 0.0
            if as_json:
                for info in infos:
                    change = _change(info, before, seconds)
                    print_json({"name": info.name, "messages": info.messages, "change": change})
            else:
                live.update(_table(infos, before, seconds), refresh=True)
            before, last = {info.name: info.messages for info in infos}, now


def _change(info: QueueInfo, before: Mapping[str, int], seconds: float) -> float | None:
    if not seconds or info.name not in before:
        return None
    return round((info.messages - before[info.name]) / seconds, 1)


def _table(infos: list[QueueInfo], before: Mapping[str, int], seconds: float) -> Table:
    table = Table("queue", box=None, header_style="dim")
    for title in ("messages", "change", "bytes", "oldest"):
        table.add_column(title, justify="right")
    table.add_column("state")
    for info in infos:
        change = _change(info, before, seconds)
        table.add_row(
            info.name,
            f"{info.messages:,}",
            "" if change is None else f"{change:+g}/s",
            f"{info.bytes:,}",
            "" if info.oldest_age is None else age_text(info.oldest_age),
            info.state,
        )
    return table
