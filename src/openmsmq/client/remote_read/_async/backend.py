"""Queues of a manager elsewhere, read through RemoteRead ([MS-MQRR] 3.2.4)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Final
from uuid import uuid4

from openmsmq.client._async.backend import Completion, completed
from openmsmq.client.backend import CursorHandle, Handle, Work
from openmsmq.client.remote_read._async.association import RpcAssociation, RpcLink
from openmsmq.client.remote_read._async.old_association import OldAssociation
from openmsmq.client.remote_read._async.unsupported import UnsupportedCalls
from openmsmq.client.remote_read.messages import (
    NoSuchInterface,
    action_of,
    check_result,
    received_message,
    timeout_ms,
)
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import (
    InvalidHandle,
    Malformed,
    MessageNotFound,
    MQError,
    ReceiveTimeout,
    ServiceNotAvailable,
    TransactionSequence,
    TransactionUsage,
    UnsupportedAccessMode,
    UnsupportedOperation,
)
from openmsmq.interfaces.limits import CLIENT_CONNECTIONS_MAX
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.coordinator import (
    COORDINATOR,
    OWN_TOKEN,
    CoordinatorOpnum,
    TransactionArgument,
)
from openmsmq.interfaces.remote_read.stubs import ReadOpnum
from openmsmq.names.base import FormatName
from openmsmq.properties.message import MessageClass
from openmsmq.rpc.ndr.structure import NULL_HANDLE
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.manager_state import ManagerState
from openmsmq.types.queues import QueueInfo
from openmsmq.types.read import Read, Seek
from openmsmq.types.received import ReceivedMessage

RECEIVE_ACCESS, MOVE_ACCESS, PEEK_ACCESS = 0x01, 0x04, 0x20
VERSION = (6, 1, 0x1DB1)
"What the client says it is ([MS-MQRR] 3.1.4.2, notes 16 to 18)."


_log: Final = logging.getLogger(__name__)
AHEAD = 16
"Messages that a stream holds at most, since each takes a call before the first is delivered."


class RpcHandle(Handle):
    """An open queue; it is opened again if the connections were lost."""

    __slots__ = ("context", "format_name", "generation", "requests")

    def __init__(self, name: str, mode: Mode, format_name: FormatName) -> None:
        super().__init__(name, mode)
        self.format_name = format_name
        self.context = NULL_HANDLE
        self.generation = -1
        self.requests = count(1)
        "Numbers of reads, unique for a handle ([MS-MQRR] 3.1.4.7)."


class RpcCursor(CursorHandle):
    """A cursor of an open queue; it is lost with the connections."""

    __slots__ = ("generation", "handle", "number")

    def __init__(self, handle: RpcHandle, number: int) -> None:
        self.handle, self.number, self.generation = handle, number, handle.generation


class RpcWork(Work):
    """A transaction; it is aborted when the connections are lost."""

    __slots__ = ("backend", "generation", "unit")

    def __init__(self, backend: RpcBackend, unit: bytes) -> None:
        self.backend, self.unit = backend, unit
        self.generation: int | None = None
        "The connections that it was enlisted over, with the first queue that is read in it."


class RpcBackend(UnsupportedCalls):
    """Reads the queues of a manager elsewhere."""

    def __init__(
        self, place: RemotePlace, *, connections_max: int = CLIENT_CONNECTIONS_MAX
    ) -> None:
        self._place = place
        self._connections_max = connections_max
        self._calls = RpcAssociation(place, connections_max)
        self._client_id = uuid4()
        "Unique to the client ([MS-MQRR] 3.1.4.2)."

    @property
    def name(self) -> str:
        return self._place.computer or self._place.host

    @property
    def id(self) -> str:
        return str(NULL_HANDLE)

    @property
    def state(self) -> str:
        return ManagerState.READY

    async def connect(self) -> None:
        """Log on; a refused login shows with the first call ([MS-RPCE] 3.3.1.5.2.1).

        A manager without RemoteRead is read the older way ([MS-MQRR] 3.2.4.1).
        """
        try:
            await self._calls.connect()
        except NoSuchInterface:
            await self._calls.close()
            self._calls = OldAssociation(self._place, self._connections_max)
            await self._calls.connect()
            _log.info("%s has no RemoteRead: it is read by the older protocol", self.name)

    async def close(self) -> None:
        await self._calls.close()

    # Queues

    async def open_queue(self, name: str, mode: Mode) -> RpcHandle:
        access = mode.access & ~Access.SEND
        if not access:
            raise UnsupportedAccessMode(f"{name}: remote read does not send; use a local manager")
        format_name = self._place.queue_name(name)
        handle = RpcHandle(str(format_name), Mode(access, mode.share), format_name)
        await self._open(handle)
        return handle

    async def _open(self, handle: RpcHandle) -> None:
        """R_OpenQueue ([MS-MQRR] 3.2.4.1, 3.1.4.2)."""
        receives = Access.RECEIVE in handle.mode.access
        arguments = self._open_arguments(
            handle.format_name,
            RECEIVE_ACCESS if receives else PEEK_ACCESS,
            1 if handle.mode.share is Share.DENY_RECEIVE else 0,
        )
        opnum = ReadOpnum.OPEN_QUEUE
        opened = await self._calls.call(opnum, arguments, stubs.QueueContextArgument)
        handle.context, handle.generation = opened.context, self._calls.generation

    def _open_arguments(self, name: FormatName, access: int, share: int) -> stubs.OpenArguments:
        """The arguments of R_OpenQueue and R_OpenQueueForMove ([MS-MQRR] 3.1.4.2).

        The client is no routing server, and in no domain.
        """
        queue_format = QueueFormatArgument.of(name)
        return stubs.OpenArguments(queue_format, access, share, self._client_id, 1, *VERSION, 1)

    async def _context(self, handle: Handle) -> RpcHandle:
        """An open queue, opened again if the connections were lost."""
        assert isinstance(handle, RpcHandle)
        if handle.generation != self._calls.generation:
            await self._open(handle)
        return handle

    async def close_queue(self, handle: Handle) -> None:
        """R_CloseQueue ([MS-MQRR] 3.1.4.3)."""
        assert isinstance(handle, RpcHandle)
        if handle.generation == self._calls.generation:
            handle.generation = -1
            arguments = stubs.QueueContextArgument(handle.context)
            with suppress(ServiceNotAvailable, InvalidHandle):
                await self._calls.call(ReadOpnum.CLOSE_QUEUE, arguments, stubs.ClosedContext)

    async def queue_info(self, handle: Handle) -> QueueInfo:
        raise UnsupportedOperation("queue info: remote read (MS-MQRR) has no such call")

    async def purge(self, handle: Handle) -> int:
        """R_PurgeQueue, which does not tell how many there were ([MS-MQRR] 3.2.4.7, 3.1.4.6)."""
        found = await self._context(handle)
        arguments = stubs.QueueContextArgument(found.context)
        done = await self._calls.call(ReadOpnum.PURGE_QUEUE, arguments, stubs.Status32)
        check_result(done.result, found.name)
        return 0

    async def move(self, handle: Handle, lookup_id: int, target: str, work: Work | None) -> None:
        """R_OpenQueueForMove, then R_MoveMessage ([MS-MQRR] 3.2.4.6, 3.1.4.11, 3.1.4.10)."""
        self._check(work)
        found = await self._context(handle)
        unit = await self._enlist(work, found)
        name = self._target(found, target)
        arguments = self._open_arguments(name, MOVE_ACCESS, 0)
        opnum = ReadOpnum.OPEN_QUEUE_FOR_MOVE
        opened = await self._calls.call(opnum, arguments, stubs.MoveContext)
        moving = stubs.MoveMessage(found.context, opened.move_context, lookup_id, unit)
        try:
            moved = await self._calls.call(ReadOpnum.MOVE_MESSAGE, moving, stubs.Status32)
        finally:
            closing = stubs.QueueContextArgument(opened.context)
            with suppress(MQError):
                await self._calls.call(ReadOpnum.CLOSE_QUEUE, closing, stubs.ClosedContext)
        check_result(moved.result, found.name)

    async def reject(self, handle: Handle, lookup_id: int, work: Work | None) -> None:
        """R_SetUserAcknowledgementClass ([MS-MQRR] 3.2.4.5, 3.1.4.14).

        Between the receive and the end of its transaction, on the handle that it was made with.
        """
        found, begun = await self._context(handle), self._check(work)
        if begun is None or begun.generation is None:
            raise TransactionUsage("only a message of a transaction can be rejected")
        code = MessageClass.NACK_RECEIVE_REJECTED
        arguments = stubs.SetUserAcknowledgementClass(found.context, lookup_id, code)
        opnum = ReadOpnum.SET_USER_ACKNOWLEDGEMENT_CLASS
        done = await self._calls.call(opnum, arguments, stubs.Status32)
        check_result(done.result, found.name)

    def _target(self, handle: RpcHandle, target: str) -> FormatName:
        """The queue to move to: a subqueue by its own or its full name, or no name for its main."""
        if "\\" in target or "=" in target:
            return self._place.queue_name(target)
        main = str(handle.format_name).partition(";")[0]
        return self._place.queue_name(f"{main};{target}" if target else main)

    # Reading

    async def read(
        self, handle: Handle, read: Read, work: Work | None, cursor: CursorHandle | None
    ) -> list[ReceivedMessage]:
        """One message after the other, since a call brings one ([MS-MQRR] 3.1.4.7)."""
        found = [await self._read_one(handle, read, work, cursor)]
        while len(found) < read.count:
            last = found[-1].lookup_id
            following = Read(take=read.take, timeout=0)
            if not read.take:
                following = Read(take=False, timeout=0, lookup_id=last, seek=Seek.NEXT)
            try:
                found.append(await self._read_one(handle, following, work, None))
            except (ReceiveTimeout, MessageNotFound):
                break
        return found

    async def _read_one(
        self, handle: Handle, read: Read, work: Work | None, cursor: CursorHandle | None
    ) -> ReceivedMessage:
        self._check(work)
        found = await self._context(handle)
        unit = await self._enlist(work, found)
        number = _cursor_number(cursor, self._calls.generation)
        request_id, message = await self._start(found, read, unit, number)
        if read.take:
            await self._end(found, request_id, stubs.ACK, is_transactional=work is not None)
        return message

    async def _start(
        self, handle: RpcHandle, read: Read, unit: bytes, cursor: int
    ) -> tuple[int, ReceivedMessage]:
        """R_StartReceive or R_StartTransactionalReceive ([MS-MQRR] 3.2.4.3, 3.2.4.4).

        A packet that cannot be read is refused, so that it stays in its place.
        """
        request_id = next(handle.requests) & 0xFFFFFFFF
        action = action_of(read, with_cursor=bool(cursor))
        wait = 0.0 if read.lookup_id is not None else read.timeout
        most = stubs.INFINITE_MS
        fields = (read.lookup_id or 0, cursor, action, timeout_ms(wait), request_id, most, most)
        is_transactional = unit != stubs.NO_TRANSACTION
        abandoned: list[RpcLink] = []
        try:
            if is_transactional:
                started = await self._calls.call(
                    ReadOpnum.START_TRANSACTIONAL_RECEIVE,
                    stubs.StartTransactionalReceive(handle.context, *fields, unit),
                    stubs.ReceiveResults,
                    wait=wait,
                    abandoned=abandoned,
                )
            else:
                started = await self._calls.call(
                    ReadOpnum.START_RECEIVE,
                    stubs.StartReceive(handle.context, *fields),
                    stubs.ReceiveResults,
                    wait=wait,
                    abandoned=abandoned,
                )
        except MQError:
            raise
        except BaseException:  # the caller does not wait any longer
            try:
                await self._give_up(handle, request_id, is_transactional=is_transactional)
            finally:
                for link in abandoned:
                    self._calls.drop(link)
            raise
        if started.result:
            _raise_read(started.result, read)
        try:
            return request_id, received_message(started)
        except Malformed:
            if read.take:
                nack = stubs.NACK
                await self._end(
                    handle, request_id, is_transactional=is_transactional, acknowledge=nack
                )
            raise

    async def _give_up(self, handle: RpcHandle, request_id: int, *, is_transactional: bool) -> None:
        """R_CancelReceive ([MS-MQRR] 3.2.4.11, 3.1.4.8); what came meanwhile is returned."""
        with suppress(MQError):
            arguments = stubs.CancelReceive(handle.context, request_id)
            await self._calls.call(ReadOpnum.CANCEL_RECEIVE, arguments, stubs.Status32)
            await self._end(handle, request_id, stubs.NACK, is_transactional=is_transactional)

    async def _end(
        self, handle: RpcHandle, request_id: int, acknowledge: int, *, is_transactional: bool
    ) -> None:
        """R_EndReceive or R_EndTransactionalReceive ([MS-MQRR] 3.2.4.4.1, 3.2.4.4.2).

        (Its arguments: [MS-MQRR] 3.1.4.9, 3.1.4.15.)
        If the connection is lost meanwhile, the message may have been removed: it is delivered, as
        Windows does (note 34), so that it comes twice rather than never.
        """
        opnum = ReadOpnum.END_TRANSACTIONAL_RECEIVE if is_transactional else ReadOpnum.END_RECEIVE
        arguments = stubs.EndReceive(handle.context, acknowledge, request_id)
        try:
            ended = await self._calls.call(opnum, arguments, stubs.Status32)
        except ServiceNotAvailable:
            if is_transactional:
                raise
            return
        check_result(ended.result, handle.name)

    async def start_held(
        self, handle: RpcHandle, read: Read, cursor: CursorHandle | None = None
    ) -> tuple[int, ReceivedMessage]:
        """Receive a message that is held until `end_held`; its request."""
        found = await self._context(handle)
        number = _cursor_number(cursor, self._calls.generation)
        return await self._start(found, read, stubs.NO_TRANSACTION, number)

    async def end_held(self, handle: RpcHandle, request_id: int, *, remove: bool) -> None:
        """Remove a message that is held, or return it."""
        acknowledge = stubs.ACK if remove else stubs.NACK
        await self._end(handle, request_id, acknowledge, is_transactional=False)

    async def open_stream(self, handle: Handle, prefetch: int) -> RpcStream:
        return RpcStream(self, await self._context(handle), min(prefetch, AHEAD))

    # Cursors

    async def open_cursor(self, handle: Handle) -> RpcCursor:
        """R_CreateCursor ([MS-MQRR] 3.2.4.8, 3.1.4.4)."""
        found = await self._context(handle)
        arguments = stubs.QueueContextArgument(found.context)
        made = await self._calls.call(ReadOpnum.CREATE_CURSOR, arguments, stubs.CreatedCursor)
        check_result(made.result, found.name)
        return RpcCursor(found, made.cursor)

    async def close_cursor(self, cursor: CursorHandle) -> None:
        """R_CloseCursor ([MS-MQRR] 3.2.4.12, 3.1.4.5)."""
        assert isinstance(cursor, RpcCursor)
        if cursor.generation == self._calls.generation:
            arguments = stubs.CursorContext(cursor.handle.context, cursor.number)
            with suppress(ServiceNotAvailable, InvalidHandle):
                await self._calls.call(ReadOpnum.CLOSE_CURSOR, arguments, stubs.Status32)

    # Transactions

    async def begin(self, xid: str, *, stage: bool) -> RpcWork:
        """A new transaction, which the manager learns of with the first queue that it reads."""
        if xid or stage:
            raise UnsupportedOperation("transactions of remote read have no name and no stage")
        return RpcWork(self, uuid4().bytes)

    async def _enlist(self, work: Work | None, handle: RpcHandle) -> bytes:
        """R_QMEnlistRemoteTransaction with a token of our own ([MS-MQRR] 3.2.4.2, 3.1.4.12).

        Its identifier; zeros for no transaction. The queue is the one that is to be read.
        """
        if work is None:
            return stubs.NO_TRANSACTION
        assert isinstance(work, RpcWork)
        if work.generation is None:
            name = QueueFormatArgument.of(handle.format_name)
            arguments = stubs.EnlistRemoteTransaction(work.unit, len(OWN_TOKEN), OWN_TOKEN, name)
            opnum = ReadOpnum.ENLIST_REMOTE_TRANSACTION
            done = await self._calls.call(opnum, arguments, stubs.Status32)
            check_result(done.result, "only a manager of OpenMSMQ can be asked for transactions")
            work.generation = self._calls.generation
        return work.unit

    async def commit(self, work: Work, participants: Sequence[str] = ()) -> None:
        if participants:
            raise UnsupportedOperation("remote read takes no part in units")
        await self._finish(work, CoordinatorOpnum.COMMIT)

    async def abort(self, work: Work) -> None:
        if await self.is_open(work):
            with suppress(ServiceNotAvailable):  # which aborts it, too
                await self._finish(work, CoordinatorOpnum.ABORT)

    async def _finish(self, work: Work, opnum: CoordinatorOpnum) -> None:
        found = self._check(work)
        if found is not None and found.generation is not None:
            arguments = TransactionArgument(found.unit)
            done = await self._calls.call(opnum, arguments, stubs.Status32, syntax=COORDINATOR)
            check_result(done.result)

    async def is_open(self, work: Work) -> bool:
        assert isinstance(work, RpcWork)
        return work.generation in (None, self._calls.generation)

    def _check(self, work: Work | None) -> RpcWork | None:
        """Refuse a transaction of another manager, or one that was lost with its connections."""
        if work is None:
            return None
        if not isinstance(work, RpcWork) or work.backend is not self:
            raise TransactionSequence("the transaction belongs to another queue manager")
        if work.generation not in (None, self._calls.generation):
            raise TransactionSequence("the connection was lost, and the transaction aborted")
        return work


class RpcStream:
    """Messages that are received in two steps: held when they come, removed or returned later."""

    def __init__(self, backend: RpcBackend, handle: RpcHandle, prefetch: int) -> None:
        self._backend = backend
        self._handle = handle
        self._prefetch = prefetch
        self._held: dict[int, int] = {}
        "Requests that are not ended, by the lookup identifier of their message."

    async def next(self, timeout: float | None) -> list[ReceivedMessage]:
        """The next messages, as many as may be held."""
        found: list[ReceivedMessage] = []
        while len(found) < self._prefetch:
            read = Read(take=True, timeout=0 if found else timeout)
            try:
                request_id, message = await self._backend.start_held(self._handle, read)
            except ReceiveTimeout:
                if not found:
                    raise
                break
            self._held[message.lookup_id] = request_id
            found.append(message)
        return found

    async def end(self, lookups: list[int], work: Work | None, *, remove: bool) -> None:
        """Remove messages that are held, or return them."""
        if work is not None:
            raise UnsupportedOperation("a stream over remote read takes no transaction")
        for lookup in lookups:
            request_id = self._held.pop(lookup, None)
            if request_id is not None:
                await self._backend.end_held(self._handle, request_id, remove=remove)

    async def come_within(self, seconds: float) -> list[ReceivedMessage]:
        """None: each message is removed by a call of its own."""
        return []

    async def begin_removal(self, lookups: list[int]) -> Completion:
        """Remove messages that are held, one call after the other."""
        await self.end(lookups, None, remove=True)
        return completed

    async def close(self) -> None:
        """No more are wanted."""


def _cursor_number(cursor: CursorHandle | None, generation: int) -> int:
    """What a cursor is called; 0 for none."""
    if cursor is None:
        return 0
    assert isinstance(cursor, RpcCursor)
    if cursor.generation != generation:
        raise InvalidHandle("the connection was lost, and with it the cursor")
    return cursor.number


def _raise_read(result: int, read: Read) -> None:
    """Raise what a read failed with; one of a message that is not there yet timed out."""
    if result == MessageNotFound.hresult and read.seek is Seek.BEHIND and read.lookup_id:
        raise ReceiveTimeout
    check_result(result)
