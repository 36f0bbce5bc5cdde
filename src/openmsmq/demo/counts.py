"""What must be true at the end of the demonstration, to the last order."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

from openmsmq import Manager
from openmsmq.demo.lake import OrdersTable
from openmsmq.demo.managers import PATIENCE, Managers
from openmsmq.demo.orders import CUSTOMERS, Order, orders


@dataclass(frozen=True, slots=True)
class Count:
    """Something that was counted, and what it should be."""

    what: str
    expected: int
    found: int

    @property
    def is_right(self) -> bool:
        """Whether it is exact."""
        return self.expected == self.found


def count_all(managers: Managers, count: int, sent: int, table: OrdersTable) -> list[Count]:
    """Everything that can be counted in queues and tables."""
    with managers.shop.connect() as shop, managers.office.connect() as office:
        under_way = _under_way(shop)
        dead = shop.open_queue(".\\XactDeadLetter$").info().messages
        left = office.open_queue("orders").info().messages
        found = office.open_queue("invoices").peek_many(10 * CUSTOMERS, timeout=0)
    invoices = [json.loads(str(message.text)) for message in found]
    money = sum(order.cents for order in orders(count))
    return [
        Count("orders sent by the shop", count, sent),
        Count("orders still on their way", 0, under_way),
        Count("orders among the dead letters", 0, dead),
        Count("orders left in the queue of the office", 0, left),
        Count("orders in the table", count, table.rows),
        Count("different orders in the table", count, table.numbers),
        Count("orders out of order", 0, table.misplaced),
        Count("cents in the table", money, table.cents),
        Count("invoices in their queue", len(_customers(count)), len(invoices)),
        Count("orders on the invoices", count, sum(one["orders"] for one in invoices)),
        Count("cents on the invoices", money, sum(one["cents"] for one in invoices)),
    ]


def _under_way(shop: Manager) -> int:
    """Orders of which the shop does not know that they were received, when nothing moves more."""
    count, end = -1, time.monotonic() + PATIENCE
    while count and time.monotonic() < end:
        ways = shop.outgoing()
        count = sum(way.messages + way.unacknowledged + way.unprocessed for way in ways)
        time.sleep(0.05)
    return count


def are_right(counts: Sequence[Count]) -> bool:
    """Whether all are exact."""
    return all(count.is_right for count in counts)


def _customers(count: int) -> set[int]:
    return {Order(number).customer for number in range(1, min(count, CUSTOMERS) + 1)}
