"""A process dies at any step of a unit: all agree afterwards, and nothing is left locked.

The real coordinator runs over real managers in memory and a database that keeps to the DB-API. At
each step, before and after each call to one of them, the program, one of the managers or the
database dies; then someone recovers, perhaps dies too, and the next one finishes.
"""

from __future__ import annotations

import random

import pytest
from tests.strategies.units import Outcome, Victim, World

SEEDS = 150


def whole(*, with_other: bool) -> int:
    """The steps of a unit that no one disturbs."""
    world = World()
    assert world.run(with_other=with_other) is Outcome.COMMITTED
    world.check(Outcome.COMMITTED)
    return len(world.steps)


def die(step: int, victim: Victim, *, with_other: bool) -> tuple[World, Outcome]:
    """Someone dies during a unit."""
    world = World()
    world.kill_at(step, victim)
    outcome = world.run(with_other=with_other)
    world.live_on()
    return world, outcome


def test_a_unit_that_no_one_disturbs_leaves_nothing_behind() -> None:
    assert whole(with_other=True) > whole(with_other=False) > 20


@pytest.mark.parametrize(
    ("victim", "with_other"),
    [(victim, True) for victim in Victim] + [(v, False) for v in Victim if v is not Victim.OTHER],
)
def test_all_agree_after_a_death_at_any_step(victim: Victim, *, with_other: bool) -> None:
    """SYS-018, SYS-088."""
    seen = set()
    for step in range(1, whole(with_other=with_other) + 1):
        world, outcome = die(step, victim, with_other=with_other)
        world.recover()
        world.check(outcome)
        seen.add((outcome, bool(world.database.rows)))
    assert {is_committed for _, is_committed in seen} == {True, False}


@pytest.mark.parametrize("victim", Victim)
def test_the_next_unit_recovers_by_itself(victim: Victim) -> None:
    for step in range(1, whole(with_other=True) + 1):
        world, outcome = die(step, victim, with_other=True)
        for party in world.parties.values():
            party.drop_programs()
        world.run()  # with an order, or without one
        world.check(outcome if outcome is Outcome.COMMITTED else Outcome.UNKNOWN)


def test_all_agree_although_recovery_dies_too() -> None:
    steps = whole(with_other=True)
    chance = random.Random(7)
    for _ in range(SEEDS):
        world, outcome = die(
            chance.randint(steps // 3, steps), chance.choice(list(Victim)), with_other=True
        )
        for _ in range(2):
            world.kill_at(chance.randint(1, 12), chance.choice(list(Victim)))
            world.recover()
        world.live_on()
        world.recover()
        world.check(outcome)


@pytest.mark.torture
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("victim", Victim)
@pytest.mark.parametrize("next_victim", Victim)
def test_all_agree_whenever_recovery_dies(victim: Victim, next_victim: Victim) -> None:
    for step in range(1, whole(with_other=True) + 1):
        for second in range(1, 16):
            world, outcome = die(step, victim, with_other=True)
            world.kill_at(second, next_victim)
            world.recover()
            world.live_on()
            world.recover()
            world.check(outcome)


def test_an_active_unit_is_left_alone() -> None:
    """Another program recovers while one is between its first phase and its decision."""
    world = World()
    found: list[str] = []

    def look(name: str) -> None:
        if name == "decider: before commit":
            world.step = lambda name: None  # type: ignore[method-assign]
            found.extend(world.recover_beside())

    world.step = look  # type: ignore[method-assign]
    assert world.run() is Outcome.COMMITTED
    assert found == ["alive", "alive"]
    world.check(Outcome.COMMITTED)
