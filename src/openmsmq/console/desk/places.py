"""Walks through a queue in either direction, from a place or a time on.

Messages of one priority stand in the order in which they arrived, so that a time is found among
them by halving: some twenty looks among a million messages, and none is read to be skipped.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from openmsmq.client._async.manager import Queue
from openmsmq.types.lookup import ARRIVAL_BITS
from openmsmq.types.received import ReceivedMessage

LANES: Final = 8
"One for each priority; the highest priority is the first lane."
_LANE: Final = 1 << ARRIVAL_BITS
_TICK: Final = timedelta(seconds=1)
"Times of arrival are whole seconds."


class Walk:
    """The messages of a queue, some at a time; to look at them changes nothing."""

    def __init__(
        self,
        queue: Queue,
        start: int | None = None,
        *,
        backwards: bool = False,
        time: datetime | None = None,
    ) -> None:
        """Behind `start`, or backwards before it; only what arrived since `time`, or until then."""
        self._queue = queue
        self._backwards = backwards
        self._time = time
        self.at = start if start is not None else LANES * _LANE if backwards else 0
        "The place of the message that was returned last."
        self._lane = -1
        "The lane whose part for the time was found."

    async def next(self, count: int) -> list[ReceivedMessage]:
        """The next messages, at most `count`; none at the end."""
        while self._time is not None:
            lane = lane_of(self.at - 1 if self._backwards else self.at + 1)
            if not 0 <= lane < LANES:
                return []
            await self._enter(lane)
            found = await self._peek(count)
            own = [one for one in found if lane_of(one.lookup_id) == lane]
            if own or not found:
                return self._returned(own)
            self._leave(lane, found[0])
        return self._returned(await self._peek(count))

    async def _peek(self, count: int) -> list[ReceivedMessage]:
        if not self._backwards:
            return await self._queue.peek_many(count, timeout=0, after=self.at)
        before = None if self.at >= LANES * _LANE else self.at
        return await self._queue.peek_back(count, before=before)

    def _returned(self, found: list[ReceivedMessage]) -> list[ReceivedMessage]:
        if found:
            self.at = found[-1].lookup_id
        return found

    async def _enter(self, lane: int) -> None:
        """Go to the first message of a lane that belongs to the time, unless that was done."""
        if lane == self._lane or self._time is None:
            return
        self._lane = lane
        if self._backwards:
            self.at = min(self.at, await place_since(self._queue, lane, self._time + _TICK))
        else:
            self.at = max(self.at, await place_since(self._queue, lane, self._time) - 1)

    def _leave(self, lane: int, beyond: ReceivedMessage) -> None:
        """Go to the edge of the lane that the next message is in."""
        to = lane_of(beyond.lookup_id)
        assert to != lane, "it is in another one"
        self.at = (to + 1) * _LANE if self._backwards else max(0, to * _LANE - 1)


def lane_of(lookup: int) -> int:
    """The lane that a lookup identifier is in."""
    return lookup >> ARRIVAL_BITS


def lane_start(lane: int) -> int:
    """The first lookup identifier of a lane."""
    return lane * _LANE


async def place_since(queue: Queue, lane: int, time: datetime) -> int:
    """The first place of a lane from which on all messages came at a time or later.

    Behind the lane, if none did.
    """
    start, end = lane * _LANE, (lane + 1) * _LANE
    last = await queue.peek_back(1, before=end)
    if not last or lane_of(last[0].lookup_id) != lane or last[0].arrived_time < time:
        return end
    low, high = start, last[0].lookup_id
    first = await _next(queue, start)
    if first is not None and first.arrived_time < time:
        low = first.lookup_id + 1
    elif first is not None:
        return first.lookup_id
    while low < high:
        middle = (low + high) // 2
        found = await _next(queue, middle)
        if found is not None and found.lookup_id < high and found.arrived_time < time:
            low = found.lookup_id + 1
        else:
            high = middle
    return low


async def _next(queue: Queue, lookup: int) -> ReceivedMessage | None:
    """The message at a place, or the first one behind it."""
    found = await queue.peek_many(1, timeout=0, after=max(0, lookup - 1))
    return found[0] if found else None
