"""Reads an envelope; whatever breaks a MUST of [MC-MQSRM] 2.2 is `Malformed`.

Prefixes and the order of elements do not matter, unknown elements are passed over, and white space
around texts is layout. An element that may be there once is never taken from two.
"""

from __future__ import annotations

import re
from typing import Final

from openmsmq import limits
from openmsmq.errors import Malformed
from openmsmq.limits import U16_MAX, U32_MAX
from openmsmq.packet.headers.properties import NO_CORRELATION
from openmsmq.properties.message import PRIORITY_MAX
from openmsmq.soap.addresses import queue_at
from openmsmq.soap.elements import Element
from openmsmq.soap.envelope import (
    ACTION_PREFIX,
    ENVELOPE,
    MSMQ,
    ROUTING,
    SIGNATURE,
    SRMP,
    CommitmentReceipt,
    CommitmentRequest,
    DeliveryReceipt,
    Envelope,
    Eod,
    Msmq,
    Path,
    Properties,
    Provider,
    Services,
    StreamHeader,
    StreamReceipt,
    message_id,
)
from openmsmq.soap.limits import URI_MAX
from openmsmq.soap.scalars import (
    WHITE_SPACE,
    SoapMessageId,
    StreamId,
    read_base64,
    read_date,
    read_guid,
    read_number,
    refused,
)
from openmsmq.soap.signature import read_signature
from openmsmq.soap.tree import envelope_text, read_element

MULTICAST_PREFIX: Final = "MSMQ:MULTICAST="

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNDERSTAND = f"{{{ENVELOPE}}}mustUnderstand"
_KNOWN = {
    (ROUTING, "path"),
    (MSMQ, "Msmq"),
    (SIGNATURE, "Signature"),
    *(
        (SRMP, name)
        for name in (
            "properties",
            "services",
            "stream",
            "Stream",
            "deliveryReceipt",
            "commitmentReceipt",
            "streamReceipt",
        )
    ),
}


def read_envelope(data: bytes) -> Envelope:
    """The envelope in `data` ([MC-MQSRM] 2.2.2, 3.1.5.1.2)."""
    return read_envelope_text(envelope_text(data))


def read_envelope_text(text: str) -> Envelope:
    """The envelope written as `text`, without XML declaration ([MC-MQSRM] 2.2.2)."""
    return read_entries(read_element(text), text)


def read_entries(root: Element, text: str) -> Envelope:
    """The envelope whose element is `root` and that was written as `text` ([MC-MQSRM] 2.2.2)."""
    header, _ = header_and_body(root)
    _check_understood(header)
    stream = _either(header.only(SRMP, "stream"), header.only(SRMP, "Stream"))
    delivery = header.only(SRMP, "deliveryReceipt")
    commitment = header.only(SRMP, "commitmentReceipt")
    receipt = header.only(SRMP, "streamReceipt")
    services = header.only(SRMP, "services")
    msmq = header.only(MSMQ, "Msmq")
    signature = header.only(SIGNATURE, "Signature")
    envelope = Envelope(
        path=_read_path(_obliged(header.required(ROUTING, "path"))),
        properties=_read_properties(_obliged(header.required(SRMP, "properties"))),
        services=_read_services(_obliged(services)) if services else None,
        stream=_read_stream(_obliged(stream)) if stream else None,
        delivery_receipt=_read_delivery_receipt(delivery) if delivery else None,
        commitment_receipt=_read_commitment_receipt(commitment) if commitment else None,
        stream_receipt=_read_stream_receipt(receipt) if receipt else None,
        msmq=_read_msmq(msmq) if msmq else None,
        signature=read_signature(signature, text) if signature else None,
    )
    _check_whole(envelope)
    return envelope


def header_and_body(root: Element) -> tuple[Element, Element]:
    """Header, first in the Envelope, and Body, directly after it ([MC-MQSRM] 2.2.2)."""
    if (root.namespace, root.name) != (ENVELOPE, "Envelope"):
        raise Malformed("Envelope", root.start, f"{root.name!r:.60} is not that of SOAP 1.1")
    names = [(child.namespace, child.name) for child in root.children[:2]]
    if names != [(ENVELOPE, "Header"), (ENVELOPE, "Body")]:
        raise Malformed("Envelope", root.start, "does not begin with Header and Body")
    root.only(ENVELOPE, "Header")
    root.only(ENVELOPE, "Body")
    return root.children[0], root.children[1]


def _check_understood(header: Element) -> None:
    """Refuse an unknown entry that must be understood (SOAP 1.1 4.2.3; HTTP-34)."""
    for entry in header.children:
        known = (entry.namespace, entry.name) in _KNOWN
        if not known and entry.attributes.get(_UNDERSTAND, "0").strip(WHITE_SPACE) != "0":
            raise Malformed(
                f"Header.{entry.name:.60}", entry.start, "must be understood, and is not known"
            )


