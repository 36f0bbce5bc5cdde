"""What the .NET binary formats share: packed integers, dates, durations, numbers and bounds."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from struct import Struct
from typing import Final

from openmsmq.limits import EXPANSION_FREE, EXPANSION_MAX, NBF_NODES_MAX
from openmsmq.wire.reader import Reader

TICKS_PER_SECOND: Final = 10_000_000
TICKS_END: Final = 3_155_378_976_000_000_000
"The first tick of the year 10000, which no DateTime reaches."

_INT31_MAX = 0x7FFF_FFFF
_SINGLE = Struct("<f")
_EPOCH = datetime(1, 1, 1, tzinfo=UTC)


class Budget:
    """What may still be made out of the data: few bytes can name much text, many times over."""

    __slots__ = ("_nodes", "_reader", "_text")

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._nodes = NBF_NODES_MAX
        self._text = EXPANSION_FREE + EXPANSION_MAX * len(reader.data)

    def spend(self, name: str, *, nodes: int = 0, text: int = 0) -> None:
        """Account for nodes and characters about to be made, or refuse the data."""
        self._nodes -= nodes
        self._text -= text
        if self._nodes < 0:
            self._reader.fail(name, f"more than {NBF_NODES_MAX} objects")
        if self._text < 0:
            self._reader.fail(name, "stands for far more text than there is data")


def read_int31(reader: Reader, name: str) -> int:
    """An integer in seven bits a byte, the lowest first ([MC-NBFX] 2.1.2, [MS-NRBF] 2.1.1.6)."""
    start = reader.offset
    value = 0
    for shift in range(0, 35, 7):
        byte = reader.u8(name)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    else:
        reader.fail(name, "an integer of more than five bytes", offset=start)
    if value > _INT31_MAX:
        reader.fail(name, "an integer of more than 31 bits", offset=start)
    return value


def read_i32(reader: Reader, name: str) -> int:
    """A 32-bit signed integer."""
    value = reader.u32(name)
    return value - (1 << 32) if value >> 31 else value


def read_counted(reader: Reader, name: str) -> bytes:
    """Bytes after their length, as UTF-8 strings are stored ([MC-NBFX] 2.1.3)."""
    return reader.take(read_int31(reader, name), name)


def date_time_text(ticks: int) -> str:
    """ISO 8601 text of ticks of 100 ns since the year 1, without time zone ([MS-NRBF] 2.1.1.5)."""
    assert 0 <= ticks < TICKS_END, "not a date"
    seconds, fraction = divmod(ticks, TICKS_PER_SECOND)
    moment = _EPOCH + timedelta(seconds=seconds)
    return moment.isoformat()[:19] + _fraction(fraction)


def duration_text(ticks: int) -> str:
    """ISO 8601 text of a TimeSpan, as .NET writes it into XML ([MS-NRBF] 2.1.1.4)."""
    seconds, fraction = divmod(abs(ticks), TICKS_PER_SECOND)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    date = f"{days}D" if days else ""
    time = f"{hours}H" if hours else ""
    time += f"{minutes}M" if minutes else ""
    if seconds or fraction or not (date or time):
        time += f"{seconds}{_fraction(fraction)}S"
    return ("-" if ticks < 0 else "") + "P" + date + ("T" + time if time else "")


def decimal_text(mantissa: int, scale: int, *, negative: bool) -> str:
    """A Decimal with all its digits: `mantissa` with the point `scale` digits from the right."""
    digits = str(mantissa).rjust(scale + 1, "0")
    point = len(digits) - scale
    whole = digits[:point] + ("." + digits[point:] if scale else "")
    return "-" + whole if negative and mantissa else whole


def shortest_single(value: float) -> float:
    """The shortest decimal number that is `value` in single precision: 1.1, not 1.10000002384."""
    exact = _SINGLE.pack(value)
    for digits in (6, 7, 8):
        short = float(f"{value:.{digits}g}")
        if _SINGLE.pack(short) == exact:
            return short
    return float(f"{value:.9g}")


def float_text(value: float) -> str:
    """The shortest text that reads as `value`, as XML Schema spells it ([MC-NBFX] 2.2.3.10)."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return repr(value).removesuffix(".0").upper()


def _fraction(ticks: int) -> str:
    return f".{ticks:07d}".rstrip("0") if ticks else ""
