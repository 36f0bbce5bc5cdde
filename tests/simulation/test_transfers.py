"""Mistakes about groups of messages from other managers are found."""

from __future__ import annotations

import pytest

from openmsmq.engine.arrivals.arrival import ArrivalGroup, ArrivalWork
from openmsmq.engine.arrivals.duplicates import Duplicates
from openmsmq.engine.arrivals.groups import Groups
from openmsmq.engine.commit.run_rows import NewRun
from openmsmq.packet import framing
from openmsmq.packet.group import PacketGroup, group_at
from tests.simulation.mistakes import Plant, find
from tests.simulation.world import World, simulate

take = Groups.take


def groups_are_taken_for_new(patch: pytest.MonkeyPatch) -> None:
    """What is remembered is not looked at."""
    patch.setattr(Duplicates, "has_any", lambda known, keys: False)


def sequences_fall_behind_their_groups(patch: pytest.MonkeyPatch) -> None:
    """The number of the last message is not consumed."""

    def wrong(data: bytes | bytearray, start: int) -> PacketGroup | None:
        group = group_at(data, start)
        if group is not None and group.last_number:
            group.last_number -= 1
        return group

    patch.setattr(framing, "group_at", wrong)


def the_last_of_a_group_is_lost(patch: pytest.MonkeyPatch) -> None:
    """It is acknowledged and not stored."""

    def wrong(groups: Groups, work: ArrivalWork, item: ArrivalGroup) -> bool:
        is_taken = take(groups, work, item)
        for new in work.new.values() if is_taken else ():
            if isinstance(run := new[-1], NewRun):
                sizes = run.sizes[:-1]
                new[-1] = run._replace(packets=run.packets[: sum(sizes)], sizes=sizes)
        return is_taken

    patch.setattr(Groups, "take", wrong)


MISTAKES = (
    groups_are_taken_for_new,
    sequences_fall_behind_their_groups,
    the_last_of_a_group_is_lost,
)


@pytest.mark.slow
@pytest.mark.parametrize("plant", MISTAKES, ids=lambda plant: plant.__name__)
def test_a_mistake_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    find(plant, monkeypatch, "transfers")


def test_there_are_groups_to_make_mistakes_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of messages in transactions and outside; some have to be looked at one by one."""
    found: set[tuple[bool, bool]] = set()

    def taken(groups: Groups, work: ArrivalWork, item: ArrivalGroup) -> bool:
        is_taken = take(groups, work, item)
        found.add((item.position is not None, is_taken))
        return is_taken

    monkeypatch.setattr(Groups, "take", taken)
    seeds = (seed for seed in range(100) if World(seed).transfers)
    while len(found) < 4:
        simulate(next(seeds))
