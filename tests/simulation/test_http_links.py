"""Seeds in virtual time with messages over HTTP, alone and beside the binary protocol.

No message in a stream is lost, comes twice or out of order, whatever happens to requests, answers,
receipts, disks and processes ([MC-MQSRM] 3.1.5.1.6.3, 3.1.7.2.3). Mistakes that are planted on
purpose are found.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing import Pool

import pytest

from openmsmq.engine.arrivals.arrival import Arrival, ArrivalOutcome, Origin
from openmsmq.engine.arrivals.arrivals import Arrivals
from openmsmq.engine.arrivals.incoming import IncomingSequences
from openmsmq.engine.outgoing.confirmations import Confirmations
from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.outgoing.sequences import LOOKUP_BASE, OutgoingSequence
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.transports.srmp.receipt_sender import ReceiptSender
from tests.simulation.__main__ import attempt, problems
from tests.simulation.world import Failed, simulate

ALL, SOME = 1.0, 0.5
"The share of pairs of managers that use HTTP."
PLANTED = 120
"Seeds within which a planted mistake is found."


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("http", [ALL, SOME])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_goes_wrong(seed: int, http: float) -> None:
    """SRMP-096, SRMP-097."""
    simulate(seed, http=http)


@pytest.mark.slow
@pytest.mark.parametrize("http", [ALL, SOME, 0.7])
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_nor_does_it_with_many_seeds(first: int, http: float) -> None:
    assert problems(attempt(seed, http=http) for seed in range(first, first + 10)) == []


@pytest.mark.parametrize(
    ("seed", "http"),
    [(28, SOME), (94, ALL), (126, ALL), (318, ALL), (1012, ALL), (100527, 0.7), (101644, 0.7)],
)
def test_nor_with_seeds_that_once_failed(seed: int, http: float) -> None:
    """28: a disk that was full when the first answer of a stream was to be noted.

    94: a first message that was refused and could not be removed. 126: later messages from after a
    restart. 318: the first message expired unanswered while plain ones were under way. 1012:
    the receipt of a first message whose answer could not be noted. 100527: an answer to a program
    whose connection was closed. 101644: a message that expired while it was refused.
    """
    simulate(seed, http=http)


def test_both_ways_are_used_in_one_world() -> None:
    world = simulate(1, http=SOME)
    assert {letter.is_http for letter in world.ledger.letters.values()} == {True, False}


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("http", [ALL, SOME])
@pytest.mark.parametrize("first", range(0, 1500, 100))
def test_nor_with_3000(first: int, http: float) -> None:
    with Pool() as pool:
        seeds = range(first, first + 100)
        tried = pool.imap_unordered(partial(attempt, http=http), seeds, 4)
        assert problems(tried) == []


def answer_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """200 is answered before the message is on disk."""
    right = Arrivals.take

    def wrong(
        self: Arrivals,
        origin: Origin,
        arrivals: Sequence[Arrival],
        done: Callable[[ArrivalOutcome], None],
    ) -> None:
        if not origin.is_isolated:
            right(self, origin, arrivals, done)
            return
        done(ArrivalOutcome())
        right(self, origin, arrivals, lambda outcome: None)

    patch.setattr(Arrivals, "take", wrong)


def forget_receipts_at_a_restart(patch: pytest.MonkeyPatch) -> None:
    """What came shortly before a restart is not acknowledged after it, and streams are unknown."""
    patch.setattr(ReceiptSender, "resume", lambda self: None)
    patch.setattr(IncomingSequences, "write", lambda self, writer, keys: None)


def acknowledge_too_much(patch: pytest.MonkeyPatch) -> None:
    """A receipt lets all messages go, not only those up to its number."""
    right = Confirmations.acknowledged

    def wrong(
        self: Confirmations, queue: ManagedQueue, sequence: OutgoingSequence, number: int
    ) -> bool:
        self.all_acknowledged(queue, sequence)
        return right(self, queue, sequence, number)

    patch.setattr(Confirmations, "acknowledged", wrong)


def begin_streams_again_too_early(patch: pytest.MonkeyPatch) -> None:
    """A stream is begun again though its first message waits for a receipt, or to be removed."""
    right = Dispatcher._has_transactional

    def wrong(self: Dispatcher, queue: ManagedQueue, first: int, end: int) -> bool:
        return first == LOOKUP_BASE and right(self, queue, first, end)

    patch.setattr(Dispatcher, "is_awaited", lambda self, queue, first, end: False)
    patch.setattr(Dispatcher, "_has_transactional", wrong)


def run_planted() -> None:
    """Seeds, until one fails; first the one that has found a mistake before."""
    for seed in (28, *range(PLANTED)):
        simulate(seed, http=ALL if seed % 2 else SOME)


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant",
    [
        answer_before_the_commit,
        forget_receipts_at_a_restart,
        acknowledge_too_much,
        begin_streams_again_too_early,
    ],
)
def test_a_mistake_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(Failed):
        run_planted()
