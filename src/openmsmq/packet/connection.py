"""The three internal packets: EstablishConnection, ConnectionParameters, SessionAck."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from openmsmq.packet.headers.base import BaseFlags, BaseHeader
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.headers.internal import InternalFlags, InternalHeader, InternalType
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.wire.fixed import Fixed
from openmsmq.wire.reader import Reader

# Internal packets carry priority 3, as every example frame does ([MS-MQQB] 4.1).
_FLAGS: Final = BaseFlags.IN | 3
_START: Final = BaseHeader.SIZE + InternalHeader.SIZE


def _base(header: type[Fixed], flags: int = 0) -> BaseHeader:
    return BaseHeader(flags=_FLAGS | flags, packet_size=_START + header.SIZE)


def _internal(kind: InternalType) -> InternalHeader:
    return InternalHeader(flags=kind)


@dataclass(frozen=True, slots=True)
class EstablishConnection:
    """EstablishConnection Packet ([MS-MQQB] 2.2.3)."""

    header: EstablishConnectionHeader
    internal: InternalHeader = field(default=_internal(InternalType.ESTABLISH_CONNECTION))
    base: BaseHeader = field(default=_base(EstablishConnectionHeader))

    @property
    def refused(self) -> bool:
        """The acceptor will not open a session (CS)."""
        return bool(self.internal.flags & InternalFlags.CS)

    def encode(self) -> bytes:
        """The 572 bytes."""
        return self.base.pack() + self.internal.pack() + self.header.pack()


@dataclass(frozen=True, slots=True)
class ConnectionParameters:
    """ConnectionParameters Packet ([MS-MQQB] 2.2.2)."""

    header: ConnectionParametersHeader
    internal: InternalHeader = field(default=_internal(InternalType.CONNECTION_PARAMETERS))
    base: BaseHeader = field(default=_base(ConnectionParametersHeader))

    @property
    def refused(self) -> bool:
        """The acceptor will not open a session (CS)."""
        return bool(self.internal.flags & InternalFlags.CS)

    def encode(self) -> bytes:
        """The 32 bytes."""
        return self.base.pack() + self.internal.pack() + self.header.pack()


@dataclass(frozen=True, slots=True)
class SessionAck:
    """SessionAck Packet ([MS-MQQB] 2.2.6).

    PacketSize counts the SessionHeader here, unlike in a UserMessage (AMB-1).
    """

    header: SessionHeader
    internal: InternalHeader = field(default=_internal(InternalType.SESSION_ACK))
    base: BaseHeader = field(default=_base(SessionHeader, BaseFlags.SH))

    def encode(self) -> bytes:
        """The 36 bytes."""
        return self.base.pack() + self.internal.pack() + self.header.pack()


SESSION_ACK_START: Final = SessionAck(SessionHeader()).encode()[:_START]
"What a SessionAck begins with, if nothing is unusual about it; its SessionHeader follows."

InternalPacket = EstablishConnection | ConnectionParameters | SessionAck

_KINDS: Final[dict[int, tuple[type[InternalPacket], type[Fixed]]]] = {
    InternalType.SESSION_ACK: (SessionAck, SessionHeader),
    InternalType.ESTABLISH_CONNECTION: (EstablishConnection, EstablishConnectionHeader),
    InternalType.CONNECTION_PARAMETERS: (ConnectionParameters, ConnectionParametersHeader),
}


def read_internal(reader: Reader, base: BaseHeader) -> InternalPacket:
    """Read what follows the BaseHeader of an internal packet ([MS-MQQB] 2.2.1)."""
    origin = reader.offset - BaseHeader.SIZE
    with reader.section("InternalHeader"):
        internal = reader.fixed(InternalHeader)
        kind = internal.flags & InternalFlags.PT
        if kind not in _KINDS:
            place = origin + BaseHeader.SIZE + InternalHeader.offset_of("Flags")
            reader.fail("Flags", f"PT is {kind}, not 1, 2 or 3", offset=place)
    packet, header = _KINDS[kind]
    if base.packet_size != _START + header.SIZE:
        with reader.section("BaseHeader"):
            reader.fail(
                "PacketSize",
                f"is {base.packet_size}, but {packet.__name__} has {_START + header.SIZE} bytes",
                offset=origin + BaseHeader.offset_of("PacketSize"),
            )
    with reader.section(header.__name__):
        return _make(packet, reader.fixed(header), internal, base)


def _make(
    packet: type[InternalPacket], header: Fixed, internal: InternalHeader, base: BaseHeader
) -> InternalPacket:
    made: InternalPacket = packet(header, internal, base)  # type: ignore[arg-type] # _KINDS pairs them
    return made
