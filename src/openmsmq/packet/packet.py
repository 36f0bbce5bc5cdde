"""Any packet of a session, from bytes to a value."""

from __future__ import annotations

from openmsmq.packet.connection import InternalPacket, read_internal
from openmsmq.packet.headers.base import BaseFlags, BaseHeader
from openmsmq.packet.message import UserMessage
from openmsmq.wire.reader import Reader, decode_whole

Packet = InternalPacket | UserMessage


def read_packet(reader: Reader, *, stored: bool = False) -> Packet:
    """Read the next packet; an OrderAck or FinalAck is a UserMessage ([MS-MQQB] 3.1.5.1.1)."""
    base = BaseHeader.read(reader)
    if base.flags & BaseFlags.IN:
        return read_internal(reader, base)
    return UserMessage.read(reader, base, stored=stored)


def decode_packet(data: bytes) -> Packet:
    """The packet that `data` is, to the last byte."""
    return decode_whole(data, read_packet)
