from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.directory.ldap import ber
from openmsmq.errors import Malformed
from openmsmq.wire.reader import Reader


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.binary(max_size=300))
def test_what_is_written_is_read(number: int, value: bytes) -> None:
    data = ber.element(ber.SEQUENCE, ber.integer(number), ber.octets(value))
    assert ber.size_of(data) == len(data)
    inside = ber.read(Reader(data), ber.SEQUENCE)
    assert (ber.read_integer(inside), ber.read_octets(inside)) == (number, value)
    assert inside.remaining == 0


@given(st.binary(max_size=40))
def test_garbage_is_malformed_or_an_element(data: bytes) -> None:
    try:
        for _, content in ber.members(Reader(data)):
            ber.rest(content)
    except Malformed:
        pass


def test_a_size_is_known_as_soon_as_it_is_there() -> None:
    data = ber.octets(bytes(500))
    assert [ber.size_of(data[:count]) for count in (0, 1, 3, 4)] == [None, None, None, 504]


@pytest.mark.parametrize("data", [b"\x04\x80", b"\x04\x85\0\0\0\0\0"])
def test_lengths_of_other_forms_are_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        ber.size_of(data)


def test_another_tag_is_refused() -> None:
    with pytest.raises(Malformed, match="0x04 is not 0x02"):
        ber.read_integer(Reader(ber.octets(b"1")))


def test_a_number_of_nine_bytes_is_refused() -> None:
    with pytest.raises(Malformed, match="9 bytes"):
        ber.read_integer(Reader(ber.element(ber.INTEGER, bytes(9))))
