"""Messages that come to a program by themselves: SUBSCRIBE and CREDIT."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.calls import encode_error
from openmsmq.app_protocol.frames import Frame, Kind
from openmsmq.app_server.reads import Entries, Reading, payload
from openmsmq.engine.commit.pending import Pending
from openmsmq.errors import InvalidParameter, MQError, OperationCancelled
from openmsmq.types.access import Access

if TYPE_CHECKING:
    from openmsmq.app_server.session import AppSession, OpenQueue

DELIVERED: Final = (64, 1000)
"Messages of a subscription in one frame, if a program takes few or many."
PARTS: Final = 4
"Frames in which what a program takes comes: it works on one while others come."
DELIVERY_SIZE: Final = 512 * 1024
"Bytes in one frame, unless it is a single message."


@dataclass(slots=True, eq=False)
class Subscription:
    """Messages of one queue."""

    number: int
    opened: OpenQueue
    credit: int
    most: int
    "Messages in one frame."
    waiting: Pending[Entries] | None = None
    is_over: bool = False


class Subscriptions:
    """The subscriptions of a connection."""

    def __init__(self, session: AppSession, reading: Reading) -> None:
        self._session = session
        self._reading = reading
        self._core = session.local.core
        self._found: dict[int, Subscription] = {}
        "By the request that began each."

    def subscribe(self, frame: Frame) -> None:
        """SUBSCRIBE: let messages come, so many at first."""
        session, number = self._session, frame.id
        asked = app.Subscribe.decode(frame.payload)
        opened = session.handle(asked.handle)
        opened.mode.require(Access.RECEIVE)
        session.require_room(self._found)
        if number in self._found:
            raise InvalidParameter(f"{number} is the id of a subscription")
        few, many = DELIVERED
        most = min(max(few, asked.credit // PARTS), many)
        self._found[number] = subscription = Subscription(number, opened, asked.credit, most)
        session.answer(number, Kind.DONE)
        self._deliver(subscription)

    def credit(self, frame: Frame) -> None:
        """CREDIT: so many more messages may come; nothing, if the subscription is over."""
        credit = app.Credit.decode(frame.payload)
        subscription = self._found.get(credit.subscription)
        if subscription is not None:
            subscription.credit += credit.more
            self._deliver(subscription)

    def go_on(self) -> None:
        """The program takes again what it is sent."""
        for subscription in list(self._found.values()):
            self._deliver(subscription)

    def _deliver(self, subscription: Subscription) -> None:
        """Wait for the next messages, if there is credit and the program takes what is sent."""
        is_idle = subscription.waiting is None and not subscription.is_over
        if not is_idle or not subscription.credit or self._session.connection.write_buffer_full:
            return
        opened = subscription.opened
        count = min(subscription.credit, subscription.most)

        def make() -> Pending[Entries]:
            subscription.waiting = pending = self._session.local.receiving.receive(
                opened.queue,
                count,
                opened,
                wait=True,
                holder=self._reading.holder,
                size_max=DELIVERY_SIZE,
                caller=self._session.caller,
            )
            return pending

        try:
            self._session.driver.begin(make, lambda pending: self._came(subscription, pending))
        except MQError as error:
            self._end(subscription, error)

    def _came(self, subscription: Subscription, pending: Pending[Entries]) -> None:
        subscription.waiting = None
        if pending.error is not None:
            self._end(subscription, pending.error)
            return
        entries, session = pending.result(), self._session
        if session.connection.write_buffer_full:
            # Others may have them: they are woken when this reader is done.
            self._core.release(subscription.opened.queue, [entry.lookup for entry in entries])
            return
        subscription.credit -= len(entries)
        self._reading.hold(subscription.opened, entries)
        session.write(Kind.DELIVERY, subscription.number, *payload(entries))
        # Others get their turn before the next ones are looked for.
        asyncio.get_running_loop().call_soon(self._deliver, subscription)

    def _end(self, subscription: Subscription, error: BaseException) -> None:
        """The queue is closed or deleted: nothing more will come."""
        if not isinstance(error, MQError):
            raise error
        self._found.pop(subscription.number, None)
        if not subscription.is_over:
            subscription.is_over = True
            self._session.write(Kind.ERROR, subscription.number, encode_error(error))

    def unsubscribe(self, number: int) -> None:
        """No more messages of a subscription are wanted."""
        subscription = self._found.pop(number, None)
        if subscription is not None:
            self._stop(subscription)

    def close(self, opened: OpenQueue) -> None:
        """A queue is closed, and with it what was subscribed to."""
        for subscription in list(self._found.values()):
            if subscription.opened is opened:
                self.unsubscribe(subscription.number)

    def let_go(self) -> None:
        """The connection is over."""
        for number in list(self._found):
            self.unsubscribe(number)

    def _stop(self, subscription: Subscription) -> None:
        subscription.is_over = True
        if subscription.waiting is not None:
            error = OperationCancelled("the subscription has ended")
            self._core.cancel(subscription.opened.queue, subscription.waiting, error)
