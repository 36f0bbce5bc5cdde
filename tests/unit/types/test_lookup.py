"""The parts of a lookup identifier."""

from __future__ import annotations

from openmsmq.types.lookup import ARRIVAL_BITS, ARRIVAL_MASK, LOOKUP_MAX, overlap, ranges_of


def test_a_lookup_identifier_has_a_byte_for_the_priority_and_the_rest_for_the_arrival() -> None:
    assert LOOKUP_MAX >> ARRIVAL_BITS == 0xFF
    assert LOOKUP_MAX & ARRIVAL_MASK == ARRIVAL_MASK == (1 << 56) - 1


def test_consecutive_lookup_identifiers_are_ranges() -> None:
    assert ranges_of([]) == []
    assert ranges_of([4, 5, 6]) == [(4, 7)]
    assert ranges_of([9, 4, 5, 2, 3]) == [(9, 10), (4, 6), (2, 4)]
    assert ranges_of([4, 4]) == [(4, 5), (4, 5)]
    assert ranges_of([4, 6, 6]) == [(4, 5), (6, 7), (6, 7)]


def test_ranges_overlap_if_one_is_in_two_of_them() -> None:
    assert not overlap([(4, 6), (2, 4), (6, 7)])
    assert overlap([(4, 6), (5, 7)])
    assert overlap([(4, 9), (5, 6)])
