"""Mistakes about runs of outgoing queues are found: lifetimes, numbers, what is acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.run_rows import StoredRun
from openmsmq.engine.outgoing import confirmations, sequence_numbers
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.runs import Found, plain_after, stored_between
from openmsmq.engine.storage.tables import Snapshot
from tests.simulation.mistakes import Plant, find

place_run = Batch.place_run


def runs_never_expire(patch: pytest.MonkeyPatch) -> None:
    """Nothing says when the messages of a run expire."""

    def wrong(batch: Batch, *given: Any) -> range:
        rows = len(batch._expiry_rows)
        found = place_run(batch, *given)
        del batch._expiry_rows[rows:]
        return found

    patch.setattr(Batch, "place_run", wrong)


def runs_begin_no_sequence(patch: pytest.MonkeyPatch) -> None:
    """Messages of a run in a transaction get no numbers of their own."""

    def wrong(batch: Batch, queue: ManagedQueue, run: StoredRun, by: str) -> range:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Batch, "_number", lambda *_: None)
            return place_run(batch, queue, run, by)

    patch.setattr(Batch, "place_run", wrong)


def sequences_end_before_their_runs(patch: pytest.MonkeyPatch) -> None:
    """A sequence is over although there are messages of it in runs."""

    def wrong(snapshot: Snapshot, queue: int, first: int, end: int) -> Iterator[Found]:
        found = plain_after(snapshot, queue, first - 1)
        return (item for item in found if item[0] < end)

    patch.setattr(sequence_numbers, "stored_between", wrong)


def one_more_leaves_than_was_acknowledged(patch: pytest.MonkeyPatch) -> None:
    """The message behind those that an OrderAck names leaves with them."""

    def wrong(snapshot: Snapshot, queue: int, first: int, end: int) -> Iterator[Found]:
        return stored_between(snapshot, queue, first, end + 1)

    patch.setattr(confirmations, "stored_between", wrong)


MISTAKES = (
    runs_never_expire,
    runs_begin_no_sequence,
    sequences_end_before_their_runs,
    one_more_leaves_than_was_acknowledged,
)


@pytest.mark.slow
@pytest.mark.parametrize("plant", MISTAKES, ids=lambda plant: plant.__name__)
def test_a_mistake_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    find(plant, monkeypatch, "transfers")
