"""A message as an envelope with attachments and as a packet, both ways.

([MC-MQSRM] 3.1.5.1.1, 3.1.7.2.4.) A message that came by SRMP becomes a packet like any other:
every client can read it and every transport can carry it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from openmsmq.errors import IllegalFormatName, Malformed, MQError
from openmsmq.limits import U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DEFAULT_PORTS, DirectName
from openmsmq.names.format import MulticastName
from openmsmq.names.mqf import MQFFormatNameElement
from openmsmq.names.reference import reference_for
from openmsmq.packet.acks import FinalAckBody
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.multi_queue import MQFAddressHeader, MultiQueueFormatHeader
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeader, TxSequenceID
from openmsmq.packet.headers.user import NO_GUID, UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import (
    INFINITE,
    PRIORITY_DEFAULT,
    Acknowledge,
    HashAlgorithm,
    MessageClass,
    SignatureType,
)
from openmsmq.soap.addresses import address_of, destination_at, is_url, queue_at
from openmsmq.soap.envelope import (
    ORDERING_ACK,
    CommitmentReceipt,
    CommitmentRequest,
    DeliveryReceipt,
    Envelope,
    Eod,
    Msmq,
    Path,
    Properties,
    Services,
    StreamHeader,
    StreamReceipt,
    message_id,
)
from openmsmq.soap.kept import kept_envelope, kept_text
from openmsmq.soap.kinds import DECISIONS
from openmsmq.soap.mime import Content
from openmsmq.soap.scalars import NEVER, UNIDENTIFIED, SoapMessageId, StreamId
from openmsmq.soap.signature import DIGESTS, Signer, sign
from openmsmq.soap.similar import read_similar
from openmsmq.soap.tree import envelope_text
from openmsmq.soap.writer import write_envelope


@dataclass(frozen=True, slots=True)
class SoapMessage:
    """An envelope and its attachments."""

    envelope: Envelope
    body: bytes = b""
    extension: bytes = b""
    kept: SoapHeader | None = None
    "Header and Body as they came; None for a message that was not received."
    signed_with: bytes = b""
    "The certificate that its signature was verified with, in DER; empty if none was."


def read_message(content: Content) -> SoapMessage:
    """The message in a request; `Malformed` unless it fits [MC-MQSRM] 2.2.2.

    A receipt has no attachments.
    """
    envelope, kept = read_similar(envelope_text(content.envelope))
    if envelope.is_receipt and (content.body is not None or content.extension is not None):
        raise Malformed("Envelope", 0, "is a receipt, which has no attachments")
    return SoapMessage(envelope, content.body or b"", content.extension or b"", kept)


def write_message(message: SoapMessage) -> Content:
    """The content of a request that carries `message`; an empty attachment is left out."""
    envelope = write_envelope(message.envelope).encode("utf-8")
    return Content(envelope, message.body or None, message.extension or None)


def _single_queue(uri: str) -> DirectName:
    """The queue at an address; a group address names no queue of its own."""
    name = destination_at(uri)
    if isinstance(name, MulticastName):
        raise Malformed("path.to", 0, f"{uri!r:.80} is a group address: it needs a queue")
    return name


def to_packet(
    message: SoapMessage, *, arrived: int, destination: FormatName | None = None
) -> bytes:
    """The packet of a message that came by SRMP ([MC-MQSRM] 3.1.5.1.1).

    `arrived`, in seconds since 1970, is used where no date was sent (HTTP-22), `destination` where
    the address names several queues. `Malformed` if a packet cannot hold the message
    ([MC-MQSRM] 1.6).
    """
    envelope = message.envelope
    identifier = message_id(envelope) or UNIDENTIFIED
    properties = envelope.properties
    sent = properties.sent_at if properties.sent_at is not None else arrived
    msmq = envelope.msmq
    known = msmq or Msmq(identifier.guid, properties.expires_at, priority=PRIORITY_DEFAULT)
    expires = properties.expires_at if msmq is not None else NEVER
    try:
        names = (
            destination or _single_queue(envelope.path.to),
            _admin_queue(envelope.services),
            _response_queue(envelope.path.via, identifier),
        )
        builder = _builder(identifier.guid, names, tuple(map(str, names)))
        return builder.build(
            message.body,
            label=envelope.path.label or "",
            priority=known.priority,
            recoverable=envelope.durable,
            journal=known.journal,
            dead_letter=known.dead_letter,
            trace=known.trace,
            message_id=identifier.number,
            sent_time=sent,
            time_to_reach_queue=_lifetime(known.reach_queue_by, sent),
            time_to_be_received=_lifetime(expires, sent),
            acknowledge=_acknowledge(envelope.services),
            message_class=known.message_class,
            correlation_id=known.correlation,
            body_type=known.body_type,
            app_specific=known.app,
            extension=message.extension,
            headers=OptionalHeaders(
                connector_type=known.connector_type,
                transaction=_transaction(envelope),
                security=_security(message.signed_with),
                soap=message.kept,
                multi_queue=_multi_queue(known),
                hash_algorithm=known.hash_algorithm,
                verified=SignatureType.XML if message.signed_with else SignatureType.NONE,
            ),
        )
    except MQError as error:
        raise Malformed("Envelope", 0, f"has no packet: {error}") from None


@lru_cache(maxsize=256)
def _builder(
    source: UUID,
    names: tuple[FormatName, FormatName | None, FormatName | None],
    spelling: tuple[str, ...],
) -> PacketBuilder:
    """For destination, administration and response queue; equal names have several spellings."""
    del spelling
    destination, admin, response = names
    return PacketBuilder(source, destination, admin=admin, response=response)


def _lifetime(until: int, sent: int) -> int:
    """The seconds from one date to another; one in 2038 means for ever (HTTP-02)."""
    return INFINITE if until >= NEVER else max(0, until - sent)


def _admin_queue(services: Services | None) -> FormatName | None:
    """The queue of the first receipt asked for; both addresses are in the kept header (HTTP-16)."""
    if services is None:
        return None
    commitment = services.commitment.send_to if services.commitment is not None else ""
    uri = services.delivery_to or commitment
    return queue_at(uri, "sendTo") if uri else None


def _acknowledge(services: Services | None) -> int:
    """AcknowledgementsRequested ([MC-MQSRM] 3.1.5.1.1)."""
    if services is None:
        return Acknowledge.NONE
    asked = Acknowledge.POS_ARRIVAL if services.delivery_to else Acknowledge.NONE
    if (commitment := services.commitment) is not None:
        asked |= Acknowledge.POS_RECEIVE if commitment.positive else 0
        asked |= Acknowledge.NEG_RECEIVE if commitment.negative else 0
    return asked


def _response_queue(via: str, identifier: SoapMessageId) -> FormatName | None:
    """The response queue, unless it is of a kind that packets cannot name."""
    if not via:
        return None
    queue = queue_at(via, "path.rev.via")
    try:
        reference_for(queue, source=identifier.guid, destination=NO_GUID)
    except IllegalFormatName:
        return None
    return queue


def _transaction(envelope: Envelope) -> TransactionHeader | None:
    """The place in the stream; a final receipt is owed for DeadLetter ([MC-MQSRM] 3.1.7.3.3)."""
    stream, msmq = envelope.stream, envelope.msmq
    if stream is None or msmq is None:
        return None
    eod = msmq.eod or Eod()
    flags = (
        (TransactionFlags.FA if msmq.dead_letter else 0)
        | (TransactionFlags.FM if eod.first else 0)
        | (TransactionFlags.LM if eod.last else 0)
        | (TransactionFlags.CG if eod.connector_id is not None else 0)
    )
    sequence = TxSequenceID(stream.id.number & U32_MAX, stream.id.number >> 32)
    return TransactionHeader(flags, sequence, stream.current, stream.predecessor, eod.connector_id)


def _security(signed_with: bytes) -> SecurityHeader | None:
    """Whose signature was verified; the signature itself is in the kept SOAP header (HTTP-54)."""
    return SecurityHeader.make(0, sender_cert=signed_with) if signed_with else None


def _multi_queue(msmq: Msmq) -> MultiQueueFormatHeader | None:
    """The lists of queues ([MC-MQSRM] 2.2.6.14 - 2.2.6.16)."""
    lists = (msmq.destinations, msmq.administrations, msmq.responses)
    if not any(lists):
        return None
    destinations, administrations, responses = (tuple(map(_mqf_element, n)) for n in lists)
    return MultiQueueFormatHeader.make(destinations, administrations, responses)


def _mqf_element(name: str) -> MQFFormatNameElement:
    """A name with or without prefix: an address, `MSMQ:` and a format name, or that alone."""
    prefixed = is_url(name) or name.upper().startswith("MSMQ:")
    return MQFFormatNameElement.of(queue_at(name if prefixed else f"MSMQ:{name}", "Mqf"))


def from_packet(
    view: PacketView, *, to: str = "", receipts_to: str = "", signer: Signer | None = None
) -> SoapMessage:
    """The message that SRMP sends for a packet ([MC-MQSRM] 3.1.7.2.4).

    `to` replaces the address of its destination; stream receipts come back to `receipts_to`; body
    and extension are signed by `signer`. An acknowledgement becomes a receipt, which has no body. A
    security header has no place in an envelope, and an encrypted body must not be sent like this.
    """
    assert not view.is_encrypted, "an envelope cannot say how its body is encrypted"
    receipts = _receipts(view)
    sent = view.sent_time
    destination, response = view.destination, view.response_queue
    assert to or destination is not None, "a message goes somewhere"
    transaction = view.transaction
    envelope = Envelope(
        Path(
            to=to or address_of(destination) if destination is not None else to,
            id=str(SoapMessageId(view.message_id, view.source_queue_manager)),
            label=view.label,
            via=address_of(response) if response is not None else "",
        ),
        Properties(_deadline(sent, view.time_to_be_received), sent),
        _services(view, view.admin_queue),
        _stream(transaction, view, receipts_to),
        *receipts,
        msmq=_msmq(view, transaction),
    )
    if envelope.is_receipt:
        return SoapMessage(envelope)
    message = SoapMessage(envelope, view.body, view.extension)
    return message if signer is None else _signed(message, signer)


def _signed(message: SoapMessage, signer: Signer) -> SoapMessage:
    """A message with its signature ([MC-MQSRM] 3.1.7.2.4).

    What has neither body nor extension has nothing to sign: receivers would discard a signature
    without references. HashAlgorithm names the digest that is used, MD5 or SHA-1 (HTTP-31).
    """
    msmq = message.envelope.msmq
    if msmq is None or not (message.body or message.extension):
        return message
    method = DIGESTS.get(msmq.hash_algorithm, "sha1")
    hashed = HashAlgorithm.MD5 if method == "md5" else HashAlgorithm.SHA1
    signature = sign(message.body, message.extension, method, msmq.source, signer)
    envelope = replace(
        message.envelope, msmq=replace(msmq, hash_algorithm=hashed), signature=signature
    )
    return replace(message, envelope=envelope)


def content_as_it_came(view: PacketView) -> Content | None:
    """The content of a request that passes a message on unchanged (HTTP-40); None without envelope.

    Only for packets that came by SRMP: anyone can put a SOAP header into a packet.
    """
    kept = view.message().soap
    if kept is None or kept_envelope(kept) is None:
        return None
    envelope = kept_text(kept).encode("utf-8", "replace")
    return Content(envelope, view.body or None, view.extension or None)


class _Receipts(NamedTuple):
    delivery: DeliveryReceipt | None = None
    commitment: CommitmentReceipt | None = None
    stream: StreamReceipt | None = None


def _receipts(view: PacketView) -> _Receipts:
    """What an acknowledgement says of the message it correlates with ([MC-MQSRM] 3.1.7.3).

    A final stream receipt has the label and the body of a FinalAck, with the GUID of the stream.
    """
    code = view.message_class
    if code == MessageClass.ACK_REACH_QUEUE:
        return _Receipts(delivery=DeliveryReceipt(view.sent_time, _acknowledged(view)))
    if code not in DECISIONS:
        return _Receipts()
    decided = CommitmentReceipt(view.sent_time, DECISIONS[code], _acknowledged(view))
    if view.label != ORDERING_ACK or view.message_size != FinalAckBody.SIZE:
        return _Receipts(commitment=decided)
    final = FinalAckBody.unpack(view.body)
    stream = StreamId(final.source_guid, final.tx_sequence_id.number)
    return _Receipts(None, decided, StreamReceipt(stream, final.tx_sequence_number))


def _acknowledged(view: PacketView) -> str:
    correlation = view.correlation_id
    number = int.from_bytes(correlation[16:], "little")
    return str(SoapMessageId(number, UUID(bytes_le=correlation[:16])))


def _deadline(sent: int, lifetime: int) -> int:
    """The date a lifetime ends, at most that in 2038 (HTTP-02)."""
    return NEVER if lifetime == INFINITE else min(sent + lifetime, NEVER)


def _services(view: PacketView, admin: FormatName | None) -> Services | None:
    """durable and the receipts asked for, which need an administration queue with an address."""
    url = ""
    if isinstance(admin, DirectName) and admin.protocol in DEFAULT_PORTS:
        url = address_of(admin)
    asked = Acknowledge(view.acknowledge) if url else Acknowledge.NONE
    receive = asked & (Acknowledge.POS_RECEIVE | Acknowledge.NEG_RECEIVE)
    services = Services(
        durable=view.recoverable,
        delivery_to=url if asked & Acknowledge.POS_ARRIVAL else "",
        commitment=CommitmentRequest(
            url,
            positive=bool(asked & Acknowledge.POS_RECEIVE),
            negative=bool(asked & Acknowledge.NEG_RECEIVE),
        )
        if receive
        else None,
    )
    return services if services != Services() else None


def _stream(
    header: TransactionHeader | None, view: PacketView, receipts_to: str
) -> StreamHeader | None:
    """The place in the stream ([MC-MQSRM] 3.1.7.2.4); start stands in the first message."""
    if header is None or not header.tx_sequence_id.number:
        return None
    number = header.tx_sequence_number
    return StreamHeader(
        StreamId(view.source_queue_manager, header.tx_sequence_id.number),
        number,
        header.previous_tx_sequence_number or None,
        receipts_to if number == 1 else "",
    )


def _msmq(view: PacketView, transaction: TransactionHeader | None) -> Msmq:
    """The Msmq entry of a packet."""
    lists = view.message().multi_queue if view.flags & UserFlags.MQ else None
    return Msmq(
        source=view.source_queue_manager,
        reach_queue_by=_deadline(view.sent_time, view.time_to_reach_queue),
        message_class=view.message_class,
        priority=view.priority,
        journal=view.journal,
        dead_letter=view.dead_letter,
        correlation=view.correlation_id,
        trace=view.trace,
        connector_type=view.connector_type,
        app=view.app_specific,
        body_type=view.body_type,
        hash_algorithm=view.hash_algorithm,
        eod=_eod(transaction),
        destinations=_addresses(lists.destination) if lists is not None else (),
        administrations=_addresses(lists.administration) if lists is not None else (),
        responses=_addresses(lists.response) if lists is not None else (),
    )


def _eod(header: TransactionHeader | None) -> Eod | None:
    if header is None:
        return None
    eod = Eod(
        bool(header.flags & TransactionFlags.FM),
        bool(header.flags & TransactionFlags.LM),
        header.connector_qm_guid,
    )
    return eod if eod != Eod() else None


def _addresses(names: MQFAddressHeader) -> tuple[str, ...]:
    """The URIs of a list; blanks separate them, so one with a blank is left out."""
    found = (address_of(element.name()) for element in names.elements)
    return tuple(uri for uri in found if " " not in uri)
