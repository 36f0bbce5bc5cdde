"""Protected messages in the simulator."""

from __future__ import annotations

import pytest

from openmsmq.engine.arrivals.arrival import ArrivalGroup, ArrivalWork
from openmsmq.engine.arrivals.groups import Groups
from tests.simulation.world import World, simulate

take = Groups.take


@pytest.mark.slow  # several worlds
def test_there_are_groups_of_protected_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """In transactions and outside, all of whose messages were verified."""
    found: set[bool] = set()

    def taken(groups: Groups, work: ArrivalWork, item: ArrivalGroup) -> bool:
        is_taken = take(groups, work, item)
        if is_taken and item.examined is not None:
            found.add(item.position is not None)
        return is_taken

    monkeypatch.setattr(Groups, "take", taken)
    seeds = (seed for seed in range(200) if World(seed).signatures is not None)
    while len(found) < 2:
        simulate(next(seeds))
