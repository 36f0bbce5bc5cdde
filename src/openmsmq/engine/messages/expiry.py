"""When messages expire: the first of those in the store, and the express ones in memory.

Nothing counts down: a table holds when each message expires, and a sweep (`expiry_sweep`) starts
when the first of them is due. Until the sweep has come to a message, readers pass it over.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf
from typing import Final

from openmsmq.engine.messages.limits import STALE_MAX
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.registry import Queues
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.layout import NEVER, place_and_expiry, split_expiry_key
from openmsmq.engine.storage.tables import Table

RETRY: Final = 1
"Seconds until a sweep that failed is tried again, unless the manager is called before."


class Expiry:
    """Knows when the first messages expire."""

    def __init__(self, state: EngineState, queues: Queues) -> None:
        self._state = state
        self._queues = queues
        self.next = self._first_stored()
        "No message that is not held by a reader expires before this."
        self._heap: list[tuple[int, int, int]] = []
        "Express messages: when they expire, queue and lookup identifier."
        self._tidy_at = STALE_MAX
        self._is_sweeping = False
        self._expected = NEVER
        "When the first of those expires that a sweep under way may have missed."
        self._has_failed = False

    @property
    def overdue(self) -> int:
        """Messages that expire before this have expired, while some of them are still there."""
        return self._state.timeline.now if self.is_due else 0

    @property
    def is_due(self) -> bool:
        """Some messages have expired and are still there."""
        return self._state.timeline.now > self.next

    @property
    def seconds_left(self) -> float:
        """Until a sweep is due; infinite if no message expires or a sweep is under way."""
        if self.next == NEVER or self._is_sweeping:
            return inf
        least = RETRY if self._has_failed else 0
        return max(least, self.next + 1 - self._state.timeline.now)

    def expect(self, expires: int) -> None:
        """There is a message that expires then."""
        self._expected = min(self._expected, expires)
        if expires < self.next:
            self.next = expires
            self._state.reschedule()

    def add_express(self, queue: ManagedQueue, entries: Sequence[Entry]) -> None:
        """Express messages were put into a queue."""
        for entry in entries:
            _, _, expires = place_and_expiry(entry.record)
            if expires != NEVER:
                heappush(self._heap, (expires, queue.number, entry.lookup))
                self.expect(expires)
        if len(self._heap) > self._tidy_at:
            self._tidy()

    def _tidy(self) -> None:
        """Forget express messages that are gone, so that these do not fill the memory."""
        self._heap = sorted({item for item in self._heap if self._express(item) is not None})
        self._tidy_at = max(STALE_MAX, 2 * len(self._heap))

    def released(self, queue: ManagedQueue, lookups: list[int]) -> None:
        """Messages are not held any longer; their time may have come meanwhile (A-34)."""
        for lookup in lookups:
            if lookup in queue.express:
                self.add_express(queue, [queue.express[lookup]])
        self.expect(self._first_stored())

    # Sweeps

    def begin_sweep(self) -> bool:
        """A sweep begins; False if one is under way already."""
        if self._is_sweeping:
            return False
        self._is_sweeping = True
        self._expected = NEVER
        return True

    def pop_express(self) -> tuple[ManagedQueue, Entry] | None:
        """The next express message that has expired, unless a reader holds it; None if none has."""
        now = self._state.timeline.now
        while self._heap and self._heap[0][0] < now:
            item = heappop(self._heap)
            queue = self._express(item)
            if queue is not None and not queue.holds.is_held(item[2]):
                return queue, queue.express[item[2]]
        return None

    def end_sweep(self, swept_to: bytes) -> None:
        """All messages before a key of the table are gone, but for those that readers hold."""
        self._is_sweeping = self._has_failed = False
        express = self._heap[0][0] if self._heap else NEVER
        self.next = min(self._first_stored(swept_to), express, self._expected)
        self._state.reschedule()

    def fail_sweep(self) -> None:
        """A sweep could not be committed; there will be another."""
        self._is_sweeping = False
        self._has_failed = True
        self._state.reschedule()

    def _express(self, item: tuple[int, int, int]) -> ManagedQueue | None:
        """The queue that a message of the heap is still in."""
        queue = self._queues.get(item[1])
        return queue if queue is not None and item[2] in queue.express else None

    def _first_stored(self, start: bytes = b"") -> int:
        """When the first message in the store expires, from a key of the table on."""
        for key, _ in self._state.snapshot.scan(Table.EXPIRY, start, b"\xff" * 17):
            return int(split_expiry_key(key)[0])
        return NEVER
