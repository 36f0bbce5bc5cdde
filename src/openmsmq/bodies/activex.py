"""Plain values as bodies: ActiveXMessageFormatter and the COM components.

The body type is a variant type ([MS-MQMQ] 2.2.12) and the body its value, little-endian. The size
of the value is the size of the body, so a string may come with its terminating null or without.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from struct import Struct
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

from openmsmq.bodies.body import Tree
from openmsmq.bodies.text import decode_strictly
from openmsmq.errors import IllegalPropertyValue, Malformed
from openmsmq.properties.vartype import VECTOR, VarType, vartype_name

VtValue: TypeAlias = bool | int | float | str | bytes | Decimal | datetime | UUID | None

BYTES_VECTOR: Final = VECTOR | VarType.VT_UI1
"An array of bytes as System.Messaging declares it."
BYTES_ARRAY: Final = 0x2000 | VarType.VT_UI1
"An array of bytes as COM declares it: `VT_ARRAY|VT_UI1`."
OBJECTS: Final = frozenset({VarType.VT_STREAMED_OBJECT, VarType.VT_STORED_OBJECT})
"COM objects that wrote themselves; only their class could read them, and none is ever loaded."

_BYTES = (BYTES_VECTOR, BYTES_ARRAY, VarType.VT_BLOB, *sorted(OBJECTS))
# The first that fits is the type .NET would take.
_INTEGERS = {
    VarType.VT_I4: Struct("<i"),
    VarType.VT_I8: Struct("<q"),
    VarType.VT_UI8: Struct("<Q"),
    VarType.VT_I1: Struct("<b"),
    VarType.VT_UI1: Struct("<B"),
    VarType.VT_I2: Struct("<h"),
    VarType.VT_UI2: Struct("<H"),
    VarType.VT_UI4: Struct("<I"),
}
_REALS = {VarType.VT_R8: Struct("<d"), VarType.VT_R4: Struct("<f")}
_I64 = _INTEGERS[VarType.VT_I8]
_F64 = _REALS[VarType.VT_R8]

_CURRENCY_UNITS = 10_000
_CURRENCY_DIGITS = 20
"Places before or after the point beyond which nothing fits."
_TICKS_START = datetime(1, 1, 1, tzinfo=UTC)
_TICKS_PER_SECOND = 10_000_000
_TICKS_MAX = 3_155_378_975_999_999_999
"The last tick of the year 9999."
_OLE_START = datetime(1899, 12, 30, tzinfo=UTC)
_OLE_DAYS = (-657_435, 2_958_466)
"Between them lie the years 100 to 9999."
_MS_PER_DAY = 86_400_000


def decode_vt(body: bytes, vartype: int) -> Tree:
    """The value of a body of type `vartype`, one of `BODY_TYPES`.

    Currency, dates and GUIDs are text: no plain value holds them exactly.
    """
    read = _READERS.get(vartype)
    if read is None:
        raise Malformed(type_name(vartype), 0, "not a type of message bodies")
    return read(body)


def encode_vt(value: VtValue, vartype: int) -> bytes:
    """The body that holds `value` as `vartype`; a float as VT_DATE counts days as COM does."""
    forms = _forms(value)
    if vartype not in forms:
        raise IllegalPropertyValue(f"{value!r:.100} cannot be a {type_name(vartype)}")
    return forms[vartype]


def encode_value(value: VtValue) -> tuple[bytes, int]:
    """The body and body type System.Messaging would send for `value`."""
    for vartype, body in _forms(value).items():
        return body, vartype
    raise IllegalPropertyValue(f"no type of message bodies holds {value!r:.100}")


def type_name(vartype: int) -> str:
    """The name of a body type: `VT_I4`, `VT_UI1|VT_VECTOR`."""
    return "VT_UI1|VT_ARRAY" if vartype == BYTES_ARRAY else vartype_name(vartype)


def _forms(value: VtValue) -> dict[int, bytes]:
    """The body for each type that can hold `value`, the type .NET would take first."""
    forms: dict[int, bytes] = {}
    match value:
        case None:
            forms = {VarType.VT_NULL: b""}
        case bool():
            # .NET writes one byte but reads two just as well; COM knows two only.
            forms = {VarType.VT_BOOL: b"\xff\xff" if value else b"\0\0"}
        case int():
            forms = _packed(value, _INTEGERS)
        case float():
            forms = _packed(value, _REALS) | {VarType.VT_DATE: _F64.pack(value)}
        case str():
            forms = _strings(value)
        case bytes():
            forms = dict.fromkeys(_BYTES, value)
        case Decimal():
            forms = _currency(value)
        case datetime():
            forms = _ticks(value)
        case UUID():
            forms = {VarType.VT_CLSID: value.bytes_le}
    return forms


def _packed(value: float, layouts: Mapping[VarType, Struct]) -> dict[int, bytes]:
    forms: dict[int, bytes] = {}
    for vartype, layout in layouts.items():
        with suppress(struct.error, OverflowError):
            forms[vartype] = layout.pack(value)
    return forms


def _strings(value: str) -> dict[int, bytes]:
    units = value.encode("utf-16-le", "surrogatepass")
    forms: dict[int, bytes] = {VarType.VT_LPWSTR: units, VarType.VT_BSTR: units}
    with suppress(UnicodeEncodeError):
        forms[VarType.VT_LPSTR] = value.encode("utf-8")
    return forms


def _currency(value: Decimal) -> dict[int, bytes]:
    """Nothing is rounded: money that does not fit is refused."""
    if not value.is_finite() or (value and abs(value.adjusted()) > _CURRENCY_DIGITS):
        return {}
    numerator, denominator = value.as_integer_ratio()
    units, rest = divmod(numerator * _CURRENCY_UNITS, denominator)
    return {} if rest else _packed(units, {VarType.VT_CY: _I64})


def _ticks(value: datetime) -> dict[int, bytes]:
    """A date as .NET writes it, which has no time zone: UTC, unless `value` has none either."""
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    ticks = (aware - _TICKS_START) // timedelta(microseconds=1) * 10
    return {VarType.VT_DATE: _I64.pack(ticks)} if 0 <= ticks <= _TICKS_MAX else {}


def _sized(vartype: VarType, size: int, read: Callable[[bytes], Tree]) -> Callable[[bytes], Tree]:
    """`read`, for bodies of `size` bytes only."""

    def checked(body: bytes) -> Tree:
        if len(body) != size:
            raise Malformed(vartype.name, 0, f"needs {size} bytes, the body has {len(body)}")
        return read(body)

    return checked


def _number(vartype: VarType, layout: Struct) -> Callable[[bytes], Tree]:
    def read(body: bytes) -> Tree:
        value: int | float = layout.unpack(body)[0]
        return value

    return _sized(vartype, layout.size, read)


def _read_null(body: bytes) -> Tree:
    return None


def _read_bool(body: bytes) -> Tree:
    """A truth value, one byte long from .NET and two from COM."""
    if len(body) not in (1, 2):
        raise Malformed("VT_BOOL", 0, f"needs 1 or 2 bytes, the body has {len(body)}")
    return any(body)


def _read_currency(body: bytes) -> Tree:
    units: int = _I64.unpack(body)[0]
    whole, rest = divmod(abs(units), _CURRENCY_UNITS)
    return f"{'-' if units < 0 else ''}{whole}.{rest:04d}"


def _read_date(body: bytes) -> Tree:
    """A date: whole ticks from .NET, days in floating point from COM.

    As an integer, the days of any date but that of the zero day lie beyond the last tick.
    """
    ticks: int = _I64.unpack(body)[0]
    if not 0 <= ticks <= _TICKS_MAX:
        return _ole_date(_F64.unpack(body)[0])
    seconds, fraction = divmod(ticks, _TICKS_PER_SECOND)
    digits = f".{fraction:07d}".rstrip("0") if fraction else ""
    return _iso(_TICKS_START + timedelta(seconds=seconds)) + digits


def _ole_date(days: float) -> str:
    """Days since the end of 1899; the fraction is the time of the day, in negative days as well."""
    if not _OLE_DAYS[0] < days < _OLE_DAYS[1]:
        raise Malformed("VT_DATE", 0, "neither ticks nor days of the years 1 to 9999")
    whole = math.trunc(days)
    # The last half millisecond of a day must not round into the next, which may not exist.
    milliseconds = min(round(abs(days - whole) * _MS_PER_DAY), _MS_PER_DAY - 1)
    return _iso(_OLE_START + timedelta(days=whole, milliseconds=milliseconds))


def _iso(moment: datetime) -> str:
    text = moment.replace(tzinfo=None).isoformat()
    return text.rstrip("0") if moment.microsecond else text


def _read_clsid(body: bytes) -> Tree:
    return str(UUID(bytes_le=body))


def _read_utf16(body: bytes) -> Tree:
    if len(body) % 2:
        raise Malformed("text", 0, f"UTF-16 text cannot have {len(body)} bytes")
    return body.decode("utf-16-le", "surrogatepass").rstrip("\0")


def _read_ansi(body: bytes) -> Tree:
    """Text of an unknown code page: UTF-8 if it can be, else each byte its own character."""
    text = decode_strictly(body, "utf-8")
    return (body.decode("latin-1") if text is None else text).rstrip("\0")


_READERS: Final[Mapping[int, Callable[[bytes], Tree]]] = MappingProxyType(
    {
        **{vt: _number(vt, layout) for vt, layout in {**_INTEGERS, **_REALS}.items()},
        **dict.fromkeys(_BYTES, bytes),
        VarType.VT_NULL: _sized(VarType.VT_NULL, 0, _read_null),
        VarType.VT_BOOL: _read_bool,
        VarType.VT_CY: _sized(VarType.VT_CY, 8, _read_currency),
        VarType.VT_DATE: _sized(VarType.VT_DATE, 8, _read_date),
        VarType.VT_CLSID: _sized(VarType.VT_CLSID, 16, _read_clsid),
        VarType.VT_BSTR: _read_utf16,
        VarType.VT_LPWSTR: _read_utf16,
        VarType.VT_LPSTR: _read_ansi,
    }
)
BODY_TYPES: Final = frozenset(_READERS)
"Body types whose bodies are plain values."
