"""A message as remote readers get it: with what its manager knows, whole or in two sections.

([MS-MQRR] 2.2.5, 2.2.6)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openmsmq.errors import Malformed
from openmsmq.interfaces.remote_read.stubs import SectionBuffer, SectionType
from openmsmq.limits import U32_MAX
from openmsmq.packet.headers.base import BaseHeader
from openmsmq.packet.headers.trailer import (
    SUBQUEUE_NAME_SIZE,
    DeadLetterHeader,
    ExtendedAddressHeader,
    SubqueueHeader,
    Trailer,
    split_stored,
)
from openmsmq.packet.message import StoredMessage
from openmsmq.packet.view import PacketView
from openmsmq.wire.reader import decode_whole
from openmsmq.wire.text import encode_utf16z

_TIME: Final = BaseHeader.offset_of("TimeToReachQueue")


def message_packet(
    stored: bytes, *, aborted: int = 0, moved: int = 0, last_moved: int = 0, subqueue: str = ""
) -> bytes:
    """Message Packet Structure of a message ([MS-MQRR] 2.2.5, 2.2.5.3).

    TimeToReachQueue becomes an absolute time, saturated ([MS-MQRR] 2.2.5.1, 3.1.4.7). Where a
    message came from is not kept, so that ExtendedAddressHeader says nothing ([MS-MQRR] 2.2.5.5).
    """
    packet, _ = split_stored(stored)
    view = PacketView(packet)
    until = min(view.sent_time + view.time_to_reach_queue, U32_MAX)
    letters = PacketView(stored).dead_letter_path
    name = encode_utf16z(subqueue)[:SUBQUEUE_NAME_SIZE] if subqueue else b""
    trailer = Trailer.make(
        SubqueueHeader(
            abort_counter=aborted,
            move_counter=moved,
            last_move_time=last_moved,
            subqueue_name_utf16=name.ljust(SUBQUEUE_NAME_SIZE, b"\0"),
        ),
        ExtendedAddressHeader(),
        DeadLetterHeader.make(letters) if letters else None,
    )
    timed = packet[:_TIME] + until.to_bytes(4, "little") + packet[_TIME + 4 :]
    return timed + trailer.encode()


def sections_of(packet: bytes, max_body_size: int) -> tuple[SectionBuffer, ...]:
    """The packet, whole or without the rest of its body ([MS-MQRR] 3.1.4.7).

    What follows the body, its padding first, is the second section, so that the sizes which are
    allocated sum up to the packet's.
    """
    view = PacketView(packet)
    size = view.message_size
    if max_body_size >= size:
        return (SectionBuffer(SectionType.FULL_PACKET, len(packet), len(packet), packet),)
    start = view.body_offset
    first, rest = packet[: start + max_body_size], packet[start + size :]
    return (
        SectionBuffer(SectionType.BINARY_FIRST, start + size, len(first), first),
        SectionBuffer(SectionType.BINARY_SECOND, len(rest), len(rest), rest),
    )


def joined(sections: Sequence[SectionBuffer]) -> StoredMessage:
    """The message that sections hold, its body whole; `Malformed` ([MS-MQRR] 3.1.4.7)."""
    if len(sections) != 1 or sections[0].section_type != SectionType.FULL_PACKET:
        raise Malformed("ppPacketSections", 0, "the message is not whole")
    return decode_whole(sections[0].data or b"", StoredMessage.read)
