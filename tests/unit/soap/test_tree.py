"""Elements and their places in an envelope."""

from __future__ import annotations

import pytest

from openmsmq.errors import Malformed
from openmsmq.soap.limits import ENVELOPE_DEPTH_MAX, ENVELOPE_NODES_MAX, ENVELOPE_SIZE_MAX
from openmsmq.soap.tree import envelope_text, read_element


def test_elements_know_their_name_space_attributes_children_and_text() -> None:
    root = read_element('<p:a xmlns:p="urn:x" n="1" p:m="2"> x <p:b/><b>y</b> z </p:a>')
    assert (root.namespace, root.name) == ("urn:x", "a")
    assert root.attributes == {"n": "1", "{urn:x}m": "2"}
    assert root.text == " x  z "
    assert [(child.namespace, child.name) for child in root.children] == [("urn:x", "b"), ("", "b")]


def test_elements_know_where_they_stand() -> None:
    text = """<a x=">" y='"'><!-- <b> --><b/><![CDATA[<b>]]><b z="/">t</b><c ></c ></a>"""
    root = read_element(text)
    assert text[root.start : root.end] == text
    first, second, third = root.children
    assert text[first.start : first.end] == "<b/>"
    assert text[second.start : second.end] == '<b z="/">t</b>'
    assert text[slice(*second.inner)] == "t"
    assert text[third.start : third.end] == "<c ></c >"
    assert root.text == "<b>"


def test_the_content_of_an_element_is_its_text_without_layout() -> None:
    root = read_element("<a>\r\n   http://machine1/  \n</a>")
    assert root.content == "http://machine1/"
    with pytest.raises(Malformed, match="elements inside"):
        _ = read_element("<a>x<b/></a>").content


def test_an_element_that_is_there_twice_is_refused() -> None:
    root = read_element("<a><b/><b/><c/></a>")
    assert root.only("", "c") is root.children[2]
    assert root.only("", "d") is None
    with pytest.raises(Malformed, match=r"a\.b at offset 7: is there twice"):
        root.only("", "b")
    with pytest.raises(Malformed, match=r"a\.d .* missing"):
        root.required("", "d")


def test_an_envelope_is_utf_8_with_or_without_mark_and_declaration() -> None:
    for start in (b"", b"\xef\xbb\xbf", b'<?xml version="1.0"?>\r\n', b"\r\n "):
        assert envelope_text(start + "<a>\u00e9</a>".encode()) == "<a>\u00e9</a>"
    declared = b'\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8" ?><a/>'
    assert envelope_text(declared) == "<a/>"


@pytest.mark.parametrize(
    "data",
    [
        "<a>\u00e9</a>".encode("latin-1"),
        "<a/>".encode("utf-16"),
        b'<?xml version="1.0" encoding="ISO-8859-1"?><a/>',
        b"<?xml version='1.0' encoding = 'utf-7'?><a/>",
    ],
)
def test_another_encoding_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_element(envelope_text(data))


def test_an_envelope_that_is_too_large_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(Malformed, match="at most 131072 are accepted"):
        envelope_text(b"<" * (ENVELOPE_SIZE_MAX + 1))


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE a><a/>",
        '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        "<?xml-stylesheet href='x'?><a/>",
        "<a><?php no?></a>",
        "<a/><?after no?>",
        "<a>&unknown;</a>",
        "<a>&#0;</a>",
        "<a>\x01</a>",
        "<a><b></a></b>",
        "<a/><a/>",
        '<a x="1" x="2"/>',
        "<p:a/>",
        "<a p:b='1'/>",
        "<p:a></p:a></p:b>",
        "",
        "text",
        "<a>\ud800</a>",
    ],
)
def test_hostile_and_broken_xml_is_refused(text: str) -> None:
    """SRMP-042: neither document type nor processing instruction (SOAP 1.1 section 3)."""
    with pytest.raises(Malformed):
        read_element(text)


def test_depth_and_number_of_elements_are_bounded() -> None:
    deep = ENVELOPE_DEPTH_MAX
    assert read_element("<a>" * deep + "</a>" * deep).name == "a"
    with pytest.raises(Malformed, match="nested deeper than 32"):
        read_element("<a>" * (deep + 1) + "</a>" * (deep + 1))
    many = ENVELOPE_NODES_MAX - 1
    assert len(read_element(f"<a>{'<b/>' * many}</a>").children) == many
    with pytest.raises(Malformed, match="more than 4096 elements and attributes"):
        read_element(f"<a>{'<b/>' * (many + 1)}</a>")


def test_attributes_and_name_spaces_by_the_thousand_are_bounded_too() -> None:
    attributes = "".join(f' a{n}="1"' for n in range(ENVELOPE_NODES_MAX))
    with pytest.raises(Malformed):
        read_element(f"<a{attributes}/>")
    largest = "x" * (ENVELOPE_SIZE_MAX - 20)
    assert read_element(f'<a b="{largest}"/>').attributes["b"] == largest
