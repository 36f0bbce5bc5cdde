"""Numbers over time: how much is in the queues of a manager, and how fast that changes.

One sampler asks a manager once a second, however many pages are open, and sends all of them what
has changed. It works only while someone looks, and less often where to ask takes long.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec

from openmsmq.client._async.manager import Manager
from openmsmq.console.desk.kinds import letters_in, waiting_in
from openmsmq.console.limits import EVENTS_KEPT, SAMPLES, SERIES_MAX
from openmsmq.errors import MQError
from openmsmq.types.queues import QueueInfo

INTERVAL_S: Final = 1.0
SHARE: Final = 20
"How much longer a sampler waits than a sample took, so that it takes a twentieth of the time."
COUNTS: Final = ("arrived", "received", "expired", "dead_lettered", "rejected", "delivered")
"What happened how often, of which there are rates."
LEVELS: Final = ("messages", "dead_letters")
"How much there is: messages that wait for programs, and dead letters."
Topics = frozenset[str] | None
"Queues that a page wants to hear of; None for all."
BACKLOG: Final = 100
"Events that wait for a page that does not take them."


@dataclass(frozen=True, slots=True)
class QueueSample:
    """How much is in a queue, and how much came and went since it was made."""

    messages: int
    bytes: int
    oldest_age: int | None
    state: str
    arrived: int
    received: int


class QueueRates(NamedTuple):
    """Messages a second of a queue; None while that is not known."""

    change: float | None = None
    arrived: float | None = None
    received: float | None = None

    @property
    def is_moving(self) -> bool:
        """Whether messages came or went."""
        return any(self)


class QueuePoint(NamedTuple):
    """A queue at a time."""

    at: float
    messages: int
    arrived: int
    received: int


class Sampler:
    """The numbers of one manager, as one login sees them."""

    def __init__(self, connect: Callable[[], Awaitable[Manager]]) -> None:
        self._connect = connect
        self._task: asyncio.Task[None] | None = None
        self._last: dict[str, QueueSample] = {}
        self._counts: Mapping[str, int] = {}
        self._at = 0.0
        self.number = 0
        "Of the last event."
        self.totals: deque[tuple[float, dict[str, float]]] = deque(maxlen=SAMPLES)
        "Messages and rates of the whole manager."
        self.queues: dict[str, deque[QueuePoint]] = {}
        "Queues over time."
        self._moving: set[str] = set()
        "Queues whose rates were not 0 in the last event: pages are to see when they are."
        self.listeners: dict[asyncio.Queue[bytes], Topics] = {}
        "Pages, and what they want to hear of."
        self._life = secrets.token_hex(4)
        "Identifiers of events of another sampler are not those of this one."
        self._kept: deque[tuple[int, dict[str, QueueSample], list[str]]] = deque(maxlen=EVENTS_KEPT)
        "What changed lately, by number."
        self.error = ""

    def start(self) -> None:
        """Work from now on, unless it does."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Work no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def listen(self, topics: Topics = None, last_id: str = "") -> asyncio.Queue[bytes]:
        """A queue of events, the first of which says all, or all since `last_id`; see `forget`."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(BACKLOG)
        queue.put_nowait(self._since(topics, last_id))
        self.listeners[queue] = topics
        self.start()
        return queue

    def _since(self, topics: Topics, last_id: str) -> bytes:
        """One event for all that changed after another one; all there is, if that is too old."""
        life, _, number = last_id.partition("-")
        numbers = [one[0] for one in self._kept]
        if life != self._life or not number.isdecimal() or int(number[:12]) + 1 not in numbers:
            if last_id == f"{self._life}-{self.number}":
                return self._event("change", {}, topics, gone=[])
            return self._event("all", self._last, topics)
        changed: dict[str, QueueSample] = {}
        for at, some, gone in self._kept:
            if at > int(number):
                changed.update(some)
                for name in gone:
                    changed.pop(name, None)
        there = {name for name in self._last}
        gone = [name for at, _, names in self._kept if at > int(number) for name in names]
        return self._event(
            "change", changed, topics, gone=[name for name in gone if name not in there]
        )

    def forget(self, queue: asyncio.Queue[bytes]) -> None:
        """No one reads these events any more."""
        self.listeners.pop(queue, None)

    async def _run(self) -> None:
        while True:
            began = time.monotonic()
            try:
                await self._sample(began)
                self.error = ""
            except (MQError, OSError) as error:
                self.error = str(error)
                self._tell("away", {}, [])
            took = time.monotonic() - began
            await asyncio.sleep(max(INTERVAL_S, took * SHARE))

    async def _sample(self, now: float) -> None:
        manager = await self._connect()
        infos = await manager.queues(everything=True)
        counts: Mapping[str, int] = {}
        with suppress(MQError):  # a login for some queues only sees no counts of the manager
            counts = await manager.statistics()
        new = {info.name: sample_of(info) for info in infos}
        changed = {
            name: one
            for name, one in new.items()
            if self._last.get(name) != one or name in self._moving
        }
        gone = [name for name in self._last if name not in new]
        rates = self._rates(counts, now)
        wall = time.time()
        levels = float(waiting_in(infos)), float(letters_in(infos))
        total = {**dict(zip(LEVELS, levels, strict=True)), **rates}
        self.totals.append((wall, total))
        self._keep(wall, new)
        self._last, self._counts, self._at = new, counts, now
        self.number += 1
        self._kept.append((self.number, changed, gone))
        self._tell("change", changed, gone)

    def _rates(self, counts: Mapping[str, int], now: float) -> dict[str, float]:
        if not self._counts or now <= self._at:
            return {}
        seconds = now - self._at
        return {
            name: round(max(0, counts.get(name, 0) - self._counts.get(name, 0)) / seconds, 1)
            for name in COUNTS
        }

    def _keep(self, wall: float, new: Mapping[str, QueueSample]) -> None:
        """Keep series of the queues with most in them, and of those that have one."""
        for name in [name for name in self.queues if name not in new]:
            del self.queues[name]
        for name, one in sorted(new.items(), key=lambda item: -item[1].messages):
            if name not in self.queues and len(self.queues) < SERIES_MAX:
                self.queues[name] = deque(maxlen=SAMPLES)
            if name in self.queues:
                point = QueuePoint(wall, one.messages, one.arrived, one.received)
                self.queues[name].append(point)
        self._moving = {name for name in self.queues if self.rates_of(name).is_moving}

    def series_of(self, name: str, step: int = 1) -> dict[str, list[float]]:
        """A queue over time: messages, and how many came and went in a second."""
        points = list(self.queues.get(name, ()))[::-step][::-1]
        pairs = list(pairwise(points))
        return {
            "time": [now.at for _, now in pairs],
            "messages": [float(now.messages) for _, now in pairs],
            "arrived": [_per_second(now.arrived - then.arrived, then, now) for then, now in pairs],
            "received": [
                _per_second(now.received - then.received, then, now) for then, now in pairs
            ],
        }

    def rates_of(self, name: str, seconds: float = 10.0) -> QueueRates:
        """How fast a queue grows, and how many messages come and go, in the last seconds."""
        series = self.queues.get(name)
        if not series or len(series) < 2:
            return QueueRates()
        last, start = series[-1], series[0]
        for point in reversed(series):
            start = point
            if last.at - point.at >= seconds:
                break
        span = last.at - start.at
        if span <= 0:
            return QueueRates()
        pairs = zip(last[1:], start[1:], strict=True)
        return QueueRates(*(round((now - then) / span, 1) for now, then in pairs))

    def _event(
        self, kind: str, queues: Mapping[str, QueueSample], topics: Topics = None, **more: Any
    ) -> bytes:
        total = self.totals[-1][1] if self.totals else {}
        rows = {
            name: (one.messages, one.bytes, one.oldest_age, one.state, *self.rates_of(name))
            for name, one in queues.items()
            if topics is None or name in topics
        }
        data = msgspec.json.encode(
            {"kind": kind, "queues": rows, "total": total, "error": self.error, **more}
        )
        name = f"{self._life}-{self.number}".encode()
        return b"id: %s\nevent: %s\ndata: %s\n\n" % (name, kind.encode(), data)

    def _tell(self, kind: str, queues: Mapping[str, QueueSample], gone: list[str]) -> None:
        """Tell all pages; those that want to hear of the same get the same bytes."""
        made: dict[Topics, bytes] = {}
        for queue, topics in list(self.listeners.items()):
            if queue.full():  # it does not keep up: it begins anew
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(self._event("all", self._last, topics))
                continue
            if topics not in made:
                made[topics] = self._event(kind, queues, topics, gone=gone)
            queue.put_nowait(made[topics])


def _per_second(count: int, then: QueuePoint, now: QueuePoint) -> float:
    return round(max(0, count) / max(now.at - then.at, 0.001), 1)


def sample_of(info: QueueInfo) -> QueueSample:
    """What a sample keeps of a queue; ages in coarse steps, so that few change."""
    age = info.oldest_age
    if age is not None and age >= 60:
        age -= age % 10
    return QueueSample(info.messages, info.bytes, age, info.state, info.arrived, info.received)
