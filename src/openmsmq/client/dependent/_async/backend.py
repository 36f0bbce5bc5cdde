"""A manager elsewhere, used by a client that has none: its queues, messages and transactions.

([MS-MQMP] 3.2.4) Calls go to a supporting server, one of OpenMSMQ or of Windows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from socket import gethostname
from time import monotonic
from typing import Any, TypeVar
from uuid import UUID, uuid4

from openmsmq.client.backend import CursorHandle, Handle, Work
from openmsmq.client.dependent.buffers import (
    FIRST_SIZES,
    NO_ID,
    empty_buffer,
    larger,
    message_in,
    sent_buffer,
    signature_fields,
)
from openmsmq.client.dependent.properties import property_values
from openmsmq.client.remote_read._async.association import RpcAssociation
from openmsmq.client.remote_read._async.old_association import SERVER
from openmsmq.client.remote_read._async.unsupported import UnsupportedCalls
from openmsmq.client.remote_read.messages import action_of, check_result, timeout_ms
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import (
    AccessDenied,
    BufferOverflow,
    FormatNameBufferTooSmall,
    IllegalSecurityDescriptor,
    InvalidHandle,
    LabelBufferTooSmall,
    Malformed,
    MQError,
    ReceiveTimeout,
    SecurityDescriptorTooSmall,
    ServiceNotAvailable,
    TransactionSequence,
    UnsupportedOperation,
)
from openmsmq.interfaces.limits import CLIENT_CONNECTIONS_MAX
from openmsmq.interfaces.qm2qm.stubs import (
    QMCOMM,
    HandleArgument,
    HandleResult,
    OneNumber,
    OpenedRemoteQueue,
    OpenRemoteQueue,
    QmcommOpnum,
)
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.stubs import QMCOMM2, MessageOpnum, Opnum
from openmsmq.names.base import FormatName
from openmsmq.names.parse import parse_name
from openmsmq.names.path import THIS_COMPUTER, PathName, parse_path_name
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.security.descriptor import SecurityDescriptor
from openmsmq.security.sddl import format_sddl, parse_sddl
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.delivery import DeliveryOptions
from openmsmq.types.ids import SentId
from openmsmq.types.manager_state import ManagerState
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer
from openmsmq.types.queues import QueueInfo
from openmsmq.types.read import Read
from openmsmq.types.received import ReceivedMessage

StructureT = TypeVar("StructureT", bound=Structure)
CODES = {Access.RECEIVE: 0x01, Access.SEND: 0x02, Access.PEEK: 0x20}
"dwDesiredAccess ([MS-MQMP] 3.1.4.17)."
IDENTITY = 4
"dwQueryType: who the manager is ([MS-MQMP] 3.1.4.23)."
ALL_PARTS = 0x07
"Owner, group and list of a security descriptor."
TOO_SMALL = (
    BufferOverflow.hresult,
    FormatNameBufferTooSmall.hresult,
    LabelBufferTooSmall.hresult,
)


class DependentHandle(Handle):
    """An open queue: a handle of the server for reading, one for sending."""

    __slots__ = ("format_name", "generation", "reading", "sending")

    def __init__(self, name: str, mode: Mode, format_name: FormatName) -> None:
        super().__init__(name, mode)
        self.format_name = format_name
        self.generation = -1
        self.reading: tuple[UUID, int] | None = None
        "Handle and number, which belong together ([MS-MQMP] 3.2.1.2)."
        self.sending: tuple[UUID, int] | None = None


class DependentCursor(CursorHandle):
    """A cursor of an open queue; it is lost with the connections."""

    __slots__ = ("generation", "handle", "number")

    def __init__(self, handle: DependentHandle, number: int) -> None:
        self.handle, self.number, self.generation = handle, number, handle.generation


class DependentWork(Work):
    """A transaction; it is aborted when the connections are lost."""

    __slots__ = ("backend", "generation", "handle", "unit")

    def __init__(self, backend: DependentBackend, unit: bytes, handle: UUID) -> None:
        self.backend, self.unit, self.handle = backend, unit, handle
        self.generation = backend.generation


class DependentBackend(UnsupportedCalls):
    """Uses the queues of a supporting server."""

    protocol = "the protocol of dependent clients (MS-MQMP)"

    def __init__(
        self, place: RemotePlace, *, connections_max: int = CLIENT_CONNECTIONS_MAX
    ) -> None:
        self._place = place
        self._calls = RpcAssociation(place, connections_max, QMCOMM)
        self._licence = uuid4()
        "Unique to the client ([MS-MQMP] 3.2.1.1)."
        self._identity = ""
        self._packer = Packer(NULL_HANDLE)
        "Makes the packets of messages that are signed."

    @property
    def name(self) -> str:
        return self._place.computer or self._place.host

    @property
    def id(self) -> str:
        return self._identity

    @property
    def state(self) -> str:
        return ManagerState.READY

    @property
    def generation(self) -> int:
        """Rises when all handles are lost with the last connection."""
        return self._calls.generation

    async def connect(self) -> None:
        """Log on, and ask who the manager is before anything else ([MS-MQMP] 3.2.3, 3.2.4).

        The answer of a call that failed is not looked at ([MS-MQMP] 3.1.4.23).
        """
        asked = OneNumber(IDENTITY)
        try:
            found = await self._call(Opnum.QUERY_REGISTRY, asked, stubs.RegistryResult)
            check_result(found.result)
        except BaseException:
            await self.close()
            raise
        self._identity = found.text or ""
        with suppress(ValueError):  # what is signed names the manager
            self._packer = Packer(UUID(self._identity), computer=self.name)

    async def close(self) -> None:
        await self._calls.close()

    async def _call(
        self,
        opnum: Opnum | MessageOpnum,
        arguments: Structure,
        kind: type[StructureT],
        *,
        wait: float | None = 0,
    ) -> StructureT:
        """Call one of the two interfaces, which share handles ([MS-MQMP] 3.1.4, 3.1.5)."""
        syntax = QMCOMM2 if isinstance(opnum, MessageOpnum) else QMCOMM
        return await self._calls.call(opnum, arguments, kind, wait=wait, syntax=syntax)

    async def _done(self, opnum: Opnum, arguments: Structure, words: str = "") -> None:
        """A call that answers with an HRESULT alone."""
        found = await self._call(opnum, arguments, stubs.Status)
        check_result(found.result, words)

    # Queues

    async def create_queue(self, name: str, properties: dict[str, Any]) -> None:
        """R_QMCreateObjectInternal ([MS-MQMP] 3.2.4.1): the path, and what is given."""
        path = self._path(name)
        given = dict(properties)
        descriptor = _descriptor(given.pop("permissions", ""))
        propids, values = property_values({"name": path} | given)
        size = len(descriptor or b"")
        asked = stubs.CreateObject(
            stubs.QUEUE, path, size, descriptor, len(propids), propids, values
        )
        await self._done(Opnum.CREATE_OBJECT, asked, name)

    def _path(self, name: str) -> str:
        """The path of a private queue of the server."""
        parsed = parse_name(name)
        if not isinstance(parsed, PathName):
            raise UnsupportedOperation(f"{name}: a queue is created by its path")
        return str(PathName(THIS_COMPUTER, *parsed.queue_parts))

    async def delete_queue(self, name: str) -> None:
        """R_QMDeleteObject ([MS-MQMP] 3.2.4.6)."""
        target = _target(self._place.queue_name(name))
        await self._done(Opnum.DELETE_OBJECT, stubs.Target(target), name)

    async def change_queue(self, handle: Handle, changes: dict[str, Any]) -> None:
        """R_QMSetObjectProperties ([MS-MQMP] 3.2.4.2)."""
        assert isinstance(handle, DependentHandle)
        propids, values = property_values(changes)
        target = _target(handle.format_name)
        asked = stubs.SetProperties(target, len(propids), propids, values)
        await self._done(Opnum.SET_OBJECT_PROPERTIES, asked, handle.name)

    async def permissions(self, handle: Handle) -> str:
        """R_QMGetObjectSecurityInternal, again with the room that is needed ([MS-MQMP] 3.2.4.4)."""
        assert isinstance(handle, DependentHandle)
        target, size = _target(handle.format_name), 0
        while True:
            asked = stubs.GetSecurity(target, ALL_PARTS, size)
            found = await self._call(Opnum.GET_OBJECT_SECURITY, asked, stubs.SizedBytes)
            if found.result != SecurityDescriptorTooSmall.hresult or found.needed <= size:
                check_result(found.result, handle.name)
                read = SecurityDescriptor.decode(found.data[: found.needed])
                return format_sddl(read)
            size = found.needed

    async def set_permissions(self, handle: Handle, sddl: str) -> None:
        """R_QMSetObjectSecurityInternal ([MS-MQMP] 3.2.4.3): the parts that are there."""
        assert isinstance(handle, DependentHandle)
        given = parse_sddl(sddl)
        parts = 1 * (given.owner is not None) | 2 * (given.group is not None)
        parts |= 4 * (given.dacl is not None) | 8 * (given.sacl is not None)
        data = given.encode()
        asked = stubs.SetSecurity(_target(handle.format_name), parts, len(data), data)
        await self._done(Opnum.SET_OBJECT_SECURITY, asked, handle.name)

    async def open_queue(self, name: str, mode: Mode) -> DependentHandle:
        """Open a queue for what is asked; to ask for everything is to ask for what can be had."""
        format_name = self._place.queue_name(name)
        handle = DependentHandle(str(format_name), mode, format_name)
        handle.generation = self._calls.generation
        if mode.access != Access.ALL:
            await self._open_needed(handle)
            return handle
        try:
            handle.reading = await self._open(handle, Access.RECEIVE)
        except AccessDenied:
            handle.sending = await self._open(handle, Access.SEND)
            handle.mode = Mode(Access.SEND, mode.share)
        return handle

    async def _open_needed(self, handle: DependentHandle) -> None:
        access = handle.mode.access
        if access & (Access.RECEIVE | Access.PEEK):
            read = Access.RECEIVE if Access.RECEIVE in access else Access.PEEK
            handle.reading = await self._open(handle, read)
        if Access.SEND in access:
            handle.sending = await self._open(handle, Access.SEND)

    async def _open(self, handle: DependentHandle, access: Access) -> tuple[UUID, int]:
        """Open a queue as if the server had it ([MS-MQMP] 3.2.4.7); if it has not, it says who.

        Its handle comes from here alone ([MS-MQMP] 2.2.1.1.2).
        """
        found = await self._ask(handle, access, (0, 0, 0))
        check_result(found.result, handle.name)
        place = found.remote_name
        if place is not None and place.name:
            found = await self._open_elsewhere(handle, access, place.name)
        return found.handle, found.context

    async def _ask(
        self, handle: DependentHandle, access: Access, numbers: tuple[int, int, int]
    ) -> stubs.OpenedQueue:
        """rpc_QMOpenQueueInternal ([MS-MQMP] 3.1.4.17), with the numbers of a queue elsewhere.

        The place for a name is empty ([MS-MQMP] 3.1.4.1).
        """
        queue, pointer, context = numbers
        asked = stubs.OpenInternal(
            QueueFormatArgument.of(handle.format_name),
            CODES[access],
            _share(handle, access),
            queue,
            stubs.NamePlace(None),
            pointer,
            self._licence,
            gethostname(),
            0,
            context,
        )
        return await self._call(Opnum.OPEN_QUEUE, asked, stubs.OpenedQueue)

    async def _open_elsewhere(
        self, handle: DependentHandle, access: Access, path: str
    ) -> stubs.OpenedQueue:
        """Open a queue at its own computer, and let the server read it there ([MS-MQMP] 3.2.4.7).

        What was opened there is closed in any case: the server has it by then (SS-30).
        """
        there = RpcAssociation(self._place_of(parse_path_name(path).computer), 1, QMCOMM)
        name = QueueFormatArgument.of(handle.format_name)
        share, licence = _share(handle, access), self._licence
        opening = OpenRemoteQueue(name, 0, CODES[access], share, licence, SERVER)
        try:
            opnum = QmcommOpnum.OPEN_REMOTE_QUEUE
            opened = await there.call(opnum, opening, OpenedRemoteQueue)
            check_result(opened.result, path)
            try:
                numbers = opened.queue, opened.pointer, opened.context
                found = await self._ask(handle, access, numbers)
            finally:
                closing = HandleArgument(opened.handle)
                opnum = QmcommOpnum.CLOSE_REMOTE_QUEUE_CONTEXT
                await there.call(opnum, closing, HandleArgument)
        finally:
            await there.close()
        check_result(found.result, f"{path} is not read through this server: connect to its own")
        return found

    def _place_of(self, computer: str) -> RemotePlace:
        """Another computer, where the same user logs on."""
        return replace(self._place, host=computer, computer=computer)

    async def _opened(self, handle: Handle, *, sends: bool = False) -> tuple[UUID, int]:
        """A handle of the server, opened again if the connections were lost."""
        assert isinstance(handle, DependentHandle)
        if handle.generation != self._calls.generation:
            handle.reading = handle.sending = None
            handle.generation = self._calls.generation
        if sends:
            handle.sending = handle.sending or await self._open(handle, Access.SEND)
            return handle.sending
        if handle.reading is None:
            access = handle.mode.access
            read = Access.RECEIVE if Access.RECEIVE in access else Access.PEEK
            handle.reading = await self._open(handle, read)
        return handle.reading

    async def close_queue(self, handle: Handle) -> None:
        """rpc_ACCloseHandle, which ends handles ([MS-MQMP] 3.2.4.15, 2.2.1.1.2)."""
        assert isinstance(handle, DependentHandle)
        opened = [one for one in (handle.reading, handle.sending) if one is not None]
        handle.reading = handle.sending = None
        if handle.generation == self._calls.generation:
            for found, _ in opened:
                with suppress(ServiceNotAvailable, InvalidHandle):
                    await self._call(Opnum.CLOSE_HANDLE, HandleArgument(found), HandleResult)

    async def queue_info(self, handle: Handle) -> QueueInfo:
        raise self._unsupported("queue info")

    async def purge(self, handle: Handle) -> int:
        """rpc_ACPurgeQueue, which does not say how many there were ([MS-MQMP] 3.2.4.9)."""
        found, _ = await self._opened(handle)
        await self._done(Opnum.PURGE_QUEUE, HandleArgument(found), handle.name)
        return 0

    async def move(self, handle: Handle, lookup_id: int, target: str, work: Work | None) -> None:
        raise self._unsupported("move")

    async def reject(self, handle: Handle, lookup_id: int, work: Work | None) -> None:
        raise self._unsupported("reject")

    async def open_stream(self, handle: Handle, prefetch: int) -> Any:
        raise self._unsupported("streams")

    # Sending

    async def send(
        self,
        handle: Handle,
        messages: list[Message],
        work: Work | None,
        delivery: DeliveryOptions | None,
    ) -> Sequence[SentId]:
        """rpc_ACSendMessageEx, one message after the other ([MS-MQMP] 3.2.4.10)."""
        if delivery is not None:
            raise self._unsupported("delivery options")
        begun = self._check(work)
        unit = None if begun is None else begun.unit
        found, _ = await self._opened(handle, sends=True)
        assert isinstance(handle, DependentHandle)
        name, transactional = handle.format_name, unit is not None
        sent: list[SentId] = []
        for message in messages:
            signed = signature_fields(message, self._packer, name, transactional=transactional)
            asked = stubs.SendMessage(found, sent_buffer(message, unit, signed), NO_ID)
            done = await self._call(MessageOpnum.SEND, asked, stubs.SentBuffer)
            check_result(done.result, handle.name)
            made = done.message_id or NO_ID
            sent.append(SentId(f"{made.lineage}\\{made.uniquifier}"))
        return sent

    # Reading

    async def read(
        self, handle: Handle, read: Read, work: Work | None, cursor: CursorHandle | None
    ) -> list[ReceivedMessage]:
        """One message after the other, since a call brings one; a peek brings the first alone."""
        if read.lookup_id is not None:
            raise self._unsupported("lookup identifiers")
        found = [await self._read_one(handle, read, work, cursor)]
        while read.take and len(found) < read.count:
            try:
                more = Read(take=True, timeout=0)
                found.append(await self._read_one(handle, more, work, cursor))
            except ReceiveTimeout:
                break
        return found

    async def _read_one(
        self, handle: Handle, read: Read, work: Work | None, cursor: CursorHandle | None
    ) -> ReceivedMessage:
        """rpc_ACReceiveMessageEx ([MS-MQMP] 3.2.4.11, 3.2.4.12), by the number of the queue.

        What is too large for the room that was given is asked for again.
        """
        begun = self._check(work)
        unit = None if begun is None else begun.unit
        _, context = await self._opened(handle)
        number = self._cursor_number(cursor)
        action = action_of(read, with_cursor=bool(number))
        end = None if read.timeout is None else monotonic() + read.timeout
        sizes = dict(FIRST_SIZES)
        while True:
            left = None if end is None else max(0.0, end - monotonic())
            asked = empty_buffer(action, timeout_ms(left), number, unit, sizes)
            arguments = stubs.ReceiveMessage(context, asked)
            found = await self._call(
                MessageOpnum.RECEIVE, arguments, stubs.ReceivedBuffer, wait=left
            )
            if found.result not in TOO_SMALL:
                check_result(found.result)
                return message_in(found.buffer)
            sizes = larger(sizes, found.buffer)

    # Cursors

    async def open_cursor(self, handle: Handle) -> DependentCursor:
        """rpc_ACCreateCursorEx ([MS-MQMP] 3.2.4.8)."""
        assert isinstance(handle, DependentHandle)
        found, _ = await self._opened(handle)
        asked = stubs.CreateCursor(found, 0, 0, 0)
        made = await self._call(MessageOpnum.CREATE_CURSOR, asked, stubs.CursorNumbers)
        check_result(made.result, handle.name)
        return DependentCursor(handle, made.cursor)

    async def close_cursor(self, cursor: CursorHandle) -> None:
        """rpc_ACCloseCursor ([MS-MQMP] 3.2.4.16)."""
        assert isinstance(cursor, DependentCursor)
        opened = cursor.handle.reading
        if cursor.generation == self._calls.generation and opened is not None:
            asked = stubs.HandleCursor(opened[0], cursor.number)
            with suppress(ServiceNotAvailable, InvalidHandle):
                await self._call(Opnum.CLOSE_CURSOR, asked, stubs.Status)

    def _cursor_number(self, cursor: CursorHandle | None) -> int:
        if cursor is None:
            return 0
        assert isinstance(cursor, DependentCursor)
        if cursor.generation != self._calls.generation:
            raise InvalidHandle("the connection was lost, and with it the cursor")
        return cursor.number

    # Transactions

    async def begin(self, xid: str, *, stage: bool) -> DependentWork:
        """R_QMEnlistInternalTransaction with an identifier of its own ([MS-MQMP] 2.2.3.1, 4.5).

        The handle comes from here alone ([MS-MQMP] 2.2.1.1.1).
        """
        if xid or stage:
            raise self._unsupported("transactions with a name or a stage")
        unit = os.urandom(16)
        asked = stubs.EnlistInternal(unit)
        found = await self._call(Opnum.ENLIST_INTERNAL, asked, HandleResult)
        check_result(found.result)
        return DependentWork(self, unit, found.handle)

    async def commit(self, work: Work, participants: Sequence[str] = ()) -> None:
        """R_QMCommitTransaction ([MS-MQMP] 3.1.4.15)."""
        if participants:
            raise self._unsupported("units")
        await self._end(work, Opnum.COMMIT)

    async def abort(self, work: Work) -> None:
        """R_QMAbortTransaction ([MS-MQMP] 3.1.4.16)."""
        if await self.is_open(work):
            with suppress(ServiceNotAvailable):  # which aborts it, too
                await self._end(work, Opnum.ABORT)

    async def _end(self, work: Work, opnum: Opnum) -> None:
        """End a transaction, and its handle with it ([MS-MQMP] 2.2.1.1.1)."""
        found = self._check(work)
        assert found is not None
        done = await self._call(opnum, HandleArgument(found.handle), HandleResult)
        check_result(done.result)
        found.handle = NULL_HANDLE

    async def is_open(self, work: Work) -> bool:
        assert isinstance(work, DependentWork)
        return work.handle != NULL_HANDLE and work.generation == self._calls.generation

    def _check(self, work: Work | None) -> DependentWork | None:
        """Refuse a transaction of another manager, or one that was lost with its connections."""
        if work is None:
            return None
        if not isinstance(work, DependentWork) or work.backend is not self:
            raise TransactionSequence("the transaction belongs to another queue manager")
        if work.handle == NULL_HANDLE or work.generation != self._calls.generation:
            raise TransactionSequence("the transaction has ended, or was lost with the connection")
        return work


def _share(handle: DependentHandle, access: Access) -> int:
    """dwShareMode ([MS-MQMP] 3.1.4.17): who sends keeps no one out."""
    return int(handle.mode.share is Share.DENY_RECEIVE and access is not Access.SEND)


def _target(name: FormatName) -> stubs.ObjectFormat:
    """OBJECT_FORMAT of a queue ([MS-MQMP] 2.2.3.5)."""
    return stubs.ObjectFormat(stubs.QUEUE, QueueFormatArgument.of(name))


def _descriptor(sddl: str) -> bytes | None:
    """A security descriptor in its self-relative form ([MS-MQMP] 3.2.4.3); None for none."""
    try:
        return parse_sddl(sddl).encode() if sddl else None
    except (Malformed, MQError) as error:
        raise IllegalSecurityDescriptor(str(error)) from error
