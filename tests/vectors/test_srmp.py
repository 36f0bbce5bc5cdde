"""The examples of [MC-MQSRM] 2.2 and 4, both ways.

White space and lengths that the listings lost were restored by the rules in each expected file.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.soap import EXPECTED, FOLDER, FRAGMENTS, Example, envelope, examples, msmq

from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge
from openmsmq.soap.addresses import destination_at
from openmsmq.soap.envelope import Signature
from openmsmq.soap.kinds import SoapKind, kind_of
from openmsmq.soap.mime import join_content, split_content
from openmsmq.soap.packets import read_message, to_packet, write_message
from openmsmq.soap.reader import read_envelope
from openmsmq.soap.scalars import SoapMessageId, write_date
from openmsmq.soap.signature import write_signature

ALL = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
FROM_WINDOWS = [e for e in examples() if b"<se:Header><path" in e.content]
"Those that Windows wrote; a test tool wrote the others, in lines."
KINDS = {
    "user:regular": SoapKind.USER,
    "user:stream": SoapKind.USER,
    "delivery-receipt": SoapKind.DELIVERY_RECEIPT,
    "commitment-receipt": SoapKind.COMMITMENT_RECEIPT,
    "stream-receipt": SoapKind.STREAM_RECEIPT,
}
ACKNOWLEDGE = {
    "AckPosArrival": Acknowledge.POS_ARRIVAL,
    "AckPosReceive": Acknowledge.POS_RECEIVE,
    "AckNegReceive": Acknowledge.NEG_RECEIVE,
}


def test_there_are_twelve_requests_and_seven_of_them_by_windows() -> None:
    assert len(EXPECTED) == 15
    assert len(examples()) == 12
    assert len(FROM_WINDOWS) == 7


@ALL
def test_the_parts_of_a_request_are_cut_by_their_lengths(example: Example) -> None:
    """SRMP-017 to SRMP-019, SRMP-021: seven requests have attachments, receipts have none."""
    content = split_content(example.content_type, example.content)
    parts = example.expected.get("multipart", {}).get("parts", [])
    if not parts:
        assert (content.envelope, content.body) == (example.content, None)
        return
    assert len(content.envelope) == parts[0]["file_length"]
    assert content.body is not None
    assert len(content.body) == parts[1]["file_length"]
    assert content.extension is None


@ALL
def test_every_element_is_read(example: Example) -> None:
    """SRMP-051, SRMP-109: also with prefixes, in any order, and with a capital S."""
    stated = example.expected["envelope"]
    found = read_envelope(split_content(example.content_type, example.content).envelope)
    path = stated["path"]
    label = path["action"].removeprefix("MSMQ:") if path["action"].startswith("MSMQ:") else None
    assert (found.path.to, found.path.id, found.path.label) == (path["to"], path["id"], label)
    assert found.path.via == path.get("rev_via", "")
    assert write_date(found.properties.expires_at) == stated["properties"]["expiresAt"]
    assert found.properties.sent_at is not None
    assert write_date(found.properties.sent_at) == stated["properties"]["sentAt"]
    _check_services(found.services, stated.get("services"))
    _check_stream(found.stream, stated.get("stream"))
    _check_receipts(found, stated)


def _check_services(found: Any, stated: dict[str, Any] | None) -> None:
    assert (found is None) == (stated is None)
    if stated is not None:
        commitment = stated["commitmentReceiptRequest"]
        assert found.durable == stated["durable"]
        assert found.delivery_to == stated["deliveryReceiptRequest"]["sendTo"]
        assert found.commitment.send_to == commitment["sendTo"]
        assert found.commitment.positive == commitment["positiveOnly"]
        assert found.commitment.negative == commitment["negativeOnly"]


def _check_stream(found: Any, stated: dict[str, Any] | None) -> None:
    assert (found is None) == (stated is None)
    if stated is not None:
        assert (str(found.id), found.current) == (stated["streamId"], stated["current"])
        assert found.send_receipts_to == stated.get("start", {}).get("sendReceiptsTo", "")


def _check_receipts(found: Any, stated: dict[str, Any]) -> None:
    if delivery := stated.get("deliveryReceipt"):
        receipt = found.delivery_receipt
        assert (write_date(receipt.received_at), receipt.id) == tuple(delivery.values())
    if commitment := stated.get("commitmentReceipt"):
        receipt = found.commitment_receipt
        assert (write_date(receipt.decided_at), receipt.id) == (
            commitment["decidedAt"],
            commitment["id"],
        )
        assert receipt.positive == (commitment["decision"] == "positive")
    if stream := stated.get("streamReceipt"):
        receipt = found.stream_receipt
        assert (str(receipt.stream_id), receipt.last_ordinal) == tuple(stream.values())


@ALL
def test_every_request_is_known_for_what_it_is(example: Example) -> None:
    """SRMP-175 to SRMP-177, SRMP-179, SRMP-120: without Msmq element the class is 0."""
    found = read_envelope(split_content(example.content_type, example.content).envelope)
    assert kind_of(found) is KINDS[example.expected["message_type"]]
    assert (found.stream is not None) == (example.expected["message_type"] == "user:stream")


@pytest.mark.parametrize("example", FROM_WINDOWS, ids=lambda example: example.name)
def test_what_windows_wrote_is_written_to_the_same_bytes(example: Example) -> None:
    """SRMP-046, SRMP-049, SRMP-050, SRMP-139, SRMP-163: one line, elements in their order."""
    message = read_message(split_content(example.content_type, example.content))
    stated = example.expected.get("multipart")
    manager = message.envelope.msmq.source if message.envelope.msmq else None
    assert manager is not None
    number = int(stated["boundary"].rpartition(" ")[2]) if stated else 0
    assert join_content(write_message(message), manager, number) == (
        example.content_type,
        example.content,
    )


@ALL
def test_every_attribute_is_in_the_packet(example: Example) -> None:
    """SRMP-142 to SRMP-153: as [MC-MQSRM] 3.1.5.1.1 assigns them."""
    message = read_message(split_content(example.content_type, example.content))
    stated = example.expected["adm"]
    destination = destination_at(message.envelope.path.to)
    assert str(destination) == stated["DestinationQueueFormatName"].partition("?")[0]
    if str(destination).startswith("MULTICAST"):
        return  # the packet names the queue that listens to the address
    view = PacketView.parse(to_packet(message, arrived=0))
    assert view.destination == destination
    assert view.label == (stated["Label"] or "")
    assert view.message_id == stated["Identifier"]["Uniquifier"]
    lineage = stated.get("SourceMachineIdentifier", stated["Identifier"]["Lineage"])
    assert str(view.source_queue_manager) == lineage
    assert write_date(view.sent_time) == stated["SentTime"]
    assert view.time_to_reach_queue == stated["TimeToReachQueue_seconds"]
    is_stream = "TransactionSequenceNumber" in stated
    assert view.recoverable == (is_stream or stated["DeliveryGuarantee"] == "Recoverable")
    asked = sum(ACKNOWLEDGE[name] for name in stated["AcknowledgementsRequested"])
    assert view.acknowledge == asked
    response = stated.get("ResponseQueueFormatName")
    assert str(view.response_queue) == (f"DIRECT={response}" if response else "None")
    assert view.message_class == stated.get("Class", 0)
    assert view.priority == stated.get("Priority", 3)
    assert view.body_type == stated.get("BodyType", 0)
    assert view.app_specific == stated.get("ApplicationTag", 0)
    assert view.message().properties.hash_algorithm == stated.get("HashAlgorithm", 0)
    parts = example.expected.get("multipart", {}).get("parts", [])
    assert len(view.body) == (parts[1]["file_length"] if parts else 0)
    if is_stream:
        header = view.transaction
        assert header is not None
        identifier = stated["TransactionalMessageSequenceIdentifier"]
        assert header.tx_sequence_id.number == identifier["value"]
        assert header.tx_sequence_id.time_stamp == identifier["TimeStamp"]
        assert header.tx_sequence_number == stated["TransactionSequenceNumber"]


def test_what_never_expires_has_no_time_to_be_received() -> None:
    """SRMP-158: expiresAt in 2038 is for ever (HTTP-02)."""
    (example,) = [e for e in examples() if "4.2" in e.name]
    packet = to_packet(
        read_message(split_content(example.content_type, example.content)), arrived=0
    )
    assert PacketView(packet).time_to_be_received == INFINITE


def test_the_printed_signature_is_read_and_written() -> None:
    """SRMP-299 to SRMP-303, SRMP-305 to SRMP-307: structure only; neither body nor key is given."""
    written = (FOLDER / "srmp-2.2.7-signature.xml").read_text()
    found = read_envelope(envelope(msmq() + written)).signature
    assert isinstance(found, Signature)
    stated = FRAGMENTS["signature"]["decoded"]
    (reference,) = found.references
    assert reference.uri == stated["references"][0]["URI"]
    assert stated["references"][0]["DigestMethod"].endswith(f"#{reference.method}")
    assert len(reference.digest) == stated["references"][0]["DigestValue_bytes"]
    assert len(found.value) == stated["SignatureValue_bytes"]
    assert write_signature(found) == written


@pytest.mark.parametrize(
    "fragment",
    [f for f in FRAGMENTS["fragments"] if f["section"].startswith("2.2.6.")],
    ids=lambda f: f["section"],
)
def test_every_printed_msmq_element_is_read(fragment: dict[str, Any]) -> None:
    """SRMP-123 to SRMP-137: each fragment of [MC-MQSRM] 2.2.6 alone among the required ones."""
    xml = fragment["xml"]
    start = "".join(p for p in ("<Class>0</Class>", "<Priority>3</Priority>") if p[:6] != xml[:6])
    guid = "caf195ea-615c-4264-ae08-11a4e60194c0"
    rest = "".join(
        f"<{name}>{text}</{name}>"
        for name, text in (("BodyType", "0"), ("SourceQmGuid", guid), ("TTrq", "20070723T031140"))
        if not xml.startswith(f"<{name}>")
    )
    found = read_envelope(envelope(msmq(xml, start=start, rest=rest))).msmq
    assert found is not None
    values = {
        "Class": found.message_class,
        "Priority": found.priority,
        "PositiveJournalingRequested": found.journal,
        "NegativeJournalingRequested": found.dead_letter,
        "TracingRequested": found.trace,
        "ConnectorTypeIdentifier": str(found.connector_type),
        "ApplicationTag": found.app,
        "BodyType": found.body_type,
        "HashAlgorithm": f"SHA1 (0x{found.hash_algorithm:04X})",
        "CorrelationIdentifier_hex": found.correlation.hex(),
        "utc": datetime.fromtimestamp(found.reach_queue_by, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "SourceMachineIdentifier": str(found.source),
        "DestinationMultiQueueFormatName": list(found.destinations),
        "AdministrationMultiQueueFormatName": list(found.administrations),
        "ResponseMultiQueueFormatName": list(found.responses),
        "AuthenticationProviderType": found.provider and found.provider.type,
        "AuthenticationProviderName": found.provider and found.provider.name,
        "FirstInTransaction": found.eod is not None and found.eod.first,
        "LastInTransaction": found.eod is not None and found.eod.last,
        "ConnectorQueueManagerIdentifier": found.eod and str(found.eod.connector_id),
    }
    for name, stated in fragment["decoded"].items():
        assert values[name] == stated, name


def test_the_identifier_of_a_message_is_that_of_its_manager() -> None:
    """SRMP-067, SRMP-068: SourceQmGuid is used when the two differ (note 7)."""
    (example,) = [e for e in examples() if "4.4-a" in e.name]
    message = read_message(split_content(example.content_type, example.content))
    view = PacketView(to_packet(message, arrived=0))
    assert message.envelope.msmq is not None
    written = SoapMessageId.read(message.envelope.path.id, "id")
    assert written.guid != message.envelope.msmq.source
    assert view.source_queue_manager == message.envelope.msmq.source
