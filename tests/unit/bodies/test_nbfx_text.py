"""Typed text of binary XML."""

from __future__ import annotations

import struct
from typing import Final

import pytest
from tests.unit.bodies.test_nbfx import read as read_document

from openmsmq.bodies.nbf_values import TICKS_END
from openmsmq.bodies.nbfx_text import read_dictionary_string, read_string, read_text
from openmsmq.errors import Malformed
from openmsmq.wire.reader import Reader

LOCAL: Final = 2 << 62

EXAMPLES: Final = """
ZeroText 4003646F6306A0038001
<doc str416="0"></doc>
ZeroTextWithEndElement 400361626381
<abc>0</abc>
OneText 4003646F6306008201
<doc str0="1"></doc>
OneTextWithEndElement 400361626383
<abc>1</abc>
FalseText 4003646F6306008401
<doc str0="false"></doc>
FalseTextWithEndElement 400361626385
<abc>false</abc>
TrueText 4003646F6306008601
<doc str0="true"></doc>
TrueTextWithEndElement 400361626387
<abc>true</abc>
Int8Text 4003646F6306EC0188DE01
<doc str236="-34"></doc>
Int8TextWithEndElement 429A01897F
<str154>127</str154>
Int16Text 4003646F6306EC018A008001
<doc str236="-32768"></doc>
Int16TextWithEndElement 429A018BFF7F
<str154>32767</str154>
Int32Text 4003646F6306EC018C15CD5B0701
<doc str236="123456789"></doc>
Int32TextWithEndElement 429A018DFFFFFF7F
<str154>2147483647</str154>
Int64Text 4003646F6306EC018E000000800000000001
<doc str236="2147483648"></doc>
Int64TextWithEndElement 429A018F0000000000010000
<str154>1099511627776</str154>
FloatText 4003646F6304016190CDCC8C3F01
<doc a="1.1"></doc>
FloatTextWithEndElement 4005507269636591CDCC0142
<Price>32.45</Price>
DoubleText 4003646F63040161927457148B0ABF054001
<doc a="2.71828182845905"></doc>
DoubleTextWithEndElement 4002504993112D4454FB210940
<PI>3.14159265358979</PI>
DecimalText 4003646F630403696E74940000060000000000802D4E000000000001
<doc int="5.123456"></doc>
DecimalTextWithEndElement 40084D617856616C75659500000000FFFFFFFFFFFFFFFFFFFFFFFF
<MaxValue>79228162514264337593543950335</MaxValue>
DateTimeText 4003646F63066E96FF3F37F47528CA2B01
<doc str110="9999-12-31T23:59:59.9999999"></doc>
DateTimeTextWithEndElement 426C9700408EF95B47C808
<str108>2006-05-17T00:00:00</str108>
Chars8Text 4003646F63980568656C6C6F01
<doc>hello</doc>
Chars8TextWithEndElement 400161990568656C6C6F
<a>hello</a>
Chars16Text 4003646F639A050068656C6C6F01
<doc>hello</doc>
Chars16TextWithEndElement 4001619B050068656C6C6F
<a>hello</a>
Chars32Text 4003646F639C0500000068656C6C6F01
<doc>hello</doc>
Chars32TextWithEndElement 4001619D0500000068656C6C6F
<a>hello</a>
Bytes8Text 4003646F639E08000102030405060701
<doc>AAECAwQFBgc=</doc>
Bytes8TextWithEndElement 40064261736536349F080001020304050607
<Base64>AAECAwQFBgc=</Base64>
Bytes16Text 4003646F63A00800000102030405060701
<doc>AAECAwQFBgc=</doc>
Bytes16TextWithEndElement 4006426173653634A108000001020304050607
<Base64>AAECAwQFBgc=</Base64>
Bytes32Text 4003646F63A208000000000102030405060701
<doc>AAECAwQFBgc=</doc>
Bytes32TextWithEndElement 4006426173653634A3080000000001020304050607
<Base64>AAECAwQFBgc=</Base64>
StartListText 4003646F63040161A4887B980568656C6C6F86A601
<doc a="123 hello true"></doc>
EmptyText 4003646F63040161A801
<doc a=""></doc>
EmptyTextWithEndElement 4003646F63A9
<doc></doc>
DictionaryText 4003646F6304026E73AA3801
<doc ns="str56"></doc>
DictionaryTextWithEndElement 400454797065ABC401
<Type>str196</Type>
UniqueIdText 4003646F63AC00112233445566778899AABBCCDDEEFF01
<doc>urn:uuid:33221100-5544-7766-8899-aabbccddeeff</doc>
UniqueIdTextWithEndElement 421AAD00112233445566778899AABBCCDDEEFF
<str26>urn:uuid:33221100-5544-7766-8899-aabbccddeeff</str26>
TimeSpanText 4003646F63AE00C4F532FFFFFFFF01
<doc>-PT5M44S</doc>
TimeSpanTextWithEndElement 429407AF00B08EF01B000000
<str916>PT3H20M</str916>
UuidText 4003646F63B0000102030405060708090A0B0C0D0E0F01
<doc>03020100-0504-0706-0809-0a0b0c0d0e0f</doc>
UuidTextWithEndElement 40024944B1000102030405060708090A0B0C0D0E0F
<ID>03020100-0504-0706-0809-0a0b0c0d0e0f</ID>
UInt64Text 4003646F63B2FFFFFFFFFFFFFFFF01
<doc>18446744073709551615</doc>
UInt64TextWithEndElement 429A01B3FEFFFFFFFFFFFFFF
<str154>18446744073709551614</str154>
BoolText 4003646F63B40101
<doc>true</doc>
BoolTextWithEndElement 03400361727201B5050100010001
<arr>true</arr><arr>false</arr><arr>true</arr><arr>false</arr><arr>true</arr>
UnicodeChars8Text 4003646F63040175B60675006E00690001
<doc u="uni"></doc>
UnicodeChars8TextWithEndElement 400155B70675006E006900
<U>uni</U>
UnicodeChars16Text 4003646F630403753136B8080075006E006900320001
<doc u16="uni2"></doc>
UnicodeChars16TextWithEndElement 4003553136B9080075006E0069003200
<U16>uni2</U16>
UnicodeChars32Text 4003646F630403753332BA040000003300320001
<doc u32="32"></doc>
UnicodeChars32TextWithEndElement 4003553332BB0400000033003200
<U32>32</U32>
QNameDictionaryText 4003646F6306F006BC088E0701
<doc str880="i:str910"></doc>
QNameDictionaryTextWithEndElement 400454797065BD129007
<Type>s:str912</Type>
"""
"Record, its document in binary, and the document it stands for ([MC-NBFX] 3)."
LINES: Final = EXAMPLES.strip().splitlines()


