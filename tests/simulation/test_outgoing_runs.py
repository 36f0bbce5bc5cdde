"""Mistakes about runs of outgoing queues are found: lifetimes, numbers, what is acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.run_rows import StoredRun
from openmsmq.engine.outgoing import confirmations, dispatch, sequence_numbers
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.runs import Found, plain_after
from openmsmq.engine.storage.tables import Snapshot
from openmsmq.packet.columns import numbered_run
from tests.simulation.mistakes import Plant, find

place_run = Batch.place_run
sent_slices = confirmations._sent_slices


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

    def wrong(queue: ManagedQueue, first: int, end: int) -> tuple[list[RunSlice], int]:
        return sent_slices(queue, first, end + 1)

    patch.setattr(confirmations, "_sent_slices", wrong)


def numbers_are_those_of_the_first(patch: pytest.MonkeyPatch) -> None:
    """All messages of a slice have one place in their sequence."""

    def wrong(
        packets: bytes, sizes: Any, ordinal: int, stamp: int, numbers: Any, previous: Any
    ) -> bytes:
        same = [numbers[0]] * len(numbers)
        return numbered_run(packets, sizes, ordinal, stamp, same, previous)

    patch.setattr(dispatch, "numbered_run", wrong)


MISTAKES = (
    runs_never_expire,
    runs_begin_no_sequence,
    sequences_end_before_their_runs,
    one_more_leaves_than_was_acknowledged,
    numbers_are_those_of_the_first,
)


@pytest.mark.slow
@pytest.mark.parametrize("plant", MISTAKES, ids=lambda plant: plant.__name__)
def test_a_mistake_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    find(plant, monkeypatch, "transfers")
