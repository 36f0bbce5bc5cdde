"""Messages of every shape, for tests of the packets and of what reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final
from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.names.format import parse_format_name
from openmsmq.names.mqf import MQFFormatNameElement
from openmsmq.names.reference import QueueReference, ReferenceCode
from openmsmq.packet.headers.base import BaseFlags, BaseHeader
from openmsmq.packet.headers.debug import DebugHeader
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.headers.properties import MessagePropertiesHeader, encode_label
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.packet.headers.srmp import CompoundMessageHeader, SRMPEnvelopeHeader
from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeader, TxSequenceID
from openmsmq.packet.headers.user import UserFlags, UserHeader
from openmsmq.packet.message import UserMessage
from openmsmq.transports.mqqb.events import Arrived, Event, GroupArrived
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import encode_utf16z

SOURCE: Final = UUID("aaaaaaaa-bbbb-4ccc-8ddd-eeeeffff0000")
TARGET: Final = UUID("11111111-2222-4333-8444-555566667777")
OTHER: Final = UUID("01234567-89ab-4cde-8f01-23456789abcd")
SENT: Final = 0x65000000
"2023-09-12 06:06:56 UTC."

DIRECT_TEXT: Final = r"OS:server1\private$\orders"
DIRECT: Final = parse_format_name(f"DIRECT={DIRECT_TEXT}")
PUBLIC: Final = parse_format_name(f"PUBLIC={OTHER}")
ON_TARGET: Final = parse_format_name(f"PRIVATE={TARGET}\\0000000c")

TRANSACTION: Final = TransactionHeader(
    TransactionFlags.FM | TransactionFlags.LM | 0x12345 << 4, TxSequenceID(1, SENT), 2, 1
)
CONNECTOR_TRANSACTION: Final = replace(
    TRANSACTION, flags=TRANSACTION.flags | TransactionFlags.CG, connector_qm_guid=OTHER
)
SECURITY: Final = SecurityHeader.make(
    1, security_id=bytes.fromhex("010100000000000507000000"), signature=b"signed", sender_cert=b"c"
)
DEBUG: Final = DebugHeader(1, 0, OTHER)
ENVELOPE: Final = SRMPEnvelopeHeader(data_length=4, data_utf16=encode_utf16z("<e>"))
COMPOUND: Final = CompoundMessageHeader(
    http_body_size=10, msg_body_size=4, msg_body_offset=6, data=b"POST\r\nbody"
)
SOAP: Final = SoapHeader.make("<h/>", "<body/>")
MULTI_QUEUE: Final = MultiQueueFormatHeader.make(
    tuple(MQFFormatNameElement.of(name) for name in (DIRECT, PUBLIC, ON_TARGET)),
    (MQFFormatNameElement.of(PUBLIC),),
    signature=b"sig",
)
SESSION: Final = SessionHeader(7, 3, 0b101, 9, 4)


def direct(text: str = DIRECT_TEXT, padding: bytes = b"") -> QueueReference:
    """A direct name as a UserHeader carries it."""
    return QueueReference(ReferenceCode.DIRECT, raw=encode_utf16z(text), padding=padding)


def properties(
    body: bytes = b"hello", label: str = "L", extension: bytes = b""
) -> MessagePropertiesHeader:
    """A MessagePropertiesHeader whose lengths are those of its fields."""
    text = encode_label(label)
    return MessagePropertiesHeader(
        label_length=len(text) // 2,
        message_size=len(body),
        allocation_body_size=len(body),
        extension_size=len(extension),
        label_utf16=text,
        extension=extension,
        body_field=body,
    )


def user_message(
    *,
    flags: int = 0,
    base_flags: int = 3,
    destination: QueueReference | None = None,
    admin: QueueReference | None = None,
    response: QueueReference | None = None,
    connector_type: UUID | None = None,
    header: MessagePropertiesHeader | None = None,
    transaction: TransactionHeader | None = None,
    security: SecurityHeader | None = None,
    debug: DebugHeader | None = None,
    envelope: SRMPEnvelopeHeader | None = None,
    compound: CompoundMessageHeader | None = None,
    soap: SoapHeader | None = None,
    multi_queue: MultiQueueFormatHeader | None = None,
    surplus: bytes = b"",
    session: SessionHeader | None = None,
    session_is_inside: bool = False,
) -> UserMessage:
    """A message whose flags announce the parts given and whose size is theirs."""
    names = (destination or direct(), admin or QueueReference(), response or QueueReference())
    flags |= UserFlags.MP
    for shift, name in zip((10, 13, 16), names, strict=True):
        flags |= name.code << shift
    announced = (
        (connector_type, UserFlags.CQ),
        (transaction, UserFlags.TH),
        (security, UserFlags.SH),
        (envelope, UserFlags.AH),
        (soap, UserFlags.HH),
        (multi_queue, UserFlags.MQ),
    )
    for part, bit in announced:
        flags |= bit if part is not None else 0
    base_flags |= BaseFlags.DH if debug is not None else 0
    base_flags |= BaseFlags.SH if session is not None else 0
    message = UserMessage(
        BaseHeader(flags=base_flags),
        UserHeader(SOURCE, TARGET, 600, SENT, 0x1001, flags, *names, connector_type),
        properties() if header is None else header,
        transaction,
        security,
        debug,
        envelope,
        compound,
        soap,
        multi_queue,
        surplus,
        session,
        session_is_inside,
    )
    size = len(message.encode())
    if session is not None and not session_is_inside:
        size -= SessionHeader.SIZE
    return replace(message, base=replace(message.base, packet_size=size))


MESSAGES: Final = {
    "plain": user_message(),
    "no destination": user_message(destination=QueueReference()),
    "public destination": user_message(destination=QueueReference(ReferenceCode.PUBLIC, OTHER)),
    "private names": user_message(
        destination=QueueReference(ReferenceCode.PRIVATE_ON_DESTINATION, number=12),
        admin=QueueReference(ReferenceCode.PRIVATE_ON_SOURCE, number=13),
        response=QueueReference(ReferenceCode.PRIVATE_ON_ADMIN_HOST, number=14),
    ),
    "three direct names": user_message(
        admin=direct(r"TCP:192.0.2.7\a", b"\xaa\xbb"), response=direct(r"OS:host\private$\r")
    ),
    "names elsewhere": user_message(
        admin=QueueReference(ReferenceCode.PRIVATE_ELSEWHERE, OTHER, 5),
        response=QueueReference(ReferenceCode.SAME_AS_ADMIN),
    ),
    "connector type": user_message(connector_type=OTHER),
    "no label, no body": user_message(header=properties(b"", "")),
    "extension": user_message(header=properties(b"body", "label", b"extension")),
    "transaction": user_message(transaction=TRANSACTION, base_flags=0),
    "connector transaction": user_message(transaction=CONNECTOR_TRANSACTION, base_flags=0),
    "security": user_message(security=SECURITY),
    "transaction and security": user_message(transaction=TRANSACTION, security=SECURITY),
    "debug": user_message(debug=DEBUG, base_flags=BaseFlags.TR),
    "over HTTP": user_message(envelope=ENVELOPE, compound=COMPOUND),
    "soap": user_message(soap=SOAP),
    "several queues": user_message(multi_queue=MULTI_QUEUE),
    "surplus": user_message(surplus=b"later"),
    "session": user_message(session=SESSION),
    "session inside": user_message(session=SESSION, session_is_inside=True),
    "all": user_message(
        admin=QueueReference(ReferenceCode.PUBLIC, OTHER),
        response=direct(r"OS:host\private$\r"),
        connector_type=OTHER,
        transaction=CONNECTOR_TRANSACTION,
        security=SECURITY,
        debug=DEBUG,
        envelope=ENVELOPE,
        compound=COMPOUND,
        soap=SOAP,
        multi_queue=MULTI_QUEUE,
        surplus=b"later",
        session=SESSION,
    ),
}
"One message for every header and every kind of name, present and absent."


STORED: Final = bytes.fromhex(
    """
    10 00 03 00 4c 49 4f 52 bc 00 00 00 00 46 05 65
    10 b8 a7 6b ad 9d d1 11 80 b4 00 c0 4f d4 30 c8
    04 00 01 00 00 00 00 00 0a 00 00 07 00 00 00 00
    ff ff ff ff 00 00 00 65 01 10 00 00 00 1c 20 00
    36 00 4f 00 53 00 3a 00 73 00 65 00 72 00 76 00
    65 00 72 00 31 00 5c 00 70 00 72 00 69 00 76 00
    61 00 74 00 65 00 24 00 5c 00 6f 00 72 00 64 00
    65 00 72 00 73 00 00 00 00 02 00 00 00 00 00 00
    00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
    00 00 00 00 00 00 00 00 05 00 00 00 05 00 00 00
    00 00 00 00 0e 80 00 00 10 66 00 00 00 00 00 00
    4c 00 00 00 68 65 6c 6c 6f 00 00 00
    0c 00 00 00 b0 00 00 00 12 00 00 00
    94 00 00 00
    """
    + "00" * 144
    + "1c 00 00 00 04 00 01 00 00 00 00 00 0a 00 00 07"
    + "00" * 12
)
"A stored message received from 10.0.0.7, worked out by hand from [MS-MQRR] 2.2.5."


def patch(data: bytes, offset: int, new: bytes) -> bytes:
    """`data` with the bytes at `offset` replaced."""
    assert offset + len(new) <= len(data)
    return data[:offset] + new + data[offset + len(new) :]


def refusal(read: Callable[[Reader], object], data: bytes, *, start: int = 0) -> tuple[str, int]:
    """The field and the offset because of which `data` is refused, read from `start`."""
    with pytest.raises(Malformed) as caught:
        read(Reader(data, start))
    return caught.value.field, caught.value.offset


def one_by_one(events: Iterable[Event]) -> list[Event]:
    """What a session reports, with the messages of groups by themselves."""
    found: list[Event] = []
    for event in events:
        if not isinstance(event, GroupArrived):
            found.append(event)
            continue
        first = event.number - len(event.group.sizes) + 1
        for place, packet in enumerate(event.group.split()):
            found.append(Arrived(packet, first + place if event.number else 0))
    return found
