"""A queue of another manager that a program has opened through this one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from openmsmq.app_protocol.limits import FRAME_SIZE_MAX
from openmsmq.client.backend import CursorHandle
from openmsmq.client.remote_read._async.backend import RpcBackend, RpcHandle, RpcWork
from openmsmq.engine.commit.future import Future
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.messages.scan import NO_LIMIT
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import Record
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    MessageNotFound,
    ReceiveTimeout,
    TransactionSequence,
    TransactionUsage,
    UnsupportedOperation,
)
from openmsmq.limits import U32_MAX
from openmsmq.packet.columns import split_packets
from openmsmq.rpc.limits import RESPONSE_STUB_MAX
from openmsmq.service.limits import PROXIED_BATCH_MAX
from openmsmq.types.access import Access, Mode
from openmsmq.types.delivery import DeliveryOptions
from openmsmq.types.ids import SentId
from openmsmq.types.lookup import Range
from openmsmq.types.queues import QueueInfo
from openmsmq.types.read import Read, Seek
from openmsmq.types.received import ReceivedMessage

T = TypeVar("T")
Entries = list[Entry]
ROOM: Final = FRAME_SIZE_MAX - RESPONSE_STUB_MAX - (1 << 16)
"Bytes of messages to which one more, of any size, can be added."


class ProxyCalls(Protocol):
    """Makes the calls of a program (`ProxiedReads`)."""

    def run(
        self, work: Callable[[], Coroutine[Any, Any, T]], undo: Callable[[], None] = ...
    ) -> Future[T]:
        """Make calls; `undo` is called if they are cancelled."""
        ...

    def cancel(self, pending: Future[Any], error: BaseException) -> bool:
        """Give up calls that were made."""
        ...

    async def enlist(self, backend: RpcBackend, transaction: ManagedTransaction) -> RpcWork:
        """Have a manager take part in a transaction."""
        ...


class ProxiedCursor(CursorHandle):
    """A cursor of a queue of another manager, made with the first read."""

    __slots__ = ("made",)

    def __init__(self) -> None:
        self.made: CursorHandle | None = None


class ProxiedQueue:
    """An open queue of another manager (`OpenQueue`); what is sent goes to its outgoing queue."""

    answers_at_once = False

    def __init__(
        self,
        session: ProxyCalls,
        backend: RpcBackend,
        name: str,
        mode: Mode,
        sender: QueueHandle | None,
    ) -> None:
        self._session = session
        self._backend = backend
        self._sender = sender
        self.name: Final = name
        access = mode.access if sender is not None else mode.access & ~Access.SEND
        self.mode: Final = Mode(access, mode.share)
        self._opened: RpcHandle | None = None
        self._opening = asyncio.Lock()
        self._held: dict[int, int] = {}
        "Requests that are not ended, by the lookup identifier of their message."

    @property
    def queue(self) -> ManagedQueue:
        """The outgoing queue; none if it was opened to be read only."""
        if self._sender is None:
            raise UnsupportedOperation(f"{self.name}: a queue of another manager")
        return self._sender.queue

    async def _handle(self) -> RpcHandle:
        async with self._opening:
            if self._opened is None:
                self._opened = await self._backend.open_queue(self.name, self.mode)
            return self._opened

    def send_packets(
        self,
        packets: Sequence[bytes],
        transaction: ManagedTransaction | None = None,
        delivery: DeliveryOptions | None = None,
    ) -> Future[Sequence[SentId]]:
        """Send messages that a program has packed."""
        if self._sender is None:
            self.mode.require(Access.SEND, self.name)
        assert self._sender is not None
        return self._sender.send_packets(packets, transaction, delivery)

    def send_run(
        self, packets: bytes, count: int, transaction: ManagedTransaction | None = None
    ) -> Future[Sequence[SentId]]:
        """The same with packets one after the other."""
        return self.send_packets(split_packets(packets, count), transaction)

    # Reading

    def peek_parts(
        self, count: int, *, wait: bool, after: int = 0, size_max: int = NO_LIMIT
    ) -> Future[Any]:
        """Look at the first messages, or at those behind a lookup identifier."""
        self.mode.require(Access.PEEK, self.name)
        first = Read(take=False, timeout=None if wait else 0)
        if after:
            first = Read(take=False, timeout=0, lookup_id=after, seek=Seek.BEHIND)

        def following(last: int) -> Read:
            return Read(take=False, timeout=0, lookup_id=last, seek=Seek.NEXT)

        return self._read(first, following, count, size_max)

    def receive_parts(
        self,
        count: int,
        *,
        wait: bool,
        transaction: ManagedTransaction | None = None,
        hold: bool = False,
        size_max: int = NO_LIMIT,
    ) -> Future[Any]:
        """Take the first messages, for a transaction or to be held."""
        self.mode.require(Access.RECEIVE, self.name)
        first = Read(take=True, timeout=None if wait else 0)
        following = Read(take=True, timeout=0)
        return self._read(first, lambda _: following, count, size_max, transaction)

    def peek_at(self, lookup: int, seek: Seek) -> Future[Entries]:
        """Look at the message that a lookup identifier leads to."""
        self.mode.require(Access.PEEK, self.name)
        return self._read(Read(take=False, lookup_id=lookup, seek=seek))

    def peek_back(self, count: int, before: int, *, size_max: int = NO_LIMIT) -> Future[Entries]:
        """Remote read has one at a time: the last one before."""
        return self.peek_at(before, Seek.AHEAD)

    def receive_at(
        self,
        lookup: int,
        seek: Seek,
        *,
        transaction: ManagedTransaction | None = None,
        hold: bool = False,
    ) -> Future[Entries]:
        """Take the message that a lookup identifier leads to."""
        self.mode.require(Access.RECEIVE, self.name)
        read = Read(take=True, lookup_id=lookup, seek=seek)
        return self._read(read, transaction=transaction)

    def peek_cursor(self, cursor: ProxiedCursor, *, wait: bool, following: bool) -> Future[Entries]:
        """Look at the message under a cursor, or go on to the following one."""
        self.mode.require(Access.PEEK, self.name)
        read = Read(take=False, timeout=None if wait else 0, following=following)
        return self._read(read, cursor=cursor)

    def receive_cursor(
        self,
        cursor: ProxiedCursor,
        *,
        wait: bool,
        transaction: ManagedTransaction | None = None,
        hold: bool = False,
    ) -> Future[Entries]:
        """Take the message under a cursor."""
        self.mode.require(Access.RECEIVE, self.name)
        read = Read(take=True, timeout=None if wait else 0)
        return self._read(read, transaction=transaction, cursor=cursor)

    def _read(
        self,
        first: Read,
        following: Callable[[int], Read] | None = None,
        count: int = 1,
        size_max: int = NO_LIMIT,
        transaction: ManagedTransaction | None = None,
        cursor: ProxiedCursor | None = None,
    ) -> Future[Entries]:
        """Read as many as may be had at once; only the first is waited for."""
        found: Entries = []

        async def read() -> Entries:
            handle = await self._handle()
            found.append(await self._read_one(handle, first, transaction, cursor))
            size = len(found[0].packet)
            most = min(count, PROXIED_BATCH_MAX) if following is not None else 1
            while following and len(found) < most and size < min(size_max, ROOM):
                again = following(found[-1].lookup)
                try:
                    found.append(await self._read_one(handle, again, transaction, None))
                except (ReceiveTimeout, MessageNotFound):
                    break
                size += len(found[-1].packet)
            return found

        def undo() -> None:
            if first.take and transaction is None:
                lookups = [entry.lookup for entry in found]
                self.end([lookup for lookup in lookups if lookup in self._held], remove=False)

        return self._session.run(read, undo)

    async def _read_one(
        self,
        handle: RpcHandle,
        read: Read,
        transaction: ManagedTransaction | None,
        cursor: ProxiedCursor | None,
    ) -> Entry:
        work = None
        if transaction is not None and read.take:
            work = await self._session.enlist(self._backend, transaction)
        place = None
        if cursor is not None:
            if cursor.made is None:
                cursor.made = await self._backend.open_cursor(handle)
            place = cursor.made
        if read.take and work is None:
            request_id, message = await self._backend.start_held(handle, read, place)
            self._held[message.lookup_id] = request_id
        else:
            [message] = await self._backend.read(handle, read, work, place)
        return _entry(message)

    def cancel(self, read: Future[Any], error: BaseException) -> bool:
        """Cancel a read that waits; a message that comes meanwhile is returned."""
        return self._session.cancel(read, error)

    def end(
        self, lookups: Sequence[int], *, remove: bool, transaction: ManagedTransaction | None = None
    ) -> Future[None]:
        """Remove messages that this handle holds, or return them."""
        if transaction is not None and remove:
            raise UnsupportedOperation("a stream of another manager's queue has no transactions")
        for lookup in set(lookups).difference(self._held):
            raise TransactionSequence(f"message {lookup} is not held by this handle")
        requests = [self._held.pop(lookup) for lookup in dict.fromkeys(lookups)]

        async def end() -> None:
            handle = await self._handle()
            for request_id in requests:
                await self._backend.end_held(handle, request_id, remove=remove)

        return self._session.run(end)

    def end_ranges(
        self,
        ranges: Sequence[Range],
        *,
        remove: bool,
        transaction: ManagedTransaction | None = None,
    ) -> Future[None]:
        """The same for messages with consecutive lookup identifiers."""
        lookups: list[int] = []
        for first, end in ranges:
            if end - first + len(lookups) > len(self._held):
                raise TransactionSequence(f"{end - first} messages are not held by this handle")
            lookups += range(first, end)
        return self.end(lookups, remove=remove, transaction=transaction)

    # Cursors

    def open_cursor(self) -> ProxiedCursor:
        """A new cursor, before the first message."""
        self.mode.require(Access.PEEK, self.name)
        return ProxiedCursor()

    def close_cursor(self, cursor: ProxiedCursor) -> None:
        """Close a cursor."""
        if cursor.made is not None:
            self._session.run(partial(self._backend.close_cursor, cursor.made))

    # The queue itself

    def move(
        self, lookup: int, target: str, transaction: ManagedTransaction | None
    ) -> Future[None]:
        """Move a message between a queue and its subqueues."""
        self.mode.require(Access.RECEIVE, self.name)

        async def move() -> None:
            work = None
            if transaction is not None:
                work = await self._session.enlist(self._backend, transaction)
            await self._backend.move(await self._handle(), lookup, target, work)

        return self._session.run(move)

    def reject(self, lookup: int, transaction: ManagedTransaction | None) -> Future[None]:
        """Say that a message of a transaction is not wanted."""
        self.mode.require(Access.RECEIVE, self.name)
        if transaction is None:
            raise TransactionUsage("only a message of a transaction can be rejected")

        async def reject() -> None:
            work = await self._session.enlist(self._backend, transaction)
            await self._backend.reject(await self._handle(), lookup, work)

        return self._session.run(reject)

    def purge(self) -> Future[int]:
        """Remove all messages: of the outgoing queue, unless it was opened to be read only."""
        if self._sender is not None:
            return self._sender.purge()
        self.mode.require(Access.RECEIVE, self.name)

        async def purge() -> int:
            return await self._backend.purge(await self._handle())

        return self._session.run(purge)

    def info(self) -> QueueInfo:
        """What is known about the outgoing queue; remote read does not tell about others."""
        if self._sender is None:
            raise UnsupportedOperation("queue info: remote read (MS-MQRR) has no such call")
        return self._sender.info()

    def close(self) -> None:
        """Close it: held messages return to their places."""
        if self._sender is not None:
            self._sender.close()
        if self._opened is not None:
            self._session.run(partial(self._backend.close_queue, self._opened))


def _entry(message: ReceivedMessage) -> Entry:
    """A message of another manager as one of ours."""
    packet = message.packet
    record = Record(
        0,
        len(packet),
        int(message.arrived_time.timestamp()),
        U32_MAX,
        message.abort_count,
        message.move_count,
    )
    return Entry(message.lookup_id, record.pack(), packet)
