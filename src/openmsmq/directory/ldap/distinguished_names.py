"""Distinguished names: written with their escapes, and taken apart (RFC 4514)."""

from __future__ import annotations

import re
from typing import Final

from openmsmq.errors import InvalidParameter

_SPECIAL: Final = frozenset(',+"\\<>;=')
_HEX: Final = re.compile(r"[0-9a-fA-F]{2}")


def escape(value: str) -> str:
    """A value as a name has it ([MS-MQDSSM] 2.2.1; DS-11)."""
    made = []
    for at, char in enumerate(value):
        is_edge = char == " " and at in (0, len(value) - 1)
        if char in _SPECIAL or is_edge or (char == "#" and at == 0):
            made.append(f"\\{char}")
        elif ord(char) < 0x20:
            made.append(f"\\{ord(char):02X}")
        else:
            made.append(char)
    return "".join(made)


def child(kind: str, value: str, parent: str) -> str:
    """The name of an object below another."""
    return f"{kind}={escape(value)},{parent}"


def split(name: str) -> list[tuple[str, str]]:
    """The parts of a name, the innermost first, without escapes; `InvalidParameter`."""
    parts = []
    for text in _pieces(name, ","):
        kind, separator, value = text.partition("=")
        if not separator or not kind.strip():
            raise InvalidParameter(f"{name!r:.200} is no distinguished name")
        parts.append((kind.strip(), _unescaped(value)))
    return parts


def parent(name: str) -> str:
    """The name of the object that one is below; empty for none."""
    pieces = _pieces(name, ",")
    return ",".join(pieces[1:])


def key(name: str) -> str:
    """What is the same for all ways to write a name."""
    return ",".join(f"{kind.lower()}={escape(value).casefold()}" for kind, value in split(name))


def _pieces(name: str, separator: str) -> list[str]:
    """The pieces between separators that are not escaped."""
    pieces, start, at = [], 0, 0
    while at < len(name):
        if name[at] == "\\":
            at += 1
        elif name[at] == separator:
            pieces.append(name[start:at])
            start = at + 1
        at += 1
    return [*pieces, name[start:]] if name else []


def _unescaped(text: str) -> str:
    made, at = bytearray(), 0
    text = text.lstrip(" ")
    while text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1]
    while at < len(text):
        if text[at] != "\\":
            made += text[at].encode(errors="replace")
            at += 1
        elif _HEX.fullmatch(text[at + 1 : at + 3]):
            made.append(int(text[at + 1 : at + 3], 16))
            at += 3
        else:
            made += text[at + 1 : at + 2].encode(errors="replace")
            at += 2
    return made.decode(errors="replace")
