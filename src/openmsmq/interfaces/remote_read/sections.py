"""A message as remote readers get it: with what its manager knows, whole or in two sections.

([MS-MQRR] 2.2.5, 2.2.6)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from struct import Struct
from typing import Final

from openmsmq.errors import Malformed
from openmsmq.interfaces.remote_read.stubs import SectionBuffer, SectionType
from openmsmq.limits import U32_MAX
from openmsmq.packet.headers.base import BaseHeader
from openmsmq.packet.headers.trailer import (
    SUBQUEUE_NAME_SIZE,
    DeadLetterHeader,
    ExtendedAddressHeader,
    SubqueueBits,
    SubqueueHeader,
    Trailer,
    split_stored,
)
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import StoredMessage
from openmsmq.packet.origin import Address, is_direct, origin_of, with_origin
from openmsmq.packet.view import PacketView
from openmsmq.soap.compound import compound_packet
from openmsmq.wire.reader import decode_whole
from openmsmq.wire.text import encode_utf16z

_TIME: Final = BaseHeader.offset_of("TimeToReachQueue")
_THIS_COMPUTER: Final = IPv4Address("127.0.0.1"), 0
_overlaid: Final = Struct("<HHI8s")
_TYPES: Final = {4: 1, 6: 6}
"AddressType by the version of IP."


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """What a manager knows of a message beside its packet ([MS-MQRR] 2.2.5.3)."""

    aborted: int = 0
    moved: int = 0
    last_moved: int = 0
    subqueue: str = ""
    acknowledgement_class: int = 0
    "Why it is a dead letter; 0 for none."
    over_http: bool = False
    "It came over HTTP."
    is_own: bool = False
    "It was sent at this manager."


NOTHING_KNOWN: Final = MessageFacts()


def _any_queue(path: str, *, transactional: bool) -> bool:
    """Nothing is known of queues."""
    return True


def message_packet(
    stored: bytes,
    facts: MessageFacts = NOTHING_KNOWN,
    takes_letters: Callable[..., bool] = _any_queue,
) -> bytes:
    """Message Packet Structure of a message ([MS-MQRR] 2.2.5, 2.2.5.3).

    TimeToReachQueue becomes an absolute time, saturated ([MS-MQRR] 2.2.5.1, 3.1.4.7). One that came
    over HTTP has its envelope and its request ([MS-MQRR] 2.2.5.1.2), unless no packet holds them.
    `takes_letters` says whether the dead-letter queue that it names is there ([MS-MQRR] 2.2.5.2).
    """
    packet, behind = split_stored(stored)
    came_from = _came_from(packet, facts)
    if came_from is not None:
        packet = with_origin(packet, _overlay(*came_from))
    if facts.over_http:
        packet = compound_packet(packet) or packet
    view = PacketView(packet)
    until = min(view.sent_time + view.time_to_reach_queue, U32_MAX)
    letters = PacketView(stored).dead_letter_path if behind else ""
    timed = packet[:_TIME] + until.to_bytes(4, "little") + packet[_TIME + 4 :]
    is_valid = not letters or takes_letters(letters, transactional=view.transactional)
    return timed + _trailer(facts, letters, is_valid, came_from)


def _came_from(packet: bytes, facts: MessageFacts) -> Address | None:
    """Where a message to a direct name came from; None if that is not known ([MS-MQRR] 2.2.5.1)."""
    if facts.is_own and is_direct(packet):
        return _THIS_COMPUTER
    return origin_of(packet)


@lru_cache(maxsize=1024)
def _overlay(address: IPv4Address | IPv6Address, scope: int) -> bytes:
    """AddressLength to Address: as much of an address as 8 bytes hold ([MS-MQRR] 2.2.5.1)."""
    raw = address.packed
    return _overlaid.pack(len(raw), _TYPES[address.version], scope, raw[:8])


def _extended_address(address: IPv4Address | IPv6Address, scope: int) -> ExtendedAddressHeader:
    """The whole address that a message came from ([MS-MQRR] 2.2.5.5)."""
    raw = address.packed
    return ExtendedAddressHeader(
        address_length=len(raw),
        address_type=_TYPES[address.version],
        address_scope=scope,
        address=raw.ljust(16, b"\0"),
    )


@lru_cache(maxsize=256)
def _trailer(facts: MessageFacts, letters: str, is_valid: bool, came_from: Address | None) -> bytes:
    """The headers behind a message ([MS-MQRR] 2.2.5.2).

    `letters` is its dead-letter queue, `is_valid` whether that takes its dead letter.
    """
    name = encode_utf16z(facts.subqueue)[:SUBQUEUE_NAME_SIZE] if facts.subqueue else b""
    trailer = Trailer.make(
        SubqueueHeader(
            flags=facts.acknowledgement_class << 1 & SubqueueBits.AcknowledgementClass,
            abort_counter=facts.aborted,
            move_counter=facts.moved,
            last_move_time=facts.last_moved,
            subqueue_name_utf16=name.ljust(SUBQUEUE_NAME_SIZE, b"\0"),
        ),
        _extended_address(*came_from) if came_from else ExtendedAddressHeader(),
        DeadLetterHeader.make(letters) if letters else None,
        dead_letter_is_valid=is_valid,
    )
    return trailer.encode()


def sections_of(
    packet: bytes, max_body_size: int, max_compound_size: int = U32_MAX
) -> tuple[SectionBuffer, ...]:
    """The packet, whole or without the rest of its body or request ([MS-MQRR] 3.1.4.7).

    What follows the body, its padding first, is the second section, so that the sizes which are
    allocated sum up to the packet's. Of a message that came over HTTP, CompoundMessageHeader is
    cut instead, and `max_body_size` does not matter.
    """
    view = PacketView(packet)
    types = SectionType.BINARY_FIRST, SectionType.BINARY_SECOND
    start, size, most = view.body_offset, view.message_size, max_body_size
    if view.flags & UserFlags.AH:
        types = SectionType.SRMP_FIRST, SectionType.SRMP_SECOND
        start, size = _compound_place(view)
        most = max_compound_size
    if most >= size:
        return (SectionBuffer(SectionType.FULL_PACKET, len(packet), len(packet), packet),)
    first, rest = packet[: start + most], packet[start + size :]
    cut = SectionBuffer(types[0], start + size, len(first), first)
    return (cut, SectionBuffer(types[1], len(rest), len(rest), rest)) if rest else (cut,)


def _compound_place(view: PacketView) -> tuple[int, int]:
    """Where CompoundMessageHeader is, and its size ([MS-MQRR] 2.2.5.1)."""
    message = view.message()
    assert message.compound is not None, "AH is set"
    size = len(message.compound.encode())
    behind = (message.soap, message.multi_queue)
    after = sum(len(header.encode()) for header in behind if header is not None)
    return view.packet_size - after - len(message.surplus) - size, size


def whole_packet(sections: Sequence[SectionBuffer]) -> bytes:
    """The packet that sections hold, its body whole; `Malformed` ([MS-MQRR] 3.1.4.7)."""
    if len(sections) != 1 or sections[0].section_type != SectionType.FULL_PACKET:
        raise Malformed("ppPacketSections", 0, "the message is not whole")
    return sections[0].data or b""


def joined(sections: Sequence[SectionBuffer]) -> StoredMessage:
    """The message that sections hold, all of its headers decoded; `Malformed`."""
    return decode_whole(whole_packet(sections), StoredMessage.read)