def _obliged(element: Element) -> Element:
    """Refuse an entry without `mustUnderstand="1"`, which these have to have."""
    if element.attributes.get(_UNDERSTAND, "").strip(WHITE_SPACE) != "1":
        raise Malformed(element.name, element.start, 'lacks mustUnderstand="1"')
    return element


def _either(stream: Element | None, capitalised: Element | None) -> Element | None:
    """The stream entry, which examples write with a capital letter ([MC-MQSRM] 4.4, HTTP-01)."""
    if stream is not None and capitalised is not None:
        raise Malformed("Header.stream", capitalised.start, "is there twice")
    return stream if stream is not None else capitalised


def _check_whole(envelope: Envelope) -> None:
    """What entries demand of each other ([MC-MQSRM] 2.2.4.3, 2.2.5.3).

    A stream without durable is read as one with it (HTTP-43).
    """
    if envelope.stream is not None and envelope.msmq is None:
        raise Malformed("stream", 0, "is there without Msmq")
    message_id(envelope)


def _read_path(path: Element) -> Path:
    """WS-Routing: action, to, id, rev.

    ([MC-MQSRM] 2.2.4.1, 2.2.4.2, 2.2.4.3, 2.2.4.4, 2.2.4.5)
    """
    to = path.required(ROUTING, "to").content
    if not to.upper().startswith(MULTICAST_PREFIX):
        to = _http_uri(to, "path.to")
    rev = path.only(ROUTING, "rev")
    return Path(
        to=to,
        id=path.required(ROUTING, "id").content,
        label=_read_action(path.required(ROUTING, "action")),
        via=_read_via(rev.required(ROUTING, "via").content) if rev else "",
    )


def _read_action(action: Element) -> str | None:
    if action.children:
        raise Malformed("path.action", action.start, "has elements inside, not text")
    return read_label(action.text, action.start)


