"""Binary XML as a tree and as text."""

from __future__ import annotations

from typing import Final

import pytest

from openmsmq.bodies import nbf_values
from openmsmq.bodies.body import Tree
from openmsmq.bodies.nbf_values import Budget
from openmsmq.bodies.nbfx import read_nbfx
from openmsmq.errors import Malformed
from openmsmq.limits import NBF_DEPTH_MAX, NBF_NODES_MAX
from openmsmq.wire.reader import Reader

EXAMPLES: Final = """
EndElement 4003646F6301
<doc></doc>
Comment 0207636F6D6D656E74
<!--comment-->
Array 034003617272018B0333338888DDDD
<arr>13107</arr><arr>-30584</arr><arr>-8739</arr>
ShortAttribute 4003646F630404617474728401
<doc attr="false"></doc>
Attribute 4003646F6309037072650A687474703A2F2F616263050370726504617474728401
<doc xmlns:pre="http://abc" pre:attr="false"></doc>
ShortDictionaryAttribute 4003646F6306088601
<doc str8="true"></doc>
DictionaryAttribute 4003646F6309037072650A687474703A2F2F6162630703707265008601
<doc xmlns:pre="http://abc" pre:str0="true"></doc>
ShortXmlnsAttribute 4003646F63080A687474703A2F2F61626301
<doc xmlns="http://abc"></doc>
XmlnsAttribute 4003646F630901700A687474703A2F2F61626301
<doc xmlns:p="http://abc"></doc>
ShortDictionaryXmlnsAttribute 4003646F630A0401
<doc xmlns="str4"></doc>
DictionaryXmlnsAttribute 4003646F630B01700401
<doc xmlns:p="str4"></doc>
PrefixDictionaryAttributeF 4003646F630901660A687474703A2F2F616263110B980568656C6C6F01
<doc xmlns:f="http://abc" f:str11="hello"></doc>
PrefixDictionaryAttributeX 4003646F630901780A687474703A2F2F61626323159805776F726C6401
<doc xmlns:x="http://abc" x:str21="world"></doc>
PrefixAttributeK 4003646F6309016B0A687474703A2F2F6162633004617474728601
<doc xmlns:k="http://abc" k:attr="true"></doc>
PrefixAttributeZ 4003646F6309017A0A687474703A2F2F6162633F03616263980378797A01
<doc xmlns:z="http://abc" z:abc="xyz"></doc>
ShortElement 4003646F6301
<doc></doc>
Element 410370726503646F6309037072650A687474703A2F2F61626301
<pre:doc xmlns:pre="http://abc"></pre:doc>
ShortDictionaryElement 420E01
<str14></str14>
DictionaryElement 43037072650E09037072650A687474703A2F2F61626301
<pre:str14 xmlns:pre="http://abc"></pre:str14>
PrefixDictionaryElementA 440A0901610A687474703A2F2F61626301
<a:str10 xmlns:a="http://abc"></a:str10>
PrefixDictionaryElementS 56260901730A687474703A2F2F61626301
<s:str38 xmlns:s="http://abc"></s:str38>
PrefixElementA 5E0568656C6C6F0901610A687474703A2F2F61626301
<a:hello xmlns:a="http://abc"></a:hello>
PrefixElementS 70094D794D6573736167650901730A687474703A2F2F61626301
<s:MyMessage xmlns:s="http://abc"></s:MyMessage>
"""
"Record, its document in binary, and the document it stands for ([MC-NBFX] 3)."
LINES: Final = EXAMPLES.strip().splitlines()


def numbered(number: int) -> str:
    """The strings of the specification's examples."""
    return f"str{number}"


def read(data: bytes) -> tuple[list[Tree], str]:
    reader = Reader(data)
    return read_nbfx(reader, numbered, Budget(reader))


def refused(data: bytes) -> str:
    with pytest.raises(Malformed) as caught:
        read(data)
    return str(caught.value)


def word(value: str) -> bytes:
    raw = value.encode()
    return bytes([len(raw)]) + raw


def element(name: str, *content: bytes) -> bytes:
    """ShortElement, content, EndElement."""
    return b"\x40" + word(name) + b"".join(content) + b"\x01"


def chars(value: str) -> bytes:
    return b"\x98" + word(value)


@pytest.mark.parametrize(("example", "xml"), [*zip(LINES[::2], LINES[1::2], strict=True)])
def test_the_examples_of_the_specification_read_as_shown(example: str, xml: str) -> None:
    """[MC-NBFX] 3; the text records are in `test_nbfx_text`."""
    assert read(bytes.fromhex(example.split()[1]))[1] == xml


