"""The parts of a lookup identifier."""

from __future__ import annotations

from openmsmq.types.lookup import ARRIVAL_BITS, ARRIVAL_MASK, LOOKUP_MAX


def test_a_lookup_identifier_has_a_byte_for_the_priority_and_the_rest_for_the_arrival() -> None:
    assert LOOKUP_MAX >> ARRIVAL_BITS == 0xFF
    assert LOOKUP_MAX & ARRIVAL_MASK == ARRIVAL_MASK == (1 << 56) - 1
