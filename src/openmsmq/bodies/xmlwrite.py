"""XML as the serializer of .NET lays it out."""

from __future__ import annotations

import re
from typing import Final

from openmsmq.errors import IllegalPropertyValue

DECLARATION: Final = '<?xml version="1.0"?>\r\n'

_ESCAPED = re.compile("[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escape(text: str) -> str:
    """`text` as the content of an element; what XML forbids becomes references, as in .NET.

    So do carriage returns, which .NET leaves as they are: its readers would make line feeds of
    them.
    """
    return _ESCAPED.sub(lambda match: _NAMED.get(match[0]) or f"&#x{ord(match[0]):X};", text)


def element(name: str, content: str) -> str:
    """An element with escaped content."""
    return f"<{name}>{content}</{name}>" if content else f"<{name} />"


def document(root: str) -> bytes:
    """The bytes of a document: UTF-8 without byte order mark."""
    try:
        return (DECLARATION + root).encode("utf-8")
    except UnicodeEncodeError:
        raise IllegalPropertyValue("text with half a surrogate pair has no XML form") from None
