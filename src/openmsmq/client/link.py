"""The client's side of a connection, without the connection: requests and their answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from openmsmq.app.calls import Closing, decode_error
from openmsmq.app.frames import FRAME_SIZE_MAX, FROM_SERVER, Frame, Framer, Kind
from openmsmq.app.messages import Messages, QueuedMessage
from openmsmq.errors import ConnectionLost, Malformed, MQError, OperationCancelled

Answered = Callable[[Frame | MQError], None]
"What is done with the answer to a request, or with the reason why there is none."

_ID_MAX: Final = 0xFFFFFFFF


class Deliveries:
    """The messages of a subscription that came and were not taken yet."""

    __slots__ = ("error", "on_change", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[QueuedMessage, ...]] = deque()
        self.error: MQError | None = None
        "Why no more will come."
        self.on_change: Callable[[], None] = _nothing

    def take(self) -> tuple[QueuedMessage, ...] | None:
        """The next messages; None if there are none yet."""
        if self.waiting:
            return self.waiting.popleft()
        if self.error is not None:
            raise self.error
        return None


class Link:
    """What a client waits for."""

    def __init__(self) -> None:
        self._framer = Framer(FROM_SERVER, limit=FRAME_SIZE_MAX)
        self._waiting: dict[int, Answered] = {}
        self._deliveries: dict[int, Deliveries] = {}
        self._next = 0
        self.error: MQError | None = None
        "Why the connection is over."
        self._farewell = ""

    def ask(self, answered: Answered) -> int:
        """A number for a new request."""
        if self.error is not None:
            raise self.error
        self._next = self._next % _ID_MAX + 1
        while self._next in self._waiting or self._next in self._deliveries:
            self._next = self._next % _ID_MAX + 1
        self._waiting[self._next] = answered
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
        self._framer.receive_data(data)
        pings = []
        try:
            for frame in self._framer.frames():
                if frame.kind is Kind.PING:
                    pings.append(frame)
                else:
                    self._take(frame)
        except Malformed as error:
            self.lost(f"the server sent what cannot be read: {error}")
        return pings

    def _take(self, frame: Frame) -> None:
        if frame.kind is Kind.CLOSING:
            self._farewell = Closing.decode(frame.payload).reason
            return
        deliveries = self._deliveries.get(frame.id)
        if frame.kind is Kind.DELIVERY:
            if deliveries is not None:
                deliveries.waiting.append(Messages.decode(frame.payload).messages)
                deliveries.on_change()
            return
        answered = self._waiting.pop(frame.id, None)
        if answered is not None:
            is_error = frame.kind is Kind.ERROR
            answered(decode_error(frame.payload) if is_error else frame)
        elif deliveries is not None and frame.kind is Kind.ERROR:
            deliveries.error = decode_error(frame.payload)
            deliveries.on_change()

    def closed(self) -> None:
        """The program itself has ended the connection."""
        self._end(OperationCancelled("the queue manager was closed"))

    def lost(self, reason: str = "") -> None:
        """The connection is over: whoever waits is told."""
        self._end(ConnectionLost(self._farewell or reason or "the other side closed it"))

    def _end(self, error: MQError) -> None:
        if self.error is not None:
            return
        self.error = error
        waiting, self._waiting = self._waiting, {}
        for answered in waiting.values():
            answered(self.error)
        for deliveries in self._deliveries.values():
            deliveries.error = self.error
            deliveries.on_change()


def _nothing() -> None:
    """Nobody waits."""
