"""Queues of other computers that are read for dependent clients ([MS-MQMP] 3.1.1.4 to 3.1.1.7).

A client opens such a queue at its own computer and hands over the numbers that it got there. From
then on this server reads the queue, by older remote read; the service makes those calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.storage.layout import NEVER, Record
from openmsmq.errors import (
    AccessDenied,
    InsufficientResources,
    InvalidHandle,
    MQError,
    OperationCancelled,
    RemoteMachineNotAvailable,
    TransactionUsage,
)
from openmsmq.interfaces.limits import CURSORS_MAX, REQUESTS_MAX
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.results import OK, result_of
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.filled_buffer import filled
from openmsmq.names.base import FormatName
from openmsmq.names.path import PathName
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE
from openmsmq.rpc.association import Association
from openmsmq.rpc.interface import RpcCall
from openmsmq.types.access import Access, Mode


class RemoteNumbers(NamedTuple):
    """What a computer calls a queue that a client has opened there ([MS-MQMP] 3.1.4.2)."""

    queue: int
    pointer: int
    context: int


class RemoteMessage(NamedTuple):
    """A message that was read elsewhere; one that is received is held until it is ended."""

    request: int
    packet: bytes
    arrived: int


class QueueElsewhere(Protocol):
    """A queue of another computer, in a session of older remote read ([MS-MQQP] 3.2.4)."""

    def read(self, action: ReadAction, timeout_ms: int, cursor: int) -> Future[RemoteMessage]:
        """Read a message, waiting for it so long; the cursor is called as it is there."""
        ...

    def end(self, request: int, *, remove: bool) -> Future[None]:
        """Remove a message that was received, or return it."""
        ...

    def cancel(self, read: Future[RemoteMessage], error: MQError) -> bool:
        """Give up a read that waits; what comes for it is returned."""
        ...

    def open_cursor(self) -> Future[int]:
        """A new cursor, and what it is called there."""
        ...

    def close_cursor(self, cursor: int) -> Future[None]:
        """Close one."""
        ...

    def purge(self) -> Future[int]:
        """Remove all messages."""
        ...

    def close(self) -> None:
        """Close the queue and the connections, whether or not that computer answers."""
        ...


class NameDirectory(Protocol):
    """Finds out where public queues are."""

    def needs_lookup(self, name: str) -> bool:
        """Whether the directory has to be asked before a queue of this name is opened."""
        ...

    def look_up(self, name: str) -> Future[None]:
        """Ask it."""
        ...


class QueuesElsewhere(Protocol):
    """The computers whose queues are read for clients."""

    def open(self, path: PathName, mode: Mode, numbers: RemoteNumbers) -> Future[QueueElsewhere]:
        """Take over a queue that a client has opened at its computer ([MS-MQQP] 3.2.4.1)."""
        ...


class NoQueuesElsewhere:
    """No computer is configured."""

    def open(self, path: PathName, mode: Mode, numbers: RemoteNumbers) -> Future[QueueElsewhere]:
        """Refuse it."""
        raise RemoteMachineNotAvailable(
            f"{path.computer}: no login for it is configured (rpc.managers)"
        )


@dataclass(slots=True, eq=False)
class QueueProxy:
    """RemoteQueueProxyHandle: a queue elsewhere that a client has open ([MS-MQMP] 3.1.1.5)."""

    context: int
    "Context: the number by which messages are received; no queue here has the same (SS-06)."
    remote: QueueElsewhere
    name: FormatName
    mode: Mode
    owner: str
    association: Association
    close: Callable[[QueueProxy], None]
    cursors: dict[int, int] = field(default_factory=dict)
    "CursorProxyCollection: what a cursor is called here, and there ([MS-MQMP] 3.1.1.7)."
    waiting: dict[Future[RemoteMessage], float] = field(default_factory=dict)
    "Reads that wait, and since when."
    is_closed: bool = False

    def run_down(self) -> None:
        """The client is gone: the queue is closed there ([MS-MQMP] 3.1.7.1)."""
        self.close(self)

    def remote_cursor(self, number: int) -> int:
        """What a cursor of this handle is called there ([MS-MQMP] 3.1.5.3); 0 for 0."""
        if not number:
            return 0
        if number not in self.cursors:
            raise InvalidHandle(f"cursor {number} is not open")
        return self.cursors[number]


def read_elsewhere(
    call: RpcCall,
    buffer: Any,
    proxy: QueueProxy,
    action: ReadAction,
    manager: QueueManager,
    now: float,
    ended: Callable[[], None],
) -> None:
    """rpc_ACReceiveMessageEx for a queue elsewhere ([MS-MQMP] 3.1.5.3), outside transactions.

    A message that was received is ended there, and only when the client has room for it: until
    then it is in its place. `ended` is called when the read does not wait any more.
    """
    if buffer.unit is not None:
        raise TransactionUsage("a queue elsewhere is not read in a transaction")
    if action.is_receive and Access.RECEIVE not in proxy.mode.access:
        raise AccessDenied(f"{proxy.name} is open for peeking only")
    cursor = proxy.remote_cursor(buffer.part.cursor)
    if len(proxy.waiting) >= REQUESTS_MAX:
        raise InsufficientResources(f"{REQUESTS_MAX} reads wait")
    remote = proxy.remote
    read = remote.read(action, buffer.part.timeout, cursor)
    proxy.waiting[read] = now
    call.on_cancel = lambda: remote.cancel(read, OperationCancelled())

    def answer(result: int, given: Any = buffer) -> None:
        call.respond(stubs.ReceivedBuffer(given, result))

    def answered(read: Future[RemoteMessage]) -> None:
        proxy.waiting.pop(read, None)
        ended()
        if read.error is not None:
            answer(result_of(read.error))
            return
        message = read.result()
        done = filled(buffer, stored_entry(message, manager), manager.timeline.now)
        fits = done.error is None and call.is_open
        if not action.is_receive:
            answer(result_of(done.error), done.buffer)
            return
        removal = remote.end(message.request, remove=fits)
        if not fits:
            answer(result_of(done.error or OperationCancelled()), done.buffer)
            return
        when_done(removal, lambda removed: answer(result_of(removed.error), done.buffer))

    when_done(read, answered)


def add_cursor(
    proxy: QueueProxy, number: Callable[[], int], answered: Callable[[int, int], None]
) -> None:
    """R_QMCreateRemoteCursor there, then a number here ([MS-MQMP] 3.1.5.4).

    `answered` is given both: the number, and what it ended with.
    """
    if len(proxy.cursors) >= CURSORS_MAX:
        raise InsufficientResources(f"{CURSORS_MAX} cursors are open")

    def made(opened: Future[int]) -> None:
        if opened.error is not None:
            answered(0, result_of(opened.error))
            return
        own = number()
        proxy.cursors[own] = opened.result()
        answered(own, OK)

    when_done(proxy.remote.open_cursor(), made)


def drop_cursor(proxy: QueueProxy, number: int, answered: Callable[[int], None]) -> None:
    """RemoteQMCloseCursor there, whose result is passed on ([MS-MQMP] 3.1.4.19)."""
    cursor = proxy.remote_cursor(number)
    if not cursor:
        raise InvalidHandle("cursor 0 is none")
    del proxy.cursors[number]
    closing = proxy.remote.close_cursor(cursor)
    when_done(closing, lambda closed: answered(result_of(closed.error)))


def purge_elsewhere(proxy: QueueProxy, answered: Callable[[int], None]) -> None:
    """RemoteQMPurgeQueue there, whose result is passed on ([MS-MQMP] 3.1.4.22)."""
    purging = proxy.remote.purge()
    when_done(purging, lambda purged: answered(result_of(purged.error)))


def stored_entry(message: RemoteMessage, manager: QueueManager) -> Entry:
    """A message of another computer as one of ours; its lifetime goes on from when it was sent."""
    view, expires = PacketView(message.packet), NEVER
    if view.time_to_be_received != INFINITE:
        left = view.sent_time + view.time_to_be_received - int(manager.timeline.wall)
        expires = manager.timeline.now + max(0, left)
    record = Record(0, len(message.packet), message.arrived, expires, 0, 0)
    return Entry(0, record.pack(), message.packet)


def when_done(pending: Future[Any], answered: Callable[[Any], None]) -> None:
    """Call `answered` with a call made elsewhere when it is answered, at once or later."""
    if pending.done:
        answered(pending)
    else:
        pending.on_done = lambda: answered(pending)
