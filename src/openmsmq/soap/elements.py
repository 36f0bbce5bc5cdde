"""The elements of an envelope, each with its place in the text, and a reader of plain ones.

Envelopes of queue managers are plain: elements, attributes in double quotes and text, without
comments, references, sections, instructions and line ends that XML would change. They are cut by
one expression, six times as fast as by a parser. What is not plain is left to the parser in `tree`,
which also says what is wrong.

Envelopes of one sender have the same tags and differ in the texts between them: tags that were read
before are not read again (`_Shape`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, NamedTuple

from openmsmq.errors import Malformed
from openmsmq.soap.limits import (
    ENVELOPE_DEPTH_MAX,
    ENVELOPE_NODES_MAX,
    SHAPE_SIZE_MAX,
    SHAPE_TAGS_MAX,
    SHAPES_MAX,
)
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
_CUT = re.compile("(<[^>]*>)")
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


_SHAPES: Final[dict[tuple[str, ...], _Shape]] = {}
"The shapes of documents by their tags, the oldest first."


def is_plain(text: str) -> bool:
    """Whether a text means what it says: nothing in it is replaced or refused by XML."""
    return _NOT_PLAIN.search(text) is None


def plain_element(text: str) -> Element | None:
    """The root element of a document that is plain; None if it is not, or is wrong."""
    if not is_plain(text):
        return None
    pieces = _CUT.split(text)
    tags = tuple(pieces[1::2])
    shape = _SHAPES.get(tags)
    if shape is not None:
        return shape.filled(pieces)
    root = _read(text)
    if root is not None:
        _remember(tags, root)
    return root


def _read(text: str) -> Element | None:
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


class _Shape(NamedTuple):
    """The elements of a document whose tags are known, in the order of their start tags."""

    elements: tuple[tuple[int, str, str, Mapping[str, str], int, int, tuple[int, ...]], ...]
    """Of each: the place of its parent, its name space, name and attributes, the pieces of its
    start and end tags, and those of the texts directly inside it.
    """

    def filled(self, pieces: list[str]) -> Element | None:
        """The elements with the texts of a document; None with text outside of the root."""
        if pieces[0] or pieces[-1]:
            return None
        places = list(accumulate(map(len, pieces), initial=0))
        made: list[Element] = []
        for parent, namespace, name, attributes, first, last, inside in self.elements:
            text = pieces[inside[0]] if len(inside) == 1 else "".join([pieces[n] for n in inside])
            element = Element(
                namespace,
                name,
                attributes,
                [],
                text,
                places[first],
                (places[first + 1], places[last] if last != first else places[first + 1]),
                places[last + 1],
            )
            if parent >= 0:
                made[parent].children.append(element)
            made.append(element)
        return made[0]


def _remember(tags: tuple[str, ...], root: Element) -> None:
    """Keep the shape of a document, unless an attribute has a `>`, where it was cut wrongly."""
    if len(tags) > SHAPE_TAGS_MAX or sum(map(len, tags)) > SHAPE_SIZE_MAX:
        return
    if any(tag.count('"') % 2 for tag in tags):
        return
    if len(_SHAPES) >= SHAPES_MAX:
        _SHAPES.pop(next(iter(_SHAPES)), None)
    _SHAPES[tags] = _shape(tags, root)


def _shape(tags: tuple[str, ...], root: Element) -> _Shape:
    """The shape of a document with these tags, which was read as `root`."""
    upcoming = _in_order(root)
    found: list[tuple[int, Element, int, list[int]]] = []
    ends: dict[int, int] = {}
    opened: list[int] = []
    for number, tag in enumerate(tags):
        place = 2 * number + 1
        if tag.startswith("</"):
            ends[opened.pop()] = place
        else:
            found.append((opened[-1] if opened else -1, next(upcoming), place, []))
            if tag.endswith("/>"):
                ends[len(found) - 1] = place
            else:
                opened.append(len(found) - 1)
        if opened:
            found[opened[-1]][3].append(place + 1)
    return _Shape(
        tuple(
            (parent, one.namespace, one.name, one.attributes, place, ends[number], tuple(inside))
            for number, (parent, one, place, inside) in enumerate(found)
        )
    )


def _in_order(element: Element) -> Iterator[Element]:
    """An element and all inside of it, in the order of their start tags."""
    yield element
    for child in element.children:
        yield from _in_order(child)


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
