"""What is in this body? The one answer for consoles, logs and data frames."""

from __future__ import annotations

import re
from dataclasses import replace
from json import JSONEncoder
from typing import Final

from openmsmq.bodies.activex import BODY_TYPES, OBJECTS, decode_vt, type_name
from openmsmq.bodies.body import Body, Tree
from openmsmq.bodies.json import read_json
from openmsmq.bodies.nrbf import read_nrbf
from openmsmq.bodies.text import decode_strictly, decode_text, encodable
from openmsmq.bodies.wcf import read_wcf
from openmsmq.bodies.xml import read_xml
from openmsmq.errors import Malformed
from openmsmq.limits import TEXT_MAX
from openmsmq.properties.vartype import VarType

NRBF_BODY_TYPE: Final = 0x300
"What BinaryMessageFormatter declares."

_NMF_START = b"\x00\x01\x00\x01"
"Version 1.0 of [MC-NMF] 2.2.3.1, then the mode record."
_NRBF_VERSION = b"\x01\0\0\0\0\0\0\0"
"Version 1.0, at offset 9 of the header record ([MS-NRBF] 2.6.1)."
_XML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+<[A-Za-z_:?!\x80-\xff]"
    rb"|(?:\xff\xfe)?(?:[ \t\r\n]\0)*+<\0"
    rb"|\xfe\xff(?:\0[ \t\r\n])*+\0<"
)
_JSON_STARTS = ("{", "[")
_JSON_EDGES = {b"{": b"}", b"[": b"]"}
_ENCODER = JSONEncoder(ensure_ascii=False, default=bytes.hex)


def decode_body(body: bytes, body_type: int) -> Body:
    """The value of a message body by its BodyType, or by its looks if that says nothing.

    Never fails: what cannot be read is bytes with a reason.
    """
    if body_type == NRBF_BODY_TYPE:
        return _nrbf(body)
    if body_type in BODY_TYPES:
        return _activex(body, body_type)
    found = _sniff(body)
    if body_type != VarType.VT_EMPTY and found.format == "binary" and not found.reason:
        return replace(found, reason=f"body type 0x{body_type:X} is not known")
    return found


def body_format(body: bytes, body_type: int) -> str:
    """What `decode_body` calls the format of a body that is as it should be, from its looks alone.

    A document that is broken inside still looks like one: tables tell many bodies apart by this.
    """
    if body_type == NRBF_BODY_TYPE:
        return "nrbf"
    if body_type in BODY_TYPES:
        return f"activex:{type_name(body_type)}"
    edges = body.strip()
    if _JSON_EDGES.get(edges[:1]) == edges[-1:] and decode_strictly(edges, "utf-8") is not None:
        return "json"
    if is_wcf(body):
        return "nmf"
    if _begins_as_nrbf(body):
        return "nrbf"
    if _XML_START.match(body):
        return "xml"
    return _sniff_text(body).format if body else "empty"


def is_wcf(body: bytes) -> bool:
    """Whether a body begins as messages of WCF do ([MC-NMF] 2.2.3.1)."""
    return body.startswith(_NMF_START)


def is_nrbf(body: bytes, body_type: int) -> bool:
    """Whether a body is declared to hold objects of .NET, or begins as if it did."""
    return body_type == NRBF_BODY_TYPE or _begins_as_nrbf(body)


def _begins_as_nrbf(body: bytes) -> bool:
    return body[:1] == b"\0" and body[9:17] == _NRBF_VERSION


def _activex(body: bytes, body_type: int) -> Body:
    try:
        value = decode_vt(body, body_type)
    except Malformed as error:
        return Body("binary", body, None, str(error))
    text = decode_text(value) if isinstance(value, bytes) else _readable(value)
    reason = "a COM object is not loaded" if body_type in OBJECTS else None
    return Body(f"activex:{type_name(body_type)}", value, text, reason)


def _nrbf(body: bytes) -> Body:
    try:
        value = read_nrbf(body)
    except Malformed as error:
        return Body("binary", body, None, str(error))
    return Body("nrbf", value, _readable(value))


def _nmf(body: bytes) -> Body:
    try:
        value, text = read_wcf(body)
    except Malformed as error:
        return Body("binary", body, None, str(error))
    return Body("nmf", value, encodable(text))


def _sniff(body: bytes) -> Body:
    """A body of which nothing is said: the marks of binary formats, then XML, JSON and text."""
    if not body:
        return Body("empty", None, "")
    if is_wcf(body):
        return _nmf(body)
    if _begins_as_nrbf(body):
        return _nrbf(body)
    if not _XML_START.match(body):
        return _sniff_text(body)
    try:
        value, text = read_xml(body)
    except Malformed as error:
        return _sniff_text(body, str(error))
    return Body("xml", value, text)


def _sniff_text(body: bytes, reason: str | None = None) -> Body:
    """JSON if it is an object or an array, as alone a number or a word is just text."""
    text = decode_text(body)
    if text is None:
        return Body("binary", body, None, reason)
    if not text.lstrip().startswith(_JSON_STARTS):
        return Body("text", text, text, reason)
    try:
        return Body("json", read_json(text), text)
    except Malformed as error:
        return Body("text", text, text, str(error))


def _readable(tree: Tree) -> str:
    """A tree as a person would read it: text as it is, anything else as JSON, bytes as hex."""
    if tree is None:
        return ""
    if isinstance(tree, str):
        return encodable(tree)
    parts: list[str] = []
    room = TEXT_MAX
    for part in _ENCODER.iterencode(tree):
        parts.append(part)
        room -= len(part)
        if room < 0:
            parts.append("\N{HORIZONTAL ELLIPSIS}")
            break
    return encodable("".join(parts))
