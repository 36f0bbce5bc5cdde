"""An envelope as a small tree of elements: its text, and the parser that reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from openmsmq.bodies.xmlparse import BoundedTarget, parse_xml
from openmsmq.errors import Malformed
from openmsmq.soap.elements import Element, plain_element
from openmsmq.soap.limits import ENVELOPE_DEPTH_MAX, ENVELOPE_NODES_MAX, ENVELOPE_SIZE_MAX
from openmsmq.soap.scalars import WHITE_SPACE

_BYTE_ORDER_MARK: Final = "\ufeff"
_DECLARATION = re.compile(r"\A<\?xml\s([^?>]*)\?>")
_ENCODING = re.compile(r"""\bencoding\s*=\s*["']([^"']*)["']""")
_MARKUP = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|</[^>]*>"
    r"""|<(?P<name>[^\s/>]+)(?:[^>"']|"[^"]*"|'[^']*')*>""",
    re.DOTALL,
)


def envelope_text(data: bytes) -> str:
    """The characters of an envelope, without declaration; UTF-8 whatever the request says."""
    if len(data) > ENVELOPE_SIZE_MAX:
        reason = f"has {len(data)} bytes, at most {ENVELOPE_SIZE_MAX} are accepted"
        raise Malformed("Envelope", 0, reason)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed("Envelope", error.start, "is not UTF-8") from None
    text = text.removeprefix(_BYTE_ORDER_MARK).strip(WHITE_SPACE)
    if declaration := _DECLARATION.match(text):
        encoding = _ENCODING.search(declaration[1])
        if encoding and encoding[1].lower() != "utf-8":
            raise Malformed("Envelope", 0, f"declares the encoding {encoding[1]!r:.40}, not UTF-8")
        text = text[declaration.end() :].lstrip(WHITE_SPACE)
    return text


def read_element(text: str) -> Element:
    """The root element of a document as SOAP 1.1 section 3 wants it ([MC-MQSRM] 2.2).

    There is no document type and no processing instruction.
    """
    return plain_element(text) or parsed_element(text)


def parsed_element(text: str) -> Element:
    """The same, read by a parser: any envelope, or `Malformed` with the reason."""
    target = _Target()
    parse_xml(text.encode("utf-8", "surrogatepass"), target)
    _place(text, target.elements)
    return target.elements[0]


class _Target(BoundedTarget):
    """Builds the tree; `elements` has them in the order of their start tags."""

    def __init__(self) -> None:
        super().__init__(depth_max=ENVELOPE_DEPTH_MAX, nodes_max=ENVELOPE_NODES_MAX)
        self.elements: list[Element] = []
        self._open: list[tuple[Element, list[str]]] = []

    def pi(self, name: str, content: str | None = None) -> None:
        """Refuse a processing instruction."""
        raise Malformed("Envelope", 0, "a processing instruction is not accepted")

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        super().start(tag, attributes)
        namespace, _, name = tag.rpartition("}")
        element = Element(namespace[1:], name, dict(attributes))
        if self._open:
            self._open[-1][0].children.append(element)
        self.elements.append(element)
        self._open.append((element, []))

    def data(self, text: str) -> None:
        self._open[-1][1].append(text)

    def end(self, tag: str) -> None:
        super().end(tag)
        element, texts = self._open.pop()
        element.text = "".join(texts)


def _place(text: str, elements: list[Element]) -> None:
    """Note the offsets of `elements` in the well-formed `text` they were read from."""
    upcoming: Iterator[Element] = iter(elements)
    opened: list[tuple[Element, int]] = []
    for markup in _MARKUP.finditer(text):
        if markup["name"] is not None:
            element = next(upcoming)
            element.start = markup.start()
            if not markup[0].endswith("/>"):
                opened.append((element, markup.end()))
                continue
            element.inner = (markup.end(), markup.end())
            element.end = markup.end()
        elif markup[0].startswith("</"):
            element, inside = opened.pop()
            element.inner = (inside, markup.start())
            element.end = markup.end()
