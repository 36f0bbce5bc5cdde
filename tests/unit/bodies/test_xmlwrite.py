"""XML as .NET lays it out."""

from __future__ import annotations

import pytest

from openmsmq.bodies.xmlwrite import document, element, escape
from openmsmq.errors import IllegalPropertyValue


def test_markup_and_forbidden_characters_are_escaped() -> None:
    assert escape("a<b>&\"'\t\n\r\x01\uffff") == "a&lt;b&gt;&amp;\"'\t\n&#xD;&#x1;&#xFFFF;"


def test_an_empty_element_is_one_tag() -> None:
    assert element("string", "") == "<string />"
    assert element("string", "x") == "<string>x</string>"


def test_a_document_is_utf_8_without_mark() -> None:
    assert document("<a>\u00e9</a>") == b'<?xml version="1.0"?>\r\n<a>\xc3\xa9</a>'


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(IllegalPropertyValue):
        document("\ud800")
