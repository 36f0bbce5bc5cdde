"""Stamper: the messages of one SEND, checked and stamped in one go.

It does what the functions of `stamping` do in less than half their time: packets that are sent
together mostly have the same flags and names, which are looked at once. A property test holds the
two together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import accumulate, chain, repeat
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq import limits
from openmsmq.engine.messages.stamp import (
    Destination,
    check_for_sending,
    check_trailer,
    require_room,
    require_same,
    require_signed,
    stamp,
    with_destination,
    with_headers,
)
from openmsmq.limits import U32_MAX
from openmsmq.packet.builder import NO_HEADERS, OptionalHeaders
from openmsmq.packet.columns import SIZE, PacketColumns, numbered_packets
from openmsmq.packet.headers.base import SIGNATURE, VERSION, BaseHeader
from openmsmq.packet.headers.properties import MessagePropertiesStart
from openmsmq.packet.headers.trailer import split_stored
from openmsmq.packet.headers.user import UserFlags, UserHeaderStart
from openmsmq.packet.signed import with_listed_signature
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, LABEL, NAMES, SIZES, USER, after_names, marked, u32
from openmsmq.properties.message import INFINITE, PRIORITY_MAX, PrivacyLevel
from openmsmq.wire.text import NULL_UNIT

_HEAD: Final = Struct(BaseHeader.LAYOUT.format + UserHeaderStart.LAYOUT.format.removeprefix("<"))
"All that stands before the names."
_TAKEN: Final = Struct("<HHIII32xI").unpack_from
"Of the same: version, flags, signature, size, TimeToReachQueue and TimeToBeReceived."
_PROPERTIES: Final = Struct("<BBH28xIII8xI").unpack_from
"Of a MessagePropertiesHeader: flags, label, class, body, its room, privacy and extension."
_REACH: Final = BaseHeader.offset_of("TimeToReachQueue")
_SOURCE: Final = USER + UserHeaderStart.offset_of("SourceQueueManager")
_RECEIVE: Final = USER + UserHeaderStart.offset_of("TimeToBeReceived")
_SENT: Final = USER + UserHeaderStart.offset_of("SentTime")
_MESSAGE_ID: Final = USER + UserHeaderStart.offset_of("MessageID")
_CORRELATION: Final = MessagePropertiesStart.offset_of("CorrelationID")
_U32: Final = Struct("<I").pack


class DeliveryFields(NamedTuple):
    """What decides about the way of a message."""

    priority: int
    time_to_reach_queue: int
    time_to_be_received: int
    flags: int
    "UserHeader.Flags."
    acknowledge: int
    letters: str = ""
    "The path of its own dead-letter queue, if it has one."
    is_private: bool = False
    "Its body is to be encrypted when it leaves."


class Stamped(NamedTuple):
    """Messages ready to be sent that follow each other and go the same way."""

    way: DeliveryFields
    packets: list[bytes]


class StampedRun(NamedTuple):
    """The same one after the other."""

    way: DeliveryFields
    packets: bytes
    sizes: list[int]


class _Front(NamedTuple):
    """What packets begin with after their first fields, and what takes its place."""

    written: bytes
    "UserHeader.Flags and the names as programs wrote them, found to be sound."
    flags: int
    names: bytes
    "With the headers that follow them."


class _Model(NamedTuple):
    """What a packet shares with others of its size, if they are like it, and what becomes of it."""

    size: int
    start: bytes
    "All that is before the MessageID: a program writes the same there as a rule."
    base: bytes
    "What is before the source."
    lifetime: bytes
    "TimeToBeReceived."
    written: bytes
    "From UserHeader.Flags to what is before the correlation identifier."
    sizes: bytes
    "From MessageSize to the end of the fixed fields."
    sizes_at: int
    null: bytes
    "Ends the label."
    null_at: int
    front: bytes
    "Takes the place of all that is before the MessageID."
    names: bytes
    "Takes the place of UserHeader.Flags and the names."
    end: int
    "Where the names ended."

    def is_like(self, packet: bytes) -> bool:
        """Whether a packet differs from the model only in what stays as it is."""
        return (
            len(packet) == self.size
            and packet.startswith(self.base)
            and packet.startswith(self.lifetime, _RECEIVE)
            and packet.startswith(self.written, FLAGS)
            and packet.startswith(self.sizes, self.sizes_at)
            and packet.startswith(self.null, self.null_at)
        )


class Stamper:
    """Stamps the messages that go from one manager to one destination."""

    __slots__ = ("_destination", "_front", "_headers", "_reach", "_source")

    def __init__(
        self,
        source: UUID,
        destination: Destination,
        *,
        headers: OptionalHeaders = NO_HEADERS,
        time_to_reach_queue: int = INFINITE,
    ) -> None:
        """`headers` may have a transaction, several queues or both.

        `time_to_reach_queue` is for messages that do not say.
        """
        self._source = source.bytes_le
        self._destination = destination
        self._headers = headers
        self._reach = time_to_reach_queue
        self._front = _Front(b"", 0, b"")

    def stamp(self, packets: Iterable[bytes], *, first_id: int, sent_time: int) -> list[Stamped]:
        """Messages sent at one moment, their ids counting up from `first_id`, in their order.

        `Malformed` for a packet that may not be sent, `MessageTooLarge` for one that the headers
        make too large.
        """
        found: list[Stamped] = []
        after, join, u32 = self._headers.after_properties, b"".join, _U32
        stamped: list[bytes] = []
        last: DeliveryFields | None = None
        model: _Model | None = None
        size = 0
        for number, packet in enumerate(packets, first_id):
            if model is not None and (
                (
                    len(packet) == model.size
                    and packet.startswith(model.start)
                    and packet.startswith(model.written, FLAGS)
                    and packet.startswith(model.sizes, model.sizes_at)
                    and packet.startswith(model.null, model.null_at)
                )
                or model.is_like(packet)
            ):
                parts = (
                    model.front,
                    u32(number & U32_MAX),
                    model.names,
                    packet[model.end :],
                    after,
                )
                stamped.append(join(parts))
                continue
            whole, way = self.stamp_one(packet, number, sent_time)
            if way != last:
                last, model = way, None  # the model goes another way
                stamped = []
                found.append(Stamped(way, stamped))
            stamped.append(whole)
            if len(packet) == size:  # two in a row: it may pay to know what they have in common
                model = self._model(packet, whole)
            size = len(packet)
        return found

    def stamp_run(
        self, packets: bytes, count: int, *, first_id: int, sent_time: int, mark: int = 0
    ) -> StampedRun | None:
        """The same for packets one after the other, which stay so.

        None if they do not all go the same way or are not plain. `mark` is set in the
        TransactionHeaders that they get.
        """
        size = u32(packets, SIZE)[0] if len(packets) >= NAMES else 0
        first_id &= U32_MAX
        if not size or not count or first_id + count > U32_MAX:
            return None
        first = packets[:size]
        stamped, way = self.stamp_one(first, first_id, sent_time)
        offset = FLAGS + len(self._front.written)
        is_plain = not self._front.flags & UserFlags.SH and _plain(first, offset) is not None
        if not is_plain or self._headers.after_properties:
            return None
        if stamped[FLAGS:] != first[FLAGS:]:
            names = NAMES + len(self._front.names)
            front = marked(stamped, mark)[:names] if mark else stamped[:names]
            return _stamp_anew(packets, count, first, front, offset, first_id, way)
        if size * count == len(packets):
            found = _stamp_columns(packets, count, stamped, offset, first_id, sent_time)
            if found is not None:
                return StampedRun(way, found, [size] * count)
        if stamped[_REACH:_RECEIVE] != first[_REACH:_RECEIVE]:
            front = stamped[: NAMES + len(self._front.names)]
            return _stamp_anew(packets, count, first, front, offset, first_id, way)
        return _stamp_uneven(packets, count, first, offset, first_id, sent_time, way)

    def stamp_one(self, packet: bytes, number: int, sent_time: int) -> tuple[bytes, DeliveryFields]:
        """One message: how it is sent, and its way."""
        written, flags, names = self._front
        if not written or not packet.startswith(written, FLAGS):
            self._front = written, flags, names = self._learn(packet)
        offset = FLAGS + len(written)
        taken = None if flags & UserFlags.SH else _plain(packet, offset)
        if taken is None:
            return self._stamp_closely(packet, number, sent_time)
        headers = self._headers
        _, priority, _, size, reach, receive = taken
        size += len(names) + NAMES - offset + len(headers.after_properties)
        require_room(size)
        if headers.transaction is not None:
            priority = 0
        if reach == INFINITE:
            reach = self._reach
        start = _HEAD.pack(
            VERSION,
            0,
            priority,
            SIGNATURE,
            size,
            reach,
            self._source,
            self._destination.manager,
            receive,
            sent_time,
            number & U32_MAX,
            flags,
        )
        whole = b"".join((start, names, packet[offset:], headers.after_properties))
        return whole, DeliveryFields(priority, reach, receive, flags, packet[offset] & 0x0F)

    def _model(self, packet: bytes, whole: bytes) -> _Model | None:
        """What packets like this one have in common, which was stamped; None if it is special."""
        written, _, names = self._front
        offset = FLAGS + len(written)
        if self._front.flags & UserFlags.SH or _plain(packet, offset) is None:
            return None
        label = packet[offset + 1]
        return _Model(
            len(packet),
            packet[:_MESSAGE_ID],
            packet[:_SOURCE],
            packet[_RECEIVE:_SENT],
            packet[FLAGS : offset + _CORRELATION],
            packet[offset + SIZES : offset + LABEL],
            offset + SIZES,
            NULL_UNIT if label else b"",
            offset + LABEL + 2 * label - 2,
            whole[:_MESSAGE_ID],
            whole[FLAGS : NAMES + len(names)],
            offset,
        )

    def _learn(self, packet: bytes) -> _Front:
        """Look closely at a packet whose front is new."""
        packet = split_stored(packet)[0]
        flags = check_for_sending(packet).flags
        start, end = after_names(packet, flags & UserFlags.DQ), after_names(packet, flags)
        names = self._destination.name + packet[start:end] + self._headers.before_properties
        changed = flags & ~UserFlags.DQ | self._destination.code << 10 | self._headers.flags
        return _Front(packet[FLAGS:end], changed, names)

    def _stamp_closely(
        self, packet: bytes, number: int, sent_time: int
    ) -> tuple[bytes, DeliveryFields]:
        """One message, step by step: traced, with a class, or one that may not be sent.

        So is one with a dead-letter queue of its own, which stays behind it.
        """
        packet, trailer = split_stored(packet)
        check_for_sending(packet)
        letters = check_trailer(trailer, len(packet))
        whole = with_headers(with_destination(packet, self._destination), self._headers)
        whole = stamp(
            whole,
            source=self._source,
            message_id=number,
            sent_time=sent_time,
            time_to_reach_queue=self._reach,
        )
        if u32(whole, FLAGS)[0] & UserFlags.SH:
            if self._headers.multi_queue is None:
                require_same(packet, whole)
            else:
                whole = with_listed_signature(whole)
                require_signed(whole)
        view = PacketView(whole)
        return whole + trailer, DeliveryFields(
            view.priority,
            view.time_to_reach_queue,
            view.time_to_be_received,
            view.flags,
            view.acknowledge,
            letters,
            view.privacy_level != PrivacyLevel.NONE,
        )


def _stamp_columns(
    packets: bytes, count: int, stamped: bytes, offset: int, first_id: int, sent_time: int
) -> bytes | None:
    """Packets of one size, given the first as stamped; None if others are not like it.

    They may differ in identifier, body type, application tag, label, extension and body.
    """
    columns = PacketColumns(packets, count)
    label = stamped[offset + 1]
    is_alike = (
        columns.equal(0, stamped[:_REACH])
        and columns.equal(_REACH, packets[_REACH:_SOURCE])
        and columns.equal(_RECEIVE, stamped[_RECEIVE:_SENT])
        and columns.equal(FLAGS, stamped[FLAGS : offset + _CORRELATION])
        and columns.equal(offset + SIZES, stamped[offset + SIZES : offset + LABEL])
        and (not label or columns.zero(offset + LABEL + 2 * label - 2))
    )
    if not is_alike:
        return None
    if not columns.equal(_REACH, stamped[_REACH:_RECEIVE]):
        columns.write(_REACH, stamped[_REACH:_RECEIVE])
    columns.number(first_id, sent_time)
    return columns.packets()


def _stamp_uneven(
    packets: bytes,
    count: int,
    first: bytes,
    offset: int,
    first_id: int,
    sent_time: int,
    way: DeliveryFields,
) -> StampedRun | None:
    """The same for packets of different sizes, whose senders know from where they are sent."""
    sizes = _sizes_of_alike(packets, count, first, offset)
    if sizes is None:
        return None
    found = numbered_packets(packets, sizes, first_id=first_id, sent_time=sent_time)
    return StampedRun(way, found, sizes)


def _stamp_anew(
    packets: bytes,
    count: int,
    first: bytes,
    front: bytes,
    offset: int,
    first_id: int,
    way: DeliveryFields,
) -> StampedRun | None:
    """Packets that get another front than they came with, given the first and its new one."""
    sizes = _sizes_of_alike(packets, count, first, offset)
    growth = len(front) - offset
    if sizes is None or max(sizes) + growth > limits.PACKET_SIZE_MAX:
        return None
    grown = [size + growth for size in sizes]
    ends = list(accumulate(sizes))
    parts = zip(
        repeat(front[:SIZE]),
        map(_U32, grown),
        repeat(front[_REACH:_MESSAGE_ID]),
        map(_U32, range(first_id, first_id + count)),
        repeat(front[FLAGS:]),
        [packets[end - size + offset : end] for size, end in zip(sizes, ends, strict=True)],
        strict=False,
    )
    return StampedRun(way, b"".join(chain.from_iterable(parts)), grown)


def _sizes_of_alike(packets: bytes, count: int, first: bytes, offset: int) -> list[int] | None:
    """The sizes of packets, given the first up to its properties; None if others are not like it.

    They may differ as in `_stamp_columns`, and in their sizes.
    """
    start = int.from_bytes(first[:SIZE], "little")
    same, middle = first[_REACH : offset + 1], first[_REACH:_SENT]
    front = first[FLAGS : offset + 1]
    begins, read, whole, least = packets.startswith, _reader(offset), len(packets), offset + LABEL
    sizes: list[int] = []
    add, at, last = sizes.append, 0, whole - least
    for _ in range(count):
        if at > last:
            return None
        begun, size, label, code, body, room, privacy, extension = read(packets, at)
        label_end = least + 2 * label
        if (
            begun != start
            or code
            or privacy
            or body != room
            or (label_end + extension + room + 3) & ~3 != size
            or label > limits.LABEL_UNITS_MAX
            or (label and not begins(NULL_UNIT, at + label_end - 2))
        ):
            return None
        if not begins(same, at + _REACH) and not (  # programs write neither time nor identifier
            begins(middle, at + _REACH) and begins(front, at + FLAGS)
        ):
            return None
        add(size)
        at += size
    return sizes if at == whole and max(sizes) <= limits.PACKET_SIZE_MAX else None


@lru_cache(maxsize=256)
def _reader(offset: int) -> Callable[[bytes, int], tuple[int, ...]]:
    """What packets begin with, PacketSize and `_PROPERTIES` without flags, given their place."""
    return Struct(f"<QI{offset - SIZE - 4}xxBH28xIII8xI").unpack_from


def _plain(packet: bytes, offset: int) -> tuple[int, ...] | None:
    """`_TAKEN` of a packet that is sound, given that its names are, which end at `offset`."""
    whole = len(packet)
    if whole < offset + LABEL:
        return None
    taken = _TAKEN(packet)
    version, priority, signature, size, _, _ = taken
    _, label, code, body, room, privacy, extension = _PROPERTIES(packet, offset)
    label_end = offset + LABEL + 2 * label
    if (
        version == VERSION
        and priority <= PRIORITY_MAX
        and signature == SIGNATURE
        and size == whole <= limits.PACKET_SIZE_MAX
        and (label_end + extension + room + 3) & ~3 == whole
        and body == room
        and label <= limits.LABEL_UNITS_MAX
        and (not label or packet.startswith(NULL_UNIT, label_end - 2))
        and not code
        and not privacy
    ):
        return taken
    return None
