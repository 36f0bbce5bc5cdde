"""LDIF: objects and changes as text, as administrators exchange them (RFC 2849)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from openmsmq.directory.limits import LDIF_SIZE_MAX
from openmsmq.errors import InvalidParameter

_LINE: Final = re.compile(r"([A-Za-z0-9;.-]+):(:?) ?(.*)")


@dataclass(slots=True)
class LdifRecord:
    """An object to add, or one whose attributes are replaced."""

    name: str
    attributes: dict[str, list[bytes]] = field(default_factory=dict)
    is_change: bool = False


def parse_ldif(text: str) -> Iterator[LdifRecord]:
    """All records of a file; `InvalidParameter` says which line is wrong."""
    if len(text) > LDIF_SIZE_MAX:
        raise InvalidParameter(f"LDIF: more than {LDIF_SIZE_MAX} characters")
    record: LdifRecord | None = None
    lines = [*re.sub(r"\n ", "", text).splitlines(), ""]
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            record = _take(record, line, number)
        elif not line.strip() and record is not None:
            yield record
            record = None


def _take(record: LdifRecord | None, line: str, number: int) -> LdifRecord | None:
    """The record with what one more line says of it."""
    found = _LINE.fullmatch(line)
    if found is None:
        raise InvalidParameter(f"LDIF line {number}: {line!r:.60} is no attribute")
    name, colon, value = found.groups()
    if record is None:
        if name.lower() == "version":
            return None
        if name.lower() != "dn":
            raise InvalidParameter(f"LDIF line {number}: dn is missing")
        return LdifRecord(value)
    if name.lower() == "changetype":
        record.is_change = value == "modify"
    elif name.lower() not in ("replace", "add"):
        record.attributes.setdefault(name, []).append(_value(colon, value, number))
    return record


def _value(colon: str, text: str, number: int) -> bytes:
    if not colon:
        return text.encode()
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidParameter(f"LDIF line {number}: {error}") from None
