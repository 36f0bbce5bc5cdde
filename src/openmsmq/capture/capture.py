"""Reading captures: the frames in a pcap or pcapng file of any program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

from openmsmq.capture.limits import BLOCK_SIZE_MAX, FRAME_SIZE_MAX, INTERFACES_MAX
from openmsmq.errors import Malformed

SECOND: Final = 1_000_000_000
_PCAP: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"How a pcap file begins: the order of its bytes, and nanoseconds in the unit of its fractions."
_SECTION: Final = b"\x0a\x0d\x0d\x0a"
"How a pcapng file, and each section of it, begins."
_ORDERS: Final = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_INTERFACE, _PACKET, _SIMPLE, _ENHANCED = 1, 2, 3, 6
_BLOCK_FRAME: Final = 12
"Bytes of a block around its content: type, and its length twice."
_RESOLUTION, _OFFSET = 9, 14


@dataclass(frozen=True, slots=True)
class CapturedFrame:
    """What went over a link at one moment, as far as it was captured."""

    time: int
    "Nanoseconds since 1970 UTC; 0 where the file does not tell."
    link: int
    "What the data begin with, a LINKTYPE number."
    data: bytes


def is_capture(start: bytes) -> bool:
    """Whether a file that begins with these bytes is a capture."""
    return start[:4] in _PCAP or start[:4] == _SECTION


def read_frames(chunks: Iterable[bytes]) -> Iterator[CapturedFrame]:
    """The frames of a capture whose bytes come in chunks of any size.

    A file that ends within a frame gives those before it, then raises `Malformed`.
    """
    source = _Source(chunks)
    magic = source.take(4, "magic number")
    if magic in _PCAP:
        return _read_pcap(source, *_PCAP[magic])
    if magic == _SECTION:
        return _read_pcapng(source)
    raise Malformed("magic number", 0, "neither a pcap nor a pcapng file")


class _Source:
    """Bytes in chunks, read as one; holds no more than one chunk beyond what is asked for."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._buffer = bytearray()
        self._place = 0
        self.offset = 0
        "Where in the file the next read begins."

    def take(self, size: int, name: str) -> bytes:
        """The next `size` bytes."""
        if not self._has(size):
            left = len(self._buffer) - self._place
            raise Malformed(name, self.offset, f"needs {size} bytes, {left} are left")
        data = bytes(self._buffer[self._place : self._place + size])
        self._place += size
        self.offset += size
        return data

    def at_end(self) -> bool:
        """Whether nothing is left."""
        return not self._has(1)

    def _has(self, size: int) -> bool:
        while len(self._buffer) - self._place < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                return False
            del self._buffer[: self._place]
            self._place = 0
            self._buffer += chunk
        return True


def _read_pcap(source: _Source, order: str, unit: int) -> Iterator[CapturedFrame]:
    *_, network = Struct(f"{order}HHiIII").unpack(source.take(20, "file header"))
    link = network & 0xFFFF
    record = Struct(f"{order}IIII")
    while not source.at_end():
        place = source.offset
        seconds, fraction, size, _ = record.unpack(source.take(record.size, "record header"))
        if size > FRAME_SIZE_MAX:
            raise Malformed("captured length", place + 8, f"is {size}, over {FRAME_SIZE_MAX}")
        yield CapturedFrame(seconds * SECOND + fraction * unit, link, source.take(size, "record"))


@dataclass(frozen=True, slots=True)
class _Interface:
    """Where frames were captured, and how their times are counted."""

    link: int
    snapshot: int
    units: int = 1_000_000
    "Of time in a second."
    shift: int = 0
    "Seconds to be added."

    def time(self, high: int, low: int) -> int:
        return max(0, (high << 32 | low) * SECOND // self.units + self.shift * SECOND)


def _read_pcapng(source: _Source) -> Iterator[CapturedFrame]:
    """The frames in all sections; the magic number of the first has been read."""
    order, interfaces = _read_section(source), list[_Interface]()
    while not source.at_end():
        start = source.take(4, "block type")
        if start == _SECTION:
            order, interfaces = _read_section(source), []
            continue
        place = source.offset + 4
        content = _read_content(source, order)
        kind = int.from_bytes(start, "little" if order == "<" else "big")
        if kind == _INTERFACE:
            interfaces.append(_read_interface(content, order, place))
            if len(interfaces) > INTERFACES_MAX:
                raise Malformed("interface", place, f"there are over {INTERFACES_MAX}")
        elif kind in (_PACKET, _SIMPLE, _ENHANCED):
            yield _read_block(kind, content, order, interfaces, place)


def _read_section(source: _Source) -> str:
    """The order of bytes in a section, whose first four bytes have been read."""
    place = source.offset
    length, mark = source.take(4, "section length"), source.take(4, "byte order")
    order = _ORDERS.get(mark)
    if order is None:
        raise Malformed("byte order", place + 4, "is unknown")
    size = _block_size(length, order, place)
    rest = source.take(size - 12, "section")
    if rest[-4:] != length:
        raise Malformed("section length", place, "is not what its end says")
    return order


def _read_content(source: _Source, order: str) -> bytes:
    """What is in a block, whose type has been read."""
    place = source.offset
    length = source.take(4, "block length")
    rest = source.take(_block_size(length, order, place) - 8, "block")
    if rest[-4:] != length:
        raise Malformed("block length", place, "is not what its end says")
    return rest[:-4]


def _block_size(length: bytes, order: str, place: int) -> int:
    size = int.from_bytes(length, "little" if order == "<" else "big")
    if size % 4 or not _BLOCK_FRAME <= size <= BLOCK_SIZE_MAX:
        raise Malformed("block length", place, f"is {size}")
    return size


def _read_interface(content: bytes, order: str, place: int) -> _Interface:
    if len(content) < 8:
        raise Malformed("interface", place, f"needs 8 bytes, {len(content)} are left")
    link, _, snapshot = Struct(f"{order}HHI").unpack_from(content)
    units, shift = 1_000_000, 0
    option = Struct(f"{order}HH")
    place = 8
    while place + option.size <= len(content):
        code, size = option.unpack_from(content, place)
        value = content[place + option.size : place + option.size + size]
        if code == _RESOLUTION and size == 1 and value:
            power = value[0] & 0x7F
            units = 1 << power if value[0] & 0x80 else 10**power
        elif code == _OFFSET and len(value) == 8:
            shift = Struct(f"{order}q").unpack(value)[0]
        place += option.size + (size + 3 & ~3)
    return _Interface(link, snapshot, units, shift)


def _read_block(
    kind: int, content: bytes, order: str, interfaces: list[_Interface], place: int
) -> CapturedFrame:
    """The frame in a block of one of the three kinds that hold one."""
    layout = Struct(order + {_PACKET: "HHIIII", _SIMPLE: "I", _ENHANCED: "IIIII"}[kind])
    if len(content) < layout.size:
        raise Malformed("block", place, f"needs {layout.size} bytes, {len(content)} are left")
    fields = layout.unpack_from(content)
    number = 0 if kind == _SIMPLE else fields[0]
    if number >= len(interfaces):
        raise Malformed("interface", place, f"{number} was not described")
    interface = interfaces[number]
    if kind == _SIMPLE:
        size = min(fields[0], interface.snapshot or fields[0], len(content) - layout.size)
        time = 0
    else:
        high, low, size, _ = fields[-4:]
        time = interface.time(high, low)
    if size > min(len(content) - layout.size, FRAME_SIZE_MAX):
        raise Malformed("captured length", place, f"is {size}, more than the block holds")
    return CapturedFrame(time, interface.link, content[layout.size : layout.size + size])
