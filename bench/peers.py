"""Durable end to end, 1 KiB: ours beside other queue managers and beside an upper bound.

`python -m bench.peers [ROUNDS [SHARE]]` runs those that are installed, in turn, so that a change of
the machine's mood hits all of them, and draws the chart of docs/performance.md. The median of the
rounds' ratios counts. `make bench-peers` installs what is missing first.

Each runs for a few seconds, or for a share of that: a burst, which the system keeps in its memory
until it is over, and no chart.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench import race
from bench.peer_nats import Nats
from bench.peer_rabbitmq import RabbitMQ
from bench.peer_redis import Redis
from bench.prototype_service import Prototype
from bench.service import Ours
from openmsmq.pipelines.reports.charts import bars

ROUNDS = 5
CHART = Path(__file__).parent.parent / "docs" / "pictures" / "service-speed.svg"
TITLE = "Durable messages per second, end to end (1 KiB, Python clients)"
FLOORS = {RabbitMQ.title: 9.0, Nats.title: 6.0, Redis().title: 4.0, Prototype.title: 0.6}
"How many times as fast as each ours is to be."
FLOOR_DIFFERENT = 0.5
"How many times as fast as the prototype ours is to be with sizes and labels that differ."
TICK = os.sysconf("SC_CLK_TCK")


class Pipelined(Ours):
    """Ours, whose receiver goes on while what it has seen is removed, as those of most peers do."""

    title = "OpenMSMQ, pipelined"
    module = "bench.pipelined"


class Different(Ours):
    """The same with messages that have sizes and labels of their own."""

    title = "OpenMSMQ, pipelined, all differ"
    module = "bench.different"


OWN = (Ours.title, Pipelined.title, Different.title)


class Run(NamedTuple):
    """One run of one of them."""

    rate: float
    sender: float
    "Microseconds of processor time for each message."
    receiver: float
    server: float
    memory: float
    "The most that the server had, in MiB."


def _family(pid: int) -> Iterator[int]:
    """A process and those that it has started."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from _family(int(child))


def _worked(pid: int) -> float:
    """Seconds of processor time of a process and of those that it has started."""
    fields = (
        Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split() for each in _family(pid)
    )
    return sum(sum(map(int, found[11:15])) for found in fields) / TICK


def _most_memory(pid: int) -> float:
    """The most memory of the largest of these processes in MiB."""

    def most(each: int) -> int:
        lines = Path(f"/proc/{each}/status").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)

    return max(map(most, _family(pid))) / 1024


def measure(contestant: race.Contestant, share: float = 1.0) -> Run:
    """One run of one of them, started for this."""
    count = int(contestant.count * share)
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    try:
        address = contestant.start(folder)
        try:
            pid = contestant.process.pid
            before = _worked(pid)
            finish = race.run(contestant.module, address, count)
            server = (_worked(pid) - before) / count * 1e6
            return Run(*finish, server, _most_memory(pid))
        finally:
            contestant.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def runs(rounds: int, share: float) -> dict[str, list[Run]]:
    """All that are installed, in turn."""
    everyone: list[race.Contestant] = [Ours(), Pipelined(), Different(), Prototype()]
    everyone += [Redis(), Redis("everysec"), Nats(), RabbitMQ()]
    installed = [one for one in everyone if one.is_installed()]
    found: dict[str, list[Run]] = {one.title: [] for one in installed}
    for _ in range(rounds):
        for one in installed:
            found[one.title].append(measure(one, share))
    return found


def lines(found: dict[str, list[Run]]) -> Iterator[str]:
    """The table, line by line."""
    yield f"{'durable end to end, 1 KiB':36s}{'':>12s}  sender server receiver   memory  ours is"
    yield f"{'':48s}  us of processors for each          pipelined (bar), not pipelined, all differ"
    for title, rows in found.items():
        run = Run(*(statistics.median(column) for column in zip(*rows, strict=True)))
        times = (
            f"{run.sender:5.1f}  {run.server:5.1f}    {run.receiver:5.1f} us {run.memory:5.0f} MiB"
        )
        ratio = "" if title in OWN else _ratios(found, title)
        yield f"  {title:34s}{run.rate:10,.0f}/s  {times}{ratio}"


def _ratios(found: dict[str, list[Run]], title: str) -> str:
    """How many times as fast ours is: pipelined, not pipelined, with messages that differ."""
    own = (Pipelined.title, Ours.title, Different.title)
    first, second, third = (_ratio(found[each], found[title]) for each in own)
    bar = f" ({FLOORS[title]}x)" if title in FLOORS else ""
    other = f" ({FLOOR_DIFFERENT}x)" if title == Prototype.title else ""
    return f"  {first:6.2f}x{bar}, {second:.2f}x, {third:.2f}x{other}"


def _ratio(ours: list[Run], others: list[Run]) -> float:
    """How many times as fast ours is, in the median of the rounds."""
    return statistics.median(own.rate / other.rate for own, other in zip(ours, others, strict=True))


def main(rounds: int = ROUNDS, share: float = 1.0) -> None:
    print(f"load average {os.getloadavg()[0]:.1f}", flush=True)
    found = runs(rounds, share)
    for line in lines(found):
        print(line, flush=True)
    if share == 1.0:
        rates = {each: statistics.median(run.rate for run in rows) for each, rows in found.items()}
        CHART.write_text(bars(TITLE, rates, first=Pipelined.title))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *map(float, sys.argv[2:]))
