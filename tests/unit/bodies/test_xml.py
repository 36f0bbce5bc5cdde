"""XmlMessageFormatter, byte for byte."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from openmsmq.bodies.body import Tree
from openmsmq.bodies.xml import XmlValue, read_xml, write_xml
from openmsmq.bodies.xmltree import XSI
from openmsmq.errors import IllegalPropertyValue, Malformed

GUID = "caf195ea-615c-4264-ae08-11a4e60194c0"
ORDER = (
    b'<?xml version="1.0"?>\r\n'
    b'<Order xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    b' xmlns:xsd="http://www.w3.org/2001/XMLSchema">\r\n'
    b"  <orderId>3</orderId>\r\n"
    b"  <orderTime>2007-07-18T20:11:40.2614595-07:00</orderTime>\r\n"
    b"</Order>"
)
"The body of the example in [MC-MQSRM] 4.2."

SIMPLE: list[tuple[XmlValue, str | None, bytes, Tree]] = [
    ("text", None, b"<string>text</string>", "text"),
    ("", None, b"<string />", ""),
    (" a\r\nb<&> ", None, b"<string> a&#xD;\nb&lt;&amp;&gt; </string>", " a\r\nb<&> "),
    ("A", "char", b"<char>65</char>", "A"),
    (5, None, b"<int>5</int>", 5),
    (-(2**31), None, b"<int>-2147483648</int>", -(2**31)),
    (2**31, None, b"<long>2147483648</long>", 2**31),
    (2**63, None, b"<unsignedLong>9223372036854775808</unsignedLong>", 2**63),
    (5, "long", b"<long>5</long>", 5),
    (5, "short", b"<short>5</short>", 5),
    (-5, "byte", b"<byte>-5</byte>", -5),
    (255, "unsignedByte", b"<unsignedByte>255</unsignedByte>", 255),
    (True, None, b"<boolean>true</boolean>", True),
    (False, None, b"<boolean>false</boolean>", False),
    (1.5, None, b"<double>1.5</double>", 1.5),
    (2.0, None, b"<double>2</double>", 2.0),
    (1e22, None, b"<double>1E+22</double>", 1e22),
    (math.inf, None, b"<double>INF</double>", math.inf),
    (-math.inf, "float", b"<float>-INF</float>", -math.inf),
    (0.1, "float", b"<float>0.1</float>", 0.1),
    (Decimal("12.30"), None, b"<decimal>12.30</decimal>", "12.30"),
    (Decimal("1E+3"), None, b"<decimal>1000</decimal>", "1000"),
    (UUID(GUID), None, f"<guid>{GUID}</guid>".encode(), GUID),
    (b"\0\1\2", None, b"<base64Binary>AAEC</base64Binary>", b"\0\1\2"),
    (b"", None, b"<base64Binary />", b""),
    (
        datetime(2007, 7, 18, 20, 11, 40, 261400, timezone(timedelta(hours=-7))),
        None,
        b"<dateTime>2007-07-18T20:11:40.2614-07:00</dateTime>",
        "2007-07-18T20:11:40.2614-07:00",
    ),
    (
        datetime(2024, 1, 10, 0, 0, 0, tzinfo=UTC),
        None,
        b"<dateTime>2024-01-10T00:00:00Z</dateTime>",
        "2024-01-10T00:00:00Z",
    ),
    (
        datetime(2024, 1, 10, 0, 0, 20, 3010),  # noqa: DTZ001  # .NET dates often have no zone
        None,
        b"<dateTime>2024-01-10T00:00:20.00301</dateTime>",
        "2024-01-10T00:00:20.00301",
    ),
]


@pytest.mark.parametrize(("value", "type_name", "element", "read"), SIMPLE)
def test_simple_values_are_written_and_read(
    value: XmlValue, type_name: str | None, element: bytes, read: Tree
) -> None:
    body = write_xml(value, type_name)
    assert body == b'<?xml version="1.0"?>\r\n' + element
    assert read_xml(body) == (read, body.decode())


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        (2**64, None),
        (-(2**63) - 1, None),
        (256, "unsignedByte"),
        (-1, "unsignedInt"),
        (True, "int"),
        (1, "boolean"),
        ("ab", "char"),
        ("\U0001f600", "char"),
        ("5", "int"),
        (Decimal("NaN"), None),
        ("x", "Order"),
        ("\ud800", None),
        (["a list"], None),
    ],
)
def test_what_a_type_cannot_hold_is_refused(value: Any, type_name: str | None) -> None:
    with pytest.raises(IllegalPropertyValue):
        write_xml(value, type_name)


def test_the_document_of_a_class_becomes_a_tree() -> None:
    assert len(ORDER) == 223
    tree, text = read_xml(ORDER)
    assert tree == {"Order": {"orderId": "3", "orderTime": "2007-07-18T20:11:40.2614595-07:00"}}
    assert text.encode() == ORDER


def test_a_null_string_is_none() -> None:
    assert read_xml(f'<string xmlns:xsi="{XSI}" xsi:nil="true" />'.encode())[0] is None


def test_a_namespace_or_an_attribute_makes_it_another_type() -> None:
    assert read_xml(b'<int xmlns="urn:x">5</int>')[0] == {"int": {"@xmlns": "urn:x", "#text": "5"}}


def test_not_a_number_is_read() -> None:
    value = read_xml(write_xml(math.nan))[0]
    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize(
    "document",
    [
        "<int>x</int>",
        "<int>2147483648</int>",
        "<int>" + "9" * 5000 + "</int>",
        "<int>\u0665</int>",
        "<boolean>maybe</boolean>",
        "<double>1_0</double>",
        "<double>nan</double>",
        "<char>70000</char>",
        "<base64Binary>A</base64Binary>",
        "<base64Binary>\u00e9</base64Binary>",
    ],
)
def test_content_that_does_not_fit_its_type_stays_text(document: str) -> None:
    tree, _ = read_xml(document.encode())
    assert isinstance(tree, dict)
    ((name, content),) = tree.items()
    assert isinstance(content, str)
    assert document == f"<{name}>{content}</{name}>"


def test_white_space_around_a_value_is_ignored() -> None:
    assert read_xml(b"<boolean> 1 </boolean>")[0] is True
    assert read_xml(b"<int>\r\n 5</int>")[0] == 5
    assert read_xml(b"<double> .5 </double>")[0] == 0.5
    assert read_xml(b"<base64Binary>AA\r\nEC</base64Binary>")[0] == b"\0\1\2"


def test_terminating_nulls_belong_to_nothing() -> None:
    assert read_xml(b"<string>x</string>\0") == ("x", "<string>x</string>")


def test_what_is_no_document_is_refused() -> None:
    with pytest.raises(Malformed):
        read_xml(b"<string>")
