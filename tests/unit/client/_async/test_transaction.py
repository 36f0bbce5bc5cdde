"""Transactions in two phases, as the DB-API names them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.client.adapter import Api

import openmsmq
from openmsmq import Manager, Message
from openmsmq.errors import TransactionSequence, TransactionUsage


def count(manager: Manager) -> int:
    return manager.open_queue("ledger").info().messages


def prepared(manager: Manager, xid: str) -> openmsmq.TwoPhase:
    work = manager.tpc(xid)
    work.tpc_begin()
    manager.open_queue("ledger").send("x", transaction=work)
    work.tpc_prepare()
    return work


def test_two_phases_commit_once_however_often_it_is_asked_for(api: Api, tmp_path: Path) -> None:
    with api.open(tmp_path) as manager:
        manager.create_queue("ledger", transactional=True)
        work = prepared(manager, "x1")
        assert work.tpc_recover() == ["x1"]
        assert count(manager) == 0
        for _ in range(3):
            work.tpc_commit()
        assert (count(manager), work.tpc_recover()) == (1, [])
        with pytest.raises(TransactionSequence, match="x1 was committed before"):
            work.tpc_rollback()
    with api.open(tmp_path) as manager:
        manager.tpc().tpc_commit("x1")
        assert count(manager) == 1


def test_a_prepared_transaction_is_ended_by_the_next_process(api: Api, tmp_path: Path) -> None:
    with api.open(tmp_path) as manager:
        manager.create_queue("ledger", transactional=True)
        for xid in ("yes", "no"):
            prepared(manager, xid)
    with api.open(tmp_path) as manager:
        recovered = manager.tpc()
        assert recovered.tpc_recover() == ["no", "yes"]
        for _ in range(2):
            recovered.tpc_commit("yes")
            recovered.tpc_rollback("no")
        assert count(manager) == 1
        with pytest.raises(TransactionSequence, match="no was aborted before"):
            recovered.tpc_commit("no")


def test_one_phase_is_enough_where_nothing_is_prepared(api: Api, tmp_path: Path) -> None:
    with api.open(tmp_path) as manager:
        queue = manager.create_queue("ledger", transactional=True)
        for end in ("tpc_commit", "tpc_rollback"):
            work = manager.tpc(end)
            queue.send("x", transaction=work)
            getattr(work, end)()
        assert count(manager) == 1


def test_what_was_never_prepared_cannot_be_ended_by_name(api: Api, tmp_path: Path) -> None:
    with api.open(tmp_path) as manager, pytest.raises(TransactionSequence, match="ghost"):
        manager.commit_prepared("ghost")


def test_an_epoch_is_committed_once(manager: Manager) -> None:
    manager.create_queue("ledger", transactional=True)
    for xid in ("w/1/a", "w/1/b"):
        prepared(manager, xid)
    assert manager.commit_epoch("w", 1, ["w/1/a"]) is True
    assert manager.commit_epoch("w", 1, ["w/1/a"]) is False
    assert (manager.prepared(), count(manager)) == ([], 1)


def test_messages_to_a_plain_queue_are_staged_when_asked_for(api: Api, tmp_path: Path) -> None:
    manager = api.open(tmp_path)
    plain = manager.create_queue("plain")
    strict = manager.create_queue("strict", transactional=True)
    with pytest.raises(TransactionUsage), manager.transaction() as refusing:
        plain.send("x", transaction=refusing)
    with manager.transaction("w/0/1", stage=True) as staging:
        plain.send(Message("a", priority=5, recoverable=False), transaction=staging)
        strict.send(Message("b", priority=5), transaction=staging)
        staging.prepare()
    assert plain.peek_many(1, timeout=0) == []
    assert manager.commit_epoch("w", 0, ["w/0/1"], owner="me")
    with pytest.raises(TransactionSequence):
        manager.commit_epoch("w", 1, [], owner="you")
    first, second = plain.receive(timeout=0), strict.receive(timeout=0)
    assert (first.text, first.priority, first.transactional) == ("a", 5, False)
    assert (second.text, second.priority, second.transactional) == ("b", 0, True)