def test_every_prefix_letter_is_its_record_type() -> None:
    """[MC-NBFX] 2.1.1, the ranges of the table."""
    for index in range(26):
        letter = chr(ord("a") + index)
        attributes = bytes([0x0C + index, 0x02, 0x82, 0x26 + index]) + word("n") + b"\x80"
        tag = f'{letter}:str2="1" {letter}:n="0"'
        dictionary = bytes([0x44 + index, 0x04]) + attributes + b"\x01"
        assert read(dictionary)[1] == f"<{letter}:str4 {tag}></{letter}:str4>"
        written = bytes([0x5E + index]) + word("e") + attributes + b"\x01"
        assert read(written)[1] == f"<{letter}:e {tag}></{letter}:e>"


def test_an_element_has_name_attributes_and_children() -> None:
    inner = element("b", b"\x04" + word("k") + chars("v"), chars("text"))
    nodes, xml = read(element("a", chars("x"), b"\x82", inner, b"\x02" + word("c"), chars("y")))
    assert nodes == [
        {
            "name": "a",
            "children": [
                "x1",
                {"name": "b", "attributes": {"k": "v"}, "children": ["text"]},
                {"comment": "c"},
                "y",
            ],
        }
    ]
    assert xml == '<a>x1<b k="v">text</b><!--c-->y</a>'


def test_every_text_is_content() -> None:
    assert read(element("a", b"\x80", b"\x82", b"\xaa\x02"))[0] == [
        {"name": "a", "children": ["01str2"]}
    ]


def test_empty_parts_are_left_out() -> None:
    assert read(element("a", b"\xa8"))[0] == [{"name": "a"}]


def test_reading_stops_after_the_root_element() -> None:
    reader = Reader(b"\x02" + word("c") + element("a") + b"\x07")
    nodes, xml = read_nbfx(reader, numbered, Budget(reader))
    assert nodes == [{"comment": "c"}, {"name": "a"}]
    assert xml == "<!--c--><a></a>"
    assert reader.remaining == 1


def test_an_array_repeats_its_element_and_attributes() -> None:
    """[MC-NBFX] 2.3.3."""
    pattern = b"\x77" + word("item") + b"\x08" + word("u:x") + b"\x01"
    data = b"\x03" + pattern + b"\x8d\x03" + bytes.fromhex("010000000200000003000000")
    nodes, xml = read(element("list", data))
    items = [{"name": "z:item", "attributes": {"xmlns": "u:x"}, "children": [n]} for n in "123"]
    assert nodes == [{"name": "list", "children": items}]
    assert xml == "<list>" + "".join(f'<z:item xmlns="u:x">{n}</z:item>' for n in "123") + "</list>"


@pytest.mark.parametrize(
    ("item", "size", "text"),
    [
        (0xB5, 1, "false"),
        (0x8B, 2, "0"),
        (0x8D, 4, "0"),
        (0x8F, 8, "0"),
        (0x91, 4, "0"),
        (0x93, 8, "0"),
        (0x95, 16, "0"),
        (0x97, 8, "0001-01-01T00:00:00"),
        (0xAF, 8, "PT0S"),
        (0xB1, 16, "00000000-0000-0000-0000-000000000000"),
    ],
)
def test_arrays_hold_values_of_fixed_size(item: int, size: int, text: str) -> None:
    head = b"\x03\x40" + word("n") + b"\x01" + bytes([item])
    assert read(head + b"\x02" + bytes(2 * size))[1] == f"<n>{text}</n>" * 2
    assert "2 items are not there" in refused(head + b"\x02" + bytes(2 * size - 1))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x03\x82", "not an element"),
        (b"\x03\x40\x01n\x82", "not an end element"),
        (b"\x03\x40\x01n\x01\x99", "no array of 0x99"),
        (b"\x03\x40\x01n\x01\xb5\x00", "0 items are not there"),
        (b"\x03\x40\x01n\x01\xb5\xff\xff\xff\xff\x07\x01", "2147483647 items are not there"),
    ],
)
def test_an_array_that_makes_no_sense_is_refused(data: bytes, reason: str) -> None:
    assert reason in refused(data)


def test_special_characters_are_escaped() -> None:
    special = "\"&<>'\t\n\r"
    nodes, xml = read(element("a", b"\x04" + word("k") + chars(special), chars(special)))
    quoted = "&quot;&amp;&lt;&gt;'&#9;&#10;&#13;"
    assert xml == f'<a k="{quoted}">"&amp;&lt;&gt;\'\t\n&#13;</a>'
    assert nodes == [{"name": "a", "attributes": {"k": special}, "children": [special]}]


