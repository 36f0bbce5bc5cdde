"""Queues behave as the plain lists of [MS-MQDMPR] do, however calls and commits interleave.

`tests/strategies/model` is that description. Random work is done on both; contents, order, counts,
sizes and answers are compared after every step. Commits are steps of their own: they start and
finish, or fail, with other calls between.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.strategies.queue_run import Run
from tests.strategies.queues import FaultyStore, Step, program

from openmsmq.model import core, emptying, expiring, recovery, transaction

STEPS = 50
PROGRAMS = 100
"In each part, so that several processes can share the work."


@pytest.fixture(autouse=True, scope="module")
def _small_sizes() -> Iterator[None]:
    """Let everything that happens after many messages happen after few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "SPILL_SIZE", 700)
        patch.setattr(emptying, "STEP", 3)
        patch.setattr(expiring, "STEP", 3)
        patch.setattr(core, "MESSAGE_ID_BLOCK", 64)
        patch.setattr(recovery, "MESSAGE_ID_BLOCK", 64)
        yield


def work(steps: list[Step]) -> None:
    """Do all steps, and agree after each."""
    run = Run(FaultyStore())
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


def try_programs(seeds: range) -> None:
    for seed in seeds:
        steps = program(seed, STEPS)
        if failure(steps) is not None:
            fewer = shortened(steps)
            lines = "\n".join(map(str, fewer))
            raise AssertionError(f"seed {seed}, with\n{lines}") from failure(fewer)


@pytest.mark.parametrize("part", range(10))
def test_a_manager_does_what_the_model_does(part: int) -> None:
    try_programs(range(part * PROGRAMS, (part + 1) * PROGRAMS))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10, 40))
def test_it_does_so_in_many_more_programs(part: int) -> None:
    try_programs(range(part * PROGRAMS, (part + 1) * PROGRAMS))