def read_label(text: str, place: int) -> str | None:
    """The text after `MSMQ:`, to its last character; None without the prefix (note 5)."""
    text = text.lstrip(WHITE_SPACE)
    if not text.startswith(ACTION_PREFIX):
        return None
    label = text.removeprefix(ACTION_PREFIX)
    if (units := len(label.encode("utf-16-le")) // 2) >= limits.LABEL_UNITS_MAX:
        raise Malformed("path.action", place, f"a label of {units} characters, not 249")
    return label


def _read_via(uri: str) -> str:
    """The response queue; an empty one is none ([MC-MQSRM] 2.2.4.4)."""
    if not uri:
        return ""
    return uri if uri.startswith(ACTION_PREFIX) else _http_uri(uri, "path.rev.via")


def _http_uri(text: str, field: str) -> str:
    """An address that begins with `http://` or `https://`."""
    if not text.lower().startswith(("http://", "https://")) or len(text) > URI_MAX:
        raise refused(field, text, f"an http or https address of at most {URI_MAX} characters")
    if _CONTROL.search(text):
        raise refused(field, text, "an address: it has control characters")
    return text


def _receipt_address(element: Element) -> str:
    """The address of a queue that takes receipts; no other can be asked for (HTTP-47)."""
    url = _http_uri(element.content, element.name)
    queue_at(url, element.name)
    return url


def _read_properties(properties: Element) -> Properties:
    sent = properties.only(SRMP, "sentAt")
    return Properties(
        read_date(properties.required(SRMP, "expiresAt").content, "properties.expiresAt"),
        read_date(sent.content, "properties.sentAt") if sent else None,
    )


def _read_services(services: Element) -> Services:
    delivery = services.only(SRMP, "deliveryReceiptRequest")
    commitment = services.only(SRMP, "commitmentReceiptRequest")
    return Services(
        durable=services.only(SRMP, "durable") is not None,
        delivery_to=_read_send_to(delivery) if delivery else "",
        commitment=CommitmentRequest(
            _read_send_to(commitment),
            positive=commitment.only(SRMP, "positiveOnly") is not None,
            negative=commitment.only(SRMP, "negativeOnly") is not None,
        )
        if commitment
        else None,
    )


def _read_send_to(request: Element) -> str:
    return _receipt_address(request.required(SRMP, "sendTo"))


def _read_stream(stream: Element) -> StreamHeader:
    """The stream entry ([MC-MQSRM] 4.4, 2.2.5.3.1 - 2.2.5.3.4)."""
    current = read_number(stream.required(SRMP, "current").content, "stream.current", U32_MAX)
    previous = stream.only(SRMP, "previous")
    before = read_number(previous.content, "stream.previous", U32_MAX) if previous else None
    if current == 0 or (before is not None and before >= current):
        raise Malformed("stream.current", stream.start, f"{current} does not follow {before}")
    start = stream.only(SRMP, "start")
    if (start is not None) != (current == 1):
        raise Malformed("stream.start", stream.start, f"is out of place in message {current}")
    return StreamHeader(
        StreamId.read(stream.required(SRMP, "streamId").content, "stream.streamId"),
        current,
        before,
        _receipt_address(start.required(SRMP, "sendReceiptsTo")) if start else "",
    )


def _read_receipt_id(receipt: Element) -> str:
    text = receipt.required(SRMP, "id").content
    SoapMessageId.read(text, f"{receipt.name}.id")
    return text


def _read_delivery_receipt(receipt: Element) -> DeliveryReceipt:
    received = receipt.required(SRMP, "receivedAt").content
    return DeliveryReceipt(read_date(received, "receivedAt"), _read_receipt_id(receipt))


def _read_commitment_receipt(receipt: Element) -> CommitmentReceipt:
    decided = read_date(receipt.required(SRMP, "decidedAt").content, "decidedAt")
    decision = receipt.required(SRMP, "decision").content
    if decision not in ("positive", "negative"):
        raise refused("commitmentReceipt.decision", decision, "positive or negative")
    return CommitmentReceipt(decided, decision == "positive", _read_receipt_id(receipt))


def _read_stream_receipt(receipt: Element) -> StreamReceipt:
    last = receipt.required(SRMP, "lastOrdinal").content
    return StreamReceipt(
        StreamId.read(receipt.required(SRMP, "streamId").content, "streamReceipt.streamId"),
        read_number(last, "streamReceipt.lastOrdinal", U32_MAX),
    )


def _read_msmq(msmq: Element) -> Msmq:
    """The Msmq entry ([MC-MQSRM] 2.2.6.1 - 2.2.6.17).

    Journal, DeadLetter and Trace are there or not ([MC-MQSRM] 2.2.6.3, 2.2.6.4, 2.2.6.6).
    """

    def number(name: str, maximum: int, *, default: int | None = 0) -> int:
        element = msmq.only(MSMQ, name) if default is not None else msmq.required(MSMQ, name)
        if element is None:
            return default or 0
        return read_number(element.content, f"Msmq.{name}", maximum)

    def has(name: str) -> bool:
        return msmq.only(MSMQ, name) is not None

    connector = msmq.only(MSMQ, "ConnectorType")
    eod, provider = msmq.only(MSMQ, "Eod"), msmq.only(MSMQ, "Provider")
    return Msmq(
        source=read_guid(msmq.required(MSMQ, "SourceQmGuid").content, "Msmq.SourceQmGuid"),
        reach_queue_by=read_date(msmq.required(MSMQ, "TTrq").content, "Msmq.TTrq"),
        message_class=number("Class", U16_MAX, default=None),
        priority=number("Priority", PRIORITY_MAX, default=None),
        journal=has("Journal"),
        dead_letter=has("DeadLetter"),
        correlation=_read_correlation(msmq.only(MSMQ, "Correlation")),
        trace=has("Trace"),
        connector_type=read_guid(connector.content, "Msmq.ConnectorType") if connector else None,
        app=number("App", U32_MAX),
        body_type=number("BodyType", U32_MAX, default=None),
        hash_algorithm=number("HashAlgorithm", U32_MAX),
        eod=_read_eod(eod) if eod else None,
        provider=_read_provider(provider) if provider else None,
        destinations=_read_names(msmq.only(MSMQ, "DestinationMqf")),
        administrations=_read_names(msmq.only(MSMQ, "AdminMqf")),
        responses=_read_names(msmq.only(MSMQ, "ResponseMqf")),
    )


def _read_correlation(correlation: Element | None) -> bytes:
    """20 bytes: a GUID and a number, both little-endian ([MC-MQSRM] 2.2.6.5)."""
    if correlation is None:
        return NO_CORRELATION
    size = len(NO_CORRELATION)
    return read_base64(correlation.content, "Msmq.Correlation", size, size)


def _read_eod(eod: Element) -> Eod:
    connector = eod.only(MSMQ, "ConnectorId")
    return Eod(
        eod.only(MSMQ, "First") is not None,
        eod.only(MSMQ, "Last") is not None,
        read_guid(connector.content, "Eod.ConnectorId") if connector else None,
    )


def _read_provider(provider: Element) -> Provider:
    """Type and Name; a sender leaves out the one that is not set ([MC-MQSRM] 3.1.7.2.4)."""
    kind, name = provider.only(MSMQ, "Type"), provider.only(MSMQ, "Name")
    return Provider(
        read_number(kind.content, "Provider.Type", U32_MAX) if kind else 0,
        name.content if name else "",
    )


def _read_names(names: Element | None) -> tuple[str, ...]:
    """Names separated by white space ([MC-MQSRM] 2.2.6.14 - 2.2.6.16; HTTP-35)."""
    found = tuple(names.content.split()) if names else ()
    if len(found) > limits.MULTI_QUEUE_ELEMENTS_MAX:
        raise Malformed("Msmq", 0, f"lists {len(found)} queues")
    return found
