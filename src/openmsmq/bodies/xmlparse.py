"""The one XML parser for documents of unknown origin: bodies, headers, SOAP envelopes.

No document type, hence no entities; nothing is fetched; depth and size are bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from lxml import etree

from openmsmq.errors import Malformed


class BoundedTarget:
    """What a parser feeds: counts nodes and depth, and refuses a document type.

    A subclass extends `start` and `end` and calls these first.
    """

    def __init__(self, *, depth_max: int, nodes_max: int) -> None:
        """Bounds of a document: elements inside each other, elements and attributes in all."""
        self._depth_max = depth_max
        self._nodes_max = nodes_max
        self._depth = 0
        self._nodes = 0

    def doctype(self, name: str, public: str | None, system: str | None) -> NoReturn:
        """Refuse a document type, and with it every entity."""
        raise Malformed("XML", 0, "a document type is not accepted")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins; `tag` is `{namespace}name`."""
        self._nodes += 1 + len(attributes)
        if self._nodes > self._nodes_max:
            raise Malformed("XML", 0, f"more than {self._nodes_max} elements and attributes")
        if self._depth == self._depth_max:
            raise Malformed("XML", 0, f"nested deeper than {self._depth_max}")
        self._depth += 1

    def data(self, text: str) -> None:
        """Characters of the element that began last and has not ended."""

    def end(self, tag: str) -> None:
        """An element ends."""
        self._depth -= 1

    def close(self) -> None:
        """The document ends."""


def parse_xml(data: bytes, target: BoundedTarget) -> None:
    """Feed a document in UTF-8 to `target`; `Malformed` unless it is well-formed.

    A prefix that was not declared is an error too.
    """
    parser = etree.XMLParser(
        target=target,  # type: ignore[arg-type]  # lxml-stubs asks for bytes, never passed
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    try:
        etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        # libxml2 adds the place in the document on further lines.
        raise Malformed("XML", 0, str(error.msg).partition("\n")[0]) from None
    # After a prefix without declaration lxml reports no error at all, not even later ones.
    for entry in parser.error_log.filter_from_errors():
        raise Malformed("XML", 0, entry.message.partition("\n")[0])
