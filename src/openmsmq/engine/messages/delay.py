"""Messages that cannot be read yet: they wait beside their queue and come when they are due.

There are two reasons to wait: its sender said when a message is to be delivered, or it was
aborted in a queue that lets such messages rest. One table holds when each of them is due, and
the engine's timer releases them. Until then they are in no reader's way: the index of the queue
does not have them.
"""

from __future__ import annotations

from math import inf
from typing import Final

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.messages.admission import Admission
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.registry import Queues
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import Record, due_key, index_key, split_due_key
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.properties.message import PRIORITY_MAX
from openmsmq.types.lookup import ARRIVAL_BITS

STEP: Final = 200
"Messages that become readable with one commit."
RETRY: Final = 1.0
"Seconds until what could not be done is tried again."


class Delays:
    """Lets messages go whose time has come."""

    def __init__(self, state: EngineState, queues: Queues, admission: Admission) -> None:
        self._state = state
        self._queues = queues
        self._admission = admission
        self.next = _first(state.snapshot)
        "No message is due before this, in seconds as lifetimes count them, but those about to go."
        self._is_releasing = False
        self._expected = inf
        "When the first of those is due that came meanwhile."

    def expect(self, due: float) -> None:
        """There is a message that is due then."""
        seconds = due / 1000
        self._expected = min(self._expected, seconds)
        if not self._is_releasing and seconds < self.next:
            self.next = seconds
            self._state.reschedule()

    def release(self) -> None:
        """Let messages go that are due."""
        self._is_releasing = True
        self.next = self._expected = inf
        self._step(b"", is_all=True)

    def _step(self, after: bytes, *, is_all: bool) -> None:
        state = self._state
        end = due_key(state.timeline.millis + 1, 0, 0)
        rows: list[bytes] = []
        moved: list[tuple[ManagedQueue, int, int]] = []

        def apply(batch: Batch) -> None:
            rows[:] = [key for key, _ in batch.writer.rows(Table.DELAYED, after, end, STEP)]
            moved[:] = [found for key in rows if (found := self._release(batch, key)) is not None]

        def committed() -> None:
            self._forget_purged(moved)
            done = is_all and len(moved) == len(rows)
            if len(rows) == STEP and not state.is_stopping:
                self._step(rows[-1] + b"\0", is_all=done)
                return
            self._is_releasing = False
            later = _first(state.snapshot, end)
            if not done:  # some are about to be removed, or have been
                later = min(later, state.timeline.exact + RETRY)
            self.next = min(later, self._expected)
            state.reschedule()

        def failed(error: BaseException) -> None:
            self._is_releasing = False
            self.next = state.timeline.exact + RETRY
            state.reschedule()

        state.submit(apply, committed, failed)

    def _release(self, batch: Batch, key: bytes) -> tuple[ManagedQueue, int, int] | None:
        """Let one message go: where it waited, its place there and in its queue.

        None if its queue is being emptied.
        """
        _, number, lookup = split_due_key(key)
        waiting = self._queues.get(number)
        raw = batch.writer.get(Table.INDEX, index_key(number, lookup))
        if waiting is None or raw is None or waiting.is_purged(lookup):
            return None
        if not batch.take_out(waiting, lookup, raw):
            return None
        record, _ = Record.unpack_delayed(raw)
        (start,) = batch.first_chunks([raw])
        ids, queue = identifiers([start]), waiting.main
        if record.abort_count:  # it comes back to its old place
            batch.place(queue, lookup, record)
            batch.note(Event.DUE, queue, [lookup], ids, "")
            batch.count(Event.DUE.word)
            return waiting, lookup, lookup
        priority = PRIORITY_MAX - (lookup >> ARRIVAL_BITS)
        record = record._replace(arrived_time=batch.now)
        put = self._admission.put_stored
        return waiting, lookup, put(batch, queue, priority, record, ids, "")

    def _forget_purged(self, moved: list[tuple[ManagedQueue, int, int]]) -> None:
        """What was purged while it was on its way into its queue is purged there."""
        for waiting, lookup, place in moved:
            if waiting.is_purged(lookup):
                waiting.main.spared.discard(place)


def _first(snapshot: Snapshot, start: bytes = b"") -> float:
    """When the first message from there on is due."""
    for key, _ in snapshot.scan(Table.DELAYED, start, b"\xff" * 21):
        return float(split_due_key(key)[0] / 1000)
    return inf
