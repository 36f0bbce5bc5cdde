"""The API's backend in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from openmsmq.access.changes import AccessChanges
from openmsmq.app_protocol.members import Members
from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.client._async.backend import Completion, completed
from openmsmq.client.backend import CursorHandle, Handle, Work
from openmsmq.client.payloads import single_slices
from openmsmq.engine.commit.future import Future
from openmsmq.engine.explanation import queue_history
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.manager import QueueManager, received
from openmsmq.engine.messages import cursor as model_cursor
from openmsmq.engine.outgoing.info import outgoing_infos
from openmsmq.engine.queues import queue as model_queue
from openmsmq.engine.queues.info import queue_infos
from openmsmq.engine.queues.slices import Parts, expanded, lookups_of
from openmsmq.engine.subscriptions import subscription as model_subscription
from openmsmq.engine.subscriptions.info import (
    bind_subscription,
    commit_reserved,
    drop_subscription,
    find_subscription,
    mark_reserved,
    open_subscription,
    read_reserved,
    subscription_infos,
)
from openmsmq.engine.transactions import transaction as model_transaction
from openmsmq.engine.transactions.units import unit_infos
from openmsmq.errors import TransactionSequence, UnsupportedOperation
from openmsmq.process import this_process
from openmsmq.runtime.drivers import LoopDriver as Driver
from openmsmq.runtime.startup import open_directory
from openmsmq.transports.peers.info import peer_infos
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.access import Mode
from openmsmq.types.caller import Caller
from openmsmq.types.delivery import DeliveryOptions, RedirectOptions
from openmsmq.types.history import AuditEntry, HistoryEvent, QueueHistory
from openmsmq.types.ids import SentId
from openmsmq.types.lookup import LOOKUP_MAX
from openmsmq.types.manager_state import ManagerState
from openmsmq.types.message import Message
from openmsmq.types.outgoing import OutgoingInfo
from openmsmq.types.peers import MulticastInfo, PeerInfo
from openmsmq.types.queues import QueueInfo
from openmsmq.types.read import Read, Seek
from openmsmq.types.received import ReceivedMessage
from openmsmq.types.settings import Settings
from openmsmq.types.subscriptions import Binding, SubscriptionInfo
from openmsmq.types.units import UnitInfo, UnitState


class EmbeddedHandle(Handle):
    """An open queue of this process."""

    __slots__ = ("opened",)

    def __init__(self, opened: QueueHandle) -> None:
        super().__init__(opened.name, opened.mode)
        self.opened = opened


class EmbeddedCursor(CursorHandle):
    """A cursor of this process."""

    __slots__ = ("cursor", "opened")

    def __init__(self, opened: QueueHandle, cursor: model_cursor.QueueCursor) -> None:
        self.opened = opened
        self.cursor = cursor


class EmbeddedWork(Work):
    """A transaction of this process."""

    __slots__ = ("backend", "begun")

    def __init__(self, backend: Embedded, begun: model_transaction.ManagedTransaction) -> None:
        self.backend = backend
        self.begun = begun


class EmbeddedStream:
    """Messages that are held for one reader, some at a time."""

    def __init__(self, backend: Embedded, handle: EmbeddedHandle, prefetch: int) -> None:
        self._backend = backend
        self._handle = handle
        self._prefetch = prefetch

    async def next(self, timeout: float | None) -> list[ReceivedMessage]:
        """The next messages, as soon as there is one."""
        return await self._backend.hold(self._handle, self._prefetch, timeout)

    async def end(self, lookups: list[int], work: Work | None, *, remove: bool) -> None:
        """Remove messages that are held, perhaps as part of a transaction, or return them."""
        await self._backend.end(self._handle, lookups, work, remove=remove)

    async def come_within(self, seconds: float) -> list[ReceivedMessage]:
        """None: to remove messages at once needs no round trip."""
        return []

    async def begin_removal(self, lookups: list[int]) -> Completion:
        """Remove messages that are held, without anything left to wait for."""
        await self.end(lookups, None, remove=True)
        return completed

    async def close(self) -> None:
        """No more are wanted; those that are held stay so until they are ended."""


class EmbeddedSubscription:
    """A subscription of this process."""

    def __init__(
        self,
        local: QueueManager,
        driver: Driver,
        subscription: model_subscription.DurableSubscription,
        owner: str,
        caller: Caller,
    ) -> None:
        self._local = local
        self._driver = driver
        self._subscription = subscription
        self._owner = owner
        self._caller = caller

    @property
    def committed(self) -> int:
        """The last committed position."""
        return self._subscription.committed

    @property
    def reserved(self) -> int:
        """The last reserved position."""
        return self._subscription.reserved

    @property
    def owner(self) -> str:
        """Who it belongs to."""
        return self._subscription.owner

    @property
    def marked(self) -> int:
        """The last position that was marked as read."""
        return self._subscription.marked

    async def bind(self, binding: Binding) -> None:
        """Let it belong to the owner that it was opened for."""
        local, subscription, owner = self._local, self._subscription, self._owner
        await self._driver.wait(lambda: bind_subscription(local, subscription, owner, binding))

    async def mark_read(self, after: int, last: int) -> None:
        """Its owner has read all behind one position up to another."""
        local, subscription, owner = self._local, self._subscription, self._owner
        await self._driver.wait(lambda: mark_reserved(local, subscription, owner, after, last))

    async def reserve(self, after: int, count: int, size_max: int) -> int:
        """Up to which position there is something to read."""
        reserve, subscription = self._local.reservations.reserve, self._subscription
        return await self._driver.wait(lambda: reserve(subscription, after, count, size_max))

    async def size(self, after: int, last: int) -> int:
        """The bytes of reserved messages."""
        size, subscription = self._local.reservations.size, self._subscription
        return self._driver.call(lambda: size(subscription, after, last))

    async def read(self, after: int, last: int) -> list[ReceivedMessage]:
        """Messages that it was given behind a position; as many as fit a frame."""
        local, subscription, owner = self._local, self._subscription, self._owner
        return received(
            self._driver.call(lambda: read_reserved(local, subscription, after, last, owner))
        )

    async def read_slices(self, after: int, last: int) -> tuple[QueuedSlice, ...]:
        """The same as they lie together."""
        return single_slices(await self.read(after, last))

    async def commit(self, position: int, move_to: str) -> None:
        """It is done with all up to a position."""
        local, subscription, owner = self._local, self._subscription, self._owner
        caller = self._caller
        await self._driver.wait(
            lambda: commit_reserved(local, subscription, position, move_to, owner, caller)
        )


class Embedded:
    """The queues of a directory, kept by this process."""

    def __init__(self, local: QueueManager, driver: Driver) -> None:
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
        return str(self._local.identity)

    @property
    def state(self) -> str:
        """Where the manager stands."""
        return str(self._local.state)

    # Queues

    async def create_queue(self, name: str, properties: dict[str, Any]) -> None:
        await self._driver.wait(lambda: self._local.create_queue(name, self._caller, **properties))

    async def delete_queue(self, name: str) -> None:
        await self._driver.wait(lambda: self._local.delete_queue(name, self._caller))

    async def open_queue(self, name: str, mode: Mode) -> EmbeddedHandle:
        open_queue, caller = self._local.open_queue, self._caller
        return EmbeddedHandle(self._driver.call(lambda: open_queue(name, mode, caller)))

    async def close_queue(self, handle: Handle) -> None:
        self._driver.call(_opened(handle).close)

    async def queues(self, *, everything: bool) -> list[QueueInfo]:
        return self._driver.call(lambda: queue_infos(self._local, everything=everything))

    async def outgoing(self) -> list[OutgoingInfo]:
        return self._driver.call(lambda: outgoing_infos(self._local))

    async def peers(self) -> list[PeerInfo]:
        return self._driver.call(lambda: peer_infos(self._local))

    async def control(self, call: str, /, **arguments: Any) -> Members:
        words = call.replace("_", " ")
        raise UnsupportedOperation(f"{words}: only a service can do that (openmsmq serve)")

    async def multicast(self) -> list[MulticastInfo]:
        return []  # only a service has a network

    async def queue_info(self, handle: Handle) -> QueueInfo:
        return self._driver.call(_opened(handle).info)

    async def change_queue(self, handle: Handle, changes: dict[str, Any]) -> None:
        change, caller = self._local.change_queue, self._caller
        await self._driver.wait(lambda: change(_queue(handle), caller, **changes))

    async def permissions(self, handle: Handle) -> str:
        permissions, caller = self._local.permissions, self._caller
        return self._driver.call(lambda: permissions(_queue(handle), caller))

    async def set_permissions(self, handle: Handle, sddl: str) -> None:
        set_permissions, caller = self._local.set_permissions, self._caller
        await self._driver.wait(lambda: set_permissions(_queue(handle), sddl, caller))

    async def purge(self, handle: Handle) -> int:
        return await self._driver.wait(_opened(handle).purge)

    async def pause(self, handle: Handle) -> None:
        self._driver.call(lambda: self._local.pause(_queue(handle), self._caller))

    async def resume(self, handle: Handle) -> None:
        self._driver.call(lambda: self._local.resume(_queue(handle), self._caller))

    async def retry(self, handle: Handle) -> None:
        self._driver.call(lambda: self._local.retry(_queue(handle), self._caller))

    # Messages

    async def send(
        self,
        handle: Handle,
        messages: list[Message],
        work: Work | None,
        delivery: DeliveryOptions | None,
    ) -> Sequence[SentId]:
        begun, opened = self._begun(work), _opened(handle)
        return await self._driver.wait(lambda: opened.send(messages, begun, delivery))

    async def send_packets(
        self, handle: Handle, packets: Sequence[bytes], work: Work | None
    ) -> Sequence[SentId]:
        opened, begun = _opened(handle), self._begun(work)
        return await self._driver.wait(lambda: opened.send_packets(packets, begun))

    async def read(
        self, handle: Handle, read: Read, work: Work | None, cursor: CursorHandle | None
    ) -> list[ReceivedMessage]:
        opened, begun = _opened(handle), self._begun(work)
        if begun is not None:
            begun.require_active()
        removes = read.take and begun is None

        def undo(parts: Parts) -> None:
            if removes:
                opened.put_back(expanded(parts))

        return await self._wait(opened, _reader(opened, read, begun, cursor), read.timeout, undo)

    async def peek_slices(self, handle: Handle, read: Read) -> tuple[QueuedSlice, ...]:
        return single_slices(await self.read(handle, read, None, None))

    async def hold(
        self, handle: Handle, count: int, timeout: float | None
    ) -> list[ReceivedMessage]:
        """Take messages that `end` will remove or return."""
        opened = _opened(handle)

        def undo(parts: Parts) -> None:
            opened.end(lookups_of(parts), remove=False)

        return await self._wait(
            opened,
            lambda: opened.receive_parts(count, wait=timeout != 0, hold=True),
            timeout,
            undo,
        )

    async def _wait(
        self,
        opened: QueueHandle,
        make: Callable[[], Future[Any]],
        timeout: float | None,
        undo: Callable[[Parts], None],
    ) -> list[ReceivedMessage]:
        return received(await self._driver.wait(make, timeout, opened.cancel, undo))

    async def open_stream(self, handle: Handle, prefetch: int) -> EmbeddedStream:
        assert isinstance(handle, EmbeddedHandle)
        return EmbeddedStream(self, handle, prefetch)

    async def end(
        self, handle: Handle, lookups: list[int], work: Work | None, *, remove: bool
    ) -> None:
        """Undo `hold`, or make it last."""
        opened, begun = _opened(handle), self._begun(work)
        await self._driver.wait(lambda: opened.end(lookups, remove=remove, transaction=begun))

    async def open_subscription(
        self, handle: Handle, name: str, *, copy: bool, owner: str
    ) -> EmbeddedSubscription:
        local, driver, queue = self._local, self._driver, _queue(handle)
        found = await driver.wait(lambda: open_subscription(local, queue, name, copy=copy))
        return EmbeddedSubscription(local, driver, found, owner, self._caller)

    async def subscriptions(self, name: str) -> list[SubscriptionInfo]:
        return self._driver.call(lambda: subscription_infos(self._local, name))

    async def drop_subscription(self, name: str, queue: str, *, unread: bool) -> int:
        found = self._driver.call(lambda: find_subscription(self._local, name, queue))
        return await self._driver.wait(
            lambda: drop_subscription(self._local, found, unread=unread, caller=self._caller)
        )

    async def move(self, handle: Handle, lookup_id: int, target: str, work: Work | None) -> None:
        opened, begun = _opened(handle), self._begun(work)
        await self._driver.wait(lambda: opened.move(lookup_id, target, begun))

    async def reject(self, handle: Handle, lookup_id: int, work: Work | None) -> None:
        opened, begun = _opened(handle), self._begun(work)
        await self._driver.wait(lambda: opened.reject(lookup_id, begun))

    async def redirect(
        self, handle: Handle, lookups: list[int], target: Handle, options: RedirectOptions
    ) -> dict[int, SentId]:
        source, to = _opened(handle), _opened(target)
        redirect = self._local.redirect
        return await self._driver.wait(lambda: redirect(source, lookups, to, options))

    async def open_cursor(self, handle: Handle) -> EmbeddedCursor:
        opened = _opened(handle)
        return EmbeddedCursor(opened, self._driver.call(opened.open_cursor))

    async def close_cursor(self, cursor: CursorHandle) -> None:
        assert isinstance(cursor, EmbeddedCursor)
        self._driver.call(lambda: cursor.opened.close_cursor(cursor.cursor))

    # Transactions

    async def begin(self, xid: str, *, stage: bool) -> EmbeddedWork:
        begun = self._driver.call(lambda: self._local.begin(xid, stages=stage))
        return EmbeddedWork(self, begun)

    async def prepare(self, work: Work) -> None:
        begun = self._work(work)
        await self._driver.wait(lambda: self._local.prepare(begun))

    async def commit(self, work: Work, participants: Sequence[str] = ()) -> None:
        begun = self._work(work)
        await self._driver.wait(lambda: self._local.commit(begun, participants, self._caller))

    async def abort(self, work: Work) -> None:
        begun = self._work(work)
        await self._driver.wait(lambda: self._local.abort(begun, self._caller))

    async def prepared(self) -> dict[str, int]:
        return self._driver.call(self._local.prepared_ages)

    async def commit_prepared(self, xid: str) -> None:
        await self._driver.wait(lambda: self._local.commit_prepared(xid, self._caller))

    async def abort_prepared(self, xid: str) -> None:
        await self._driver.wait(lambda: self._local.abort_prepared(xid, self._caller))

    async def is_open(self, work: Work) -> bool:
        return self._local.state is ManagerState.READY

    async def unit_states(self, xids: list[str]) -> dict[str, UnitState]:
        state = self._local.units.state
        return self._driver.call(lambda: {xid: state(xid) for xid in xids})

    async def finish_unit(self, xid: str, confirmed: list[str]) -> None:
        await self._driver.wait(lambda: self._local.units.finish(xid, confirmed))

    async def units(self) -> list[UnitInfo]:
        return self._driver.call(lambda: unit_infos(self._local))

    async def commit_epoch(
        self, writer: str, epoch: int, winners: list[str], owner: str, *, final: bool
    ) -> bool:
        commit = self._local.commit_epoch
        return await self._driver.wait(
            lambda: commit(writer, epoch, winners, owner, final=final, caller=self._caller)
        )

    def _begun(self, work: Work | None) -> model_transaction.ManagedTransaction | None:
        return None if work is None else self._work(work)

    def _work(self, work: Work) -> model_transaction.ManagedTransaction:
        if not isinstance(work, EmbeddedWork) or work.backend is not self:
            raise TransactionSequence("the transaction belongs to another queue manager")
        return work.begun

    # The manager

    async def explain(self, message_id: str) -> list[HistoryEvent]:
        return self._driver.call(lambda: self._local.explain(message_id))

    async def queue_history(self, name: str, before: int, limit: int) -> QueueHistory:
        return self._driver.call(lambda: queue_history(self._local, name, before, limit))

    async def audit(self, after: int, limit: int) -> list[AuditEntry]:
        await self._driver.wait(self._local.audit.written)  # the directory was just opened
        return self._driver.call(lambda: self._local.audit_entries(after, limit))

    async def statistics(self) -> dict[str, int]:
        return self._driver.call(self._local.counts)

    async def settings(self) -> Settings:
        return self._driver.call(lambda: self._local.settings)

    async def configure(self, changes: dict[str, Any]) -> None:
        await self._driver.wait(lambda: self._local.configure(self._caller, **changes))

    async def close(self) -> None:
        self._local.state = ManagerState.STOPPING
        await self._driver.close()
        self._local.state = ManagerState.STOPPED


def open_embedded(
    directory: str | os.PathLike[str], name: str | None, quota: int | None
) -> Embedded:
    """Open a directory, making it if it is not there."""
    local = open_directory(directory, name, quota, receipts=RECEIPTS)
    driver = Driver(local, local.clock)
    driver.call(AccessChanges(Path(directory), local.audit).refresh)
    return Embedded(local, driver)


def _reader(
    opened: QueueHandle,
    read: Read,
    begun: model_transaction.ManagedTransaction | None,
    cursor: CursorHandle | None,
) -> Callable[[], Future[Any]]:
    """The call that reads what is asked for."""
    wait = read.timeout != 0
    if isinstance(cursor, EmbeddedCursor):
        place = cursor.cursor
        if read.take:
            return lambda: opened.receive_cursor(place, wait=wait, transaction=begun)
        return lambda: opened.peek_cursor(place, wait=wait, following=read.following)
    lookup, count = read.lookup_id, read.count
    if lookup is not None and read.sought is Seek.BEHIND and not read.take:
        return lambda: opened.peek(count, wait=wait, after=lookup)
    if lookup is not None and read.is_back:
        before = LOOKUP_MAX if read.sought is Seek.LAST else lookup
        return lambda: opened.peek_back(count, before)
    if lookup is not None and read.take:
        return lambda: opened.receive_at(lookup, read.sought, transaction=begun)
    if lookup is not None:
        return lambda: opened.peek_at(lookup, read.sought)
    if read.take:
        return lambda: opened.receive_parts(count, wait=wait, transaction=begun)
    return lambda: opened.peek(count, wait=wait)


def _opened(handle: Handle) -> QueueHandle:
    assert isinstance(handle, EmbeddedHandle)
    return handle.opened


def _queue(handle: Handle) -> model_queue.ManagedQueue:
    return _opened(handle).queue
