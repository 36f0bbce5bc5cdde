"""Filters of searches: values, their text (RFC 4515) and their bytes (RFC 4511 4.5.1.7)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from openmsmq.directory.ldap.ber import element, octets
from openmsmq.directory.limits import DEPTH_MAX
from openmsmq.errors import InvalidParameter

_SPECIAL: Final = frozenset(b"*()\\\0")
_ITEM: Final = re.compile(r"([A-Za-z0-9;.-]+)(>=|<=|=)(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(rb"\\([0-9a-fA-F]{2})")


def escaped(value: bytes) -> str:
    """A value as a filter has it: special characters, and what is no text, by their codes."""
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in _SPECIAL else f"\\{byte:02x}"
        for byte in value
    )


@dataclass(frozen=True, slots=True)
class And:
    """All of them hold."""

    parts: tuple[Filter, ...]

    def __str__(self) -> str:
        return f"(&{''.join(map(str, self.parts))})"

    def encode(self) -> bytes:
        """The bytes of this filter."""
        return element(0xA0, *(part.encode() for part in self.parts))


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of them holds."""

    parts: tuple[Filter, ...]

    def __str__(self) -> str:
        return f"(|{''.join(map(str, self.parts))})"

    def encode(self) -> bytes:
        """The bytes of this filter."""
        return element(0xA1, *(part.encode() for part in self.parts))


@dataclass(frozen=True, slots=True)
class Not:
    """It does not hold."""

    part: Filter

    def __str__(self) -> str:
        return f"(!{self.part})"

    def encode(self) -> bytes:
        """The bytes of this filter."""
        return element(0xA2, self.part.encode())


@dataclass(frozen=True, slots=True)
class Comparison:
    """An attribute compared with a value, by `=`, `>=` or `<=`."""

    attribute: str
    operator: str
    value: bytes

    def __str__(self) -> str:
        return f"({self.attribute}{self.operator}{escaped(self.value)})"

    def encode(self) -> bytes:
        """The bytes of this filter."""
        tag = {"=": 0xA3, ">=": 0xA5, "<=": 0xA6}[self.operator]
        return element(tag, octets(self.attribute), octets(self.value))


@dataclass(frozen=True, slots=True)
class Present:
    """An attribute has any value."""

    attribute: str

    def __str__(self) -> str:
        return f"({self.attribute}=*)"

    def encode(self) -> bytes:
        """The bytes of this filter."""
        return octets(self.attribute, 0x87)


@dataclass(frozen=True, slots=True)
class Contains:
    """A text has these pieces in order: the first at its start, the last at its end."""

    attribute: str
    pieces: tuple[bytes, ...]

    def __str__(self) -> str:
        return f"({self.attribute}={'*'.join(map(escaped, self.pieces))})"

    def encode(self) -> bytes:
        """The bytes of this filter."""
        first, *middle, last = self.pieces
        parts = [octets(first, 0x80)] if first else []
        parts += [octets(piece, 0x81) for piece in middle if piece]
        parts += [octets(last, 0x82)] if last else []
        return element(0xA4, octets(self.attribute), element(0x30, *parts))


Filter: TypeAlias = And | Or | Not | Comparison | Present | Contains
ANYTHING: Final = Present("objectClass")


def equal(attribute: str, value: bytes | str) -> Comparison:
    """An attribute has this value."""
    return Comparison(attribute, "=", value.encode() if isinstance(value, str) else value)


def all_of(*parts: Filter) -> Filter:
    """All of them; one alone is itself."""
    return parts[0] if len(parts) == 1 else And(parts)


def parse_filter(text: str) -> Filter:
    """The filter with this text; `InvalidParameter` if there is none."""
    found, at = _parse(text, 0, 0)
    if at != len(text):
        raise InvalidParameter(f"filter: nothing is expected at {at}, not {text[at:]!r:.40}")
    return found


def _parse(text: str, at: int, depth: int) -> tuple[Filter, int]:
    if text[at : at + 1] != "(" or depth > DEPTH_MAX:
        raise InvalidParameter(f"filter: ( is missing at {at}, or it is nested too deep")
    kind = text[at + 1 : at + 2]
    if kind in ("&", "|", "!"):
        parts: list[Filter] = []
        at += 2
        while text[at : at + 1] == "(":
            part, at = _parse(text, at, depth + 1)
            parts.append(part)
        if not parts or text[at : at + 1] != ")" or (kind == "!" and len(parts) != 1):
            raise InvalidParameter(f"filter: ) is missing at {at}")
        if kind == "!":
            return Not(parts[0]), at + 1
        return (And(tuple(parts)) if kind == "&" else Or(tuple(parts))), at + 1
    end = text.find(")", at)
    item = _ITEM.fullmatch(text[at + 1 : end]) if end > 0 else None
    if item is None:
        raise InvalidParameter(f"filter: a comparison is needed at {at}")
    return _comparison(*item.groups()), end + 1


def _comparison(attribute: str, operator: str, value: str) -> Filter:
    if operator == "=" and value == "*":
        return Present(attribute)
    pieces = tuple(_unescaped(piece) for piece in value.split("*"))
    if len(pieces) == 1:
        return Comparison(attribute, operator, pieces[0])
    if operator != "=":
        raise InvalidParameter(f"filter: {operator} takes no *")
    return Contains(attribute, pieces)


def _unescaped(text: str) -> bytes:
    return _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), text.encode())
