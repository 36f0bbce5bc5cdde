"""The calls of RemoteRead, made as those of older remote read ([MS-MQQP] 3.2).

For managers without RemoteRead ([MS-MQRR] 3.2.4.1): queues are opened with qmcomm, as a client of a
supporting server does, and read with qm2qm, as the supporting server does for it. There are no
moves and no transactions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any
from uuid import UUID, uuid4

from openmsmq.client.remote_read._async.association import RpcAssociation, RpcLink
from openmsmq.client.remote_read.messages import check_result
from openmsmq.client.remote_read.old_calls import (
    NO_BUFFER,
    UNSUPPORTED,
    is_newer,
    read_description,
    read_results,
)
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import InvalidHandle, MQError, ServiceNotAvailable, UnsupportedOperation
from openmsmq.interfaces.qm2qm import stubs as old
from openmsmq.interfaces.qm2qm.stubs import QM2QM, QMCOMM, Qm2qmOpnum, QmcommOpnum
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import SEEKS
from openmsmq.interfaces.remote_read.stubs import ReadOpnum
from openmsmq.limits import U32_MAX
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.rpc.syntax import SyntaxId

SERVER = 0x400
"dwMQS of a client that needs no licence ([MS-MQMP] 3.1.4.2)."


class OldAssociation(RpcAssociation):
    """Connections to a manager that has older remote read only."""

    is_translated = True

    def __init__(
        self, place: RemotePlace, connections_max: int, identity: UUID | None = None
    ) -> None:
        """`identity` is that of the queue manager which reads ([MS-MQQP] 3.2.4.1)."""
        super().__init__(place, connections_max, QM2QM)
        self._identity = identity or uuid4()
        self._numbers: dict[UUID, int] = {}
        "What the manager calls the queues of sessions."
        self._ports: dict[SyntaxId, int] = {}
        self._requests = count(1)
        self._asked: dict[tuple[UUID, int], int] = {}
        "Numbers of reads: unlike those of all others that wait ([MS-MQQP] 3.2.4.2)."
        self._held: dict[tuple[UUID, int], UUID] = {}
        "Handles of reads that are to be ended."
        self._version: old.VersionResult | None = None
        self._translated: dict[int, Callable[[Any], Awaitable[Structure]]] = {
            ReadOpnum.OPEN_QUEUE: self._open_queue,
            ReadOpnum.CLOSE_QUEUE: self._close_queue,
            ReadOpnum.CREATE_CURSOR: self._create_cursor,
            ReadOpnum.CLOSE_CURSOR: self._close_cursor,
            ReadOpnum.PURGE_QUEUE: self._purge,
            ReadOpnum.CANCEL_RECEIVE: self._cancel,
            ReadOpnum.END_RECEIVE: self._end,
        }

    async def _translate(
        self, opnum: int, arguments: Structure, wait: float | None, abandoned: list[RpcLink] | None
    ) -> Structure:
        """Make a call of RemoteRead the old way."""
        if opnum == ReadOpnum.START_RECEIVE:
            return await self._start(arguments, wait, abandoned)
        if opnum not in self._translated:
            raise UnsupportedOperation(UNSUPPORTED)
        return await self._translated[opnum](arguments)

    def _lost(self, link: RpcLink) -> None:
        """With one connection lost, those of the other interface are, too: handles are gone."""
        idle, self._idle = self._idle, []
        for one in (link, *idle):
            self.drop(one)

    async def _port_of(self, syntax: SyntaxId) -> int:
        """Both interfaces have a port of their own ([MS-MQQP] 2.1)."""
        if self._port:
            return self._port
        if syntax not in self._ports:
            self._ports[syntax] = await self._find_port(syntax)
        return self._ports[syntax]

    def _number(self, context: UUID) -> int:
        number = self._numbers.get(context)
        if number is None:
            raise InvalidHandle("the queue is closed")
        return number

    async def _open_queue(self, asked: Any) -> stubs.QueueContextArgument:
        """R_QMOpenRemoteQueue, then RemoteQMOpenQueue ([MS-MQQP] 3.2.4.1).

        The three numbers are passed on as they came, whether or not they are one. The opener's
        handle is closed in any case: what the session has stays open ([MS-MQMP] 3.1.4.3).
        """
        await self._ask_version()  # before there are handles, which a fault would take along
        licence, opnum = self._identity, QmcommOpnum.OPEN_REMOTE_QUEUE
        opening = old.OpenRemoteQueue(
            asked.queue_format, 0, asked.access, asked.share_mode, licence, SERVER
        )
        opened = await self.call(opnum, opening, old.OpenedRemoteQueue, syntax=QMCOMM)
        check_result(opened.result)
        try:
            session = await self.open_session(opened.queue, opened.pointer, opened.context)
        finally:
            closing = old.HandleArgument(opened.handle)
            opnum_2 = QmcommOpnum.CLOSE_REMOTE_QUEUE_CONTEXT
            await self.call(opnum_2, closing, old.HandleArgument, syntax=QMCOMM)
        return stubs.QueueContextArgument(session)

    async def open_session(self, queue: int, pointer: int, context: int) -> UUID:
        """RemoteQMOpenQueue with the numbers of a queue that was opened ([MS-MQQP] 3.2.4.1)."""
        await self._ask_version()
        asked = old.OpenSession(self._identity, 0, queue, pointer, context)
        made = await self.call(Qm2qmOpnum.OPEN_QUEUE, asked, old.HandleResult, syntax=QM2QM)
        check_result(made.result)
        self._numbers[made.handle] = queue
        return made.handle

    async def _close_queue(self, asked: Any) -> stubs.ClosedContext:
        """RemoteQMCloseQueue ([MS-MQQP] 3.2.4.9)."""
        self._number(asked.context)
        del self._numbers[asked.context]
        for key in [key for key in self._held if key[0] == asked.context]:
            del self._held[key]
        arguments, opnum = old.HandleArgument(asked.context), Qm2qmOpnum.CLOSE_QUEUE
        closed = await self.call(opnum, arguments, old.HandleResult, syntax=QM2QM)
        return stubs.ClosedContext(NULL_HANDLE, closed.result)

    async def _create_cursor(self, asked: Any) -> stubs.CreatedCursor:
        """R_QMCreateRemoteCursor ([MS-MQQP] 3.2.4.5)."""
        arguments = old.CreateRemoteCursor(NO_BUFFER, self._number(asked.context))
        opnum = QmcommOpnum.CREATE_REMOTE_CURSOR
        made = await self.call(opnum, arguments, old.TwoNumbers, syntax=QMCOMM)
        return stubs.CreatedCursor(made.first, made.second)

    async def _close_cursor(self, asked: Any) -> stubs.Status32:
        """RemoteQMCloseCursor ([MS-MQQP] 3.2.4.8, 3.1.4.5)."""
        arguments = old.TwoNumbers(self._number(asked.context), asked.cursor)
        opnum = Qm2qmOpnum.CLOSE_CURSOR
        done = await self.call(opnum, arguments, old.OneNumber, syntax=QM2QM)
        return stubs.Status32(done.number)

    async def _purge(self, asked: Any) -> stubs.Status32:
        """RemoteQMPurgeQueue, whose failures may be thrown ([MS-MQQP] 3.2.4.4, 3.1.4.7; SS-36)."""
        arguments = old.OneNumber(self._number(asked.context))
        opnum = Qm2qmOpnum.PURGE_QUEUE
        done = await self.call(opnum, arguments, old.OneNumber, syntax=QM2QM)
        return stubs.Status32(done.number)

    # Reads

    async def _start(
        self, asked: Any, wait: float | None, abandoned: list[RpcLink] | None
    ) -> stubs.ReceiveResults:
        """RemoteQMStartReceive and its two later forms ([MS-MQQP] 3.2.4.2).

        The handle of a read that failed is not used ([MS-MQQP] 3.1.4.1).
        """
        key = asked.context, asked.request_id
        number = next(self._requests) & U32_MAX
        described = read_description(self._number(asked.context), asked, number)
        self._asked[key] = number
        try:
            found = await self._read(asked, described, wait, abandoned)
        except MQError:
            del self._asked[key]
            raise
        del self._asked[key]
        if not found.result and found.handle != NULL_HANDLE:
            self._held[key] = found.handle
        return read_results(found)

    async def _read(
        self,
        asked: Any,
        described: old.ReadDescription,
        wait: float | None,
        abandoned: list[RpcLink] | None,
    ) -> old.StartReadResult | old.StartRead2Result:
        """One of the three calls; a REMOTEREADDESC out of range is refused ([MS-MQQP] 2.2.2.1)."""
        arguments: Structure
        kind: Any = old.StartRead2Result
        if asked.action in SEEKS:
            opnum = Qm2qmOpnum.START_RECEIVE_BY_LOOKUP_ID
            second = old.ReadDescription2(described, 0)
            arguments = old.StartReadByLookup(asked.lookup_id, second)
        elif self._version is not None and is_newer(self._version):
            opnum = Qm2qmOpnum.START_RECEIVE_2
            arguments = old.StartRead2(old.ReadDescription2(described, 0))
        else:
            opnum, kind = Qm2qmOpnum.START_RECEIVE, old.StartReadResult
            arguments = old.StartRead(described)
        found: old.StartReadResult | old.StartRead2Result = await self.call(
            opnum, arguments, kind, wait=wait, syntax=QM2QM, abandoned=abandoned
        )
        return found

    async def _ask_version(self) -> None:
        """RemoteQmGetVersion, once ([MS-MQQP] 3.2.4.2; SS-41); the oldest do not know it."""
        if self._version is None:
            opnum = Qm2qmOpnum.GET_VERSION
            try:
                self._version = await self.call(
                    opnum, stubs.NoArguments(), old.VersionResult, syntax=QM2QM
                )
            except ServiceNotAvailable:
                self._version = old.VersionResult(0, 0, 0)

    async def _cancel(self, asked: Any) -> stubs.Status32:
        """RemoteQMCancelReceive ([MS-MQQP] 3.2.4.7)."""
        number = self._number(asked.context)
        request = self._asked.get((asked.context, asked.request_id), 0)
        arguments, opnum = old.CancelRead(number, number, request), Qm2qmOpnum.CANCEL_RECEIVE
        done = await self.call(opnum, arguments, old.OneNumber, syntax=QM2QM)
        return stubs.Status32(done.number)

    async def _end(self, asked: Any) -> stubs.Status32:
        """RemoteQMEndReceive, which ends the handle of a read ([MS-MQQP] 3.2.4.3, 2.2.1.2).

        A message that could not be read here is returned by it, too ([MS-MQMP] 3.1.5.3).
        """
        handle = self._held.pop((asked.context, asked.request_id), None)
        if handle is None:
            raise InvalidHandle(f"request {asked.request_id} holds no message")
        arguments = old.EndRead(handle, asked.acknowledge)
        opnum = Qm2qmOpnum.END_RECEIVE
        done = await self.call(opnum, arguments, old.HandleResult, syntax=QM2QM)
        return stubs.Status32(done.result)
