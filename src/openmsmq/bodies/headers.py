"""Headers that service buses keep in the extension of a message.

NServiceBus writes an XML list of keys and values, Rebus a JSON object.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from openmsmq.bodies.body import Tree
from openmsmq.bodies.json import read_json
from openmsmq.bodies.text import decode_strictly, encodable
from openmsmq.bodies.xmltree import XSI, document_text, read_tree
from openmsmq.bodies.xmlwrite import document, element, escape
from openmsmq.errors import IllegalPropertyValue, Malformed

_XSD = "http://www.w3.org/2001/XMLSchema"
_LIST = "ArrayOfHeaderInfo"
_LIST_END = f"</{_LIST}>".encode()


class Intent(IntEnum):
    """What an NServiceBus message is for; it travels in AppSpecific."""

    SEND = 1
    PUBLISH = 2
    SUBSCRIBE = 3
    UNSUBSCRIBE = 4
    REPLY = 5


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers found in an extension."""

    kind: str | None
    "`nservicebus`, `rebus`, or None when the extension holds something else or nothing."
    values: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None
    "Why there are no values although there is an extension."


def decode_headers(extension: bytes) -> Headers:
    """The headers in `extension`; never fails."""
    start = extension.removeprefix(BOM_UTF8).lstrip(b" \t\r\n")[:1]
    if not extension:
        return Headers(None)
    try:
        if start == b"<":
            return Headers("nservicebus", _read_nservicebus(extension))
        if start == b"{":
            return Headers("rebus", _read_rebus(extension))
    except Malformed as error:
        return Headers(None, reason=str(error))
    return Headers(None, reason="neither the XML of NServiceBus nor the JSON of Rebus")


def encode_nservicebus(values: Mapping[str, str]) -> bytes:
    """The extension NServiceBus writes."""
    lines = [f'<{_LIST} xmlns:xsi="{XSI}" xmlns:xsd="{_XSD}">']
    for key, value in values.items():
        pair = (element("Key", escape(key)), element("Value", escape(value)))
        lines += ["  <HeaderInfo>", f"    {pair[0]}", f"    {pair[1]}", "  </HeaderInfo>"]
    return document("\r\n".join([*lines, f"</{_LIST}>"]))


def encode_rebus(values: Mapping[str, str]) -> bytes:
    """The extension Rebus writes."""
    try:
        return json.dumps(dict(values), ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        raise IllegalPropertyValue("text with half a surrogate pair has no UTF-8 form") from None


def _read_nservicebus(extension: bytes) -> dict[str, str]:
    """Keys and values up to the end of the list; old senders leave nulls and rubbish after it."""
    end = extension.rfind(_LIST_END)
    tree = read_tree(document_text(extension if end < 0 else extension[: end + len(_LIST_END)]))
    if _LIST not in tree:
        raise Malformed("XML", 0, f"its root is not {_LIST}")
    content = tree[_LIST]
    found = content.get("HeaderInfo", []) if isinstance(content, dict) else []
    values: dict[str, str] = {}
    for pair in found if isinstance(found, list) else [found]:
        if isinstance(pair, dict) and (key := _text(pair.get("Key"))):
            values[key] = _text(pair.get("Value"))
    return values


def _text(tree: Tree) -> str:
    """The text of an element; none is as good as an empty one."""
    if isinstance(tree, dict):
        tree = tree.get("#text")
    return tree if isinstance(tree, str) else ""


def _read_rebus(extension: bytes) -> dict[str, str]:
    text = decode_strictly(extension.removeprefix(BOM_UTF8).rstrip(b"\0"), "utf-8")
    if text is None:
        raise Malformed("JSON", 0, "not UTF-8")
    tree = read_json(text)
    assert isinstance(tree, dict), "JSON that begins with a brace is an object"
    return {encodable(key): _value(value) for key, value in tree.items()}


def _value(tree: Tree) -> str:
    """A header's value as text; Rebus writes nothing but strings, others may not."""
    if tree is None:
        return ""
    return encodable(tree) if isinstance(tree, str) else json.dumps(tree)
