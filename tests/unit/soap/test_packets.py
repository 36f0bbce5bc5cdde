"""Messages as envelopes and as packets."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.soap import MANAGER, envelope, msmq

from openmsmq.errors import Malformed
from openmsmq.names.format import parse_format_name
from openmsmq.names.mqf import MQFFormatNameElement
from openmsmq.packet.acks import FinalAckBody
from openmsmq.packet.admin import build_admin_ack
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeader, TxSequenceID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge, HashAlgorithm, MessageClass
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
    Signature,
    StreamHeader,
    StreamReceipt,
)
from openmsmq.soap.kinds import SoapKind, kind_of
from openmsmq.soap.mime import Content
from openmsmq.soap.packets import (
    SoapMessage,
    content_as_it_came,
    from_packet,
    read_message,
    to_packet,
    write_message,
)
from openmsmq.soap.scalars import NEVER, StreamId
from openmsmq.soap.signature import digest
from openmsmq.types.received import ReceivedMessage

SENT = 1184814700
ORDERS = parse_format_name("DIRECT=HTTP://machine2/msmq/private$/orders")
REPORTS = parse_format_name("DIRECT=HTTPS://machine1/msmq/private$/reports")
PATH = Path("http://machine2/msmq/private$/orders", f"uuid:7@{MANAGER}", "order 1")
BASE = Envelope(PATH, Properties(NEVER, SENT), msmq=Msmq(MANAGER, NEVER))


def packet(**fields: object) -> PacketView:
    """A packet of this manager to a queue with an address."""
    builder = PacketBuilder(MANAGER, ORDERS, admin=REPORTS, response=REPORTS)
    given = {"message_id": 7, "sent_time": SENT} | fields
    return PacketView.parse(builder.build(b"<order/>", **given))  # type: ignore[arg-type]


def through_packet(given: Envelope) -> PacketView:
    return PacketView.parse(to_packet(SoapMessage(given), arrived=SENT + 9))


def test_a_message_that_came_is_read_like_any_other() -> None:
    """SRMP-140, SRMP-142 to SRMP-144, SRMP-147, SRMP-148."""
    came = read_message(Content(envelope(msmq()), b"<order/>", b"ext"))
    found = ReceivedMessage(to_packet(came, arrived=0))
    assert (found.body, found.extension, found.label) == (b"<order/>", b"ext", "order 1")
    assert str(found.destination_queue) == "DIRECT=http://machine2/msmq/private$/orders"
    assert found.id == f"{MANAGER}\\7"
    assert (found.priority, found.recoverable) == (3, False)
    assert found.sent_time.timestamp() == SENT


def test_a_name_keeps_its_spelling() -> None:
    """Though messages to equal names have much in common."""
    for url in ("http://machine2/msmq/private$/orders", "HTTP://MACHINE2/msmq/private$/Orders"):
        view = through_packet(replace(BASE, path=replace(BASE.path, to=url)))
        assert str(view.destination) == f"DIRECT={url}"


def test_a_message_without_msmq_entry_has_no_identifier_of_its_own() -> None:
    """SRMP-066, SRMP-120, SRMP-144, SRMP-146."""
    bare = Envelope(PATH, Properties(SENT + 60, SENT))
    view = through_packet(bare)
    assert (view.message_id, view.source_queue_manager) == (1, UUID(int=0))
    assert (view.time_to_reach_queue, view.time_to_be_received) == (60, INFINITE)
    assert view.priority == 3


def test_lifetimes_are_counted_from_the_time_sent() -> None:
    """SRMP-146, SRMP-173: TTrq with Msmq, expiresAt for the time to be received (HTTP-02)."""
    msmq_entry = Msmq(MANAGER, SENT + 60)
    view = through_packet(replace(BASE, properties=Properties(SENT + 90, SENT), msmq=msmq_entry))
    assert (view.time_to_reach_queue, view.time_to_be_received) == (60, 90)
    late = replace(BASE, properties=Properties(SENT - 1, SENT), msmq=Msmq(MANAGER, SENT - 1))
    view = through_packet(late)
    assert (view.time_to_reach_queue, view.time_to_be_received) == (0, 0)
    view = through_packet(BASE)
    assert (view.time_to_reach_queue, view.time_to_be_received) == (INFINITE, INFINITE)


def test_the_time_of_arrival_stands_in_for_a_date_that_was_not_sent() -> None:
    """SRMP-147: sentAt is optional (HTTP-22)."""
    view = through_packet(replace(BASE, properties=Properties(NEVER), msmq=None))
    assert view.sent_time == SENT + 9


def test_receipts_asked_for_are_acknowledgements_asked_for() -> None:
    """SRMP-149 to SRMP-151: with the address of the delivery receipt first (HTTP-16)."""
    both = CommitmentRequest("http://m/msmq/c", positive=True, negative=True)
    view = through_packet(replace(BASE, services=Services(True, "http://m/msmq/d", both)))
    asked = Acknowledge.POS_ARRIVAL | Acknowledge.POS_RECEIVE | Acknowledge.NEG_RECEIVE
    assert view.acknowledge == asked
    assert str(view.admin_queue) == "DIRECT=http://m/msmq/d"
    assert view.recoverable
    view = through_packet(
        replace(BASE, services=Services(commitment=replace(both, negative=False)))
    )
    assert view.acknowledge == Acknowledge.POS_RECEIVE
    assert str(view.admin_queue) == "DIRECT=http://m/msmq/c"
    assert through_packet(replace(BASE, services=Services(durable=True))).admin_queue is None


def test_a_stream_message_is_a_transactional_one() -> None:
    """SRMP-082, SRMP-152: recoverable, with its place and the final receipt that is owed."""
    guid = UUID("fd74b8eb-2af7-4ac5-9405-074e315df392")
    entry = replace(BASE.msmq or Msmq(MANAGER, NEVER), dead_letter=True, eod=Eod(True, False, guid))
    stream = StreamHeader(StreamId(MANAGER, 0x432B1643_00000006), 9, 7)
    view = through_packet(replace(BASE, stream=stream, msmq=entry))
    assert view.transactional
    assert view.recoverable
    flags = TransactionFlags.FA | TransactionFlags.FM | TransactionFlags.CG
    assert view.transaction == TransactionHeader(flags, TxSequenceID(6, 0x432B1643), 9, 7, guid)


def test_a_response_queue_that_packets_cannot_name_is_left_out() -> None:
    """SRMP-145: the kept header has it."""
    named = replace(BASE, path=replace(PATH, via=f"MSMQ:PUBLIC={MANAGER}"))
    assert str(through_packet(named).response_queue) == f"PUBLIC={MANAGER}"
    several = replace(BASE, path=replace(PATH, via="MSMQ:MULTICAST=234.1.1.1:8001"))
    assert through_packet(several).response_queue is None


def test_lists_of_queues_are_kept_in_order() -> None:
    """SRMP-154: addresses, and names with or without `MSMQ:` (HTTP-35)."""
    names = ("http://a/msmq/q", f"MSMQ:PUBLIC={MANAGER}", f"PRIVATE={MANAGER}\\0000000c")
    view = through_packet(replace(BASE, msmq=Msmq(MANAGER, NEVER, destinations=names)))
    header = view.message().multi_queue
    assert header is not None
    assert [str(element.name()) for element in header.destination.elements] == [
        "DIRECT=http://a/msmq/q",
        f"PUBLIC={MANAGER}",
        f"PRIVATE={MANAGER}\\0000000c",
    ]


@pytest.mark.parametrize(
    "given",
    [
        replace(BASE, path=replace(PATH, to="http://m/other/q")),
        replace(BASE, path=replace(PATH, to="MSMQ:MULTICAST=234.1.1.1:8001")),
        replace(BASE, path=replace(PATH, via="MSMQ:nonsense")),
        replace(BASE, services=Services(delivery_to="http://m/other")),
        replace(BASE, msmq=Msmq(MANAGER, NEVER, administrations=("nonsense",))),
        replace(BASE, msmq=Msmq(MANAGER, NEVER, responses=("MSMQ:MULTICAST=234.1.1.1:1",))),
    ],
)
def test_what_no_packet_can_hold_is_refused(given: Envelope) -> None:
    """SRMP-052: receipts go to queues only, not to any address a stranger names."""
    with pytest.raises(Malformed):
        through_packet(given)


def test_a_message_that_is_too_large_for_a_packet_is_refused() -> None:
    """SRMP-022."""
    with pytest.raises(Malformed, match="a packet holds"):
        to_packet(SoapMessage(BASE, bytes(4 << 20)), arrived=0)


def test_a_multicast_message_is_for_the_queue_that_listens() -> None:
    """SRMP-063."""
    given = replace(BASE, path=replace(PATH, to="MSMQ:MULTICAST=234.1.1.1:8001"))
    data = to_packet(SoapMessage(given), arrived=0, destination=ORDERS)
    assert PacketView(data).destination == ORDERS


def test_a_receipt_has_no_attachments() -> None:
    """SRMP-016."""
    receipt = f"<deliveryReceipt><receivedAt>20070719T032454</receivedAt><id>{PATH.id}</id></deliveryReceipt>"  # noqa: E501
    assert read_message(Content(envelope(receipt + msmq()))).envelope.is_receipt
    with pytest.raises(Malformed, match="no attachments"):
        read_message(Content(envelope(receipt + msmq()), b"body"))


def test_a_packet_is_written_with_all_it_says() -> None:
    """SRMP-155 to SRMP-162, SRMP-015."""
    view = packet(
        label="order 1",
        journal=True,
        time_to_reach_queue=60,
        time_to_be_received=90,
        acknowledge=Acknowledge.FULL_RECEIVE,
        app_specific=36,
        body_type=8,
        extension=b"ext",
    )
    found = from_packet(view)
    url = "HTTPS://machine1/msmq/private$/reports"
    assert found.envelope == Envelope(
        Path("HTTP://machine2/msmq/private$/orders", f"uuid:7@{MANAGER}", "order 1", url),
        Properties(SENT + 90, SENT),
        Services(True, "", CommitmentRequest(url, positive=True, negative=True)),
        msmq=Msmq(MANAGER, SENT + 60, journal=True, app=36, body_type=8),
    )
    assert (found.body, found.extension) == (b"<order/>", b"ext")
    content = write_message(found)
    assert (content.body, content.extension) == (b"<order/>", b"ext")


def test_receipts_are_asked_for_only_where_they_can_be_sent() -> None:
    """SRMP-081, SRMP-086: to an http address."""
    local = parse_format_name("DIRECT=OS:me\\private$\\reports")
    builder = PacketBuilder(MANAGER, ORDERS, admin=local)
    data = builder.build(recoverable=False, acknowledge=Acknowledge.FULL_RECEIVE)
    assert from_packet(PacketView(data)).envelope.services is None
    asked = packet(recoverable=False, acknowledge=Acknowledge.POS_ARRIVAL)
    services = from_packet(asked).envelope.services
    assert services == Services(delivery_to="HTTPS://machine1/msmq/private$/reports")


def test_a_transactional_packet_becomes_a_stream_message() -> None:
    """SRMP-160, SRMP-161: start with the receipts address in the first message only."""

    def streamed(number: int, previous: int, sequence: int = 6) -> StreamHeader | None:
        header = TransactionHeader(
            TransactionFlags.FM | TransactionFlags.LM, TxSequenceID(sequence), number, previous
        )
        view = packet(headers=OptionalHeaders(transaction=header))
        found = from_packet(view, receipts_to="http://me/msmq/private$/order_queue$").envelope
        assert found.msmq is not None
        assert found.msmq.eod == Eod(True, True)
        return found.stream

    url = "http://me/msmq/private$/order_queue$"
    assert streamed(1, 0) == StreamHeader(StreamId(MANAGER, 6), 1, None, url)
    assert streamed(5, 3) == StreamHeader(StreamId(MANAGER, 6), 5, 3)
    assert streamed(1, 0, sequence=0) is None


def test_a_lifetime_ends_in_2038_at_the_latest() -> None:
    """SRMP-158 (HTTP-02)."""
    found = from_packet(packet(time_to_reach_queue=INFINITE - 1)).envelope
    assert found.properties.expires_at == NEVER
    assert found.msmq is not None
    assert found.msmq.reach_queue_by == NEVER


@pytest.mark.parametrize(
    ("code", "kind", "decision"),
    [
        (MessageClass.ACK_REACH_QUEUE, SoapKind.DELIVERY_RECEIPT, None),
        (MessageClass.ACK_RECEIVE, SoapKind.COMMITMENT_RECEIPT, True),
        (MessageClass.NACK_Q_PURGED, SoapKind.COMMITMENT_RECEIPT, False),
        (MessageClass.NACK_RECEIVE_TIMEOUT, SoapKind.COMMITMENT_RECEIPT, False),
        (MessageClass.NACK_REACH_QUEUE_TIMEOUT, None, None),
    ],
)
def test_an_acknowledgement_becomes_a_receipt(
    code: MessageClass, kind: SoapKind | None, decision: bool | None
) -> None:
    """SRMP-016, SRMP-111, SRMP-114, SRMP-214 to SRMP-216."""
    other = UUID("11111111-2222-4333-8444-555566667777")
    ack = build_admin_ack(packet(), REPORTS, code, source=other, message_id=3, sent_time=SENT + 5)
    found = from_packet(PacketView(ack))
    assert kind_of(found.envelope) is kind
    assert found.envelope.path.to == "HTTPS://machine1/msmq/private$/reports"
    assert found.envelope.path.via == "HTTP://machine2/msmq/private$/orders"
    name = f"uuid:7@{MANAGER}"
    if kind is SoapKind.DELIVERY_RECEIPT:
        assert found.envelope.delivery_receipt == DeliveryReceipt(SENT + 5, name)
    elif decision is not None:
        receipt = CommitmentReceipt(SENT + 5, decision, name)
        assert found.envelope.commitment_receipt == receipt
    if kind is not None:
        assert write_message(found).body is None


def test_an_encrypted_body_has_no_envelope() -> None:
    """SRMP-318: SRMP has no place for the key of an encrypted body."""
    secret = SecurityHeader.make(SecurityFlags.EB, encryption_key=b"k" * 8)
    headers = OptionalHeaders(security=secret, privacy_level=1)
    with pytest.raises(AssertionError):
        from_packet(packet(headers=headers))


def test_a_message_that_came_is_passed_on_as_it_came() -> None:
    """SRMP-140: entries of applications and attachments included (HTTP-40)."""
    own = "<own xmlns='urn:x'>kept</own>"
    came = read_message(Content(envelope(own + msmq()), b"<order/>"))
    passed = content_as_it_came(PacketView(to_packet(came, arrived=0)))
    assert passed is not None
    assert own.encode() in passed.envelope
    assert read_message(passed).envelope == came.envelope
    assert (passed.body, passed.extension) == (b"<order/>", None)


def test_a_packet_that_did_not_come_by_soap_has_nothing_to_pass_on() -> None:
    assert content_as_it_came(packet()) is None
    own = OptionalHeaders(soap=SoapHeader.make("<of-an-application/>", ""))
    assert content_as_it_came(packet(headers=own)) is None


def test_lists_of_queues_are_written_without_those_that_have_blanks() -> None:
    """SRMP-134 to SRMP-136: blanks separate names."""
    names = ("DIRECT=HTTP://a/msmq/q", "DIRECT=OS:m\\private$\\two words", f"PUBLIC={MANAGER}")
    elements = tuple(MQFFormatNameElement.of(parse_format_name(name)) for name in names)
    headers = OptionalHeaders(multi_queue=MultiQueueFormatHeader.make(elements))
    found = from_packet(packet(headers=headers)).envelope.msmq
    assert found is not None
    assert found.destinations == ("HTTP://a/msmq/q", f"MSMQ:PUBLIC={MANAGER}")
    assert found.administrations == ()


class Scribe:
    """Signs with nothing but its name."""

    def sign(self, signed_info: str) -> bytes:
        return b"signed " + signed_info.encode()[:4]


@pytest.mark.parametrize(
    ("asked", "method", "hashed"),
    [
        (HashAlgorithm.SHA512, "sha1", HashAlgorithm.SHA1),
        (HashAlgorithm.MD5, "md5", HashAlgorithm.MD5),
    ],
)
def test_what_is_sent_is_signed(asked: HashAlgorithm, method: str, hashed: HashAlgorithm) -> None:
    """MSEC-020: with the key of the configuration, whatever the message asks for."""
    sent = from_packet(packet(headers=OptionalHeaders(hash_algorithm=asked)), signer=Scribe())
    signature = sent.envelope.signature
    assert isinstance(signature, Signature)
    [reference] = signature.references
    assert (reference.method, reference.digest) == (method, digest(method, b"<order/>"))
    assert signature.value == b"signed <Sig"
    assert sent.envelope.msmq is not None
    assert sent.envelope.msmq.hash_algorithm == hashed


def test_nothing_is_signed_where_nothing_is_to_sign() -> None:
    builder = PacketBuilder(MANAGER, ORDERS)
    empty = PacketView.parse(builder.build(b"", message_id=7, sent_time=SENT))
    assert from_packet(empty, signer=Scribe()).envelope.signature is None


def test_the_final_acknowledgement_of_a_stream_is_a_stream_receipt() -> None:
    stream = TxSequenceID(5, 6)
    final = FinalAckBody(stream, 9, 0, MANAGER, 7)
    builder = PacketBuilder(MANAGER, REPORTS)
    built = builder.build(
        final.pack(), ORDERING_ACK, message_class=MessageClass.ACK_RECEIVE, sent_time=SENT
    )
    found = from_packet(PacketView.parse(built)).envelope
    assert found.stream_receipt == StreamReceipt(StreamId(MANAGER, stream.number), 9)
    assert found.commitment_receipt is not None
