"""Slices and fields of many records at once."""

from __future__ import annotations

from array import array

import pyarrow as pa
import pytest

from openmsmq.spark.slices import by_distinct, contents, every, field, integers, offsets, slices

DATA = pa.py_buffer(b"0123456789")


def test_slices_become_one_array() -> None:
    starts, sizes = integers(array("i", [1, 4, 8])), integers(array("i", [2, 0, 2]))
    found = slices(DATA, starts, sizes)
    assert found.to_pylist() == [b"12", b"", b"89"]
    assert contents(found).to_pybytes() == b"1289"
    assert offsets(found).to_pylist() == [0, 2, 2, 4]


def test_no_slices_are_an_empty_array() -> None:
    found = slices(DATA, integers(array("i")), 4)
    assert found.to_pylist() == []
    assert contents(found).to_pybytes() == b""


@pytest.mark.parametrize("starts", [[0, 9], [4, 2], [-4, 2]])
def test_nothing_outside_is_read(starts: list[int]) -> None:
    with pytest.raises(pa.ArrowInvalid):
        slices(DATA, integers(array("i", starts)), 3)


def test_a_field_is_every_nth_number() -> None:
    records = pa.py_buffer(bytes([1, 0, 7, 0, 2, 0, 8, 0]))
    assert field(records, "H", 2, 4).to_pylist() == [7, 8]
    assert field(records, "I", 0, 4).to_pylist() == [0x70001, 0x80002]


def test_equal_values_are_decoded_once() -> None:
    asked: list[bytes] = []

    def decode(value: bytes) -> str | None:
        asked.append(value)
        return value.decode() or None

    values = pa.array([b"a", b"", b"a"], pa.binary())
    assert by_distinct(values, decode, pa.string()).to_pylist() == ["a", None, "a"]
    assert asked == [b"a", b""]


def test_places_of_a_field_in_records() -> None:
    assert every(3, 8, 2).to_pylist() == [2, 10, 18]
