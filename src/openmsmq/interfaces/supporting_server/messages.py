"""DependentMessages of dependent clients: sent, received and peeked at ([MS-MQMP] 3.1.5).

A receive goes in two steps inside, so that a message whose client has too little room for it, or is
gone, stays in its place (SS-26, SS-29).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.messages.cursor import QueueCursor
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    AccessDenied,
    IllegalCursorAction,
    IllegalOperation,
    InsufficientResources,
    InvalidHandle,
    InvalidParameter,
    MessageNotAuthenticated,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
    TransactionUsage,
)
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.limits import WAITING_ROOM_MAX
from openmsmq.interfaces.qm2qm.old_actions import PLAIN_ACTIONS
from openmsmq.interfaces.queue_format import ObjectId
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.reads import begin_read
from openmsmq.interfaces.remote_read.results import OK, result_of
from openmsmq.interfaces.remote_read.stubs import INFINITE_MS
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.filled_buffer import filled
from openmsmq.interfaces.supporting_server.open_queues import DependentQueue, OpenQueues
from openmsmq.interfaces.supporting_server.queue_proxies import (
    QueueProxy,
    add_cursor,
    read_elsewhere,
)
from openmsmq.interfaces.supporting_server.sent_message import message_of, protection_of
from openmsmq.interfaces.supporting_server.stubs import MessageOpnum
from openmsmq.interfaces.supporting_server.units import DependentUnits
from openmsmq.interfaces.waits import WaitingRead, Waits
from openmsmq.rpc.interface import RpcCall, RpcMethod
from openmsmq.rpc.ndr.structure import Structure
from openmsmq.types.access import Access
from openmsmq.types.ids import SentId

RECEIVE: Final = 1
"uTransferType of a message to receive ([MS-MQMP] 2.2.3.2)."


@dataclass(slots=True, eq=False)
class Reading:
    """One read of a client, until it is answered."""

    call: RpcCall
    queue: DependentQueue
    buffer: Any
    action: ReadAction
    cursor: QueueCursor | None
    transaction: ManagedTransaction | None
    place: tuple[int, Any] | None = None
    "Where the cursor stood."
    is_full: bool = False
    "There is no more room for reads that wait."

    def answer(self, result: int, buffer: Any = None) -> None:
        """End the call; without a message the buffer is as it came."""
        self.call.respond(stubs.ReceivedBuffer(self.buffer if buffer is None else buffer, result))


class DependentMessages:
    """The operations of qmcomm2."""

    def __init__(
        self,
        manager: QueueManager,
        driver: EngineDriver,
        queues: OpenQueues,
        units: DependentUnits,
        waits: Waits[DependentQueue],
        now: Callable[[], float],
    ) -> None:
        self._manager = manager
        self._driver = driver
        self._queues = queues
        self._units = units
        self._waits = waits
        self._now = now
        self._waiting_room = 0
        "Bytes that reads which wait have room for."
        self.on_deadline: Callable[[], None] = _nothing
        "Called when the next deadline may have become earlier."

    def methods(self) -> dict[int, RpcMethod]:
        """The operations, by number."""
        rows: dict[int, tuple[str, type[Structure], Callable[[RpcCall], None]]] = {
            MessageOpnum.SEND_INTERNAL: (
                "QMSendMessageInternalEx",
                stubs.SendInternal,
                self._send_internal,
            ),
            MessageOpnum.SEND: ("rpc_ACSendMessageEx", stubs.SendMessage, self._send),
            MessageOpnum.RECEIVE: ("rpc_ACReceiveMessageEx", stubs.ReceiveMessage, self._receive),
            MessageOpnum.CREATE_CURSOR: (
                "rpc_ACCreateCursorEx",
                stubs.CreateCursor,
                self._create_cursor,
            ),
        }
        return {opnum: RpcMethod(*row) for opnum, row in rows.items()}

    # Sending

    def _send_internal(self, call: RpcCall) -> None:
        """QMSendMessageInternalEx ([MS-MQMP] 3.1.5.1): no send is ever to be repeated with it."""
        asked = call.args(stubs.SendInternal)
        call.respond(stubs.SentBuffer(asked.message_id, IllegalOperation.hresult))

    def _send(self, call: RpcCall) -> None:
        """rpc_ACSendMessageEx ([MS-MQMP] 3.1.5.2): answered when what is recoverable is on disk."""
        asked = call.args(stubs.SendMessage)
        queue = self._queues.find(call, asked.handle)
        if isinstance(queue, QueueProxy):
            call.respond(stubs.SentBuffer(asked.message_id, InvalidHandle.hresult))
            return
        handle = queue.handle

        def answered(sent: Future[Sequence[SentId]]) -> None:
            if sent.error is not None:
                call.respond(stubs.SentBuffer(asked.message_id, result_of(sent.error)))
                return
            [found] = sent.result()
            number = int(found.rpartition("\\")[2])
            wanted = asked.message_id is not None
            made = ObjectId(self._manager.identity, number) if wanted else None
            call.respond(stubs.SentBuffer(made, OK))

        def make() -> Future[Sequence[SentId]]:
            message = message_of(asked.buffer, queue.name, self._manager.timeline.wall)
            given = protection_of(asked.buffer, queue.name)
            if Access.SEND not in handle.mode.access:
                raise AccessDenied(f"{queue.name} is not open for sending")
            transaction = self._units.find(call, asked.buffer.unit)
            if given is not None:
                return handle.send_protected(message, given, transaction)
            if handle.queue.main.properties.authenticate:
                raise MessageNotAuthenticated(f"{queue.name} takes signed messages only")
            return handle.send([message], transaction)

        try:
            self._driver.begin(make, answered)
        except MQError as error:
            call.respond(stubs.SentBuffer(asked.message_id, error.hresult))

    # Cursors

    def _create_cursor(self, call: RpcCall) -> None:
        """rpc_ACCreateCursorEx ([MS-MQMP] 3.1.5.4, 3.2.4.8): what came with it means nothing."""
        asked = call.args(stubs.CreateCursor)
        queue = self._queues.find(call, asked.handle)

        def made(number: int, result: int) -> None:
            call.respond(stubs.CursorNumbers(number, 0, 0, result))

        try:
            if isinstance(queue, QueueProxy):
                add_cursor(queue, self._queues.new_cursor, made)
            else:
                made(self._queues.add_cursor(queue), OK)
        except MQError as error:
            made(0, error.hresult)

    # Reading

    def _receive(self, call: RpcCall) -> None:
        """rpc_ACReceiveMessageEx ([MS-MQMP] 3.1.5.3): a message, or a wait for one."""
        asked = call.args(stubs.ReceiveMessage)
        try:
            queue = self._checked_queue(call, asked)
            if isinstance(queue, QueueProxy):
                self._receive_elsewhere(call, asked.buffer, queue)
                return
            reading = self._checked(call, asked, queue)
        except MQError as error:
            call.respond(stubs.ReceivedBuffer(asked.buffer, error.hresult))
            return
        cursor, timeout = reading.cursor, asked.buffer.part.timeout
        waiting, room = WaitingRead(), room_of(asked.buffer)
        queue.waiting[waiting] = self._now()
        self._waiting_room += room
        reading.is_full = timeout != 0 and self._waiting_room > WAITING_ROOM_MAX

        def make() -> Future[list[Entry]]:
            wait = timeout != 0 and not reading.is_full
            action = reading.action
            waiting.read = begin_read(queue.handle, action, None, 0, cursor, wait=wait)
            return waiting.read

        def answered(read: Future[list[Entry]]) -> None:
            waiting.read = None
            self._waiting_room -= room
            self._waits.clear(waiting)
            queue.waiting.pop(waiting, None)
            self._found(reading, read)

        try:
            self._driver.begin(make, answered)
        except MQError as error:
            queue.waiting.pop(waiting, None)
            self._waiting_room -= room
            reading.answer(error.hresult)
            return
        if waiting.read is not None:
            cancelled = OperationCancelled()
            call.on_cancel = lambda: waiting.give_up(self._driver, queue.handle, cancelled)
            if timeout != INFINITE_MS:
                self._waits.add(queue, waiting, self._now() + timeout / 1000)
                self.on_deadline()

    def _receive_elsewhere(self, call: RpcCall, buffer: Any, proxy: QueueProxy) -> None:
        """Read a queue of another computer ([MS-MQMP] 3.1.5.3), if there is room for one more."""
        room, waits = room_of(buffer), buffer.part.timeout != 0
        if waits and self._waiting_room + room > WAITING_ROOM_MAX:
            raise InsufficientResources("too much waits")
        self._waiting_room += room

        def ended() -> None:
            self._waiting_room -= room

        action = ReadAction(buffer.part.action)
        try:
            read_elsewhere(call, buffer, proxy, action, self._manager, self._now(), ended)
        except MQError:
            ended()
            raise

    def _checked_queue(
        self, call: RpcCall, asked: stubs.ReceiveMessage
    ) -> DependentQueue | QueueProxy:
        """The arguments of a read, the transaction and the queue, in this order.

        ([MS-MQMP] 3.1.5.3; SS-53)
        """
        buffer = asked.buffer
        if buffer.transfer_type != RECEIVE:
            raise InvalidParameter(f"a transfer buffer of type {buffer.transfer_type}")
        part = buffer.part
        if part.action not in PLAIN_ACTIONS:
            raise InvalidParameter(f"there is no action 0x{part.action:08X}")
        action = ReadAction(part.action)
        if action is ReadAction.PEEK_NEXT and not part.cursor:
            raise IllegalCursorAction("only a cursor has a next message")
        self._units.find(call, buffer.unit)
        return self._queues.in_context(call, asked.context)

    def _checked(
        self, call: RpcCall, asked: stubs.ReceiveMessage, queue: DependentQueue
    ) -> Reading:
        """The checks of a queue here in their order ([MS-MQMP] 3.1.5.3)."""
        buffer, part = asked.buffer, asked.buffer.part
        action = ReadAction(part.action)
        transaction = self._units.find(call, buffer.unit)
        access = queue.handle.mode.access
        if not access & (Access.RECEIVE | Access.PEEK):
            raise AccessDenied(f"{queue.name} is open for sending")
        if action.is_receive and Access.RECEIVE not in access:
            raise AccessDenied(f"{queue.name} is open for peeking only")
        if transaction is not None:
            transaction.require_active()
            if action.is_receive and not queue.handle.queue.main.properties.transactional:
                raise TransactionUsage("only a transactional queue is read in a transaction")
        cursor = queue.cursor(part.cursor)
        queue.require_room()
        place = None if cursor is None else (cursor.position, cursor.state)
        return Reading(call, queue, buffer, action, cursor, transaction, place)

    def _found(self, reading: Reading, read: Future[list[Entry]]) -> None:
        """A read ended: the client gets the message if it has room for it (SS-26)."""
        if read.error is not None:
            is_too_many = reading.is_full and isinstance(read.error, ReceiveTimeout)
            error = InsufficientResources("too much waits") if is_too_many else read.error
            reading.answer(result_of(error))
            return
        [entry] = read.result()
        done = filled(reading.buffer, entry, self._manager.timeline.now)
        if done.error is not None or not reading.call.is_open:
            self._return(reading, entry)
            result = OperationCancelled.hresult if done.error is None else done.error.hresult
            reading.answer(result, done.buffer)
        elif reading.action.is_receive:
            self._remove(reading, entry, done.buffer)
        else:
            reading.answer(OK, done.buffer)

    def _remove(self, reading: Reading, entry: Entry, buffer: Any) -> None:
        """Take a message out, now or with a transaction; put it back if the client went (SS-29)."""
        handle, transaction = reading.queue.handle, reading.transaction

        def removed(ended: Future[None]) -> None:
            if ended.error is not None:
                reading.answer(result_of(ended.error))
            elif reading.call.is_open:
                reading.answer(OK, buffer)
            elif transaction is None:
                with suppress(MQError):  # the manager is closed
                    self._driver.call(lambda: handle.put_back([entry]))

        try:
            self._driver.begin(
                lambda: handle.end([entry.lookup], remove=True, transaction=transaction), removed
            )
        except MQError as error:
            reading.answer(error.hresult)

    def _return(self, reading: Reading, entry: Entry) -> None:
        """A message is back in its place, and the cursor where it stood (SS-26)."""
        handle, cursor = reading.queue.handle, reading.cursor
        if reading.action.is_receive and not reading.queue.is_closed:
            with suppress(MQError):  # the queue is deleted
                self._driver.call(lambda: handle.end([entry.lookup], remove=False))
        if cursor is not None and reading.place is not None:
            cursor.position, cursor.state = reading.place

    # The time

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called."""
        return self._waits.next_deadline

    def tick(self, now: float) -> None:
        """End waits ([MS-MQMP] 3.1.5.3)."""
        for queue, waiting in self._waits.take_due(now):
            waiting.give_up(self._driver, queue.handle, ReceiveTimeout())


def room_of(buffer: Any) -> int:
    """Bytes that a buffer keeps, in all of its arrays ([MS-MQMP] 2.2.3.2)."""
    arrays = (buffer.body, buffer.extension, buffer.certificate, buffer.keys, buffer.signature)
    return sum(len(one) for one in arrays if one is not None)


def _nothing() -> None:
    """No read waits."""