@pytest.mark.parametrize(("example", "xml"), [*zip(LINES[::2], LINES[1::2], strict=True)])
def test_the_examples_of_the_specification_read_as_shown(example: str, xml: str) -> None:
    """[MC-NBFX] 3."""
    assert read_document(bytes.fromhex(example.split()[1]))[1] == xml


def read(record: int, data: bytes) -> str:
    reader = Reader(data)
    text = read_text(reader, record, {8: "name"}.get)
    assert reader.remaining == 0
    return text


@pytest.mark.parametrize(
    ("record", "data", "text"),
    [
        (0x88, "80", "-128"),
        (0x8A, "0080", "-32768"),
        (0x8C, "00000080", "-2147483648"),
        (0x8E, "0000000000000080", "-9223372036854775808"),
        (0x90, "00000080", "-0"),
        (0x90, "0000807f", "INF"),
        (0x92, "000000000000f87f", "NaN"),
        (0x94, "00000280000000006400000000000000", "-1"),
        (0x94, "00000000000000006400000000000000", "100"),
        (0x9E, "01ff", "/w=="),
        (0xB4, "00", "false"),
        (0xB6, "0200d8", "\ufffd"),
        (0x94, "00001c00000000000100000000000000", "0." + "0" * 27 + "1"),
        (0xBC, "0108", "b:name"),
        (0xBC, "1908", "z:name"),
    ],
)
def test_values_have_their_characters(record: int, data: str, text: str) -> None:
    """[MC-NBFX] 2.2.3."""
    assert read(record, bytes.fromhex(data)) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (1 << 62, "0001-01-01T00:00:00Z"),
        (LOCAL | 10_000_000, "0001-01-01T00:00:01Z"),
        (LOCAL | (1 << 62) - 36_000_000_000, "0001-01-01T00:00:00Z"),
        (LOCAL | TICKS_END, "9999-12-31T23:59:59.9999999Z"),
        (LOCAL | TICKS_END + 36_000_000_000, "9999-12-31T23:59:59.9999999Z"),
    ],
)
def test_a_local_time_is_given_in_utc(data: int, text: str) -> None:
    """.NET stores the UTC of a local time, which may fall off either end of time."""
    assert read(0x96, struct.pack("<Q", data)) == text


@pytest.mark.parametrize("data", [TICKS_END, 1 << 62 | TICKS_END, 3 << 62, LOCAL | TICKS_END << 1])
def test_what_is_no_date_is_refused(data: int) -> None:
    with pytest.raises(Malformed, match="not a date"):
        read(0x96, struct.pack("<Q", data & (1 << 64) - 1))


@pytest.mark.parametrize(
    ("record", "data", "reason"),
    [
        (0x94, bytes([0, 0, 29]) + bytes(13), "29 places"),
        (0x98, b"\x01\xff", "Bytes at offset 1: broken UTF-8"),
        (0x9A, b"\xff\xff", "needs 65535 bytes"),
        (0x9C, b"\xff\xff\xff\xff", "needs -1 bytes"),
        (0xA2, b"\xff\xff\xff\x7f", "needs 2147483647 bytes"),
        (0xB4, b"\x02", "neither true nor false"),
        (0xB6, b"\x01a", "UTF-16 text cannot have 1 bytes"),
        (0xBC, b"\x1a\x08", "no letter 26"),
        (0xAA, b"\x02", "string 2 is not defined"),
        (0xA4, b"\x82\xa4", "at offset 1: a list inside a list"),
        (0xA4, b"\x82\x83", "at offset 1: 0x83 is no text"),
        (0xA4, b"\x82", "are left"),
    ],
)
def test_what_does_not_fit_is_refused(record: int, data: bytes, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        read(record, data)


def test_a_list_is_separated_by_spaces() -> None:
    """[MC-NBFX] 2.2.3.19."""
    assert read(0xA4, b"\x86\x84\x80\x82\xa6") == "true false 0 1"
    assert read(0xA4, b"\xa6") == ""


def test_strings_are_written_out_or_looked_up() -> None:
    assert read_string(Reader(b"\x03abc"), "Name") == "abc"
    assert read_dictionary_string(Reader(b"\x08"), {8: "name"}.get, "Name") == "name"
    with pytest.raises(Malformed, match="Name at offset 0: broken UTF-8"):
        read_string(Reader(b"\x01\xc3"), "Name")
