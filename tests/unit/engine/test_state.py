"""The state that all parts share: sizes, and what the next commit is asked to do."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import (
    World,
    commit_all,
    message,
)

from openmsmq.engine.commit.batch import Batch
from openmsmq.errors import (
    GenericError,
)


@pytest.fixture
def world() -> World:
    return World()


def test_how_much_waits_to_be_committed_is_known(world: World) -> None:
    queue = world.queue()
    assert world.core.operations_waiting == 0
    for number in range(3):
        world.enqueuer.send(queue, [message(str(number))])
    assert world.core.operations_waiting == 3
    world.commit()
    assert world.core.operations_waiting == 0


def test_what_is_submitted_together_fails_together(world: World) -> None:
    answers: list[object] = []

    def apply(batch: Batch) -> None:
        raise ZeroDivisionError

    with world.core.together():
        for _ in range(2):
            world.core.submit(lambda batch: None, lambda: answers.append("done"), answers.append)
        world.core.submit(apply, lambda: answers.append("done"), answers.append)
    commit_all(world.core)
    assert [type(answer) for answer in answers] == [GenericError] * 3


def test_the_size_of_all_queues_is_the_sum_of_theirs(world: World) -> None:
    first, second = world.queue("a"), world.queue("b")
    world.send(first, "12")
    world.send(second, "345")
    world.send(second, "6", express=True)
    assert world.core.total_size == 6
