"""Primitive values of a .NET binary serialization stream, as plain values ([MS-NRBF] 2.1)."""

from __future__ import annotations

import enum
import re
import struct
from collections.abc import Mapping
from typing import Final, TypeAlias
from uuid import UUID

from openmsmq.bodies.nbf_values import (
    TICKS_END,
    date_time_text,
    decimal_text,
    duration_text,
    read_counted,
    shortest_single,
)
from openmsmq.limits import U32_MAX, U64_MAX
from openmsmq.wire.reader import Reader

Scalar: TypeAlias = bool | int | float | str | bytes | None
"A value that contains no others."


class PrimitiveType(enum.IntEnum):
    """PrimitiveTypeEnumeration ([MS-NRBF] 2.1.2.3)."""

    BOOLEAN = 1
    BYTE = 2
    CHAR = 3
    DECIMAL = 5
    DOUBLE = 6
    INT16 = 7
    INT32 = 8
    INT64 = 9
    SBYTE = 10
    SINGLE = 11
    TIME_SPAN = 12
    DATE_TIME = 13
    UINT16 = 14
    UINT32 = 15
    UINT64 = 16
    NULL = 17
    STRING = 18


_LAYOUTS: Final[Mapping[PrimitiveType, str]] = {
    PrimitiveType.BOOLEAN: "?",
    PrimitiveType.BYTE: "B",
    PrimitiveType.DOUBLE: "d",
    PrimitiveType.INT16: "h",
    PrimitiveType.INT32: "i",
    PrimitiveType.INT64: "q",
    PrimitiveType.SBYTE: "b",
    PrimitiveType.SINGLE: "f",
    PrimitiveType.TIME_SPAN: "q",
    PrimitiveType.DATE_TIME: "Q",
    PrimitiveType.UINT16: "H",
    PrimitiveType.UINT32: "I",
    PrimitiveType.UINT64: "Q",
}
_CODES = frozenset(PrimitiveType)
_DECIMAL = re.compile(rb"-?[0-9]+(\.[0-9]+)?")
_TICKS_MASK = (1 << 62) - 1
_UTC = 1
_SCALE_MAX = 28


def read_primitive_type(reader: Reader, *, with_code: bool = False) -> PrimitiveType:
    """A PrimitiveTypeEnum; Null and String only in a ValueWithCode ([MS-NRBF] 2.2.2.1)."""
    start = reader.offset
    code = reader.u8("PrimitiveTypeEnum")
    if code not in _CODES or (code >= PrimitiveType.NULL and not with_code):
        reader.fail("PrimitiveTypeEnum", f"no primitive type {code} here", offset=start)
    return PrimitiveType(code)


def read_primitive(reader: Reader, kind: PrimitiveType) -> Scalar:
    """One bare value ([MS-NRBF] 2.5.2)."""
    return read_primitives(reader, kind, 1)[0]


def read_primitives(reader: Reader, kind: PrimitiveType, count: int) -> str | bytes | list[Scalar]:
    """`count` bare values; characters come as text and bytes as bytes."""
    if kind is PrimitiveType.CHAR:
        return _read_chars(reader, count)
    if kind is PrimitiveType.BYTE:
        return reader.take(count, "Value")
    if kind is PrimitiveType.DECIMAL:
        if count > reader.remaining:
            reader.fail("Value", f"{count} values do not fit")
        return [_read_decimal(reader) for _ in range(count)]
    layout = _LAYOUTS[kind]
    start = reader.need(count * struct.calcsize("<" + layout), "Value")
    values = struct.unpack_from(f"<{count}{layout}", reader.data, start)
    if kind is PrimitiveType.SINGLE:
        return [shortest_single(value) for value in values]
    if kind is PrimitiveType.TIME_SPAN:
        return [duration_text(value) for value in values]
    if kind is PrimitiveType.DATE_TIME:
        return [_date_time(reader, value, start) for value in values]
    return list(values)


def _date_time(reader: Reader, data: int, start: int) -> str:
    text = date_data_text(data)
    if text is None:
        reader.fail("Value", "a date after the year 9999", offset=start)
    return text


def date_data_text(data: int) -> str | None:
    """ISO 8601 text of a DateTime ([MS-NRBF] 2.1.1.5); None if it is past all dates.

    A local time is written without zone, like one of unknown kind: the data does not say where
    the sender was.
    """
    ticks = data & _TICKS_MASK
    if ticks >= TICKS_END:
        return None
    return date_time_text(ticks) + ("Z" if data >> 62 == _UTC else "")


def _read_decimal(reader: Reader) -> str:
    """Decimal, digits as they are ([MS-NRBF] 2.1.1.7)."""
    start = reader.offset
    text = read_counted(reader, "Value")
    if not _DECIMAL.fullmatch(text):
        reader.fail("Value", "not a decimal number", offset=start)
    return text.decode("ascii")


def _read_chars(reader: Reader, count: int) -> str:
    """`count` UTF-16 units in UTF-8 ([MS-NRBF] 2.1.1.1); a surrogate pair is one sequence."""
    start = reader.offset
    if reader.data[start : min(start + count, reader.end)].isascii():
        return reader.take(count, "Value").decode("ascii")
    units = 0
    while units < count:
        lead = reader.u8("Value")
        size = 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
        reader.need(size - 1, "Value")
        units += 2 if size == 4 else 1
    try:
        text = bytes(reader.data[start : reader.offset]).decode("utf-8")
    except UnicodeDecodeError:
        reader.fail("Value", "broken UTF-8", offset=start)
    if units > count:
        reader.fail("Value", "a character that takes two places", offset=start)
    return text


def simple_value(name: str, members: Mapping[str, object]) -> Scalar:
    """The plain value of a boxed primitive or system value type; None if it is something else."""
    match name, members:
        case "System.Guid", {"_a": int(a), "_b": int(b), "_c": int(c)}:
            tail = [members.get(f"_{letter}") for letter in "defghijk"]
            data = [part & 0xFF for part in tail if isinstance(part, int)]
            head = struct.pack("<IHH", a & U32_MAX, b & 0xFFFF, c & 0xFFFF)
            return str(UUID(bytes_le=head + bytes(data))) if len(data) == len(tail) else None
        case "System.DateTime", {"dateData": int(data)} | {"ticks": int(data)}:
            return date_data_text(data & U64_MAX)
        case "System.TimeSpan", {"_ticks": int(ticks)}:
            return duration_text(ticks)
        case "System.Decimal", {"flags": int(flags), "hi": int(hi), "lo": int(lo), "mid": int(mid)}:
            scale = flags >> 16 & 0xFF
            parts = [part & U32_MAX for part in (hi, mid, lo)]
            mantissa = parts[0] << 64 | parts[1] << 32 | parts[2]
            text = decimal_text(mantissa, scale, negative=flags < 0)
            return text if scale <= _SCALE_MAX else None
        case _, {"m_value": bool() | int() | float() | str() as value} if len(members) == 1:
            return value if name.startswith("System.") else None
    return None
