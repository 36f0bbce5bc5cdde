"""What sessions report."""

from __future__ import annotations

from openmsmq.transports.mqqb.events import Closed, End


def test_every_end_can_be_told_from_the_others() -> None:
    """They label counters and stand in logs."""
    assert len({str(end) for end in End}) == len(End)
    assert all(str(end) == str(end).lower() for end in End)


def test_an_end_needs_no_details() -> None:
    assert Closed(End.IDLE) == Closed(End.IDLE, "")
    assert f"{Closed(End.SILENT).reason}" == "no acknowledgement in time"
