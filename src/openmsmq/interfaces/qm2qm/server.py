"""The server of older remote read: qm2qm, and what qmcomm has for it ([MS-MQQP] 3.1).

A client opens a queue with qmcomm, and a supporting server reads it with qm2qm for that client.
Three numbers of qmcomm travel from the one to the other; here they are one random number, which
counts once. It has no socket; the time is given (`tick`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar
from uuid import UUID

from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.storage.layout import Record
from openmsmq.errors import (
    AccessDenied,
    InvalidHandle,
    InvalidParameter,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
    SharingViolation,
    TransactionSequence,
    UnsupportedAccessMode,
    UnsupportedFormatNameOperation,
)
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.qm2qm import stubs
from openmsmq.interfaces.qm2qm.guesses import Guesses
from openmsmq.interfaces.qm2qm.hosted_queue import (
    HeldRead,
    HostedQueue,
    OpenedContext,
    ReadSession,
)
from openmsmq.interfaces.qm2qm.old_actions import action_of
from openmsmq.interfaces.qm2qm.stubs import CANCELED, Qm2qmOpnum, QmcommOpnum
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.reads import begin_read
from openmsmq.interfaces.remote_read.results import (
    OK,
    STATUS_INVALID_PARAMETER,
    StatusError,
    result_of,
)
from openmsmq.interfaces.remote_read.server import PEEK_ACCESS, RECEIVE_ACCESS, RemoteReadServer
from openmsmq.interfaces.remote_read.stubs import ACK, INFINITE_MS, NoArguments
from openmsmq.interfaces.waits import WaitingRead, Waits
from openmsmq.limits import U32_MAX
from openmsmq.names.queue_format import QueueFormatType
from openmsmq.packet.headers.trailer import split_stored
from openmsmq.packet.origin import without_origin
from openmsmq.rpc.association import RandomBytes, unused_number
from openmsmq.rpc.interface import RpcCall, RpcInterface, RpcMethod
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.lookup import ARRIVAL_MASK
from openmsmq.types.read import Seek

T = TypeVar("T")
STATUS_SHARING_VIOLATION: Final = 0xC0000043
"What R_QMOpenRemoteQueue answers where others say MQ_ERROR_SHARING_VIOLATION (SS-12)."
STATUS_NOT_FOUND: Final = 0xC0000225
RESERVED_CURSOR: Final = 0x0B
"No cursor has this number ([MS-MQMP] 3.1.4.19)."
VERSION: Final = stubs.VersionResult(6, 1, 7600)
"Clients of this one use RemoteQMStartReceive2 ([MS-MQQP] 3.2.4.2)."
KINDS: Final = (
    QueueFormatType.PUBLIC,
    QueueFormatType.PRIVATE,
    QueueFormatType.DIRECT,
    QueueFormatType.MACHINE,
    QueueFormatType.SUBQUEUE,
)
Results = Callable[[UUID, stubs.ReadDescription, int, int], Structure]
"Makes results of a handle, a description, a sequence identifier and an HRESULT."


class OldReadServer:
    """Lets old clients read the queues of a manager."""

    def __init__(
        self,
        reading: RemoteReadServer,
        driver: EngineDriver,
        *,
        now: Callable[[], float],
        random_bytes: RandomBytes,
    ) -> None:
        """`reading` decides who may open a queue; its port is answered to old clients, too."""
        self._reading = reading
        self._driver = driver
        self._now = now
        self._random_bytes = random_bytes
        self._queues: dict[int, HostedQueue] = {}
        "By the number that clients know."
        self._next_cursor = 0
        self._waits: Waits[HostedQueue] = Waits()
        self._guesses = Guesses(now)
        self.on_deadline: Callable[[], None] = _nothing
        "Called when `next_deadline` may have become earlier."
        self.interface = RpcInterface("qm2qm", stubs.QM2QM, self._qm2qm())
        self.opening = self._qmcomm()
        "The operations of qmcomm that open queues."

    def __len__(self) -> int:
        return len(self._queues)

    def _qm2qm(self) -> dict[int, RpcMethod]:
        op = Qm2qmOpnum
        rows: dict[int, tuple[str, type[Structure], Callable[[RpcCall], None]]] = {
            op.START_RECEIVE: ("RemoteQMStartReceive", stubs.StartRead, self._start),
            op.END_RECEIVE: ("RemoteQMEndReceive", stubs.EndRead, self._end),
            op.OPEN_QUEUE: ("RemoteQMOpenQueue", stubs.OpenSession, self._open_session),
            op.CLOSE_QUEUE: ("RemoteQMCloseQueue", stubs.HandleArgument, self._close_session),
            op.CLOSE_CURSOR: ("RemoteQMCloseCursor", stubs.TwoNumbers, self._close_cursor),
            op.CANCEL_RECEIVE: ("RemoteQMCancelReceive", stubs.CancelRead, self._cancel),
            op.PURGE_QUEUE: ("RemoteQMPurgeQueue", stubs.OneNumber, self._purge),
            op.GET_VERSION: ("RemoteQmGetVersion", NoArguments, self._version),
            op.START_RECEIVE_2: ("RemoteQMStartReceive2", stubs.StartRead2, self._start_2),
            op.START_RECEIVE_BY_LOOKUP_ID: (
                "RemoteQMStartReceiveByLookupId",
                stubs.StartReadByLookup,
                self._start_by_lookup,
            ),
        }
        methods = {opnum: RpcMethod(*row) for opnum, row in rows.items()}
        name = "RemoteQMGetQMQMServerPort"
        methods[op.GET_SERVER_PORT] = RpcMethod(name, stubs.PortType, self._port, False)
        return methods

    def _qmcomm(self) -> dict[int, RpcMethod]:
        op = QmcommOpnum
        rows: dict[int, tuple[str, type[Structure], Callable[[RpcCall], None]]] = {
            op.OPEN_REMOTE_QUEUE: ("R_QMOpenRemoteQueue", stubs.OpenRemoteQueue, self._open),
            op.CLOSE_REMOTE_QUEUE_CONTEXT: (
                "R_QMCloseRemoteQueueContext",
                stubs.HandleArgument,
                self._close_opened,
            ),
            op.CREATE_REMOTE_CURSOR: (
                "R_QMCreateRemoteCursor",
                stubs.CreateRemoteCursor,
                self._create_cursor,
            ),
        }
        methods = {opnum: RpcMethod(*row) for opnum, row in rows.items()}
        methods[op.GET_SERVER_PORT] = RpcMethod(
            "R_QMGetRTQMServerPort", stubs.OneNumber, self._port_of_old, False
        )
        return methods

    # Ports and version

    def _port(self, call: RpcCall) -> None:
        """RemoteQMGetQMQMServerPort ([MS-MQQP] 3.1.4.8): there is no SPX."""
        call.respond(stubs.OneNumber(self._port_for(call.args(stubs.PortType).port_type)))

    def _port_of_old(self, call: RpcCall) -> None:
        """R_QMGetRTQMServerPort ([MS-MQMP] 3.1.4.24): the same answers."""
        call.respond(stubs.OneNumber(self._port_for(call.args(stubs.OneNumber).number)))

    def _port_for(self, port_type: int) -> int:
        return self._reading.port if port_type in (0, 1) else 0

    def _version(self, call: RpcCall) -> None:
        """RemoteQmGetVersion ([MS-MQQP] 3.1.4.9)."""
        call.respond(VERSION)

    # qmcomm

    def _open(self, call: RpcCall) -> None:
        """R_QMOpenRemoteQueue ([MS-MQMP] 3.1.4.2): all is checked here ([MS-MQQP] 2.1)."""
        asked = call.args(stubs.OpenRemoteQueue)
        try:
            queue = self._open_queue(call, asked)
        except SharingViolation:
            result = STATUS_SHARING_VIOLATION
        except MQError as error:
            result = error.hresult
        else:
            context = OpenedContext(queue, self._close)
            try:
                handle = call.association.add(context)
            except RpcFault:
                self._close(queue)
                raise
            number = queue.number
            call.respond(stubs.OpenedRemoteQueue(handle, number, number, number, OK))
            return
        call.respond(stubs.OpenedRemoteQueue(NULL_HANDLE, 0, 0, 0, result))

    def _open_queue(self, call: RpcCall, asked: stubs.OpenRemoteQueue) -> HostedQueue:
        if asked.queue_format is None:
            raise InvalidParameter("no queue is named")
        if asked.access not in (RECEIVE_ACCESS, PEEK_ACCESS):
            raise UnsupportedAccessMode(f"access 0x{asked.access:X}")
        if asked.share_mode not in (0, 1):
            raise InvalidParameter(f"share mode {asked.share_mode}")
        found = asked.queue_format.queue_format()
        if found.format_type not in KINDS and found.format_type != QueueFormatType.UNKNOWN:
            raise UnsupportedFormatNameOperation(f"a queue format of type {found.format_type}")
        access = Access.RECEIVE if asked.access == RECEIVE_ACCESS else Access.PEEK
        mode = Mode(access, Share.DENY_RECEIVE if asked.share_mode else Share.DENY_NONE)
        handle, least = self._reading.open_handle(call.client, found.name(), mode)
        number = unused_number(self._random_bytes, self._queues)  # and cannot be guessed (SS-03)
        queue = HostedQueue(number, handle, least, call.association)
        self._queues[queue.number] = queue
        return queue

    def _close_opened(self, call: RpcCall) -> None:
        """R_QMCloseRemoteQueueContext ([MS-MQMP] 3.1.4.3): what a session has stays open."""
        handle = call.args(stubs.HandleArgument).handle
        if handle != NULL_HANDLE:
            context = call.association.find(handle, OpenedContext)
            call.association.remove(handle)
            context.run_down()
        call.respond(stubs.HandleArgument(NULL_HANDLE))

    def _create_cursor(self, call: RpcCall) -> None:
        """R_QMCreateRemoteCursor ([MS-MQMP] 3.1.4.4): by the opener or the reader (SS-03)."""
        asked = call.args(stubs.CreateRemoteCursor)
        queue = self._queues.get(asked.queue)
        try:
            if queue is None or call.association not in (queue.opener, queue.reader):
                raise InvalidHandle(f"queue {asked.queue} is not open")
            _check_level(call, queue)
            queue.require_room_for_cursor()
            cursor = self._driver.call(queue.handle.open_cursor)
        except MQError as error:
            call.respond(stubs.TwoNumbers(0, error.hresult))
            return
        self._next_cursor = self._next_cursor % U32_MAX + 1
        if self._next_cursor == RESERVED_CURSOR:
            self._next_cursor += 1
        queue.cursors[self._next_cursor] = cursor
        call.respond(stubs.TwoNumbers(self._next_cursor, OK))

    # Sessions

    def _open_session(self, call: RpcCall) -> None:
        """RemoteQMOpenQueue ([MS-MQQP] 3.1.4.3, [MS-MQDMPR] 3.1.1.16): once (SS-07, SS-51)."""
        asked = call.args(stubs.OpenSession)
        queue = self._queues.get(asked.context)
        is_sound = asked.pointer == asked.context != 0
        address = call.client.address
        is_guess = self._guesses.is_exhausted(address)
        if is_guess or not is_sound or queue is None or queue.reader is not None:
            if queue is None:
                self._guesses.add(address)
            call.respond(stubs.HandleResult(NULL_HANDLE, InvalidParameter.hresult))
            return
        _check_level(call, queue)
        handle = call.association.add(ReadSession(queue, self._close))
        queue.reader = call.association
        call.respond(stubs.HandleResult(handle, OK))

    def _close_session(self, call: RpcCall) -> None:
        """RemoteQMCloseQueue ([MS-MQQP] 3.1.4.4): waits end, held messages return (SS-35)."""
        handle = call.args(stubs.HandleArgument).handle
        if handle == NULL_HANDLE:
            call.respond(stubs.HandleResult(NULL_HANDLE, InvalidHandle.hresult))
            return
        session = call.association.find(handle, ReadSession)
        call.association.remove(handle)
        session.run_down()
        call.respond(stubs.HandleResult(NULL_HANDLE, OK))

    def _close(self, queue: HostedQueue) -> None:
        """Close a queue: cursors, waiting reads and held messages go with it."""
        if queue.is_closed:
            return
        queue.is_closed = True
        del self._queues[queue.number]
        for waiting in queue.waiting.values():
            self._waits.clear(waiting)
        self._driver.call(queue.handle.close)
        queue.cursors.clear()

    def _session(self, call: RpcCall, number: int) -> HostedQueue | None:
        """The queue of a number, if the caller's association reads it ([MS-MQQP] 2.1; SS-03)."""
        queue = self._queues.get(number)
        if queue is None or queue.reader is not call.association:
            return None
        _check_level(call, queue)
        return queue

    def _close_cursor(self, call: RpcCall) -> None:
        """RemoteQMCloseCursor ([MS-MQQP] 3.1.4.5)."""
        asked = call.args(stubs.TwoNumbers)
        queue = self._session(call, asked.first)
        cursor = None if queue is None else queue.cursors.pop(asked.second, None)
        if queue is None or cursor is None:
            call.respond(stubs.OneNumber(InvalidHandle.hresult))
            return
        self._driver.call(lambda: queue.handle.close_cursor(cursor))
        call.respond(stubs.OneNumber(OK))

    def _purge(self, call: RpcCall) -> None:
        """RemoteQMPurgeQueue ([MS-MQQP] 3.1.4.7): failures are thrown (SS-36)."""
        queue = self._session(call, call.args(stubs.OneNumber).number)
        if queue is None:
            raise RpcFault(InvalidHandle.hresult)
        if Access.RECEIVE not in queue.handle.mode.access:
            raise RpcFault(AccessDenied.hresult)

        def answered(pending: Future[int]) -> None:
            if pending.error is None:
                call.respond(stubs.OneNumber(OK))
            else:
                call.fault(result_of(pending.error))

        self._driver.begin(queue.handle.purge, answered)

    # Reads

    def _start(self, call: RpcCall) -> None:
        """RemoteQMStartReceive ([MS-MQQP] 3.1.4.1)."""

        def results(
            handle: UUID, found: stubs.ReadDescription, sequence: int, result: int
        ) -> Structure:
            return stubs.StartReadResult(handle, found, result)

        self._read(call, call.args(stubs.StartRead).description, None, results)

    def _start_2(self, call: RpcCall) -> None:
        """RemoteQMStartReceive2 ([MS-MQQP] 3.1.4.10): with a sequence identifier."""
        self._start_described(call, call.args(stubs.StartRead2).description, None)

    def _start_by_lookup(self, call: RpcCall) -> None:
        """RemoteQMStartReceiveByLookupId ([MS-MQQP] 3.1.4.11)."""
        asked = call.args(stubs.StartReadByLookup)
        self._start_described(call, asked.description, asked.lookup_id)

    def _start_described(
        self, call: RpcCall, described: stubs.ReadDescription2, lookup_id: int | None
    ) -> None:
        def results(
            handle: UUID, found: stubs.ReadDescription, sequence: int, result: int
        ) -> Structure:
            given = stubs.ReadDescription2(found, sequence)
            return stubs.StartRead2Result(handle, given, result)

        if described.description is None:  # (SS-39)
            call.respond(stubs.StartRead2Result(NULL_HANDLE, described, InvalidHandle.hresult))
        else:
            self._read(call, described.description, lookup_id, results)

    def _read(
        self,
        call: RpcCall,
        asked: stubs.ReadDescription,
        lookup_id: int | None,
        results: Results,
    ) -> None:
        """Read a message, or wait for one, as REMOTEREADDESC says ([MS-MQQP] 2.2.2.1)."""
        try:
            action, seek, queue = self._checked(call, asked, lookup_id)
            waiting = queue.waiting[asked.request_id] = WaitingRead()
        except (MQError, StatusError) as error:
            call.respond(results(NULL_HANDLE, asked, 0, result_of(error)))
            return

        def make() -> Future[list[Entry]]:
            cursor = queue.cursors.get(asked.cursor)
            wait = asked.timeout_ms != 0
            place = lookup_id or 0
            waiting.read = begin_read(queue.handle, action, seek, place, cursor, wait=wait)
            return waiting.read

        def answered(read: Future[list[Entry]]) -> None:
            waiting.read = None
            self._waits.clear(waiting)
            queue.waiting.pop(asked.request_id, None)
            self._finish(call, queue, asked, action, read, results)

        try:
            self._driver.begin(make, answered)
        except MQError as error:
            queue.waiting.pop(asked.request_id, None)
            call.respond(results(NULL_HANDLE, asked, 0, error.hresult))
            return
        if waiting.read is not None:
            call.on_cancel = lambda: self._cancel_wait(queue, waiting)
            if asked.timeout_ms != INFINITE_MS:
                self._waits.add(queue, waiting, self._now() + asked.timeout_ms / 1000)
                self.on_deadline()

    def _checked(
        self, call: RpcCall, asked: stubs.ReadDescription, lookup_id: int | None
    ) -> tuple[ReadAction, Seek | None, HostedQueue]:
        """The checks of a read in their order ([MS-MQQP] 3.1.4.1, 3.1.4.11, and 2.1: SS-19)."""
        by_lookup = lookup_id is not None
        if by_lookup and (not asked.queue or asked.timeout_ms or asked.cursor):
            raise InvalidParameter("a lookup names a queue, and neither waits nor has a cursor")
        if not by_lookup and (not asked.own_queue or asked.own_queue != asked.queue):
            raise InvalidParameter("dwQueue is not hRemoteQueue")
        queue = self._session(call, asked.queue)
        if queue is not None and asked.request_id in queue.waiting:
            raise InvalidParameter(f"request {asked.request_id} waits")
        if asked.action == ReadAction.PEEK_NEXT and not by_lookup and not asked.cursor:
            raise StatusError(STATUS_INVALID_PARAMETER)
        action, seek = action_of(asked.action, lookup_id)
        if queue is None:
            raise InvalidParameter(f"queue {asked.queue} has no session")
        if asked.cursor and asked.cursor not in queue.cursors:
            raise StatusError(STATUS_INVALID_PARAMETER)
        if action.is_receive and Access.RECEIVE not in queue.handle.mode.access:
            raise AccessDenied("the queue is open to peek")  # (SS-19)
        queue.require_room()
        return action, seek, queue

    def _finish(
        self,
        call: RpcCall,
        queue: HostedQueue,
        asked: stubs.ReadDescription,
        action: ReadAction,
        read: Future[list[Entry]],
        results: Results,
    ) -> None:
        """Answer a read ([MS-MQQP] 2.2.2.1, 3.1.1.2); a receive holds its message (SS-49, 50)."""
        if read.error is not None:
            is_cancelled = queue.is_closed or isinstance(read.error, OperationCancelled)
            result = CANCELED if is_cancelled else result_of(read.error)
            call.respond(results(NULL_HANDLE, asked, 0, result))
            return
        [entry] = read.result()
        handle = NULL_HANDLE
        if action.is_receive:
            held = HeldRead(queue, entry.lookup, self._release)
            if not call.is_open:  # the client went while the message came
                self._release(held)
                return
            try:
                handle = call.association.add(held)
            except RpcFault as fault:
                self._release(held)
                call.fault(fault.status)
                return
        packet = without_origin(split_stored(entry.packet)[0])  # nothing is added to it (SS-34)
        arrived = Record.unpack(entry.record).arrived_time
        found = replace(asked, size=len(packet), data=packet, arrive_time=arrived, reserved=1)
        call.respond(results(handle, found, entry.lookup & ARRIVAL_MASK, OK))

    def _end(self, call: RpcCall) -> None:
        """RemoteQMEndReceive ([MS-MQQP] 3.1.4.2): the message is removed, or is back."""
        asked = call.args(stubs.EndRead)
        if asked.handle == NULL_HANDLE:
            call.respond(stubs.HandleResult(NULL_HANDLE, InvalidHandle.hresult))
            return
        held = call.association.find(asked.handle, HeldRead)
        call.association.remove(asked.handle)
        if held.queue.is_closed:
            call.respond(stubs.HandleResult(NULL_HANDLE, TransactionSequence.hresult))
            return

        def answered(pending: Future[None]) -> None:
            call.respond(stubs.HandleResult(NULL_HANDLE, result_of(pending.error)))

        end = held.queue.handle.end
        remove = asked.acknowledge == ACK
        try:
            self._driver.begin(lambda: end([held.lookup_id], remove=remove), answered)
        except MQError as error:
            call.respond(stubs.HandleResult(NULL_HANDLE, error.hresult))

    def _release(self, held: HeldRead) -> None:
        """A message is back in its place; no caller waits for that."""
        with suppress(MQError):  # the queue is deleted, or closed
            end = held.queue.handle.end
            if not held.queue.is_closed:
                self._driver.call(lambda: end([held.lookup_id], remove=False))

    def _cancel(self, call: RpcCall) -> None:
        """RemoteQMCancelReceive ([MS-MQQP] 3.1.4.6)."""
        asked = call.args(stubs.CancelRead)
        if not asked.pointer or asked.pointer != asked.queue:
            result: int = InvalidParameter.hresult
        else:
            queue = self._session(call, asked.queue)
            if queue is None or not queue.waiting:
                result = InvalidHandle.hresult
            elif asked.request_id not in queue.waiting:
                result = MQError.hresult
            else:
                waiting = queue.waiting[asked.request_id]
                result = OK if self._cancel_wait(queue, waiting) else STATUS_NOT_FOUND
        call.respond(stubs.OneNumber(result))

    def _cancel_wait(self, queue: HostedQueue, waiting: WaitingRead) -> bool:
        return waiting.give_up(self._driver, queue.handle, OperationCancelled())

    # The time

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called."""
        return self._waits.next_deadline

    def tick(self, now: float) -> None:
        """End waits ([MS-MQQP] 3.1.2)."""
        for queue, waiting in self._waits.take_due(now):
            waiting.give_up(self._driver, queue.handle, ReceiveTimeout())


def _check_level(call: RpcCall, queue: HostedQueue) -> None:
    """Readers of a queue use a login as strong as its opener (SS-04)."""
    if call.client.level < queue.least_level:
        raise RpcFault(RpcStatus.ACCESS_DENIED)


def _nothing() -> None:
    """No read waits."""
