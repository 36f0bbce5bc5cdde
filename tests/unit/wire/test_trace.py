"""The list of fields that were read."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.wire.fixed import I32, U16, Bits, Fixed, Guid, Utf16, fixed
from openmsmq.wire.trace import Field, TracingReader

GUID = UUID("01234567-89ab-4cde-8f01-23456789abcd")


class Word(Bits):
    LOW = 0x0F


@fixed
class Inner(Fixed):
    number: I32


@fixed
class Outer(Fixed):
    flags: Annotated[int, "H", Word]
    guid: Guid
    inner: Inner
    raw: Annotated[bytes, "2s"]
    text: Annotated[bytes, "8s", Utf16()]
    last: U16


OUTER = (
    b"\x05\x01" + GUID.bytes_le + b"\xfe\xff\xff\xff" + b"\xab\xcd" + b"h\0i\0\0\0x\0" + b"\x09\0"
)
OUTER_FIELDS = [
    Field("Outer.Flags", 1, 2, "u16", 0x0105, Word),
    Field("Outer.Guid", 3, 16, "guid", "01234567-89AB-4CDE-8F01-23456789ABCD"),
    Field("Outer.Inner.Number", 19, 4, "i32", -2),
    Field("Outer.Raw", 23, 2, "bytes", "abcd"),
    Field("Outer.Text", 25, 8, "utf16z", "hi"),
    Field("Outer.Last", 33, 2, "u16", 9),
]


def test_single_fields_are_listed_with_place_and_value() -> None:
    data = b"\x01\x02\0\x03\0\0\0\x04\0\0\0\0\0\0\0" + GUID.bytes_le + b"ab" + b"h\0\0\0"
    reader = TracingReader(data)
    with reader.section("S"):
        assert reader.u8("A") == 1
        assert reader.u16("B") == 2
    assert reader.u32("C") == 3
    assert reader.u64("D") == 4
    assert reader.guid("E") == GUID
    assert reader.take(2, "F") == b"ab"
    assert reader.utf16z("G") == b"h\0\0\0"
    assert reader.fields == [
        Field("S.A", 0, 1, "u8", 1),
        Field("S.B", 1, 2, "u16", 2),
        Field("C", 3, 4, "u32", 3),
        Field("D", 7, 8, "u64", 4),
        Field("E", 15, 16, "guid", "01234567-89AB-4CDE-8F01-23456789ABCD"),
        Field("F", 31, 2, "bytes", "6162"),
        Field("G", 33, 4, "utf16z", "h"),
    ]


def test_what_takes_no_bytes_is_not_listed() -> None:
    reader = TracingReader(b"")
    assert reader.take(0, "A") == reader.utf16(0, "B") == reader.align(4, 0) == b""
    assert reader.fields == []


def test_a_structure_is_listed_field_by_field() -> None:
    reader = TracingReader(b"-" + OUTER, 1)
    with reader.section("Outer"):
        assert reader.fixed(Outer).inner == Inner(-2)
    assert reader.fields == OUTER_FIELDS


@pytest.mark.parametrize(("size", "listed"), [(0, 0), (1, 0), (2, 1), (21, 2), (22, 3), (33, 5)])
def test_what_is_there_of_a_structure_cut_short_is_listed(size: int, listed: int) -> None:
    reader = TracingReader((b"-" + OUTER)[: 1 + size], 1)
    with pytest.raises(Malformed), reader.section("Outer"):
        reader.fixed(Outer)
    assert reader.fields == OUTER_FIELDS[:listed]


def test_the_end_bounds_what_is_listed() -> None:
    reader = TracingReader(b"-" + OUTER, 1, 10)
    with pytest.raises(Malformed), reader.section("Outer"):
        reader.fixed(Outer)
    assert reader.fields == OUTER_FIELDS[:1]


def test_a_field_that_fails_is_not_listed() -> None:
    reader = TracingReader(b"abc")
    with pytest.raises(Malformed):
        reader.u32("A")
    assert reader.fields == []
