"""Every packet in some bytes, field by field: what `openmsmq decode` shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from openmsmq import limits
from openmsmq.errors import Malformed
from openmsmq.packet.acks import OrderAckBody, ack_body
from openmsmq.packet.headers.base import SIGNATURE, BaseFlags, BaseHeader
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.headers.trailer import ExtensionHeader, Trailer
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import read_packet
from openmsmq.packet.ping import PING_SIGNATURE, PingPacket
from openmsmq.packet.view import PacketView
from openmsmq.wire.trace import Field, TracingReader

_SIZE_MAX: Final = limits.PACKET_SIZE_MAX + 65_536
"A packet with its SessionHeader and a trailer."
_BODY: Final = "MessagePropertiesHeader.MessageBody"
_SIGNATURE: Final = SIGNATURE.to_bytes(4, "little")
_PING: Final = PING_SIGNATURE.to_bytes(2, "little")
_EXTENSION: Final = ExtensionHeader.SIZE.to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class Description:
    """One packet found in the data."""

    kind: str
    "UserMessage, StoredMessage, OrderAck, FinalAck, Ping, SessionAck, ...; Unknown if unreadable."
    offset: int
    "Where it begins in the data; the offsets of its fields count from there."
    data: bytes
    "Its bytes, as far as they could be read."
    fields: tuple[Field, ...]
    error: Malformed | None = None
    "Why reading stopped; `fields` then holds what was readable before."


def describe(data: bytes) -> Iterator[Description]:
    """The packets in `data`, one after the other: a datagram, a recorded stream, stored messages.

    Reading stops at the first that is malformed, since what follows it cannot be found.
    """
    offset = 0
    while offset < len(data):
        # No packet is larger than this: the rest of a long recording is not looked at yet.
        description = _describe_first(data[offset : offset + _SIZE_MAX], offset)
        yield description
        if description.error is not None:
            return
        offset += len(description.data)


def _describe_first(data: bytes, offset: int) -> Description:
    reader = TracingReader(data)
    try:
        kind = _read(reader)
    except Malformed as error:
        paths = [*(field.path for field in reader.fields), error.field]
        is_message = any(path.startswith("UserHeader.") for path in paths)
        kind = "UserMessage" if is_message else "Unknown"
        return Description(kind, offset, data, tuple(reader.fields), error)
    return Description(kind, offset, data[: reader.offset], tuple(reader.fields))


def _read(reader: TracingReader) -> str:
    """Read one packet of whatever kind; the name of its kind."""
    data = reader.data
    if data[2:4] == _PING and data[4:8] != _SIGNATURE:
        PingPacket.read(reader)
        return "Ping"
    stored = _trailer_follows(data)
    packet = read_packet(reader, stored=stored)
    if stored:
        Trailer.read(reader)
        return "StoredMessage"
    if isinstance(packet, UserMessage):
        return _expand_ack(reader)
    return type(packet).__name__


def _trailer_follows(data: bytes) -> bool:
    """Whether an ExtensionHeader stands behind the UserMessage that `data` starts with.

    No packet begins with the bytes of its HeaderSize.
    """
    if len(data) < BaseHeader.SIZE:
        return False
    base = BaseHeader.unpack(data)
    size = base.packet_size + (SessionHeader.SIZE if base.flags & BaseFlags.SH else 0)
    return not base.flags & BaseFlags.IN and data.startswith(_EXTENSION, size)


def _expand_ack(reader: TracingReader) -> str:
    """Replace the body of an OrderAck or FinalAck by its fields."""
    ack = ack_body(PacketView(reader.data[: reader.offset]))
    if ack is None:
        return "UserMessage"
    index = next(i for i, field in enumerate(reader.fields) if field.path == _BODY)
    body = TracingReader(reader.data, reader.fields[index].offset)
    with body.section(_BODY):
        body.fixed(type(ack))
    reader.fields[index : index + 1] = body.fields
    return "OrderAck" if isinstance(ack, OrderAckBody) else "FinalAck"
