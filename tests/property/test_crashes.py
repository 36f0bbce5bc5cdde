"""A crash at any write loses nothing that was answered and shows nothing by halves.

Random work dies at each of its writes in turn, before a commit takes effect and after. What is
found on the disk must be what the model in `tests/strategies/model` had committed, no more and no
less: since the model answers when it has committed, that is all that was acknowledged. A message
that left is in its journal or a dead letter, its acknowledgement is there, or it has not left.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.quick import first_quick
from tests.strategies.queue_run import Run
from tests.strategies.queues import FaultyStore, program

from openmsmq.engine.commit import number_reservation
from openmsmq.engine.messages import expiry_sweep as expiring
from openmsmq.engine.messages import sparse_runs
from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.storage import recovery, runs
from openmsmq.engine.transactions import transaction
from openmsmq.store.memory import Crash

STEPS = 40
WITHOUT = ("fail", "peek", "cancel", "restart")


@pytest.fixture(autouse=True, scope="module")
def _small_sizes() -> Iterator[None]:
    """Let everything that happens after many messages happen after few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "SPILL_SIZE", 700)
        patch.setattr(emptying, "STEP", 3)
        patch.setattr(expiring, "STEP", 3)
        for module in (number_reservation, recovery):
            patch.setattr(module, "MESSAGE_ID_BLOCK", 64)
        patch.setattr(runs, "COUNT_MIN", 2)
        patch.setattr(runs, "SPARSE", 1)
        patch.setattr(sparse_runs, "PATIENCE", 1)
        yield


def work(seed: int, dies_at: int = 0, *, after: bool = False) -> tuple[Run, int]:
    """Work that dies at one of its writes, 0 for none, and how many were made before it began."""
    run = Run(FaultyStore())
    run.set_up()
    before = run.store.writes
    if dies_at:
        run.store.fail_at(dies_at, after=after)
    try:
        for step in program(seed, STEPS, without=WITHOUT):
            run.do(step)
            run.check_answers()
        run.commit()
    except Crash:
        assert dies_at
        run.check_answers()
        die(run, after=after)
    else:
        assert not dies_at
    return run, before


def die(run: Run, *, after: bool) -> None:
    """The process is gone; a commit on its way to the disk has got there, or not."""
    if after and run.is_writing:
        run.model.finish()
    run.is_writing = False


def die_again(run: Run, dies_at: int, *, after: bool) -> None:
    """The next start dies too, sooner or later."""
    store = FaultyStore(run.store.committed)
    store.fail_at(dies_at, after=after)
    try:
        run.restart(store)
        run.commit()
        run.tick()
        run.commit()
    except Crash:
        die(run, after=after)


def die_everywhere(seed: int, *, only_commits: bool) -> None:
    """The same work again and again, each time a little longer."""
    whole, before = work(seed)
    commits = [write - before for write in whole.commits if write > before]
    writes = commits if only_commits else range(1, whole.store.writes - before + 1)
    crashes = [(write, False) for write in writes] + [(write, True) for write in commits]
    for write, after in crashes:
        run, _ = work(seed, write, after=after)
        die_again(run, 1 + write % 13, after=write % 2 == 0)
        run.restart()
        run.commit()
        run.check()
        run.empty(commit=write % 2 == 0)


@pytest.mark.parametrize("seed", first_quick(range(40)))
def test_a_crash_at_any_commit_leaves_what_was_answered(seed: int) -> None:
    """DMPR-001, DMPR-003, DMPR-028, DMPR-030, DMPR-097, DMPR-105, DMPR-108, DMPR-392."""
    die_everywhere(seed, only_commits=True)


@pytest.mark.parametrize("seed", first_quick(range(40, 44)))
def test_so_does_a_crash_at_any_write(seed: int) -> None:
    die_everywhere(seed, only_commits=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed",
    [*range(44, 49), *(pytest.param(n, marks=pytest.mark.acceptance) for n in range(49, 84))],
)
def test_it_does_so_in_more_work(seed: int) -> None:
    die_everywhere(seed, only_commits=False)
