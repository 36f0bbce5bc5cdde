"""Payloads about slices of runs, for both sides that know the capability `runs`.

They stand beside those of `payloads` for single messages; packets are as the store keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, pairwise
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
    data: bytes
    "Has their packets, one after the other, and perhaps more."
    start: int = 0
    "Where they begin."
    end: int = -1
    "Where they end; -1 at the end of it."

    @property
    def size(self) -> int:
        """Bytes of the packets."""
        return (len(self.data) if self.end < 0 else self.end) - self.start

    @property
    def packets(self) -> bytes:
        """The packets alone."""
        return self.data[self.start : self.start + self.size]

    def packet_sizes(self) -> list[int]:
        """Bytes of each packet; `Malformed` if their number is another."""
        data, count = self.data, self.messages
        if count == 1:  # it may have more behind its packet
            return [self.size]
        found: list[int] = []
        add, size_at = found.append, _SIZE
        end = self.start
        with suppress(StructError):
            for _ in range(count):
                size = size_at(data, end + _PACKET_SIZE)[0]
                add(size)
                end += size
        if len(found) != count or end != self.start + self.size or 0 in found:
            raise Malformed("packets", 0, f"are not the {count} of a slice")
        return found

    def bounds(self) -> Sequence[int]:
        """Where each packet begins, and where the last ends; `Malformed` as for their sizes."""
        start, count = self.start, self.messages
        stride, rest = divmod(self.size, count)
        if count > 1 and stride and not rest and self._have_size(stride):
            return range(start, start + self.size + 1, stride)
        return list(accumulate(self.packet_sizes(), initial=start))

    def _have_size(self, size: int) -> bool:
        """Whether all packets say that they have this size: a column for each byte of it."""
        first, end = self.start + _PACKET_SIZE, self.start + self.size
        columns = enumerate(size.to_bytes(4, "little"), first)
        return all(
            [self.data[at:end:size] == bytes((byte,)) * self.messages for at, byte in columns]
        )

    def up_to(self, last: int) -> QueuedSlice:
        """Those whose lookup identifiers are not beyond `last`, of which there is at least one."""
        count = last - self.lookup_id + 1
        if count >= self.messages:
            return self
        return self._replace(messages=count, end=self.bounds()[count])

    def split(self) -> list[bytes]:
        """Their packets; `Malformed` if their number is another."""
        return [self.data[start:end] for start, end in pairwise(self.bounds())]


slice_start: Final = _SLICE.pack
"What stands before the packets of a slice: lookup identifier to class, size, count."


@dataclass(frozen=True, slots=True)
class Slices:
    """SLICES and DELIVERED_SLICES: messages that were read."""

    slices: tuple[QueuedSlice, ...]

    def encode(self) -> bytes:
        """The bytes of the payload."""
        parts = [count_of(len(self.slices))]
        for one in self.slices:
            parts += slice_start(*one[:5], one.size, one.messages), one.packets
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
                start = reader.need(size, "packets")
                place = reader.data, start, start + size
                found.append(QueuedSlice._make((*known[:5], count, *place)))
        return cls(tuple(found))
