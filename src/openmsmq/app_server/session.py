"""One program's connection: frames of the application protocol become calls of the manager.

`docs/app-protocol.md` is the specification. Everything here happens in the event loop that drives
the manager, in the order in which the frames came.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from openmsmq.app_protocol.calls import PROTOCOL, Call, Closing, Hello, Welcome, encode_error
from openmsmq.app_protocol.frames import (
    FRAME_SIZE_MAX,
    FROM_CLIENT,
    Frame,
    Framer,
    Kind,
    encode_frame,
)
from openmsmq.app_protocol.members import Members
from openmsmq.app_protocol.payloads import Post, Posted, PostedMessage, Send, Sent
from openmsmq.app_server.reads import Reading
from openmsmq.app_server.streams import Subscriptions
from openmsmq.app_server.subscriptions import Readers
from openmsmq.engine.authorization import authorize, authorize_access, authorize_any
from openmsmq.engine.commit.pending import Pending
from openmsmq.engine.messages.cursor import Cursor
from openmsmq.engine.messages.scan import Entry
from openmsmq.engine.queues.queue import Queue
from openmsmq.engine.transactions.transaction import Transaction
from openmsmq.errors import (
    AccessDenied,
    InvalidHandle,
    InvalidParameter,
    Malformed,
    MQError,
    TokenRefused,
    TransactionSequence,
    TransactionTimedOut,
    UserBufferTooSmall,
)
from openmsmq.names.format import MultipleName
from openmsmq.names.parse import parse_name
from openmsmq.names.path import shown
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import Caller, Grant, Right
from openmsmq.types.delivery import Delivery
from openmsmq.types.ids import MessageIds, SentId

if TYPE_CHECKING:
    from openmsmq.app_server.listener import AppDoor
    from openmsmq.net.connection import Connection

T = TypeVar("T")
HANDLES_MAX: Final = 20_000
"Open queues, cursors, transactions and subscriptions of one connection, each."
TIMED_OUT_MAX: Final = 1000
"Transactions that a connection remembers to have lost."
UNITS_KEPT: Final = 1000
"Units of a connection that may be finished by others before it looks which."
READ_AHEAD: Final = 64 * 1024
"Bytes that are taken from a program that has used up its credit."
ANSWER_SIZE_MAX: Final = FRAME_SIZE_MAX - 16
"The payload of an ANSWER."
CAPABILITIES: Final = (
    *("subscribe", "two-phase", "epochs", "pages", "reserve", "units", "post"),
    "owners",
)
_CLIENT_SHOWN: Final = 60


@dataclass(slots=True, eq=False)
class OpenQueue:
    """A queue that the program has opened."""

    queue: Queue
    mode: Mode
    name: str
    held: dict[int, Entry] = field(default_factory=dict)
    "What was read and not ended; of the packets no more than their start."


class AppSession:
    """What a program has open, and what it waits for."""

    def __init__(self, door: AppDoor, connection: Connection, *, is_trusted: bool) -> None:
        """`is_trusted`: it came through a door that needs no token."""
        self.door = door
        self.local = door.local
        self.driver = door.driver
        self.connection = connection
        self.is_over = False
        self.grant: Grant | None = None
        self.caller = Caller()
        self._is_trusted = is_trusted
        self._is_refused = False
        "It will be turned away; nothing it sends counts."
        self._framer = Framer(FROM_CLIENT)
        self._requests: dict[int, int] = {}
        "Unanswered requests, and the bytes of their payloads."
        self._bytes = 0
        self.handles: dict[int, OpenQueue] = {}
        self.cursors: dict[int, tuple[OpenQueue, Cursor]] = {}
        self.transactions: dict[int, Transaction] = {}
        self.prepared: dict[int, Transaction] = {}
        "Those that outlive the connection, while they wait for their outcome."
        self._units: set[str] = set()
        "Units that the program has decided, and of which it tells the participants."
        self.timed_out: deque[int] = deque(maxlen=TIMED_OUT_MAX)
        "Transactions that were aborted because nothing was done with them."
        self._next = 0
        self._reading = Reading(self)
        self.subscriptions = Subscriptions(self, self._reading)
        self.readers = Readers(self)
        self._handlers: dict[Kind, Callable[[Frame], None]] = {
            Kind.CALL: self._call,
            Kind.SEND: self._send,
            Kind.POST: self._post,
            Kind.READ: self._reading.read,
            Kind.END: self._reading.end,
            Kind.CANCEL: self._reading.cancel,
            Kind.SUBSCRIBE: self.subscriptions.subscribe,
            Kind.FETCH: self.readers.fetch,
        }
        self._deadline = asyncio.get_running_loop().call_later(
            door.hello_within, self._refuse, "no hello", "no HELLO came in time"
        )

    # The connection

    @property
    def is_full(self) -> bool:
        """Nothing more is read.

        A little more is read than is handled: only who reads sees that the other side is gone.
        """
        return self._must_wait and self._framer.pending > READ_AHEAD

    @property
    def next_deadline(self) -> float | None:
        """None: what is due has its timers."""
        return None

    @property
    def is_silent(self) -> bool:
        """It has not said hello, and is not on its way out."""
        return self.grant is None and not (self.is_over or self._is_refused)

    @property
    def is_held_up(self) -> bool:
        """Nothing it asks for is begun until it takes answers, or some are given."""
        return self._must_wait and not (self.is_over or self._is_refused)

    @property
    def request_bytes(self) -> int:
        """What is kept of its requests, whole or not."""
        return self._bytes + self._framer.pending

    @property
    def _must_wait(self) -> bool:
        """The program has used up its credit, does not take its answers, or is on its way out."""
        limits = self.door.config
        return (
            self.is_over
            or self._is_refused
            or len(self._requests) >= limits.requests_max
            or self._bytes >= limits.request_bytes_max
            or self.connection.write_buffer_full
        )

    def receive_data(self, data: bytes, now: float) -> None:
        """Take what the program sent."""
        if not (self.is_over or self._is_refused):
            self._framer.receive_data(data)
            self._go_on()

    def _go_on(self) -> None:
        """Handle what has come, as far as the credit goes."""
        if self._must_wait:
            return
        try:
            for frame in self._framer.frames():
                self._handle(frame)
                if self._must_wait:
                    return
        except Malformed as error:
            self._refuse("malformed frame", f"malformed: {error}")

    def close_refused(self, reason: str) -> None:
        """Tell the program that its token is not good, so that it does not come back with it."""
        self.close(reason, TokenRefused.__name__)

    def _refuse(self, why: str, words: str) -> None:
        """End a connection that is not as it should be."""
        self.door.metrics.refused(why)
        self.close(words)

    def _handle(self, frame: Frame) -> None:
        kind, number, payload = frame
        self.door.metrics.requested(kind.name.lower())
        if self.grant is None:
            self._hello(frame)
        elif kind is Kind.PING:
            self.write(Kind.PONG, number, payload)
        elif kind is Kind.PONG:
            pass
        elif kind is Kind.CREDIT:
            self.subscriptions.credit(frame)
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
            self._refuse("no hello", "a connection begins with HELLO")
            return
        hello = Hello.decode(frame.payload)
        peer = self.connection.peer
        self._deadline.cancel()
        certificate = self.connection.certificate
        grant = self.door.admit(hello.token, peer, certificate, is_trusted=self._is_trusted)
        if grant is None:
            self._is_refused = True
            words = "the token is missing, wrong or has expired"
            if certificate and not hello.token:
                words = "no token was shown, and tls.clients has no entry for the certificate"
            # Not at once: whoever guesses shall not guess often.
            self._deadline = asyncio.get_running_loop().call_later(
                self.door.patience, self.close_refused, words
            )
            return
        self.grant = grant
        self.caller = Caller(f"{_shown(hello.client)} at {peer}", grant)
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
        self.write(Kind.WELCOME, frame.id, welcome.encode())

    def write(self, kind: Kind, number: int, *parts: bytes) -> None:
        """Send a frame."""
        if not self.is_over:
            self.connection.write(encode_frame(kind, number, *parts))

    def answer(self, number: int, kind: Kind, *parts: bytes) -> None:
        """Answer a request, which gives its credit back."""
        assert number in self._requests, "a request is answered once"
        did_wait = self._must_wait
        self._bytes -= self._requests.pop(number)
        self.write(kind, number, *parts)
        if did_wait and not self._must_wait:
            asyncio.get_running_loop().call_soon(self._resume)

    def resume(self, now: float) -> None:
        """The write buffer has room again."""
        self._resume()

    def tick(self, now: float) -> None:
        """Nothing: what is due has its timers."""

    def _resume(self) -> None:
        """There is credit or room again."""
        self._go_on()
        self.subscriptions.go_on()
        self.connection.update()

    def fail(self, number: int, error: BaseException) -> None:
        """Answer a request with an error."""
        if not isinstance(error, MQError):
            raise error
        self.answer(number, Kind.ERROR, encode_error(error))

    def close(self, reason: str, error: str = "") -> None:
        """Tell the program that this is the end, and why; `error` names a class of its own."""
        self.write(Kind.CLOSING, 0, Closing(reason, error).encode())
        self.connection.close()
        self._leave()

    def lost(self) -> None:
        """The connection is over."""
        self._leave()
        self.door.left(self)

    def _leave(self) -> None:
        """Nothing of the connection stays but what is prepared."""
        if self.is_over:
            return
        self.is_over = True
        self._deadline.cancel()
        if not self.driver.is_closed:
            self.driver.call(self._let_go)

    def _let_go(self) -> None:
        self._reading.let_go()
        self.subscriptions.let_go()
        for opened in self.handles.values():
            self._close(opened)
        for transaction in self.transactions.values():
            self.abandon(transaction)
        for _ in self.transactions:
            self.door.metrics.transaction_ended()
        self.local.units.leave(self._units)
        self.handles.clear()
        self.cursors.clear()
        self.transactions.clear()
        self.local.core.settle()

    def abandon(self, transaction: Transaction) -> None:
        """Abort a transaction that nobody can end any longer."""
        if transaction.is_undecided and not self.driver.is_closed:
            self.driver.begin(lambda: self.local.abort(transaction, self.caller), _ignore)

    def decided(self, unit: str) -> None:
        """The program has decided a unit, and will see to it while it is there."""
        if len(self._units) >= UNITS_KEPT:
            self._units &= {known.name for known in self.local.units.decided}
        self._units.add(unit)
        if self.is_over:
            self.local.units.leave(self._units)

    def finished(self, unit: str) -> None:
        """The program does no more about a unit."""
        self._units.discard(unit)

    # What is open

    def number(self, table: Sized) -> int:
        """A number for something new that is open."""
        self.require_room(table)
        self._next += 1
        return self._next

    def require_room(self, table: Sized) -> None:
        """Refuse more of what is open than a connection may have."""
        if len(table) >= HANDLES_MAX:
            raise InvalidParameter(f"a connection has at most {HANDLES_MAX} of these open")

    def require(self, right: Right, *queues: str) -> None:
        """Refuse what the program's role does not allow, to the manager itself if none is named."""
        with self._counted_refusal():
            authorize(self.caller, right, *queues)

    def require_somewhere(self, right: Right) -> None:
        """Refuse those whose role does not have a right for any queue."""
        with self._counted_refusal():
            authorize_any(self.caller, right)

    def allowed_access(self, asked: Access, *queues: str) -> Access:
        """The access with which the program may open queues."""
        with self._counted_refusal():
            return authorize_access(self.caller, asked, *queues)

    @contextmanager
    def _counted_refusal(self) -> Iterator[None]:
        try:
            yield
        except AccessDenied:
            self.door.metrics.refused("not allowed")
            raise

    def paths(self, name: str) -> list[str]:
        """What rights are compared with: the paths of queues here, the names of others."""
        parsed = parse_name(name)
        each = parsed.elements if isinstance(parsed, MultipleName) else (parsed,)
        naming = self.local.naming
        local = self.driver.call(lambda: [naming.local(one) for one in each])
        return [str(one) if at is None else shown(at) for one, at in zip(each, local, strict=True)]

    def handle(self, number: int) -> OpenQueue:
        """The open queue with this handle."""
        opened = self.handles.get(number)
        if opened is None:
            raise InvalidHandle(f"no queue is open as {number}")
        return opened

    def cursor(self, number: int, opened: OpenQueue) -> Cursor:
        """The cursor with this number, which must be one of this open queue."""
        found = self.cursors.get(number)
        if found is None or found[0] is not opened:
            raise InvalidHandle(f"no cursor of this queue is open as {number}")
        return found[1]

    def transaction(self, number: int) -> Transaction | None:
        """The transaction with this number; None for 0."""
        if not number:
            return None
        transaction = self.transactions.get(number) or self.prepared.get(number)
        if transaction is None:
            if number in self.timed_out:
                limit = self.door.config.idle_transaction_limit
                raise TransactionTimedOut(f"for more than {limit} seconds")
            raise TransactionSequence(f"there is no transaction {number} on this connection")
        transaction.used = monotonic()
        return transaction

    def idle_transactions(self, since: float) -> list[int]:
        """Those with which nothing was done since then; a read that waits is something."""
        waiting = self._reading.transactions
        return [
            number
            for number, transaction in self.transactions.items()
            if transaction.is_undecided and transaction.used <= since and transaction not in waiting
        ]

    def close_queue(self, number: int) -> None:
        """Close a queue, and all that was done through this handle."""
        opened = self.handle(number)
        del self.handles[number]
        self.subscriptions.close(opened)
        self.cursors = {at: found for at, found in self.cursors.items() if found[0] is not opened}
        self._close(opened)
        self.local.core.settle()

    def _close(self, opened: OpenQueue) -> None:
        """Close a queue; what was read and not ended is back in its place."""
        core = self.local.core
        core.queues.close(opened.queue, opened.mode, opened)
        held = opened.queue.held
        core.release(
            opened.queue, [at for at in opened.held if held.get(at) is self._reading.holder]
        )

    # Requests

    def _call(self, frame: Frame) -> None:
        self.door.calls.call(self, frame.id, Call.decode(frame.payload))

    def begin(
        self,
        number: int,
        make: Callable[[], Pending[T]],
        answer: Callable[[T], None],
    ) -> None:
        """Begin a call of the manager; the request is answered when it is done."""

        def answered(pending: Pending[T]) -> None:
            if pending.error is not None:
                self.fail(number, pending.error)
            else:
                answer(pending.result())

        self.driver.begin(make, answered)

    def reply(self, number: int, **members: object) -> None:
        """Answer a CALL."""
        payload = Members(members).encode()  # type: ignore[arg-type]
        if len(payload) > ANSWER_SIZE_MAX:
            self.fail(number, UserBufferTooSmall(f"the answer takes {len(payload)} bytes"))
        else:
            self.answer(number, Kind.ANSWER, payload)

    def _send(self, frame: Frame) -> None:
        send = Send.decode(frame.payload)
        opened = self.handle(send.handle)
        opened.mode.require(Access.SEND)
        transaction = self.transaction(send.transaction)
        number = frame.id

        def sent(ids: Sequence[SentId]) -> None:
            assert isinstance(ids, MessageIds), "they count up"
            self.answer(number, Kind.SENT, Sent(ids.first, len(ids)).encode())

        self.begin(
            number,
            lambda: self.local.send_packets(
                opened.queue, send.packets, transaction, caller=self.caller
            ),
            sent,
        )

    def _post(self, frame: Frame) -> None:
        post = Post.decode(frame.payload)
        opened = self.handle(post.handle)
        opened.mode.require(Access.SEND)
        transaction = self.transaction(post.transaction)
        delivery = Delivery(post.at, post.after, post.once)
        number = frame.id

        def posted(ids: Sequence[SentId]) -> None:
            known = [PostedMessage(int(one.rpartition("\\")[2]), one.known) for one in ids]
            self.answer(number, Kind.POSTED, Posted(tuple(known)).encode())

        self.begin(
            number,
            lambda: self.local.send_packets(
                opened.queue, post.packets, transaction, delivery, self.caller
            ),
            posted,
        )


def _shown(client: str) -> str:
    """What a program calls itself, fit for histories and logs."""
    return "".join(char if char.isprintable() else "?" for char in client[:_CLIENT_SHOWN])


def _ignore(pending: Pending[None]) -> None:
    """Nobody is there to be told."""
