"""The simple types of an envelope: dates, GUIDs, numbers, identifiers ([MC-MQSRM] 2.2.1)."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple, Self
from uuid import UUID

from openmsmq.errors import Malformed
from openmsmq.limits import U32_MAX, U64_MAX

NEVER: Final = 0x7FFF_FFFF
"The date of what never expires, 20380119T031407 ([MC-MQSRM] 4.2)."

WHITE_SPACE: Final = " \t\r\n"
"What XML calls white space; other kinds belong to the text."

_DATE = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})")
_GUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_NUMBER = re.compile(r"[0-9]{1,20}")
_SHOWN_MAX = 60


@lru_cache(maxsize=4096)
def read_date(text: str, field: str) -> int:
    """The seconds since 1970 UTC of `YYYYMMDDThhmmss` ([MC-MQSRM] 2.2.1.2)."""
    found = _DATE.fullmatch(text)
    if not found:
        raise refused(field, text, "a date such as 20070608T164419")
    year, month, day, hour, minute, second = map(int, found.groups())
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise refused(field, text, "a date such as 20070608T164419") from None
    seconds = int(moment.timestamp())
    if not 0 <= seconds <= U32_MAX:
        raise refused(field, text, "a date from 1970 to 2106")
    return seconds


@lru_cache(maxsize=4096)
def write_date(seconds: int) -> str:
    """`seconds` since 1970 as a date in UTC ([MC-MQSRM] 2.2.1.2)."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%dT%H%M%S")


@lru_cache(maxsize=4096)
def read_guid(text: str, field: str) -> UUID:
    """A GUID in the text form of RFC 4122, in any letter case ([MC-MQSRM] 2.2.1.1)."""
    if not _GUID.fullmatch(text):
        raise refused(field, text, "a GUID")
    return UUID(text)


def read_number(text: str, field: str, maximum: int = U64_MAX) -> int:
    """A decimal number that the attribute it fills can hold ([MC-MQSRM] 2.2.1.3)."""
    if not _NUMBER.fullmatch(text) or (number := int(text)) > maximum:
        raise refused(field, text, f"a number from 0 to {maximum}")
    return number


def read_base64(text: str, field: str, least: int, most: int) -> bytes:
    """From `least` to `most` bytes in base64."""
    try:
        value = b64decode("".join(text.split()), validate=True)
    except (Base64Error, ValueError):
        raise refused(field, text, "base64") from None
    if not least <= len(value) <= most:
        expected = f"{least} bytes" if least == most else f"{least} to {most} bytes"
        raise refused(field, text, f"{expected} in base64")
    return value


@lru_cache(maxsize=256)
def guid_text(guid: UUID) -> str:
    """A GUID in the text form of RFC 4122 ([MC-MQSRM] 2.2.1.1)."""
    return str(guid)


def write_base64(value: bytes) -> str:
    """`value` in base64, on one line."""
    return b64encode(value).decode("ascii")


class SoapMessageId(NamedTuple):
    """The identifier of a message, `uuid:number@GUID` ([MC-MQSRM] 2.2.4.3)."""

    number: int
    guid: UUID

    @classmethod
    def read(cls, text: str, field: str) -> Self:
        """The identifier written as `text`."""
        number, at, guid = text.removeprefix("uuid:").partition("@")
        if not text.startswith("uuid:") or not at:
            raise refused(field, text, "uuid:, a number, @ and a GUID")
        return cls(read_number(number, field, U32_MAX), read_guid(guid, field))

    def __str__(self) -> str:
        return f"uuid:{self.number}@{guid_text(self.guid)}"


UNIDENTIFIED: Final = SoapMessageId(1, UUID(int=0))
"The identifier of a message without Msmq element, which many may share ([MC-MQSRM] 3.1.5.1.1)."


class StreamId(NamedTuple):
    r"""The identifier of a stream, `uid:GUID\number` ([MC-MQSRM] 2.2.5.3.1).

    The number is the TxSequenceID of the stream: TimeStamp in the high half, Ordinal in the low.
    """

    guid: UUID
    number: int

    @classmethod
    def read(cls, text: str, field: str) -> Self:
        """The identifier written as `text`."""
        guid, backslash, number = text.removeprefix("uid:").partition("\\")
        if not text.startswith("uid:") or not backslash:
            raise refused(field, text, "uid:, a GUID, a backslash and a number")
        return cls(read_guid(guid, field), read_number(number, field))

    def __str__(self) -> str:
        return f"uid:{self.guid}\\{self.number}"


def refused(field: str, text: str, expected: str) -> Malformed:
    """The error for `text` in an element that should hold something else."""
    shown = text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."
    return Malformed(field, 0, f"{shown!r} is not {expected}")
