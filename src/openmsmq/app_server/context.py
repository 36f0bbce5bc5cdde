"""What the requests of one connection share: credit, what is open, and how they are answered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import contextmanager
from math import inf
from typing import Any, Final, Protocol, TypeVar

from openmsmq.app_protocol.calls import Closing, encode_error
from openmsmq.app_protocol.frames import FROM_CLIENT, Framer, Kind, encode_frame
from openmsmq.app_protocol.limits import FRAME_SIZE_MAX
from openmsmq.app_protocol.members import Members
from openmsmq.app_server.limits import ANSWER_SIZE_MAX, HANDLES_MAX, TIMED_OUT_MAX
from openmsmq.app_server.proxy import (
    EnterpriseDirectory,
    OpenQueue,
    ReadProxy,
    SessionProxy,
)
from openmsmq.app_server.wire import ProgramWire
from openmsmq.engine.authorization import authorize, authorize_access, authorize_any
from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    AccessDenied,
    InvalidHandle,
    InvalidParameter,
    MQError,
    TokenRefused,
    TransactionSequence,
    TransactionTimedOut,
    UserBufferTooSmall,
)
from openmsmq.names.format import MultipleName
from openmsmq.names.parse import parse_name
from openmsmq.names.path import shown
from openmsmq.service.configuration import Config
from openmsmq.service.metrics.samples import ServiceMetrics
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.caller import Caller, Grant, Right

T = TypeVar("T")
NEXT_TURN: Final = -inf
"A deadline that has passed: the session goes on when others had a turn."


class Driver(Protocol):
    """What calls the manager and commits (`LoopDriver`)."""

    @property
    def is_closed(self) -> bool:
        """No more calls are taken."""
        ...

    def call(self, make: Callable[[], T]) -> T:
        """Call the manager."""
        ...

    def begin(self, make: Callable[[], Future[T]], answered: Callable[[Future[T]], None]) -> None:
        """Call the manager; `answered` is called when the answer is there, at once or later."""
        ...


class Server(Protocol):
    """What all sessions share (`AppServer`)."""

    local: QueueManager
    driver: Driver
    config: Config
    metrics: ServiceMetrics
    name: str
    hello_timeout_s: float
    refusal_delay_s: float
    read_proxy: ReadProxy | None
    directory: EnterpriseDirectory | None

    def admit(
        self,
        token: str,
        peer: str,
        certificate: Mapping[str, Any],
        *,
        is_trusted: bool,
        unix: tuple[int, ...] = (),
    ) -> Grant | None:
        """The grant of a program that shows a token, or else a certificate; None for no access."""
        ...


class SessionContext:
    """The state of a connection that its requests share."""

    def __init__(self, server: Server, wire: ProgramWire, now: float) -> None:
        self.server = server
        self.local = server.local
        self.driver = server.driver
        self.wire = wire
        self.now = self.began = now
        "The time, as of the last call."
        self.serial = 0
        "What others know it by; programs are counted."
        self.is_over = False
        self.grant: Grant | None = None
        self.caller = Caller()
        self.takes_slices = False
        "The program understands slices of runs."
        self.takes_peeked_slices = False
        "It understands those that it only looks at, too."
        self.takes_reserved_slices = False
        "So it does with those that a subscription was given."
        self.is_refused = False
        "The refusal is sent in a moment; until then nothing that the program sends counts."
        self.next_deadline: float | None = None
        "When `tick` has something to do, at the earliest; None for never."
        self._resumes = False
        "The next tick goes on with requests that wait for credit."
        self._framer = Framer(FROM_CLIENT)
        self._requests: dict[int, int] = {}
        "Unanswered requests, and the bytes of their payloads."
        self._bytes = 0
        self.handles: dict[int, OpenQueue] = {}
        self.cursors: dict[int, tuple[OpenQueue, Any]] = {}
        self._proxy: SessionProxy | None = None
        "Queues of other managers; None until one is opened."
        self.transactions: dict[int, ManagedTransaction] = {}
        self.prepared: dict[int, ManagedTransaction] = {}
        "Those that outlive the connection, while they wait for their outcome."
        self.timed_out: deque[int] = deque(maxlen=TIMED_OUT_MAX)
        "Transactions that were aborted because they were idle."
        self._next = 0

    # Credit and time

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

    def wake_at(self, deadline: float) -> None:
        """Have `tick` called at a deadline, or before."""
        if self.is_over or (self.next_deadline is not None and self.next_deadline <= deadline):
            return
        self.next_deadline = deadline
        self.wire.update()

    # Frames

    def admit(self, grant: Grant, name: str) -> None:
        """The program may use the manager."""
        self.grant = grant
        self.caller = Caller(name, grant)
        self._framer.limit = FRAME_SIZE_MAX

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

    def reply(self, number: int, **members: object) -> None:
        """Answer a CALL."""
        payload = Members(members).encode()  # type: ignore[arg-type]
        if len(payload) > ANSWER_SIZE_MAX:
            self.fail(number, UserBufferTooSmall(f"the answer takes {len(payload)} bytes"))
        else:
            self.answer(number, Kind.ANSWER, payload)

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
                answer(pending.value)

        self.driver.begin(make, answered)

    # The end

    def close(self, reason: str, error: str = "") -> None:
        """End the session, and tell the program why; `error` names the class of an error."""
        self.write(Kind.CLOSING, 0, Closing(reason, error).encode())
        self.wire.close()
        self._end()

    def abort(self) -> None:
        """End the session and its connection at once: the program is gone.

        Nothing is left that could be answered before the end of the connection is noticed.
        """
        self.wire.abort()
        self._end()

    def close_unauthorized(self, reason: str) -> None:
        """Close the connection because of the token, so that the program does not try it again."""
        self.close(reason, TokenRefused.__name__)

    def refuse(self, why: str, words: str) -> None:
        """Close the connection because of what the program does; `why` is for the metrics."""
        self.server.metrics.refused(why)
        self.close(words)

    def _end(self) -> None:
        """Give back everything but prepared transactions."""
        if self.is_over:
            return
        self.is_over = True
        self.next_deadline = None
        if not self.driver.is_closed:
            self.driver.call(self._release)

    def _release(self) -> None:
        """Close what is open, and abort transactions; called once."""
        for opened in self.handles.values():
            opened.close()
        for transaction in self.transactions.values():
            self.abandon(transaction)
        self.server.metrics.transactions -= len(self.transactions)
        self.handles.clear()
        self.cursors.clear()
        self.transactions.clear()
        if self._proxy is not None:
            self._proxy.close()

    def abandon(self, transaction: ManagedTransaction, by: Caller | None = None) -> None:
        """Abort a transaction that its program cannot end any longer, in the name of a caller."""
        caller = by or self.caller
        if proxy := self.proxy_of(transaction):
            proxy.abort(transaction)
        if not self.driver.is_closed:
            self.driver.call(lambda: self.local.abandon(transaction, caller))

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
        with self._counted_refusal(right, *queues):
            authorize(self.caller, right, *queues)

    def require_somewhere(self, right: Right) -> None:
        """Refuse those whose role does not have a right for any queue."""
        with self._counted_refusal(right):
            authorize_any(self.caller, right)

    def allowed_access(self, asked: Access, *queues: str) -> Access:
        """The access with which the program may open queues."""
        with self._counted_refusal("open", *queues):
            return authorize_access(self.caller, asked, *queues)

    @contextmanager
    def _counted_refusal(self, asked: str, *queues: str) -> Iterator[None]:
        try:
            yield
        except AccessDenied as error:
            self.server.metrics.refused("not allowed")
            target, why = ", ".join(queues), error.detail
            self.driver.call(lambda: self.local.audit.denied(self.caller, asked, target, why))
            raise

    def paths(self, name: str) -> list[str]:
        """What rights are compared with: the paths of queues here, the names of others."""
        parsed = parse_name(name)
        each = parsed.elements if isinstance(parsed, MultipleName) else (parsed,)
        resolver = self.local.resolver
        local = self.driver.call(lambda: [resolver.local(one) for one in each])
        return [str(one) if at is None else shown(at) for one, at in zip(each, local, strict=True)]

    def open_queue(self, name: str, mode: Mode) -> OpenQueue:
        """Open a queue of this manager, or one elsewhere that is read through it."""
        local = self.local
        reads = mode.access & (Access.RECEIVE | Access.PEEK)
        if reads and self.server.read_proxy is not None:
            proxy = self._proxy or self.server.read_proxy.session()
            if proxy.serves(name) and local.resolver.local(parse_name(name)) is None:
                self._proxy = proxy
                proxy.connect(name)
                sender = None
                if Access.SEND in mode.access and mode.share is Share.DENY_NONE:
                    sender = local.open_queue(name, Mode(Access.SEND), self.caller)
                return proxy.open_queue(name, mode, sender)
        return local.open_queue(name, mode, self.caller)

    def proxy_of(self, transaction: ManagedTransaction) -> SessionProxy | None:
        """Who ends a transaction in which messages of another manager were received."""
        proxy = self._proxy
        return proxy if proxy is not None and proxy.has_part(transaction) else None

    def handle(self, number: int) -> OpenQueue:
        """The open queue with this handle."""
        opened = self.handles.get(number)
        if opened is None:
            raise InvalidHandle(f"unknown queue handle {number}")
        return opened

    def cursor(self, number: int, opened: OpenQueue) -> Any:
        """The cursor with this number, which must be one of this open queue."""
        found = self.cursors.get(number)
        if found is None or found[0] is not opened:
            raise InvalidHandle(f"unknown cursor {number} of this queue")
        return found[1]

    def transaction(self, number: int) -> ManagedTransaction | None:
        """The transaction with this number; None for 0."""
        if not number:
            return None
        transaction = self.transactions.get(number) or self.prepared.get(number)
        if transaction is None:
            if number in self.timed_out:
                limit = self.server.config.idle_transaction_limit
                raise TransactionTimedOut(f"for more than {limit} seconds")
            raise TransactionSequence(f"unknown transaction {number}: begin one on this connection")
        transaction.used = self.now
        return transaction
