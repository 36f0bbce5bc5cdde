"""`openmsmq transaction`."""

from __future__ import annotations

import pytest
from tests.unit.cli.commands import Cli

from openmsmq import Message


@pytest.fixture
def waiting(cli: Cli) -> Cli:
    """A transaction `t-1` that sent a message and is prepared."""
    with cli.open() as manager:
        queue = manager.create_queue("orders", transactional=True)
        transaction = manager.transaction("t-1")
        queue.send(Message(b"1"), transaction=transaction)
        transaction.prepare()
    return cli


def test_prepared_transactions_are_listed(waiting: Cli) -> None:
    head, line = waiting.lines("transaction", "list")
    assert (head.split(), line.split()[0], line.split()[2]) == (["NAME", "AGE"], "t-1", "s")
    [found] = waiting.objects("transaction", "list")
    assert found == {"name": "t-1", "state": "prepared", "age": found["age"]}
    assert 0 <= found["age"] < 60


def test_a_transaction_is_committed(waiting: Cli) -> None:
    assert waiting.lines("transaction", "commit", "t-1") == ["committed t-1"]
    assert waiting.bodies("orders") == [b"1"]
    assert waiting.lines("transaction", "list") == []


def test_a_transaction_is_aborted(waiting: Cli) -> None:
    assert waiting.objects("transaction", "abort", "t-1") == [{"name": "t-1", "state": "aborted"}]
    assert waiting.bodies("orders") == []


def test_an_unknown_transaction_is_refused(waiting: Cli) -> None:
    assert "no transaction t-2" in waiting("transaction", "commit", "t-2", code=1).stderr
    assert [found["name"] for found in waiting.objects("transaction", "list")] == ["t-1"]
