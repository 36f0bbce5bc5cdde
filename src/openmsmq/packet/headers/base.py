"""BaseHeader, which every packet of a session starts with."""

from __future__ import annotations

from typing import Annotated, Final

from openmsmq import limits
from openmsmq.properties.message import INFINITE
from openmsmq.wire.fixed import U8, U32, Bits, Fixed, fixed
from openmsmq.wire.reader import Reader

VERSION: Final = 0x10
SIGNATURE: Final = 0x524F494C  # "LIOR" on the wire


class BaseFlags(Bits):
    """BaseHeader.Flags ([MS-MQMQ] 2.2.19.1)."""

    PR = 0x0007  # priority
    IN = 0x0008  # internal packet
    SH = 0x0010  # a SessionHeader is in the packet
    DH = 0x0020  # a DebugHeader is in the packet
    X9 = 0x0040
    X8 = 0x0080
    TR = 0x0100  # tracing requested
    X6_X0 = 0xFE00


@fixed
class BaseHeader(Fixed):
    """BaseHeader ([MS-MQMQ] 2.2.19.1)."""

    version_number: U8 = VERSION
    reserved: U8 = 0
    flags: Annotated[int, "H", BaseFlags] = 0
    signature: U32 = SIGNATURE
    packet_size: U32 = 0
    time_to_reach_queue: U32 = INFINITE

    @classmethod
    def read(cls, reader: Reader) -> BaseHeader:
        """Read and verify what makes the rest readable ([MS-MQQB] 3.1.5.1.2)."""
        start = reader.offset
        with reader.section("BaseHeader"):
            header = reader.fixed(cls)
            if header.version_number != VERSION:
                reader.fail(
                    "VersionNumber", f"is {header.version_number:#04x}, not 0x10", offset=start
                )
            if header.signature != SIGNATURE:
                reader.fail(
                    "Signature",
                    f"is {header.signature:#010x}, not {SIGNATURE:#010x} (LIOR)",
                    offset=start + cls.offset_of("Signature"),
                )
            if not cls.SIZE <= header.packet_size <= limits.PACKET_SIZE_MAX:
                reader.fail(
                    "PacketSize",
                    f"is {header.packet_size}, outside {cls.SIZE} to {limits.PACKET_SIZE_MAX}",
                    offset=start + cls.offset_of("PacketSize"),
                )
        return header


assert BaseHeader.SIZE == 16
