"""Sequence numbers that wrap."""

from __future__ import annotations

import pytest

from openmsmq.transports.mqqb.serial import HALF, MASK, distance, is_at_most


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(1, 1, 0), (1, 3, 2), (0xFFFF, 0, 1), (0xFFFE, 2, 4), (3, 1, 0xFFFE), (0, 0xFFFF, 0xFFFF)],
)
def test_a_distance_goes_up_and_around_the_corner(start: int, end: int, expected: int) -> None:
    """MQQB-114, AMB-32."""
    assert distance(start, end) == expected
    assert start + distance(start, end) & MASK == end


@pytest.mark.parametrize("number", [0, 1, 0x7FFF, 0x8000, 0xFFFF])
def test_a_number_comes_before_itself_and_those_near_behind_it(number: int) -> None:
    """AMB-32."""
    assert is_at_most(number, number)
    assert is_at_most(number, number + 1 & MASK)
    assert is_at_most(number, number + HALF - 1 & MASK)
    assert not is_at_most(number, number + HALF & MASK)
    assert not is_at_most(number, number - 1 & MASK)
