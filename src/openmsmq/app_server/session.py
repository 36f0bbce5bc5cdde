"""One program's connection: frames of the application protocol become calls of the manager.

`docs/app-protocol.md` is the specification. A session is a machine (`openmsmq.net.wire.Machine`):
it takes bytes and the time, writes frames to its wire, and says when it is to be called next.
Requests are begun in the order in which their frames came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Final, TypeVar

from openmsmq.app_protocol.calls import Call, Closing, encode_error
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
from openmsmq.app_server.handshake import Handshake
from openmsmq.app_server.reads import Reads
from openmsmq.app_server.streams import NEXT_TURN, DeliveryStreams
from openmsmq.app_server.subscriptions import SubscriptionReaders
from openmsmq.app_server.transactions import DecidedUnits
from openmsmq.app_server.wire import ProgramWire
from openmsmq.engine.authorization import authorize, authorize_access, authorize_any
from openmsmq.engine.commit.future import Future
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.messages.cursor import Cursor
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
from openmsmq.types.access import Access
from openmsmq.types.caller import Caller, Grant, Right
from openmsmq.types.delivery import Delivery
from openmsmq.types.ids import MessageIds, SentId

if TYPE_CHECKING:
    from openmsmq.app_server.server import AppServer

T = TypeVar("T")
HANDLES_MAX: Final = 20_000
"Open queues, cursors, transactions and subscriptions of one connection, each."
TIMED_OUT_MAX: Final = 1000
"Transactions that a connection remembers to have lost."
READ_AHEAD: Final = 64 * 1024
"Bytes that are taken from a program that has used up its credit."
ANSWER_SIZE_MAX: Final = FRAME_SIZE_MAX - 16
"The payload of an ANSWER."


class AppSession:
    """What a program has open, and what it waits for."""

    def __init__(
        self, server: AppServer, wire: ProgramWire, now: float, *, is_trusted: bool
    ) -> None:
        """A program that is trusted needs neither token nor certificate."""
        self.server = server
        self.local = server.local
        self.driver = server.driver
        self.wire = wire
        self.now = now
        "The time, as this session was told last."
        self.is_over = False
        self.grant: Grant | None = None
        self.caller = Caller()
        self.is_refused = False
        "It will be told so in a moment; until then nothing that it sends counts."
        self._handshake = Handshake(self, now, is_trusted=is_trusted)
        self._due = inf
        "When `tick` has something to do, at the earliest."
        self._resumes = False
        "The next tick goes on with requests that wait for credit."
        self._framer = Framer(FROM_CLIENT)
        self._requests: dict[int, int] = {}
        "Unanswered requests, and the bytes of their payloads."
        self._bytes = 0
        self.handles: dict[int, QueueHandle] = {}
        self.cursors: dict[int, tuple[QueueHandle, Cursor]] = {}
        self.transactions: dict[int, Transaction] = {}
        self.prepared: dict[int, Transaction] = {}
        "Those that outlive the connection, while they wait for their outcome."
        self.units = DecidedUnits(self)
        self.timed_out: deque[int] = deque(maxlen=TIMED_OUT_MAX)
        "Transactions that were aborted because nothing was done with them."
        self._next = 0
        self._reads = Reads(self)
        self.streams = DeliveryStreams(self)
        self.readers = SubscriptionReaders(self)
        self._handlers: dict[Kind, Callable[[Frame], None]] = {
            Kind.CALL: self._call,
            Kind.SEND: self._send,
            Kind.POST: self._post,
            Kind.READ: self._reads.read,
            Kind.END: self._reads.end,
            Kind.CANCEL: self._reads.cancel,
            Kind.SUBSCRIBE: self.streams.subscribe,
            Kind.FETCH: self.readers.fetch,
        }
        self._set_deadline()

    # The connection

    @property
    def is_full(self) -> bool:
        """Nothing more is read.

        A little more is read than is handled: a closed connection is noticed by reading only.
        """
        return self._must_wait and self._framer.pending > READ_AHEAD

    @property
    def awaits_hello(self) -> bool:
        """It has not said hello, and is neither refused nor over."""
        return self.grant is None and not self._is_ending

    @property
    def is_throttled(self) -> bool:
        """Its requests wait until it reads answers, or earlier requests are answered."""
        return self._must_wait and not self._is_ending

    @property
    def request_bytes(self) -> int:
        """What is kept of its requests, whole or not."""
        return self._bytes + self._framer.pending

    @property
    def _is_ending(self) -> bool:
        """Nothing that it sends counts any more."""
        return self.is_over or self.is_refused

    @property
    def _must_wait(self) -> bool:
        """The program has used up its credit, does not read its answers, or the session ends."""
        limits = self.server.config
        return (
            self.is_over
            or len(self._requests) >= limits.requests_max
            or self._bytes >= limits.request_bytes_max
            or self.wire.write_buffer_full
            or self.is_refused
        )

    def receive_data(self, data: bytes, now: float) -> None:
        """Take what the program sent."""
        self.now = now
        if not self._is_ending:
            self._framer.receive_data(data)
            self._handle_frames()

    def _handle_frames(self) -> None:
        """Begin the requests that have come, as far as the credit goes."""
        if self._must_wait:
            return
        try:
            for frame in self._framer.frames():
                self._handle(frame)
                if self._must_wait:
                    return
        except Malformed as error:
            self.refuse("malformed frame", f"malformed: {error}")

    # Time

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called; None for never."""
        return None if self.is_over or self._due == inf else self._due

    def wake_at(self, deadline: float) -> None:
        """Have `tick` called at a deadline, or before."""
        if deadline < self._due:
            self._due = deadline
            self.wire.update()

    def tick(self, now: float) -> None:
        """Do what is due: refusals, reads that time out, streams and requests that go on."""
        self.now = now
        self._due = inf
        self._handshake.tick(now)
        self._reads.tick(now)
        if self._resumes:
            self._resumes = False
            self.resume(now)
        self.streams.tick()
        self._set_deadline()

    def _set_deadline(self) -> None:
        hello = self._handshake.deadline
        self._due = min(self._due, self._reads.next_deadline, inf if hello is None else hello)

    def resume(self, now: float) -> None:
        """There is credit, or room in the write buffer again."""
        self.now = now
        self._handle_frames()
        self.streams.resume()
        self.wire.update()

    # Frames

    def close_unauthorized(self, reason: str) -> None:
        """Close the connection because of the token, so that the program does not try it again."""
        self.close(reason, TokenRefused.__name__)

    def refuse(self, why: str, words: str) -> None:
        """Close the connection because of what the program does; `why` is for the metrics."""
        self.server.metrics.refused(why)
        self.close(words)

    def admit(self, grant: Grant, name: str) -> None:
        """The program may use the manager."""
        self.grant = grant
        self.caller = Caller(name, grant)
        self._framer.limit = FRAME_SIZE_MAX

    def _handle(self, frame: Frame) -> None:
        kind, number, payload = frame
        self.server.metrics.requested(kind.name.lower())
        if self.grant is None:
            self._handshake.receive(frame)
        elif kind is Kind.PING:
            self.write(Kind.PONG, number, payload)
        elif kind is Kind.PONG:
            pass
        elif kind is Kind.CREDIT:
            self.streams.credit(frame)
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

    def write(self, kind: Kind, number: int, *parts: bytes) -> None:
        """Send a frame."""
        if not self.is_over:
            self.wire.write(encode_frame(kind, number, *parts))

    def answer(self, number: int, kind: Kind, *parts: bytes) -> None:
        """Answer a request, which gives its credit back."""
        assert number in self._requests, "a request is answered once"
        did_wait = self._must_wait
        self._bytes -= self._requests.pop(number)
        self.write(kind, number, *parts)
        if did_wait and not self._must_wait:
            self._resumes = True
            self.wake_at(NEXT_TURN)

    def fail(self, number: int, error: BaseException) -> None:
        """Answer a request with an error."""
        if not isinstance(error, MQError):
            raise error
        self.answer(number, Kind.ERROR, encode_error(error))

    def close(self, reason: str, error: str = "") -> None:
        """End the session, and tell the program why; `error` names the class of an error."""
        self.write(Kind.CLOSING, 0, Closing(reason, error).encode())
        self.wire.close()
        self._end()

    def lost(self) -> None:
        """The connection is closed."""
        self._end()
        self.server.remove(self)

    def _end(self) -> None:
        """Give back everything but prepared transactions."""
        if self.is_over:
            return
        self.is_over = True
        if not self.driver.is_closed:
            self.driver.call(self._release)

    def _release(self) -> None:
        self._reads.cancel_all()
        self.streams.close_all()
        for opened in self.handles.values():
            opened.close()
        for transaction in self.transactions.values():
            self.abandon(transaction)
        for _ in self.transactions:
            self.server.metrics.transaction_ended()
        self.units.leave()
        self.handles.clear()
        self.cursors.clear()
        self.transactions.clear()

    def abandon(self, transaction: Transaction) -> None:
        """Abort a transaction that nobody can end any longer."""
        if transaction.is_undecided and not self.driver.is_closed:
            self.driver.begin(lambda: self.local.abort(transaction, self.caller), _ignore)

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
            self.server.metrics.refused("not allowed")
            raise

    def paths(self, name: str) -> list[str]:
        """What rights are compared with: the paths of queues here, the names of others."""
        parsed = parse_name(name)
        each = parsed.elements if isinstance(parsed, MultipleName) else (parsed,)
        resolver = self.local.resolver
        local = self.driver.call(lambda: [resolver.local(one) for one in each])
        return [str(one) if at is None else shown(at) for one, at in zip(each, local, strict=True)]

    def handle(self, number: int) -> QueueHandle:
        """The open queue with this handle."""
        opened = self.handles.get(number)
        if opened is None:
            raise InvalidHandle(f"no queue is open as {number}")
        return opened

    def cursor(self, number: int, opened: QueueHandle) -> Cursor:
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
                limit = self.server.config.idle_transaction_limit
                raise TransactionTimedOut(f"for more than {limit} seconds")
            raise TransactionSequence(f"there is no transaction {number} on this connection")
        transaction.used = self.now
        return transaction

    def idle_transactions(self, now: float, limit: float) -> list[int]:
        """Those that were not used for so many seconds; a read that waits uses its transaction."""
        waiting = self._reads.transactions
        idle = []
        for number, transaction in self.transactions.items():
            if transaction in waiting or transaction.used == inf:
                transaction.used = now
            elif transaction.is_undecided and transaction.used <= now - limit:
                idle.append(number)
        return idle

    def close_queue(self, number: int) -> None:
        """Close a queue, and all that was done through this handle."""
        opened = self.handle(number)
        del self.handles[number]
        self.streams.close_queue(opened)
        self.cursors = {at: found for at, found in self.cursors.items() if found[0] is not opened}
        opened.close()

    # Requests

    def _call(self, frame: Frame) -> None:
        self.server.calls.call(self, frame.id, Call.decode(frame.payload))

    def begin(
        self,
        number: int,
        make: Callable[[], Future[T]],
        answer: Callable[[T], None],
    ) -> None:
        """Begin a call of the manager; the request is answered when it is done."""

        def answered(pending: Future[T]) -> None:
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
        transaction = self.transaction(send.transaction)
        number = frame.id

        def sent(ids: Sequence[SentId]) -> None:
            assert isinstance(ids, MessageIds), "they count up"
            self.answer(number, Kind.SENT, Sent(ids.first, len(ids)).encode())

        self.begin(
            number,
            lambda: opened.send_packets(send.packets, transaction),
            sent,
        )

    def _post(self, frame: Frame) -> None:
        post = Post.decode(frame.payload)
        opened = self.handle(post.handle)
        transaction = self.transaction(post.transaction)
        delivery = Delivery(post.at, post.after, post.once)
        number = frame.id

        def posted(ids: Sequence[SentId]) -> None:
            known = [PostedMessage(int(one.rpartition("\\")[2]), one.known) for one in ids]
            self.answer(number, Kind.POSTED, Posted(tuple(known)).encode())

        self.begin(
            number,
            lambda: opened.send_packets(post.packets, transaction, delivery),
            posted,
        )


def _ignore(pending: Future[None]) -> None:
    """Nobody is there to be told."""
