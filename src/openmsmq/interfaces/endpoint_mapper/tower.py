"""Protocol towers: an interface, a transfer syntax, a protocol, a port and an address in one.

(C706 appendix L; [MS-RPCE] 2.2.1.2.2) Lengths and versions are little-endian, port and address
big-endian.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address

from openmsmq.interfaces.limits import FLOORS_MAX
from openmsmq.rpc.syntax import NDR, SyntaxId
from openmsmq.wire.reader import Reader

UUID_FLOOR, CONNECTION_ORIENTED, TCP, IP = 0x0D, 0x0B, 0x07, 0x09


@dataclass(frozen=True, slots=True)
class Tower:
    """How to reach an interface over TCP."""

    interface: SyntaxId
    transfer: SyntaxId
    port: int
    address: IPv4Address

    @classmethod
    def decode(cls, data: bytes) -> Tower:
        """The tower in `data`; `Malformed` for what is none of TCP ([MS-RPCE] 3.1.3.5.3)."""
        reader = Reader(data)
        count = reader.u16("floors")
        if not 5 <= count <= FLOORS_MAX:
            reader.fail("floors", f"{count} are not 5 or 6", offset=0)
        interface = _syntax(reader, "interface")
        transfer = _syntax(reader, "transfer syntax")
        _floor(reader, "protocol", CONNECTION_ORIENTED, 2)
        port = _floor(reader, "port", TCP, 2)
        address = _floor(reader, "address", IP, 4)
        return cls(interface, transfer, int.from_bytes(port, "big"), IPv4Address(address))

    def encode(self) -> bytes:
        """The bytes of the tower."""
        return b"".join(
            (
                (5).to_bytes(2, "little"),
                _encode_syntax(self.interface),
                _encode_syntax(self.transfer),
                _encode_floor(bytes([CONNECTION_ORIENTED]), bytes(2)),
                _encode_floor(bytes([TCP]), self.port.to_bytes(2, "big")),
                _encode_floor(bytes([IP]), self.address.packed),
            )
        )


def query(interface: SyntaxId) -> Tower:
    """The tower that asks where an interface is."""
    return Tower(interface, NDR, 0, IPv4Address(0))


def _read(reader: Reader, name: str) -> tuple[bytes, bytes]:
    left = reader.take(reader.u16(name), name)
    return left, reader.take(reader.u16(name), name)


def _floor(reader: Reader, name: str, protocol: int, size: int) -> bytes:
    start = reader.offset
    left, right = _read(reader, name)
    if left != bytes([protocol]) or len(right) != size:
        reader.fail(name, f"a floor of protocol 0x{protocol:02X} belongs here", offset=start)
    return right


def _syntax(reader: Reader, name: str) -> SyntaxId:
    start = reader.offset
    left, right = _read(reader, name)
    if left[:1] != bytes([UUID_FLOOR]) or (len(left), len(right)) != (19, 2):
        reader.fail(name, "a UUID and a version belong here", offset=start)
    return SyntaxId.decode(left[1:] + right)


def _encode_floor(left: bytes, right: bytes) -> bytes:
    return len(left).to_bytes(2, "little") + left + len(right).to_bytes(2, "little") + right


def _encode_syntax(syntax: SyntaxId) -> bytes:
    data = syntax.encode()
    return _encode_floor(bytes([UUID_FLOOR]) + data[:18], data[18:])
