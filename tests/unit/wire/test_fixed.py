"""Structures declared by their fields."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from struct import pack
from typing import Annotated
from uuid import UUID

import pytest

from openmsmq.wire.fixed import (
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bits,
    Bytes16,
    Bytes20,
    FieldLayout,
    Fixed,
    Guid,
    Named,
    Utf16,
    extended,
    fixed,
    spec_name,
)

GUID = UUID("01234567-89ab-4cde-8f01-23456789abcd")


class Word(Bits):
    HIGH = 0xF0
    MIDDLE = 0x0C
    LOW = 0x01


class Marked(Bits):
    A = 0x01
    _private = 0x80
    __firstlineno__ = 7  # Python 3.13 puts it into every class
    TEXT = "not a mask"


@fixed
class Point(Fixed):
    x: U16 = 0
    y: Annotated[int, "h", Named("Why")] = 0


@fixed
class Everything(Fixed):
    """One field of every kind."""

    a_byte: U8
    flags: Annotated[int, "H", Word]
    point: Point
    count: U32
    message_id: U64
    qm_guid: Guid
    small: I16
    middle: I32
    large: I64
    key: Bytes16
    http_digest: Bytes20
    text: Annotated[bytes, "6s", Utf16()]


@extended
class Longer(Point):
    rest: bytes = b""


VALUE = Everything(
    1, 0xF5, Point(2, -3), 4, 5, GUID, -6, -7, -8, b"k" * 16, b"d" * 20, "ab".encode("utf-16-le")
)
BYTES = (
    pack("<BHHhIQ", 1, 0xF5, 2, -3, 4, 5)
    + bytes.fromhex("67452301ab89de4c8f0123456789abcd")
    + pack("<hiq", -6, -7, -8)
    + b"k" * 16
    + b"d" * 20
    + b"a\0b\0\0\0"
)


def test_numbers_and_guids_are_little_endian() -> None:
    """MQQB-004: also the first three parts of a GUID."""
    assert VALUE.pack() == BYTES


def test_a_structure_is_read_where_it_stands() -> None:
    found = Everything.unpack(b"before" + BYTES + b"after", 6)
    assert found == Everything.unpack(BYTES)
    assert found.pack() == BYTES
    assert (found.point, found.qm_guid, found.large) == (Point(2, -3), GUID, -8)
    assert found.text == b"a\0b\0\0\0"


def test_a_structure_of_plain_numbers_is_read() -> None:
    assert Point.unpack(b"\x01\x00\xff\xff") == Point(1, -1)


def test_every_field_knows_its_name_place_and_kind() -> None:
    assert len(BYTES) == Everything.SIZE
    assert list(Everything.FIELDS) == [
        FieldLayout("AByte", 0, 1, "u8"),
        FieldLayout("Flags", 1, 2, "u16", Word),
        FieldLayout("Point.X", 3, 2, "u16"),
        FieldLayout("Point.Why", 5, 2, "i16"),
        FieldLayout("Count", 7, 4, "u32"),
        FieldLayout("MessageID", 11, 8, "u64"),
        FieldLayout("QMGuid", 19, 16, "guid"),
        FieldLayout("Small", 35, 2, "i16"),
        FieldLayout("Middle", 37, 4, "i32"),
        FieldLayout("Large", 41, 8, "i64"),
        FieldLayout("Key", 49, 16, "bytes"),
        FieldLayout("HTTPDigest", 65, 20, "bytes"),
        FieldLayout("Text", 85, 6, "utf16z"),
    ]


def test_a_field_is_found_by_the_specifications_name() -> None:
    assert Everything.offset_of("Point.Why") == 5
    assert Everything.offset_of("MessageID") == 11


@pytest.mark.parametrize(
    ("attribute", "name"),
    [
        ("message_id", "MessageID"),
        ("connector_qm_guid", "ConnectorQMGuid"),
        ("http_body_size", "HTTPBodySize"),
        ("reserved1", "Reserved1"),
    ],
)
def test_names_are_spelled_as_in_the_specifications(attribute: str, name: str) -> None:
    assert spec_name(attribute) == name


def test_a_longer_structure_starts_with_the_fixed_one() -> None:
    start = Point(1, 2)
    longer = Longer(**start.values(), rest=b"more")
    assert start.values() == {"x": 1, "y": 2}
    assert longer.pack() == start.pack()
    assert longer.rest == b"more"
    assert Longer.SIZE == Point.SIZE


def test_values_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Point().x = 1  # type: ignore[misc] # that is the point


def test_values_are_small() -> None:
    """Slots only: there is one such object for each header of each packet."""
    assert not hasattr(Point(), "__dict__")
    assert not hasattr(Longer(), "__dict__")


def test_groups_of_bits_are_listed_from_the_lowest() -> None:
    assert Word.GROUPS == (("LOW", 0, 1), ("MIDDLE", 2, 2), ("HIGH", 4, 4))


def test_a_word_is_split_into_its_groups() -> None:
    assert Word.split(0xA9) == {"LOW": 1, "MIDDLE": 2, "HIGH": 10}
    assert Word.split(0x01) == {"LOW": 1, "MIDDLE": 0, "HIGH": 0}


def test_only_masks_are_groups() -> None:
    assert Marked.GROUPS == (("A", 0, 1),)
