"""Written from `_async/embedded.py` by `make fix`: change that file, not this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from openmsmq.client.backend import CursorHandle, Handle, Work
from openmsmq.client.payloads import packed
from openmsmq.engine.commit.pending import Pending
from openmsmq.engine.manager import LocalManager, received
from openmsmq.engine.messages import cursor as model_cursor
from openmsmq.engine.messages.scan import REMOVING, Entry, Holder
from openmsmq.engine.queues import queue as model_queue
from openmsmq.engine.queues.info import path_name, queue_info, queue_infos
from openmsmq.engine.subscriptions import subscription as model_subscription
from openmsmq.engine.subscriptions.info import (
    bind_subscription,
    drop_subscription,
    find_subscription,
    finish_reserved,
    mark_reserved,
    open_subscription,
    read_reserved,
    subscription_infos,
)
from openmsmq.engine.transactions import transaction as model_transaction
from openmsmq.engine.transactions.units import unit_infos
from openmsmq.errors import MQError, TransactionSequence
from openmsmq.process import this_process
from openmsmq.runtime.drivers import ThreadDriver as Driver
from openmsmq.transports.outgoing import outgoing_infos
from openmsmq.transports.peers.info import peer_infos
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import Caller
from openmsmq.types.delivery import Delivery
from openmsmq.types.history import HistoryEvent
from openmsmq.types.ids import SentId
from openmsmq.types.manager_state import ManagerState
from openmsmq.types.message import Message
from openmsmq.types.outgoing import OutgoingInfo
from openmsmq.types.peers import PeerInfo
from openmsmq.types.queues import QueueInfo, QueueKind
from openmsmq.types.read import Read, Seek
from openmsmq.types.received import ReceivedMessage
from openmsmq.types.settings import Settings
from openmsmq.types.subscriptions import Binding, SubscriptionInfo
from openmsmq.types.units import UnitInfo, UnitState


class EmbeddedHandle(Handle):
    """An open queue of this process."""

    __slots__ = ("queue",)

    def __init__(self, queue: model_queue.Queue, mode: Mode) -> None:
        super().__init__(path_name(queue), mode)
        self.queue = queue


class EmbeddedCursor(CursorHandle):
    """A cursor of this process."""

    __slots__ = ("cursor", "handle")

    def __init__(self, handle: EmbeddedHandle, cursor: model_cursor.Cursor) -> None:
        self.handle = handle
        self.cursor = cursor


class EmbeddedWork(Work):
    """A transaction of this process."""

    __slots__ = ("backend", "begun")

    def __init__(self, backend: Embedded, begun: model_transaction.Transaction) -> None:
        self.backend = backend
        self.begun = begun


class EmbeddedSubscription:
    """Messages that are held for one reader, some at a time."""

    def __init__(self, backend: Embedded, handle: EmbeddedHandle, prefetch: int) -> None:
        self._backend = backend
        self._handle = handle
        self._prefetch = prefetch
        self._holder = Holder()

    def next(self, timeout: float | None) -> list[ReceivedMessage]:
        """The next messages, as soon as there is one."""
        return self._backend.hold(self._handle, self._prefetch, timeout, self._holder)

    def end(self, lookups: list[int], work: Work | None, *, remove: bool) -> None:
        """Remove messages that are held, perhaps as part of a transaction, or return them."""
        self._backend.end(self._handle, lookups, work, remove=remove)

    def close(self) -> None:
        """No more are wanted; those that are held stay so until they are ended."""


class EmbeddedReader:
    """A subscription of this process."""

    def __init__(
        self,
        local: LocalManager,
        driver: Driver,
        subscription: model_subscription.Subscription,
        owner: str,
        caller: Caller,
    ) -> None:
        self._local = local
        self._driver = driver
        self._subscription = subscription
        self._owner = owner
        self._caller = caller

    @property
    def done(self) -> int:
        """It is done with all up to this position."""
        return self._subscription.done

    @property
    def end(self) -> int:
        """It was given all up to this position."""
        return self._subscription.end

    @property
    def owner(self) -> str:
        """Who it belongs to."""
        return self._subscription.owner

    def bind(self, binding: Binding) -> None:
        """Let it belong to the owner that it was opened for."""
        local, subscription, owner = self._local, self._subscription, self._owner
        self._driver.wait(lambda: bind_subscription(local, subscription, owner, binding))

    def mark_read(self, after: int, last: int) -> None:
        """Its owner has read all behind one position up to another."""
        local, subscription, owner = self._local, self._subscription, self._owner
        self._driver.wait(lambda: mark_reserved(local, subscription, owner, after, last))

    def reserve(self, after: int, count: int, size_max: int) -> int:
        """Up to which position there is something to read."""
        reserve, subscription = self._local.reservations.reserve, self._subscription
        return self._driver.wait(lambda: reserve(subscription, after, count, size_max))

    def read(self, after: int, last: int) -> list[ReceivedMessage]:
        """Messages that it was given behind a position; as many as fit a frame."""
        local, subscription, owner = self._local, self._subscription, self._owner
        return received(
            self._driver.call(lambda: read_reserved(local, subscription, after, last, owner))
        )

    def read_packed(self, after: int, last: int) -> bytes:
        """The same as the payload of MESSAGES."""
        return packed(self.read(after, last))

    def finish(self, position: int, move_to: str) -> None:
        """It is done with all up to a position."""
        local, subscription, owner = self._local, self._subscription, self._owner
        caller = self._caller
        self._driver.wait(
            lambda: finish_reserved(local, subscription, position, move_to, owner, caller)
        )


class Embedded:
    """The queues of a directory, kept by this process."""

    def __init__(self, local: LocalManager, driver: Driver) -> None:
        self._local = local
        self._driver = driver
        self._caller = Caller(this_process())

    @property
    def name(self) -> str:
        """What other computers call this one."""
        return self._local.name

    @property
    def id(self) -> str:
        """The GUID of the queue manager."""
        return str(self._local.core.identity)

    @property
    def state(self) -> str:
        """Where the manager stands."""
        return str(self._local.state)

    # Queues

    def create_queue(self, name: str, properties: dict[str, Any]) -> None:
        self._driver.wait(lambda: self._local.create_queue(name, **properties))

    def delete_queue(self, name: str) -> None:
        queue = self._driver.call(lambda: self._local.find_queue(name))
        self._driver.wait(lambda: self._local.core.queues.delete(queue, self._caller))

    def open_queue(self, name: str, mode: Mode) -> EmbeddedHandle:
        return EmbeddedHandle(*self._driver.call(lambda: self._local.open_queue(name, mode)))

    def close_queue(self, handle: Handle) -> None:
        queue = _queue(handle)
        self._driver.call(lambda: self._local.core.queues.close(queue, handle.mode, handle))

    def queues(self, *, everything: bool) -> list[QueueInfo]:
        return self._driver.call(lambda: queue_infos(self._local.core, everything=everything))

    def outgoing(self) -> list[OutgoingInfo]:
        return self._driver.call(lambda: outgoing_infos(self._local))

    def peers(self) -> list[PeerInfo]:
        return self._driver.call(lambda: peer_infos(self._local))

    def queue_info(self, handle: Handle) -> QueueInfo:
        return self._driver.call(lambda: queue_info(_queue(handle), self._local.core))

    def change_queue(self, handle: Handle, changes: dict[str, Any]) -> None:
        self._driver.wait(lambda: self._local.change_queue(_queue(handle), **changes))

    def purge(self, handle: Handle) -> int:
        if _queue(handle).kind is not QueueKind.OUTGOING:  # else it is administration
            handle.require(Access.RECEIVE)
        purge = self._local.core.queues.purge
        return self._driver.wait(lambda: purge(_queue(handle), self._caller))

    def pause(self, handle: Handle) -> None:
        self._driver.call(lambda: self._local.dispatching.pause(_queue(handle)))

    def resume(self, handle: Handle) -> None:
        self._driver.call(lambda: self._local.dispatching.resume(_queue(handle)))

    def retry(self, handle: Handle) -> None:
        self._driver.call(lambda: self._local.retry(_queue(handle)))

    # Messages

    def send(
        self,
        handle: Handle,
        messages: list[Message],
        work: Work | None,
        delivery: Delivery | None,
    ) -> Sequence[SentId]:
        begun = self._begun(work)
        queue, send = _queue(handle), self._local.send
        return self._driver.wait(lambda: send(queue, messages, begun, delivery, self._caller))

    def read(
        self, handle: Handle, read: Read, work: Work | None, cursor: CursorHandle | None
    ) -> list[ReceivedMessage]:
        queue = _queue(handle)
        begun = self._begun(work)
        if begun is not None:
            begun.require_active()
        removes = read.take and begun is None

        def undo(entries: list[Entry]) -> None:
            if removes:
                self._local.receiving.put_back(queue, entries, self._caller)

        make = self._reader(handle, read, begun or REMOVING, cursor)
        return self._wait(queue, make, read.timeout, undo)

    def _reader(
        self, handle: Handle, read: Read, holder: Holder, cursor: CursorHandle | None
    ) -> Callable[[], Pending[list[Entry]]]:
        """The call that reads what is asked for."""
        queue, receiving, wait = _queue(handle), self._local.receiving, read.timeout != 0
        if isinstance(cursor, EmbeddedCursor):
            place = cursor.cursor
            if read.take:
                return lambda: receiving.receive_cursor(
                    queue, place, handle, wait=wait, holder=holder, caller=self._caller
                )
            return lambda: receiving.peek_cursor(
                queue, place, handle, wait=wait, following=read.following
            )
        lookup, count = read.lookup_id, read.count
        if lookup is not None and read.sought is Seek.BEHIND and not read.take:
            return lambda: receiving.peek(queue, count, handle, wait=wait, after=lookup)
        if lookup is not None:
            return lambda: receiving.by_lookup(
                queue,
                lookup,
                read.sought,
                peek=not read.take,
                holder=holder,
                caller=self._caller,
            )
        if read.take:
            return lambda: receiving.receive(
                queue, count, handle, wait=wait, holder=holder, caller=self._caller
            )
        return lambda: receiving.peek(queue, count, handle, wait=wait)

    def read_packed(self, handle: Handle, read: Read) -> bytes:
        return packed(self.read(handle, read, None, None))

    def hold(
        self, handle: Handle, count: int, timeout: float | None, holder: Holder
    ) -> list[ReceivedMessage]:
        """Take messages that `end` will remove or return."""
        queue, receiving = _queue(handle), self._local.receiving

        def undo(entries: list[Entry]) -> None:
            receiving.end(queue, [entry.lookup for entry in entries], delete=False)

        return self._wait(
            queue,
            lambda: receiving.receive(queue, count, handle, wait=timeout != 0, holder=holder),
            timeout,
            undo,
        )

    def _wait(
        self,
        queue: model_queue.Queue,
        make: Callable[[], Pending[list[Entry]]],
        timeout: float | None,
        undo: Callable[[list[Entry]], None],
    ) -> list[ReceivedMessage]:
        def give_up(pending: Pending[list[Entry]], error: MQError) -> bool:
            return self._local.core.cancel(queue, pending, error)

        return received(self._driver.wait(make, timeout, give_up, undo))

    def subscribe(self, handle: Handle, prefetch: int) -> EmbeddedSubscription:
        assert isinstance(handle, EmbeddedHandle)
        return EmbeddedSubscription(self, handle, prefetch)

    def end(
        self, handle: Handle, lookups: list[int], work: Work | None, *, remove: bool
    ) -> None:
        """Undo `hold`, or make it last."""
        queue, begun, receiving = _queue(handle), self._begun(work), self._local.receiving
        if begun is not None and remove:
            self._driver.call(lambda: receiving.enlist(queue, lookups, begun))
        else:
            self._driver.wait(
                lambda: receiving.end(queue, lookups, delete=remove, caller=self._caller)
            )

    def open_reader(
        self, handle: Handle, name: str, *, copy: bool, owner: str
    ) -> EmbeddedReader:
        local, driver, queue = self._local, self._driver, _queue(handle)
        found = driver.wait(lambda: open_subscription(local, queue, name, copy=copy))
        return EmbeddedReader(local, driver, found, owner, self._caller)

    def subscriptions(self) -> list[SubscriptionInfo]:
        return self._driver.call(lambda: subscription_infos(self._local))

    def drop_subscription(self, name: str, queue: str, *, unread: bool) -> int:
        found = self._driver.call(lambda: find_subscription(self._local, name, queue))
        return self._driver.wait(
            lambda: drop_subscription(self._local, found, unread=unread, caller=self._caller)
        )

    def move(self, handle: Handle, lookup_id: int, target: str, work: Work | None) -> None:
        begun = self._begun(work)
        queue, move, caller = _queue(handle), self._local.move, self._caller
        self._driver.wait(lambda: move(queue, lookup_id, target, begun, caller))

    def open_cursor(self, handle: Handle) -> EmbeddedCursor:
        assert isinstance(handle, EmbeddedHandle)
        queue = handle.queue
        return EmbeddedCursor(
            handle, self._driver.call(lambda: self._local.receiving.open_cursor(queue))
        )

    def close_cursor(self, cursor: CursorHandle) -> None:
        assert isinstance(cursor, EmbeddedCursor)
        queue, place = cursor.handle.queue, cursor.cursor
        self._driver.call(lambda: self._local.receiving.close_cursor(queue, place))

    # Transactions

    def begin(self, xid: str, *, stage: bool) -> EmbeddedWork:
        begun = self._driver.call(lambda: self._local.begin(xid, stages=stage))
        return EmbeddedWork(self, begun)

    def prepare(self, work: Work) -> None:
        begun = self._work(work)
        self._driver.wait(lambda: self._local.prepare(begun))

    def commit(self, work: Work, participants: Sequence[str] = ()) -> None:
        begun = self._work(work)
        self._driver.wait(lambda: self._local.commit(begun, participants, self._caller))

    def abort(self, work: Work) -> None:
        begun = self._work(work)
        self._driver.wait(lambda: self._local.abort(begun, self._caller))

    def prepared(self) -> dict[str, int]:
        return self._driver.call(self._local.prepared_ages)

    def commit_prepared(self, xid: str) -> None:
        self._driver.wait(lambda: self._local.commit_prepared(xid, self._caller))

    def abort_prepared(self, xid: str) -> None:
        self._driver.wait(lambda: self._local.abort_prepared(xid, self._caller))

    def is_open(self, work: Work) -> bool:
        return self._local.state is ManagerState.READY

    def unit_states(self, xids: list[str]) -> dict[str, UnitState]:
        state = self._local.units.state
        return self._driver.call(lambda: {xid: state(xid) for xid in xids})

    def finish_unit(self, xid: str, confirmed: list[str]) -> None:
        self._driver.wait(lambda: self._local.units.finish(xid, confirmed))

    def units(self) -> list[UnitInfo]:
        return self._driver.call(lambda: unit_infos(self._local))

    def commit_epoch(
        self, writer: str, epoch: int, winners: list[str], owner: str, *, once: bool
    ) -> bool:
        commit = self._local.commit_epoch
        return self._driver.wait(
            lambda: commit(writer, epoch, winners, owner, once=once, caller=self._caller)
        )

    def _begun(self, work: Work | None) -> model_transaction.Transaction | None:
        return None if work is None else self._work(work)

    def _work(self, work: Work) -> model_transaction.Transaction:
        if not isinstance(work, EmbeddedWork) or work.backend is not self:
            raise TransactionSequence("the transaction belongs to another queue manager")
        return work.begun

    # The manager

    def explain(self, message_id: str) -> list[HistoryEvent]:
        return self._driver.call(lambda: self._local.explain(message_id))

    def statistics(self) -> dict[str, int]:
        return self._driver.call(lambda: self._local.core.statistics.counts)

    def settings(self) -> Settings:
        return self._driver.call(lambda: self._local.core.settings)

    def configure(self, changes: dict[str, Any]) -> None:
        self._driver.wait(lambda: self._local.configure(**changes))

    def close(self) -> None:
        self._local.state = ManagerState.STOPPING
        self._driver.close()
        self._local.state = ManagerState.STOPPED


def _queue(handle: Handle) -> model_queue.Queue:
    assert isinstance(handle, EmbeddedHandle)
    return handle.queue
