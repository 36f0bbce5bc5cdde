"""Messages that readers hold: removed, released, or purged as soon as they are released."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from math import inf
from struct import pack
from typing import Final

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.messages.disposition import Dispositions
from openmsmq.engine.messages.expiry import Expiry
from openmsmq.engine.messages.express import ExpressStore
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import REMOVING
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import Part, Parts, RunSlice, lookups_of
from openmsmq.engine.queues.waiting_readers import WaitingReaders
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.layout import PURGED_ROW, queue_key
from openmsmq.engine.storage.runs import record_of
from openmsmq.engine.storage.tables import Table
from openmsmq.properties.message import MessageClass

RETRY_S: Final = 5
"Seconds after which a removal is tried again that the disk has refused."


class Removal:
    """Ends the hold on messages, with or without the messages."""

    def __init__(
        self,
        state: EngineState,
        readers: WaitingReaders,
        expiry: Expiry,
        express: ExpressStore,
        dispositions: Dispositions,
    ) -> None:
        self._state = state
        self._readers = readers
        self._expiry = expiry
        self._express = express
        self._dispositions = dispositions
        self._refused: dict[ManagedQueue, list[int]] = {}
        "Messages that were purged, and whose removal the disk has refused."
        self.next: float = inf
        "When it is tried again, in seconds as lifetimes count them."

    def retry(self) -> bool:
        """Remove what was purged, once more; whether there was anything."""
        refused, self._refused = self._refused, {}
        self.next = inf
        for queue, lookups in refused.items():
            queue.holds.release(lookups)
            if not queue.deleted:
                self.remove_purged(queue, lookups)
        return bool(refused)

    def remove(
        self,
        queue: ManagedQueue,
        parts: Parts,
        reason: MessageClass,
        succeed: Callable[[], None],
        fail: Callable[[BaseException], None],
        by: str = "",
        *,
        may_expire: bool = False,
    ) -> None:
        """Take held messages out of the store, then say so; express ones are in memory only.

        With `may_expire`, those that have left in a commit that is under way are left out.
        """
        express = [part for part in parts if isinstance(part, Entry) and part.express]
        stored = parts
        if express:
            stored = [part for part in parts if not isinstance(part, Entry) or not part.express]

        def apply(batch: Batch) -> None:
            # Even if the queue is being deleted: that was asked for later.
            left = stored
            if may_expire:
                left = [part for part in stored if _is_there(batch, queue, part)]
            self._dispositions.removed_parts(batch, queue, left, reason, by)

        def committed() -> None:
            for part in parts:
                if isinstance(part, RunSlice):
                    self.forget_slice(queue, part)
            self.forget(queue, [part.lookup for part in parts if isinstance(part, Entry)])
            if express:
                self._dispositions.removed_express(queue, express, reason, by)
                self._readers.notify()
            succeed()

        def failed(error: BaseException) -> None:
            self.release(queue, lookups_of(parts))
            fail(error)

        if stored:
            self._state.submit(apply, committed, failed, commutes=True)
        else:
            committed()

    def forget(self, queue: ManagedQueue, lookups: Collection[int]) -> None:
        """Held messages are gone from the queue."""
        queue.holds.release(lookups)
        if queue.purge_pending:
            queue.purge_pending.difference_update(lookups)
        if queue.express:
            self._express.drop(queue, [lookup for lookup in lookups if lookup in queue.express])

    def forget_slice(self, queue: ManagedQueue, part: RunSlice) -> None:
        """The same for messages of a run."""
        queue.holds.release_slice(part)
        if queue.purge_pending:
            queue.purge_pending.difference_update(range(part.first, part.end))

    def release(self, queue: ManagedQueue, lookups: Iterable[int]) -> Future[None]:
        """Make held messages readable again, unless they were purged or expired meanwhile.

        The answer comes when those that were purged are gone from the disk.
        """
        back = list(lookups)
        queue.holds.release(back)
        purged = [lookup for lookup in back if lookup in queue.purge_pending]
        removed: Future[None] = Future()
        if purged and not queue.deleted:
            removed = self.remove_purged(queue, purged)
        else:
            removed.succeed(None)
        self._expiry.released(queue, back)
        self._readers.wake(queue, [lookup for lookup in back if lookup not in purged])
        return removed

    def remove_purged(self, queue: ManagedQueue, lookups: list[int]) -> Future[None]:
        """Messages that were purged while a reader held them are released: now they go.

        Should that fail, they stay out of sight, and go a little later.
        """
        pending: Future[None] = Future()
        express = [queue.express[lookup] for lookup in lookups if lookup in queue.express]
        self._express.drop(queue, [entry.lookup for entry in express])
        self._dispositions.removed_express(queue, express, purge_reason(queue), "")
        queue.purge_pending.difference_update(entry.lookup for entry in express)
        stored = [lookup for lookup in lookups if lookup in queue.purge_pending]
        if not stored:
            pending.succeed(None)
            return pending
        queue.holds.hold(stored, REMOVING)

        def apply(batch: Batch) -> None:
            if queue.deleted:
                return
            found = [(at, record_of(batch.writer, queue.number, at)) for at in stored]
            gone = [(lookup, raw) for lookup, raw in found if raw is not None]
            self._dispositions.removed(batch, queue, gone, purge_reason(queue), "")
            note_purged(batch, queue, stored)

        def committed() -> None:
            self.forget(queue, stored)
            pending.succeed(None)

        def failed(error: BaseException) -> None:
            self._refused.setdefault(queue, []).extend(stored)
            self.next = min(self.next, self._state.timeline.now + RETRY_S)
            self._state.reschedule()
            pending.fail(error)

        self._state.submit(apply, committed, failed)
        return pending


def _is_there(batch: Batch, queue: ManagedQueue, part: Part) -> bool:
    if isinstance(part, RunSlice):
        return True  # what is not in its run any longer is left out when it is removed
    is_stored = record_of(batch.writer, queue.number, part.lookup) is not None
    return is_stored and not batch.is_taken(queue, part.lookup)


def purge_reason(queue: ManagedQueue) -> MessageClass:
    """Why purged messages leave; those on their way elsewhere never arrived (A-30)."""
    return MessageClass.NACK_PURGED if queue.is_outgoing else MessageClass.NACK_Q_PURGED


def note_purged(batch: Batch, queue: ManagedQueue, gone: Collection[int] = ()) -> None:
    """Remember, beyond a crash too, which messages were purged while a reader held them.

    Also those that are being removed, but for what is `gone` with this commit: others are removed
    by a later one, or that fails.
    """
    key = queue_key(queue.number, PURGED_ROW)
    kept = [
        lookup
        for lookup in sorted(queue.purge_pending.difference(gone))
        if lookup not in queue.express and not batch.is_taken(queue, lookup)
    ]
    if kept and not queue.deleted:
        batch.writer.put(Table.QUEUES, key, pack(f"<{len(kept)}Q", *kept))
    else:
        batch.writer.delete(Table.QUEUES, key)
