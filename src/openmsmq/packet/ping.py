"""The UDP packet by which a queue manager asks another whether it would take a session."""

from __future__ import annotations

from typing import Annotated, Final

from openmsmq.wire.fixed import U16, U32, Bits, Fixed, Guid, fixed
from openmsmq.wire.reader import Reader

PING_SIGNATURE: Final = 0x5548


class PingFlags(Bits):
    """Ping Flags ([MS-MQQB] 2.2.7)."""

    RC = 0x0001  # the initiator does not run a server-class system
    RF = 0x0002  # a session would be refused
    X = 0xFFFC


@fixed
class PingPacket(Fixed):
    """Ping Request and Ping Response ([MS-MQQB] 2.2.7)."""

    flags: Annotated[int, "H", PingFlags]
    signature: U16
    cookie: U32
    qm_guid: Guid

    @classmethod
    def read(cls, reader: Reader) -> PingPacket:
        """Read one datagram; the caller drops it silently when it is malformed."""
        origin = reader.offset
        packet = reader.fixed(cls)
        if packet.signature != PING_SIGNATURE:
            place = origin + cls.offset_of("Signature")
            reader.fail("Signature", f"is {packet.signature:#06x}, not 0x5548", offset=place)
        return packet


assert PingPacket.SIZE == 24
