"""Queues as their rows describe them."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.engine.queues.queue import QueueProperties
from openmsmq.engine.storage.layout import COUNTERS_ROW, DELETED_ROW, JOURNAL_BIT, pack_counters
from openmsmq.store.check.queues import CheckedQueues
from openmsmq.types.queues import QueueKind


def row(name: str, kind: QueueKind = QueueKind.PRIVATE) -> bytes:
    return QueueProperties(name, UUID(int=1), 0, 0, kind=kind).to_row()


def test_a_queue_is_what_its_rows_say() -> None:
    queues = CheckedQueues()
    queues.take(16, 0, row("orders"))
    queues.take(16, COUNTERS_ROW, pack_counters(2, 30))
    queues.take(17, DELETED_ROW, row("gone"))
    orders, gone = queues
    assert (str(orders), orders.known, orders.expected) == ("queue orders", True, (2, 30))
    assert (str(gone), gone.known, gone.deleted) == ("queue gone", False, True)
    assert queues.get(16) is orders
    assert queues.get(18) is None
    assert list(queues.faults(18)) == []


def test_a_journal_belongs_to_a_queue_that_is_there() -> None:
    queues = CheckedQueues()
    queues.take(16, 0, row("orders"))
    queues.take(17, DELETED_ROW, row("gone"))
    journal = queues.get(16 | JOURNAL_BIT)
    assert journal is not None
    assert (journal.name, journal.kind, journal.known) == (
        "orders;JOURNAL",
        QueueKind.JOURNAL,
        True,
    )
    assert queues.get(17 | JOURNAL_BIT) is None
    assert queues.get(18 | JOURNAL_BIT) is None


def test_what_is_found_is_held_against_the_counters() -> None:
    queues = CheckedQueues()
    queues.take(16, 0, row("orders"))
    queues.take(16, COUNTERS_ROW, pack_counters(1, 10))
    orders = queues.get(16)
    assert orders is not None
    orders.messages, orders.bytes = 1, 9
    assert list(queues.wrong_counters()) == [
        "There are 1 messages of 9 bytes in queue orders, which counts 1 of 10 bytes."
    ]
    orders.bytes = 10
    assert list(queues.wrong_counters()) == []


def test_a_row_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="99"):
        CheckedQueues().take(16, 99, b"")
