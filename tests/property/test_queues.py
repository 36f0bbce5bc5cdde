"""Queues behave as the plain lists of [MS-MQDMPR] do, however calls and commits interleave."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, note, settings
from tests.strategies.queues import FaultyStore, Run, Step, steps

from openmsmq.model import transaction

SPILL_SIZE = 700


@pytest.fixture(autouse=True, scope="module")
def _small_transactions() -> Iterator[None]:
    """Let transactions write to the store after a few messages already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "SPILL_SIZE", SPILL_SIZE)
        yield


def work(program: list[Step]) -> None:
    run = Run(FaultyStore())
    for number, step in enumerate(program):
        if step.action != "rest":
            note(f"{number}: {step}")
        run.do(step)
    run.commit()
    run.check()


@pytest.mark.slow
@settings(max_examples=1000, derandomize=True)
@given(steps(50))
def test_a_manager_does_what_the_model_does(program: list[Step]) -> None:
    work(program)
