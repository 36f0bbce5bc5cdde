"""The sweep that removes messages that have expired, some with every commit.

What was sent in a transaction and is not acknowledged expires like what is still to be sent; only
it is not known whether it arrived (AMB-50).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.messages.disposition import Dispositions
from openmsmq.engine.messages.expiry import Expiry
from openmsmq.engine.messages.express import ExpressStore
from openmsmq.engine.messages.removal import Removal
from openmsmq.engine.outgoing.sequences import LOOKUP_BASE
from openmsmq.engine.queues.holds import IN_TRANSIT
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.registry import Queues
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.layout import (
    RUN_BIT,
    Owed,
    expiry_key,
    flags_of,
    index_key,
    split_expiry_key,
)
from openmsmq.engine.storage.limits import RUN_COUNT_MAX
from openmsmq.engine.storage.runs import MessageRun, is_member
from openmsmq.engine.storage.tables import Table
from openmsmq.properties.message import MessageClass
from openmsmq.types.queues import QueueKind

STEP: Final = 200
"Rows of the table that one commit looks at; with runs at most `RUN_COUNT_MAX` messages expire."
UNCONFIRMED: Final = "not confirmed, may have arrived"
"Why a message expired that was sent."
_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
Sent = dict[ManagedQueue, list[int]]
"Messages that were sent, by their queues."
Messages = list[tuple[int, bytes]]
"Lookup identifiers and records."
Leaving = dict[ManagedQueue, list[RunSlice | tuple[int, bytes]]]
"Messages that expire, by their queues, those of runs in slices."


class ExpirySweep:
    """Removes the messages whose time has come."""

    def __init__(
        self,
        state: EngineState,
        queues: Queues,
        expiry: Expiry,
        express: ExpressStore,
        dispositions: Dispositions,
        removal: Removal,
    ) -> None:
        self._state = state
        self._queues = queues
        self._expiry = expiry
        self._express = express
        self._dispositions = dispositions
        self._removal = removal

    def start(self) -> bool:
        """Time To Be Received Timer Expired ([MS-MQDMPR] 3.1.7.2.7), for all that are due.

        False if that is under way already.
        """
        if not self._expiry.begin_sweep():
            return False
        self._sweep_express()
        self._step(b"")
        return True

    def _sweep_express(self) -> None:
        for _ in range(STEP):
            found = self._expiry.pop_express()
            if found is None:
                return
            queue, entry = found
            self._express.drop(queue, [entry.lookup])
            self._dispositions.removed_express(queue, [entry], reason(queue), "")

    def _step(self, after: bytes) -> None:
        rows: list[bytes] = []
        sent: Sent = {}
        end = expiry_key(self._state.timeline.now, 0, 0)
        done = 0

        def apply(batch: Batch) -> None:
            nonlocal done
            found = batch.writer.scan(Table.EXPIRY, after, end)
            rows[:] = [key for key, _ in islice(found, STEP)]
            sent.clear()
            done = self._expire(batch, rows, sent)

        def committed() -> None:
            for queue, lookups in sent.items():
                self._give_up(queue, lookups)
            is_over = done == len(rows) < STEP
            if is_over or self._state.is_stopping:
                self._expiry.end_sweep(end)
            else:
                self._step(rows[done - 1] + b"\0")

        self._state.submit(apply, committed, lambda error: self._expiry.fail_sweep())

    def _expire(self, batch: Batch, keys: list[bytes], sent: Sent) -> int:
        """Those that are still there ([MS-MQDMPR] 3.1.2.4); `sent` names those in transit.

        Messages that a reader holds wait for the outcome (A-34).

        Those in transit have no outcome to wait for but the acknowledgement that is overdue. The
        answer is how many rows were looked at: one may be about a run.
        """
        leaving: Leaving = {}
        gone: dict[tuple[ManagedQueue, bool], Messages] = {}
        count = 0
        for place, key in enumerate(keys):
            queue, run, found = self._expired(batch, key)
            many = len(found) if run is None else run.left
            if place and count + many > RUN_COUNT_MAX:
                keys = keys[:place]
                break
            count += many
            if queue is None or not many:
                batch.writer.delete(Table.EXPIRY, key)
                continue
            if run is not None:
                leaving.setdefault(queue, []).extend(_free(batch, queue, run))
                found = _sent(queue, run)
            for lookup, raw in _taken(batch, queue, found):
                if _is_sent(queue, lookup, raw):
                    gone.setdefault((queue, is_member(raw)), []).append((lookup, raw))
                else:
                    leaving.setdefault(queue, []).append((lookup, raw))
        for queue, items in leaving.items():
            self._leave(batch, queue, items)
        for (queue, are_members), messages in gone.items():
            leave = self._dispositions.removed if are_members else self._dispositions.finalize
            leave(batch, queue, messages, reason(queue), "", words=UNCONFIRMED)
            sent.setdefault(queue, []).extend([lookup for lookup, _ in messages])
        return len(keys)

    def _leave(
        self, batch: Batch, queue: ManagedQueue, items: Sequence[RunSlice | tuple[int, bytes]]
    ) -> None:
        """Messages leave their queue, in the order in which they expire."""
        singles: Messages = []
        for item in items:
            if not isinstance(item, RunSlice):
                singles.append(item)
                continue
            if singles:
                self._dispositions.finalize(batch, queue, singles, reason(queue), "")
                singles = []
            self._dispositions.removed_parts(batch, queue, [item], reason(queue), "")
        if singles:
            self._dispositions.finalize(batch, queue, singles, reason(queue), "")

    def _expired(
        self, batch: Batch, key: bytes
    ) -> tuple[ManagedQueue | None, MessageRun | None, Messages]:
        """The run or the message that a row of the table is about, as this commit leaves it."""
        _, number, lookup = split_expiry_key(key)
        queue = self._queues.get(number)
        if lookup & RUN_BIT:
            run = batch.runs.find(number, lookup ^ RUN_BIT)
            return queue, run if run is not None and run.expiry_key == key else None, []
        raw = batch.writer.get(Table.INDEX, index_key(number, lookup))
        return queue, None, [] if raw is None else [(lookup, raw)]

    def _give_up(self, queue: ManagedQueue, lookups: list[int]) -> None:
        """Messages in transit are gone; the next one closes the gap if no other is (AMB-27)."""
        holds = queue.holds
        self._removal.forget(queue, [at for at in lookups if holds.holder_of(at) is IN_TRANSIT])
        if not any(at >= LOOKUP_BASE and holds.holder_of(at) is IN_TRANSIT for at in holds):
            queue.sequences.start_over()


def _taken(batch: Batch, queue: ManagedQueue, found: Messages) -> Iterator[tuple[int, bytes]]:
    """Those that were sent, or are not held; if they have rows, these are out of the queue."""
    for lookup, raw in found:
        is_free = _is_sent(queue, lookup, raw) or not queue.holds.is_held(lookup)
        if is_free and (is_member(raw) or batch.take_out(queue, lookup, raw)):
            yield lookup, raw


def _free(batch: Batch, queue: ManagedQueue, run: MessageRun) -> list[RunSlice]:
    """What is not held of a run."""
    held = queue.holds.held_bits(run.first, run.count)
    parts = [RunSlice(run, first, end) for first, end in run.pieces(0, held)]
    if not batch.keeps_history:
        return parts
    return [part.with_packets(batch.start_of(part)).without_packets() for part in parts]


def _sent(queue: ManagedQueue, run: MessageRun) -> Messages:
    """The messages of a run that were sent."""
    if not queue.is_outgoing or not queue.holds.held_bits(run.first, run.count):
        return []
    return [(at, raw) for at, raw, _ in run.members(0) if _is_sent(queue, at, raw)]


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
