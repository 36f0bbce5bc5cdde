"""Text records of binary XML: typed values, as the characters they stand for ([MC-NBFX] 2.2.3).

Where the rules and the examples of the specification differ, .NET does as in the examples, and so
does this: a date always has its time, a duration is ISO 8601, and UnicodeChars32Text has a length
of four bytes.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from openmsmq.bodies.nbf_values import (
    TICKS_END,
    date_time_text,
    decimal_text,
    duration_text,
    float_text,
    read_counted,
    read_i32,
    read_int31,
    shortest_single,
)
from openmsmq.wire.reader import Reader

Lookup: TypeAlias = Callable[[int], str | None]
"Finds the string a number stands for; None if there is none."

FIRST_TEXT: Final = 0x80
WITH_END_ELEMENT: Final = 0x01
"The bit of a text record that closes its element as well ([MC-NBFX] 2.2.3.31)."
START_LIST: Final = 0xA4
END_LIST: Final = 0xA6

_TICKS_MASK = (1 << 62) - 1
_TICKS_PER_DAY = 864_000_000_000
_UTC, _LOCAL = 1, 2
_SCALE_MAX = 28
_NEGATIVE = 0x80


def read_text(reader: Reader, record: int, lookup: Lookup) -> str:
    """The characters of text record `record`, whose type has been read, or of a whole list."""
    if record == START_LIST:
        return " ".join(_read_list(reader, lookup))
    read = _TEXTS.get(record)
    if read is None:
        reader.fail("RecordType", f"0x{record:02X} is no text", offset=reader.offset - 1)
    return read(reader, lookup)


def _read_list(reader: Reader, lookup: Lookup) -> list[str]:
    """StartListText up to EndListText ([MC-NBFX] 2.2.3.19); lists have no lists in them."""
    items = []
    while (record := reader.u8("RecordType")) != END_LIST:
        if record == START_LIST:
            reader.fail("RecordType", "a list inside a list", offset=reader.offset - 1)
        items.append(read_text(reader, record, lookup))
    return items


def read_string(reader: Reader, name: str) -> str:
    """String ([MC-NBFX] 2.1.3)."""
    start = reader.offset
    return _decode(reader, read_counted(reader, name), name, start)


def read_dictionary_string(reader: Reader, lookup: Lookup, name: str) -> str:
    """DictionaryString ([MC-NBFX] 2.1.4)."""
    start = reader.offset
    number = read_int31(reader, name)
    text = lookup(number)
    if text is None:
        reader.fail(name, f"string {number} is not defined", offset=start)
    return text


def _decode(reader: Reader, raw: bytes, name: str, start: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        reader.fail(name, "broken UTF-8", offset=start)


def _unpack(reader: Reader, layout: str) -> float:
    value: float = struct.unpack(layout, reader.take(struct.calcsize(layout), "Value"))[0]
    return value


def _read_int(size: int, *, signed: bool = True) -> Callable[[Reader, Lookup], str]:
    """Int8Text to Int64Text, UInt64Text ([MC-NBFX] 2.2.3.5 to 2.2.3.8, 2.2.3.25)."""

    def read(reader: Reader, _: Lookup) -> str:
        return str(int.from_bytes(reader.take(size, "Value"), "little", signed=signed))

    return read


def _read_i64(reader: Reader) -> int:
    return int.from_bytes(reader.take(8, "Value"), "little", signed=True)


def _read_float(reader: Reader, _: Lookup) -> str:
    """FloatText ([MC-NBFX] 2.2.3.9)."""
    return float_text(shortest_single(_unpack(reader, "<f")))


def _read_double(reader: Reader, _: Lookup) -> str:
    """DoubleText ([MC-NBFX] 2.2.3.10)."""
    return float_text(_unpack(reader, "<d"))


def _read_decimal(reader: Reader, _: Lookup) -> str:
    """DecimalText ([MC-NBFX] 2.2.3.11), a DECIMAL as in [MS-OAUT] 2.2.26."""
    start = reader.offset
    reader.u16("Value")
    scale = reader.u8("Value")
    sign = reader.u8("Value")
    high = reader.u32("Value")
    mantissa = high << 64 | reader.u64("Value")
    if scale > _SCALE_MAX:
        reader.fail("Value", f"a decimal with {scale} places", offset=start)
    text = decimal_text(mantissa, scale, negative=bool(sign & _NEGATIVE))
    return text.rstrip("0").rstrip(".") if scale else text


def _read_date_time(reader: Reader, _: Lookup) -> str:
    """DateTimeText ([MC-NBFX] 2.2.3.12).

    .NET stores a local time as the UTC it was, at the ends of time with the day that overflows;
    that UTC is given, because the sender's zone is not in the data.
    """
    start = reader.offset
    data = reader.u64("Value")
    ticks, zone = data & _TICKS_MASK, data >> 62
    if zone == _LOCAL:
        ticks = 0 if ticks > _TICKS_MASK - _TICKS_PER_DAY else ticks
        ticks = TICKS_END - 1 if TICKS_END <= ticks < TICKS_END + _TICKS_PER_DAY else ticks
    if ticks >= TICKS_END or zone > _LOCAL:
        reader.fail("Value", "not a date", offset=start)
    return date_time_text(ticks) + ("Z" if zone in (_UTC, _LOCAL) else "")


def _read_length(reader: Reader, size: int) -> int:
    """A length of 1, 2 or 4 bytes; that of 4 bytes is signed and must be positive."""
    if size == 1:
        return reader.u8("Length")
    return reader.u16("Length") if size == 2 else read_i32(reader, "Length")


def _read_chars(size: int) -> Callable[[Reader, Lookup], str]:
    """Chars8Text to Chars32Text ([MC-NBFX] 2.2.3.13 to 2.2.3.15)."""

    def read(reader: Reader, _: Lookup) -> str:
        raw = reader.take(_read_length(reader, size), "Bytes")
        return _decode(reader, raw, "Bytes", reader.offset - len(raw))

    return read


def _read_bytes(size: int) -> Callable[[Reader, Lookup], str]:
    """Bytes8Text to Bytes32Text ([MC-NBFX] 2.2.3.16 to 2.2.3.18)."""

    def read(reader: Reader, _: Lookup) -> str:
        return b64encode(reader.take(_read_length(reader, size), "Bytes")).decode("ascii")

    return read


def _read_unicode(size: int) -> Callable[[Reader, Lookup], str]:
    """UnicodeChars8Text to UnicodeChars32Text ([MC-NBFX] 2.2.3.27 to 2.2.3.29)."""

    def read(reader: Reader, _: Lookup) -> str:
        # Half surrogate pairs are replaced: no encoding could write them again.
        return reader.utf16(_read_length(reader, size), "Bytes").decode("utf-16-le", "replace")

    return read


def _read_bool(reader: Reader, _: Lookup) -> str:
    """BoolText ([MC-NBFX] 2.2.3.26)."""
    start = reader.offset
    value = reader.u8("Value")
    if value > 1:
        reader.fail("Value", f"{value} is neither true nor false", offset=start)
    return "true" if value else "false"


def _read_qname(reader: Reader, lookup: Lookup) -> str:
    """QNameDictionaryText ([MC-NBFX] 2.2.3.30)."""
    start = reader.offset
    letter = reader.u8("Prefix")
    if letter > 25:
        reader.fail("Prefix", f"no letter {letter}", offset=start)
    return f"{chr(ord('a') + letter)}:{read_dictionary_string(reader, lookup, 'Name')}"


_TEXTS: Final[Mapping[int, Callable[[Reader, Lookup], str]]] = {
    0x80: lambda reader, lookup: "0",
    0x82: lambda reader, lookup: "1",
    0x84: lambda reader, lookup: "false",
    0x86: lambda reader, lookup: "true",
    0x88: _read_int(1),
    0x8A: _read_int(2),
    0x8C: _read_int(4),
    0x8E: _read_int(8),
    0x90: _read_float,
    0x92: _read_double,
    0x94: _read_decimal,
    0x96: _read_date_time,
    0x98: _read_chars(1),
    0x9A: _read_chars(2),
    0x9C: _read_chars(4),
    0x9E: _read_bytes(1),
    0xA0: _read_bytes(2),
    0xA2: _read_bytes(4),
    0xA8: lambda reader, lookup: "",
    0xAA: lambda reader, lookup: read_dictionary_string(reader, lookup, "Value"),
    0xAC: lambda reader, lookup: f"urn:uuid:{reader.guid('Value')}",
    0xAE: lambda reader, lookup: duration_text(_read_i64(reader)),
    0xB0: lambda reader, lookup: str(reader.guid("Value")),
    0xB2: _read_int(8, signed=False),
    0xB4: _read_bool,
    0xB6: _read_unicode(1),
    0xB8: _read_unicode(2),
    0xBA: _read_unicode(4),
    0xBC: _read_qname,
}
