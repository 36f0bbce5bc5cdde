"""Binary XML as a neutral tree and as XML text ([MC-NBFX]).

An element is `{"name": "s:Body", "attributes": {...}, "children": [...]}`; what is empty is left
out. Children are elements, text (neighbouring text records joined) and `{"comment": "..."}`. The
XML text is well-formed: names XML does not allow and repeated attributes are refused, characters it
does not allow are U+FFFD there (the tree has them as they are). Namespaces are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from openmsmq.bodies.body import Tree
from openmsmq.bodies.nbf_values import Budget, read_int31
from openmsmq.bodies.nbfx_text import (
    FIRST_TEXT,
    START_LIST,
    WITH_END_ELEMENT,
    Lookup,
    read_dictionary_string,
    read_string,
    read_text,
)
from openmsmq.limits import NBF_DEPTH_MAX
from openmsmq.wire.reader import Reader

_END_ELEMENT, _COMMENT, _ARRAY = 0x01, 0x02, 0x03
_FIRST_ATTRIBUTE, _FIRST_XMLNS, _FIRST_LETTER_ATTRIBUTE = 0x04, 0x08, 0x0C
_FIRST_ELEMENT, _LAST_ELEMENT = 0x40, 0x77
_LETTER_FORMS = 4
"How a name is written, counted from the first record type: four forms, then the prefix letters."
_LETTERS = 26

_ARRAY_ITEM_SIZES: Final[Mapping[int, int]] = {
    0xB5: 1,
    0x8B: 2,
    0x8D: 4,
    0x8F: 8,
    0x91: 4,
    0x93: 8,
    0x95: 16,
    0x97: 8,
    0xAF: 8,
    0xB1: 16,
}

_START = (
    "A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = re.compile(f"[{_START}][{_START}.0-9\xb7\u0300-\u036f\u203f-\u2040-]*")
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE = _IN_TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def read_nbfx(reader: Reader, lookup: Lookup, budget: Budget) -> tuple[list[Tree], str]:
    """The nodes of a document up to the end of its root element, and their XML text."""
    document = _Document(reader, lookup, budget)
    document.read()
    return document.nodes, "".join(document.xml)


@dataclass(slots=True)
class _Element:
    """An element that is still open."""

    name: str
    attributes: dict[str, str]
    start_tag: str
    children: list[Tree] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    "Text since the last child."

    @property
    def end_tag(self) -> str:
        """Its end as XML."""
        return f"</{self.name}>"

    def add(self, child: Tree) -> None:
        """Append a child after the text before it."""
        self.end_text()
        self.children.append(child)

    def end_text(self) -> None:
        """Make one child of the text so far."""
        if text := "".join(self.text):
            self.children.append(text)
        self.text.clear()

    def node(self) -> Tree:
        """The element as a tree, complete."""
        self.end_text()
        node: dict[str, Tree] = {"name": self.name}
        if self.attributes:
            node["attributes"] = {**self.attributes}
        if self.children:
            node["children"] = self.children
        return node


class _Document:
    """Reads records and writes nodes and text at the same time ([MC-NBFX] 2)."""

    def __init__(self, reader: Reader, lookup: Lookup, budget: Budget) -> None:
        self.nodes: list[Tree] = []
        self.xml: list[str] = []
        self._reader = reader
        self._strings = lookup
        self._budget = budget
        self._open: list[_Element] = []
        self._has_root = False

    def read(self) -> None:
        """All records up to the end of the root element."""
        reader = self._reader
        while self._open or (reader.remaining and not self._has_root):
            record = reader.u8("RecordType")
            if _FIRST_ELEMENT <= record <= _LAST_ELEMENT:
                self._start(self._read_element(record))
            elif record == _END_ELEMENT:
                self._end()
            elif record == _COMMENT:
                self._add_comment(read_string(reader, "Value"))
            elif record == _ARRAY:
                self._read_array()
            elif record >= FIRST_TEXT:
                self._read_text(record)
            else:
                reader.fail(
                    "RecordType", f"0x{record:02X} is out of place", offset=reader.offset - 1
                )

    def _lookup(self, number: int) -> str | None:
        """The string a number stands for; each use counts, as a byte or two can name much text."""
        text = self._strings(number)
        self._budget.spend("DictionaryString", text=len(text or ""))
        return text

    def _read_element(self, record: int) -> _Element:
        """An element record and its attributes ([MC-NBFX] 2.2.1)."""
        reader = self._reader
        with reader.section("Element"):
            name = self._read_name(record - _FIRST_ELEMENT)
            attributes: dict[str, str] = {}
            while reader.remaining:
                record = reader.data[reader.offset]
                if not _FIRST_ATTRIBUTE <= record < _FIRST_ELEMENT:
                    break
                reader.u8("RecordType")
                key, value = self._read_attribute(record)
                if key in attributes:
                    reader.fail("Name", f"attribute {key} is given twice")
                attributes[key] = value
        pairs = [f' {key}="{_escape(value, _IN_ATTRIBUTE)}"' for key, value in attributes.items()]
        return _Element(name, attributes, f"<{name}{''.join(pairs)}>")

    def _read_attribute(self, record: int) -> tuple[str, str]:
        """An attribute record ([MC-NBFX] 2.2.2)."""
        reader = self._reader
        if record < _FIRST_XMLNS:
            key = self._read_name(record - _FIRST_ATTRIBUTE)
        elif record >= _FIRST_LETTER_ATTRIBUTE:
            key = self._read_name(record - _FIRST_LETTER_ATTRIBUTE + _LETTER_FORMS)
        else:
            return self._read_xmlns(record - _FIRST_XMLNS)
        return key, read_text(reader, reader.u8("RecordType"), self._lookup)

    def _read_xmlns(self, form: int) -> tuple[str, str]:
        """The four xmlns attribute records ([MC-NBFX] 2.2.2.5 to 2.2.2.8)."""
        reader = self._reader
        key = "xmlns:" + self._read_part("Prefix", from_dictionary=False) if form & 1 else "xmlns"
        if form & 2:
            return key, read_dictionary_string(reader, self._lookup, "Value")
        return key, read_string(reader, "Value")

    def _read_name(self, form: int) -> str:
        """A name in one of the forms elements and attributes share ([MC-NBFX] 2.1.1)."""
        if form >= _LETTER_FORMS:
            written_out, letter = divmod(form - _LETTER_FORMS, _LETTERS)
            local = self._read_part("Name", from_dictionary=not written_out)
            return f"{chr(ord('a') + letter)}:{local}"
        prefix = self._read_part("Prefix", from_dictionary=False) + ":" if form & 1 else ""
        return prefix + self._read_part("Name", from_dictionary=bool(form & 2))

    def _read_part(self, what: str, *, from_dictionary: bool) -> str:
        """A prefix or local name, which XML must allow."""
        reader = self._reader
        start = reader.offset
        if from_dictionary:
            text = read_dictionary_string(reader, self._lookup, what)
        else:
            text = read_string(reader, what)
        if text == "xmlns" or not _NAME.fullmatch(text):
            reader.fail(what, "not a name", offset=start)
        return text

    def _start(self, element: _Element) -> None:
        if len(self._open) >= NBF_DEPTH_MAX:
            self._reader.fail("Element", f"nested deeper than {NBF_DEPTH_MAX}")
        written = len(element.start_tag) + len(element.end_tag)
        self._budget.spend("Element", nodes=1 + len(element.attributes), text=written)
        self._has_root = True
        self._open.append(element)
        self.xml.append(element.start_tag)

    def _end(self) -> None:
        """EndElement ([MC-NBFX] 2.3.1)."""
        reader = self._reader
        if not self._open:
            reader.fail("EndElement", "no element is open", offset=reader.offset - 1)
        element = self._open.pop()
        self.xml.append(element.end_tag)
        self._add(element.node())

    def _add(self, node: Tree) -> None:
        if self._open:
            self._open[-1].add(node)
        else:
            self.nodes.append(node)

    def _add_comment(self, text: str) -> None:
        """Comment ([MC-NBFX] 2.3.2); a space parts the dashes that would end it too early."""
        self._budget.spend("Comment", nodes=1)
        self._add({"comment": text})
        written = re.sub("-(?=-|$)", "- ", _ILLEGAL.sub("\ufffd", text))
        self.xml.append(f"<!--{written}-->")

    def _read_text(self, record: int) -> None:
        """A text record, which may end its element as well ([MC-NBFX] 2.2.3, 2.2.3.31)."""
        reader = self._reader
        if not self._open:
            reader.fail("RecordType", "text outside of any element", offset=reader.offset - 1)
        ends = record & WITH_END_ELEMENT and record & ~WITH_END_ELEMENT != START_LIST
        plain = record & ~WITH_END_ELEMENT if ends else record
        text = read_text(reader, plain, self._lookup)
        self._open[-1].text.append(text)
        self.xml.append(_escape(text, _IN_TEXT))
        if ends:
            self._end()

    def _read_array(self) -> None:
        """Array ([MC-NBFX] 2.3.3): the same element with one value after the other."""
        reader = self._reader
        with reader.section("Array"):
            start = reader.offset
            record = reader.u8("Element")
            if not _FIRST_ELEMENT <= record <= _LAST_ELEMENT:
                reader.fail("Element", "not an element", offset=start)
            pattern = self._read_element(record)
            if reader.u8("EndElement") != _END_ELEMENT:
                reader.fail("EndElement", "not an end element", offset=reader.offset - 1)
            item = reader.u8("RecordType")
            if item not in _ARRAY_ITEM_SIZES:
                reader.fail("RecordType", f"no array of 0x{item:02X}", offset=reader.offset - 1)
            start = reader.offset
            count = read_int31(reader, "Length")
            if not count or count * _ARRAY_ITEM_SIZES[item] > reader.remaining:
                reader.fail("Length", f"{count} items are not there", offset=start)
        for _ in range(count):
            self._start(_Element(pattern.name, pattern.attributes, pattern.start_tag))
            self._read_text(item)


def _escape(text: str, table: dict[int, str]) -> str:
    return _ILLEGAL.sub("\ufffd", text).translate(table)
