"""Primitive values and the system types that are values."""

from __future__ import annotations

import struct

import pytest

from openmsmq.bodies.nbf_values import TICKS_END
from openmsmq.bodies.nrbf_primitives import (
    PrimitiveType,
    Scalar,
    date_data_text,
    read_primitive,
    read_primitive_type,
    read_primitives,
    simple_value,
)
from openmsmq.errors import Malformed
from openmsmq.wire.reader import Reader


@pytest.mark.parametrize(
    ("kind", "data", "value"),
    [
        (PrimitiveType.BOOLEAN, "02", True),
        (PrimitiveType.BYTE, "ff", 255),
        (PrimitiveType.CHAR, "41", "A"),
        (PrimitiveType.CHAR, "c3a9", "é"),
        (PrimitiveType.CHAR, "e282ac", "€"),
        (PrimitiveType.DECIMAL, "062d312e323330", "-1.230"),
        (PrimitiveType.DOUBLE, "000000000000f83f", 1.5),
        (PrimitiveType.INT16, "ffff", -1),
        (PrimitiveType.INT32, "00000080", -(2**31)),
        (PrimitiveType.INT64, "ffffffffffffffff", -1),
        (PrimitiveType.SBYTE, "80", -128),
        (PrimitiveType.SINGLE, "cdcc8c3f", 1.1),
        (PrimitiveType.TIME_SPAN, "00c4f532ffffffff", "-PT5M44S"),
        (PrimitiveType.DATE_TIME, "00408ef95b47c808", "2006-05-17T00:00:00"),
        (PrimitiveType.UINT16, "ffff", 65535),
        (PrimitiveType.UINT32, "ffffffff", 2**32 - 1),
        (PrimitiveType.UINT64, "ffffffffffffffff", 2**64 - 1),
    ],
)
def test_every_primitive_type_is_read(kind: PrimitiveType, data: str, value: Scalar) -> None:
    """[MS-NRBF] 2.1.1."""
    reader = Reader(bytes.fromhex(data))
    read = read_primitive(reader, kind)
    assert read == value
    assert type(read) is type(value)
    assert reader.remaining == 0


@pytest.mark.parametrize(("kind", "zone"), [(0, ""), (1, "Z"), (2, ""), (3, "")])
def test_only_universal_time_has_a_zone(kind: int, zone: str) -> None:
    """[MS-NRBF] 2.1.1.5: a local time does not say where."""
    assert date_data_text(kind << 62) == "0001-01-01T00:00:00" + zone


def test_many_values_come_at_once() -> None:
    data = struct.pack("<3h", 1, -2, 3)
    assert read_primitives(Reader(data), PrimitiveType.INT16, 3) == [1, -2, 3]
    assert read_primitives(Reader(b"\x00\xff"), PrimitiveType.BYTE, 2) == b"\x00\xff"
    assert read_primitives(Reader(b"\x011\x012"), PrimitiveType.DECIMAL, 2) == ["1", "2"]
    assert read_primitives(Reader(b""), PrimitiveType.CHAR, 0) == ""


def test_characters_of_two_units_count_twice() -> None:
    data = "aé€😀".encode()
    assert read_primitives(Reader(data), PrimitiveType.CHAR, 5) == "aé€😀"
    with pytest.raises(Malformed, match="two places"):
        read_primitives(Reader(data), PrimitiveType.CHAR, 4)


@pytest.mark.parametrize("data", [b"\x80", b"\xc3", b"\xe2\x82a", b"\xff\xff\xff\xff"])
def test_broken_characters_are_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_primitive(Reader(data), PrimitiveType.CHAR)


@pytest.mark.parametrize("digits", ["", "-", "1.", ".5", "1e5", "+1", "१", "1\n"])
def test_what_is_no_decimal_number_is_refused(digits: str) -> None:
    raw = digits.encode()
    with pytest.raises(Malformed, match="not a decimal"):
        read_primitive(Reader(bytes([len(raw)]) + raw), PrimitiveType.DECIMAL)


def test_a_date_past_the_year_9999_is_refused() -> None:
    with pytest.raises(Malformed, match="after the year 9999"):
        read_primitive(Reader(struct.pack("<Q", TICKS_END)), PrimitiveType.DATE_TIME)


@pytest.mark.parametrize("kind", [PrimitiveType.DECIMAL, PrimitiveType.CHAR, PrimitiveType.INT64])
def test_a_count_beyond_the_data_is_refused_at_once(kind: PrimitiveType) -> None:
    with pytest.raises(Malformed):
        read_primitives(Reader(b"1234"), kind, 2**31 - 1)


def test_type_codes_are_checked() -> None:
    assert read_primitive_type(Reader(b"\x12"), with_code=True) is PrimitiveType.STRING
    for code in (0, 4, 17, 18, 19, 255):
        with pytest.raises(Malformed, match=f"no primitive type {code} here"):
            read_primitive_type(Reader(bytes([code])))


GUID: dict[str, object] = {"_a": -1, "_b": -2, "_c": 3, **{f"_{c}": 7 for c in "defghijk"}}
DECIMAL: dict[str, object] = {"flags": 0x20000, "hi": 0, "lo": -1, "mid": 0}


@pytest.mark.parametrize(
    ("name", "members", "value"),
    [
        ("System.Guid", GUID, "ffffffff-fffe-0003-0707-070707070707"),
        ("System.DateTime", {"ticks": 5, "dateData": 1 << 62}, "0001-01-01T00:00:00Z"),
        ("System.DateTime", {"ticks": 10_000_000}, "0001-01-01T00:00:01"),
        ("System.TimeSpan", {"_ticks": -10_000_000}, "-PT1S"),
        ("System.Decimal", DECIMAL, "42949672.95"),
        ("System.Decimal", {**DECIMAL, "flags": 0}, "4294967295"),
        ("System.Decimal", {**DECIMAL, "flags": -(2**31)}, "-4294967295"),
        ("System.Decimal", {**DECIMAL, "flags": 28 << 16}, "0." + "0" * 18 + "4294967295"),
        ("System.Boolean", {"m_value": False}, False),
        ("System.Char", {"m_value": "x"}, "x"),
    ],
)
def test_system_values_are_plain_values(
    name: str, members: dict[str, object], value: Scalar
) -> None:
    assert simple_value(name, members) == value


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("System.Guid", {**GUID, "_k": None}),
        ("System.Guid", {"_a": 1}),
        ("System.DateTime", {"dateData": TICKS_END}),
        ("System.Decimal", {**DECIMAL, "flags": 29 << 16}),
        ("System.Int32", {"m_value": None}),
        ("System.Int32", {"m_value": 1, "other": 2}),
        ("Shop.Int32", {"m_value": 1}),
        ("System.Object", {}),
    ],
)
def test_anything_else_stays_an_object(name: str, members: dict[str, object]) -> None:
    assert simple_value(name, members) is None
