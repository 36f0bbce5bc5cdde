"""Variant values, byte for byte."""

from __future__ import annotations

import math
import struct
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from openmsmq.bodies.activex import (
    BODY_TYPES,
    BYTES_ARRAY,
    BYTES_VECTOR,
    VtValue,
    decode_vt,
    encode_value,
    encode_vt,
    type_name,
)
from openmsmq.bodies.body import Tree
from openmsmq.errors import IllegalPropertyValue, Malformed
from openmsmq.properties.vartype import VarType

GUID = UUID("00112233-4455-6677-8899-aabbccddeeff")
TICKS_1970 = bytes.fromhex("0080b5f7f57f9f08")
"621355968000000000, the ticks of the first second of 1970."

USUAL: list[tuple[VtValue, int, bytes, Tree]] = [
    (None, VarType.VT_NULL, b"", None),
    (True, VarType.VT_BOOL, b"\xff\xff", True),
    (False, VarType.VT_BOOL, b"\0\0", False),
    (-2, VarType.VT_I4, b"\xfe\xff\xff\xff", -2),
    (2**31, VarType.VT_I8, b"\0\0\0\x80\0\0\0\0", 2**31),
    (2**63, VarType.VT_UI8, b"\0\0\0\0\0\0\0\x80", 2**63),
    (1.5, VarType.VT_R8, b"\0\0\0\0\0\0\xf8\x3f", 1.5),
    ("h\u00e9", VarType.VT_LPWSTR, b"h\0\xe9\0", "h\u00e9"),
    ("", VarType.VT_LPWSTR, b"", ""),
    ("\ud800", VarType.VT_LPWSTR, b"\0\xd8", "\ud800"),
    (b"\1\2", BYTES_VECTOR, b"\1\2", b"\1\2"),
    (Decimal("12.34"), VarType.VT_CY, b"\x08\xe2\x01\0\0\0\0\0", "12.3400"),
    (Decimal("-0.0001"), VarType.VT_CY, b"\xff" * 8, "-0.0001"),
    (Decimal("0E+99"), VarType.VT_CY, b"\0" * 8, "0.0000"),
    (datetime(1970, 1, 1, tzinfo=UTC), VarType.VT_DATE, TICKS_1970, "1970-01-01T00:00:00"),
    (GUID, VarType.VT_CLSID, bytes.fromhex("33221100554477668899aabbccddeeff"), str(GUID)),
]
DECLARED: list[tuple[VtValue, int, bytes, Tree]] = [
    (-5, VarType.VT_I1, b"\xfb", -5),
    (5, VarType.VT_UI1, b"\5", 5),
    (-5, VarType.VT_I2, b"\xfb\xff", -5),
    (65, VarType.VT_UI2, b"A\0", 65),
    (5, VarType.VT_UI4, b"\5\0\0\0", 5),
    (5, VarType.VT_I8, b"\5\0\0\0\0\0\0\0", 5),
    (0.5, VarType.VT_R4, b"\0\0\0\x3f", 0.5),
    ("hi", VarType.VT_BSTR, b"h\0i\0", "hi"),
    ("h\u00e9", VarType.VT_LPSTR, b"h\xc3\xa9", "h\u00e9"),
    (b"\1", BYTES_ARRAY, b"\1", b"\1"),
    (b"\1", VarType.VT_BLOB, b"\1", b"\1"),
    (b"\1", VarType.VT_STREAMED_OBJECT, b"\1", b"\1"),
    (45285.25, VarType.VT_DATE, struct.pack("<d", 45285.25), "2023-12-25T06:00:00"),
]


@pytest.mark.parametrize(("value", "vartype", "body", "read"), USUAL)
def test_a_value_gets_the_type_dot_net_would_take(
    value: VtValue, vartype: int, body: bytes, read: Tree
) -> None:
    assert encode_value(value) == (body, vartype)
    assert decode_vt(body, vartype) == read


@pytest.mark.parametrize(("value", "vartype", "body", "read"), USUAL + DECLARED)
def test_a_value_is_written_as_the_type_asked_for(
    value: VtValue, vartype: int, body: bytes, read: Tree
) -> None:
    assert encode_vt(value, vartype) == body
    assert decode_vt(body, vartype) == read


