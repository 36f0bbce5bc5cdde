"""Writes an envelope: one line, elements in their order, the literals of [MC-MQSRM] 3.1.7.2.4."""

from __future__ import annotations

import re
from typing import Final

from openmsmq.soap.envelope import (
    ACTION_PREFIX,
    ENVELOPE,
    MSMQ,
    ROUTING,
    SRMP,
    BadSignature,
    CommitmentReceipt,
    DeliveryReceipt,
    Envelope,
    Msmq,
    Path,
    Properties,
    Services,
    StreamHeader,
    StreamReceipt,
)
from openmsmq.soap.scalars import guid_text, write_base64, write_date
from openmsmq.soap.signature import write_signature

_OPEN: Final = f'<se:Envelope xmlns:se="{ENVELOPE}" xmlns="{SRMP}">'
_CLOSE: Final = "</se:Envelope>"
_BODY: Final = "<se:Body></se:Body>"
_MUST: Final = 'se:mustUnderstand="1"'

_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"}
_ESCAPED = re.compile("[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REPLACEMENT: Final = "\ufffd"


def escape(text: str) -> str:
    """`text` as the content of an element.

    A carriage return is written as a reference, for readers would make a line feed of it. What XML
    cannot hold at all (control characters, half surrogate pairs) becomes U+FFFD, so that a label
    with such a character does not keep its message from arriving (HTTP-44).
    """
    return _ESCAPED.sub(lambda match: _NAMED.get(match[0], _REPLACEMENT), text)


def write_envelope(envelope: Envelope) -> str:
    """The whole envelope ([MC-MQSRM] 3.1.7.2.4); receipts stand before Msmq, as in 4.3."""
    return f"{_OPEN}{write_header(envelope)}{_BODY}{_CLOSE}"


def write_header(envelope: Envelope) -> str:
    """The Header of an envelope with its entries."""
    signature = envelope.signature
    assert not isinstance(signature, BadSignature), "a signature that cannot be valid is not sent"
    entries = (
        _write_path(envelope.path, is_receipt=envelope.is_receipt),
        _write_properties(envelope.properties),
        _write_services(envelope.services) if envelope.services is not None else "",
        _write_stream(envelope.stream) if envelope.stream is not None else "",
        _write_commitment(envelope.commitment_receipt),
        _write_delivery(envelope.delivery_receipt),
        _write_stream_receipt(envelope.stream_receipt),
        _write_msmq(envelope.msmq) if envelope.msmq is not None else "",
        write_signature(signature) if signature is not None else "",
    )
    return f"<se:Header>{''.join(entries)}</se:Header>"


def _element(name: str, text: str) -> str:
    return f"<{name}>{escape(text)}</{name}>"


def _flag(name: str, there: bool) -> str:
    return f"<{name}/>" if there else ""


def _write_path(path: Path, *, is_receipt: bool) -> str:
    """The WS-Routing entry ([MC-MQSRM] 2.2.4.4); receipts have rev before id, as in 4.3.

    A label that is not there is written as an empty one, as Windows does (note 6).
    """
    identifier = _element("id", path.id)
    rev = f"<rev>{_element('via', path.via)}</rev>" if path.via else ""
    rest = rev + identifier if is_receipt else identifier + rev
    action = _element("action", ACTION_PREFIX + (path.label or ""))
    return f'<path xmlns="{ROUTING}" {_MUST}>{action}{_element("to", path.to)}{rest}</path>'


def _write_properties(properties: Properties) -> str:
    expires = _element("expiresAt", write_date(properties.expires_at))
    sent = properties.sent_at
    sent_at = _element("sentAt", write_date(sent)) if sent is not None else ""
    return f"<properties {_MUST}>{expires}{sent_at}</properties>"


def _write_services(services: Services) -> str:
    """durable, then the requests ([MC-MQSRM] 3.1.7.2.4)."""
    delivery = commitment = ""
    if services.delivery_to:
        request = "deliveryReceiptRequest"
        delivery = f"<{request}>{_element('sendTo', services.delivery_to)}</{request}>"
    if (asked := services.commitment) is not None:
        request = "commitmentReceiptRequest"
        outcomes = _flag("positiveOnly", asked.positive) + _flag("negativeOnly", asked.negative)
        commitment = f"<{request}>{_element('sendTo', asked.send_to)}{outcomes}</{request}>"
    durable = _flag("durable", services.durable)
    return f"<services {_MUST}>{durable}{delivery}{commitment}</services>"


def _write_stream(stream: StreamHeader) -> str:
    """The stream entry, in small letters (HTTP-01); `previous` unless it is 0."""
    previous = _element("previous", str(stream.previous)) if stream.previous else ""
    start = ""
    if stream.send_receipts_to:
        start = f"<start>{_element('sendReceiptsTo', stream.send_receipts_to)}</start>"
    place = _element("streamId", str(stream.id)) + _element("current", str(stream.current))
    return f"<stream {_MUST}>{place}{previous}{start}</stream>"


def _write_delivery(receipt: DeliveryReceipt | None) -> str:
    if receipt is None:
        return ""
    received = _element("receivedAt", write_date(receipt.received_at))
    return f"<deliveryReceipt>{received}{_element('id', receipt.id)}</deliveryReceipt>"


def _write_commitment(receipt: CommitmentReceipt | None) -> str:
    if receipt is None:
        return ""
    decided = _element("decidedAt", write_date(receipt.decided_at))
    decision = _element("decision", "positive" if receipt.positive else "negative")
    return f"<commitmentReceipt>{decided}{decision}{_element('id', receipt.id)}</commitmentReceipt>"


def _write_stream_receipt(receipt: StreamReceipt | None) -> str:
    if receipt is None:
        return ""
    stream = _element("streamId", str(receipt.stream_id))
    last = _element("lastOrdinal", str(receipt.last_ordinal))
    return f"<streamReceipt>{stream}{last}</streamReceipt>"


def _write_msmq(msmq: Msmq) -> str:
    """The Msmq entry in its fixed order.

    Correlation, App and HashAlgorithm are always written, as Windows does (HTTP-21).
    """
    connector = msmq.connector_type
    parts = (
        _element("Class", str(msmq.message_class)),
        _element("Priority", str(msmq.priority)),
        _flag("Journal", msmq.journal),
        _flag("DeadLetter", msmq.dead_letter),
        _element("Correlation", write_base64(msmq.correlation)),
        _flag("Trace", msmq.trace),
        _element("ConnectorType", str(connector)) if connector is not None else "",
        _element("App", str(msmq.app)),
        _element("BodyType", str(msmq.body_type)),
        _element("HashAlgorithm", str(msmq.hash_algorithm)),
        _write_eod(msmq),
        _write_provider(msmq),
        _element("SourceQmGuid", guid_text(msmq.source)),
        _write_names("DestinationMqf", msmq.destinations),
        _write_names("AdminMqf", msmq.administrations),
        _write_names("ResponseMqf", msmq.responses),
        _element("TTrq", write_date(msmq.reach_queue_by)),
    )
    return f'<Msmq xmlns="{MSMQ}">{"".join(parts)}</Msmq>'


def _write_eod(msmq: Msmq) -> str:
    eod = msmq.eod
    if eod is None:
        return ""
    connector = eod.connector_id
    guid = _element("ConnectorId", str(connector)) if connector is not None else ""
    return f"<Eod>{_flag('First', eod.first)}{_flag('Last', eod.last)}{guid}</Eod>"


def _write_provider(msmq: Msmq) -> str:
    provider = msmq.provider
    if provider is None:
        return ""
    return (
        f"<Provider>{_element('Type', str(provider.type))}"
        f"{_element('Name', provider.name)}</Provider>"
    )


def _write_names(name: str, names: tuple[str, ...]) -> str:
    """Names, each followed by a blank ([MC-MQSRM] 3.1.7.2.4)."""
    return _element(name, "".join(f"{one} " for one in names)) if names else ""
