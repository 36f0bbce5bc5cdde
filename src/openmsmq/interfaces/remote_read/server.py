"""The server of RemoteRead: every operation over a `QueueHandle` ([MS-MQRR] 3.1).

It has no socket; the time is given (`reads`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar
from uuid import UUID

from openmsmq.engine.authorization import authorize, is_allowed
from openmsmq.engine.commit.future import Future
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import (
    AccessDenied,
    IllegalFormatName,
    InvalidHandle,
    InvalidParameter,
    MQError,
    QueueNotFound,
    TransactionUsage,
)
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.limits import CLEANUP_AFTER
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import checked_action
from openmsmq.interfaces.remote_read.queue_context import QueueContext
from openmsmq.interfaces.remote_read.reads import RemoteReads
from openmsmq.interfaces.remote_read.results import (
    OK,
    STATUS_INVALID_PARAMETER,
    StatusError,
    nothing_received,
    require_read,
    require_receive,
    result_of,
)
from openmsmq.interfaces.remote_read.transactions import RemoteTransactions
from openmsmq.limits import U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.parts import split_queue
from openmsmq.names.path import shown
from openmsmq.names.queue_format import QueueFormatType
from openmsmq.rpc.association import RandomBytes
from openmsmq.rpc.auth.context import AuthLevel
from openmsmq.rpc.interface import RpcCall, RpcClient, RpcInterface, RpcMethod
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.caller import Caller
from openmsmq.types.read import Seek

T = TypeVar("T")

RECEIVE_ACCESS, MOVE_ACCESS, PEEK_ACCESS = 0x01, 0x04, 0x20
KINDS: Final = frozenset(
    {
        QueueFormatType.PUBLIC,
        QueueFormatType.PRIVATE,
        QueueFormatType.DIRECT,
        QueueFormatType.MACHINE,
        QueueFormatType.SUBQUEUE,
    }
)
"Kinds of names that can be opened for reading ([MS-MQRR] 3.1.4.2)."
REJECTED: Final = 0xC004
"MQMSG_CLASS_NACK_RECEIVE_REJECTED."
DEFAULT_POLICY: Final = LevelPolicy()


class RemoteReadServer:
    """Lets remote clients read the queues of a manager."""

    def __init__(
        self,
        manager: QueueManager,
        driver: EngineDriver,
        *,
        port: int,
        now: Callable[[], float],
        random_bytes: RandomBytes,
        caller_of: Callable[[RpcClient], Caller],
        policy: LevelPolicy = DEFAULT_POLICY,
        cleanup_after: float = CLEANUP_AFTER,
    ) -> None:
        """`port` is what R_GetServerPort answers.

        `caller_of` says what a client is entitled to, or refuses it with `AccessDenied`.
        """
        self._manager = manager
        self._driver = driver
        self.port = port
        self.reads = RemoteReads(driver, now, cleanup_after, manager)
        "Reads that wait or are not ended; `tick` them."
        self._random_bytes = random_bytes
        self._caller_of = caller_of
        self._policy = policy
        self.transactions = RemoteTransactions(manager, driver, now)
        self._next_cursor = 0
        self._moves: dict[int, QueueContext] = {}
        "Queues that are open to be moved to, by the number that stands for them."
        self.interface = RpcInterface("RemoteRead", stubs.REMOTE_READ, self._methods())

    def _methods(self) -> dict[int, RpcMethod]:
        op = stubs.ReadOpnum
        answered = self._answered
        table: dict[int, tuple[str, type[Structure], Callable[[RpcCall], None]]] = {
            op.OPEN_QUEUE: ("R_OpenQueue", stubs.OpenArguments, self._open_queue),
            op.CLOSE_QUEUE: ("R_CloseQueue", stubs.QueueContextArgument, self._close_queue),
            op.CREATE_CURSOR: ("R_CreateCursor", stubs.QueueContextArgument, self._create_cursor),
            op.CLOSE_CURSOR: ("R_CloseCursor", stubs.CursorContext, answered(self._close_cursor)),
            op.PURGE_QUEUE: ("R_PurgeQueue", stubs.QueueContextArgument, self._purge_queue),
            op.START_RECEIVE: ("R_StartReceive", stubs.StartReceive, self._start_receive),
            op.CANCEL_RECEIVE: ("R_CancelReceive", stubs.CancelReceive, answered(self._cancel)),
            op.END_RECEIVE: ("R_EndReceive", stubs.EndReceive, self._end_receive),
            op.MOVE_MESSAGE: ("R_MoveMessage", stubs.MoveMessage, self._move_message),
            op.OPEN_QUEUE_FOR_MOVE: (
                "R_OpenQueueForMove",
                stubs.OpenArguments,
                self._open_queue_for_move,
            ),
            op.ENLIST_REMOTE_TRANSACTION: (
                "R_QMEnlistRemoteTransaction",
                stubs.EnlistRemoteTransaction,
                answered(self._enlist),
            ),
            op.START_TRANSACTIONAL_RECEIVE: (
                "R_StartTransactionalReceive",
                stubs.StartTransactionalReceive,
                self._start_transactional_receive,
            ),
            op.SET_USER_ACKNOWLEDGEMENT_CLASS: (
                "R_SetUserAcknowledgementClass",
                stubs.SetUserAcknowledgementClass,
                answered(self._set_class),
            ),
            op.END_TRANSACTIONAL_RECEIVE: (
                "R_EndTransactionalReceive",
                stubs.EndReceive,
                self._end_receive,
            ),
        }
        methods = {opnum: RpcMethod(*row) for opnum, row in table.items()}
        methods[op.GET_SERVER_PORT] = RpcMethod(
            "R_GetServerPort", stubs.NoArguments, self._get_server_port, needs_authentication=False
        )
        return methods

    # Answers

    def _answered(self, work: Callable[[RpcCall], None]) -> Callable[[RpcCall], None]:
        """An operation that answers with its HRESULT at once."""

        def handle(call: RpcCall) -> None:
            try:
                work(call)
                result = OK
            except (MQError, StatusError) as error:
                result = result_of(error)
            call.respond(stubs.Status32(result))

        return handle

    def _answer_when_done(self, call: RpcCall, make: Callable[[], Future[T]]) -> None:
        """Answer with an HRESULT when the manager has done something."""

        def answered(pending: Future[T]) -> None:
            call.respond(stubs.Status32(result_of(pending.error)))

        try:
            self._driver.begin(make, answered)
        except (MQError, StatusError) as error:
            call.respond(stubs.Status32(result_of(error)))

    def _get_server_port(self, call: RpcCall) -> None:
        """R_GetServerPort ([MS-MQRR] 3.1.4.1)."""
        call.respond(stubs.Status32(self.port))

    # Queues

    def _open_queue(self, call: RpcCall) -> None:
        """R_OpenQueue ([MS-MQRR] 3.1.4.2): failures are thrown."""
        asked = call.args(stubs.OpenArguments)
        try:
            if asked.access not in (RECEIVE_ACCESS, PEEK_ACCESS) or asked.share_mode not in (0, 1):
                raise InvalidParameter(f"access {asked.access}, share mode {asked.share_mode}")
            access = Access.RECEIVE if asked.access == RECEIVE_ACCESS else Access.PEEK
            share = Share.DENY_RECEIVE if asked.share_mode else Share.DENY_NONE
            context = self._open(call, asked, Mode(access, share))
        except MQError as error:
            raise RpcFault(error.hresult) from error
        call.respond(stubs.QueueContextArgument(self._add(call, context)))

    def _open_queue_for_move(self, call: RpcCall) -> None:
        """R_OpenQueueForMove ([MS-MQRR] 3.1.4.11): for moves only, under a random number.

        To the manager it is a handle that peeks, which denies others nothing.
        """
        asked = call.args(stubs.OpenArguments)
        try:
            if asked.access != MOVE_ACCESS or asked.share_mode:
                raise InvalidParameter(f"access {asked.access}, share mode {asked.share_mode}")
            context = self._open(call, asked, Mode(Access.PEEK, Share.DENY_NONE))
        except MQError as error:
            raise RpcFault(error.hresult) from error
        handle = self._add(call, context)
        context.move_context = int.from_bytes(self._random_bytes(8), "little") or 1
        self._moves[context.move_context] = context
        call.respond(stubs.MoveContext(context.move_context, handle))

    def _open(self, call: RpcCall, asked: stubs.OpenArguments, mode: Mode) -> QueueContext:
        workgroup = bool(asked.workgroup)
        handle, least = self.open_handle(call.client, _name_of(asked), mode, workgroup=workgroup)
        principal = call.client.principal
        subqueue = split_queue(handle.queue.name).subqueue
        return QueueContext(handle, call.association, principal, least, self._close, subqueue)

    def open_handle(
        self, client: RpcClient, name: FormatName, mode: Mode, *, workgroup: bool = False
    ) -> tuple[QueueHandle, int]:
        """Open a queue for a client, and the level that its calls need ([MS-MQRR] 3.1.4.2)."""
        local = self._driver.call(lambda: self._manager.resolver.local(name))
        least = self._least_level(client, local, workgroup=workgroup)
        if client.level < least:
            raise RpcFault(RpcStatus.ACCESS_DENIED)
        caller = self._caller_of(client)
        if local is None:
            raise QueueNotFound(f"{name}: not a queue of this manager")
        authorize(caller, "read", shown(local))
        handle = self._driver.call(lambda: self._manager.open_queue(str(name), mode, caller))
        return handle, least

    def _least_level(self, client: RpcClient, local: str | None, *, workgroup: bool) -> int:
        """The level that a queue has to be opened with ([MS-MQRR] 3.1.4.2, note 19)."""
        try:
            anonymous = self._caller_of(RpcClient("", AuthLevel.NONE, client.address))
            reads = local is not None and is_allowed(anonymous, "read", shown(local))
        except AccessDenied:
            reads = False
        address = client.address
        return self._policy.least_to_open(address, workgroup=workgroup, anonymous_reads=reads)

    def _add(self, call: RpcCall, context: QueueContext) -> UUID:
        try:
            return call.association.add(context)
        except RpcFault:
            self._driver.call(context.handle.close)
            raise

    def _close_queue(self, call: RpcCall) -> None:
        """R_CloseQueue ([MS-MQRR] 3.1.4.3): waiting reads end, held messages return."""
        handle = call.args(stubs.QueueContextArgument).context
        context = _find(call, handle)
        call.association.remove(handle)
        self._close(context)
        call.respond(stubs.ClosedContext(NULL_HANDLE, OK))

    def _close(self, context: QueueContext) -> None:
        """Close a queue; what was read and not ended is back in its place ([MS-MQRR] 3.1.6.2)."""
        self._moves.pop(context.move_context, None)
        self.reads.forget(context)
        self._driver.call(context.handle.close)
        context.cursors.clear()

    def _purge_queue(self, call: RpcCall) -> None:
        """R_PurgeQueue ([MS-MQRR] 3.1.4.6)."""
        handle = call.args(stubs.QueueContextArgument).context
        context = _find(call, handle)

        def purge() -> Future[int]:
            require_receive(context)
            return context.handle.purge()

        self._answer_when_done(call, purge)

    # Cursors

    def _create_cursor(self, call: RpcCall) -> None:
        """R_CreateCursor ([MS-MQRR] 3.1.4.4): no number is 0, which means none."""
        handle = call.args(stubs.QueueContextArgument).context
        context = _find(call, handle)
        try:
            require_read(context)
            context.require_room_for_cursor()
            cursor = self._driver.call(context.handle.open_cursor)
        except (MQError, StatusError) as error:
            call.respond(stubs.CreatedCursor(0, result_of(error)))
            return
        self._next_cursor = self._next_cursor % U32_MAX + 1
        context.cursors[self._next_cursor] = cursor
        call.respond(stubs.CreatedCursor(self._next_cursor, OK))

    def _close_cursor(self, call: RpcCall) -> None:
        """R_CloseCursor ([MS-MQRR] 3.1.4.5): one of this handle."""
        asked = call.args(stubs.CursorContext)
        context = _find(call, asked.context)
        cursor = context.cursors.pop(asked.cursor, None)
        if cursor is None:
            raise InvalidHandle(f"cursor {asked.cursor} is not open")
        self._driver.call(lambda: context.handle.close_cursor(cursor))

    # Reading

    def _start_receive(self, call: RpcCall) -> None:
        """R_StartReceive ([MS-MQRR] 3.1.4.7)."""
        asked = call.args(stubs.StartReceive)
        self.reads.start(call, asked, _find(call, asked.context))

    def _start_transactional_receive(self, call: RpcCall) -> None:
        """R_StartTransactionalReceive ([MS-MQRR] 3.1.4.13): without a transaction, as the other.

        The handle holds the message until R_EndTransactionalReceive gives it to the transaction.
        """
        given = call.args(stubs.StartTransactionalReceive)
        context = _find(call, given.context)
        fields = [getattr(given, name) for name in stubs.StartReceive.__dataclass_fields__]
        asked = stubs.StartReceive(*fields)
        if given.transaction_id == stubs.NO_TRANSACTION:
            self.reads.start(call, asked, context)
            return
        try:
            action = checked_action(asked.action, asked.lookup_id, asked.cursor, asked.timeout_ms)
            if not context.handle.queue.properties.transactional or not action.is_receive:
                raise TransactionUsage("receives of a transactional queue can be in a transaction")
            transaction = self.transactions.find(call, given.transaction_id)
            transaction.require_active()
        except MQError as error:
            call.respond(nothing_received(error))
            return
        self.reads.start(call, asked, context, transaction)

    def _cancel(self, call: RpcCall) -> None:
        """R_CancelReceive ([MS-MQRR] 3.1.4.8)."""
        asked = call.args(stubs.CancelReceive)
        context = _find(call, asked.context)
        self.reads.cancel(context, asked.request_id)

    def _end_receive(self, call: RpcCall) -> None:
        """R_EndReceive and R_EndTransactionalReceive ([MS-MQRR] 3.1.4.9, 3.1.4.15)."""
        asked = call.args(stubs.EndReceive)
        context = _find(call, asked.context)
        self._answer_when_done(call, lambda: self.reads.end(context, asked))

    # Moves and transactions

    def _move_message(self, call: RpcCall) -> None:
        """R_MoveMessage ([MS-MQRR] 3.1.4.10), its checks in their order."""
        asked = call.args(stubs.MoveMessage)
        context = _find(call, asked.context_from)

        def move() -> Future[None]:
            target = self._move_target(call, asked.context_to)
            require_receive(context)
            source, found = context.handle.queue, target.handle.queue
            if source is found or source.main is not found.main:
                raise StatusError(STATUS_INVALID_PARAMETER)
            transaction = None
            if asked.transaction_id != stubs.NO_TRANSACTION:
                if not found.main.properties.transactional:
                    raise TransactionUsage("the queue is not transactional")
                transaction = self.transactions.find(call, asked.transaction_id)
            return context.handle.move(asked.lookup_id, target.subqueue, transaction)

        self._answer_when_done(call, move)

    def _move_target(self, call: RpcCall, number: int) -> QueueContext:
        found = self._moves.get(number)
        is_own = found is not None and found.association is call.association
        if found is None or not is_own or found.principal != call.client.principal:
            raise InvalidHandle("no queue is open to be moved to under this number")
        return found

    def _enlist(self, call: RpcCall) -> None:
        """R_QMEnlistRemoteTransaction ([MS-MQRR] 3.1.4.12)."""
        self.transactions.enlist(call, call.args(stubs.EnlistRemoteTransaction))

    def _set_class(self, call: RpcCall) -> None:
        """R_SetUserAcknowledgementClass ([MS-MQRR] 3.1.4.14): of messages in a transaction."""
        asked = call.args(stubs.SetUserAcknowledgementClass)
        context = _find(call, asked.context)
        if asked.acknowledgement_class not in (0, REJECTED):
            raise InvalidParameter(f"class 0x{asked.acknowledgement_class:04X}")
        place = context.handle.queue, asked.lookup_id
        transaction = self.transactions.holder_of(call, place)
        if transaction is None:
            self._driver.call(lambda: context.handle.peek_at(asked.lookup_id, Seek.CURRENT))
            raise TransactionUsage("the message is in no transaction")
        if asked.acknowledgement_class:
            self._driver.call(lambda: context.handle.reject(asked.lookup_id, transaction))


def _find(call: RpcCall, handle: UUID) -> QueueContext:
    """The open queue of a handle; only the user who opened it, with a login as strong, has it."""
    context = call.association.find(handle, QueueContext)
    client = call.client
    if client.principal != context.principal or client.level < context.least_level:
        raise RpcFault(RpcStatus.ACCESS_DENIED)
    return context


def _name_of(asked: stubs.OpenArguments) -> FormatName:
    """The queue that is to be opened, if it is of a kind that can be ([MS-MQRR] 3.1.4.2)."""
    found = asked.queue_format.queue_format()
    if found.format_type not in KINDS:
        raise InvalidParameter(f"a queue format of type {found.format_type}")
    try:
        return found.name()
    except IllegalFormatName as error:
        raise InvalidParameter(error.detail) from error
