"""Numbers of a manager over a day: a point each minute, also while no one looks.

They are kept by the console itself, with its own login at the manager; what a person sees of them
is decided by what the manager lets that person see now.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from openmsmq.client._async.manager import Manager
from openmsmq.console.desk.kinds import letters_in, waiting_in
from openmsmq.console.limits import MINUTE_QUEUES_MAX, MINUTES
from openmsmq.console.sampler import COUNTS, LEVELS
from openmsmq.errors import AccessDenied, MQError
from openmsmq.types.queues import QueueInfo

MINUTE_S: Final = 60.0
_SPARE: Final = 60
"Points that are forgotten at once, so that this is rare."
Series = dict[str, list[float]]


class PointColumns:
    """Points in time with some numbers each, in 8 bytes a number."""

    def __init__(self, names: Sequence[str]) -> None:
        self._columns = {name: array("d") for name in ("time", *names)}

    def add(self, *values: float) -> None:
        """One more point: its time, then the numbers."""
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)
            if len(column) > MINUTES + _SPARE:
                del column[: len(column) - MINUTES]

    def since(self, time: float) -> Series:
        """All numbers from a time on."""
        times = self._columns["time"]
        start = max(0, len(times) - MINUTES)
        start = next((at for at in range(start, len(times)) if times[at] >= time), len(times))
        return {name: column[start:].tolist() for name, column in self._columns.items()}


class Minutes:
    """What the queues of a manager held, and how much came and went."""

    def __init__(self) -> None:
        self._totals = PointColumns((*LEVELS, *COUNTS))
        self._queues: dict[str, PointColumns] = {}
        self._disk = PointColumns(("free",))

    def add(self, at: float, infos: Iterable[QueueInfo], counts: Mapping[str, int]) -> None:
        """Keep a point."""
        found = {one.name: one for one in infos}
        levels = waiting_in(found.values()), letters_in(found.values())
        self._totals.add(at, *map(float, (*levels, *(counts.get(name, 0) for name in COUNTS))))
        for name in [name for name in self._queues if name not in found]:
            del self._queues[name]
        busy = sorted(found.values(), key=lambda one: -(one.arrived + one.messages))
        for one in busy:
            if one.name not in self._queues and len(self._queues) >= MINUTE_QUEUES_MAX:
                continue
            series = self._queues.setdefault(
                one.name, PointColumns(("messages", "arrived", "received"))
            )
            series.add(at, float(one.messages), float(one.arrived), float(one.received))

    def add_free(self, at: float, free: int) -> None:
        """Keep how many bytes are free on the disk."""
        self._disk.add(at, float(free))

    def disk(self, since: float) -> Series:
        """Free bytes of the disk from a time on; none if they are not known."""
        return self._disk.since(since)

    def totals(self, since: float) -> Series:
        """The manager from a time on: messages, and how much happened in a second."""
        return with_rates(self._totals.since(since))

    def queue(self, name: str, since: float) -> Series:
        """A queue from a time on; empty if it has no series."""
        series = self._queues.get(name)
        return {} if series is None else with_rates(series.since(since))


def with_rates(series: Series) -> Series:
    """A series in which counts became rates; the first point is needed to know them."""
    times = series["time"]
    found: Series = {}
    for name, counts in series.items():
        if name == "time" or name in LEVELS:
            found[name] = counts[1:]
        else:
            found[name] = [
                round(max(0.0, counts[at] - counts[at - 1]) / (times[at] - times[at - 1] or 1), 2)
                for at in range(1, len(times))
            ]
    return found


class MinuteKeeper:
    """Asks a manager once a minute."""

    def __init__(
        self,
        minutes: Minutes,
        connect: Callable[[], Awaitable[Manager]],
        clock: Callable[[], float],
        free: Callable[[], int] | None = None,
    ) -> None:
        """`clock` gives seconds since 1970 UTC, `free` the bytes that are free on the disk."""
        self._minutes = minutes
        self._free = free
        self._connect = connect
        self._clock = clock

    async def run(self) -> None:
        """Ask again and again, until it is cancelled, or the manager does not let the console."""
        while True:
            try:
                await self.keep()
            except AccessDenied:
                return
            except (MQError, OSError):
                pass  # a manager that is away leaves a gap
            await asyncio.sleep(MINUTE_S)

    async def keep(self) -> None:
        """Keep one point."""
        if self._free is not None:
            self._minutes.add_free(self._clock(), self._free())
        manager = await self._connect()
        infos = await manager.queues(everything=True)
        counts: Mapping[str, int] = {}
        with suppress(MQError):
            counts = await manager.statistics()
        self._minutes.add(self._clock(), infos, counts)
