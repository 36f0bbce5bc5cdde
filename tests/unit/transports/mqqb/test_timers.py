"""How long a session waits."""

from __future__ import annotations

import pytest

from openmsmq.transports.mqqb.timers import SessionTimers, recoverable_ack_ms


def test_the_timers_run_as_long_as_those_of_msmq() -> None:
    """MQQB-184, MQQB-338, MQQB-342: Q<43>, Q<44>, Q<46> and Q<51>."""
    timing = SessionTimers()
    assert timing.establish == 60
    assert timing.clean_up == 300
    assert timing.ack_wait == 20
    assert timing.direct_factor == 2


def test_a_routing_server_closes_idle_sessions_sooner() -> None:
    """MQBR-103: Q<44>; unless they are closed even sooner."""
    assert SessionTimers(window=7).of_router() == SessionTimers(clean_up=120, window=7)
    assert SessionTimers(clean_up=5).of_router() == SessionTimers(clean_up=5)


def test_the_window_offered_fits_its_field_and_is_no_smaller_than_that_of_msmq() -> None:
    """More than the 64 of the text, which a peer of 64 makes 64 again (AMB-19)."""
    assert 64 <= SessionTimers().window < 0x8000


@pytest.mark.parametrize(
    ("round_trip", "expected"),
    [
        (0, 500),
        (0.062, 500),
        (0.063, 504),
        (0.187, 1496),
        (14.999, 119_992),
        (15, 120_000),
        (4_000_000, 120_000),
    ],
)
def test_recoverable_messages_are_acknowledged_after_eight_round_trips(
    round_trip: float, expected: int
) -> None:
    """MQQB-039, MQQB-178: within bounds; the example frames have 187 ms and 1496 ms."""
    assert recoverable_ack_ms(round_trip) == expected
