"""What sessions report."""

from __future__ import annotations

from openmsmq.transports.mqqb.events import Closed, SessionEnd


def test_every_end_can_be_distinguished_from_the_others() -> None:
    """They label counters and stand in logs."""
    assert len({str(end) for end in SessionEnd}) == len(SessionEnd)
    assert all(str(end) == str(end).lower() for end in SessionEnd)


def test_an_end_needs_no_details() -> None:
    assert Closed(SessionEnd.IDLE) == Closed(SessionEnd.IDLE, "")
    assert f"{Closed(SessionEnd.SILENT).reason}" == "no acknowledgement in time"
