"""Many messages in one piece of memory, and where each of their parts begins."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from struct import Struct
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.packet.headers.base import BaseFlags, BaseHeader
from openmsmq.packet.headers.security import SecurityHeaderStart
from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeaderStart
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.walk import DIRECT, EXTENSION_SIZE, FLAGS, LABEL, NAMES, SIZES
from openmsmq.spark.slices import Kind, field, integers, records, slices

FACTS: Final = 24
"Bytes before each packet that hold what only the queue knows: see `app.messages.QueuedMessage`."
_number: Final = Struct("<I").pack
_known: Final = Struct("<IIIHxx").pack
_fact: Final = Struct("<qIIIHxx").pack
_two: Final = Struct("<qq").unpack
_PACKET_SIZE: Final = BaseHeader.offset_of("PacketSize")
_NAME_SIZES: Final = integers(array("i", [0, 0, 4, 4, 4, 16, 20, 0]))
"Made without `pyarrow.array`, which imports pandas: half a second in every worker that only plans."
_SECURITY_SIZES: Final[tuple[tuple[Kind, int], ...]] = (
    ("H", 2),
    ("H", 4),
    ("H", 6),
    ("I", 8),
    ("I", 12),
)


class Block:
    """Packets that were checked before they came here, as bytes."""

    def __init__(
        self, data: pa.Buffer, starts: pa.Array, sizes: pa.Array, facts: pa.Buffer
    ) -> None:
        self.data = data
        self.starts = starts
        self.sizes = sizes
        self.facts = facts
        "What only the queue knows, 24 bytes for each."

    @classmethod
    def of_slices(cls, found: Sequence[QueuedSlice]) -> Block:
        """Messages as they lie together; most are in large slices with packets of one size."""
        starts, sizes, facts = array("i"), array("i"), bytearray()
        start = 0
        for one in found:
            if one.messages == 1:
                starts.append(start)
                sizes.append(len(one.packets))
                facts += _fact(*one[:5])
                start += len(one.packets)
                continue
            own = _packet_sizes(one)
            starts.extend(accumulate(own[:-1], initial=start))
            sizes.extend(own)
            facts += _facts_of(one)
            start += len(one.packets)
        data = pa.py_buffer(b"".join([one.packets for one in found]))
        return cls(data, integers(starts), integers(sizes), pa.py_buffer(bytes(facts)))

    @classmethod
    def of_packets(cls, packets: Iterable[bytes]) -> Block:
        """Packets of which nothing else is known."""
        found = list(packets)
        sizes = array("i", map(len, found))
        starts = array("i", accumulate(sizes[:-1], initial=0) if found else ())
        facts = pa.py_buffer(bytes(FACTS * len(found)))
        return cls(pa.py_buffer(b"".join(found)), integers(starts), integers(sizes), facts)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lookups(self) -> pa.Int64Array:
        """The lookup identifier of each."""
        return field(self.facts, "q", 0, FACTS)

    @property
    def last(self) -> int:
        """The lookup identifier of the last one."""
        found: int = self.lookups[-1].as_py()
        return found

    def up_to(self, last: int) -> Block:
        """Those whose lookup identifiers, which must rise, are not beyond `last`."""
        if self.last <= last:
            return self
        count = pc.sum(pc.less_equal(self.lookups, pa.scalar(last, pa.int64()))).as_py()
        starts, sizes = self.starts.slice(0, count), self.sizes.slice(0, count)
        return Block(self.data, starts, sizes, self.facts.slice(0, FACTS * count))

    @cached_property
    def head(self) -> pa.Buffer:
        """The BaseHeader and the start of the UserHeader of each, 64 bytes."""
        return records(self.data, self.starts, NAMES)

    @cached_property
    def flags(self) -> pa.UInt32Array:
        """UserHeader.Flags."""
        return field(self.head, "I", FLAGS, NAMES)

    @cached_property
    def distinct_flags(self) -> list[int]:
        """The same, each once: they say what there is to look at."""
        found: list[int] = pc.unique(self.flags).to_pylist()
        return found

    def any_has(self, bits: int) -> bool:
        """Whether any message has one of these bits in its flags."""
        return any(flags & bits for flags in self.distinct_flags)

    def has(self, bits: int) -> pa.BooleanArray:
        """Which messages have one of these bits in their flags."""
        return pc.not_equal(pc.bit_wise_and(self.flags, _u32(bits)), _u32(0))

    @cached_property
    def after_names(self) -> pa.Array:
        """Where the names and ConnectorType end ([MS-MQMQ] 2.2.19.2)."""
        place = pc.add(self.starts, _i32(NAMES))
        for shift, bits in ((10, UserFlags.DQ), (13, UserFlags.AQ), (16, UserFlags.RQ)):
            if self.any_has(bits):
                place = pc.add(place, self._name_size(place, shift))
        return self._plus(place, UserFlags.CQ, 16)

    def _name_size(self, place: pa.Array, shift: int) -> pa.Array:
        codes = pc.bit_wise_and(pc.shift_right(self.flags, _u32(shift)), _u32(7))
        count = field(records(self.data, place, 2), "H", 0, 2).cast(pa.int32())
        direct = _round_up(pc.add(count, _i32(2)))
        if all(flags >> shift & 7 == DIRECT for flags in self.distinct_flags):
            return direct
        return pc.if_else(pc.equal(codes, _u32(DIRECT)), direct, _NAME_SIZES.take(codes))

    def _plus(self, place: pa.Array, bits: int, size: pa.Array | int) -> pa.Array:
        """`place`, moved on where one of the bits is set."""
        if not self.any_has(bits):
            return place
        amount = _i32(size) if isinstance(size, int) else size
        return pc.add(place, pc.if_else(self.has(bits), amount, _i32(0)))

    @cached_property
    def security(self) -> pa.Array:
        """Where the SecurityHeader begins, if there is one ([MS-MQMQ] 2.2.20.5)."""
        place = self.after_names
        if not self.any_has(UserFlags.TH):
            return place
        flags = field(records(self.data, place, 4), "I", 0, 4)
        connector = pc.bit_wise_and(flags, _u32(TransactionFlags.CG)).cast(pa.int32())
        size = pc.add(pc.multiply(connector, _i32(16)), _i32(TransactionHeaderStart.SIZE))
        return self._plus(place, UserFlags.TH, size)

    @cached_property
    def properties(self) -> pa.Array:
        """Where the MessagePropertiesHeader begins ([MS-MQMQ] 2.2.20.6)."""
        place = self.security
        if not self.any_has(UserFlags.SH):
            return place
        start = records(self.data, place, SecurityHeaderStart.SIZE)
        total = _i32(SecurityHeaderStart.SIZE)
        for kind, offset in _SECURITY_SIZES:
            size = field(start, kind, offset, SecurityHeaderStart.SIZE).view(_SIGNED[kind])
            total = pc.add(total, _round_up(size.cast(pa.int32())))
        return self._plus(place, UserFlags.SH, total)

    @cached_property
    def record(self) -> pa.Buffer:
        """The fixed part of the MessagePropertiesHeader of each, 56 bytes."""
        return records(self.data, self.properties, LABEL)

    def property_field(self, kind: Kind, offset: int) -> pa.Array:
        """A number of the MessagePropertiesHeader."""
        return field(self.record, kind, offset, LABEL)

    @cached_property
    def label_units(self) -> pa.Array:
        """Units of the label, with its null."""
        return self.property_field("B", 1).cast(pa.int32())

    @cached_property
    def extension_sizes(self) -> pa.Array:
        """Bytes of the extension."""
        return self.property_field("i", EXTENSION_SIZE)

    @cached_property
    def extension_starts(self) -> pa.Array:
        """Where the extension begins."""
        labels = pc.multiply(self.label_units, _i32(2))
        return pc.add(pc.add(self.properties, _i32(LABEL)), labels)

    @cached_property
    def extensions(self) -> pa.BinaryArray:
        """The extension of each."""
        return slices(self.data, self.extension_starts, self.extension_sizes)

    @cached_property
    def bodies(self) -> pa.BinaryArray:
        """The body of each."""
        start = pc.add(self.extension_starts, self.extension_sizes)
        return slices(self.data, start, self.property_field("i", SIZES))

    @cached_property
    def packets(self) -> pa.BinaryArray:
        """Each whole packet, as it travels."""
        return slices(self.data, self.starts, self.packet_sizes)

    @cached_property
    def packet_sizes(self) -> pa.Int32Array:
        """How long each packet is as it travels, with a SessionHeader (see `split_stored`)."""
        size = field(self.head, "I", BaseHeader.offset_of("PacketSize"), NAMES).view(pa.int32())
        flags = field(self.head, "H", BaseHeader.offset_of("Flags"), NAMES)
        bit = pc.bit_wise_and(flags, pa.scalar(int(BaseFlags.SH), pa.uint16()))
        return pc.if_else(pc.equal(bit, pa.scalar(0, pa.uint16())), size, self.sizes)

    @cached_property
    def trailers(self) -> pa.BinaryArray:
        """What its manager keeps behind each packet, mostly nothing ([MS-MQRR] 2.2.5)."""
        ends = pc.add(self.starts, self.packet_sizes)
        return slices(self.data, ends, pc.subtract(self.sizes, self.packet_sizes))


def _packet_sizes(one: QueuedSlice) -> array[int]:
    """How long each packet of a slice is; `Malformed` if their number is another."""
    packets, count = one.packets, one.messages
    if count > 1 and len(packets) % count == 0:
        size, words = len(packets) // count, memoryview(packets)
        if not size % 4:
            own = words.cast("I")[_PACKET_SIZE // 4 :: size // 4].tobytes()
            if own == _number(size) * count:
                return array("i", [size]) * count
    return array("i", map(len, one.split()))


def _facts_of(one: QueuedSlice) -> bytes:
    """What the queue knows of each message: the same but for the lookup identifiers."""
    count = one.messages
    first, second = _rest(one.arrived, one.abort_count, one.move_count, one.message_class)
    words = array("q", [0, first, second]) * count
    memoryview(words)[::3] = array("q", range(one.lookup_id, one.lookup_id + count))
    return words.tobytes()


def _rest(*facts: int) -> tuple[int, int]:
    found: tuple[int, int] = _two(_known(*facts))
    return found


_SIGNED: Final = {"H": pa.uint16(), "I": pa.int32()}


def _round_up(sizes: pa.Array) -> pa.Array:
    """The next multiple of 4."""
    return pc.bit_wise_and(pc.add(sizes, _i32(3)), _i32(~3))


def _i32(value: int) -> pa.Int32Scalar:
    return pa.scalar(value, pa.int32())


def _u32(value: int) -> pa.UInt32Scalar:
    return pa.scalar(int(value), pa.uint32())
