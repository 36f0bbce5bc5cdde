"""Writing captures: what was said on a connection, as a pcap file that network tools open.

The packets are made up: there was a connection, but its IP headers were not seen. They are such as
a capture without losses would hold, checksums included, so that tools report no errors.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from struct import Struct
from typing import Final

from openmsmq.capture.limits import SEGMENT_SIZE_MAX
from openmsmq.limits import U32_MAX

Endpoint = tuple[str, int]
"An address and a port."


MAGIC: Final = 0xA1B2C3D4
RAW_IP: Final = 101
"The link type of packets that begin with their IP header."
_SNAPSHOT: Final = 0x40000
TCP: Final = 6
UDP: Final = 17
_FILE: Final = Struct("<IHHiIII")
_RECORD: Final = Struct("<IIII")
_IPV4: Final = Struct("!BBHHHBBH4s4s")
_IPV6: Final = Struct("!IHBB16s16s")
_TCP: Final = Struct("!HHIIBBHHH")
_UDP: Final = Struct("!HHHH")
_DONT_FRAGMENT: Final = 0x4000
_HOPS: Final = 64
_WINDOW: Final = 0xFFFF
_FIN, _SYN, _PSH, _ACK = 0x01, 0x02, 0x08, 0x10

FILE_HEADER: Final = _FILE.pack(MAGIC, 2, 4, 0, 0, _SNAPSHOT, RAW_IP)
"What a capture file begins with."


class Conversation:
    """A TCP connection as packets; each method gives what to append to the file.

    Bytes may be anything that `bytes` can be made of. `accepted` says that the other side
    connected to this one.
    """

    def __init__(self, local: Endpoint, remote: Endpoint, *, accepted: bool = True) -> None:
        self._local = _Side(local)
        self._remote = _Side(remote)
        self._accepted = accepted

    def opened(self, now: float) -> bytes:
        """The handshake."""
        client, server = self._local, self._remote
        if self._accepted:
            client, server = server, client
        return b"".join(
            (
                _segment(client, server, _SYN, now),
                _segment(server, client, _SYN | _ACK, now),
                _segment(client, server, _ACK, now),
            )
        )

    def sent(self, data: bytes, now: float) -> bytes:
        """Bytes from this side."""
        return _stream(self._local, self._remote, data, now)

    def received(self, data: bytes, now: float) -> bytes:
        """Bytes from the other side."""
        return _stream(self._remote, self._local, data, now)

    def closed(self, now: float) -> bytes:
        """The end."""
        return b"".join(
            (
                _segment(self._local, self._remote, _FIN | _ACK, now),
                _segment(self._remote, self._local, _FIN | _ACK, now),
                _segment(self._local, self._remote, _ACK, now),
            )
        )


def datagram(source: Endpoint, target: Endpoint, data: bytes, now: float) -> bytes:
    """A UDP datagram."""
    origin, goal = _Side(source), _Side(target)
    header = _UDP.pack(origin.port, goal.port, _UDP.size + len(data), 0)
    return _record(_ip(origin, goal, UDP, header, 6, data), now)


class _Side:
    """One end of a connection and how far it has spoken."""

    __slots__ = ("address", "port", "sequence")

    def __init__(self, endpoint: Endpoint) -> None:
        self.address = _address(endpoint[0])
        self.port = endpoint[1]
        self.sequence = 0


def _address(text: str) -> IPv4Address | IPv6Address:
    """The address of an endpoint; the unspecified one for what has none, as a local socket."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return IPv4Address(0)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _stream(source: _Side, target: _Side, data: bytes, now: float) -> bytes:
    """Bytes of a stream in as many packets as they need, each of them acknowledged."""
    records = []
    view = memoryview(data)
    for start in range(0, len(view), SEGMENT_SIZE_MAX):
        piece = bytes(view[start : start + SEGMENT_SIZE_MAX])
        records.append(_segment(source, target, _PSH | _ACK, now, piece))
        records.append(_segment(target, source, _ACK, now))
    return b"".join(records)


def _segment(source: _Side, target: _Side, flags: int, now: float, data: bytes = b"") -> bytes:
    acknowledged = target.sequence if flags & _ACK else 0
    header = _TCP.pack(
        source.port,
        target.port,
        source.sequence,
        acknowledged,
        _TCP.size // 4 << 4,
        flags,
        _WINDOW,
        0,
        0,
    )
    spoken = len(data) + (1 if flags & (_SYN | _FIN) else 0)
    source.sequence = source.sequence + spoken & U32_MAX
    return _record(_ip(source, target, TCP, header, 16, data), now)


def _ip(source: _Side, target: _Side, kind: int, header: bytes, place: int, data: bytes) -> bytes:
    """An IP packet; the checksum of what it carries goes to `place` in `header`."""
    origin, goal = source.address, target.address
    if origin.version != goal.version:
        origin, goal = _as_ipv6(origin), _as_ipv6(goal)
    size = len(header) + len(data)
    pseudo = origin.packed + goal.packed + size.to_bytes(4, "big") + kind.to_bytes(4, "big")
    checksum = _checksum(pseudo + header + data)
    carried = header[:place] + checksum + header[place + 2 :] + data
    if origin.version == 6:
        return _IPV6.pack(6 << 28, size, kind, _HOPS, origin.packed, goal.packed) + carried
    ends = (origin.packed, goal.packed)
    fields = (0x45, 0, _IPV4.size + size, 0, _DONT_FRAGMENT, _HOPS, kind)
    checksum = _checksum(_IPV4.pack(*fields, 0, *ends))
    return _IPV4.pack(*fields, int.from_bytes(checksum, "big"), *ends) + carried


def _as_ipv6(address: IPv4Address | IPv6Address) -> IPv6Address:
    """An address of either kind among those of the longer kind."""
    if isinstance(address, IPv6Address):
        return address
    return IPv6Address(b"\0" * 10 + b"\xff\xff" + address.packed)


def _checksum(data: bytes) -> bytes:
    """The Internet checksum: what makes the sum of all 16-bit words a multiple of 65,535."""
    padded = data + b"\0" if len(data) % 2 else data
    # A number in base 65,536 and the sum of its digits leave the same rest.
    return (0xFFFF - int.from_bytes(padded, "big") % 0xFFFF).to_bytes(2, "big")


def _record(packet: bytes, now: float) -> bytes:
    """A packet as it stands in the file."""
    seconds, microseconds = divmod(max(0, int(now * 1_000_000)), 1_000_000)
    return _RECORD.pack(seconds & U32_MAX, microseconds, len(packet), len(packet)) + packet
