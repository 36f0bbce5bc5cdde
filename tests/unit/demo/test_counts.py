"""What is counted at the end of the demonstration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import openmsmq
from openmsmq import Manager
from openmsmq.demo import counts
from openmsmq.demo.counts import Count, are_right, count_all
from openmsmq.demo.lake import OrdersTable
from openmsmq.demo.managers import Managers
from openmsmq.demo.orders import CUSTOMERS, orders

ORDERS = 120
CENTS = sum(order.cents for order in orders(ORDERS))
RIGHT = OrdersTable(ORDERS, ORDERS, 0, CENTS)


@pytest.fixture
def managers(tmp_path: Path) -> Iterator[Managers]:
    """Two managers as they are in the end, in this process."""
    with openmsmq.open(tmp_path / "a") as shop, openmsmq.open(tmp_path / "b") as office:
        office.create_queue("orders")
        invoices = office.create_queue("invoices")
        for customer in range(1, CUSTOMERS + 1):
            theirs = [order.cents for order in orders(ORDERS) if order.customer == customer]
            invoices.send(json.dumps({"orders": len(theirs), "cents": sum(theirs)}))
        made = SimpleNamespace(shop=connecting(shop), office=connecting(office))
        yield cast(Managers, made)


def connecting(manager: Manager) -> SimpleNamespace:
    @contextmanager
    def connect() -> Iterator[Manager]:
        yield manager

    return SimpleNamespace(connect=connect)


def wrong(managers: Managers, sent: int = ORDERS, table: OrdersTable = RIGHT) -> list[str]:
    return [one.what for one in count_all(managers, ORDERS, sent, table) if not one.is_right]


def test_everything_is_there(managers: Managers) -> None:
    assert are_right(count_all(managers, ORDERS, ORDERS, RIGHT))


def test_whatever_is_missing_is_seen(managers: Managers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "PATIENCE", 0.1)
    assert wrong(managers, sent=119) == ["orders sent by the shop"]
    assert wrong(managers, table=OrdersTable(121, 120, 0, CENTS)) == ["orders in the table"]
    assert wrong(managers, table=OrdersTable(120, 119, 0, CENTS)) == [
        "different orders in the table"
    ]
    assert wrong(managers, table=OrdersTable(120, 120, 1, CENTS)) == ["orders out of order"]
    assert wrong(managers, table=OrdersTable(120, 120, 0, 0)) == ["cents in the table"]
    with managers.office.connect() as office:
        office.open_queue("orders").send("late")
        office.open_queue("invoices").receive(timeout=0)
    with managers.shop.connect() as shop:
        shop.open_queue(r"DIRECT=OS:office\private$\orders").send("on its way")
    assert wrong(managers) == [
        "orders still on their way",
        "orders left in the queue of the office",
        "invoices in their queue",
        "orders on the invoices",
        "cents on the invoices",
    ]


def test_one_wrong_count_is_enough() -> None:
    assert are_right([Count("a", 1, 1)])
    assert not are_right([Count("a", 1, 1), Count("b", 1, 2)])
