"""One request and its answer: what is posted, what a status means, what is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import NamedTuple, Protocol
from uuid import UUID

from openmsmq.errors import Malformed
from openmsmq.names.base import FormatName
from openmsmq.packet.view import PacketView
from openmsmq.soap.addresses import address_of
from openmsmq.soap.envelope import ROUTING, BadSignature, Envelope, Signature, StreamReceipt
from openmsmq.soap.kinds import SoapKind, kind_of
from openmsmq.soap.mime import Content, join_content, split_content
from openmsmq.soap.packets import (
    content_as_it_came,
    read_message,
    to_packet,
)
from openmsmq.soap.reader import header_and_body
from openmsmq.soap.request import Request, request_to
from openmsmq.soap.scalars import SoapMessageId
from openmsmq.soap.signature import Signer, digest_fault
from openmsmq.soap.tree import read_element
from openmsmq.soap.writer import escape, write_envelope
from openmsmq.soap.written import write_similar
from openmsmq.transports.srmp.outcomes import SrmpOutcome, Verdict
from openmsmq.transports.srmp.streams import StreamPosition, position_of
from openmsmq.transports.timer import Timer, Timers


def request_for(
    view: PacketView, *, manager: UUID, receipts_to: str, signer: Signer | None = None
) -> Request:
    """The request that carries the message of a packet ([MC-MQSRM] 3.1.7.2.4, 3.1.7.2.5)."""
    to, written = write_similar(view, receipts_to=receipts_to, signer=signer)
    content_type, content = join_content(written, manager, view.message_id)
    return request_to(to, content_type, content)


def forwarded_request(view: PacketView, *, manager: UUID) -> Request:
    """The request that passes on a message as it came over HTTP ([MC-MQSRM] 3.1.5.1.3).

    Only where it goes is written anew, if it was redirected: a signature does not cover that.
    """
    content, destination = content_as_it_came(view), view.destination
    if content is None or destination is None:
        raise Malformed("SoapHeader", 0, "has no envelope that could be passed on")
    url, text = address_of(destination), content.envelope.decode("utf-8")
    to = header_and_body(read_element(text))[0].required(ROUTING, "path").required(ROUTING, "to")
    if to.content.lower() != url.lower():
        start, end = to.inner
        content = replace(content, envelope=f"{text[:start]}{escape(url)}{text[end:]}".encode())
    return request_to(url, *join_content(content, manager, view.message_id))


def receipt_request(receipt: Envelope) -> Request:
    """The request that carries a receipt: an envelope alone ([MC-MQSRM] 2.2.2)."""
    content = Content(write_envelope(receipt).encode("utf-8"))
    return request_to(receipt.path.to, "text/xml", content.envelope)


class PostResult(NamedTuple):
    """The answer to a request."""

    status: int | None
    "None if none came."
    error: str = ""
    "Why not."


def verdict_of(status: int | None) -> Verdict:
    """What a status means; None where no answer came ([MC-MQSRM] 3.1.7.2.5; HTTP-05)."""
    if status is not None and 200 <= status < 300:
        return Verdict.TAKEN
    return Verdict.REFUSED if status == HTTPStatus.BAD_REQUEST else Verdict.RETRY


class Poster(Timers, Protocol):
    """Posts requests and says what was answered."""

    def post(
        self, request: Request, done: Callable[[PostResult], None], *, is_secure: bool
    ) -> Timer:
        """Post a request: `done` is called once, later, unless it is cancelled."""
        ...


class FinalReceipt(NamedTuple):
    """A message of a stream was received, or will never be ([MC-MQSRM] 3.1.1.3.3)."""

    message: SoapMessageId
    reason: int
    "Its class."


@dataclass(frozen=True, slots=True)
class SrmpPost:
    """A message that came in a request, and what it is."""

    kind: SoapKind | None
    "None for one that is to be ignored."
    packet: bytes
    "The same as a packet; empty for a stream receipt, which is in no queue."
    position: StreamPosition | None = None
    "Its place in a stream."
    receipt: StreamReceipt | None = None
    "What a stream receipt acknowledges."
    final: FinalReceipt | None = None
    "What a final stream receipt says besides."
    to: str = ""
    "The address that it was sent to."
    bad_signature: str = ""
    "Why its signature is not valid; empty if it is, if it cannot be checked, or without one."


class Senders(Protocol):
    """Knows the certificates that signatures are checked with."""

    def check(
        self, signature: Signature, source: UUID | None, shown: bytes
    ) -> SignedWith | BadSignature | None:
        """The certificate that a signature belongs to; None where none is known."""
        ...


class SignedWith(Protocol):
    """The certificate of a sender."""

    @property
    def der(self) -> bytes:
        """The certificate in DER."""
        ...


def read_post(
    content_type: str,
    content: bytes,
    *,
    arrived: int,
    senders: Senders | None = None,
    certificate: bytes = b"",
    destination: FormatName | None = None,
    redirect: Callable[[str], FormatName | None] = lambda to: None,
) -> SrmpPost:
    """The message in a request; `Malformed` is answered with 400 ([MC-MQSRM] 3.1.5.1.2).

    `arrived` counts seconds since 1970; `certificate` is the one that the client proved in TLS;
    `destination` is the queue here, where the address is that of a group; `redirect` may name
    another queue than the one at the address ([MC-MQSRM] 3.1.5.1.3).
    """
    parts = split_content(content_type, content)
    message = read_message(parts)
    envelope = message.envelope
    kind = kind_of(envelope)
    if kind in (SoapKind.STREAM_RECEIPT, SoapKind.FINAL_STREAM_RECEIPT):
        return SrmpPost(kind, b"", receipt=envelope.stream_receipt, final=_final(envelope))
    signed_with, fault = _verify(envelope, parts, senders, certificate)
    if signed_with:
        message = replace(message, signed_with=signed_with)
    return SrmpPost(
        kind,
        to_packet(message, arrived=arrived, destination=destination or redirect(envelope.path.to)),
        to=envelope.path.to,
        position=position_of(envelope),
        bad_signature=fault,
    )


def _verify(
    envelope: Envelope, parts: Content, senders: Senders | None, certificate: bytes
) -> tuple[bytes, str]:
    """The certificate that signed a message, or why its signature is bad.

    ([MC-MQSRM] 3.1.5.1.6.1.) A signature of a sender without known certificate proves nothing, and
    is no fault (HTTP-54).
    """
    signature = envelope.signature
    if signature is None:
        return b"", ""
    fault = digest_fault(signature, parts.body, parts.extension)
    if fault is not None or senders is None or isinstance(signature, BadSignature):
        return b"", fault or ""
    source = envelope.msmq.source if envelope.msmq is not None else None
    found = senders.check(signature, source, certificate)
    if isinstance(found, BadSignature):
        return b"", found.reason
    return (b"" if found is None else found.der), ""


def _final(envelope: Envelope) -> FinalReceipt | None:
    decision, msmq = envelope.commitment_receipt, envelope.msmq
    if decision is None or msmq is None:
        return None
    return FinalReceipt(SoapMessageId.read(decision.id, "commitmentReceipt.id"), msmq.message_class)


class PostSource(NamedTuple):
    """Who posted a message, as far as the connection proves it."""

    address: str
    certificate: bytes = b""
    "In DER, if TLS asked for one and it is good."


_REFUSED = {
    SrmpOutcome.MALFORMED,
    SrmpOutcome.NOT_LOCAL,
    SrmpOutcome.UNKNOWN_QUEUE,
    SrmpOutcome.WRONG_KIND,
}
_LATER = {
    SrmpOutcome.MACHINE_FULL: HTTPStatus.INTERNAL_SERVER_ERROR,
    SrmpOutcome.FAILED: HTTPStatus.INTERNAL_SERVER_ERROR,
    SrmpOutcome.BUSY: HTTPStatus.SERVICE_UNAVAILABLE,
}


def status_of(outcome: SrmpOutcome) -> HTTPStatus:
    """The answer to a request ([MC-MQSRM] 3.1.5.1.2, 3.1.5.1.3, 3.1.5.1.12; HTTP-04).

    400 makes the sender destroy the message and 5xx makes it send again: what was dropped for good
    and for a reason that is not the sender's is answered with 200.
    """
    if outcome in _REFUSED:
        return HTTPStatus.BAD_REQUEST
    return _LATER.get(outcome, HTTPStatus.OK)


def outcome_of(error: Exception) -> SrmpOutcome:
    """What became of a message whose request raised `error`."""
    return SrmpOutcome.MALFORMED if isinstance(error, Malformed) else SrmpOutcome.FAILED
