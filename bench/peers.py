"""Durable end to end, 1 KiB: ours beside other queue managers and beside an upper bound.

`python -m bench.peers` runs those that are installed, in turn, so that a change of the machine's
mood hits all of them, and draws the chart of docs/performance.md. `make bench-peers` installs what
is missing first.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import race
from bench.peer_nats import Nats
from bench.peer_rabbitmq import RabbitMQ
from bench.peer_redis import Redis
from bench.prototype_service import Prototype
from bench.service import Ours
from openmsmq.pipelines.reports.charts import bars

ROUNDS = 3
CHART = Path(__file__).parent.parent / "docs" / "pictures" / "service-speed.svg"
TITLE = "Durable messages per second, end to end (1 KiB, Python clients)"
FLOORS = {RabbitMQ.title: 4.0, Nats.title: 2.0, Redis.title: 1.2, Prototype.title: 0.5}
"How many times as fast as each ours is to be."


def measure(contestant: race.Contestant) -> float:
    """Messages a second of one of them, started for this."""
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    try:
        address = contestant.start(folder)
        try:
            return race.run(contestant.module, address, contestant.count)
        finally:
            contestant.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def rates() -> dict[str, float]:
    """Messages a second of all that are installed; the best of a few rounds."""
    everyone: list[race.Contestant] = [Ours(), Prototype(), Redis(), Nats(), RabbitMQ()]
    installed = [one for one in everyone if one.is_installed()]
    best = dict.fromkeys((one.title for one in installed), 0.0)
    for _ in range(ROUNDS):
        for one in installed:
            best[one.title] = max(best[one.title], measure(one))
    return best


def lines(found: dict[str, float]) -> Iterator[str]:
    """The table, line by line."""
    ours = found[Ours.title]
    yield f"{'durable end to end, 1 KiB':42s}{'':>14s}{'ours is':>10s}{'wanted':>8s}"
    for title, rate in found.items():
        ratio = "" if title == Ours.title else f"{ours / rate:9.2f}x{FLOORS[title]:7.1f}x"
        yield f"  {title:40s}{rate:12,.0f}/s{ratio}"


def main() -> None:
    found = rates()
    for line in lines(found):
        print(line, flush=True)
    CHART.write_text(bars(TITLE, found, first=Ours.title))


if __name__ == "__main__":
    main()
