"""Queues in transactions of Zope."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import transaction

import openmsmq
from openmsmq import Manager, Queue
from openmsmq.adapters.zope import QueueDataManager, join
from openmsmq.errors import ServiceNotAvailable, StorageFull


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    with openmsmq.open(tmp_path) as made:
        made.create_queue("orders", transactional=True)
        yield made
        transaction.abort()


@pytest.fixture
def orders(manager: Manager) -> Queue:
    return manager.open_queue("orders")


class Other:
    """Another with a part in the transaction."""

    transaction_manager = transaction.manager

    def __init__(self, fails: str = "") -> None:
        self.said: list[str] = []
        self._fails = fails

    def sortKey(self) -> str:
        return "database"

    def __getattr__(self, name: str) -> Any:
        if name == "savepoint":
            raise AttributeError(name)

        def call(_: object) -> None:
            self.said.append(name)
            if name == self._fails:
                raise KeyError(name)

        return call


def count(queue: Queue) -> int:
    return queue.info().messages


def test_it_keeps_to_the_interface_of_zope(manager: Manager) -> None:
    from transaction.interfaces import IDataManager

    found = QueueDataManager(manager, transaction.manager)
    for name in IDataManager.names():
        assert hasattr(found, name), name


def test_sends_and_receives_take_effect_with_all_others(manager: Manager, orders: Queue) -> None:
    other = Other()
    transaction.get().join(other)
    orders.send("one", transaction=join(manager))
    orders.send("two", transaction=join(manager))
    assert count(orders) == 0
    transaction.commit()
    assert count(orders) == 2
    assert other.said == ["tpc_begin", "commit", "tpc_vote", "tpc_finish"]
    with transaction.manager:
        assert orders.receive(timeout=0, transaction=join(manager)).text == "one"
    assert (count(orders), manager.prepared()) == (1, [])


def test_an_abort_undoes_them(manager: Manager, orders: Queue) -> None:
    orders.send("one", transaction=join(manager))
    transaction.abort()
    assert (count(orders), manager.prepared()) == (0, [])


@pytest.mark.parametrize("phase", ["tpc_begin", "commit", "tpc_vote", "tpc_finish"])
def test_another_one_that_fails_undoes_them(manager: Manager, orders: Queue, phase: str) -> None:
    transaction.get().join(Other(phase))
    orders.send("one", transaction=join(manager))
    with pytest.raises(KeyError):
        transaction.commit()
    transaction.abort()
    assert (count(orders), manager.prepared()) == (0, [])


def test_a_manager_that_cannot_prepare_undoes_the_others(
    manager: Manager, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Other()
    transaction.get().join(other)
    orders.send("one", transaction=join(manager))

    def full(work: object) -> None:
        raise StorageFull("no room")

    monkeypatch.setattr(manager.backend, "prepare", full)
    with pytest.raises(StorageFull):
        transaction.commit()
    assert other.said[-1] == "tpc_abort"
    assert count(orders) == 0


def test_what_was_decided_is_not_undone_although_the_manager_is_gone(
    manager: Manager, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(xid: str) -> None:
        raise ServiceNotAvailable("gone")

    transaction.get().join(Other())
    orders.send("one", transaction=join(manager))
    with monkeypatch.context() as patch:
        patch.setattr(manager, "commit_prepared", gone)
        with pytest.raises(ServiceNotAvailable):
            transaction.commit()
    transaction.abort()
    [name] = manager.prepared()
    assert name.startswith("zope:")
    manager.commit_prepared(name)
    assert count(orders) == 1


def test_there_are_no_savepoints(manager: Manager, orders: Queue) -> None:
    orders.send("one", transaction=join(manager))
    with pytest.raises(TypeError, match="Savepoints unsupported"):
        transaction.savepoint()
    transaction.abort()
    orders.send("one", transaction=join(manager))
    savepoint = transaction.savepoint(optimistic=True)
    with pytest.raises(TypeError, match="Savepoints unsupported"):
        savepoint.rollback()


def test_other_transaction_managers_have_transactions_of_their_own(
    manager: Manager, orders: Queue
) -> None:
    own = transaction.TransactionManager()
    orders.send("one", transaction=join(manager, own))
    orders.send("two", transaction=join(manager))
    own.commit()
    transaction.abort()
    assert [m.text for m in orders.peek_many(9, timeout=0)] == ["one"]


def test_it_comes_behind_all_others(manager: Manager) -> None:
    assert QueueDataManager(manager, transaction.manager).sortKey() > Other().sortKey()
