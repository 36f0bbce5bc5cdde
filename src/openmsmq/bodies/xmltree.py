"""XML of unknown origin as a neutral tree, read without trust.

The document is read in one pass straight into plain values, so that no larger form of it ever
exists.

An element becomes its text, or a dictionary of its children by local name if it has any. Children
of the same name become a list. Attributes are entries `@name`, the namespace of the root is its
`@xmlns`, text beside children or attributes is the entry `#text`, and `xsi:nil` is None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from openmsmq.bodies.body import Tree
from openmsmq.bodies.text import decode_marked, decode_strictly
from openmsmq.bodies.xmlparse import BoundedTarget, parse_xml
from openmsmq.errors import Malformed
from openmsmq.limits import XML_DEPTH_MAX, XML_NODES_MAX

XSI: Final = "http://www.w3.org/2001/XMLSchema-instance"

_NIL = f"{{{XSI}}}nil"
_DECLARATION = re.compile(r"\A<\?xml\s[^>]*+>")
_ENCODING = re.compile(rb"""<\?xml\s[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._-]{1,20})["']""")
_CHARSETS = re.compile(
    "us-ascii|iso-8859-([1-9]|1[013456])|windows-125[0-8]|koi8-[ru]"
    "|gb2312|gbk|gb18030|big5|shift_jis|euc-jp|euc-kr",
    re.IGNORECASE,
)
"Character sets a declaration may name; the codecs of others can do more than decode."

# .NET writes characters XML forbids as references and reads them again; libxml2 refuses them. They
# are parsed as stand-ins from the last private use plane. Comments and CDATA hold no references.
_FORBIDDEN = [chr(code) for code in range(0x20) if code not in (9, 10, 13)] + ["\ufffe", "\uffff"]
_STAND_INS = {char: chr(0x10F800 + index) for index, char in enumerate(_FORBIDDEN)}
_BACK = str.maketrans({stand_in: char for char, stand_in in _STAND_INS.items()})
_REFERENCES = re.compile(
    r"<!--(?:.*?-->|.*)|<!\[CDATA\[(?:.*?\]\]>|.*)|&#(?:x0*([0-9A-Fa-f]{1,4})|0*([0-9]{1,5}));",
    re.DOTALL,
)


def read_tree(text: str) -> dict[str, Tree]:
    """The document as `{name of its root: what is in it}`."""
    text = _DECLARATION.sub("", text.strip(" \t\r\n\0"))
    plain = _REFERENCES.sub(_stand_in, text)
    target = _Target(restore=plain != text)
    parse_xml(plain.encode("utf-8", "replace"), target)
    return target.document


def document_text(data: bytes) -> str:
    """The characters of an XML document.

    Valid UTF-8 is UTF-8 whatever the declaration says: .NET programs often declare the encoding of
    the string the document was made in.
    """
    if (text := decode_marked(data)) is not None:
        return text
    # The first character of a document is ASCII, so its second byte tells UTF-16.
    encodings = ["utf-16-le" if data[1:2] == b"\0" else "utf-8"]
    declared = _ENCODING.match(data)
    if declared and _CHARSETS.fullmatch(name := declared[1].decode("ascii")):
        encodings.append(name)
    for encoding in encodings:
        if (text := decode_strictly(data, encoding)) is not None:
            return text
    raise Malformed("XML", 0, "its characters fit no known encoding")


def _stand_in(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else int(match[2] or 0x20)
    return _STAND_INS.get(chr(code), match[0])


class _Element:
    """An element whose end has not been read."""

    __slots__ = ("entries", "has_children", "name", "nil", "text")

    def __init__(self, name: str) -> None:
        self.name = name
        self.nil = False
        self.has_children = False
        self.entries: dict[str, Tree] = {}
        self.text: list[str] = []

    def add_child(self, name: str, value: Tree) -> None:
        self.has_children = True
        present = self.entries.get(name)
        if isinstance(present, list):
            present.append(value)
        elif name in self.entries:
            self.entries[name] = [present, value]
        else:
            self.entries[name] = value

    def value(self) -> Tree:
        if self.nil:
            return None
        text = "".join(self.text)
        if not self.entries:
            return text
        # White space between children is layout.
        if text.strip() if self.has_children else text:
            self.entries["#text"] = text
        return self.entries


class _Target(BoundedTarget):
    """Takes what the parser reads and builds the tree of it."""

    def __init__(self, *, restore: bool) -> None:
        super().__init__(depth_max=XML_DEPTH_MAX, nodes_max=XML_NODES_MAX)
        self.document: dict[str, Tree] = {}
        self._open: list[_Element] = []
        self._restore = restore

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        super().start(tag, attributes)
        namespace, _, name = tag.rpartition("}")
        element = _Element(name)
        if namespace and not self._open:
            element.entries["@xmlns"] = namespace[1:]
        for key, text in attributes.items():
            if key == _NIL:
                element.nil = text in ("true", "1")
            else:
                element.entries["@" + key.rpartition("}")[2]] = self._restored(text)
        self._open.append(element)

    def data(self, text: str) -> None:
        self._open[-1].text.append(self._restored(text))

    def end(self, tag: str) -> None:
        super().end(tag)
        element = self._open.pop()
        if self._open:
            self._open[-1].add_child(element.name, element.value())
        else:
            self.document[element.name] = element.value()

    def _restored(self, text: str) -> str:
        return text.translate(_BACK) if self._restore else text
