"""The elements of an envelope, each with its place in the text, and a reader of plain ones.

Envelopes of queue managers are plain: elements, attributes in double quotes and text, without
comments, references, sections, instructions and line ends that XML would change. They are cut by
one expression, six times as fast as by a parser. What is not plain is left to the parser in `tree`,
which also says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from openmsmq.errors import Malformed
from openmsmq.soap.limits import ENVELOPE_DEPTH_MAX, ENVELOPE_NODES_MAX
from openmsmq.soap.scalars import WHITE_SPACE

_NAME: Final = r"[A-Za-z][\w.-]*(?::[A-Za-z][\w.-]*)?"
_TAG = re.compile(
    rf"<(?:/({_NAME}) *"
    rf'|({_NAME})((?: +[A-Za-z][\w.:-]*="[^"<&\n\t]*")*) *(/?))>([^<]*)',
    re.ASCII,
)
_ATTRIBUTE = re.compile(r' +([A-Za-z][\w.:-]*)="([^"]*)"', re.ASCII)
_NOT_PLAIN = re.compile("[&\r\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]|]]>")
"Characters that XML changes, or that are none."
_WRONG: Final = ENVELOPE_NODES_MAX + 1


@dataclass(slots=True)
class Element:
    """An element: its name, attributes and children, and where it stands in the text."""

    namespace: str
    name: str
    attributes: Mapping[str, str]
    "By local name, or `{namespace}name`."
    children: list[Element] = field(default_factory=list)
    text: str = ""
    "The characters directly inside it."
    start: int = 0
    "Offset of its start tag."
    inner: tuple[int, int] = (0, 0)
    "Offsets of its content; equal for `<name/>`."
    end: int = 0
    "Offset behind its end tag."

    @property
    def content(self) -> str:
        """Its text without white space at the ends; `Malformed` if elements stand inside."""
        if self.children:
            raise Malformed(self.name, self.start, "has elements inside, not text")
        return self.text.strip(WHITE_SPACE)

    def only(self, namespace: str, name: str) -> Element | None:
        """The child of this name; `Malformed` if there are two."""
        found = None
        for child in self.children:
            if child.name == name and child.namespace == namespace:
                if found is not None:
                    raise Malformed(f"{self.name}.{name}", child.start, "is there twice")
                found = child
        return found

    def required(self, namespace: str, name: str) -> Element:
        """The child of this name; `Malformed` unless it is there once."""
        child = self.only(namespace, name)
        if child is None:
            raise Malformed(f"{self.name}.{name}", self.start, "is missing")
        return child


def plain_element(text: str) -> Element | None:
    """The root element of a document that is plain; None if it is not, or is wrong."""
    if _NOT_PLAIN.search(text):
        return None
    root = Element("", "", {})
    opened: list[_Open] = [_Open(root, "", {})]
    position = nodes = 0
    while found := _TAG.match(text, position):
        position = found.end()
        nodes += _take(found, opened)
        if nodes > ENVELOPE_NODES_MAX or not 1 <= len(opened) <= ENVELOPE_DEPTH_MAX + 1:
            return None
    is_whole = position == len(text) and len(opened) == 1
    return root.children[0] if is_whole and len(root.children) == 1 and not root.text else None


class _Open(NamedTuple):
    """An element that has not ended: its name as it was written, and its name spaces."""

    element: Element
    written: str
    scope: Mapping[str, str]


def _take(found: re.Match[str], opened: list[_Open]) -> int:
    """Take a tag and the text after it; the elements and attributes that it brings.

    What is wrong counts as too many of them.
    """
    closing, name, attributes, is_empty, following = found.groups()
    inside = found.end() - len(following)
    parent, written, scope = opened[-1]
    count = 0
    if closing is not None:
        if closing != written:
            return _WRONG
        opened.pop()
        parent.inner = parent.inner[0], found.start()
        parent.end = inside
    else:
        shown = _ATTRIBUTE.findall(attributes) if attributes else []
        scoped = _scope(scope, shown) if shown else scope
        element = _element(name, shown, scoped) if scoped is not None else None
        if element is None or scoped is None:
            return _WRONG
        element.start = found.start()
        element.inner = inside, inside
        element.end = inside
        parent.children.append(element)
        count = 1 + len(shown)
        if not is_empty:
            opened.append(_Open(element, name, scoped))
    if following and opened:
        opened[-1].element.text += following
    return count


def _scope(scope: Mapping[str, str], shown: list[tuple[str, str]]) -> Mapping[str, str] | None:
    """The name spaces inside of an element, by prefix; None for an odd declaration."""
    declared = [(name, value) for name, value in shown if name.startswith("xmlns")]
    if not declared:
        return scope
    inside = dict(scope)
    for name, value in declared:
        _, colon, prefix = name.partition(":")
        is_odd = name not in ("xmlns", f"xmlns:{prefix}") or prefix.lower().startswith("xml")
        if is_odd or bool(colon) != bool(prefix) or ":" in prefix or not _is_name(value):
            return None
        inside[prefix] = value
    return inside


def _is_name(value: str) -> bool:
    """Whether a name space is neither empty nor one that XML keeps for itself."""
    return bool(value) and not value.startswith("http://www.w3.org/XML") and "xmlns" not in value


def _element(name: str, shown: list[tuple[str, str]], scope: Mapping[str, str]) -> Element | None:
    """An element with its attributes; None if a prefix was not declared or an attribute repeats."""
    prefix, colon, local = name.rpartition(":")
    namespace = scope.get(prefix) if colon else scope.get("", "")
    if namespace is None:
        return None
    if not shown:
        return Element(namespace, local, {})
    attributes: dict[str, str] = {}
    count = 0
    for key, value in shown:
        if key.startswith("xmlns"):
            continue
        prefix, colon, short = key.rpartition(":")
        if colon:
            if prefix not in scope or ":" in prefix or not prefix or not short:
                return None
            key = f"{{{scope[prefix]}}}{short}"
        attributes[key] = value
        count += 1
    if len(attributes) != count or len({key for key, _ in shown}) != len(shown):
        return None
    return Element(namespace, local, attributes)
