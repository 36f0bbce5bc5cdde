"""Queues that dependent clients have open ([MS-MQMP] 3.1.1.2, 3.1.4.17 to 3.1.4.22)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from openmsmq.engine.commit.future import Future
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.messages.cursor import QueueCursor
from openmsmq.errors import (
    AccessDenied,
    FormatNameBufferTooSmall,
    IllegalFormatName,
    IllegalOperation,
    InsufficientResources,
    InvalidHandle,
    InvalidParameter,
    MQError,
    OperationCancelled,
    QueueNotFound,
    UnsupportedAccessMode,
)
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.limits import CURSORS_MAX, REQUESTS_MAX
from openmsmq.interfaces.qm2qm.server import RESERVED_CURSOR
from openmsmq.interfaces.qm2qm.stubs import HandleArgument, HandleResult
from openmsmq.interfaces.remote_read.results import OK, result_of
from openmsmq.interfaces.remote_read.server import PEEK_ACCESS, RECEIVE_ACCESS
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.answers import answer, answer_when_done
from openmsmq.interfaces.supporting_server.clients import Clients
from openmsmq.interfaces.supporting_server.queue_proxies import (
    NameDirectory,
    QueueElsewhere,
    QueueProxy,
    QueuesElsewhere,
    RemoteNumbers,
    drop_cursor,
    purge_elsewhere,
    when_done,
)
from openmsmq.interfaces.supporting_server.stubs import Opnum
from openmsmq.interfaces.supporting_server.units import DependentUnits
from openmsmq.interfaces.waits import WaitingRead, Waits
from openmsmq.limits import U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.format import PrivateName, PublicName
from openmsmq.names.path import PathName, shown
from openmsmq.names.usage import check_use
from openmsmq.rpc.association import Association, RandomBytes, unused_number
from openmsmq.rpc.interface import RpcCall, RpcMethod
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.caller import Caller
from openmsmq.wire.text import encode_utf16z

SEND_ACCESS: Final = 0x02
ADMIN: Final = 0x80
"With receive or peek: the outgoing queue of a name, not the queue itself."
ACCESS: Final = {
    RECEIVE_ACCESS: Access.RECEIVE,
    SEND_ACCESS: Access.SEND,
    PEEK_ACCESS: Access.PEEK,
    RECEIVE_ACCESS | ADMIN: Access.RECEIVE,
    PEEK_ACCESS | ADMIN: Access.PEEK,
}
"dwDesiredAccess ([MS-MQMP] 3.1.4.17)."


@dataclass(slots=True, eq=False)
class DependentQueue:
    """RPC_QUEUE_HANDLE: a queue here that a client has open ([MS-MQMP] 2.2.1.1.2, 3.1.1.2)."""

    context: int
    "The number by which messages are received ([MS-MQMP] 3.1.4.17)."
    handle: QueueHandle
    name: FormatName
    "As it was given."
    association: Association
    close: Callable[[DependentQueue], None]
    cursors: dict[int, QueueCursor] = field(default_factory=dict)
    waiting: dict[WaitingRead, float] = field(default_factory=dict)
    "Reads that wait, and since when."
    is_closed: bool = False

    @property
    def owner(self) -> str:
        """The user who has opened it."""
        return self.handle.owner.name

    @property
    def mode(self) -> Mode:
        """What it is open for."""
        return self.handle.mode

    def run_down(self) -> None:
        """The client is gone: the queue is closed ([MS-MQMP] 3.1.7.1)."""
        self.close(self)

    def require_room(self) -> None:
        """Refuse more reads than may wait for one queue."""
        if len(self.waiting) >= REQUESTS_MAX:
            raise InsufficientResources(f"{REQUESTS_MAX} reads wait")

    def cursor(self, number: int) -> QueueCursor | None:
        """The cursor with a number, which must be one of this handle; None for 0."""
        if not number:
            return None
        if number not in self.cursors:
            raise InvalidHandle(f"cursor {number} is not open")
        return self.cursors[number]


class OpenQueues:
    """All queues that dependent clients have open."""

    def __init__(
        self,
        manager: QueueManager,
        driver: EngineDriver,
        clients: Clients,
        units: DependentUnits,
        waits: Waits[DependentQueue],
        random_bytes: RandomBytes,
        elsewhere: QueuesElsewhere,
    ) -> None:
        self._manager = manager
        self._driver = driver
        self._clients = clients
        self._units = units
        self._waits = waits
        self._random_bytes = random_bytes
        self._elsewhere = elsewhere
        self._open: dict[int, DependentQueue | QueueProxy] = {}
        "By the number that clients receive with, whichever computer has the queue (SS-06)."
        self._next_cursor = 0
        self.directory: NameDirectory | None = None
        "Finds public queues of other managers; None without a directory."

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[DependentQueue | QueueProxy]:
        return iter(self._open.values())

    def methods(self) -> dict[int, RpcMethod]:
        """The operations, by number ([MS-MQMP] 3.1.4)."""
        rows: dict[int, tuple[str, type[Structure], Callable[[RpcCall], None]]] = {
            Opnum.OPEN_QUEUE: ("rpc_QMOpenQueueInternal", stubs.OpenInternal, self._open_queue),
            Opnum.CLOSE_HANDLE: ("rpc_ACCloseHandle", HandleArgument, self._close_handle),
            Opnum.CLOSE_CURSOR: ("rpc_ACCloseCursor", stubs.HandleCursor, self._close_cursor),
            Opnum.SET_CURSOR_PROPERTIES: (
                "rpc_ACSetCursorProperties",
                stubs.CursorProperties,
                self._set_cursor_properties,
            ),
            Opnum.HANDLE_TO_FORMAT_NAME: (
                "rpc_ACHandleToFormatName",
                stubs.NameOfHandle,
                self._format_name,
            ),
            Opnum.PURGE_QUEUE: ("rpc_ACPurgeQueue", HandleArgument, self._purge),
        }
        return {opnum: RpcMethod(*row) for opnum, row in rows.items()}

    # Opening and closing

    def _open_queue(self, call: RpcCall) -> None:
        """rpc_QMOpenQueueInternal ([MS-MQMP] 3.1.4.17): arguments first, then rights, then queues.

        The name that comes with it is not looked at, nor are licence, client name and protocol.
        """
        asked = call.args(stubs.OpenInternal)
        caller = self._clients.caller(call)
        place = None if asked.remote_name is None else stubs.NamePlace(None)  # (SS-09)
        if asked.remote_queue:
            self._open_proxy(call, asked, caller, place)
            return

        def failed(result: int) -> Structure:
            return stubs.OpenedQueue(place, 0, NULL_HANDLE, result)

        def checked() -> tuple[FormatName, Mode, str | None]:
            name, mode = checked_opening(asked)
            local = self._driver.call(lambda: self._manager.resolver.local(name))
            path = str(name) if local is None else shown(local)
            self._clients.require_access(caller, mode.access, path)
            return name, mode, local

        def opened() -> Structure:
            name, mode, local = checked()
            if asked.access & ADMIN:
                raise QueueNotFound(f"{name}: outgoing queues are not read from here")
            if local is None and mode.access is not Access.SEND:
                elsewhere = stubs.NamePlace(str(self._path_elsewhere(name)))
                return stubs.OpenedQueue(elsewhere, 0, NULL_HANDLE, OK)
            self._clients.enter(call.association, caller)
            try:
                handle = self._driver.call(
                    lambda: self._manager.open_queue(str(name), mode, caller)
                )
            except BaseException:
                self._clients.leave(call.association)
                raise
            context = unused_number(self._random_bytes, self._open)
            queue = DependentQueue(context, handle, name, call.association, self._close)
            return stubs.OpenedQueue(place, context, self._add(queue), OK)

        self._after_lookup(call, lambda: checked()[0], opened, failed)

    def _after_lookup(
        self,
        call: RpcCall,
        checked: Callable[[], FormatName],
        opened: Callable[[], Structure],
        failed: Callable[[int], Structure],
    ) -> None:
        """Open a queue that the directory was asked for first, if its name needs that.

        ([MS-MQMP] 2.3, [MS-MQDMPR] 3.1.7.1.20) Who may not open it learns nothing of it, and for
        who is gone by then nothing is opened.
        """
        directory, association = self.directory, call.association

        def found(asked: Future[None]) -> None:
            if asked.error is not None or not (association.connections and call.is_open):
                call.respond(failed(result_of(asked.error)))
                return
            try:
                answer(call, opened, failed)
            except RpcFault as fault:
                call.fault(fault.status)

        if directory is None:
            answer(call, opened, failed)
            return
        try:
            name = str(checked())
        except MQError as error:
            call.respond(failed(error.hresult))
            return
        if directory.needs_lookup(name):
            when_done(directory.look_up(name), found)
        else:
            answer(call, opened, failed)

    def _path_elsewhere(self, name: FormatName) -> PathName:
        """The path of a queue of another computer ([MS-MQMP] 3.1.4.17, [MS-MQDMPR] 3.1.7.1.26).

        The directory says where a public queue is.
        """
        if isinstance(name, PublicName):
            return self._manager.directory.path(name)
        return path_elsewhere(name)

    def _open_proxy(
        self,
        call: RpcCall,
        asked: stubs.OpenInternal,
        caller: Caller,
        place: stubs.NamePlace | None,
    ) -> None:
        """Take over a queue that the client has opened elsewhere ([MS-MQMP] 3.1.4.17).

        Its computer says whether the numbers are right; who is gone meanwhile gets no handle.
        """
        association = call.association

        def opened(pending: Future[QueueElsewhere]) -> None:
            if pending.error is None and association.connections and call.is_open:
                remote, context = pending.result(), unused_number(self._random_bytes, self._open)
                proxy = QueueProxy(
                    context, remote, name, mode, caller.name, association, self._close_proxy
                )
                try:
                    call.respond(stubs.OpenedQueue(place, context, self._add(proxy), OK))
                except RpcFault as fault:
                    call.fault(fault.status)
                return
            self._clients.leave(association)
            if pending.error is None:
                pending.result().close()
            call.respond(stubs.OpenedQueue(place, 0, NULL_HANDLE, result_of(pending.error)))

        try:
            name, mode = checked_opening(asked)
            path = self._path_elsewhere(name)
            self._clients.require_access(caller, mode.access, str(name))
            self._clients.enter(association, caller)
            try:
                numbers = RemoteNumbers(
                    asked.remote_queue, asked.remote_pointer, asked.remote_context
                )
                pending = self._elsewhere.open(path, mode, numbers)
            except BaseException:
                self._clients.leave(association)
                raise
        except MQError as error:
            call.respond(stubs.OpenedQueue(place, 0, NULL_HANDLE, error.hresult))
            return
        when_done(pending, opened)

    def _add(self, queue: DependentQueue | QueueProxy) -> UUID:
        """The handle of a queue that is open now; without one it is closed again."""
        self._open[queue.context] = queue
        try:
            return queue.association.add(queue)
        except RpcFault:
            queue.run_down()
            raise

    def _close_handle(self, call: RpcCall) -> None:
        """rpc_ACCloseHandle ([MS-MQMP] 3.1.4.18): reads that wait end, the context is gone."""
        handle = call.args(HandleArgument).handle
        queue = self.find(call, handle)
        call.association.remove(handle)
        queue.run_down()
        call.respond(HandleResult(NULL_HANDLE, OK))

    def _close(self, queue: DependentQueue) -> None:
        """Close a queue: cursors, waiting reads and held messages go with it.

        When its client is gone, the transactions of that client end first ([MS-MQMP] 3.1.7; SS-33).
        """
        if queue.is_closed:
            return
        queue.is_closed = True
        if not queue.association.connections:  # transactions first (SS-33)
            self._units.run_down(queue.association)
        del self._open[queue.context]
        self._clients.leave(queue.association)
        for waiting in queue.waiting:
            self._waits.clear(waiting)
        self._driver.call(queue.handle.close)
        queue.cursors.clear()

    def _close_proxy(self, proxy: QueueProxy) -> None:
        """Close a queue elsewhere, without waiting for its computer ([MS-MQMP] 3.1.4.18; SS-60)."""
        if proxy.is_closed:
            return
        proxy.is_closed = True
        del self._open[proxy.context]
        self._clients.leave(proxy.association)
        for read in list(proxy.waiting):
            proxy.remote.cancel(read, OperationCancelled())
        proxy.remote.close()

    # What calls name

    def find(self, call: RpcCall, handle: UUID) -> DependentQueue | QueueProxy:
        """The queue of a handle, made by the same user ([MS-MQMP] 2.2.1.1, 3.1.1.2; SS-54)."""
        queue: DependentQueue | QueueProxy
        if call.association.has(handle, QueueProxy):
            queue = call.association.find(handle, QueueProxy)
        else:
            queue = call.association.find(handle, DependentQueue)
        self._check_user(call, queue)
        return queue

    def in_context(self, call: RpcCall, context: int) -> DependentQueue | QueueProxy:
        """The queue of a number, if it is the caller's own ([MS-MQMP] 3.1.5.3; SS-03, SS-28)."""
        queue = self._open.get(context)
        if queue is None or queue.association is not call.association:
            raise InvalidHandle(f"{context}: no queue is open under this number")
        self._check_user(call, queue)
        return queue

    def _check_user(self, call: RpcCall, queue: DependentQueue | QueueProxy) -> None:
        if self._clients.caller(call).name != queue.owner:
            raise RpcFault(RpcStatus.CONTEXT_MISMATCH)

    # Cursors

    def add_cursor(self, queue: DependentQueue) -> int:
        """A new cursor before the first message ([MS-MQMP] 3.1.5.4)."""
        if len(queue.cursors) >= CURSORS_MAX:
            raise InsufficientResources(f"{CURSORS_MAX} cursors are open")
        cursor = self._driver.call(queue.handle.open_cursor)
        number = self.new_cursor()
        queue.cursors[number] = cursor
        return number

    def new_cursor(self) -> int:
        """A number for a cursor, never 0 or 0x0B ([MS-MQMP] 3.1.4.19)."""
        self._next_cursor = self._next_cursor % U32_MAX + 1
        if self._next_cursor == RESERVED_CURSOR:
            self._next_cursor += 1
        return self._next_cursor

    def _close_cursor(self, call: RpcCall) -> None:
        """rpc_ACCloseCursor ([MS-MQMP] 3.1.4.19): one number is closed always."""
        asked = call.args(stubs.HandleCursor)
        if asked.cursor == RESERVED_CURSOR:
            call.respond(stubs.Status(OK))
            return
        queue = self.find(call, asked.handle)
        try:
            if isinstance(queue, QueueProxy):
                drop_cursor(queue, asked.cursor, lambda result: call.respond(stubs.Status(result)))
                return
            cursor = queue.cursor(asked.cursor)
            if cursor is None:
                raise InvalidHandle("cursor 0 is none")
        except MQError as error:
            call.respond(stubs.Status(error.hresult))
            return
        del queue.cursors[asked.cursor]
        handle = queue.handle
        self._driver.call(lambda: handle.close_cursor(cursor))
        call.respond(stubs.Status(OK))

    def _set_cursor_properties(self, call: RpcCall) -> None:
        """rpc_ACSetCursorProperties ([MS-MQMP] 3.1.4.20): obsolete, and answered so."""
        call.respond(stubs.Status(IllegalOperation.hresult))

    # The queue itself

    def _format_name(self, call: RpcCall) -> None:
        """rpc_ACHandleToFormatName ([MS-MQMP] 3.1.4.21): the name that was given."""
        asked = call.args(stubs.NameOfHandle)
        queue = self.find(call, asked.handle)

        def found() -> Structure:
            if asked.needed != asked.size or (asked.name is None and asked.size):
                raise InvalidParameter("the sizes of the buffer are not the same")
            units = tuple(array("H", encode_utf16z(str(queue.name))))
            fits = len(units) <= asked.size
            result = OK if fits else FormatNameBufferTooSmall.hresult
            copied = None
            if asked.name is not None:
                kept = units if fits else (*units[: max(0, asked.size - 1)], 0)
                copied = (kept + (0,) * asked.size)[: asked.size]
            return stubs.NameResult(copied, len(units), result)

        def failed(result: int) -> Structure:
            return stubs.NameResult(asked.name, asked.needed, result)

        answer(call, found, failed)

    def _purge(self, call: RpcCall) -> None:
        """rpc_ACPurgeQueue ([MS-MQMP] 3.1.4.22): one that is open for receiving (SS-19)."""
        queue = self.find(call, call.args(HandleArgument).handle)
        if isinstance(queue, QueueProxy):
            purge_elsewhere(queue, lambda result: call.respond(stubs.Status(result)))
            return
        handle = queue.handle

        def purged() -> Future[int]:
            if Access.RECEIVE not in handle.mode.access:
                raise AccessDenied(f"{queue.name} is not open for receiving")
            return handle.purge()

        answer_when_done(self._driver, call, purged)


