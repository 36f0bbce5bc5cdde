"""An SRMP envelope as values: what each header entry says ([MC-MQSRM] 2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

from openmsmq.soap.scalars import SoapMessageId, StreamId

ENVELOPE: Final = "http://schemas.xmlsoap.org/soap/envelope/"
SRMP: Final = "http://schemas.xmlsoap.org/srmp/"
ROUTING: Final = "http://schemas.xmlsoap.org/rp/"
MSMQ: Final = "msmq.namespace.xml"
SIGNATURE: Final = "http://www.w3.org/2000/02/xmldsig#"

ACTION_PREFIX: Final = "MSMQ:"
ORDERING_ACK: Final = "QM Ordering Ack"
"The label of a stream receipt ([MC-MQSRM] 2.2.4.1)."


@dataclass(frozen=True, slots=True)
class Path:
    """Where a message goes and comes from: the WS-Routing entry ([MC-MQSRM] 2.2.4)."""

    to: str
    "URI of the destination queue."
    id: str
    "As it was written; only a message with Msmq element has to have an identifier here."
    label: str | None = ""
    "None if the action does not begin with `MSMQ:` (note 5)."
    via: str = ""
    "URI of the response queue; empty without one."


@dataclass(frozen=True, slots=True)
class Properties:
    """The dates of a message, in seconds since 1970 ([MC-MQSRM] 2.2.5.1)."""

    expires_at: int
    sent_at: int | None = None


@dataclass(frozen=True, slots=True)
class CommitmentRequest:
    """A commitmentReceiptRequest ([MC-MQSRM] 2.2.5.2.3)."""

    send_to: str
    positive: bool = False
    "A receipt is wanted when the message was received."
    negative: bool = False
    "A receipt is wanted when the message was discarded or expired."


@dataclass(frozen=True, slots=True)
class Services:
    """What is asked of the receiver ([MC-MQSRM] 2.2.5.2)."""

    durable: bool = False
    delivery_to: str = ""
    "URI that delivery receipts go to; empty if none is asked for."
    commitment: CommitmentRequest | None = None


@dataclass(frozen=True, slots=True)
class StreamHeader:
    """The place of a message in its stream ([MC-MQSRM] 2.2.5.3)."""

    id: StreamId
    current: int
    previous: int | None = None
    "None where it is not written, which means `current - 1` (HTTP-10)."
    send_receipts_to: str = ""
    "URI for stream receipts: in the first message of a stream, and in no other."

    @property
    def predecessor(self) -> int:
        """The sequence number of the message before it; 0 for the first."""
        return self.current - 1 if self.previous is None else self.previous


@dataclass(frozen=True, slots=True)
class DeliveryReceipt:
    """A message was placed in its queue ([MC-MQSRM] 2.2.5.4)."""

    received_at: int
    id: str


@dataclass(frozen=True, slots=True)
class CommitmentReceipt:
    """A message was received, or will never be ([MC-MQSRM] 2.2.5.5)."""

    decided_at: int
    positive: bool
    id: str


@dataclass(frozen=True, slots=True)
class StreamReceipt:
    """All messages of a stream up to `last_ordinal` have arrived ([MC-MQSRM] 2.2.5.6)."""

    stream_id: StreamId
    last_ordinal: int


@dataclass(frozen=True, slots=True)
class Eod:
    """The place of a message in its transaction ([MC-MQSRM] 2.2.6.11)."""

    first: bool = False
    last: bool = False
    connector_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Provider:
    """The cryptographic provider of a signature ([MC-MQSRM] 2.2.6.12)."""

    type: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Msmq:
    """The attributes of a message that SOAP has no entry for ([MC-MQSRM] 2.2.6)."""

    source: UUID
    "The queue manager that sent the message."
    reach_queue_by: int
    "TTrq, in seconds since 1970."
    message_class: int = 0
    priority: int = 3
    journal: bool = False
    dead_letter: bool = False
    correlation: bytes = bytes(20)
    trace: bool = False
    connector_type: UUID | None = None
    app: int = 0
    body_type: int = 0
    hash_algorithm: int = 0
    eod: Eod | None = None
    provider: Provider | None = None
    destinations: tuple[str, ...] = ()
    administrations: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """The digest of one attachment ([MC-MQSRM] 2.2.7.1.2)."""

    uri: str
    "`cid:body@GUID` or `cid:extension@GUID`."
    method: str
    "The digest algorithm, without the name space."
    digest: bytes


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature that has every element it needs ([MC-MQSRM] 2.2.7)."""

    signed_info: str
    "SignedInfo exactly as it was written: these characters are signed (HTTP-27)."
    references: tuple[Reference, ...]
    value: bytes


@dataclass(frozen=True, slots=True)
class BadSignature:
    """A signature that cannot be valid; the message is discarded ([MC-MQSRM] 3.1.5.1.6.1)."""

    reason: str


AnySignature: TypeAlias = Signature | BadSignature


@dataclass(frozen=True, slots=True)
class Envelope:
    """A whole SRMP envelope ([MC-MQSRM] 2.2.2)."""

    path: Path
    properties: Properties
    services: Services | None = None
    stream: StreamHeader | None = None
    delivery_receipt: DeliveryReceipt | None = None
    commitment_receipt: CommitmentReceipt | None = None
    stream_receipt: StreamReceipt | None = None
    msmq: Msmq | None = None
    signature: AnySignature | None = None

    @property
    def is_receipt(self) -> bool:
        """True with any receipt element; such an envelope has no attachments."""
        receipts = (self.delivery_receipt, self.commitment_receipt, self.stream_receipt)
        return any(receipt is not None for receipt in receipts)

    @property
    def durable(self) -> bool:
        """True if the message is to be on disk before it is answered for."""
        return self.stream is not None or (self.services is not None and self.services.durable)


def message_id(envelope: Envelope) -> SoapMessageId | None:
    """The identifier of a message; None without Msmq element ([MC-MQSRM] 3.1.5.1.1).

    SourceQmGuid wins over the GUID in `id` (note 7, HTTP-24).
    """
    if envelope.msmq is None:
        return None
    written = SoapMessageId.read(envelope.path.id, "path.id")
    return SoapMessageId(written.number, envelope.msmq.source)
