"""The end of messages that do not live for ever: found by time, removed some with every commit.

Nothing counts down: a table holds when each message expires, and whoever tells the time starts a
sweep when the first of them is due. Until the sweep has come to a message, readers pass it over.
What was sent in a transaction and is not acknowledged expires like what is still to be sent; only
nobody knows whether it arrived (AMB-50).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, Final

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.outgoing.sequences import LOOKUP_BASE
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import IN_TRANSIT
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import (
    NEVER,
    Owed,
    Record,
    expiry_key,
    flags_of,
    index_key,
    split_expiry_key,
)
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.properties.message import MessageClass
from openmsmq.types.queues import QueueKind

if TYPE_CHECKING:
    from openmsmq.engine.core import Core

STEP: Final = 200
"Messages that expire in one commit."
STALE_MAX: Final = 1000
"Express messages that are gone and still known here, before they are forgotten."
RETRY: Final = 1
"Seconds until a sweep that failed is tried again, if nobody calls before."
UNCONFIRMED: Final = "not confirmed, may have arrived"
"Why a message expired that was sent."
_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
Sent = dict[ManagedQueue, list[int]]
"Messages that were sent, by their queues."


class Expiry:
    """Finds the messages whose time has come."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.next = _first(core.snapshot)
        "No message that is not held by somebody expires before this."
        self._heap: list[tuple[int, int, int]] = []
        "Express messages: when they expire, queue and lookup identifier."
        self._tidy_at = STALE_MAX
        self._sweeping = False
        self._expected = NEVER
        "When the first of those expires that a sweep under way may have missed."
        self._has_failed = False

    @property
    def overdue(self) -> int:
        """Messages that expire before this have expired, while some of them are still there."""
        return self._core.timeline.now if self.is_due else 0

    @property
    def is_due(self) -> bool:
        """Some messages have expired and are still there."""
        return self._core.timeline.now > self.next

    @property
    def seconds_left(self) -> float | None:
        """Until a sweep is due; None if no message expires or a sweep is under way."""
        if self.next == NEVER or self._sweeping:
            return None
        least = RETRY if self._has_failed else 0
        return max(least, self.next + 1 - self._core.timeline.now)

    def expect(self, expires: int) -> None:
        """There is a message that expires then."""
        self.next = min(self.next, expires)
        self._expected = min(self._expected, expires)

    def add_express(self, queue: ManagedQueue, entries: Sequence[Entry]) -> None:
        """Express messages were put into a queue."""
        for entry in entries:
            expires = Record.unpack(entry.record).expires
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
        self.expect(_first(self._core.snapshot))

    def sweep(self) -> bool:
        """Time To Be Received Timer Expired ([MS-MQDMPR] 3.1.7.2.7), for all that are due.

        False if that is under way already.
        """
        if self._sweeping:
            return False
        self._sweep_express()
        self._sweeping = True
        self._expected = NEVER
        self._step(b"")
        return True

    def _sweep_express(self) -> None:
        now = self._core.timeline.now
        expired = 0
        while self._heap and self._heap[0][0] < now and expired < STEP:
            item = heappop(self._heap)
            queue = self._express(item)
            if queue is not None and not queue.holds.is_held(item[2]):
                entry = queue.express[item[2]]
                self._core.drop_express(queue, [entry.lookup])
                self._core.dispositions.removed_express(queue, [entry], reason(queue), "")
                expired += 1

    def _express(self, item: tuple[int, int, int]) -> ManagedQueue | None:
        """The queue that a message of the heap is still in."""
        queue = self._core.queues.get(item[1])
        return queue if queue is not None and item[2] in queue.express else None

    def _step(self, after: bytes) -> None:
        core = self._core
        rows: list[bytes] = []
        sent: Sent = {}
        end = expiry_key(core.timeline.now, 0, 0)

        def apply(batch: Batch) -> None:
            found = batch.writer.scan(Table.EXPIRY, after, end)
            rows[:] = [key for key, _ in islice(found, STEP)]
            sent.clear()
            self._expire(batch, rows, sent)

        def committed() -> None:
            for queue, lookups in sent.items():
                self._give_up(queue, lookups)
            if len(rows) == STEP and not core.is_stopping:
                self._step(rows[-1] + b"\0")
            else:
                self._sweeping = self._has_failed = False
                express = self._heap[0][0] if self._heap else NEVER
                self.next = min(_first(core.snapshot, end), express, self._expected)

        def failed(error: BaseException) -> None:
            self._sweeping = False
            self._has_failed = True

        core.submit(apply, committed, failed)

    def _expire(self, batch: Batch, keys: list[bytes], sent: Sent) -> None:
        """Messages that somebody holds wait for the outcome (A-34); `sent` names those in transit.

        Those in transit have no outcome to wait for but the acknowledgement that is overdue.
        """
        gone: dict[tuple[ManagedQueue, str], list[tuple[int, bytes]]] = {}
        for key in keys:
            _, number, lookup = split_expiry_key(key)
            queue = self._core.queues.get(number)
            raw = batch.writer.get(Table.INDEX, index_key(number, lookup))
            if queue is None or raw is None:
                batch.writer.delete(Table.EXPIRY, key)
                continue
            is_sent = _is_sent(queue, lookup, raw)
            if (is_sent or not queue.holds.is_held(lookup)) and batch.take_out(queue, lookup, raw):
                gone.setdefault((queue, UNCONFIRMED * is_sent), []).append((lookup, raw))
                if is_sent:
                    sent.setdefault(queue, []).append(lookup)
        for (queue, words), messages in gone.items():
            self._core.dispositions.finalize(batch, queue, messages, reason(queue), "", words=words)

    def _give_up(self, queue: ManagedQueue, lookups: list[int]) -> None:
        """Messages in transit are gone; the next one closes the gap if no other is (AMB-27)."""
        holds = queue.holds
        self._core.forget(queue, [at for at in lookups if holds.holder_of(at) is IN_TRANSIT])
        if not any(at >= LOOKUP_BASE and holds.holder_of(at) is IN_TRANSIT for at in holds):
            queue.sequences.start_over()


def _is_sent(queue: ManagedQueue, lookup: int, raw: bytes) -> bool:
    """Whether a transactional message was sent and is not acknowledged."""
    return queue.holds.holder_of(lookup) is IN_TRANSIT and bool(flags_of(raw) & _TRANSACTIONAL)


def reason(queue: ManagedQueue) -> MessageClass:
    """Why a message that expires in a queue leaves it."""
    if queue.kind is QueueKind.UNCONFIRMED:
        return MessageClass.NACK_RECEIVE_TIMEOUT_AT_SENDER
    if queue.is_outgoing:
        return MessageClass.NACK_REACH_QUEUE_TIMEOUT
    return MessageClass.NACK_RECEIVE_TIMEOUT


def _first(snapshot: Snapshot, start: bytes = b"") -> int:
    """When the first message from there on expires."""
    for key, _ in snapshot.scan(Table.EXPIRY, start, b"\xff" * 17):
        return int(split_expiry_key(key)[0])
    return NEVER
