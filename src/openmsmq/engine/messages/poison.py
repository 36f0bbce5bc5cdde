"""What becomes of a message when the transaction is aborted that had received it.

It is back in its place; with a retry delay not at once; and when it was aborted too often it is
poison, and out of the way. Which of it, its queue's properties say, and it is part of the commit
that counts the abort.
"""

from __future__ import annotations

from typing import Final

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.messages.admission import Admission
from openmsmq.engine.messages.disposition import Dispositions
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.registry import Queues
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import Record, Total
from openmsmq.types.queues import POISON_SUBQUEUE, Poison, QueueKind

KINDS: Final = (QueueKind.PRIVATE, QueueKind.PUBLIC)
"Queues that have these rules; what is in a subqueue was put there on purpose."


class PoisonMessages:
    """Deals with messages that were aborted."""

    def __init__(
        self,
        state: EngineState,
        queues: Queues,
        dispositions: Dispositions,
        admission: Admission,
    ) -> None:
        self._state = state
        self._queues = queues
        self._dispositions = dispositions
        self._admission = admission

    def aborted(
        self, batch: Batch, queue: ManagedQueue, lookup: int, raw: bytes, by: str, *, counts: bool
    ) -> bool:
        """A message is back; False if it is not in its place then.

        `counts`: it was received; to be about to be moved does not count.
        """
        plain = batch.explode(queue, lookup, raw)
        assert plain is not None, "a message that a transaction has taken is there"
        raw = plain
        record = Record.unpack(raw)
        record = record._replace(abort_count=record.abort_count + counts)
        batch.count(Event.ABORTED.word)
        batch.total(queue, Total.ABORTED)
        ids = identifiers(batch.first_chunks([raw])) if batch.keeps_history else b""
        if ids:
            batch.note(Event.ABORTED, queue, [lookup], ids, by, str(record.abort_count))
        if not counts:
            return True
        rules = queue.properties
        if queue.kind in KINDS:
            is_poison = 0 < rules.abort_limit <= record.abort_count
            if is_poison and self._remove(batch, queue, lookup, record, ids):
                return False
            if rules.retry_delay:
                due = self._state.timeline.millis + rules.retry_delay * 1000
                batch.take_out(queue, lookup, raw)
                batch.delay(queue, lookup, record, due)
                self._admission.note_delayed(batch, queue, lookup, ids, due, "")
                return False
        batch.rewrite(queue, lookup, record.pack())
        return True

    def _remove(
        self, batch: Batch, queue: ManagedQueue, lookup: int, record: Record, ids: bytes
    ) -> bool:
        """Put poison out of the way; False if there is no room for it."""
        outcomes, times = self._dispositions, str(record.abort_count)
        raw = record.pack()
        target = self._queues.transactional_dead_letter
        if queue.properties.poison is Poison.DEAD_LETTER:
            if not outcomes.reject(batch, queue, lookup, raw):
                return False
        else:
            target = self._queues.subqueue(queue, POISON_SUBQUEUE)
            batch.take_out(queue, lookup, raw)
            moved = record.moved(batch.now)._replace(abort_count=record.abort_count)
            batch.place(target, lookup, moved)
            batch.total(queue, Total.MOVED)
            batch.total(target, Total.ARRIVED)
        batch.count(Event.POISONED.word)
        if ids:
            batch.note(Event.POISONED, target, [lookup], ids, "", times)
        return True
