"""Many messages in one piece of memory, and where each of their parts begins."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from struct import error as StructError
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.packet.headers.base import BaseFlags, BaseHeader
from openmsmq.packet.headers.security import SecurityHeaderStart
from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeaderStart
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.walk import (
    DIRECT,
    EXTENSION_SIZE,
    FLAGS,
    LABEL,
    NAMES,
    SIZES,
    after_names,
    after_transaction,
    u32,
)
from openmsmq.spark.slices import (
    Kind,
    Numbers,
    Places,
    Records,
    common,
    field,
    records,
    slices,
)

_PACKET_SIZE: Final = BaseHeader.offset_of("PacketSize")
ENOUGH: Final = 1 << 20
"Bytes of messages of which blocks are made, if no frame has more."
_NAME_SIZES: Final = np.array([0, 0, 4, 4, 4, 16, 20, 0], np.int64)
_SECURITY_SIZES: Final[tuple[tuple[Kind, int], ...]] = (
    ("H", 2),
    ("H", 4),
    ("H", 6),
    ("I", 8),
    ("I", 12),
)


class Facts:
    """What only the queue knows of messages; nothing, if they come from none."""

    def __init__(self, found: Sequence[QueuedSlice], count: int) -> None:
        known = np.array([one[:6] for one in found] or [(0, 0, 0, 0, 0, count)], np.int64)
        self._known = known
        self._counts = counts = known[:, 5]
        firsts = np.repeat(known[:, 0] - np.cumsum(counts) + counts, counts)
        self.lookups = firsts + np.arange(count)
        "The lookup identifier of each."

    def _each(self, place: int) -> Places:
        return np.repeat(self._known[:, place], self._counts)

    @property
    def arrived(self) -> Places:
        """Seconds since 1970."""
        return self._each(1)

    @property
    def aborts(self) -> Places:
        """How often each was received by a transaction that was aborted."""
        return self._each(2)

    @property
    def moves(self) -> Places:
        """How often each was moved."""
        return self._each(3)

    @property
    def reasons(self) -> Places:
        """The class that the queue gave it; 0 if none."""
        return self._each(4)


class Front(NamedTuple):
    """What packets begin with that all have the same parts, and the same names."""

    rows: Records
    "All before the label."
    names: int
    "Where the names and ConnectorType end."
    properties: int
    "Where the MessagePropertiesHeader begins."


class Block:
    """Packets that were checked before they came here, as bytes."""

    def __init__(
        self, data: pa.Buffer, starts: Places, sizes: Places, found: Sequence[QueuedSlice] = ()
    ) -> None:
        self.data = data
        self.starts = starts
        self.sizes = sizes
        self._found = found

    @classmethod
    def of_slices(cls, found: Sequence[QueuedSlice]) -> Block:
        """Messages as they lie together; those of one frame stay where they are."""
        data, bases = _together(found)
        starts, sizes = array("q"), array("q")
        for one, base in zip(found, bases, strict=True):
            first = base + one.start
            if one.messages == 1:
                starts.append(first)
                sizes.append(one.size)
                continue
            own = _packet_sizes(one)
            sizes.frombytes(own.tobytes())
            starts.frombytes((np.cumsum(own) - own + first).tobytes())
        return cls(data, np.frombuffer(starts, np.int64), np.frombuffer(sizes, np.int64), found)

    @classmethod
    def of_packets(cls, packets: Iterable[bytes]) -> Block:
        """Packets of which nothing else is known."""
        found = list(packets)
        sizes = np.fromiter(map(len, found), np.int64, len(found))
        return cls(pa.py_buffer(b"".join(found)), np.cumsum(sizes) - sizes, sizes)

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def facts(self) -> Facts:
        """What only the queue knows."""
        return Facts(self._found, len(self))

    @property
    def lookups(self) -> Places:
        """The lookup identifier of each."""
        return self.facts.lookups

    @cached_property
    def front(self) -> Front | None:
        """All before the labels, if all messages have the same parts and names; None if not.

        Those of one sender mostly have, and then it takes one step to find what all columns need.
        """
        if not len(self):
            return None
        first = self.data.slice(int(self.starts[0]), int(self.sizes[0])).to_pybytes()
        try:
            flags = u32(first, FLAGS)[0]
            names = after_names(first, flags)
            end = after_transaction(first, flags, names)
        except StructError:
            return None
        if flags & UserFlags.SH:
            return None
        if self.starts.max() + end + LABEL > self.data.size:
            return None  # the last one has other parts
        rows = records(self.data, self.starts, end + LABEL)
        if common(rows[:, FLAGS:names]) is None:
            return None
        if end > names and np.ptp(rows[:, names] & np.uint8(TransactionFlags.CG)):
            return None
        return Front(rows, names, end)

    @cached_property
    def head(self) -> Records:
        """The BaseHeader and the start of the UserHeader of each, 64 bytes."""
        if self.front is not None:
            return self.front.rows[:, :NAMES]
        return records(self.data, self.starts, NAMES)

    @cached_property
    def flags(self) -> Numbers:
        """UserHeader.Flags."""
        return field(self.head, "I", FLAGS)

    @cached_property
    def distinct_flags(self) -> list[int]:
        """The same, each once: they say what there is to look at."""
        flags = self.flags
        if self.front is not None:
            return [int(flags[0])]
        if len(flags) and (flags == flags[0]).all():
            return [int(flags[0])]
        found: list[int] = np.unique(flags).tolist()
        return found

    def any_has(self, bits: int) -> bool:
        """Whether any message has one of these bits in its flags."""
        return any(flags & bits for flags in self.distinct_flags)

    def has(self, bits: int) -> npt.NDArray[np.bool_]:
        """Which messages have one of these bits in their flags."""
        found: npt.NDArray[np.bool_] = (self.flags & np.uint32(bits)) != 0
        return found

    @cached_property
    def after_names(self) -> Places:
        """Where the names and ConnectorType end ([MS-MQMQ] 2.2.19.2)."""
        if self.front is not None:
            return self.starts + self.front.names
        place = self.starts + NAMES
        for shift, bits in ((10, UserFlags.DQ), (13, UserFlags.AQ), (16, UserFlags.RQ)):
            if self.any_has(bits):
                place = place + self._name_size(place, shift)
        return self._plus(place, UserFlags.CQ, 16)

    def _name_size(self, place: Places, shift: int) -> Places:
        codes = self.flags >> np.uint32(shift) & np.uint32(7)
        is_direct = codes == DIRECT
        sizes: Places = _NAME_SIZES[codes]
        if is_direct.any():
            count = field(records(self.data, place[is_direct], 2), "H", 0)
            sizes[is_direct] = _round_up(count.astype(np.int64) + 2)
        return sizes

    def _plus(self, place: Places, bits: int, size: Places | int) -> Places:
        """`place`, moved on where one of the bits is set."""
        return place + self.has(bits) * size if self.any_has(bits) else place

    @cached_property
    def security(self) -> Places:
        """Where the SecurityHeader begins, if there is one ([MS-MQMQ] 2.2.20.5)."""
        place = self.after_names
        if not self.any_has(UserFlags.TH):
            return place
        flags = field(records(self.data, place, 4), "I", 0)
        connector = (flags & np.uint32(TransactionFlags.CG)).astype(np.int64)
        size = connector * 16 + TransactionHeaderStart.SIZE
        return self._plus(place, UserFlags.TH, size)

    @cached_property
    def properties(self) -> Places:
        """Where the MessagePropertiesHeader begins ([MS-MQMQ] 2.2.20.6)."""
        if self.front is not None:
            return self.starts + self.front.properties
        place = self.security
        if not self.any_has(UserFlags.SH):
            return place
        start = records(self.data, place, SecurityHeaderStart.SIZE)
        total = np.full(len(self), SecurityHeaderStart.SIZE, np.int64)
        for kind, offset in _SECURITY_SIZES:
            total += _round_up(field(start, kind, offset).astype(np.int64))
        return self._plus(place, UserFlags.SH, total)

    @cached_property
    def record(self) -> Records:
        """The fixed part of the MessagePropertiesHeader of each, 56 bytes."""
        if self.front is not None:
            return self.front.rows[:, self.front.properties :]
        return records(self.data, self.properties, LABEL)

    def property_field(self, kind: Kind, offset: int) -> Numbers:
        """A number of the MessagePropertiesHeader."""
        return field(self.record, kind, offset)

    @cached_property
    def label_units(self) -> Places:
        """Units of the label, with its null."""
        return self.property_field("B", 1).astype(np.int64)

    @cached_property
    def extension_sizes(self) -> Places:
        """Bytes of the extension."""
        return self.property_field("I", EXTENSION_SIZE).astype(np.int64)

    @cached_property
    def extension_starts(self) -> Places:
        """Where the extension begins."""
        return self.properties + LABEL + self.label_units * 2

    @cached_property
    def extensions(self) -> pa.BinaryArray:
        """The extension of each."""
        return slices(self.data, self.extension_starts, self.extension_sizes)

    @cached_property
    def bodies(self) -> pa.BinaryArray:
        """The body of each."""
        start = self.extension_starts + self.extension_sizes
        return slices(self.data, start, self.property_field("I", SIZES).astype(np.int64))

    @cached_property
    def packets(self) -> pa.BinaryArray:
        """Each whole packet, as it travels."""
        return slices(self.data, self.starts, self.packet_sizes)

    @cached_property
    def packet_sizes(self) -> Places:
        """How long each packet is as it travels, with a SessionHeader (see `split_stored`)."""
        size = field(self.head, "I", _PACKET_SIZE).astype(np.int64)
        flags = field(self.head, "H", BaseHeader.offset_of("Flags"))
        return np.where(flags & np.uint16(BaseFlags.SH), self.sizes, size)

    @cached_property
    def trailers(self) -> pa.BinaryArray:
        """What its manager keeps behind each packet, mostly nothing ([MS-MQRR] 2.2.5)."""
        return slices(self.data, self.starts + self.packet_sizes, self.sizes - self.packet_sizes)


class QueueBlock(NamedTuple):
    """Messages of one or several queues."""

    block: Block
    queues: Sequence[tuple[str, int]]
    "The names of the queues, and how many of the messages are of each, in this order."


def gathered(found: Iterable[tuple[str, Sequence[QueuedSlice]]]) -> Iterator[QueueBlock]:
    """What was read of queues, in blocks: columns of one message take as long as those of many."""
    parts: list[QueuedSlice] = []
    queues: list[tuple[str, int]] = []
    size = 0
    for name, more in found:
        own = sum([one.size for one in more])
        if parts and size + own > ENOUGH:
            yield QueueBlock(Block.of_slices(parts), queues)
            parts, queues, size = [], [], 0
        parts += more
        queues.append((name, sum([one.messages for one in more])))
        size += own
    if parts:
        yield QueueBlock(Block.of_slices(parts), queues)


def _together(found: Sequence[QueuedSlice]) -> tuple[pa.Buffer, list[int]]:
    """The bytes that hold all slices in rising order, and where the data of each begins in them."""
    parts: list[bytes] = []
    bases: list[int] = []
    total = end = 0
    for one in found:
        if not parts or one.data is not parts[-1] or one.start < end:
            parts.append(one.data)
            total += len(one.data)
        end = one.start + one.size
        bases.append(total - len(one.data))
    return pa.py_buffer(b"".join(parts)), bases


def _packet_sizes(one: QueuedSlice) -> Places:
    """How long each packet of a slice is; `Malformed` if their number is another."""
    count, size = one.messages, one.size
    if size % count == 0:
        stride, place = size // count, one.start + _PACKET_SIZE
        own: Numbers = np.ndarray((count,), "<u4", one.data, place, (stride,))
        if (own == stride).all():
            return own.astype(np.int64)
    return np.array(one.packet_sizes(), np.int64)


def _round_up(sizes: Places) -> Places:
    """The next multiple of 4."""
    return sizes + 3 & ~3
