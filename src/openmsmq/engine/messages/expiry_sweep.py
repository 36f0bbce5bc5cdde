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
    Owed,
    expiry_key,
    flags_of,
    index_key,
    split_expiry_key,
)
from openmsmq.engine.storage.tables import Table
from openmsmq.properties.message import MessageClass
from openmsmq.types.queues import QueueKind

STEP: Final = 200
"Messages that expire in one commit."
UNCONFIRMED: Final = "not confirmed, may have arrived"
"Why a message expired that was sent."
_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
Sent = dict[ManagedQueue, list[int]]
"Messages that were sent, by their queues."


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

        def apply(batch: Batch) -> None:
            found = batch.writer.scan(Table.EXPIRY, after, end)
            rows[:] = [key for key, _ in islice(found, STEP)]
            sent.clear()
            self._expire(batch, rows, sent)

        def committed() -> None:
            for queue, lookups in sent.items():
                self._give_up(queue, lookups)
            if len(rows) == STEP and not self._state.is_stopping:
                self._step(rows[-1] + b"\0")
            else:
                self._expiry.end_sweep(end)

        self._state.submit(apply, committed, lambda error: self._expiry.fail_sweep())

    def _expire(self, batch: Batch, keys: list[bytes], sent: Sent) -> None:
        """Those that are still there ([MS-MQDMPR] 3.1.2.4); `sent` names those in transit.

        Messages that a reader holds wait for the outcome (A-34).

        Those in transit have no outcome to wait for but the acknowledgement that is overdue.
        """
        gone: dict[tuple[ManagedQueue, str], list[tuple[int, bytes]]] = {}
        for key in keys:
            _, number, lookup = split_expiry_key(key)
            queue = self._queues.get(number)
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
            self._dispositions.finalize(batch, queue, messages, reason(queue), "", words=words)

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
