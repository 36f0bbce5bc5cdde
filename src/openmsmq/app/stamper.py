"""Stamper: the messages of one SEND, checked and stamped in one go.

It does what the functions of `stamping` do in less than half their time: packets that are sent
together mostly have the same flags and names, which are looked at once. A property test holds the
two together.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq import limits
from openmsmq.app.stamping import (
    Destination,
    check_for_sending,
    require_room,
    stamp,
    with_destination,
    with_headers,
)
from openmsmq.packet.base import SIGNATURE, VERSION, BaseHeader
from openmsmq.packet.builder import NO_HEADERS, OptionalHeaders
from openmsmq.packet.user import UserFlags, UserHeaderStart
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, LABEL, NAMES, after_names
from openmsmq.properties.message import INFINITE, PRIORITY_MAX
from openmsmq.wire.text import NULL_UNIT

_HEAD: Final = Struct(BaseHeader.LAYOUT.format + UserHeaderStart.LAYOUT.format.removeprefix("<"))
"All that stands before the names."
_TAKEN: Final = Struct("<HHIII32xI").unpack_from
"Of the same: version, flags, signature, size, TimeToReachQueue and TimeToBeReceived."
_PROPERTIES: Final = Struct("<BBH28xIII8xI").unpack_from
"Of a MessagePropertiesHeader: flags, label, class, body, its room, privacy and extension."
_ID_MASK: Final = 0xFFFFFFFF


class Stamped(NamedTuple):
    """A message ready to be sent, and what of it decides about its way."""

    packet: bytes
    priority: int
    time_to_reach_queue: int
    time_to_be_received: int
    flags: int
    "UserHeader.Flags."
    acknowledge: int


class _Front(NamedTuple):
    """What packets begin with after their first fields, and what takes its place."""

    written: bytes
    "UserHeader.Flags and the names as programs wrote them, found to be sound."
    flags: int
    names: bytes
    "With the headers that follow them."


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
        """Messages sent at one moment, their ids counting up from `first_id`.

        `Malformed` for a packet that may not be sent, `MessageTooLarge` for one that the headers
        make too large.
        """
        source, manager = self._source, self._destination.manager
        after, default = self._headers.after_properties, self._reach
        allowed = PRIORITY_MAX if self._headers.transaction is None else 0
        written, flags, names = self._front
        found: list[Stamped] = []
        add, new, join, pack = found.append, tuple.__new__, b"".join, _HEAD.pack
        for number, packet in enumerate(packets, first_id):
            if not written or not packet.startswith(written, FLAGS):
                self._front = written, flags, names = self._learn(packet)
            offset = FLAGS + len(written)
            taken = _plain(packet, offset)
            if taken is None:
                add(self._stamp_closely(packet, number, sent_time))
                continue
            _, priority, _, size, reach, receive = taken
            size += len(names) + NAMES - offset + len(after)
            require_room(size)
            priority &= allowed
            if reach == INFINITE:
                reach = default
            start = pack(
                VERSION,
                0,
                priority,
                SIGNATURE,
                size,
                reach,
                source,
                manager,
                receive,
                sent_time,
                number & _ID_MASK,
                flags,
            )
            whole = join((start, names, packet[offset:], after))
            asked = packet[offset] & 0x0F
            add(new(Stamped, (whole, priority, reach, receive, flags, asked)))
        return found

    def _learn(self, packet: bytes) -> _Front:
        """Look closely at a packet whose front is new."""
        flags = check_for_sending(packet).flags
        start, end = after_names(packet, flags & UserFlags.DQ), after_names(packet, flags)
        names = self._destination.name + packet[start:end] + self._headers.before_properties
        changed = flags & ~UserFlags.DQ | self._destination.code << 10 | self._headers.flags
        return _Front(packet[FLAGS:end], changed, names)

    def _stamp_closely(self, packet: bytes, number: int, sent_time: int) -> Stamped:
        """One message, step by step: traced, with a class, or one that may not be sent."""
        check_for_sending(packet)
        packet = with_headers(with_destination(packet, self._destination), self._headers)
        packet = stamp(
            packet,
            source=self._source,
            message_id=number,
            sent_time=sent_time,
            time_to_reach_queue=self._reach,
        )
        view = PacketView(packet)
        return Stamped(
            packet,
            view.priority,
            view.time_to_reach_queue,
            view.time_to_be_received,
            view.flags,
            view.acknowledge,
        )


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
