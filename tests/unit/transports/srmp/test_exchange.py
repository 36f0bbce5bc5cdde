"""Requests and their answers."""

from __future__ import annotations

import re
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from tests.soap import EXPECTED, MANAGER, Example, envelope, examples, msmq
from tests.unit.security.test_certificates import certificate

from openmsmq.errors import Malformed
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import HashAlgorithm, SignatureType
from openmsmq.security.certificates import SenderCertificate
from openmsmq.soap.kinds import SoapKind
from openmsmq.soap.mime import split_content
from openmsmq.soap.packets import read_message
from openmsmq.soap.request import Request
from openmsmq.soap.scalars import SoapMessageId, StreamId
from openmsmq.soap.signature_keys import KnownSenders, XmlSigner
from openmsmq.transports.srmp.exchange import (
    FinalReceipt,
    Senders,
    SrmpPost,
    outcome_of,
    read_post,
    receipt_request,
    request_for,
    status_of,
    verdict_of,
)
from openmsmq.transports.srmp.outcomes import SrmpOutcome, Verdict
from openmsmq.transports.srmp.streams import StreamPosition

ORDERS = parse_format_name("DIRECT=HTTP://Machine2:8080/msmq/private$/Orders")
RECEIPTS = [e for e in examples() if e.content_type == "text/xml"]


def test_a_message_is_posted_with_the_headers_of_windows() -> None:
    """SRMP-013: request line, Host with the port, and the five headers in their order."""
    packet = PacketBuilder(MANAGER, ORDERS).build(b"<order/>", label="order 1", message_id=7)
    request = request_for(PacketView(packet), manager=MANAGER, receipts_to="")
    assert request.target == "/msmq/private$/orders"
    assert request.headers == (
        ("Host", "Machine2:8080"),
        ("Content-Type", 'multipart/related; boundary="MSMQ - SOAP boundary, 7"; type=text/xml'),
        ("Content-Length", str(len(request.content))),
        ("SOAPAction", '"MSMQMessage"'),
        ("Proxy-Accept", "NonInteractiveClient"),
    )
    came = read_message(split_content(request.content_type, request.content))
    assert came.body == b"<order/>"
    assert came.envelope.path.to == "HTTP://Machine2:8080/msmq/private$/Orders"


@pytest.mark.parametrize("example", RECEIPTS, ids=lambda example: example.name)
def test_a_receipt_is_posted_as_windows_posts_it(example: Example) -> None:
    """SRMP-013, SRMP-021: the same request line, headers and content."""
    receipt = read_message(split_content(example.content_type, example.content)).envelope
    request = receipt_request(receipt)
    assert request.target == example.expected["request"]["target"]
    assert [list(header) for header in request.headers] == example.expected["headers"]
    assert request.content == example.content


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, Verdict.TAKEN),
        (202, Verdict.TAKEN),
        (400, Verdict.REFUSED),
        (500, Verdict.RETRY),
        (503, Verdict.RETRY),
        (None, Verdict.RETRY),
        (302, Verdict.RETRY),
        (401, Verdict.RETRY),
        (404, Verdict.RETRY),
        (413, Verdict.RETRY),
    ],
)
def test_only_400_gives_a_message_up(status: int | None, answer: Verdict) -> None:
    """SRMP-009, SRMP-232, SRMP-235, SRMP-238: 2xx takes it, all else is tried again (HTTP-05)."""
    assert verdict_of(status) is answer


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_every_example_is_read(example: Example) -> None:
    """What it is, and the packet of what goes into a queue."""
    if "4.5" in example.name:
        with pytest.raises(Malformed):
            read_post(example.content_type, example.content, arrived=0)
        return
    posted = read_post(example.content_type, example.content, arrived=0)
    assert posted.kind is not None
    if posted.kind is SoapKind.STREAM_RECEIPT:
        stated = example.expected["envelope"]["streamReceipt"]
        assert posted.receipt is not None
        assert posted.receipt.last_ordinal == stated["lastOrdinal"]
        assert posted.packet == b""
    else:
        PacketView.parse(posted.packet)
    stream = example.expected["envelope"].get("stream")
    assert (posted.position is not None) == (stream is not None)
    if posted.position is not None:
        assert posted.position.number == stream["current"]


def test_a_stream_message_has_its_position() -> None:
    """SRMP-152."""
    guid = UUID("2744e4e1-2b48-43e8-b441-42745f280d53")
    (first,) = [e for e in examples() if "4.4-a" in e.name]
    assert read_post(first.content_type, first.content, arrived=0).position == StreamPosition(
        StreamId(guid, 4839986701558349830),
        1,
        0,
        "http://machine1/MSMQ/private$/receipts?SenderStream=XRntV",
    )


def test_a_signature_that_cannot_be_valid_is_reported() -> None:
    """SRMP-309: the message is not malformed, and is dropped."""
    signature = '<Signature xmlns="http://www.w3.org/2000/02/xmldsig#"/>'
    data = envelope(msmq() + signature)
    assert "SignedInfo" in read_post("text/xml", data, arrived=0).bad_signature
    assert read_post("text/xml", envelope(msmq()), arrived=0).bad_signature == ""


def test_a_final_stream_receipt_has_its_decision() -> None:
    """SRMP-178."""
    identifier = f"uid:{MANAGER}\\5"
    receipts = (
        "<commitmentReceipt><decidedAt>20070719T032721</decidedAt><decision>negative</decision>"
        f"<id>uuid:7@{MANAGER}</id></commitmentReceipt><streamReceipt><streamId>{identifier}"
        "</streamId><lastOrdinal>3</lastOrdinal></streamReceipt>"
    )
    entry = msmq(start="<Class>49154</Class><Priority>0</Priority>")
    data = envelope(receipts + entry).replace(b"MSMQ:order 1", b"MSMQ:QM Ordering Ack")
    posted = read_post("text/xml", data, arrived=0)
    assert posted.kind is SoapKind.FINAL_STREAM_RECEIPT
    assert posted.receipt is not None
    assert (str(posted.receipt.stream_id), posted.receipt.last_ordinal) == (identifier, 3)
    assert posted.final == FinalReceipt(SoapMessageId(7, MANAGER), 49154)


