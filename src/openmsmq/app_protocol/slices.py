"""Payloads about slices of runs, for both sides that know the capability `runs`.

They stand beside those of `payloads` for single messages; packets are as the store keeps them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple, Self

from openmsmq.app_protocol.payloads import (
    END_HEAD,
    PACKET_SIZE_MIN,
    SEND_HEAD,
    count_of,
    read_end_head,
)
from openmsmq.errors import Malformed
from openmsmq.limits import U64_MAX
from openmsmq.types.lookup import Range
from openmsmq.wire.reader import Reader, decode_whole

_SIZE: Final = Struct("<I").unpack_from
_SLICE: Final = Struct("<QIIIHII")
_RANGE: Final = Struct("<QI")
_PACKET_SIZE: Final = 8
"Where a packet says how large it is."


@dataclass(frozen=True, slots=True)
class SendRun:
    """SEND_RUN: messages for a queue, one after the other."""

    handle: int
    transaction: int
    "0: none."
    count: int
    packets: bytes

    def parts(self) -> list[bytes]:
        """The bytes of the payload in parts, for `encode_frame`."""
        return [SEND_HEAD.pack(self.handle, self.transaction, self.count), self.packets]

    def encode(self) -> bytes:
        """The bytes of the payload."""
        return b"".join(self.parts())

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload; its packets are not looked into."""
        return decode_whole(payload, cls._read)

    @classmethod
    def _read(cls, reader: Reader) -> Self:
        handle, transaction = reader.u32("handle"), reader.u64("transaction")
        count = reader.u32("count")
        if not 0 < count <= reader.remaining // PACKET_SIZE_MIN:
            reader.fail("count", f"{count} messages do not fit", offset=reader.offset - 4)
        return cls(handle, transaction, count, reader.take(reader.remaining, "packets"))


@dataclass(frozen=True, slots=True)
class EndRanges:
    """END_RANGES: the same for messages with consecutive lookup identifiers."""

    handle: int
    transaction: int
    action: int
    ranges: tuple[Range, ...]

    def encode(self) -> bytes:
        """The bytes of the payload."""
        start = END_HEAD.pack(self.handle, self.transaction, self.action, len(self.ranges))
        each = (_RANGE.pack(first, end - first) for first, end in self.ranges)
        return b"".join((start, *each))

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload."""
        return decode_whole(payload, cls._read)

    @classmethod
    def _read(cls, reader: Reader) -> Self:
        handle, transaction, action, size = read_end_head(reader)
        ranges = []
        for first, count in _RANGE.iter_unpack(reader.take(_RANGE.size * size, "ranges")):
            if not 0 < count <= U64_MAX - first:
                problem = f"{count} messages from {first} on cannot be"
                reader.fail("ranges", problem, offset=END_HEAD.size)
            ranges.append((first, first + count))
        return cls(handle, transaction, action, tuple(ranges))


class QueuedSlice(NamedTuple):
    """Messages with consecutive lookup identifiers, of which the queue knows the same."""

    lookup_id: int
    arrived: int
    abort_count: int
    move_count: int
    message_class: int
    messages: int
    packets: bytes
    "One after the other."

    def split(self) -> list[bytes]:
        """Their packets; `Malformed` if their number is another."""
        packets, count = self.packets, self.messages
        if count == 1:  # it may have more behind its packet
            return [packets]
        found: list[bytes] = []
        add, size = found.append, _SIZE
        end = 0
        with suppress(StructError):
            for _ in range(count):
                start = end
                end += size(packets, start + _PACKET_SIZE)[0] or len(packets)
                add(packets[start:end])
        if len(found) != count or end != len(packets):
            raise Malformed("packets", 0, f"are not the {count} of a slice")
        return found


slice_start: Final = _SLICE.pack
"What stands before the packets of a slice: lookup identifier to class, size, count."


@dataclass(frozen=True, slots=True)
class Slices:
    """SLICES and DELIVERED_SLICES: messages that were read."""

    slices: tuple[QueuedSlice, ...]

    def encode(self) -> bytes:
        """The bytes of the payload."""
        parts = [count_of(len(self.slices))]
        for *fields, messages, packets in self.slices:
            parts += slice_start(*fields, len(packets), messages), packets
        return b"".join(parts)

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload; its packets are not looked into."""
        return decode_whole(payload, cls._read)

    @classmethod
    def _read(cls, reader: Reader) -> Self:
        found = []
        for index in range(reader.u32("count")):
            with reader.section(f"slices[{index}]"):
                known = _SLICE.unpack(reader.take(_SLICE.size, "slice"))
                size, count = known[5:]
                if not 0 < count <= max(1, size // PACKET_SIZE_MIN):
                    reader.fail("count", f"{count} messages do not fit", offset=reader.offset - 4)
                packets = reader.take(size, "packets")
                found.append(QueuedSlice._make((*known[:5], count, packets)))
        return cls(tuple(found))
