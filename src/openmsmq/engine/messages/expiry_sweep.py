"""The sweep that removes messages that have expired, some with every commit.

What was sent in a transaction and is not acknowledged expires like what is still to be sent; only
it is not known whether it arrived (AMB-50).
"""

from __future__ import annotations

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
from openmsmq.engine.storage.runs import is_member
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
Gone = dict[tuple[ManagedQueue, str, bool], list[tuple[int, bytes]]]
"Messages that expire, by their queues, what the history says, and whether they are in runs."


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
        gone: Gone = {}
        count = 0
        for place, key in enumerate(keys):
            queue, found = self._expired(batch, key)
            if place and count + len(found) > RUN_COUNT_MAX:
                keys = keys[:place]
                break
            count += len(found)
            if queue is None or not found:
                batch.writer.delete(Table.EXPIRY, key)
                continue
            for lookup, raw in found:
                is_sent = _is_sent(queue, lookup, raw)
                if not is_sent and queue.holds.is_held(lookup):
                    continue
                if is_member(raw) or batch.take_out(queue, lookup, raw):
                    way = queue, UNCONFIRMED * is_sent, is_member(raw)
                    gone.setdefault(way, []).append((lookup, raw))
        for (queue, words, are_members), messages in gone.items():
            leave = self._dispositions.removed if are_members else self._dispositions.finalize
            leave(batch, queue, messages, reason(queue), "", words=words)
            if words:
                sent.setdefault(queue, []).extend([lookup for lookup, _ in messages])
        return len(keys)

    def _expired(
        self, batch: Batch, key: bytes
    ) -> tuple[ManagedQueue | None, list[tuple[int, bytes]]]:
        """The messages that a row of the table is about, as this commit leaves them so far."""
        _, number, lookup = split_expiry_key(key)
        queue = self._queues.get(number)
        if lookup & RUN_BIT:
            run = batch.runs.find(number, lookup ^ RUN_BIT)
            if run is None or run.expiry_key != key:
                return queue, []
            return queue, [(at, raw) for at, raw, _ in run.members(0)]
        raw = batch.writer.get(Table.INDEX, index_key(number, lookup))
        return queue, [] if raw is None else [(lookup, raw)]

    def _give_up(self, queue: ManagedQueue, lookups: list[int]) -> None:
        """Messages in transit are gone; the next one closes the gap if no other is (AMB-27)."""
        holds = queue.holds
        self._removal.forget(queue, [at for at in lookups if holds.holder_of(at) is IN_TRANSIT])
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
