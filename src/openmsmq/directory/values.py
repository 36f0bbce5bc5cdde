"""Values of attributes: how each kind is written in a directory ([MS-ADA2])."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final
from uuid import UUID

from openmsmq.errors import Malformed
from openmsmq.limits import U32_MAX
from openmsmq.security.sid import Sid

_TIME: Final = "%Y%m%d%H%M%S.0Z"
_TIMES: Final = (_TIME, "%Y%m%d%H%M%SZ")
_SIGN: Final = 1 << 31


class ValueKind(Enum):
    """What an attribute holds; those with an S have several values."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    UNSIGNED = "unsigned"
    TEXT = "text"
    TEXTS = "texts"
    GUID = "guid"
    GUIDS = "guids"
    OCTETS = "octets"
    OCTET_STRINGS = "octet strings"
    NAME = "name"
    NAMES = "names"
    TIME = "time"
    SID = "sid"


SEVERAL: Final = frozenset(
    {ValueKind.TEXTS, ValueKind.GUIDS, ValueKind.OCTET_STRINGS, ValueKind.NAMES}
)
_SINGLE: Final = {
    ValueKind.TEXTS: ValueKind.TEXT,
    ValueKind.GUIDS: ValueKind.GUID,
    ValueKind.OCTET_STRINGS: ValueKind.OCTETS,
    ValueKind.NAMES: ValueKind.NAME,
}


def single(kind: ValueKind) -> ValueKind:
    """The kind of one value of several."""
    return _SINGLE.get(kind, kind)


def encode_value(kind: ValueKind, value: Any) -> bytes:
    """One value as the directory has it.

    A GUID is 16 octets in the order of its structure, a Boolean `TRUE` or `FALSE`, a time in UTC,
    and an unsigned number the signed one with the same bits ([MS-MQDSSM] 3.1.6.11, 3.1.6.19;
    DS-02, DS-03, DS-09).
    """
    match single(kind):
        case ValueKind.BOOLEAN:
            return b"TRUE" if value else b"FALSE"
        case ValueKind.INTEGER:
            return str(int(value)).encode()
        case ValueKind.UNSIGNED:
            number = int(value)
            return str(number - (1 << 32) if number >= _SIGN else number).encode()
        case ValueKind.GUID:
            return UUID(str(value)).bytes_le
        case ValueKind.OCTETS:
            return bytes(value)
        case ValueKind.TIME:
            return datetime.fromtimestamp(value, UTC).strftime(_TIME).encode()
        case ValueKind.SID:
            return (value if isinstance(value, Sid) else Sid.from_text(str(value))).encode()
    return str(value).encode()


def decode_value(kind: ValueKind, raw: bytes) -> Any:
    """One value of the directory; ValueError if it is none of this kind.

    ([MS-MQDSSM] 3.1.6.11; times are seconds since 1970 UTC.)
    """
    match single(kind):
        case ValueKind.BOOLEAN:
            if raw.upper() not in (b"TRUE", b"FALSE"):
                raise ValueError(f"{raw!r:.40} is neither TRUE nor FALSE")
            return raw.upper() == b"TRUE"
        case ValueKind.INTEGER:
            return int(raw[:20])
        case ValueKind.UNSIGNED:
            return int(raw[:20]) & U32_MAX
        case ValueKind.GUID:
            return UUID(bytes_le=raw)
        case ValueKind.OCTETS:
            return raw
        case ValueKind.TIME:
            return _decode_time(raw.decode(errors="replace"))
        case ValueKind.SID:
            try:
                return Sid.decode(raw)
            except Malformed as error:
                raise ValueError(str(error)) from None
    return raw.decode(errors="replace")


def _decode_time(text: str) -> int:
    for form in _TIMES:
        try:
            return int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp())
        except ValueError:
            continue
    raise ValueError(f"{text!r:.40} is no time")


def encode(kind: ValueKind, value: Any) -> list[bytes]:
    """All values of an attribute; none for an empty text, which cannot be stored (DS-10)."""
    if kind in SEVERAL:
        return [encode_value(kind, item) for item in value]
    raw = encode_value(kind, value)
    return [raw] if raw else []


def decode(kind: ValueKind, raw: Sequence[bytes]) -> Any:
    """The value of an attribute that is set; ValueError."""
    if kind in SEVERAL:
        return tuple(decode_value(kind, item) for item in raw)
    return decode_value(kind, raw[0])
