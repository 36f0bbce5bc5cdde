"""What each field of a message may be: values of callers, checked and made uniform.

A wrong value is an `MQError` whose detail begins with the name of the field.
"""

from __future__ import annotations

from codecs import utf_16_le_decode, utf_16_le_encode
from functools import lru_cache
from math import ceil, inf
from operator import index
from typing import Final, NoReturn, TypeAlias

from openmsmq import limits
from openmsmq.bodies.activex import encode_vt
from openmsmq.errors import (
    IllegalFormatName,
    IllegalPropertySize,
    IllegalPropertyValue,
    IllegalPropertyVt,
    IllegalQueuePathName,
    LabelTooLong,
)
from openmsmq.limits import U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import Protocol
from openmsmq.names.format import DirectName, PrivateName, PublicName
from openmsmq.names.parse import parse_name
from openmsmq.names.parts import Suffix, show
from openmsmq.names.path import PathName
from openmsmq.properties.message import INFINITE, Acknowledge
from openmsmq.properties.vartype import VarType

QueueName: TypeAlias = str | PathName | FormatName
"A queue as a caller may name it."

CORRELATION_SIZE: Final = 20
NO_BYTES: Final = b""
LPWSTR: Final = int(VarType.VT_LPWSTR)
_LABEL_MAX: Final = limits.LABEL_UNITS_MAX - 1
_ACKNOWLEDGE_MAX: Final = 0x0F
_SHOWN_BITS: Final = 64
"Larger numbers are not printed: Python refuses to, beyond some thousand digits."


def body_bytes(body: object, body_type: object) -> tuple[bytes, int]:
    """The body and its type; without a type, bytes are VT_EMPTY and text is VT_LPWSTR."""
    code = None if body_type is None else integer("body_type", body_type, U32_MAX)
    if not isinstance(body, str):
        return octets("body", body), code or VarType.VT_EMPTY.value
    if code is None or code == LPWSTR:
        return utf_16_le_encode(body, "surrogatepass")[0], LPWSTR
    try:
        return encode_vt(body, code), code
    except IllegalPropertyValue as error:
        raise IllegalPropertyValue(f"body: {error.detail}") from None


def octets(field: str, value: object) -> bytes:
    """Bytes, of any type that holds some."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    _wrong_type(field, "bytes or str" if field == "body" else "bytes", value)


def label_text(label: object) -> str:
    """A label ([MS-MQMQ] 2.2.19.3): at most 249 UTF-16 units, none of them null."""
    if not isinstance(label, str):
        _wrong_type("label", "str", label)
    size = len(label)
    if not label.isascii():
        raw = utf_16_le_encode(label, "surrogatepass")[0]
        size = len(raw) // 2
        label = utf_16_le_decode(raw, "surrogatepass", True)[0]  # joins halves of one character
    if size > _LABEL_MAX:
        raise LabelTooLong(f"label has {size} characters, at most {_LABEL_MAX} are allowed")
    if "\0" in label:
        raise IllegalPropertyValue("label: a null would end it")
    return label


def integer(field: str, value: object, maximum: int) -> int:
    """A whole number from 0 to `maximum`."""
    try:
        number = index(value)  # type: ignore[arg-type]  # whether it is one is the question
    except TypeError:
        _wrong_type(field, "an int", value)
    if not 0 <= number <= maximum:
        raise IllegalPropertyValue(f"{field} must be 0 to {maximum}, not {_digits(number)}")
    return number


def flag(field: str, value: object) -> bool:
    """True or False; words such as "no" would pass for True otherwise."""
    if isinstance(value, bool):
        return value
    _wrong_type(field, "True or False", value)


def acknowledge_flags(value: object) -> Acknowledge:
    """The acknowledgements asked for, as flags or as their number."""
    return Acknowledge(integer("acknowledge", value, _ACKNOWLEDGE_MAX))


def correlation(value: object) -> bytes:
    """20 bytes, shorter ones filled up with zeros; empty for none, which the wire has as zeros."""
    data = octets("correlation_id", value)
    if len(data) > CORRELATION_SIZE:
        raise IllegalPropertySize(
            f"correlation_id has {len(data)} bytes, at most {CORRELATION_SIZE} are allowed"
        )
    return data.ljust(CORRELATION_SIZE, b"\0") if any(data) else NO_BYTES


def seconds(field: str, value: object) -> int | None:
    """A lifetime in whole seconds, rounded up; None for ever, which the wire has as all ones."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        _wrong_type(field, "seconds or None", value)
    if value == inf:
        return None
    if not 0 <= value <= INFINITE:  # false for NaN, too
        shown = _digits(value) if isinstance(value, int) else value
        raise IllegalPropertyValue(f"{field}: 0 to {INFINITE - 1} seconds or None, not {shown}")
    whole = ceil(value)
    return None if whole == INFINITE else whole


def queue_name(field: str, value: object) -> FormatName:
    """A queue by any of its names, as a format name that a message can carry."""
    try:
        name = _parsed(value) if isinstance(value, str) else value
        if isinstance(name, PathName):
            name = name.to_direct()
    except (IllegalFormatName, IllegalQueuePathName) as error:
        raise type(error)(f"{field}: {error.detail}") from None
    if not isinstance(name, FormatName):
        _wrong_type(field, "the name of a queue", name)
    if not _can_be_carried(name):
        raise IllegalFormatName(f"{field}: a message cannot carry {show(str(name))}")
    return name


def letter_queue(value: object) -> DirectName:
    """A queue of the sender's own computer by its path, as a dead-letter queue is named."""
    name = queue_name("dead_letter_queue", value)
    if not isinstance(name, DirectName) or name.protocol is not Protocol.OS or name.suffix:
        raise IllegalFormatName(
            f"dead_letter_queue: {show(str(name))} is no path such as .\\private$\\dead"
        )
    return name


@lru_cache(maxsize=1024)
def _parsed(text: str) -> FormatName:
    """The name written as `text`; few are met many times."""
    name = parse_name(text)
    return name.to_direct() if isinstance(name, PathName) else name


def _can_be_carried(name: FormatName) -> bool:
    """Whether a UserHeader has room for a name of this kind ([MS-MQMQ] 2.2.19.2)."""
    if isinstance(name, PublicName | PrivateName):
        return name.suffix is Suffix.NONE
    return isinstance(name, DirectName)


def _wrong_type(field: str, needed: str, value: object) -> NoReturn:
    raise IllegalPropertyVt(f"{field} must be {needed}, not {type(value).__name__}")


def _digits(number: int) -> str:
    bits = number.bit_length()
    return str(number) if bits <= _SHOWN_BITS else f"a number of {bits} bits"