@pytest.mark.parametrize(
    ("body", "value"),
    [(b"\xff", True), (b"\0", False), (b"\1\0", True), (b"\xff\xff", True), (b"\0\0", False)],
)
def test_truth_is_one_byte_or_two(body: bytes, value: bool) -> None:
    assert decode_vt(body, VarType.VT_BOOL) is value


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (1.0, "1899-12-31T00:00:00"),
        (-1.25, "1899-12-29T06:00:00"),
        (-657434.0, "0100-01-01T00:00:00"),
        (2958465.0, "9999-12-31T00:00:00"),
        (math.nextafter(2958466.0, 0), "9999-12-31T23:59:59.999"),
        (45285.00001, "2023-12-25T00:00:00.864"),
    ],
)
def test_dates_of_com_are_days(days: float, text: str) -> None:
    assert decode_vt(struct.pack("<d", days), VarType.VT_DATE) == text


@pytest.mark.parametrize(
    ("ticks", "text"),
    [
        (0, "0001-01-01T00:00:00"),
        (1, "0001-01-01T00:00:00.0000001"),
        (3_155_378_975_999_999_999, "9999-12-31T23:59:59.9999999"),
    ],
)
def test_dates_of_dot_net_are_ticks(ticks: int, text: str) -> None:
    assert decode_vt(struct.pack("<q", ticks), VarType.VT_DATE) == text


@pytest.mark.parametrize("days", [math.nan, math.inf, -math.inf, 2958466.0, -657435.0, 1e300])
def test_dates_outside_the_calendar_are_refused(days: float) -> None:
    with pytest.raises(Malformed, match="neither ticks nor days"):
        decode_vt(struct.pack("<d", days), VarType.VT_DATE)


def test_a_date_with_a_zone_is_written_in_utc_and_one_without_as_it_is() -> None:
    zoned = datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert encode_value(zoned) == (TICKS_1970, VarType.VT_DATE)
    local = datetime(1970, 1, 1)  # noqa: DTZ001  # the point of the test
    assert encode_value(local) == (TICKS_1970, VarType.VT_DATE)


@pytest.mark.parametrize(
    ("body", "vartype", "text"),
    [
        (b"h\0i\0\0\0", VarType.VT_LPWSTR, "hi"),
        (b"h\0i\0\0\0", VarType.VT_BSTR, "hi"),
        (b"hi\0", VarType.VT_LPSTR, "hi"),
        (b"h\xe9", VarType.VT_LPSTR, "h\u00e9"),
    ],
)
def test_strings_lose_their_terminator(body: bytes, vartype: int, text: str) -> None:
    assert decode_vt(body, vartype) == text


@pytest.mark.parametrize(
    ("body", "vartype"),
    [
        (b"\0", VarType.VT_NULL),
        (b"", VarType.VT_BOOL),
        (b"\0" * 3, VarType.VT_BOOL),
        (b"\0" * 3, VarType.VT_I4),
        (b"\0" * 5, VarType.VT_I4),
        (b"\0" * 7, VarType.VT_CY),
        (b"\0" * 7, VarType.VT_DATE),
        (b"\0" * 15, VarType.VT_CLSID),
        (b"abc", VarType.VT_BSTR),
        (b"", VarType.VT_EMPTY),
        (b"", VarType.VT_VARIANT),
        (b"", 0x300),
    ],
)
def test_a_body_that_is_not_of_its_type_is_refused(body: bytes, vartype: int) -> None:
    with pytest.raises(Malformed):
        decode_vt(body, vartype)


@pytest.mark.parametrize(
    "value",
    [
        2**64,
        -(2**63) - 1,
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("0.00001"),
        Decimal("1E+15"),
        Decimal("1E+999999"),
        Decimal("1E-999999"),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2))),
        ["a list"],
    ],
)
def test_a_value_without_a_type_is_refused(value: Any) -> None:
    with pytest.raises(IllegalPropertyValue):
        encode_value(value)


@pytest.mark.parametrize(
    ("value", "vartype"),
    [
        (256, VarType.VT_UI1),
        (-1, VarType.VT_UI4),
        (1e39, VarType.VT_R4),
        ("5", VarType.VT_I4),
        (1, VarType.VT_BOOL),
        ("\ud800", VarType.VT_LPSTR),
        ("x", VarType.VT_EMPTY),
        (b"x", 0x300),
    ],
)
def test_what_a_type_cannot_hold_is_refused(value: VtValue, vartype: int) -> None:
    with pytest.raises(IllegalPropertyValue):
        encode_vt(value, vartype)


def test_every_type_has_a_name() -> None:
    assert type_name(VarType.VT_I4) == "VT_I4"
    assert type_name(BYTES_VECTOR) == "VT_UI1|VT_VECTOR"
    assert type_name(BYTES_ARRAY) == "VT_UI1|VT_ARRAY"
    assert len({type_name(vartype) for vartype in BODY_TYPES}) == len(BODY_TYPES)
