"""The client's side of a connection, without the connection: requests and their answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from openmsmq.app_protocol.calls import (
    PEEKED_RUNS,
    RESERVED_RUNS,
    RUNS,
    Closing,
    Hello,
    Welcome,
    decode_error,
)
from openmsmq.app_protocol.frames import FROM_SERVER, Frame, Framer, Kind
from openmsmq.app_protocol.limits import FRAME_SIZE_MAX
from openmsmq.client.diagnosis import explain_answer
from openmsmq.client.payloads import messages_in
from openmsmq.errors import (
    ConnectionLost,
    InsufficientResources,
    Malformed,
    MQError,
    OperationCancelled,
    TokenRefused,
)
from openmsmq.limits import U32_MAX
from openmsmq.process import this_process
from openmsmq.types.received import ReceivedMessage

Answered = Callable[[Frame | MQError], None]
"What is done with the answer to a request, or with the reason why there is none."

SLOW: Final = 60.0
"Seconds that an answer may take longer which waits for a disk."
ENDED: Final = (ConnectionLost, TokenRefused)
"How a connection ends that the program did not close; what was under way may have been done."
RESERVE: Final = 64
"Requests that waiting reads leave to others: who uses up all is not even heard cancelling one."


def hello(token: str) -> bytes:
    """HELLO: who asks, and what it can take."""
    capabilities = RUNS, PEEKED_RUNS, RESERVED_RUNS
    return Hello(this_process(), token=token, capabilities=capabilities).encode()


class Deliveries:
    """The messages of a subscription that came and were not taken yet."""

    __slots__ = ("error", "on_change", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[list[ReceivedMessage]] = deque()
        self.error: MQError | None = None
        "Why no more will come."
        self.on_change: Callable[[], None] = _nothing

    @property
    def is_ready(self) -> bool:
        """`take` has something to give or to say."""
        return bool(self.waiting) or self.error is not None

    def drain(self) -> list[int]:
        """Messages that will not be read any more, by lookup identifier."""
        lookups = [message.lookup_id for batch in self.waiting for message in batch]
        self.waiting.clear()
        return lookups

    def end(self, error: MQError) -> None:
        """The connection is over: the messages are back in their places."""
        self.waiting.clear()
        self.error = error
        self.on_change()

    def take(self, most: int = 1) -> list[ReceivedMessage] | None:
        """The next messages; None if there are none yet.

        Those that came at one time are taken together, and with them those of other times, as long
        as all of them are not more than `most`: a program that acknowledges all that came together
        keeps up with a server that sends them one by one.
        """
        if self.waiting:
            found = self.waiting.popleft()
            while self.waiting and len(found) + len(self.waiting[0]) <= most:
                found += self.waiting.popleft()
            return found
        if self.error is not None:
            raise self.error
        return None


PEER_CLOSED: Final = "the other side closed the connection"


class PendingRequests:
    """What a client waits for."""

    def __init__(self) -> None:
        self._framer = Framer(FROM_SERVER, limit=FRAME_SIZE_MAX)
        self._waiting: dict[int, Answered] = {}
        self._deliveries: dict[int, Deliveries] = {}
        self._next = 0
        self._reads: set[int] = set()
        "Requests that wait for messages and may do so for ever."
        self._reads_max = 1
        self._over: tuple[type[MQError], str] | None = None
        self.is_silent = True
        "The server has sent nothing yet."

    @property
    def error(self) -> MQError | None:
        """Why the connection is over; a new error for each caller."""
        if self._over is None:
            return None
        kind, reason = self._over
        return kind(reason)

    @property
    def is_over(self) -> bool:
        """The connection is over."""
        return self._over is not None

    def allow(self, welcome: Welcome) -> None:
        """What the server allows."""
        self._reads_max = max(1, welcome.requests - min(RESERVE, welcome.requests // 2))

    def ask(self, answered: Answered, *, waits: bool = False) -> int:
        """A number for a new request, which may wait for messages."""
        error = self.error
        if error is not None:
            raise error
        if waits and len(self._reads) >= self._reads_max:
            raise InsufficientResources(
                f"{self._reads_max} reads wait on this connection; make another one for more"
            )
        self._next = self._next % U32_MAX + 1
        while self._next in self._waiting or self._next in self._deliveries:
            self._next = self._next % U32_MAX + 1
        self._waiting[self._next] = answered
        if waits:
            self._reads.add(self._next)
        return self._next

    def subscribe(self, number: int) -> Deliveries:
        """What comes for the subscription with this number."""
        self._deliveries[number] = deliveries = Deliveries()
        return deliveries

    def unsubscribe(self, number: int) -> None:
        """What still comes is not wanted."""
        self._deliveries.pop(number, None)

    def receive_data(self, data: bytes) -> list[Frame]:
        """Take what the server sent; pings to be answered."""
        pings: list[Frame] = []
        if self.is_over:
            return pings
        hint = explain_answer(data) if self.is_silent else ""
        self.is_silent = False
        framer = self._framer
        framer.receive_data(data)
        try:
            while (frame := framer.next_frame()) is not None:
                if frame.kind is Kind.PING:
                    pings.append(frame)
                else:
                    self._take(frame)
                if not framer.has_more or self.is_over:
                    break
        except Malformed as error:
            self.lost(hint or f"the server sent an invalid frame: {error}")
        return pings

    def _take(self, frame: Frame) -> None:
        if frame.kind is Kind.CLOSING:
            # Nothing comes after it, and nothing is answered that was asked for after it.
            closing = Closing.decode(frame.payload)
            is_refused = closing.error == TokenRefused.__name__
            self._end(TokenRefused if is_refused else ConnectionLost, closing.reason)
            return
        deliveries = self._deliveries.get(frame.id)
        if frame.kind in (Kind.DELIVERY, Kind.DELIVERED_SLICES):
            if deliveries is not None:
                deliveries.waiting.append(messages_in(frame))
                deliveries.on_change()
            return
        error = decode_error(frame.payload) if frame.kind is Kind.ERROR else None
        answered = self._waiting.pop(frame.id, None)
        self._reads.discard(frame.id)
        if answered is not None:
            answered(error or frame)
        elif deliveries is not None and error is not None:
            deliveries.error = error
            deliveries.on_change()

    def closed(self) -> None:
        """The program itself has ended the connection."""
        self._end(OperationCancelled, "the queue manager was closed")

    def lost(self, reason: str = "") -> None:
        """The connection is over: fail all calls that wait."""
        self._end(ConnectionLost, reason or PEER_CLOSED)

    def _end(self, kind: type[MQError], reason: str) -> None:
        if self.is_over:
            return
        self._over = kind, reason
        waiting, self._waiting = self._waiting, {}
        for answered in waiting.values():
            answered(kind(reason))
        for deliveries in self._deliveries.values():
            deliveries.end(kind(reason))


def _nothing() -> None:
    """The call is not waited for."""
