"""Numbers that a manager gives out."""

from __future__ import annotations

from openmsmq.engine.commit.numbers import Numbers
from openmsmq.engine.outgoing.sequence_numbers import SequenceNumbers
from openmsmq.store.memory import MemoryStore


def test_counters_are_what_they_are_given() -> None:
    sequences = SequenceNumbers(MemoryStore().snapshot)
    numbers = Numbers(
        packet=1,
        arrival=2,
        arrival_end=3,
        message_id=4,
        message_id_end=5,
        queue=6,
        sequences=sequences,
    )
    numbers.packet += 1
    assert (numbers.packet, numbers.arrival, numbers.arrival_end) == (2, 2, 3)
    assert (numbers.message_id, numbers.message_id_end, numbers.queue) == (4, 5, 6)
    assert numbers.sequences is sequences
    assert (list(numbers.arrivals(3)), numbers.arrival) == ([3, 4, 5], 5)