def test_characters_xml_cannot_hold_are_replaced_in_the_text_only() -> None:
    nodes, xml = read(element("a", chars("x\0\uffff")))
    assert nodes == [{"name": "a", "children": ["x\0\uffff"]}]
    assert xml == "<a>x\ufffd\ufffd</a>"


@pytest.mark.parametrize(
    ("comment", "written"), [("a--b", "a- -b"), ("---", "- - - "), ("-\0", "-\ufffd")]
)
def test_a_comment_cannot_end_itself(comment: str, written: str) -> None:
    nodes, xml = read(b"\x02" + word(comment))
    assert nodes == [{"comment": comment}]
    assert xml == f"<!--{written}-->"


@pytest.mark.parametrize("name", ["", "xmlns", "a b", "1a", "a:b", "a><b", "-", 'a"', "a\n"])
def test_names_xml_does_not_allow_are_refused(name: str) -> None:
    assert "not a name" in refused(element(name))
    assert "not a name" in refused(element("e", b"\x04" + word(name) + b"\x82"))
    assert "not a name" in refused(element("e", b"\x09" + word(name) + word("u")))
    assert "not a name" in refused(b"\x41" + word(name) + word("e") + b"\x01")


@pytest.mark.parametrize("name", ["Größe", "_x", "a-1.b", "名", "e\u0301"])
def test_names_of_all_languages_are_allowed(name: str) -> None:
    assert read(element(name))[1] == f"<{name}></{name}>"


def test_an_attribute_is_given_once() -> None:
    attribute = b"\x04" + word("k") + b"\x82"
    assert "attribute k is given twice" in refused(element("a", attribute, attribute))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x01", "at offset 0: no element is open"),
        (b"\x82", "at offset 0: text outside of any element"),
        (b"\x04\x01a\x82", "0x04 is out of place"),
        (element("a", b"\x82", b"\x04\x01k\x82"), "0x04 is out of place"),
        (b"\x00", "0x00 is out of place"),
        (b"\x78", "0x78 is out of place"),
        (b"\x40\x01a", "needs 1 bytes, 0 are left"),
        (b"\x40\x01a\xbe", "0xBE is no text"),
        (b"\x40\x01a\xa5", "0xA5 is no text"),
        (b"\x40\x01a\xa7", "0xA6 is no text"),
        (b"\x40\x01a\x04\x01k\x83\x01", "0x83 is no text"),
        (b"\x40\x01a\x04\x01k\x40", "0x40 is no text"),
    ],
)
def test_records_out_of_place_are_refused(data: bytes, reason: str) -> None:
    assert reason in refused(data)


def test_elements_may_not_nest_too_deep() -> None:
    assert read(b"\x40\x01a" * NBF_DEPTH_MAX + b"\x01" * NBF_DEPTH_MAX)
    assert "nested deeper" in refused(b"\x40\x01a" * (NBF_DEPTH_MAX + 1))


def test_the_number_of_elements_and_attributes_is_bounded() -> None:
    pattern = b"\x03\x40\x01a" + b"".join(bytes([0x04, 1, c, 0x82]) for c in b"bcdef") + b"\x01"
    count = NBF_NODES_MAX // 6 + 1
    length = bytes([count & 0x7F | 0x80, count >> 7 & 0x7F | 0x80, count >> 14])
    assert f"more than {NBF_NODES_MAX}" in refused(pattern + b"\xb5" + length + bytes(count))


def test_comments_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nbf_values, "NBF_NODES_MAX", 100)
    assert read(element("a", b"\x02\x00" * 99))
    assert "more than 100" in refused(element("a", b"\x02\x00" * 100))


@pytest.mark.parametrize(
    "content",
    [
        b"\xaa\x01" * 20_000,
        b"\xa4" + b"\xaa\x01" * 20_000 + b"\xa6",
        b"\x42\x03\x0a\x01\x01" * 20_000,
    ],
)
def test_a_long_string_cannot_be_repeated_without_end(content: bytes) -> None:
    reader = Reader(element("a", content))
    strings = {1: "x" * 10_000, 3: "e"}
    with pytest.raises(Malformed, match="far more text"):
        read_nbfx(reader, strings.get, Budget(reader))


def test_an_unknown_string_is_refused() -> None:
    reader = Reader(b"\x42\x05\x01")
    with pytest.raises(Malformed, match=r"Element.Name at offset 1: string 5 is not defined"):
        read_nbfx(reader, lambda number: None, Budget(reader))
