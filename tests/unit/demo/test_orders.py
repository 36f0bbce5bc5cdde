"""The orders of the demonstration, and how they are watched."""

from __future__ import annotations

import json
from math import gcd
from typing import cast

import pytest

from openmsmq.demo import orders
from openmsmq.demo.managers import Managers
from openmsmq.demo.orders import CUSTOMERS, KILLED, Moment, Order, OrderTransfer
from openmsmq.errors import ReceiveTimeout, ServiceNotAvailable


def test_an_order_says_the_same_in_its_message() -> None:
    order = Order(7)
    message = order.message()
    found = json.loads(message.body)
    assert (found["number"], found["customer"], found["cents"]) == (7, order.customer, order.cents)
    assert (message.label, message.dead_letter) == ("order 7", True)


def test_every_customer_orders_something() -> None:
    assert gcd(7, CUSTOMERS) == 1
    assert {order.customer for order in orders.orders(CUSTOMERS)} == set(range(1, CUSTOMERS + 1))


class Office:
    """A manager whose queue fills up a little with every look, or stays as it is."""

    def __init__(self, step: int) -> None:
        self._step = step
        self.messages = 0
        self.kills = 0

    def connect(self) -> Office:
        return self

    def __enter__(self) -> Office:
        return self

    def __exit__(self, *_: object) -> None: ...

    def open_queue(self, name: str) -> Office:
        return self

    def info(self) -> Office:
        self.messages += self._step
        return self

    def kill(self) -> None:
        self.kills += 1


class Shop:
    """A manager that cannot be reached, or has nothing to do."""

    def __init__(self, error: Exception | None) -> None:
        self._error = error

    def connect(self) -> Office:
        if self._error is not None:
            raise self._error
        return Office(0)


class Both:
    """The two of them."""

    def __init__(self, step: int, error: Exception | None = None) -> None:
        self.office = Office(step)
        self.shop = Shop(error)
        self.starts = 0

    def start_office(self) -> None:
        self.starts += 1


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "_INTERVAL", 0.001)
    monkeypatch.setattr(orders, "AWAY", 0.01)
    monkeypatch.setattr(OrderTransfer, "_send_all", lambda self, manager: None)


def test_the_office_is_killed_once_when_it_has_half_of_them() -> None:
    both = Both(step=10)
    seen: list[Moment] = []
    OrderTransfer(cast(Managers, both), 100).run(seen.append)
    assert (both.office.kills, both.starts) == (1, 1)
    assert {moment.arrived for moment in seen if moment.state == KILLED} == {50}
    assert seen[-1].arrived == 100


def test_orders_that_do_not_arrive_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "PATIENCE", 0.01)
    with pytest.raises(ReceiveTimeout, match="only 0 of 100"):
        OrderTransfer(cast(Managers, Both(step=0)), 100).run(lambda moment: None)


def test_a_sender_that_fails_is_an_error() -> None:
    both = Both(step=0, error=ServiceNotAvailable("shop"))
    with pytest.raises(ServiceNotAvailable, match="shop"):
        OrderTransfer(cast(Managers, both), 100).run(lambda moment: None)