def checked_opening(asked: stubs.OpenInternal) -> tuple[FormatName, Mode]:
    """What is to be opened and how, before it is looked up ([MS-MQMP] 3.1.4.17)."""
    if asked.access not in ACCESS:
        raise UnsupportedAccessMode(f"access 0x{asked.access:X}")
    if asked.share_mode not in (0, 1):
        raise InvalidParameter(f"share mode {asked.share_mode}")
    access = ACCESS[asked.access]
    if access is Access.SEND and asked.share_mode:
        raise InvalidParameter("who sends cannot keep others from receiving")
    is_elsewhere = bool(asked.remote_queue)
    if is_elsewhere and (access is Access.SEND or asked.access & ADMIN):
        raise UnsupportedAccessMode(f"access 0x{asked.access:X} to a queue elsewhere")
    if not is_elsewhere and (asked.remote_pointer or asked.remote_context):
        raise InvalidParameter("numbers of a queue elsewhere, without a queue elsewhere")
    name = asked.queue_format.queue_format().name()
    check_use(name, sends=access is Access.SEND)
    return name, Mode(access, Share.DENY_RECEIVE if asked.share_mode else Share.DENY_NONE)


def path_elsewhere(name: FormatName) -> PathName:
    """The path of a queue of another computer, by its name alone ([MS-MQMP] 3.1.4.17).

    Only direct names say it themselves ([MS-MQDMPR] 3.1.7.1.26; SS-43).
    """
    if isinstance(name, DirectName) and name.protocol in (Protocol.OS, Protocol.TCP):
        return PathName(name.address, *name.queue_parts)
    if isinstance(name, PrivateName):
        raise IllegalFormatName(f"{name}: a direct name is needed for a queue elsewhere")
    raise QueueNotFound(f"{name}: not a queue of this manager")
