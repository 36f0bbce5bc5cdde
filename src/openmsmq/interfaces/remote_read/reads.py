"""Reads of remote clients: those that wait, and messages that are not ended.

A message that a client has read is held for it until it is ended, its handle is closed, or too
much time has passed ([MS-MQRR] 3.1.1.3, 3.1.5.1).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import inf

from sortedcontainers import SortedDict

from openmsmq.engine.commit.future import Future
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.messages.cursor import QueueCursor
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    InvalidHandle,
    InvalidParameter,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
    TransactionSequence,
)
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import ReadAction, checked_action
from openmsmq.interfaces.remote_read.queue_context import PendingRead, QueueContext
from openmsmq.interfaces.remote_read.results import (
    STATUS_INVALID_HANDLE,
    STATUS_NOT_FOUND,
    StatusError,
    nothing_received,
    received,
    require_read,
    require_receive,
)
from openmsmq.rpc.interface import RpcCall
from openmsmq.types.read import Seek


class RemoteReads:
    """PendingRequestTable, and the timers of its entries ([MS-MQRR] 3.1.1.3, 3.1.2)."""

    def __init__(
        self,
        driver: EngineDriver,
        now: Callable[[], float],
        cleanup_after: float,
        manager: QueueManager,
    ) -> None:
        self._manager = manager
        assert cleanup_after > 0, "a message that is read has to stay for a while"
        self._driver = driver
        self._now = now
        self._cleanup_after = cleanup_after
        self._due: SortedDict[tuple[float, int], tuple[QueueContext, int]] = SortedDict()
        "Requests by the time at which their wait is over, or their message returns."
        self._next_due = 0
        self.on_deadline: Callable[[], None] = _nothing
        "Called when `next_deadline` may have become earlier."

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called."""
        return self._due.keys()[0][0] if self._due else None

    def _set_deadline(self, context: QueueContext, request_id: int, at: float) -> None:
        self._next_due += 1
        key = at, self._next_due
        context.requests[request_id].due = key
        self._due[key] = context, request_id
        self.on_deadline()

    def _clear_deadline(self, request: PendingRead) -> None:
        if request.due is not None:
            del self._due[request.due]
            request.due = None

    def tick(self, now: float) -> None:
        """End waits, and return messages that were not ended ([MS-MQRR] 3.1.5.1)."""
        while self._due and self._due.keys()[0][0] <= now:
            context, request_id = self._due.peekitem(0)[1]
            request = context.requests[request_id]
            self._clear_deadline(request)
            if request.read is not None:
                self._give_up(context, request, ReceiveTimeout())
            else:
                del context.requests[request_id]
                self._release(context, request)

    def _release(self, context: QueueContext, request: PendingRead) -> None:
        """Return a message to its place, without waiting for that."""
        with suppress(MQError):  # the queue is deleted
            self._driver.call(lambda: context.handle.end([request.lookup_id], remove=False))

    def _give_up(self, context: QueueContext, request: PendingRead, error: MQError) -> None:
        read = request.read
        assert read is not None
        self._driver.call(lambda: context.handle.cancel(read, error))

    def forget(self, context: QueueContext) -> None:
        """A handle is closed: what it holds returns with it, its waits are cancelled by it."""
        for request_id, request in list(context.requests.items()):
            self._clear_deadline(request)
            if request.read is None:
                del context.requests[request_id]

    def start(
        self,
        call: RpcCall,
        asked: stubs.StartReceive,
        context: QueueContext,
        transaction: ManagedTransaction | None = None,
    ) -> None:
        """Read a message, or wait for one ([MS-MQRR] 3.1.4.7, 3.1.4.13)."""
        try:
            action = _checked(asked, context)
            request = context.add_request(asked.request_id)
            request.transaction = transaction
        except (MQError, StatusError) as error:
            call.respond(nothing_received(error))
            return

        def make() -> Future[list[Entry]]:
            cursor = context.cursors.get(asked.cursor)
            wait, lookup_id = asked.timeout_ms != 0, asked.lookup_id
            handle, seek = context.handle, action.seek
            request.read = begin_read(handle, action, seek, lookup_id, cursor, wait=wait)
            return request.read

        def answered(read: Future[list[Entry]]) -> None:
            self._finish(call, asked, context, action, read)

        try:
            self._driver.begin(make, answered)
        except MQError as error:
            del context.requests[asked.request_id]
            call.respond(nothing_received(error))
            return
        if request.read is not None:
            if transaction is not None:
                transaction.used = inf  # as long as it waits
            call.on_cancel = lambda: self._give_up(context, request, OperationCancelled())
            if asked.timeout_ms != stubs.INFINITE_MS:
                until = self._now() + asked.timeout_ms / 1000
                self._set_deadline(context, asked.request_id, until)

    def _finish(
        self,
        call: RpcCall,
        asked: stubs.StartReceive,
        context: QueueContext,
        action: ReadAction,
        read: Future[list[Entry]],
    ) -> None:
        """Answer a read; the message of a receive is held until it is ended."""
        request = context.requests[asked.request_id]
        request.read = None
        if request.transaction is not None:
            request.transaction.used = self._now()
        self._clear_deadline(request)
        if read.error is not None or not action.is_receive or not call.is_open:
            del context.requests[asked.request_id]
        if read.error is not None:
            call.respond(nothing_received(read.error))
            return
        [entry] = read.result()
        if action.is_receive:
            request.lookup_id = entry.lookup
            if not call.is_open:  # the client went while the message came
                self._release(context, request)
                return
            self._set_deadline(context, asked.request_id, self._now() + self._cleanup_after)
        call.respond(received(entry, context, asked, self._manager))

    def cancel(self, context: QueueContext, request_id: int) -> None:
        """End a read that waits ([MS-MQRR] 3.1.4.8, 3.2.4.11)."""
        request = context.requests.get(request_id)
        if request is None or request.read is None:
            raise StatusError(STATUS_NOT_FOUND)
        self._give_up(context, request, OperationCancelled())

    def end(self, context: QueueContext, asked: stubs.EndReceive) -> Future[None]:
        """Remove the message of a read, or return it ([MS-MQRR] 3.1.4.9, 3.1.4.15).

        What is returned is in its old place ([MS-MQDMPR] 3.1.7.2.2).
        """
        if not context.requests:
            raise InvalidHandle("no read of this handle is to be ended")
        request = context.requests.get(asked.request_id)
        if request is None or request.read is not None:
            raise InvalidParameter(f"request {asked.request_id} holds no message")
        del context.requests[asked.request_id]
        self._clear_deadline(request)
        remove, transaction = asked.acknowledge == stubs.ACK, request.transaction
        if remove and transaction is not None and not transaction.is_open:
            self._release(context, request)
            raise TransactionSequence("the transaction has ended; the message is back in its place")
        return context.handle.end([request.lookup_id], remove=remove, transaction=transaction)


