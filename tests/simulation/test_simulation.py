"""Seeds in virtual time: no message is lost, comes twice or out of order, whatever goes wrong.

(MQQB: sessions, duplicates, sequences and acknowledgements, [MS-MQQB] 3.1.5 and 3.1.6.) Mistakes
that are planted on purpose are found, so that the seeds that find nothing mean something.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest

from openmsmq.manager.link import Link
from openmsmq.model.arrival import Work
from openmsmq.model.arriving import Arriving
from openmsmq.model.committing import Batch
from openmsmq.model.confirming import Confirming
from openmsmq.model.dispatching import Dispatching
from openmsmq.model.duplicates import Duplicates
from openmsmq.model.incoming import Head, Incoming
from openmsmq.model.outcomes import Outcomes
from openmsmq.model.sequences import LOOKUP_BASE, OutgoingSequence, Sequences
from openmsmq.model.storage import Writer
from openmsmq.store.memory import MemoryStore
from tests.simulation.world import Failed, simulate

CHUNK = 25
CHUNKS = 12
SEEDS_MAX = CHUNK * CHUNKS


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Nobody reads what so many managers have to say."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def run(seeds: range) -> None:
    """One seed after the other, until one fails."""
    for seed in seeds:
        simulate(seed)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_goes_wrong(seed: int) -> None:
    simulate(seed)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_nor_does_it_with_many_seeds(chunk: int) -> None:
    run(range(CHUNK * chunk, CHUNK * (chunk + 1)))


def test_the_same_seed_is_the_same_run() -> None:
    first, second = (simulate(18, trace=True).trace.lines for _ in range(2))
    assert len(first) > 100
    assert first == second


# Mistakes that must be found


def early_acknowledgements(patch: pytest.MonkeyPatch) -> None:
    """Messages are acknowledged when they come, not when they are stored."""
    take = Link._take

    def wrong(link: Link, packets: list[bytes], last: int) -> None:
        link.session.stored(last, link._transfers.now())
        take(link, packets, last)

    patch.setattr(Link, "_take", wrong)


def new_numbers_on_reconnect(patch: pytest.MonkeyPatch) -> None:
    """Messages that are sent again get another place in their sequence."""
    starts: Counter[int] = Counter()
    start_over = Sequences.start_over
    number = OutgoingSequence.number

    def wrong_start(sequences: Sequences) -> None:
        starts.update(sequence.ordinal for sequence in sequences.all)
        start_over(sequences)

    def wrong_number(sequence: OutgoingSequence, lookup: int) -> int:
        return number(sequence, lookup) + 1000 * starts[sequence.ordinal]

    def wrong_lookup(sequence: OutgoingSequence, place: int) -> int:
        return LOOKUP_BASE | sequence.first + place % 1000 - 1

    patch.setattr(Sequences, "start_over", wrong_start)
    patch.setattr(OutgoingSequence, "number", wrong_number)
    patch.setattr(OutgoingSequence, "lookup", wrong_lookup)


def no_history_after_a_restart(patch: pytest.MonkeyPatch) -> None:
    """What has come is not remembered beyond a crash."""
    begin = Duplicates.__init__
    patch.setattr(
        Duplicates, "__init__", lambda self, snapshot: begin(self, MemoryStore().snapshot)
    )


def no_incoming_sequences_after_a_restart(patch: pytest.MonkeyPatch) -> None:
    """How far sequences have come is not remembered beyond a crash."""
    begin = Incoming.__init__
    patch.setattr(Incoming, "__init__", lambda self, snapshot: begin(self, MemoryStore().snapshot))


def history_beside_the_commit(patch: pytest.MonkeyPatch) -> None:
    """That a message has come is not written with it."""

    def wrong(seen: Duplicates, writer: Writer, keys: Sequence[bytes], now: int) -> int:
        return 0

    patch.setattr(Duplicates, "write", wrong)


def sequences_overtake_each_other(patch: pytest.MonkeyPatch) -> None:
    """A sequence is sent before the one before it has arrived."""
    patch.setattr(Dispatching, "_must_wait", lambda self, queue, lookup: False)


def order_before_the_disk(patch: pytest.MonkeyPatch) -> None:
    """A sender is told of messages in order that are not on disk yet."""
    patch.setattr(Incoming, "committed_one", Incoming.get)
    take_next = Arriving._take_next

    def wrong(arriving: Arriving, work: Work, packet: bytes, head: Head) -> None:
        take_next(arriving, work, packet, head)
        for key, (last, count) in work.orders.items():
            arriving.on_order(key, last, 300 * count)

    patch.setattr(Arriving, "_take_next", wrong)


def final_acknowledgements_are_missed(patch: pytest.MonkeyPatch) -> None:
    """What this commit does to a message is not seen when a FinalAck comes with it."""

    def wrong(self: Confirming, batch: Batch, *rest: object) -> None:
        return None

    patch.setattr(Confirming, "_place", wrong)


def refused_messages_are_acknowledged(patch: pytest.MonkeyPatch) -> None:
    """A message for which there was no room is acknowledged all the same."""
    take = Arriving.take

    def wrong(
        arriving: Arriving, origin: object, packets: object, done: Callable[..., None]
    ) -> None:
        take(arriving, origin, packets, lambda error: done(None))  # type: ignore[arg-type] # only passed on

    patch.setattr(Arriving, "take", wrong)


def express_messages_come_twice(patch: pytest.MonkeyPatch) -> None:
    """Nobody remembers which express messages have come."""
    patch.setattr(Duplicates, "note", lambda self, key, now: None)


def journals_forget(patch: pytest.MonkeyPatch) -> None:
    """The last word about a message does not lead to the copy that its sender wants."""
    patch.setattr(Outcomes, "_place", lambda self, packet, wanted, flags: None)


MISTAKES = (
    early_acknowledgements,
    new_numbers_on_reconnect,
    no_history_after_a_restart,
    no_incoming_sequences_after_a_restart,
    history_beside_the_commit,
    sequences_overtake_each_other,
    order_before_the_disk,
    final_acknowledgements_are_missed,
    refused_messages_are_acknowledged,
    express_messages_come_twice,
    journals_forget,
)


@pytest.mark.slow
@pytest.mark.parametrize("plant", MISTAKES, ids=lambda plant: plant.__name__)
def test_a_mistake_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(Failed):
        run(range(SEEDS_MAX))
