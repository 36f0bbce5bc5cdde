"""Bodies and headers: what is written is read again, and nothing that is read ever fails."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from openmsmq.bodies.activex import BODY_TYPES, VtValue, decode_vt, encode_value
from openmsmq.bodies.body import Body
from openmsmq.bodies.decode import NRBF_BODY_TYPE, decode_body
from openmsmq.bodies.headers import decode_headers, encode_nservicebus, encode_rebus
from openmsmq.bodies.text import decode_text
from openmsmq.bodies.xml import XmlValue, read_xml, write_xml

UNICODE = st.text(st.characters(exclude_categories=["Cs"]))
INTEGERS = st.integers(-(2**63), 2**64 - 1)
MONEY = st.integers(-(2**63), 2**63 - 1).map(lambda units: Decimal(units).scaleb(-4))
HEADERS = st.dictionaries(UNICODE.filter(bool), UNICODE)

STARTS = (
    b"",
    b"\0\1\0\1\4\2\x05net.m\3\7",
    bytes.fromhex("0001000000ffffffff0100000000000000"),
    b"<string>",
    b"<?xml version='1.0' encoding='",
    b"\xef\xbb\xbf<",
    b"\xff\xfe<\0",
    b"\xfe\xff\0<",
    b"[",
    b'{"a":',
    b"<ArrayOfHeaderInfo><HeaderInfo><Key>",
)
MARKUP = (
    rb"<a> </a> <a/> &#1; &a; <![CDATA[ ]]> <!-- <!DOCTYPE a[ > [ ] { } \" \ : , 1e999 NaN \ud800"
)
FRAGMENTS = st.sampled_from([*MARKUP.split(), b"\0", b"\xff"])
LIKELY = st.builds(
    lambda start, parts: start + b"".join(parts),
    st.sampled_from(STARTS),
    st.lists(FRAGMENTS | st.binary(max_size=4), max_size=30),
)
BODIES = st.binary(max_size=200) | LIKELY | UNICODE.map(lambda text: text.encode("utf-16-le"))
TYPES = st.sampled_from([0, NRBF_BODY_TYPE, *sorted(BODY_TYPES)]) | st.integers(0, 2**32 - 1)


@given(BODIES, TYPES)
def test_any_body_is_something(data: bytes, body_type: int) -> None:
    body = decode_body(data, body_type)
    assert isinstance(body, Body)
    if body.text is not None:
        body.text.encode("utf-8")
    if body.format == "binary":
        assert body.value == data
    assert decode_body(data, body_type).format == body.format


@given(BODIES)
def test_any_extension_has_headers_or_a_reason(data: bytes) -> None:
    headers = decode_headers(data)
    assert (headers.kind is None) == (headers.reason is not None) or not data
    for key, value in headers.values.items():
        (key + value).encode("utf-8")


@given(UNICODE)
def test_text_is_read_as_it_was_written(text: str) -> None:
    found = decode_text(text.encode("utf-8-sig"))
    assert found is None or found == text.removesuffix("\0")


@given(UNICODE | INTEGERS | st.booleans() | st.floats(allow_nan=False) | st.binary(max_size=64))
def test_xml_values_come_back(value: XmlValue) -> None:
    body = write_xml(value)
    assert read_xml(body)[0] == value
    assert decode_body(body, 0) == Body("xml", read_xml(body)[0], body.decode())


@given(st.datetimes() | st.uuids() | st.decimals(allow_nan=False, allow_infinity=False))
def test_xml_values_that_stay_text_come_back(value: datetime | UUID | Decimal) -> None:
    text = read_xml(write_xml(value))[0]
    assert isinstance(text, str)
    parse = datetime.fromisoformat if isinstance(value, datetime) else type(value)
    assert parse(text) == value


@given(
    st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False) | st.binary() | st.text(),
)
def test_variant_values_come_back(value: VtValue) -> None:
    body, body_type = encode_value(value)
    read = decode_vt(body, body_type)
    assert read == (value.rstrip("\0") if isinstance(value, str) else value)
    assert type(read) is type(value)


@given(MONEY, st.uuids(), st.datetimes())
def test_variant_values_that_become_text_come_back(
    money: Decimal, guid: UUID, moment: datetime
) -> None:
    assert Decimal(str(decode_vt(*encode_value(money)))) == money
    assert UUID(str(decode_vt(*encode_value(guid)))) == guid
    assert datetime.fromisoformat(str(decode_vt(*encode_value(moment)))) == moment


@given(st.floats(-657_434, 2_958_465))
def test_days_are_never_taken_for_ticks(days: float) -> None:
    body, _ = encode_value(days)
    text = str(decode_vt(body, 7))
    assert abs(days) < 1e-90 or int(text[:4]) >= 100
    if abs(days) >= 1e-90:
        start = datetime.fromisoformat("1899-12-30").toordinal()
        assert datetime.fromisoformat(text).toordinal() - start == math.trunc(days)


@given(HEADERS)
def test_headers_come_back(values: dict[str, str]) -> None:
    assert decode_headers(encode_nservicebus(values)).values == values
    assert decode_headers(encode_rebus(values)).values == values
