"""Random topologies and failures, with real managers: what can arrive does, once and in order.

`python -m tests.simulation --routes --seeds 5000` runs many. Mistakes that are planted on purpose
are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Final
from uuid import UUID

import pytest

from openmsmq.engine.arrivals import arrivals, transit
from openmsmq.engine.arrivals.arrivals import Arrivals
from openmsmq.engine.arrivals.incoming import Head
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import Owed
from openmsmq.packet.headers.user import UserFlags
from openmsmq.routing.decision import Routes
from openmsmq.transports.peers.hops import Hops
from tests.simulation.mistakes import Plant
from tests.simulation.routes import travel


def run_all(seeds: Iterable[int]) -> None:
    """All of them; the first that fails is named."""
    for seed in seeds:
        try:
            travel(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


@pytest.mark.parametrize("first", [0, 15])
def test_what_has_a_way_arrives_and_all_of_it_after_healing(first: int) -> None:
    """MQBR-089, MQBR-101, MQBR-141, MQBR-143."""
    run_all(range(first, first + 15))


def test_seeds_that_failed_once() -> None:
    """A router in a site without gates was given messages that it had no way for (RT-05)."""
    run_all((3284, 3364))


@pytest.mark.torture
@pytest.mark.parametrize("first", range(0, 5000, 250))
def test_the_same_with_many_seeds(first: int) -> None:
    run_all(range(first, first + 250))


# Mistakes that must be found


def routers_acknowledge_and_drop(patch: pytest.MonkeyPatch) -> None:
    """What is for another manager is taken and not kept."""
    patch.setattr(arrivals, "forward", lambda *_: None)


def routers_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    """A message that goes in circles would do so for ever."""

    def uncounted(packets: bytes, sizes: Sequence[int]) -> list[bytes]:
        return [packets[start:end] for start, end in pairwise([0, *accumulate(sizes)])]

    patch.setattr(transit, "one_hop_more", lambda packet: packet)
    patch.setattr(transit, "all_one_hop_more", uncounted)


def only_the_best_hop_is_tried(patch: pytest.MonkeyPatch) -> None:
    """There are no alternates."""
    right = Hops.hops

    def wrong(hops: Hops, queue: ManagedQueue) -> tuple[UUID, ...]:
        return right(hops, queue)[:1]

    patch.setattr(Hops, "hops", wrong)


def hops_that_are_gone_are_not_left(patch: pytest.MonkeyPatch) -> None:
    """There are alternates, and no one takes them."""
    patch.setattr(Hops, "leave", lambda hops, peer: None)


def what_came_by_another_way_is_new(patch: pytest.MonkeyPatch) -> None:
    """A message that was sent again, over other routers, is not recognized."""
    patch.setattr(Arrivals, "_has_come", lambda *_: False)


def messages_go_sideways_again_and_again(patch: pytest.MonkeyPatch) -> None:
    """Sites that are equally far from a destination pass its messages to and fro."""
    patch.setattr(Routes, "is_sideways", lambda *_: False)


def routers_number_messages(patch: pytest.MonkeyPatch) -> None:
    """Transactional messages get places in a sequence of the router."""
    right = transit._treatment

    def wrong(packet: bytes, head: Head, *, is_known: bool) -> tuple[int, bool, int]:
        priority, is_express, owed = right(packet, head, is_known=is_known)
        ordered = Owed.TRANSACTIONAL.value if head.flags & UserFlags.TH else 0
        return priority, is_express, owed | ordered

    patch.setattr(transit, "_treatment", wrong)


MISTAKES: Final = (
    (routers_acknowledge_and_drop, 0),
    (routers_are_not_counted, 3),
    (only_the_best_hop_is_tried, 9),
    (hops_that_are_gone_are_not_left, 9),
    (what_came_by_another_way_is_new, 0),
    (messages_go_sideways_again_and_again, 11),
    (routers_number_messages, 9),
)
"And a seed that finds each."


@pytest.mark.parametrize(
    ("plant", "seed"), MISTAKES, ids=lambda item: getattr(item, "__name__", "")
)
def test_a_mistake_is_found(plant: Plant, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=r"routers|twice|neither|not \["):
        travel(seed)
