"""Numbers that a receiver asks for."""

from __future__ import annotations

from openmsmq.transports.pgm.gaps import MissingPackets, RepairState
from openmsmq.transports.pgm.timers import PgmTiming


def test_waits_that_are_over_are_found_oldest_number_first() -> None:
    waits = iter([0.05, 0.01, 0.03])
    missing = MissingPackets(PgmTiming(), lambda: next(waits))
    for number in (7, 8, 9):
        missing.add(number, 0.0)
    assert missing.next_deadline == 0.01
    assert [number for number, _ in missing.due(0.04, 7)] == [8, 9]
    assert missing.next_deadline == 0.05


def test_a_confirmation_restarts_the_wait_for_data() -> None:
    """PGM-115."""
    missing = MissingPackets(PgmTiming(), lambda: 0.03)
    missing.add(5, 0.0)
    missing.confirmed([5, 6], 1.0)
    assert missing.next_deadline == 3.0
    missing.requested([5], 2.0)
    assert missing.next_deadline == 4.0
    missing.arrived(5)
    assert missing.next_deadline is None
    assert 5 not in missing


def test_waits_that_no_longer_count_take_no_memory() -> None:
    missing = MissingPackets(PgmTiming(), lambda: 0.03)
    missing.add(4, 0.0)
    missing.add(5, 0.0)
    for turn in range(1000):
        missing.confirmed([5], float(turn))
        missing.due(0.0, 5)  # 4 has longer to wait, so that those behind it are not looked at
    assert len(missing._waits) < 100
    [(first, _), (number, wait)] = missing.due(2000.0, 4)
    assert (first, number, wait.state) == (4, 5, RepairState.WAIT_DATA)
