"""Units that this manager decides: the decision lasts until all have confirmed it."""

from __future__ import annotations

from unittest.mock import patch
from uuid import UUID

import pytest
from tests.unit.engine.world import ME, World

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.transactions import outcomes as decisions
from openmsmq.engine.transactions.distributed import Units
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    InsufficientResources,
    InvalidParameter,
    StorageFailed,
    TransactionSequence,
)
from openmsmq.types.units import UnitState, unit_name

NAME = unit_name(ME, "0" * 24)
OTHERS = ("database", "manager")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    return world.queue(transactional=True)


@pytest.fixture
def units(world: World) -> Units:
    return Units(world.core, world.transactions)


def begun(world: World, queue: ManagedQueue, name: str = NAME) -> ManagedTransaction:
    transaction = world.transactions.begin(name)
    world.send(queue, "x", transaction=transaction)
    return transaction


def waiting(units: Units) -> dict[str, tuple[str, ...]]:
    return {unit.name: unit.waiting for unit in units.decided}


def test_a_unit_is_active_then_committing_and_forgotten_when_all_have_confirmed(
    world: World, queue: ManagedQueue, units: Units
) -> None:
    transaction = begun(world, queue)
    assert (units.is_own(transaction), units.state(NAME)) == (True, UnitState.ACTIVE)
    pending = units.commit(transaction, OTHERS)
    assert units.state(NAME) is UnitState.ACTIVE
    world.done(pending)
    assert world.read(queue) == ["x"]
    assert (units.state(NAME), waiting(units)) == (UnitState.COMMITTING, {NAME: OTHERS})
    world.done(units.finish(NAME, ["database"]))
    assert (units.state(NAME), waiting(units)) == (UnitState.COMMITTED, {NAME: ("manager",)})
    world.done(units.finish(NAME, ["manager"]))
    assert waiting(units) == {}
    assert units.state(NAME) is UnitState.COMMITTED, "who did not get the answer may ask"


def test_what_is_neither_active_nor_decided_is_aborted(
    world: World, queue: ManagedQueue, units: Units
) -> None:
    assert units.state(NAME) is UnitState.ABORTED
    transaction = begun(world, queue)
    world.done(world.transactions.abort(transaction))
    assert units.state(NAME) is UnitState.ABORTED


def test_a_decision_outlives_a_crash_and_its_program_does_not(
    world: World, queue: ManagedQueue, units: Units
) -> None:
    world.done(units.commit(begun(world, queue), OTHERS))
    begun(world, queue, lost := unit_name(ME, "1" * 24))
    again = world.restart()
    found = Units(again.core, again.transactions)
    assert found.state(NAME) is UnitState.COMMITTED
    assert found.state(lost) is UnitState.ABORTED
    assert waiting(found) == {NAME: OTHERS}
    again.done(found.finish(NAME, OTHERS))
    last = again.restart()
    assert waiting(Units(last.core, last.transactions)) == {}


def test_a_crash_before_the_commit_leaves_neither_decision_nor_message(
    world: World, queue: ManagedQueue, units: Units
) -> None:
    units.commit(begun(world, queue), OTHERS)
    again = world.restart()
    assert Units(again.core, again.transactions).state(NAME) is UnitState.ABORTED
    assert again.read(again.find()) == []


def test_a_unit_with_nothing_done_here_is_decided_all_the_same(world: World, units: Units) -> None:
    world.done(units.commit(world.transactions.begin(NAME), OTHERS))
    again = world.restart()
    assert waiting(Units(again.core, again.transactions)) == {NAME: OTHERS}


def test_a_unit_without_participants_leaves_its_outcome_only(
    world: World, queue: ManagedQueue, units: Units
) -> None:
    world.done(units.commit(begun(world, queue), ()))
    assert (waiting(units), units.state(NAME)) == ({}, UnitState.COMMITTED)
    again = world.restart()
    assert Units(again.core, again.transactions).state(NAME) is UnitState.COMMITTED


