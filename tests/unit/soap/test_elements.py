"""Elements, and the reader of plain ones: what it reads, a parser reads alike."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.soap import envelope, examples, msmq

from openmsmq.errors import Malformed
from openmsmq.soap import elements
from openmsmq.soap.elements import Element, plain_element
from openmsmq.soap.limits import (
    ENVELOPE_DEPTH_MAX,
    ENVELOPE_NODES_MAX,
    SHAPE_SIZE_MAX,
    SHAPE_TAGS_MAX,
    SHAPES_MAX,
)
from openmsmq.soap.mime import split_content
from openmsmq.soap.tree import envelope_text, parsed_element

PIECES = [
    *("<a>", "</a>", "<b/>", "<p:a xmlns:p='x'>", '<p:a xmlns:p="x">', "</p:a>", '<a xmlns="y">'),
    *('<b k="1"/>', '<b k="1" k="2"/>', '<p:b p:k="1"/>', '<b q:k="1"/>', "<a >", "</a >", "text"),
    *(
        "&amp;",
        "&x;",
        "<!-- c -->",
        "<![CDATA[x]]>",
        "<?pi?>",
        "\r",
        "\n",
        "\t",
        " ",
        "]]>",
        "\x01",
    ),
    *('<a xml:lang="en">', '<a xmlns:p="">', '<a xmlns="">', '<b k="a\tb"/>', '<b k="<"/>', "<a"),
    *(
        '<a xmlns:xml="z">',
        '<a xmlns:xmlns="z">',
        "<!DOCTYPE a>",
        "\u00e9",
        "\x85",
        "<-a/>",
        "<a:/>",
    ),
    *('<p:b xmlns:p="x" xmlns:q="x" p:k="1" q:k="2"/>', "<b  />", "<p:b/>", "<a:b:c/>", "\ufffe"),
]


def parsed(text: str) -> Element | None:
    try:
        return parsed_element(text)
    except Malformed:
        return None


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@example('<a><p:a xmlns:p="x"><b/>text</p:a></a>')
def test_what_is_read_as_plain_is_read_alike_by_a_parser(text: str) -> None:
    """And what a parser refuses is never plain."""
    for document in (text, f"<a>{text}</a>", f'<p:a xmlns:p="x">{text}</p:a>'):
        found = plain_element(document)
        assert found is None or found == parsed(document)


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.text(max_size=3))
@example("<b>x</b><b/>t", ">")
def test_tags_that_were_read_before_are_read_alike(text: str, other: str) -> None:
    """With other texts between them, which may hold anything."""
    document = f"<a>{text}</a>"
    plain_element(document)
    for changed in (
        document,
        document.replace(">", f">{other}"),
        document.replace("text", other),
        document.replace('"', f'{other}"'),
        other + document,
        document + other,
    ):
        found = plain_element(changed)
        assert found is None or found == parsed(changed)


def test_an_attribute_with_the_end_of_a_tag_in_it_is_read_anew() -> None:
    for value in "xyz":
        found = plain_element(f'<a b="1>{value}">t</a>')
        assert found is not None
        assert found.attributes == {"b": f"1>{value}"}


def test_shapes_are_bounded_in_number_and_size() -> None:
    for number in range(2 * SHAPES_MAX):
        assert plain_element(f"<a{number}>t</a{number}>") is not None
    assert len(elements._SHAPES) == SHAPES_MAX
    assert ("<a1>", "</a1>") not in elements._SHAPES
    many = "<a>" + "<b/>" * SHAPE_TAGS_MAX + "</a>"
    large = f'<a b="{"x" * SHAPE_SIZE_MAX}">t</a>'
    for text in (many, large):
        assert plain_element(text) == parsed_element(text)
        assert not any(len(tags) > 2 or len(tags[0]) > 10 for tags in elements._SHAPES)


def test_what_queue_managers_write_is_plain() -> None:
    written = [split_content(e.content_type, e.content).envelope for e in examples()]
    for data in (envelope(msmq()), *written):
        text = envelope_text(data)
        found = plain_element(text)
        if "\r" not in text and "&" not in text:
            assert found is not None
            assert found == parsed_element(text)
    assert plain_element(envelope_text(envelope(msmq()))) is not None


@pytest.mark.parametrize(
    "text",
    [
        "<a>" * (ENVELOPE_DEPTH_MAX + 1) + "</a>" * (ENVELOPE_DEPTH_MAX + 1),
        "<a>" + "<b/>" * ENVELOPE_NODES_MAX + "</a>",
        "</a>" * 3,
        "",
        "<a/><a/>",
        "<a></b>",
    ],
    ids=["deep", "many", "only ends", "nothing", "two", "another end"],
)
def test_what_is_too_much_or_wrong_is_not_plain(text: str) -> None:
    assert plain_element(text) is None
