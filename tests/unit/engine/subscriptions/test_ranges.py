"""Sets of positions as ranges."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.engine.subscriptions.ranges import Ranges

PAIRS = st.tuples(st.integers(0, 30), st.integers(0, 30))


@given(st.lists(PAIRS), st.integers(0, 30))
def test_ranges_are_sets_of_positions(pairs: list[tuple[int, int]], position: int) -> None:
    found, expected = Ranges(), set[int]()
    for after, last in pairs:
        found = found.add(after, last)
        expected |= set(range(after + 1, last + 1))
    assert {number for number in range(32) if number in found} == expected
    flat = [edge for pair in found.pairs for edge in pair]
    assert flat == sorted(set(flat)), "they neither overlap nor touch"
    assert Ranges.unpack(found.pack()) == found
    behind = found.behind(position)
    assert {n for n in range(32) if n in behind} == {n for n in expected if n > position}
    for after in range(position):
        assert found.has_all(after, position) == (set(range(after + 1, position + 1)) <= expected)


def test_parts_in_any_order_become_one() -> None:
    found = Ranges().add(4, 6).add(0, 2).add(8, 9)
    assert (len(found), found.pairs) == (3, ((0, 2), (4, 6), (8, 9)))
    assert found.add(2, 4).pairs == ((0, 6), (8, 9))
    assert found.add(1, 8).pairs == ((0, 9),)
    assert found.add(5, 5) is found


def test_what_is_no_row_cannot_be_read() -> None:
    with pytest.raises(struct.error):
        Ranges.unpack(b"123")