def _checked(asked: stubs.StartReceive, context: QueueContext) -> ReadAction:
    """The action, if arguments and handle allow it ([MS-MQRR] 3.1.4.7)."""
    action = checked_action(asked.action, asked.lookup_id, asked.cursor, asked.timeout_ms)
    require_read(context)
    if action.is_receive:
        require_receive(context)
    if asked.cursor and asked.cursor not in context.cursors:
        raise StatusError(STATUS_INVALID_HANDLE)
    return action


def begin_read(
    handle: QueueHandle,
    action: ReadAction,
    seek: Seek | None,
    lookup_id: int,
    cursor: QueueCursor | None,
    *,
    wait: bool,
) -> Future[list[Entry]]:
    """Begin a read; what is received is held ([MS-MQRR] 3.1.4.7, [MS-MQQP] 3.1.4.1)."""
    if seek is not None:
        if action.is_receive:
            return handle.receive_at(lookup_id, seek, hold=True)
        return handle.peek_at(lookup_id, seek)
    if cursor is not None:
        if action.is_receive:
            return handle.receive_cursor(cursor, wait=wait, hold=True)
        following = action is ReadAction.PEEK_NEXT
        return handle.peek_cursor(cursor, wait=wait, following=following)
    if action.is_receive:
        return handle.receive(1, wait=wait, hold=True)
    return handle.peek(1, wait=wait)


def _nothing() -> None:
    """No read waits."""