def test_what_breaks_the_rules_is_answered_400() -> None:
    """SRMP-052, SRMP-166, SRMP-170 to SRMP-172: the sender gives the message up."""
    with pytest.raises(Malformed) as error:
        read_post("text/xml", b"<a/>", arrived=0)
    assert status_of(outcome_of(error.value)) is HTTPStatus.BAD_REQUEST
    for outcome in (SrmpOutcome.NOT_LOCAL, SrmpOutcome.UNKNOWN_QUEUE, SrmpOutcome.WRONG_KIND):
        assert status_of(outcome) is HTTPStatus.BAD_REQUEST


def test_what_may_go_better_later_is_answered_5xx() -> None:
    """SRMP-195: the sender keeps the message."""
    assert status_of(SrmpOutcome.MACHINE_FULL) == status_of(outcome_of(OSError())) == 500
    assert status_of(SrmpOutcome.BUSY) == 503


@pytest.mark.parametrize(
    "outcome",
    [
        SrmpOutcome.STORED,
        SrmpOutcome.IGNORED,
        SrmpOutcome.DUPLICATE,
        SrmpOutcome.OUT_OF_ORDER,
        SrmpOutcome.EXPIRED,
        SrmpOutcome.QUEUE_FULL,
        SrmpOutcome.ACCESS_DENIED,
        SrmpOutcome.BAD_SIGNATURE,
    ],
)
def test_what_was_stored_or_dropped_for_good_is_answered_200(outcome: SrmpOutcome) -> None:
    """SRMP-014: 400 would destroy a message that is only a duplicate (HTTP-04)."""
    assert status_of(outcome) is HTTPStatus.OK


def test_the_printed_answers_are_those_of_success() -> None:
    """SRMP-014."""
    statuses = [e["response"]["status"] for e in EXPECTED if "response" in e]
    assert statuses == [status_of(SrmpOutcome.STORED)] * 3


KEY = rsa.generate_private_key(65537, 2048)
OWN, OTHER = (
    SenderCertificate.from_der(certificate(key).public_bytes(Encoding.DER))
    for key in (KEY, rsa.generate_private_key(65537, 2048))
)


def signed(body: bytes = b"<order/>", **fields: Any) -> Request:
    packet = PacketBuilder(MANAGER, ORDERS).build(body, message_id=7, **fields)
    view = PacketView(packet)
    return request_for(view, manager=MANAGER, receipts_to="", signer=XmlSigner(KEY))


def came(request: Request, senders: Senders | None, certificate: bytes = b"") -> SrmpPost:
    return read_post(
        request.content_type, request.content, arrived=0, senders=senders, certificate=certificate
    )


@pytest.mark.parametrize("by_tls", [False, True], ids=["by its source", "by TLS"])
def test_a_signature_that_is_valid_is_the_status_of_the_message(by_tls: bool) -> None:
    """SRMP-299 to SRMP-308, SRMP-316: with the certificate of who signed."""
    senders = KnownSenders({} if by_tls else {MANAGER: (OWN,)})
    post = came(signed(extension=b"more"), senders, OWN.der if by_tls else b"")
    security = PacketView(post.packet).security
    assert post.bad_signature == ""
    assert security is not None
    assert (security.signature_type, security.sender_cert) == (SignatureType.XML, OWN.der)


@pytest.mark.parametrize(
    ("algorithm", "size", "shown"),
    [(HashAlgorithm.MD5, 24, 32771), (HashAlgorithm.SHA1, 28, 32772), (0, 28, 32772)],
)
def test_the_hash_algorithm_of_a_message_is_that_of_its_digests(
    algorithm: int, size: int, shown: int
) -> None:
    """SRMP-308: MD5 if the message says so, else SHA-1 (HTTP-31)."""
    request = signed(headers=OptionalHeaders(hash_algorithm=algorithm))
    [value] = re.findall(rb"<DigestValue>(.*?)</DigestValue>", request.content)
    assert len(value) == size
    assert b"<HashAlgorithm>%d<" % shown in request.content
    assert came(request, KnownSenders({MANAGER: (OWN,)})).bad_signature == ""


@pytest.mark.parametrize("senders", [None, KnownSenders({})])
def test_without_certificate_a_signature_proves_nothing(senders: Senders | None) -> None:
    """SRMP-316, MSEC-075, MSEC-189: and is no fault (HTTP-54)."""
    post = came(signed(), senders)
    assert (post.bad_signature, PacketView(post.packet).security) == ("", None)


def test_a_signature_of_another_or_of_another_body_is_bad() -> None:
    """SRMP-315, SRMP-316: each with its reason, and without the status."""
    request = signed()
    forged = came(request, KnownSenders({MANAGER: (OTHER,)}))
    assert "certificate of the sender" in forged.bad_signature
    changed = replace(request, content=request.content.replace(b"<order/>", b"<Order/>"))
    post = came(changed, KnownSenders({MANAGER: (OWN,)}))
    assert post.bad_signature == "the digest of the body is another"
    assert PacketView(post.packet).security is None


def test_what_has_no_attachments_is_not_signed() -> None:
    """SRMP-311: receivers discard a signature without references."""
    assert b"Signature" not in signed(b"").content
