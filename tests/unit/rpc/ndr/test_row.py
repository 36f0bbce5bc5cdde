"""Rows of neighbouring fields: the same bytes and errors as field by field."""

from __future__ import annotations

from typing import Any

import pytest

from openmsmq.errors import Malformed
from openmsmq.rpc.ndr.kinds import ByteArray, FixedBytes, Integer, NdrKind, Pointer, Union, Uuid
from openmsmq.rpc.ndr.row import FieldRow, rows_of
from openmsmq.rpc.ndr.stream import NdrReader, NdrWriter, Scope

BYTE, SHORT, LONG, HYPER = (Integer(code) for code in "BHIQ")
VARYING = Union("a", "H", {1: BYTE})


def shape(alignment: int, **fields: NdrKind) -> list[str | tuple[int, int]]:
    """The alignments and sizes of rows, and the names of fields between them."""
    return [
        (row.alignment, row.size) if isinstance(row, FieldRow) else row[0]
        for row in rows_of(tuple(fields.items()), alignment)
    ]


def test_a_structure_begins_with_a_row_whatever_its_first_field() -> None:
    assert shape(8, a=BYTE, b=HYPER, c=SHORT, d=FixedBytes(3), e=Uuid()) == [(8, 40)]
    assert shape(4, a=BYTE, b=Pointer(HYPER)) == [(4, 8)]


def test_behind_what_varies_a_row_begins_with_its_widest_field() -> None:
    found = shape(8, a=SHORT, u=VARYING, b=BYTE, c=LONG, d=BYTE, e=HYPER)
    assert found == [(8, 2), "u", (1, 1), (4, 5), (8, 8)]


FIELDS: dict[str, NdrKind] = {
    "a": BYTE,
    "data": Pointer(ByteArray(most=9, size_is="size")),
    "size": Integer("I", 0, 9),
    "b": HYPER,
}
ROW = FieldRow(tuple(FIELDS.items()), 8)


def by_field(data: bytes) -> Scope:
    """The fields read one by one."""
    reader, values = NdrReader(data), Scope()
    for name, kind in FIELDS.items():
        values[name] = kind.read(reader, name, values)
    reader.flush()
    return values


def by_row(data: bytes) -> Scope:
    """The fields read at once."""
    reader, values = NdrReader(data), Scope()
    ROW.read(reader, values)
    reader.flush()
    return values


def written(**values: Any) -> bytes:
    """A row with what follows it."""
    writer = NdrWriter()
    ROW.write(writer, values)
    writer.flush()
    return bytes(writer.out)


GOOD = written(a=1, data=b"abc", size=3, b=7)


def test_a_row_is_written_as_its_fields_are() -> None:
    values = {"a": 1, "data": b"abc", "size": 3, "b": 7}
    writer = NdrWriter()
    for name, kind in FIELDS.items():
        kind.write(writer, values[name], values)
    writer.flush()
    assert writer.out == GOOD
    assert by_row(GOOD) == by_field(GOOD) == values


@pytest.mark.parametrize(
    "data",
    [
        *(GOOD[:cut] for cut in range(len(GOOD))),
        written(a=1, data=None, size=4, b=7),  # NULL where 4 elements are announced
        GOOD[:8] + b"\x0a" + GOOD[9:],  # out of its range
        GOOD[:8] + b"\x04" + GOOD[9:],  # not what the array says
    ],
    ids=lambda data: data.hex(),
)
def test_a_row_that_is_wrong_is_refused_as_its_fields_are(data: bytes) -> None:
    """MQRR-022"""
    found = []
    for read in (by_field, by_row):
        with pytest.raises(Malformed) as refused:
            read(data)
        found.append(str(refused.value))
    assert found[0] == found[1]


@pytest.mark.parametrize("size", range(1, 24))
def test_a_row_is_aligned_before_its_fields_are_looked_at(size: int) -> None:
    """MQRR-022: one by one, and without the gap before them, they might fit."""
    row = FieldRow(tuple({"a": BYTE, "b": HYPER}.items()), 8)
    reader = NdrReader(bytes(size))
    reader.u8("before")
    with pytest.raises(Malformed):
        row.read(reader, {})
