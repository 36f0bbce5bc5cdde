"""The heads of class and array records."""

from __future__ import annotations

import pytest
from tests.unit.bodies.test_nrbf import class_info, i32, text

from openmsmq.bodies.nrbf_primitives import PrimitiveType
from openmsmq.bodies.nrbf_records import (
    ArrayHeader,
    ClassMetadata,
    MessageFlags,
    RecordType,
    read_array,
    read_class,
    read_length,
    read_string,
)
from openmsmq.errors import Malformed
from openmsmq.wire.reader import Reader


def test_names_are_those_of_the_specification() -> None:
    record = RecordType.SYSTEM_CLASS_WITH_MEMBERS_AND_TYPES
    assert record.spec_name == "SystemClassWithMembersAndTypes"
    assert MessageFlags(0x8101).spec_names() == ["NoArgs", "PropertiesInArray", "GenericMethod"]
    assert MessageFlags(0x10000).spec_names() == []


def test_broken_characters_are_replaced() -> None:
    assert read_string(Reader(text(b"a\xff")), "Value") == "a\ufffd"


def test_every_kind_of_member_is_understood() -> None:
    names = list("abcdefgh")
    kinds = bytes(range(8))
    infos = b"\x08" + text("System.Guid") + text("T") + i32(3) + b"\x02"
    data = class_info(1, "C", names) + kinds + infos + i32(3)
    reader = Reader(data)
    record = RecordType.CLASS_WITH_MEMBERS_AND_TYPES
    object_id, metadata = read_class(reader, record, {3: "Lib"})
    types = (PrimitiveType.INT32, *[None] * 7)
    assert object_id == 1
    assert metadata == ClassMetadata("C", "Lib", tuple(names), types, 12)
    assert reader.remaining == 0


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (i32(1) + text("C") + i32(-1), "-1 is no length"),
        (i32(1) + text("C") + i32(9), "9 names do not fit"),
        (class_info(1, "C", ["a", "a"]), "used twice"),
        (class_info(1, "C", ["$type"]), "used twice"),
        (class_info(1, "C", ["a"]) + b"\x08", "no binary type 8"),
        (class_info(1, "C", ["a"]) + b"\x00\x12", "no primitive type 18 here"),
        (class_info(1, "C", []) + i32(4), "no such library before"),
    ],
)
def test_a_class_that_makes_no_sense_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        read_class(Reader(data), RecordType.CLASS_WITH_MEMBERS_AND_TYPES, {3: "Lib"})


def test_the_short_array_records_have_one_dimension() -> None:
    for record in (RecordType.ARRAY_SINGLE_OBJECT, RecordType.ARRAY_SINGLE_STRING):
        assert read_array(Reader(i32(4, 7)), record) == ArrayHeader(4, (7,), (), None)
    primitive = read_array(Reader(i32(4, 7) + b"\x06"), RecordType.ARRAY_SINGLE_PRIMITIVE)
    assert primitive == ArrayHeader(4, (7,), (), PrimitiveType.DOUBLE)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x06", "no kind of array 6"),
        (b"\x02" + i32(0), "no array has 0 dimensions"),
        (b"\x02" + i32(33), "no array has 33 dimensions"),
        (b"\x02" + i32(2**31 - 1), "no array has 2147483647 dimensions"),
        (b"\x02" + i32(2, 1, -1), "-1 is no length"),
        (b"\x00" + i32(1, 1) + b"\x09", "no binary type 9"),
    ],
)
def test_an_array_that_makes_no_sense_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        read_array(Reader(i32(1) + data), RecordType.BINARY_ARRAY)


def test_a_length_is_not_negative() -> None:
    assert read_length(Reader(i32(5)), "Length") == 5
    with pytest.raises(Malformed, match="at offset 0: -5 is no length"):
        read_length(Reader(i32(-5)), "Length")
