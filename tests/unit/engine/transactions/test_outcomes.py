"""How prepared transactions ended."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import World

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions import outcomes as decisions
from openmsmq.engine.transactions.outcomes import Decisions
from openmsmq.errors import StorageFailed, TransactionSequence
from openmsmq.store.memory import MemoryStore


def decide(store: MemoryStore, made: Decisions, xid: str, *, committed: bool) -> None:
    """Write down an outcome, and commit."""
    made.write(store.begin(), xid, committed=committed)
    store.commit()
    store.refresh()
    made.note(xid, committed=committed)


def rows(store: MemoryStore) -> int:
    return len(store.committed.tables[Table.META])


def test_outcomes_are_remembered_through_a_restart() -> None:
    store = MemoryStore()
    made = Decisions(store.snapshot)
    assert made.get("a") is None
    decide(store, made, "a", committed=True)
    decide(store, made, "b", committed=False)
    for found in (made, Decisions(store.snapshot)):
        assert (found.get("a"), found.get("b"), found.get("c")) == (True, False, None)


def test_no_start_writes_over_what_was_written_before_it() -> None:
    """Each outcome has a number of its own, though the manager starts before every one."""
    store = MemoryStore()
    for number in range(5):
        decide(store, Decisions(store.snapshot), str(number), committed=True)
    found = Decisions(store.snapshot)
    assert [found.get(str(number)) for number in range(5)] == [True] * 5
    assert rows(store) == 5


def test_the_last_outcome_of_a_name_counts() -> None:
    store = MemoryStore()
    made = Decisions(store.snapshot)
    for committed in (True, False):
        decide(store, made, "a", committed=committed)
    assert made.get("a") is False
    assert Decisions(store.snapshot).get("a") is False


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """On disk too, and though the manager is started again and again."""
    monkeypatch.setattr(decisions, "DECISIONS_MAX", 5)
    store = MemoryStore()
    made = Decisions(store.snapshot)
    for number in range(40):
        if number % 7 == 0:
            made = Decisions(store.snapshot)
        decide(store, made, str(number), committed=True)
        assert rows(store) <= 6
    known = [number for number in range(40) if made.get(str(number))]
    assert known[-5:] == list(range(35, 40))
    assert len(known) <= 6


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    queue = world.queue(transactional=True)
    transaction = world.transactions.begin("xid")
    world.send(queue, "a", transaction=transaction)
    world.done(world.transactions.prepare(transaction))
    return queue


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("commits", [True, False])
def test_to_ask_for_the_same_outcome_again_changes_nothing(
    world: World, queue: ManagedQueue, commits: bool, restarts: bool
) -> None:
    """DMPR-284, DMPR-289."""

    def end(world: World, *, commits: bool) -> None:
        transacting = world.transactions
        call = transacting.commit_prepared if commits else transacting.abort_prepared
        world.done(call("xid"))

    end(world, commits=commits)
    if restarts:
        world = world.restart()
    end(world, commits=commits)
    with pytest.raises(TransactionSequence, match="before"):
        end(world, commits=not commits)
    assert world.read(world.find()) == ["a"] * commits


def test_an_outcome_that_could_not_be_written_was_none(world: World, queue: ManagedQueue) -> None:
    pending = world.transactions.commit_prepared("xid")
    world.commit(StorageFailed("disk"))
    assert isinstance(pending.error, StorageFailed)
    assert world.core.decisions.get("xid") is None
    world.done(world.transactions.abort_prepared("xid"))
    assert world.read(queue) == []


def test_a_transaction_that_was_never_prepared_is_unknown(world: World) -> None:
    transaction = world.transactions.begin("other")
    world.done(world.transactions.commit(transaction))
    for end in (world.transactions.commit_prepared, world.transactions.abort_prepared):
        with pytest.raises(TransactionSequence, match="no transaction other is prepared"):
            end("other")
