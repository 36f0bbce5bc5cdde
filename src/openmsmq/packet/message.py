"""A whole UserMessage, header by header, and the stored form with its trailer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from openmsmq.packet.headers.base import BaseFlags, BaseHeader
from openmsmq.packet.headers.debug import DebugHeader
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.headers.properties import MessagePropertiesHeader
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.packet.headers.srmp import CompoundMessageHeader, SRMPEnvelopeHeader
from openmsmq.packet.headers.trailer import Trailer
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.headers.user import UserFlags, UserHeader
from openmsmq.wire.reader import Reader

SESSION_SIZE: Final = SessionHeader.SIZE


@dataclass(frozen=True, slots=True)
class UserMessage:
    """UserMessage Packet ([MS-MQMQ] 2.2.20), with the SRMP headers of [MS-MQRR] 2.2.5.1.2.

    All that was received is kept, so that `encode` gives the same bytes. The hot paths do not make
    this object: they read single fields through `PacketView`.
    """

    base: BaseHeader
    user: UserHeader
    properties: MessagePropertiesHeader
    transaction: TransactionHeader | None = None
    security: SecurityHeader | None = None
    debug: DebugHeader | None = None
    envelope: SRMPEnvelopeHeader | None = None
    compound: CompoundMessageHeader | None = None
    soap: SoapHeader | None = None
    multi_queue: MultiQueueFormatHeader | None = None
    surplus: bytes = b""
    "What PacketSize covers beyond the headers known (AMB-63)."
    session: SessionHeader | None = None
    session_is_inside: bool = False
    "PacketSize counts the SessionHeader, against the text ([MS-MQMQ] 2.2.19.1; AMB-1)."

    @classmethod
    def read(cls, reader: Reader, base: BaseHeader, *, stored: bool = False) -> Self:
        """Read what follows the BaseHeader, in the order of [MS-MQMQ] 2.2.20.

        PacketSize bounds the headers; a SessionHeader follows them, outside of it.
        """
        origin = reader.offset - BaseHeader.SIZE
        outer = reader.end
        reader.end = min(origin + base.packet_size, outer)
        user = UserHeader.read(reader, stored=stored)
        flags = user.flags
        transaction = TransactionHeader.read(reader) if flags & UserFlags.TH else None
        security = SecurityHeader.read(reader) if flags & UserFlags.SH else None
        properties = MessagePropertiesHeader.read(reader)
        debug = DebugHeader.read(reader) if base.flags & BaseFlags.DH else None
        envelope = SRMPEnvelopeHeader.read(reader) if flags & UserFlags.AH else None
        compound = CompoundMessageHeader.read(reader) if flags & UserFlags.AH else None
        soap = SoapHeader.read(reader) if flags & UserFlags.HH else None
        multi_queue = MultiQueueFormatHeader.read(reader) if flags & UserFlags.MQ else None
        has_session = bool(base.flags & BaseFlags.SH)
        inside = has_session and reader.remaining == SESSION_SIZE
        surplus = b"" if inside else reader.take(reader.remaining, "surplus")
        _check_size(reader, base, origin)
        reader.end = outer
        session = SessionHeader.read(reader) if has_session else None
        return cls(
            base,
            user,
            properties,
            transaction,
            security,
            debug,
            envelope,
            compound,
            soap,
            multi_queue,
            surplus,
            session,
            inside,
        )

    def encode(self) -> bytes:
        """The bytes of the packet."""
        headers = (
            self.user,
            self.transaction,
            self.security,
            self.properties,
            self.debug,
            self.envelope,
            self.compound,
            self.soap,
            self.multi_queue,
        )
        parts = [self.base.pack(), *(header.encode() for header in headers if header is not None)]
        parts.append(self.surplus)
        if self.session is not None:
            parts.append(self.session.pack())
        return b"".join(parts)


def _check_size(reader: Reader, base: BaseHeader, origin: int) -> None:
    """Refuse a packet that is shorter than PacketSize although its headers are whole."""
    if reader.end - origin < base.packet_size:
        with reader.section("BaseHeader"):
            reader.fail(
                "PacketSize",
                f"is {base.packet_size}, {reader.end - origin} bytes are there",
                offset=origin + BaseHeader.offset_of("PacketSize"),
            )


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """Message Packet Structure: a UserMessage and what its queue manager knows of it.

    ([MS-MQRR] 2.2.5.) TimeToReachQueue is an absolute time here, and the address that the message
    came from lies over QueueManagerAddress when its destination is a direct name.
    """

    message: UserMessage
    trailer: Trailer | None
    "None from Windows Server 2003, which writes no trailer ([MS-MQRR] notes 5-8)."

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read a message and the trailer, if any bytes follow it."""
        base = BaseHeader.read(reader)
        message = UserMessage.read(reader, base, stored=True)
        return cls(message, Trailer.read(reader) if reader.remaining else None)

    def encode(self) -> bytes:
        """The bytes of both."""
        return self.message.encode() + (self.trailer.encode() if self.trailer is not None else b"")
