"""Queues behave as the plain lists of [MS-MQDMPR] do, however calls and commits interleave.

`tests/strategies/model` is that description. Random work is done on both; contents, order, counts,
sizes and answers are compared after every step. Commits are steps of their own: they start and
finish, or fail, with other calls between.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.quick import first_quick
from tests.strategies.queue_run import Run
from tests.strategies.queues import FaultyStore, Step, program

from openmsmq.engine.commit import number_reservation
from openmsmq.engine.messages import delay as delaying
from openmsmq.engine.messages import expiry_sweep as expiring
from openmsmq.engine.messages import sparse_runs
from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.storage import recovery, runs
from openmsmq.engine.transactions import transaction

STEPS = 50
PROGRAMS = 100
"In each part, so that several processes can share the work."
LAST_PART = pytest.param(2, marks=pytest.mark.torture)
RARELY = (
    "peek",
    "by_lookup",
    "end_read",
    "put_back",
    "cursor",
    "close",
    "create",
    "delete",
    "configure",
    "cancel",
    "correct",
)
"What has little to do with transactions."


@pytest.fixture(autouse=True, scope="module")
def _small_sizes() -> Iterator[None]:
    """Let everything that happens after many messages happen after few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "SPILL_SIZE", 700)
        patch.setattr(emptying, "STEP", 3)
        patch.setattr(expiring, "STEP", 3)
        patch.setattr(delaying, "STEP", 3)
        for module in (number_reservation, recovery):
            patch.setattr(module, "MESSAGE_ID_BLOCK", 64)
        patch.setattr(runs, "COUNT_MIN", 2)
        patch.setattr(runs, "SPARSE", 1)
        patch.setattr(sparse_runs, "PATIENCE", 1)
        yield


def work(steps: list[Step], *, is_interrupted: bool = False) -> None:
    """Do all steps, and agree after each."""
    run = Run(FaultyStore())
    run.is_interrupted = is_interrupted
    run.set_up()
    for step in steps:
        run.check()
        run.do(step)
    run.check()
    run.commit()
    run.check()
    run.restart()
    run.commit()
    run.check()
    run.empty(commit=True)


def failure(steps: list[Step]) -> Exception | None:
    try:
        work(steps)
    except Exception as error:
        return error
    return None


def shortened(steps: list[Step]) -> list[Step]:
    """Steps that fail still, none of which can be left out."""
    at = 0
    while at < len(steps):
        fewer = steps[:at] + steps[at + 1 :]
        if failure(fewer) is None:
            at += 1
        else:
            steps = fewer
    return steps


def try_programs(seeds: range, *, without: tuple[str, ...] = ()) -> None:
    for seed in seeds:
        steps = program(seed, STEPS, without=without)
        if failure(steps) is not None:
            fewer = shortened(steps)
            lines = "\n".join(map(str, fewer))
            raise AssertionError(f"seed {seed}, with\n{lines}") from failure(fewer)


@pytest.mark.parametrize("part", first_quick(range(3)))
def test_a_manager_does_what_the_model_does(part: int) -> None:
    try_programs(range(part * PROGRAMS, (part + 1) * PROGRAMS))


@pytest.mark.torture
@pytest.mark.parametrize("part", range(3, 20))
def test_it_does_so_in_many_more_programs(part: int) -> None:
    try_programs(range(part * PROGRAMS, (part + 1) * PROGRAMS))


@pytest.mark.parametrize("part", [*first_quick(range(2)), LAST_PART])
def test_it_does_so_with_more_transactions(part: int) -> None:
    """Many messages are aborted, wait, and become poison."""
    try_programs(range(part * PROGRAMS, (part + 1) * PROGRAMS), without=RARELY)


@pytest.mark.parametrize("part", [*first_quick(range(2)), LAST_PART])
def test_it_does_so_if_every_commit_is_written_twice(part: int) -> None:
    """What an operation left in memory when it was written in vain changes nothing."""
    for seed in range(part * PROGRAMS, part * PROGRAMS + 60):
        work(program(seed, STEPS), is_interrupted=True)


def test_what_was_moved_out_of_a_purge_stays_when_it_is_back() -> None:
    """Too rare for chance: the disk must not take it for purged after the next start."""
    run = Run(FaultyStore())
    run.set_up()
    queue, model = run.slots[2], run.model
    subqueue = run.subqueue(queue, 2, "a")
    lookup = queue.model.positions[0].lookup
    move = run.manager.moves.move
    real, transaction = run.manager.begin(), model.begin("")
    run.ask(
        lambda: move(queue.real, lookup, subqueue.real, real),
        lambda _: model.move(queue.model, lookup, subqueue.model, transaction),
    )
    run.ask(lambda: run.core.queue_lifecycle.purge(queue.real), lambda _: model.purge(queue.model))
    run.commit()
    run.ask(lambda: run.manager.commit(real), lambda _: model.commit(transaction))
    run.commit()
    run.ask(
        lambda: move(subqueue.real, lookup, queue.real, None),
        lambda _: model.move(subqueue.model, lookup, queue.model, None),
    )
    run.commit()
    run.restart()
    run.commit()
    run.check()
    assert [position.lookup for position in queue.model.positions] == [lookup]
