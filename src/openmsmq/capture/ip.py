"""What a captured frame carries: a TCP segment or a UDP datagram."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from struct import Struct
from typing import Final

from openmsmq.capture.pcap import TCP, UDP, Endpoint
from openmsmq.errors import Malformed

LINKS: Final = {
    0: 4,  # null and loopback: the family of addresses, in the byte order of the writer
    108: 4,
    1: 14,  # Ethernet
    12: 0,  # IP as it is, under its many numbers
    14: 0,
    101: 0,
    228: 0,
    229: 0,
    113: 16,  # Linux "any", old and new
    276: 20,
}
"The link types that are understood, and the bytes before the IP header."
_ETHERNET: Final = 1
_TAGS: Final = {b"\x81\x00", b"\x88\xa8", b"\x91\x00"}
"What says that a VLAN tag stands before the type of an Ethernet frame."
_TAG_SIZE: Final = 4

_IPV4: Final = Struct("!BxHxxHxBxx4s4s")
_IPV6: Final = Struct("!4xHBx16s16s")
_TCP: Final = Struct("!HHI4xBB")
_TCP_SIZE: Final = 20
_UDP: Final = Struct("!HHHxx")
_FRAGMENT: Final = 44
_AUTHENTICATION: Final = 51
_EXTENSIONS: Final = frozenset({0, 43, 60, 135, _FRAGMENT, _AUTHENTICATION})
"Headers that may stand between an IPv6 header and what it carries."


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a TCP stream."""

    source: Endpoint
    target: Endpoint
    sequence: int
    "The number of the first byte of the data; of a SYN, the number before it."
    flags: int
    data: bytes

    @property
    def opens(self) -> bool:
        """It begins its direction of the connection (SYN)."""
        return bool(self.flags & 0x02)

    @property
    def acknowledges(self) -> bool:
        """It answers something (ACK)."""
        return bool(self.flags & 0x10)


@dataclass(frozen=True, slots=True)
class Datagram:
    """A UDP datagram."""

    source: Endpoint
    target: Endpoint
    data: bytes


def read_frame(link: int, data: bytes) -> Segment | Datagram | None:
    """What a frame carries; None for anything else, as fragments and damaged headers.

    `Malformed` if nothing is known about links of this type.
    """
    if link not in LINKS:
        raise Malformed("link type", 0, f"{link} is not supported")
    start = LINKS[link]
    if link == _ETHERNET:
        while data[start - 2 : start] in _TAGS:
            start += _TAG_SIZE
    version = data[start] >> 4 if start < len(data) else 0
    if version == 4:
        return _read_ipv4(data[start:])
    return _read_ipv6(data[start:]) if version == 6 else None


def _read_ipv4(data: bytes) -> Segment | Datagram | None:
    if len(data) < _IPV4.size:
        return None
    first, total, fragment, kind, source, target = _IPV4.unpack_from(data)
    size = (first & 0x0F) * 4
    if size < _IPV4.size or fragment & 0x3FFF:
        return None
    # A packet that the network card was to cut does not know its length.
    carried = data[size : total or len(data)]
    return _read_transport(kind, str(IPv4Address(source)), str(IPv4Address(target)), carried)


def _read_ipv6(data: bytes) -> Segment | Datagram | None:
    if len(data) < _IPV6.size:
        return None
    length, kind, source, target = _IPV6.unpack_from(data)
    carried = data[_IPV6.size : _IPV6.size + length if length else len(data)]
    while kind in _EXTENSIONS:
        if len(carried) < 8 or (kind == _FRAGMENT and carried[2:4] != b"\0\0"):
            return None
        size = 8 if kind == _FRAGMENT else (carried[1] + 1) * 8
        if kind == _AUTHENTICATION:
            size = (carried[1] + 2) * 4
        kind, carried = carried[0], carried[size:]
    return _read_transport(kind, str(IPv6Address(source)), str(IPv6Address(target)), carried)


def _read_transport(kind: int, source: str, target: str, data: bytes) -> Segment | Datagram | None:
    if kind == TCP and len(data) >= _TCP_SIZE:
        origin, goal, sequence, offset, flags = _TCP.unpack_from(data)
        size = (offset >> 4) * 4
        if size >= _TCP_SIZE:
            return Segment((source, origin), (target, goal), sequence, flags, data[size:])
    if kind == UDP and len(data) >= _UDP.size:
        origin, goal, length = _UDP.unpack_from(data)
        return Datagram((source, origin), (target, goal), data[_UDP.size : length or len(data)])
    return None
