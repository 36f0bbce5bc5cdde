"""Groups: UserMessages that follow each other in a stream of bytes and differ in little.

A sender with many messages for one queue writes them one after the other. What such messages have
in common is looked at once; what may differ is their body, label and other properties, SentTime,
the identifier, which counts up, the place in a sequence, which follows the one before, and a key
and a signature in a SecurityHeader that is the same otherwise. Any other header ends a group, and
its message is a packet by itself. A property test holds the two ways together.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from struct import Struct
from typing import Final

from openmsmq import limits
from openmsmq.limits import U32_MAX
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeaderStart
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.walk import (
    FLAGS,
    LABEL,
    NAMES,
    ProtectedLayout,
    after_names,
    ends_with_body,
    is_plain,
    u16,
    u32,
)

COUNT_MIN: Final = 4
"Messages below which it takes less to look at each."
_front: Final = Struct("<8xI40xII").unpack_from
"PacketSize, SentTime and MessageID."
_place: Final = Struct("<IQII").unpack_from
"TransactionHeader: flags, TxSequenceID, TxSequenceNumber and the previous one."
_COMMON: Final = slice(12, 52)
"TimeToReachQueue, source, addressee and TimeToBeReceived."
_TH: Final = UserFlags.TH
_DM: Final = UserFlags.DM
_UNUSUAL: Final = UserFlags.MQ | UserFlags.AH | UserFlags.HH | UserFlags.CQ | 0x40
"Headers that are looked at each time, and delivery modes that there are not."
_PRIORITY: Final = BaseFlags.PR


class PacketGroup:
    """Messages of one source to one destination, with equal flags and lifetimes."""

    __slots__ = ("last_number", "layout", "marks", "oldest", "packets", "sizes")

    def __init__(
        self,
        packets: bytes,
        sizes: list[int],
        oldest: int,
        marks: int,
        last_number: int,
        layout: ProtectedLayout | None = None,
    ) -> None:
        self.packets = packets
        "One after the other."
        self.sizes = sizes
        self.oldest = oldest
        "The least SentTime."
        self.marks = marks
        "TransactionHeader.Flags of all of them together; 0 outside transactions."
        self.last_number = last_number
        "TxSequenceNumber of the last; 0 outside transactions."
        self.layout = layout
        "Where each has its key and signature; None without a SecurityHeader."

    @property
    def first(self) -> bytes:
        """The first packet."""
        return self.packets[: self.sizes[0]]

    @property
    def last(self) -> bytes:
        """The last packet."""
        return self.packets[-self.sizes[-1] :]

    def split(self) -> list[bytes]:
        """The packets."""
        packets, ends = self.packets, [0, *accumulate(self.sizes)]
        return [packets[start:end] for start, end in pairwise(ends)]


class _Pattern:
    """What the messages of a group have in common, and how far its sequence has come."""

    __slots__ = (
        "_asked",
        "_common",
        "_front",
        "_head",
        "_names",
        "_names_end",
        "_properties",
        "_rest",
        "_sequence",
        "_size",
        "is_transactional",
        "last_number",
        "layout",
        "marks",
    )

    def __init__(self, first: bytes, flags: int) -> None:
        self._size = len(first)
        self._head, self._common = first[:8], first[_COMMON]
        self._front = first[: _COMMON.stop]
        "What those of equal size begin with."
        self._names_end = properties = after_names(first, flags)
        self._names = first[FLAGS:properties]
        self.is_transactional = bool(flags & _TH)
        self.marks = self.last_number = self._sequence = 0
        if self.is_transactional:
            self.marks, self._sequence, self.last_number, _ = _place(first, properties)
            properties += TransactionHeaderStart.SIZE
        self.layout = ProtectedLayout(first) if flags & UserFlags.SH else None
        if self.layout is not None:
            properties = self.layout.properties
        self._properties = properties
        self._asked = first[properties]
        "The acknowledgements that are asked for."
        self._rest = first[properties : properties + LABEL + 2 * first[properties + 1]]
        "All other properties, and the label."

    def fits(self, data: bytes | bytearray, at: int, size: int) -> bool:
        """Whether the packet at a place is like the first."""
        starts, properties, layout = data.startswith, self._properties, self.layout
        if not starts(self._names, at + FLAGS):
            return False
        if layout is not None and not layout.fits(data, at):
            return False
        if starts(self._front, at):
            if starts(self._rest, at + properties):
                return True
        elif not (starts(self._common, at + _COMMON.start) and starts(self._head, at)):
            return False
        if not properties + LABEL <= size <= limits.PACKET_SIZE_MAX:
            return False
        one = bytes(data[at : at + size])
        return one[properties] == self._asked and ends_with_body(one, properties, size)

    def follows(self, data: bytes | bytearray, at: int) -> bool:
        """Whether it is the next of the same sequence, and if so, count it."""
        mark, sequence, number, previous = _place(data, at + self._names_end)
        is_next = sequence == self._sequence and previous == self.last_number < number
        if not is_next or mark & TransactionFlags.CG:
            return False
        self.marks |= mark
        self.last_number = number
        return True


def group_at(data: bytes | bytearray, start: int) -> PacketGroup | None:
    """The group that begins with the whole packet at a place; None if it is no group."""
    pattern = _pattern_at(data, start)
    if pattern is None:
        return None
    end = len(data)
    size, oldest, number = _front(data, start)
    sizes, at = [size], start + size
    while at + NAMES <= end:
        size, sent, following = _front(data, at)
        if following != number + 1 or at + size > end or not pattern.fits(data, at, size):
            break
        if pattern.is_transactional and not pattern.follows(data, at):
            break
        oldest = min(oldest, sent)
        sizes.append(size)
        number = following
        at += size
    if len(sizes) < COUNT_MIN or number == U32_MAX:
        return None
    packets = bytes(data[start:at])
    return PacketGroup(packets, sizes, oldest, pattern.marks, pattern.last_number, pattern.layout)


def _pattern_at(data: bytes | bytearray, start: int) -> _Pattern | None:
    """What a group may have in common that begins at a place; None if none can."""
    size, _, number = _front(data, start) if len(data) - start >= NAMES else (0, 0, 0)
    at = start + size
    if size < NAMES or at + NAMES > len(data) or _front(data, at)[2] != number + 1:
        return None
    if data[start + 12 : start + 52] != data[at + 12 : at + 52]:
        return None
    first = bytes(data[start:at])
    base, flags = u16(first, 2)[0], u32(first, FLAGS)[0]
    if base & ~_PRIORITY or flags & _UNUSUAL or not is_plain(first):
        return None
    if not (flags & _DM if flags & _TH else base):
        return None  # it cannot be, or may be an OrderAck or FinalAck
    pattern = _Pattern(first, flags)
    is_odd = pattern.is_transactional and not pattern.last_number
    return None if is_odd or pattern.marks & TransactionFlags.CG else pattern
