"""Create, change, purge and delete queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.messages.expiry import Expiry
from openmsmq.engine.queues.purge import Purge
from openmsmq.engine.queues.queue import ManagedQueue, QueueProperties, derive, journal_of
from openmsmq.engine.queues.registry import Queues, delete_queue_rows
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.history import GONE, Event
from openmsmq.engine.storage.layout import DELETED_ROW, queue_key
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import QueueNotAvailable, QueueNotFound, UnsupportedFormatNameOperation
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.queues import VISIBLE, QueueKind


class QueueLifecycle:
    """What is done to queues as a whole, with all their messages."""

    def __init__(self, state: EngineState, queues: Queues, expiry: Expiry, purge: Purge) -> None:
        self._state = state
        self._queues = queues
        self._expiry = expiry
        self._purge = purge

    def create(self, properties: QueueProperties) -> Future[ManagedQueue]:
        """Create Queue ([MS-MQDMPR] 3.1.7.1.3); a name taken is refused (A-28)."""
        queue = self._queues.add(properties)
        pending: Future[ManagedQueue] = Future()

        def failed(error: BaseException) -> None:
            self._withdraw(_family(queue), "")
            pending.fail(error)

        def apply(batch: Batch) -> None:
            batch.set_properties(queue, properties)
            batch.write_queue_number()

        def committed() -> None:
            pending.succeed(queue)
            self._rebind("", properties.multicast)

        self._state.submit(apply, committed, failed, grows=True)
        return pending

    def _rebind(self, before: str, after: str) -> None:
        """Let the transport know that queues get messages of other group addresses now."""
        if before != after:
            for changed in self._queues.on_multicast:
                changed()

    def change(self, queue: ManagedQueue, now: int, changes: Mapping[str, Any]) -> Future[None]:
        """Give a queue other properties; its name and kind stay.

        Changes under way together are made one after the other.
        """
        if queue.deleted:
            raise QueueNotAvailable(queue.name)
        if queue.kind not in (*VISIBLE, QueueKind.SYSTEM):
            raise UnsupportedFormatNameOperation(f"a {queue.kind} queue has no properties")
        pending: Future[None] = Future()
        changed = queue.properties.changed(now, **changes)  # refused now, if ever

        def apply(batch: Batch) -> None:
            nonlocal changed
            if queue.kind in VISIBLE and not self._queues.has(queue):
                raise QueueNotAvailable(queue.name)  # it could not be created
            changed = batch.properties(queue).changed(now, **changes)
            batch.set_properties(queue, changed)

        def committed() -> None:
            before, queue.properties = queue.properties, changed
            derive(queue)
            pending.succeed(None)
            self._rebind(before.multicast, changed.multicast)

        self._state.submit(apply, committed, pending.fail, grows=True)
        return pending

    def delete(self, queue: ManagedQueue, caller: Caller = INTERNAL) -> Future[None]:
        """Delete Queue ([MS-MQDMPR] 3.1.7.1.4): gone at once, its messages step by step.

        Its journal and subqueues go with it. Readers that wait fail (A-29); messages held by
        transactions go with the rest, and the later outcome finds nothing to do. The name is free
        again when this is answered.
        """
        _check_deletable(queue)
        pending: Future[None] = Future()
        family = _family(queue)
        for member in family:
            self._queues.hide(member)

        def apply(batch: Batch) -> None:
            for member in family:
                delete_queue_rows(batch, member)
                row = member.properties.to_row()
                batch.writer.put(Table.QUEUES, queue_key(member.number, DELETED_ROW), row)
                batch.note(Event.QUEUE_GONE, member, [0], GONE, "", member.name)
            batch.write_queue_number()  # that of a subqueue may be written nowhere else

        def committed() -> None:
            self._withdraw(family, caller.name)
            pending.succeed(None)
            self._rebind(queue.properties.multicast, "")
            for member in family:
                self._purge.drop_messages(member, caller.name)

        def failed(error: BaseException) -> None:
            if self._queues.has(queue):  # else it never was
                self._revive(family)
            pending.fail(error)

        self._state.submit(apply, committed, failed)
        return pending

    def _withdraw(self, family: list[ManagedQueue], by: str) -> None:
        """Queues are gone, and their express messages with them."""
        for queue in family:
            self._queues.hide(queue)
        for queue in family:
            self._queues.forget(queue)
            self._purge.drop_express(queue, by)
        self._recount()

    def _revive(self, family: list[ManagedQueue]) -> None:
        """Queues that could not be deleted are there again."""
        for queue in family:
            self._queues.revive(queue)
            self._expiry.released(queue, queue.express.lookups())
        self._recount()

    def _recount(self) -> None:
        """Add up what the store holds of all queues, after some came or went."""
        self._state.stored_size = self._queues.stored_size

    def purge(self, queue: ManagedQueue, caller: Caller = INTERNAL) -> Future[int]:
        """Purge Queue ([MS-MQDMPR] 3.1.7.1.7); the answer is the number of messages removed."""
        if queue.deleted:
            raise QueueNotAvailable(queue.name)
        return self._purge.purge(queue, caller.name)


def _family(queue: ManagedQueue) -> list[ManagedQueue]:
    """A queue and what goes with it."""
    waiting = () if queue.delayed is None else (queue.delayed,)
    return [queue, journal_of(queue), *waiting, *queue.subqueues.values()]


def _check_deletable(queue: ManagedQueue) -> None:
    if queue.deleted:
        raise QueueNotFound(queue.name)
    if queue.kind not in VISIBLE:
        raise UnsupportedFormatNameOperation(f"a {queue.kind} queue cannot be deleted")
