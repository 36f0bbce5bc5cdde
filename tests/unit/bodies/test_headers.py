"""Headers of NServiceBus and Rebus."""

from __future__ import annotations

import pytest

from openmsmq.bodies.headers import (
    Headers,
    Intent,
    decode_headers,
    encode_nservicebus,
    encode_rebus,
)
from openmsmq.errors import IllegalPropertyValue

NSERVICEBUS = (
    b'<?xml version="1.0"?>\r\n'
    b'<ArrayOfHeaderInfo xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    b' xmlns:xsd="http://www.w3.org/2001/XMLSchema">\r\n'
    b"  <HeaderInfo>\r\n"
    b"    <Key>NServiceBus.MessageIntent</Key>\r\n"
    b"    <Value>Send</Value>\r\n"
    b"  </HeaderInfo>\r\n"
    b"  <HeaderInfo>\r\n"
    b"    <Key>note</Key>\r\n"
    b"    <Value>a &lt; b &amp; c&#x1;</Value>\r\n"
    b"  </HeaderInfo>\r\n"
    b"  <HeaderInfo>\r\n"
    b"    <Key>nothing</Key>\r\n"
    b"    <Value />\r\n"
    b"  </HeaderInfo>\r\n"
    b"</ArrayOfHeaderInfo>"
)
VALUES = {"NServiceBus.MessageIntent": "Send", "note": "a < b & c\x01", "nothing": ""}
REBUS = b'{"rbs2-msg-id":"1","rbs2-content-type":"application/json;charset=utf-8"}'
REBUS_VALUES = {"rbs2-msg-id": "1", "rbs2-content-type": "application/json;charset=utf-8"}


def test_the_list_of_nservicebus_is_written_and_read() -> None:
    assert encode_nservicebus(VALUES) == NSERVICEBUS
    assert decode_headers(NSERVICEBUS) == Headers("nservicebus", VALUES)


@pytest.mark.parametrize(
    "extension",
    [
        b"\xef\xbb\xbf" + NSERVICEBUS,
        NSERVICEBUS + b"\0\0\0",
        NSERVICEBUS + b"\r\n<rubbish \xff\xfe",
        NSERVICEBUS.replace(b"<Value />", b""),
        NSERVICEBUS.replace(b"<Value />", b'<Value xsi:nil="true" />'),
        NSERVICEBUS.replace(b"<Value>Send", b'<Value xml:space="preserve">Send'),
        NSERVICEBUS.replace(b"<Key>nothing", b"<Key></Key></HeaderInfo><HeaderInfo><Key>nothing"),
        NSERVICEBUS.replace(b"  <HeaderInfo>\r\n    <Key>no", b"<HeaderInfo/><HeaderInfo><Key>no"),
    ],
)
def test_the_damage_of_old_senders_is_tolerated(extension: bytes) -> None:
    assert decode_headers(extension) == Headers("nservicebus", VALUES)


def test_one_header_and_none_are_lists_too() -> None:
    assert decode_headers(encode_nservicebus({"a": "b"})).values == {"a": "b"}
    assert decode_headers(encode_nservicebus({})) == Headers("nservicebus", {})
    assert decode_headers(b"<ArrayOfHeaderInfo />") == Headers("nservicebus", {})


def test_the_object_of_rebus_is_written_and_read() -> None:
    assert encode_rebus(REBUS_VALUES) == REBUS
    assert decode_headers(REBUS) == Headers("rebus", REBUS_VALUES)
    assert encode_rebus({"name": "\u00e9"}) == b'{"name":"\xc3\xa9"}'


def test_values_of_other_types_become_text() -> None:
    extension = b'\xef\xbb\xbf {"a": 1, "b": null, "c": [true], "d": "\\ud800"}\0'
    values = {"a": "1", "b": "", "c": "[true]", "d": "\ufffd"}
    assert decode_headers(extension) == Headers("rebus", values)


def test_no_extension_has_no_headers_and_no_reason() -> None:
    assert decode_headers(b"") == Headers(None, {}, None)


@pytest.mark.parametrize(
    ("extension", "reason"),
    [
        (b"\0\1\2", "neither the XML"),
        (b"<ArrayOfHeaderInfo>", "XML at offset 0: "),
        (b"<other/>", "its root is not ArrayOfHeaderInfo"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><ArrayOfHeaderInfo/>", "document type"),
        (b'{"a": ', "JSON at offset "),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b'{"a":' * 100_000, "nested deeper"),
        (b'{"a":' + b"9" * 5000 + b"}", "too many digits"),
    ],
)
def test_what_is_no_list_of_headers_has_a_reason(extension: bytes, reason: str) -> None:
    headers = decode_headers(extension)
    assert headers.kind is None
    assert not headers.values
    assert headers.reason is not None
    assert reason in headers.reason


def test_half_a_surrogate_pair_cannot_be_written() -> None:
    with pytest.raises(IllegalPropertyValue):
        encode_nservicebus({"a": "\ud800"})
    with pytest.raises(IllegalPropertyValue):
        encode_rebus({"a": "\ud800"})


def test_intents_have_the_numbers_of_nservicebus() -> None:
    assert [intent.name for intent in Intent] == [
        "SEND",
        "PUBLISH",
        "SUBSCRIBE",
        "UNSUBSCRIBE",
        "REPLY",
    ]
    assert Intent(5) is Intent.REPLY
