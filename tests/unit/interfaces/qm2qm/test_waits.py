"""Reads that wait, by the time at which their wait is over."""

from __future__ import annotations

from typing import Any

from openmsmq.interfaces.qm2qm.hosted_queue import WaitingRead
from openmsmq.interfaces.qm2qm.waits import Waits


def test_waits_are_over_in_the_order_of_their_time() -> None:
    """MQQP-105"""
    waits, queue = Waits(), Any
    late, soon, gone = WaitingRead(), WaitingRead(), WaitingRead()
    for waiting, at in ((late, 9.0), (soon, 5.0), (gone, 4.0)):
        waits.add(queue, waiting, at)  # type: ignore[arg-type]
    waits.clear(gone)
    waits.clear(gone)
    assert waits.next_deadline == 5.0
    assert [waiting for _, waiting in waits.take_due(6.0)] == [soon]
    assert [waiting for _, waiting in waits.take_due(9.0)] == [late]
    assert waits.next_deadline is None
