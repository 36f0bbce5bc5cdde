"""Where a message came from: kept where its packet names the manager that it is for.

A direct name says itself where its queue is, so that the 16 bytes of QueueManagerAddress say
nothing. [MS-MQRR] 2.2.5.1 has them tell remote readers which address the message came from. That is
written there as an IPv6 address when a message arrives: no other place is needed, and messages that
are alike stay alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from openmsmq.packet.headers.base import BaseHeader
from openmsmq.packet.headers.user import UserHeaderStart
from openmsmq.packet.walk import DIRECT, FLAGS

Address = tuple[IPv4Address | IPv6Address, int]
"An IP address and its scope, which is 0 unless it is of one link alone."
UNKNOWN: Final = bytes(16)
"An address that is not known, and that of what was sent here."
ADDRESS: Final = BaseHeader.SIZE + UserHeaderStart.offset_of("QueueManagerAddress")
"Where a packet has it."
_END: Final = ADDRESS + 16
_LINK_LOCAL: Final = IPv6Address("fe80::")
_SCOPE: Final = 64
"A scope lies among the bits of a link-local address that are zero."


@lru_cache(maxsize=1024)
def packed_address(text: str) -> bytes:
    """An IP address in 16 bytes, with its scope; `UNKNOWN` for what is none."""
    try:
        found = ip_address(text)
    except ValueError:
        return UNKNOWN
    if isinstance(found, IPv4Address):
        found = IPv6Address(f"::ffff:{found}")
    number = int(found)
    if found.is_link_local and (found.scope_id or "").isdecimal():
        number |= int(found.scope_id or "") << _SCOPE
    return number.to_bytes(16, "big")


@lru_cache(maxsize=1024)
def unpacked_address(packed: bytes) -> Address | None:
    """The reverse of `packed_address`; None if it is unknown."""
    if packed == UNKNOWN:
        return None
    found = IPv6Address(packed)
    if found.ipv4_mapped is not None:
        return found.ipv4_mapped, 0
    if not found.is_link_local:
        return found, 0
    host = int(found) & (1 << _SCOPE) - 1
    scope = (int(found) - int(_LINK_LOCAL)) >> _SCOPE & 0xFFFFFFFF
    return IPv6Address(int(_LINK_LOCAL) | host), scope


def is_direct(packet: bytes) -> bool:
    """Whether the destination of a message is a direct name."""
    return packet[FLAGS + 1] >> 2 & 7 == DIRECT


def with_origin(packet: bytes, packed: bytes) -> bytes:
    """The packet of a message to a direct name, with the address that it came from."""
    return packet[:ADDRESS] + packed + packet[_END:]


def all_with_origin(packets: bytes, sizes: Iterable[int], packed: bytes) -> bytes:
    """The same for messages one after the other."""
    found = bytearray(packets)
    at = ADDRESS
    for size in sizes:
        found[at : at + 16] = packed
        at += size
    return bytes(found)


def without_origin(packet: bytes) -> bytes:
    """The packet as it travels: its sender does not say there where it is."""
    return with_origin(packet, UNKNOWN) if is_direct(packet) else packet


def origin_of(packet: bytes) -> Address | None:
    """The address that a message came from; None if it is not known."""
    return unpacked_address(packet[ADDRESS:_END]) if is_direct(packet) else None
