"""The XML parser for documents of unknown origin; `test_xmltree` and `soap/test_tree` have more."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from openmsmq.bodies.xmlparse import BoundedTarget, parse_xml
from openmsmq.errors import Malformed


class Names(BoundedTarget):
    """Notes the names of elements."""

    def __init__(self) -> None:
        super().__init__(depth_max=2, nodes_max=4)
        self.names: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        super().start(tag, attributes)
        self.names.append(tag)


def names(data: bytes) -> list[str]:
    target = Names()
    parse_xml(data, target)
    return target.names


def test_elements_come_in_order_with_their_name_spaces() -> None:
    assert names(b"<a xmlns='urn:x'><b>text</b><c/></a>") == ["{urn:x}a", "{urn:x}b", "{urn:x}c"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<!DOCTYPE a><a/>", "a document type is not accepted"),
        (b"<a><b><c/></b></a>", "nested deeper than 2"),
        (b"<a><b/><b/><b/><b/></a>", "more than 4 elements and attributes"),
        (b"<a a='1' b='2' c='3' d='4'/>", "more than 4 elements and attributes"),
        (b"<a>", "Premature end"),
        (b"<p:a/>", "prefix p on a is not defined"),
        (b"<a p:b='1'/>", "prefix p for b on a is not defined"),
        (b"<p:a></p:a></p:b>", "prefix p on a is not defined"),
        (b"", "Document is empty"),
    ],
)
def test_what_is_too_much_or_broken_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(Malformed, match=reason):
        names(data)


def test_the_same_depth_may_be_reached_again() -> None:
    assert names(b"<a><b/><b/></a>") == ["a", "b", "b"]
