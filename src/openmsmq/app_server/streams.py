"""Messages that are pushed to a program as they arrive: SUBSCRIBE, CREDIT and DELIVERY."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.calls import encode_error
from openmsmq.app_protocol.frames import Frame, Kind
from openmsmq.app_server.context import NEXT_TURN, SessionContext
from openmsmq.app_server.proxy import OpenQueue
from openmsmq.app_server.reads import payload
from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.slices import Parts, count_of, delivered, lookups_of
from openmsmq.errors import InvalidParameter, MQError, OperationCancelled
from openmsmq.types.access import Access

DELIVERED: Final = (64, 1000)
"Messages of a stream in one frame, if the program takes few or many."
PARTS: Final = 4
"Frames in which the credit of a stream comes: the program works on one while others come."
DELIVERY_SIZE: Final = 512 * 1024
"Bytes in one frame, unless it is a single message."


@dataclass(slots=True, eq=False)
class DeliveryStream:
    """The messages of one queue, pushed to a program."""

    number: int
    opened: OpenQueue
    credit: int
    most: int
    "Messages in one frame."
    waiting: Future[Parts] | None = None
    is_over: bool = False


class DeliveryStreams:
    """The streams of a connection."""

    def __init__(self, session: SessionContext) -> None:
        self._session = session
        self._found: dict[int, DeliveryStream] = {}
        "By the request that began each."
        self._ready: list[DeliveryStream] = []
        "Those that go on in the next turn."

    def subscribe(self, frame: Frame) -> None:
        """SUBSCRIBE: begin a stream, with its first credit."""
        session, number = self._session, frame.id
        asked = app.Subscribe.decode(frame.payload)
        opened = session.handle(asked.handle)
        opened.mode.require(Access.RECEIVE)
        session.require_room(self._found)
        if number in self._found:
            raise InvalidParameter(f"{number} is the id of a stream")
        few, many = DELIVERED
        most = min(max(few, asked.credit // PARTS), many)
        self._found[number] = stream = DeliveryStream(number, opened, asked.credit, most)
        session.answer(number, Kind.DONE)
        self._deliver(stream)

    def credit(self, frame: Frame) -> None:
        """CREDIT: push this many more messages; nothing, if the stream is over."""
        credit = app.Credit.decode(frame.payload)
        stream = self._found.get(credit.subscription)
        if stream is not None:
            stream.credit += credit.more
            self._deliver(stream)

    def resume(self) -> None:
        """The write buffer has room again."""
        for stream in list(self._found.values()):
            self._deliver(stream)

    def tick(self) -> None:
        """Go on with the streams that have just delivered something."""
        ready, self._ready = self._ready, []
        for stream in ready:
            self._deliver(stream)

    def _deliver(self, stream: DeliveryStream) -> None:
        """Wait for the next messages, if there is credit and room in the write buffer."""
        is_idle = stream.waiting is None and not stream.is_over
        if not is_idle or not stream.credit or self._session.wire.write_buffer_full:
            return
        opened = stream.opened
        count = min(stream.credit, stream.most)

        def make() -> Future[Parts]:
            stream.waiting = pending = opened.receive_parts(
                count, wait=True, hold=True, size_max=DELIVERY_SIZE
            )
            return pending

        try:
            self._session.driver.begin(make, lambda pending: self._came(stream, pending))
        except MQError as error:
            self._fail(stream, error)

    def _came(self, stream: DeliveryStream, pending: Future[Parts]) -> None:
        stream.waiting = None
        if pending.error is not None:
            self._fail(stream, pending.error)
            return
        parts, session = pending.value, self._session
        if session.wire.write_buffer_full:
            # Others may have them: their readers are woken when this one is done.
            stream.opened.end(lookups_of(parts), remove=False)
            return
        stream.credit -= count_of(parts)
        parts, is_sliced = delivered(parts, takes_slices=session.takes_slices)
        kind = Kind.DELIVERED_SLICES if is_sliced else Kind.DELIVERY
        session.write(kind, stream.number, *payload(parts, sliced=is_sliced))
        if stream.credit:
            # Other connections get their turn before the next messages are looked for.
            self._ready.append(stream)
            session.wake_at(NEXT_TURN)

    def _fail(self, stream: DeliveryStream, error: BaseException) -> None:
        """The queue is closed or deleted: nothing more will come."""
        if not isinstance(error, MQError):
            raise error
        self._found.pop(stream.number, None)
        if not stream.is_over:
            stream.is_over = True
            self._session.write(Kind.ERROR, stream.number, encode_error(error))

    def end(self, number: int) -> None:
        """End a stream."""
        stream = self._found.pop(number, None)
        if stream is not None:
            self._stop(stream)

    def close_queue(self, opened: OpenQueue) -> None:
        """A queue is closed, and its streams with it."""
        for stream in list(self._found.values()):
            if stream.opened is opened:
                self.end(stream.number)

    def close_all(self) -> None:
        """The connection is closed."""
        for number in list(self._found):
            self.end(number)

    def _stop(self, stream: DeliveryStream) -> None:
        stream.is_over = True
        if stream.waiting is not None:
            error = OperationCancelled("the stream was ended")
            stream.opened.cancel(stream.waiting, error)
