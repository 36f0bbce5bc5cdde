"""XML of unknown origin."""

from __future__ import annotations

from contextlib import suppress
from time import perf_counter

import pytest

from openmsmq.bodies.body import Tree
from openmsmq.bodies.xmltree import XSI, document_text, read_tree
from openmsmq.errors import Malformed
from openmsmq.limits import XML_DEPTH_MAX, XML_NODES_MAX

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 20))
BILLION_LAUGHS = f'<!DOCTYPE l [<!ENTITY l0 "lol">{LAUGHS}]><l>&l19;</l>'


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("<a/>", {"a": ""}),
        ("<a> x </a>", {"a": " x "}),
        ("<a><b>1</b><c>2</c></a>", {"a": {"b": "1", "c": "2"}}),
        ("<a><b>1</b><b>2</b><b>3</b></a>", {"a": {"b": ["1", "2", "3"]}}),
        ("<a>\r\n  <b>1</b>\r\n</a>", {"a": {"b": "1"}}),
        ('<a x="1"/>', {"a": {"@x": "1"}}),
        ('<a x="1"> </a>', {"a": {"@x": "1", "#text": " "}}),
        ("<a>one<b>1</b>two</a>", {"a": {"b": "1", "#text": "onetwo"}}),
        ('<p:a xmlns:p="urn:x"><p:b p:c="1"/></p:a>', {"a": {"@xmlns": "urn:x", "b": {"@c": "1"}}}),
        (f'<a xmlns:i="{XSI}"><b i:nil="true"/></a>', {"a": {"b": None}}),
        (f'<a xmlns:i="{XSI}"><b i:nil="1" c="2"/><b/></a>', {"a": {"b": [None, ""]}}),
        (f'<a xmlns:i="{XSI}"><b i:nil="false">x</b></a>', {"a": {"b": "x"}}),
        ("<a><!-- no --><?pi no?><![CDATA[<&]]></a>", {"a": "<&"}),
        ("<a>&lt;&amp;&#65;&#x42;</a>", {"a": "<&AB"}),
        ('  <?xml version="1.0" encoding="utf-16"?>\r\n<a>\u00e9</a>\0\0', {"a": "\u00e9"}),
    ],
)
def test_a_document_becomes_a_tree_of_plain_values(text: str, tree: Tree) -> None:
    assert read_tree(text) == tree


def test_references_to_forbidden_characters_are_kept_as_dot_net_keeps_them() -> None:
    assert read_tree('<a b="&#0;">&#x1;&#31;&#x000B;&#xFFFE;</a>') == {
        "a": {"@b": "\0", "#text": "\x01\x1f\x0b\ufffe"}
    }


def test_references_inside_comments_and_cdata_are_text() -> None:
    assert read_tree("<a><!--&#1;--><![CDATA[&#1;]]>&#1;</a>") == {"a": "&#1;\x01"}


@pytest.mark.parametrize("start", ["<a><!-- ", "<a><![CDATA[", "<?xml ", "<a>&#x"])
def test_markup_that_never_ends_costs_no_time(start: str) -> None:
    begin = perf_counter()
    with pytest.raises(Malformed):
        read_tree(start * 100_000)
    assert perf_counter() - begin < 1


@pytest.mark.parametrize(
    "text",
    [
        BILLION_LAUGHS,
        "<!DOCTYPE html><html/>",
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "http://127.0.0.1:9/">]><a>&x;</a>',
    ],
)
def test_a_document_type_is_refused_at_once(text: str) -> None:
    begin = perf_counter()
    with pytest.raises(Malformed, match="document type is not accepted"):
        read_tree(text)
    assert perf_counter() - begin < 0.5


@pytest.mark.parametrize("text", ["", "<a>", "<a></b>", "<a>&x;</a>", "<a/><b/>", "<a>\x01</a>"])
def test_what_is_not_well_formed_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match=r"^XML at offset 0: "):
        read_tree(text)


def test_elements_nest_up_to_the_limit() -> None:
    assert read_tree("<a>" * XML_DEPTH_MAX + "</a>" * XML_DEPTH_MAX)
    with pytest.raises(Malformed, match="nested deeper"):
        read_tree("<a>" * (XML_DEPTH_MAX + 1) + "</a>" * (XML_DEPTH_MAX + 1))


def test_elements_and_attributes_are_counted() -> None:
    with pytest.raises(Malformed, match="elements and attributes"):
        read_tree("<a>" + "<b/>" * XML_NODES_MAX + "</a>")
    attributes = " ".join(f'a{n}=""' for n in range(XML_NODES_MAX))
    with pytest.raises(Malformed, match="elements and attributes"):
        read_tree(f"<a {attributes}/>")


@pytest.mark.parametrize(
    "data",
    [
        "<a>\u00e9</a>".encode(),
        "\ufeff<a>\u00e9</a>".encode(),
        "<a>\u00e9</a>".encode("utf-16-le"),
        "\ufeff<a>\u00e9</a>".encode("utf-16-le"),
        "\ufeff<a>\u00e9</a>".encode("utf-16-be"),
    ],
)
def test_the_characters_of_a_document_are_found(data: bytes) -> None:
    assert document_text(data) == "<a>\u00e9</a>"


def test_a_declared_character_set_is_used_when_it_is_not_utf_8() -> None:
    text = '<?xml version="1.0" encoding="windows-1252"?><a>\u20ac</a>'
    assert document_text(text.encode("cp1252")) == text


@pytest.mark.parametrize(
    "name",
    [f"iso-8859-{part}" for part in range(1, 17) if part != 12]
    + [f"windows-{page}" for page in range(1250, 1259)]
    + ["US-ASCII", "koi8-r", "koi8-u", "gb2312", "gbk", "gb18030", "big5", "shift_jis"]
    + ["euc-jp", "euc-kr"],
)
def test_any_character_set_that_may_be_declared_is_one_python_knows(name: str) -> None:
    data = f'<?xml version="1.0" encoding="{name}"?><a>'.encode() + b"\xa1\xfe\xff</a>"
    with suppress(Malformed):
        assert document_text(data).startswith("<?xml")


@pytest.mark.parametrize(
    "data",
    [
        b"<a>\xff</a>",
        b'<?xml version="1.0" encoding="us-ascii"?><a>\xff</a>',
        b'<?xml version="1.0" encoding="punycode"?><a>\xff</a>',
        b'<?xml version="1.0" encoding="iso-8859-12"?><a>\xff</a>',
        b"<\0a",
    ],
)
def test_characters_of_no_known_encoding_are_refused(data: bytes) -> None:
    with pytest.raises(Malformed, match="no known encoding"):
        document_text(data)
