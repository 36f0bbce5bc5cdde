"""One program's connection: frames of the application protocol become calls of the manager.

`docs/app-protocol.md` is the specification. Everything here happens in the event loop that drives
the manager, in the order in which the frames came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Final

from openmsmq.app import messages as app
from openmsmq.app.calls import PROTOCOL, Call, Closing, Hello, Welcome, encode_error
from openmsmq.app.frames import (
    BATCH_SIZE_MAX,
    FRAME_SIZE_MAX,
    FROM_CLIENT,
    Frame,
    Framer,
    Kind,
    encode_frame,
)
from openmsmq.app.members import Members
from openmsmq.errors import (
    AccessDenied,
    InvalidHandle,
    InvalidParameter,
    Malformed,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
    TransactionSequence,
)
from openmsmq.manager.tokens import Grant, Right
from openmsmq.messages.ids import MessageIds
from openmsmq.model.cursor import Cursor
from openmsmq.model.layout import local_facts
from openmsmq.model.opening import Access, Mode
from openmsmq.model.pending import Pending
from openmsmq.model.queue import Queue
from openmsmq.model.reading import Entry, Holder
from openmsmq.model.receiving import Seek
from openmsmq.model.transaction import Transaction
from openmsmq.properties.message import INFINITE

if TYPE_CHECKING:
    from openmsmq.manager.door import AppDoor
    from openmsmq.net.connection import Connection

HANDLES_MAX: Final = 20_000
"Open queues, cursors, transactions and subscriptions of one connection, each."
SUBSCRIBED_MAX: Final = 1000
"Messages of a subscription in one frame."
CAPABILITIES: Final = ("subscribe", "two-phase", "epochs")
_START: Final = 60
"Bytes of a packet that hold its identifier."
_queued: Final = Struct("<QIIIHI").pack
_count: Final = Struct("<I").pack
_SEEKS: Final = {
    app.Seek.LOOKUP: Seek.CURRENT,
    app.Seek.AFTER_LOOKUP: Seek.NEXT,
    app.Seek.BEFORE_LOOKUP: Seek.PREVIOUS,
    app.Seek.FIRST: Seek.FIRST,
    app.Seek.LAST: Seek.LAST,
}
Entries = list[Entry]


@dataclass(slots=True, eq=False)
class OpenQueue:
    """A queue that the program has opened."""

    queue: Queue
    mode: Mode
    name: str
    held: dict[int, Entry] = field(default_factory=dict)
    "What was read and not ended; of the packets no more than their start."


@dataclass(slots=True, eq=False)
class Subscribed:
    """Messages that come by themselves."""

    opened: OpenQueue
    credit: int
    waiting: Pending[Entries] | None = None
    is_over: bool = False


class AppSession:
    """What a program has open, and what it waits for."""

    def __init__(self, door: AppDoor, connection: Connection) -> None:
        self.door = door
        self.local = door.local
        self.driver = door.driver
        self._connection = connection
        self._framer = Framer(FROM_CLIENT)
        self._requests: dict[int, int] = {}
        "Unanswered requests, and the bytes of their payloads."
        self._bytes = 0
        self._waiting: dict[int, tuple[Queue, Pending[Entries]]] = {}
        "Reads that wait, by request."
        self.handles: dict[int, OpenQueue] = {}
        self.cursors: dict[int, tuple[OpenQueue, Cursor]] = {}
        self.transactions: dict[int, Transaction] = {}
        self.subscriptions: dict[int, Subscribed] = {}
        self.is_trusted = False
        "It came through a door that needs no token."
        self.grant: Grant | None = None
        self.by = ""
        self._next = 0
        self._holder = Holder()
        self.is_over = False
        self._handlers: dict[Kind, Callable[[Frame], None]] = {
            Kind.CALL: self._call,
            Kind.SEND: self._send,
            Kind.READ: self._read,
            Kind.END: self._end,
            Kind.SUBSCRIBE: self._subscribe,
            Kind.CREDIT: self._credit,
            Kind.CANCEL: self._cancel,
        }

    # The connection

    @property
    def is_full(self) -> bool:
        """The program has used up its credit."""
        limits = self.door.config
        return len(self._requests) >= limits.requests_max or self._bytes >= limits.request_bytes_max

    @property
    def _must_stop(self) -> bool:
        return self.is_over or self.is_full

    def receive_data(self, data: bytes) -> None:
        """Take what the program sent."""
        self._framer.receive_data(data)
        self._go_on()

    def _go_on(self) -> None:
        """Handle what has come, as far as the credit goes."""
        if self.is_over:
            return
        self.local.core.by = self.by
        try:
            for frame in self._framer.frames():
                self._handle(frame)
                if self._must_stop:
                    return
        except Malformed as error:
            self.door.metrics.refused("malformed frame")
            self.close(f"malformed: {error}")

    def _handle(self, frame: Frame) -> None:
        kind, number, payload = frame
        self.door.metrics.requested(kind.name.lower())
        if self.grant is None:
            self._hello(frame)
        elif kind is Kind.PING:
            self._write(Kind.PONG, number, payload)
        elif kind is Kind.PONG:
            pass
        elif kind is Kind.CREDIT:
            self._credit(frame)
        elif number == 0 or number in self._requests or kind not in self._handlers:
            raise Malformed("id", 5, f"{kind.name} with the id {number} has no place here")
        else:
            self._requests[number] = len(payload)
            self._bytes += len(payload)
            try:
                self._handlers[kind](frame)
            except Malformed:
                raise
            except MQError as error:
                self.fail(number, error)

    def _hello(self, frame: Frame) -> None:
        if frame.kind is not Kind.HELLO:
            self.door.metrics.refused("no hello")
            self.close("a connection begins with HELLO")
            return
        hello = Hello.decode(frame.payload)
        peer = self._connection.peer
        grant = self.door.admit(hello.token, peer, is_trusted=self.is_trusted)
        if grant is None:
            self.is_over = True
            # Not at once: whoever guesses shall not guess often.
            asyncio.get_running_loop().call_later(self.door.patience, self._turn_away)
            return
        self.grant = grant
        self.by = f"{hello.client[:60]} at {self._connection.peer}"
        self._framer.limit = FRAME_SIZE_MAX
        config = self.door.config
        welcome = Welcome(
            server=self.door.server,
            manager=self.local.core.identity,
            name=self.local.name,
            max_frame=FRAME_SIZE_MAX,
            requests=config.requests_max,
            request_bytes=config.request_bytes_max,
            role=grant.role,
            capabilities=CAPABILITIES,
            protocol=min(hello.protocol, PROTOCOL),
        )
        self._write(Kind.WELCOME, frame.id, welcome.encode())

    def _turn_away(self) -> None:
        self.is_over = False
        self.close("the token is missing, wrong or has expired")

    def _write(self, kind: Kind, number: int, *parts: bytes) -> None:
        if not self.is_over:
            self._connection.write(encode_frame(kind, number, *parts))

    def answer(self, number: int, kind: Kind, *parts: bytes) -> None:
        """Answer a request, which gives its credit back."""
        size = self._requests.pop(number, None)
        if size is None:
            return
        was_full = self.is_full
        self._bytes -= size
        self._write(kind, number, *parts)
        if was_full and not self.is_full:
            asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        self._go_on()
        self._connection.adjust()

    def fail(self, number: int, error: BaseException) -> None:
        """Answer a request with an error."""
        if not isinstance(error, MQError):
            raise error
        self.answer(number, Kind.ERROR, encode_error(error))

    def close(self, reason: str) -> None:
        """Tell the program that this is the end, and why."""
        self._write(Kind.CLOSING, 0, Closing(reason).encode())
        self.is_over = True
        self._connection.close()

    def lost(self) -> None:
        """The connection is over: nothing of it stays but what is prepared."""
        self.is_over = True
        self.door.left(self)
        if self.driver.is_closed:
            return
        self.local.core.by = self.by
        self.driver.call(self._let_go)

    def _let_go(self) -> None:
        core = self.local.core
        gone = OperationCancelled("the connection is over")
        for queue, pending in list(self._waiting.values()):
            core.cancel(queue, pending, gone)
        for subscribed in self.subscriptions.values():
            self.stop(subscribed)
        for opened in list(self.handles.values()):
            self.close_handle(opened)
        for transaction in list(self.transactions.values()):
            if transaction.is_undecided:
                self.driver.begin(lambda t=transaction: self.local.abort(t), _ignore)  # type: ignore[misc]
        self.handles.clear()
        core.settle()

    # What is open

    def number(self, table: dict[int, object]) -> int:
        """A number for something new that is open."""
        if len(table) >= HANDLES_MAX:
            raise InvalidParameter(f"a connection has at most {HANDLES_MAX} of these open")
        self._next += 1
        return self._next

    def require(self, right: Right, queue: str | None = None) -> None:
        """Refuse what the program's role does not allow."""
        assert self.grant is not None
        if not self.grant.allows(right, queue):
            self.door.metrics.refused("not allowed")
            raise AccessDenied(f"the role {self.grant.role} does not allow this ({right})")

    def handle(self, number: int) -> OpenQueue:
        """The open queue with this handle."""
        opened = self.handles.get(number)
        if opened is None:
            raise InvalidHandle(f"no queue is open as {number}")
        return opened

    def transaction(self, number: int) -> Transaction | None:
        """The transaction with this number; None for 0."""
        if not number:
            return None
        transaction = self.transactions.get(number)
        if transaction is None:
            raise TransactionSequence(f"there is no transaction {number} on this connection")
        return transaction

    def close_handle(self, opened: OpenQueue) -> None:
        """Close a queue; what was read and not ended is back in its place."""
        core = self.local.core
        core.queues.close(opened.queue, opened.mode, opened)
        if not opened.queue.deleted:
            held = opened.queue.held
            back = [at for at in opened.held if held.get(at) is self._holder]
            core.release(opened.queue, back)
        opened.held.clear()

    # Requests

    def _call(self, frame: Frame) -> None:
        call = Call.decode(frame.payload)
        self.door.calls.call(self, frame.id, call)

    def begin(
        self, number: int, make: Callable[[], Pending[object]], answer: Callable[[object], None]
    ) -> None:
        """Begin a call of the manager; the request is answered when it is done."""

        def answered(pending: Pending[object]) -> None:
            if pending.error is not None:
                self.fail(number, pending.error)
            else:
                answer(pending.result())

        self.driver.begin(make, answered)

    def reply(self, number: int, **members: object) -> None:
        """Answer a CALL."""
        self.answer(number, Kind.ANSWER, Members(members).encode())  # type: ignore[arg-type]

    def _send(self, frame: Frame) -> None:
        send = app.Send.decode(frame.payload)
        opened = self.handle(send.handle)
        opened.mode.require(Access.SEND)
        transaction = self.transaction(send.transaction)
        number = frame.id

        def sent(pending: Pending[MessageIds]) -> None:
            if pending.error is not None:
                self.fail(number, pending.error)
            else:
                ids = pending.result()
                self.answer(number, Kind.SENT, app.Sent(ids.first, len(ids)).encode())

        self.driver.begin(
            lambda: self.local.send_packets(opened.queue, send.packets, transaction), sent
        )

    def _read(self, frame: Frame) -> None:
        read = app.Read.decode(frame.payload)
        opened = self.handle(read.handle)
        take = read.mode == app.Mode.TAKE
        opened.mode.require(Access.RECEIVE if take else Access.PEEK)
        transaction = self.transaction(read.transaction)
        if transaction is not None:
            transaction.require_active()
        holder = transaction or self._holder
        number = frame.id

        def answered(pending: Pending[Entries]) -> None:
            timer.cancel() if timer is not None else None
            self._waiting.pop(number, None)
            if pending.error is not None:
                self.fail(number, pending.error)
                return
            entries = pending.result()
            if take and transaction is None:
                self._hold(opened, entries)
            self.answer(number, Kind.MESSAGES, *_messages(entries))

        timer: asyncio.TimerHandle | None = None
        made: list[Pending[Entries]] = []

        def make() -> Pending[Entries]:
            made.append(self._reader(opened, read, holder, take=take))
            return made[0]

        self.driver.begin(make, answered)
        pending = made[0]
        if not pending.done and opened.queue.waiters and read.timeout:
            self._waiting[number] = opened.queue, pending
            if read.timeout != INFINITE:
                timer = asyncio.get_running_loop().call_later(
                    read.timeout / 1000, self._give_up, opened.queue, pending
                )

    def _give_up(self, queue: Queue, pending: Pending[Entries]) -> None:
        self.local.core.cancel(queue, pending, ReceiveTimeout())

    def _reader(
        self, opened: OpenQueue, read: app.Read, holder: Holder, *, take: bool
    ) -> Pending[Entries]:
        receiving, queue, wait = self.local.receiving, opened.queue, read.timeout != 0
        if read.cursor:
            found = self.cursors.get(read.cursor)
            if found is None or found[0] is not opened:
                raise InvalidHandle(f"no cursor is open as {read.cursor}")
            cursor = found[1]
            if take:
                return receiving.receive_cursor(queue, cursor, opened, wait=wait, holder=holder)
            following = read.seek == app.Seek.NEXT
            return receiving.peek_cursor(queue, cursor, opened, wait=wait, following=following)
        seek = _SEEKS.get(app.Seek(read.seek))
        if seek is not None:
            return receiving.by_lookup(queue, read.lookup, seek, peek=not take, holder=holder)
        if not read.count:
            raise InvalidParameter("count 0: at least 1 message can be asked for")
        limits = {"wait": wait, "size_max": BATCH_SIZE_MAX}
        if take:
            return receiving.receive(queue, read.count, opened, holder=holder, **limits)  # type: ignore[arg-type]
        return receiving.peek(queue, read.count, opened, **limits)  # type: ignore[arg-type]

    def _hold(self, opened: OpenQueue, entries: Entries) -> None:
        """Remember what was read, until it is ended."""
        if self.is_over:
            lookups = [entry.lookup for entry in entries]
            self.local.core.release(opened.queue, lookups)
            self.local.core.settle()
            return
        for entry in entries:
            lookup, record, packet, express = entry
            kept = entry if express else Entry(lookup, record, packet[:_START])
            opened.held[lookup] = kept

    def _end(self, frame: Frame) -> None:
        end = app.End.decode(frame.payload)
        opened = self.handle(end.handle)
        transaction = self.transaction(end.transaction)
        lookups = end.lookups
        held = opened.held
        for lookup in lookups:
            if lookup not in held:
                raise TransactionSequence(f"message {lookup} is not held here")
        receiving, number = self.local.receiving, frame.id
        remove = end.action == app.Action.REMOVE
        if transaction is not None and remove:
            self.driver.call(lambda: receiving.enlist(opened.queue, lookups, transaction))
            _forget(held, lookups)
            self.answer(number, Kind.DONE)
            return
        known = {lookup: held[lookup] for lookup in lookups}
        self.driver.begin(
            lambda: receiving.end(opened.queue, lookups, delete=remove, known=known),
            lambda pending: self._ended(number, pending),
        )
        _forget(held, lookups)

    def _ended(self, number: int, pending: Pending[None]) -> None:
        if pending.error is not None:
            self.fail(number, pending.error)
        else:
            self.answer(number, Kind.DONE)

    def _cancel(self, frame: Frame) -> None:
        cancel = app.Cancel.decode(frame.payload)
        found = self._waiting.get(cancel.request)
        if found is not None:
            queue, pending = found
            error = OperationCancelled("cancelled by the program")
            self.driver.call(lambda: self.local.core.cancel(queue, pending, error))
        self.answer(frame.id, Kind.DONE)

    # Subscriptions

    def _subscribe(self, frame: Frame) -> None:
        subscribe = app.Subscribe.decode(frame.payload)
        opened = self.handle(subscribe.handle)
        opened.mode.require(Access.RECEIVE)
        if len(self.subscriptions) >= HANDLES_MAX:
            raise InvalidParameter(f"a connection has at most {HANDLES_MAX} subscriptions")
        subscribed = Subscribed(opened, subscribe.credit)
        self.subscriptions[frame.id] = subscribed
        self.answer(frame.id, Kind.DONE)
        self._deliver(frame.id, subscribed)

    def _credit(self, frame: Frame) -> None:
        credit = app.Credit.decode(frame.payload)
        subscribed = self.subscriptions.get(credit.subscription)
        if subscribed is not None:
            subscribed.credit += credit.more
            self._deliver(credit.subscription, subscribed)

    def _deliver(self, number: int, subscribed: Subscribed) -> None:
        """Wait for the next messages of a subscription, if it has credit."""
        if subscribed.waiting is not None or not subscribed.credit or subscribed.is_over:
            return
        opened = subscribed.opened
        count = min(subscribed.credit, SUBSCRIBED_MAX)

        def make() -> Pending[Entries]:
            subscribed.waiting = pending = self.local.receiving.receive(
                opened.queue,
                count,
                opened,
                wait=True,
                holder=self._holder,
                size_max=BATCH_SIZE_MAX,
            )
            return pending

        def came(pending: Pending[Entries]) -> None:
            subscribed.waiting = None
            if pending.error is not None:
                self._end_subscription(number, subscribed, pending.error)
                return
            entries = pending.result()
            subscribed.credit -= len(entries)
            self._hold(opened, entries)
            self._write(Kind.DELIVERY, number, *_messages(entries))
            # Others get their turn before the next ones are looked for.
            asyncio.get_running_loop().call_soon(self._deliver, number, subscribed)

        if not self.driver.is_closed:
            self.driver.begin(make, came)

    def _end_subscription(self, number: int, subscribed: Subscribed, error: BaseException) -> None:
        """The queue is closed or deleted: nothing more will come."""
        if not subscribed.is_over and isinstance(error, MQError):
            subscribed.is_over = True
            self._write(Kind.ERROR, number, encode_error(error))
        self.subscriptions.pop(number, None)

    def stop(self, subscribed: Subscribed) -> None:
        """No more messages of a subscription are wanted."""
        subscribed.is_over = True
        if subscribed.waiting is not None:
            error = OperationCancelled("the subscription has ended")
            self.local.core.cancel(subscribed.opened.queue, subscribed.waiting, error)


def _messages(entries: Entries) -> list[bytes]:
    """The payload of MESSAGES and DELIVERY, in parts."""
    parts = [_count(len(entries))]
    add = parts.append
    for lookup, record, packet, _ in entries:
        add(_queued(lookup, *local_facts(record), len(packet)))
        add(packet)
    return parts


def _forget(held: dict[int, Entry], lookups: Sequence[int]) -> None:
    for lookup in lookups:
        del held[lookup]


def _ignore(pending: Pending[None]) -> None:
    """Nobody is there to be told."""
