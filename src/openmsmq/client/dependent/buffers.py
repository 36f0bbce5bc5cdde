"""Messages in transfer buffers, as a dependent client writes and reads them ([MS-MQMP] 3.2.4)."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from openmsmq.errors import Malformed, MQError, UnsupportedOperation
from openmsmq.interfaces.limits import NAME_MAX, READ_SIZE_MAX
from openmsmq.interfaces.qm2qm.transfer_buffer import (
    NAMES,
    ReceivePart,
    receive_buffer,
    send_buffer,
)
from openmsmq.interfaces.queue_format import ObjectId, QueueFormatArgument
from openmsmq.limits import LABEL_UNITS_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.format import PrivateName, parse_format_name
from openmsmq.packet.builder import NO_HEADERS, OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeader
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import (
    INFINITE,
    EncryptionAlgorithm,
    JournalFlags,
    ProviderType,
    SignatureType,
)
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer
from openmsmq.types.received import ReceivedMessage

SID_SIZE: Final = 68
"Bytes of the longest security identifier."
PRIVACY: Final = 2
"""pulPrivLevel of a body that the supporting server is to encrypt ([MS-MQMP] 2.2.3.2; SS-61).

The highest that there is; the server takes the strongest cipher that the receiver has a key for.
"""
NO_ID: Final = ObjectId(NO_GUID, 0)
FIRST_SIZES: Final[Mapping[str, int]] = {
    "body": 4096,
    "extension": 512,
    "title": 64,
    **dict.fromkeys(NAMES, 64),
}
"Room for the usual message; who has a larger one is asked again."
_MOST: Final[Mapping[str, int]] = {
    "body": READ_SIZE_MAX,
    "extension": READ_SIZE_MAX,
    "title": LABEL_UNITS_MAX,
    **dict.fromkeys(NAMES, NAME_MAX),
}
_SCALARS: Final = (
    *("message_class", "sent", "arrived", "priority", "delivery", "acknowledge", "auditing"),
    *("application_tag", "relative_time_to_queue", "time_left_to_live", "trace", "body_type"),
    *("is_first", "is_last", "authenticated", "sender_type"),
)
_ANSWERED: Final = (
    *_SCALARS,
    *("body", "body_needed", "extension", "extension_needed", "title", "sender", "sender_needed"),
    *("message_id", "transaction_id", "correlation_id"),
)
"What a received message has, whatever else."


def sent_buffer(
    message: Message, unit: bytes | None, signed: Mapping[str, Any] | None = None
) -> Any:
    """The buffer of a message to send ([MS-MQMP] 3.2.4.10), with what `signature_fields` made."""
    if message.dead_letter_queue is not None:
        raise UnsupportedOperation("a dependent client names no dead-letter queue")
    body, extension = message.body, message.extension or None
    title = _units(message.label) if message.label else None
    auditing = message.dead_letter * JournalFlags.DEAD_LETTER
    auditing |= message.journal * JournalFlags.JOURNAL
    return send_buffer(
        _format(message.admin_queue),
        _format(message.response_queue),
        body=body,
        body_size=len(body),
        body_allocated=len(body),
        title=title,
        title_size=len(title or ()),
        extension=extension,
        extension_size=len(extension or b""),
        priority=message.priority,
        delivery=int(message.recoverable),
        acknowledge=int(message.acknowledge),
        auditing=int(auditing),
        application_tag=message.app_specific,
        correlation_id=message.correlation_id or None,
        absolute_time_to_queue=_seconds(message.time_to_reach_queue),
        relative_time_to_live=_seconds(message.time_to_be_received),
        trace=int(message.trace),
        body_type=message.body_type,
        unit=unit,
        privacy=PRIVACY if message.encrypt else None,
        encryption_algorithm=int(EncryptionAlgorithm.RC4) if message.encrypt else None,
        **(signed or {}),
    )


def signature_fields(
    message: Message, packer: Packer, destination: FormatName, *, transactional: bool
) -> dict[str, Any]:
    """What a buffer has of a signature ([MS-MQMP] 3.1.5.2); nothing for a message without a signer.

    The server makes the packet; here it is made once before, since most of it is signed. The
    signature is that of the default provider, without a first part.
    """
    signer = message.signer
    if signer is None:
        return {}
    if signer.kind not in (SignatureType.MSMQ_1_0, SignatureType.MSMQ_2_0):
        raise UnsupportedOperation(f"signatures of version {signer.kind.name}: 1.0 or 2.0")
    packet = packer.pack(
        message, destination, message_id=0, sent_time=0, transactional=transactional
    )
    security = PacketView(packet).security
    assert security is not None, "the packet was signed"
    is_newer = signer.kind is SignatureType.MSMQ_2_0
    sender = security.security_id or None
    return {
        "hash_algorithm": int(signer.algorithm),
        "is_default_provider": 1,
        "provider_type": int(ProviderType.RSA_FULL),
        "provider_needed": len(security.signature) if is_newer else None,
        "signature": security.signature,
        "signature_size": len(security.signature),
        "certificate": security.sender_cert,
        "certificate_size": len(security.sender_cert),
        "sender_type": security.flags & SecurityFlags.ST,
        "sender": sender,
        "sender_size": len(sender or b""),
    }


def _seconds(given: int | None) -> int:
    """A lifetime; 0 would be for ever, too, and is as short as can be said."""
    return INFINITE if given is None else max(1, given)


def _format(name: FormatName | None) -> QueueFormatArgument | None:
    return None if name is None else QueueFormatArgument.of(name)


def _units(text: str) -> tuple[int, ...]:
    return tuple(array("H", (text + "\0").encode("utf-16-le", "surrogatepass")))


def empty_buffer(
    action: int, timeout_ms: int, cursor: int, unit: bytes | None, sizes: Mapping[str, int]
) -> Any:
    """A buffer with room for a message ([MS-MQMP] 3.1.5.3, 3.2.4.11, 3.2.4.12)."""
    part: dict[str, Any] = {"timeout": timeout_ms, "action": action, "cursor": cursor}
    for name in NAMES:
        size = sizes[name] if name != "ordering" else 0
        if size:
            part |= {f"{name}_size": size, f"{name}_name": (0,) * size, f"{name}_needed": size}
    fields: dict[str, Any] = dict.fromkeys(_SCALARS, 0)
    for name in ("body", "extension"):
        size = sizes[name]
        fields |= {name: bytes(size), f"{name}_size": size, f"{name}_needed": size}
    title = sizes["title"]
    fields |= {"title": (0,) * title, "title_size": title, "title_needed": title}
    fields |= {"sender": bytes(SID_SIZE), "sender_size": SID_SIZE, "sender_needed": SID_SIZE}
    return receive_buffer(
        part,
        **fields,
        body_allocated=sizes["body"],
        message_id=NO_ID,
        transaction_id=NO_ID,
        correlation_id=bytes(20),
        unit=unit,
    )


def larger(sizes: Mapping[str, int], answered: Any) -> dict[str, int]:
    """Room for the message that had too little of it ([MS-MQMP] 3.1.5.3)."""
    _check_kind(answered)
    found = dict(sizes)
    for name in ("body", "extension", "title"):
        found[name] = max(found[name], getattr(answered, f"{name}_needed") or 0)
    for name in NAMES:
        found[name] = max(found[name], getattr(answered.part, f"{name}_needed") or 0)
    if found == dict(sizes):
        raise Malformed("ptb", 0, "too little room, and no size that is larger")
    return {name: min(size, _MOST[name]) for name, size in found.items()}


def _check_kind(buffer: Any) -> None:
    """Refuse an answer of another kind than the one that was asked for ([MS-MQMP] 2.2.3.2)."""
    if not isinstance(buffer.part, ReceivePart):
        raise Malformed("ptb", 0, "the answer is no received message")


def _check_answer(buffer: Any) -> None:
    """Refuse a buffer in which something is missing that there was room for ([MS-MQMP] 3.1.5.3)."""
    _check_kind(buffer)
    for name in _ANSWERED:
        if getattr(buffer, name) is None:
            raise Malformed("ptb", 0, f"the answer has no {name}")


def message_in(buffer: Any) -> ReceivedMessage:
    """The message of a buffer, its packet made again ([MS-MQMP] 3.1.1.11).

    `Malformed` if it is none.
    """
    _check_answer(buffer)
    source: UUID = buffer.message_id.lineage
    admin, response, destination = (
        _name(getattr(buffer.part, f"{name}_name")) for name in ("admin", "response", "destination")
    )
    manager = destination.guid if isinstance(destination, PrivateName) else NO_GUID
    builder = PacketBuilder(
        source, destination, destination_manager=manager, admin=admin, response=response
    )
    left = buffer.time_left_to_live
    packet = builder.build(
        buffer.body[: buffer.body_needed],
        _text(buffer.title),
        buffer.priority,
        bool(buffer.delivery),
        bool(buffer.auditing & JournalFlags.JOURNAL),
        bool(buffer.auditing & JournalFlags.DEAD_LETTER),
        bool(buffer.trace),
        buffer.message_id.uniquifier,
        buffer.sent,
        buffer.relative_time_to_queue,
        INFINITE if left == INFINITE else max(0, buffer.arrived - buffer.sent) + left,
        buffer.acknowledge,
        buffer.message_class,
        buffer.correlation_id,
        buffer.body_type,
        buffer.application_tag,
        buffer.extension[: buffer.extension_needed],
        _headers(buffer),
    )
    return ReceivedMessage(packet, arrived=buffer.arrived)


def _headers(buffer: Any) -> OptionalHeaders:
    """What tells of the transaction that it was sent in, and who sent it ([MS-MQMP] 2.2.3.3)."""
    number = buffer.transaction_id.uniquifier
    kind, verified = buffer.sender_type, buffer.authenticated
    if not (number or buffer.is_first or buffer.is_last or kind or verified):
        return NO_HEADERS
    transaction = security = None
    if number or buffer.is_first or buffer.is_last:
        flags = TransactionFlags.FM if buffer.is_first else 0
        flags |= TransactionFlags.LM if buffer.is_last else 0
        transaction = TransactionHeader(flags=flags | (number & 0xFFFFF) << 4)
    if kind or verified:
        if kind > SecurityFlags.ST:
            raise Malformed("ptb", 0, f"a sender of type {kind}")
        sender = buffer.sender[: buffer.sender_needed] if kind else b""
        security = SecurityHeader.make(kind | SecurityFlags.AI, security_id=sender)
    return OptionalHeaders(transaction=transaction, security=security, verified=verified)


def _text(units: tuple[int, ...]) -> str:
    return array("H", units).tobytes().decode("utf-16-le", "surrogatepass").partition("\0")[0]


def _name(units: tuple[int, ...] | None) -> FormatName | None:
    """A name of a queue; None if what stands there is none."""
    try:
        return parse_format_name(_text(units)) if units else None
    except MQError:
        return None
