"""Reads that wait, by the time at which their wait is over."""

from __future__ import annotations

from openmsmq.interfaces.waits import WaitingRead, Waits


def test_waits_are_over_in_the_order_of_their_time() -> None:
    """MQQP-105"""
    waits: Waits[str] = Waits()
    late, soon, gone = WaitingRead(), WaitingRead(), WaitingRead()
    for waiting, at in ((late, 9.0), (soon, 5.0), (gone, 4.0)):
        waits.add("orders", waiting, at)
    waits.clear(gone)
    waits.clear(gone)
    assert waits.next_deadline == 5.0
    assert [waiting for _, waiting in waits.take_due(6.0)] == [soon]
    assert [waiting for _, waiting in waits.take_due(9.0)] == [late]
    assert waits.next_deadline is None
