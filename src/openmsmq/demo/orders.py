"""Orders: what they say, how they are sent, and how they are watched while a manager is killed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Thread
from typing import Final

from openmsmq import Manager, Message
from openmsmq.demo.managers import PATIENCE, Managers
from openmsmq.errors import ReceiveTimeout

CUSTOMERS: Final = 40
RUNNING: Final = "running"
KILLED: Final = "killed"
TOGETHER: Final = 500
"Orders in one transaction."
AWAY: Final = 1.0
"Seconds for which the killed manager stays away."
_INTERVAL: Final = 0.1
_PRODUCTS: Final = ("book", "pen", "lamp", "chair", "desk")
_DESTINATION: Final = r"DIRECT=OS:office\private$\orders"


@dataclass(frozen=True, slots=True)
class Order:
    """What one customer wants."""

    number: int

    @property
    def customer(self) -> int:
        """Who wants it, from 1 on; 7 and the number of customers have no common divisor."""
        return self.number * 7 % CUSTOMERS + 1

    @property
    def cents(self) -> int:
        """What it costs."""
        return 100 + self.number * 13 % 9_900

    def message(self) -> Message:
        """The order as it is sent."""
        product = _PRODUCTS[self.number % len(_PRODUCTS)]
        body = {
            "number": self.number,
            "customer": self.customer,
            "product": product,
            "cents": self.cents,
        }
        return Message(json.dumps(body).encode(), label=f"order {self.number}", dead_letter=True)


def orders(count: int) -> Iterator[Order]:
    """A number of them, counted from 1."""
    return map(Order, range(1, count + 1))


@dataclass(frozen=True, slots=True)
class Moment:
    """How far it was at some time."""

    seconds: float
    sent: int
    arrived: int
    state: str
    "Of the office."


@dataclass
class OrderTransfer:
    """All orders on their way from one manager to the other, one of which dies in between."""

    managers: Managers
    count: int
    sent: int = 0
    moments: list[Moment] = field(default_factory=list)
    _failure: BaseException | None = None
    _began: float = 0.0

    def run(self, show: Callable[[Moment], None]) -> None:
        """Send all, kill the receiver when it has half of them, and wait until all are there."""
        self._began = time.monotonic()
        sender = Thread(target=self._send, name="sender", daemon=True)
        sender.start()
        self._watch(show, self.count // 2)
        self.managers.office.kill()
        self._wait(show)
        self.managers.start_office()
        self._watch(show, self.count)
        sender.join(PATIENCE)

    def _send(self) -> None:
        try:
            with self.managers.shop.connect() as manager:
                self._send_all(manager)
        except Exception as error:  # the watcher tells it
            self._failure = error

    def _send_all(self, manager: Manager) -> None:
        queue = manager.open_queue(_DESTINATION)
        for first in range(1, self.count + 1, TOGETHER):
            numbers = range(first, min(first + TOGETHER, self.count + 1))
            with manager.transaction() as transaction:
                queue.send_many(
                    [Order(number).message() for number in numbers], transaction=transaction
                )
            self.sent += len(numbers)

    def _watch(self, show: Callable[[Moment], None], target: int) -> None:
        """Look at the queue of the receiver until this many orders are in it."""
        arrived, end = -1, time.monotonic() + PATIENCE
        with self.managers.office.connect() as office:
            queue = office.open_queue("orders")
            while arrived < target:
                before, arrived = arrived, queue.info().messages
                if self._failure is not None:
                    raise self._failure
                if arrived != before:
                    end = time.monotonic() + PATIENCE
                elif time.monotonic() > end:
                    raise ReceiveTimeout(f"only {arrived:,} of {self.count:,} orders arrived")
                show(self._moment(arrived, RUNNING))
                time.sleep(_INTERVAL)

    def _wait(self, show: Callable[[Moment], None]) -> None:
        """Leave the receiver dead for a while."""
        arrived, end = self.moments[-1].arrived, time.monotonic() + AWAY
        while time.monotonic() < end:
            show(self._moment(arrived, KILLED))
            time.sleep(_INTERVAL)

    def _moment(self, arrived: int, state: str) -> Moment:
        seconds = time.monotonic() - self._began
        self.moments.append(Moment(seconds, self.sent, arrived, state))
        return self.moments[-1]
