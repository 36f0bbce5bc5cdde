"""Numbers that wrap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openmsmq.transports.pgm.serials import distance, following, is_before

NUMBERS = st.integers(0, 0xFFFF_FFFF)


@given(NUMBERS, st.integers(1, 0x7FFF_FFFF))
def test_what_follows_is_behind(number: int, count: int) -> None:
    """PGM-060, PGM-061."""
    later = following(number, count)
    assert is_before(number, later)
    assert not is_before(later, number)
    assert distance(number, later) == count
    assert not is_before(number, number)
