"""Slices and fields of many records at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from openmsmq.errors import Malformed
from openmsmq.spark.slices import (
    array_of,
    booleans,
    by_distinct,
    common,
    contents,
    ends_of,
    field,
    nullable,
    numbered,
    records,
    repeated,
    slices,
    texts,
)

DATA = pa.py_buffer(b"0123456789")


def test_slices_become_one_array() -> None:
    found = slices(DATA, np.array([1, 4, 8]), np.array([2, 0, 2]))
    assert found.to_pylist() == [b"12", b"", b"89"]
    assert contents(found).to_pybytes() == b"1289"
    assert ends_of(found).tolist() == [0, 2, 2, 4]


def test_no_slices_are_an_empty_array() -> None:
    found = slices(DATA, np.array([], np.int64), 4)
    assert found.to_pylist() == []
    assert contents(found).to_pybytes() == b""
    assert ends_of(found).tolist() == [0]
    assert records(DATA, np.array([], np.int64), 4).shape == (0, 4)


@pytest.mark.parametrize("starts", [[0, 9], [4, 2], [-4, 2]])
def test_nothing_outside_is_read(starts: list[int]) -> None:
    with pytest.raises(pa.ArrowInvalid):
        slices(DATA, np.array(starts), 3)


@pytest.mark.parametrize("start", [-1, 8, 100])
def test_no_record_outside_is_read(start: int) -> None:
    assert records(DATA, np.array([7, 0]), 3).tobytes() == b"789012"
    with pytest.raises(Malformed):
        records(DATA, np.array([0, start]), 3)


def test_a_field_is_every_nth_number() -> None:
    rows = np.array([[1, 0, 7, 0], [2, 0, 8, 0]], np.uint8)
    assert field(rows, "H", 2).tolist() == [7, 8]
    assert field(rows, "I", 0).tolist() == [0x70001, 0x80002]


def test_numbers_become_arrays_of_arrow() -> None:
    rows = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert array_of(rows[:, 1], pa.int32()).to_pylist() == [1, 5, 9]
    assert booleans(np.array([True, False, True])).to_pylist() == [True, False, True]
    found = nullable(rows[:, 1], np.array([True, False, True]), pa.int32())
    assert found.to_pylist() == [1, None, 9]
    found.validate(full=True)


def test_rows_that_are_all_the_same() -> None:
    assert common(np.array([[1, 2], [1, 2]], np.uint8)) == b"\1\2"
    assert common(np.array([[1, 2], [1, 3]], np.uint8)) is None
    for value, count in (("é", 2), ("", 3), ("x", 0), (None, 2)):
        found = repeated(value, count)
        found.validate(full=True)
        assert (found.to_pylist(), found.type) == ([value] * count, pa.string())


@pytest.mark.parametrize("numbers", [[], [0], [7, 9], [9, 10], [999999, 100000], [4294967295]])
def test_numbers_behind_a_text(numbers: list[int]) -> None:
    found = numbered("é\\", np.array(numbers, np.uint32))
    found.validate(full=True)
    assert found.to_pylist() == [f"é\\{number}" for number in numbers]


@pytest.mark.parametrize("values", [[], ["a"], ["é", None, "", "b" * 9, None] * 3])
def test_texts_become_arrays_of_arrow(values: list[str | None]) -> None:
    found = texts(values)
    found.validate(full=True)
    assert (found.to_pylist(), found.type) == (values, pa.string())


def test_equal_values_are_decoded_once() -> None:
    asked: list[bytes] = []

    def decode(value: bytes) -> str | None:
        asked.append(value)
        return value.decode() or None

    values = pa.array([b"a", b"", b"a"], pa.binary())
    assert by_distinct(values, decode).to_pylist() == ["a", None, "a"]
    assert asked == [b"a", b""]
