"""Receipts for messages that came by SRMP."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.soap import MANAGER, MUST, PATH, envelope, examples, msmq

from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass
from openmsmq.soap.envelope import CommitmentReceipt, DeliveryReceipt, Envelope, StreamReceipt
from openmsmq.soap.kinds import DECISIONS, SoapKind, kind_of
from openmsmq.soap.mime import Content, split_content
from openmsmq.soap.packets import from_packet, read_message, to_packet
from openmsmq.soap.scalars import StreamId
from openmsmq.soap.writer import write_envelope
from openmsmq.transports.srmp.receipts import (
    Receipt,
    commitment_receipt,
    delivery_receipt,
    final_stream_receipt,
    stream_receipt,
)

HERE = UUID("ac678228-2dd6-418b-b31f-0539ffeea853")
ORDER_QUEUE = "http://machine1/msmq/private$/order_queue$"
STREAM = StreamId(UUID("2744e4e1-2b48-43e8-b441-42745f280d53"), 0x432B1643_00000006)
REASONS = [reason for reason in MessageClass if reason >= MessageClass.ACK_REACH_QUEUE]


def came(entries: str, *, more: str = "", path: str = PATH) -> PacketView:
    """The packet of a message that came with these entries."""
    data = envelope(entries + msmq(more), path=path)
    return PacketView(to_packet(read_message(Content(data, b"<order/>")), arrived=0))


def services(delivery: str = "", commitment: str = "") -> str:
    asked = ""
    if delivery:
        asked += f"<deliveryReceiptRequest><sendTo>{delivery}</sendTo></deliveryReceiptRequest>"
    if commitment:
        asked += (
            "<commitmentReceiptRequest><sendTo>http://machine1/msmq/private$/c</sendTo>"
            f"{commitment}</commitmentReceiptRequest>"
        )
    return f"<services {MUST}>{asked}</services>"


def streamed(more: str = "<DeadLetter/>") -> PacketView:
    stream = f"<stream {MUST}><streamId>{STREAM}</streamId><current>9</current></stream>"
    return came(stream, more=more)


def sent(receipt: Receipt | None) -> Envelope:
    """The envelope that is posted for a receipt."""
    assert receipt is not None
    packet = receipt.packet(manager=HERE, message_id=34826, sent_time=1184815491)
    message = from_packet(PacketView.parse(packet))
    assert (message.body, message.extension) == (b"", b"")
    return message.envelope


def test_a_delivery_receipt_names_the_message_and_where_it_went() -> None:
    """SRMP-057, SRMP-087, SRMP-110 to SRMP-112, SRMP-185."""
    found = sent(delivery_receipt(came(services("http://machine1/msmq/private$/receipts"))))
    assert kind_of(found) is SoapKind.DELIVERY_RECEIPT
    assert found.delivery_receipt == DeliveryReceipt(1184815491, f"uuid:7@{MANAGER}")
    assert found.path.to == "http://machine1/msmq/private$/receipts"
    assert found.path.via == "http://machine2/msmq/private$/orders"
    assert found.path.label == "order 1"
    assert found.services is None
    assert delivery_receipt(came("")) is None
    assert delivery_receipt(came(services())) is None


def test_the_receipt_for_the_printed_request_is_the_printed_one() -> None:
    """SRMP-057, SRMP-060, SRMP-111: but for the times, which are our own."""
    request, receipt = (e for e in examples() if "4.3-a" in e.name or "4.3-c" in e.name)
    message = read_message(split_content(request.content_type, request.content))
    view = PacketView(to_packet(message, arrived=0))
    written = write_envelope(sent(delivery_receipt(view)))
    printed = receipt.content.decode()
    assert (
        written.replace("20070719T032451</receivedAt>", "20070719T032454</receivedAt>") == printed
    )


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("asked", ["", "<positiveOnly/>", "<negativeOnly/>", "both"])
def test_a_commitment_receipt_is_sent_for_the_decisions_asked_for(
    reason: MessageClass, asked: str
) -> None:
    """SRMP-089 to SRMP-092, SRMP-113, SRMP-115, SRMP-212 to SRMP-216."""
    flags = "<positiveOnly/><negativeOnly/>" if asked == "both" else asked
    view = came(services("http://machine1/msmq/private$/d", flags or "<x/>"))
    receipt = commitment_receipt(view, reason)
    decision = DECISIONS.get(reason)
    wanted = {True: "<positiveOnly/>", False: "<negativeOnly/>", None: "never"}[decision]
    assert (receipt is not None) == (wanted in flags)
    if decision is not None and receipt is not None:
        found = sent(receipt)
        assert kind_of(found) is SoapKind.COMMITMENT_RECEIPT
        identifier = f"uuid:7@{MANAGER}"
        assert found.commitment_receipt == CommitmentReceipt(1184815491, decision, identifier)
        assert found.path.to == "http://machine1/msmq/private$/c"
        assert found.path.label == "order 1"


def test_a_message_that_asks_for_nothing_gets_no_commitment_receipt() -> None:
    """SRMP-091, SRMP-211, SRMP-213."""
    assert commitment_receipt(came(""), MessageClass.ACK_RECEIVE) is None
    assert commitment_receipt(came(services()), MessageClass.ACK_RECEIVE) is None
    orders = parse_format_name("DIRECT=OS:m\\private$\\q")
    binary = PacketView(PacketBuilder(MANAGER, orders).build(acknowledge=15))
    assert commitment_receipt(binary, MessageClass.ACK_RECEIVE) is None
    assert delivery_receipt(binary) is None


@pytest.mark.parametrize("reason", REASONS)
def test_a_final_receipt_is_sent_for_a_stream_message_with_dead_letter(
    reason: MessageClass,
) -> None:
    """SRMP-113, SRMP-178, SRMP-218 to SRMP-220: with its place and the decision."""
    receipt = final_stream_receipt(streamed(), reason, ORDER_QUEUE)
    decision = DECISIONS.get(reason)
    assert (receipt is not None) == (decision is not None)
    assert final_stream_receipt(streamed(more=""), reason, ORDER_QUEUE) is None
    assert final_stream_receipt(streamed(), reason, "") is None
    assert final_stream_receipt(came(""), reason, ORDER_QUEUE) is None
    if decision is not None:
        found = sent(receipt)
        assert kind_of(found) is SoapKind.FINAL_STREAM_RECEIPT
        assert found.stream_receipt == StreamReceipt(STREAM, 9)
        identifier = f"uuid:7@{MANAGER}"
        assert found.commitment_receipt == CommitmentReceipt(1184815491, decision, identifier)
        assert found.path.to == ORDER_QUEUE
        assert found.msmq is not None
        assert found.msmq.priority == 0


def test_receipts_ask_for_nothing_and_live_four_days() -> None:
    """SRMP-016: nothing is acknowledged twice."""
    receipt = delivery_receipt(came(services("http://machine1/msmq/private$/receipts")))
    assert receipt is not None
    view = PacketView(receipt.packet(manager=HERE, message_id=1, sent_time=5))
    assert (view.acknowledge, view.admin_queue, view.recoverable) == (0, None, False)
    assert view.time_to_reach_queue == 345_600


def test_a_stream_receipt_is_written_as_windows_writes_it() -> None:
    """SRMP-058, SRMP-116, SRMP-117, SRMP-206: with the query of its address."""
    (example,) = [e for e in examples() if "4.4-b" in e.name]
    stated = example.expected["envelope"]
    written = stream_receipt(
        StreamReceipt(STREAM, 1),
        to=stated["path"]["to"],
        via=stated["path"]["rev_via"],
        manager=UUID(stated["Msmq"]["SourceQmGuid"]),
        message_id=26641,
        now=1182272398,
    )
    assert write_envelope(written).encode() == example.content
    assert kind_of(written) is SoapKind.STREAM_RECEIPT
