"""Packets of programs made into packets of the queue manager that sends them.

A program writes the message; who sends it, when, where to and under which number is for the manager
to say. The result is what `messages.pack.Packer` writes for the same message.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Final, NoReturn, Self
from uuid import UUID

from openmsmq import limits
from openmsmq.errors import FailVerifySignatureEx, Malformed, MessageTooLarge
from openmsmq.limits import U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.format import PrivateName, PublicName
from openmsmq.names.reference import destination_reference
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.base import BaseFlags, BaseHeader
from openmsmq.packet.headers.properties import MessagePropertiesStart
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.headers.trailer import Trailer, letter_trailer
from openmsmq.packet.headers.user import NO_GUID, UserFlags, UserHeaderStart
from openmsmq.packet.signed import NO_SIGNATURE, find_signature, signed_bytes, view_fields
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import (
    FLAGS,
    NAMES,
    SIZES,
    USER,
    after_names,
    is_plain,
    properties_offset,
    u16,
    u32,
)
from openmsmq.properties.message import (
    INFINITE,
    HashAlgorithm,
    MessageClass,
    PrivacyLevel,
    SignatureType,
    is_permitted_class,
)
from openmsmq.security.x509 import decode_certificate
from openmsmq.types.pack import IN_TRANSACTION
from openmsmq.wire.fixed import Bits
from openmsmq.wire.reader import decode_whole

_BASE_FLAGS: Final = BaseHeader.offset_of("Flags")
_SIZE: Final = BaseHeader.offset_of("PacketSize")
_REACH: Final = BaseHeader.offset_of("TimeToReachQueue")
_SOURCE: Final = USER + UserHeaderStart.offset_of("SourceQueueManager")
_ADDRESS: Final = USER + UserHeaderStart.offset_of("QueueManagerAddress")
_RECEIVE: Final = USER + UserHeaderStart.offset_of("TimeToBeReceived")
_SENT: Final = USER + UserHeaderStart.offset_of("SentTime")
_PROPERTIES: Final = "MessagePropertiesHeader"
_CLASS: Final = MessagePropertiesStart.offset_of("MessageClass")
_CLASSES_OF_MANAGERS: Final = frozenset(code.value for code in MessageClass if code.value)
_BODY: Final = Struct("<III").unpack_from
"MessageSize, AllocationBodySize and PrivacyLevel."

_HASHES: Final = frozenset(HashAlgorithm)
_U16: Final = Struct("<H").pack
_U32: Final = Struct("<I").pack
_TWO_U32: Final = Struct("<II").pack
_NO_LIMIT: Final = _U32(INFINITE)

_BASE_TAKEN: Final = BaseFlags.PR | BaseFlags.TR | BaseFlags.DH
"What a program may say in BaseHeader.Flags."
_NAMED: Final = UserFlags.DQ | UserFlags.AQ | UserFlags.RQ
_RECOVERABLE: Final = UserFlags.DM & -UserFlags.DM
_TAKEN: Final = _NAMED | _RECOVERABLE | UserFlags.JN | UserFlags.JP | UserFlags.MP | UserFlags.SH
"What a program may say in UserHeader.Flags."


def check_for_sending(packet: bytes) -> PacketView:
    """A view of a packet that a program wrote; `Malformed` unless it is one that it may send.

    Transactions, further destinations and headers of other protocols are for the manager to add,
    a sender is named with a signature only, and no class may claim to be a report of a manager
    ([MS-MQMQ] 2.2.18.1.6).
    """
    view = PacketView(packet)
    plain = is_plain(packet)
    if not plain:
        PacketView.parse(packet)
    flags, base_flags = view.flags, view.base_flags
    if base_flags & ~_BASE_TAKEN:
        _refuse_flags("BaseHeader.Flags", _BASE_FLAGS, BaseFlags, base_flags & ~_BASE_TAKEN)
    if flags & ~_TAKEN:
        _refuse_flags("UserHeader.Flags", FLAGS, UserFlags, flags & ~_TAKEN)
    if flags & UserFlags.SH:
        _check_security(view)
    _check_properties(packet, properties_offset(packet))
    if not plain and (surplus := view.message().surplus):
        raise Malformed("end", len(packet) - len(surplus), f"{len(surplus)} bytes too many")
    return view


def check_trailer(trailer: bytes, offset: int) -> str:
    """The dead-letter queue that is named behind a packet of `offset` bytes; empty for none.

    `Malformed` if that is not what a program may say there ([MS-MQRR] 2.2.5).
    """
    if not trailer:
        return ""
    header = decode_whole(trailer, Trailer.read).dead_letter
    if header is None or trailer != letter_trailer(header.path_name):
        raise Malformed("end", offset, f"{len(trailer)} bytes that name no dead-letter queue")
    return header.path_name


def _refuse_flags(field: str, offset: int, kind: type[Bits], bits: int) -> NoReturn:
    names = [name for name, value in kind.split(bits).items() if value]
    raise Malformed(field, offset, f"{', '.join(names)} may not be set here")


def _check_properties(packet: bytes, offset: int) -> None:
    """Refuse what a program may not say in the MessagePropertiesHeader at `offset`."""
    code = u16(packet, offset + _CLASS)[0]
    if code in _CLASSES_OF_MANAGERS or not is_permitted_class(code):
        reason = f"is {code:#06x}, which only a queue manager sends"
        raise Malformed(f"{_PROPERTIES}.MessageClass", offset + _CLASS, reason)
    size, room, privacy = _BODY(packet, offset + SIZES)
    if room != size:
        # With more, it depends on what follows where the body ends (AMB-7).
        reason = f"is {room}, not {size} as the MessageSize"
        raise Malformed(f"{_PROPERTIES}.AllocationBodySize", offset + SIZES + 4, reason)
    if privacy not in (PrivacyLevel.NONE, PrivacyLevel.AES):
        reason = f"is {privacy}, not 0 or {PrivacyLevel.AES:d}"
        raise Malformed(f"{_PROPERTIES}.PrivacyLevel", offset + SIZES + 8, reason)


def _check_security(view: PacketView) -> None:
    """Refuse a SecurityHeader without a signature, or with what is for managers to say."""
    security = view.security
    assert security is not None
    bits = security.flags & (SecurityFlags.AU | SecurityFlags.EB | SecurityFlags.AS)
    if bits:
        _refuse_flags("SecurityHeader.Flags", view.security_offset, SecurityFlags, bits)
    if security.signature in NO_SIGNATURE or not security.sender_cert or security.encryption_key:
        reason = "a program names a sender with its signature and certificate, and nothing else"
        raise Malformed("SecurityHeader", view.security_offset, reason)


def require_same(before: bytes, after: bytes) -> None:
    """Refuse a signed message if the manager had to change what is signed ([MS-MQMQ] 2.5.2).

    The program signed it for another queue, or without knowing that it is for a transaction.
    """
    views, kind = (PacketView(before), PacketView(after)), SignatureType.MSMQ_2_0
    first, last = (signed_bytes(view_fields(view, None), kind, view.body) for view in views)
    if first != last:
        raise FailVerifySignatureEx("it was signed for another destination, or for no transaction")


def require_signed(packet: bytes) -> None:
    """Refuse a message to several queues that was not signed for all of them ([MS-MQMQ] 2.5.3).

    The program has signed the list that its manager writes: the certificate in it says whether it
    is that one.
    """
    view = PacketView(packet)
    security = view.security
    assert security is not None, "it is signed"
    fields, key = view_fields(view, security), decode_certificate(security.sender_cert).key
    is_signed = (
        key is not None
        and fields.hash_algorithm in _HASHES
        and find_signature(fields, key, view.body) is not None
    )
    if not is_signed:
        raise FailVerifySignatureEx("it was not signed for the list of queues that it goes to")


def stamp(
    packet: bytes,
    *,
    source: bytes,
    message_id: int,
    sent_time: int,
    time_to_reach_queue: int = INFINITE,
) -> bytes:
    """The packet as sent by a manager, whose GUID is `source`, under a number at a time.

    `time_to_reach_queue` is for a message that does not say ([MS-MQDMPR] 3.1.7.1.30).
    """
    reach = packet[_REACH:_SOURCE]
    return b"".join(
        (
            packet[:_REACH],
            _U32(time_to_reach_queue) if reach == _NO_LIMIT else reach,
            source,
            packet[_ADDRESS:_SENT],
            _TWO_U32(sent_time, message_id & U32_MAX),
            packet[FLAGS:],
        )
    )


@dataclass(frozen=True, slots=True)
class Destination:
    """Where messages go, as their packets say it; made once for many."""

    code: int
    name: bytes
    manager: bytes

    @classmethod
    def of(cls, name: FormatName, *, manager: UUID = NO_GUID) -> Self:
        """`manager` is needed for a public queue only: other names say where the queue is."""
        if not isinstance(name, PublicName):
            manager = name.guid if isinstance(name, PrivateName) else NO_GUID
        reference = destination_reference(name, source=NO_GUID, destination=manager)
        return cls(reference.code, reference.encode(), manager.bytes_le)


def with_destination(packet: bytes, destination: Destination) -> bytes:
    """The packet to a destination, whatever one it had before ([MS-MQMQ] 2.2.19.2)."""
    flags = u32(packet, FLAGS)[0]
    end = after_names(packet, flags & UserFlags.DQ)
    name, manager = destination.name, destination.manager
    changed = flags & ~UserFlags.DQ | destination.code << 10
    if flags == changed and packet[NAMES:end] == name and packet[_ADDRESS:_RECEIVE] == manager:
        return packet
    return b"".join(
        (
            packet[:_SIZE],
            _size(len(packet) - (end - NAMES) + len(name)),
            packet[_REACH:_ADDRESS],
            manager,
            packet[_RECEIVE:FLAGS],
            _U32(changed),
            name,
            packet[end:],
        )
    )


def with_headers(packet: bytes, headers: OptionalHeaders) -> bytes:
    """The packet with those headers that the manager adds: a transaction, several queues."""
    flags = u32(packet, FLAGS)[0]
    base_flags = u16(packet, _BASE_FLAGS)[0]
    base_flags = base_flags & ~BaseFlags.PR | headers.base_flags(
        base_flags & BaseFlags.PR, trace=False
    )
    end = after_names(packet, flags)
    before, after = headers.before_properties, headers.after_properties
    return b"".join(
        (
            packet[:_BASE_FLAGS],
            _U16(base_flags),
            packet[_BASE_FLAGS + 2 : _SIZE],
            _size(len(packet) + len(before) + len(after)),
            packet[_REACH:FLAGS],
            _U32(flags | headers.flags),
            packet[NAMES:end],
            before,
            packet[end:],
            after,
        )
    )


def in_transaction(packet: bytes) -> bytes:
    """The packet as part of a transaction: recoverable, of priority 0 ([MS-MQMQ] 2.2.20.5)."""
    return with_headers(packet, IN_TRANSACTION)


def require_room(size: int) -> None:
    """Refuse a packet of `size` bytes if that is too much ([MS-MQMQ] 2.2.19.1)."""
    if size > limits.PACKET_SIZE_MAX:
        raise MessageTooLarge(
            f"the message takes {size} bytes, a packet holds {limits.PACKET_SIZE_MAX}"
        )


def _size(size: int) -> bytes:
    require_room(size)
    return _U32(size)