def test_a_commit_that_fails_decides_nothing(
    world: World, queue: ManagedQueue, units: Units
) -> None:
    transaction = begun(world, queue)
    pending = units.commit(transaction, OTHERS)
    world.commit(StorageFailed("broken"))
    assert pending.error is not None
    assert units.state(NAME) is UnitState.ACTIVE
    world.done(units.commit(transaction, OTHERS))
    assert units.state(NAME) is UnitState.COMMITTING


def test_a_transaction_that_is_doomed_meanwhile_decides_nothing(
    world: World, queue: ManagedQueue, units: Units
) -> None:
    transaction = begun(world, queue)
    pending = units.commit(transaction, OTHERS)
    transaction.doom()
    with pytest.raises(TransactionSequence):
        world.done(pending)
    assert units.state(NAME) is UnitState.ACTIVE
    again = world.restart()
    assert Units(again.core, again.transactions).state(NAME) is UnitState.ABORTED


def test_the_end_of_its_program_lets_others_finish_a_unit(
    world: World, queue: ManagedQueue, units: Units
) -> None:
    world.done(units.commit(begun(world, queue), OTHERS))
    units.leave([NAME, "another's"])
    assert units.state(NAME) is UnitState.COMMITTED


def test_to_finish_again_or_what_no_one_knows_changes_nothing(
    world: World, queue: ManagedQueue, units: Units
) -> None:
    world.done(units.commit(begun(world, queue), OTHERS))
    first, second = units.finish(NAME, ["database"]), units.finish(NAME, ["manager"])
    third = units.finish(NAME, OTHERS)
    for pending in (first, second, third, units.finish("ghost", []), units.finish(NAME, OTHERS)):
        world.done(pending)
    assert waiting(units) == {}
    again = world.restart()
    assert waiting(Units(again.core, again.transactions)) == {}


def test_a_confirmation_that_could_not_be_written_is_still_owed(
    world: World, queue: ManagedQueue, units: Units
) -> None:
    world.done(units.commit(begun(world, queue), OTHERS))
    pending = units.finish(NAME, OTHERS)
    world.commit(StorageFailed("broken"))
    with pytest.raises(StorageFailed):
        pending.result()
    assert waiting(units) == {NAME: OTHERS}
    world.done(units.finish(NAME, ["no one"]))
    assert waiting(units) == {NAME: OTHERS}


def test_a_name_is_used_once(world: World, queue: ManagedQueue, units: Units) -> None:
    transaction = begun(world, queue)
    with pytest.raises(TransactionSequence, match="is already active"):
        world.transactions.begin(NAME)
    world.done(units.commit(transaction, OTHERS))
    for confirmed in (0, 2):
        world.done(units.finish(NAME, OTHERS[:confirmed]))
        again = world.transactions.begin(NAME)
        with pytest.raises(TransactionSequence, match="decided before"):
            units.commit(again, OTHERS)
        world.done(world.transactions.abort(again))


def test_the_part_in_a_unit_of_another_manager_is_not_decided_here(
    world: World, units: Units
) -> None:
    name = unit_name(UUID(int=8), "0" * 24)
    assert not units.is_own(world.transactions.begin(name))
    assert units.state(name) is UnitState.ABORTED


@pytest.mark.parametrize("others", [[""], ["x" * 251], ["x"] * 65])
def test_participants_are_few_and_have_names(
    world: World, queue: ManagedQueue, units: Units, others: list[str]
) -> None:
    with pytest.raises(InvalidParameter, match="participants"):
        units.commit(begun(world, queue), others)


def test_undone_units_are_refused_rather_than_forgotten(
    world: World, queue: ManagedQueue, units: Units
) -> None:
    world.done(units.commit(begun(world, queue), OTHERS))
    with (
        patch("openmsmq.engine.transactions.distributed.UNITS_MAX", 1),
        pytest.raises(InsufficientResources, match="recover some first"),
    ):
        units.commit(begun(world, queue, unit_name(ME, "1" * 24)), OTHERS)
    with patch.object(decisions, "DECISIONS_MAX", 0):
        assert units.state(NAME) is UnitState.COMMITTING
