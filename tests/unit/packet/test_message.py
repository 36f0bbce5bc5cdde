"""UserMessage, and the stored form with its trailer."""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum
from struct import pack
from typing import Any
from uuid import UUID

import pytest
from tests.samples import (
    COMPOUND,
    DEBUG,
    ENVELOPE,
    MESSAGES,
    MULTI_QUEUE,
    SECURITY,
    SESSION,
    SOAP,
    STORED,
    TRANSACTION,
    direct,
    patch,
    properties,
    refusal,
    user_message,
)
from tests.unit.packet.headers import mapped

from openmsmq.errors import Malformed
from openmsmq.packet.headers.base import BaseHeader
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.headers.trailer import ExtendedAddressHeader, SubqueueHeader, Trailer
from openmsmq.packet.headers.transaction import TransactionFlags, TxSequenceID
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import StoredMessage, UserMessage
from openmsmq.packet.packet import decode_packet, read_packet
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import (
    EncryptionAlgorithm,
    HashAlgorithm,
    MessageClass,
    PrivacyLevel,
)
from openmsmq.wire.reader import Reader, decode_whole
from openmsmq.wire.trace import TracingReader


@pytest.mark.parametrize("shape", MESSAGES)
def test_a_message_of_any_shape_comes_back(shape: str) -> None:
    """MQQB-022, MQQB-059, MQQB-062: each header is there exactly when it is announced."""
    message = MESSAGES[shape]
    assert decode_packet(message.encode()).encode() == message.encode()
    found = decode_packet(message.encode())
    assert isinstance(found, UserMessage)
    for part in UserMessage.__slots__:
        assert (getattr(found, part) is None) == (getattr(message, part) is None), part
    assert found.session_is_inside == message.session_is_inside
    assert found.surplus == message.surplus


def test_a_message_has_three_headers_by_default() -> None:
    """MQQB-062."""
    plain = MESSAGES["plain"]
    assert UserMessage(plain.base, plain.user, plain.properties) == plain
    reader = TracingReader(plain.encode())
    UserMessage.read(reader, BaseHeader.read(reader))
    assert reader.fields[7].path == "UserHeader.QueueManagerAddress"


def test_headers_follow_in_the_order_of_the_specification() -> None:
    """MQQB-001, MQQB-164."""
    reader = TracingReader(MESSAGES["all"].encode())
    read_packet(reader)
    found = dict.fromkeys(field.path.partition(".")[0] for field in reader.fields)
    assert list(found) == [
        "BaseHeader",
        "UserHeader",
        "TransactionHeader",
        "SecurityHeader",
        "MessagePropertiesHeader",
        "DebugHeader",
        "SRMPEnvelopeHeader",
        "CompoundMessageHeader",
        "SoapHeader",
        "MultiQueueFormatHeader",
        "surplus",
        "SessionHeader",
    ]


def test_every_header_starts_on_a_boundary_of_4() -> None:
    """MQQB-009."""
    reader = TracingReader(MESSAGES["all"].encode())
    read_packet(reader)
    starts: dict[str, int] = {}
    for field in reader.fields:
        starts.setdefault(field.path.partition(".")[0], field.offset)
    assert len(starts) == 12
    assert {name for name, offset in starts.items() if offset % 4} == {"surplus"}


def test_the_parts_are_found() -> None:
    """MQQB-059, MQQB-164."""
    found = decode_packet(MESSAGES["all"].encode())
    assert isinstance(found, UserMessage)
    assert found.transaction is not None
    assert found.transaction.tx_sequence_id == TRANSACTION.tx_sequence_id
    assert found.security is not None
    assert found.security.signature == SECURITY.signature
    assert found.debug == DEBUG
    assert found.envelope is not None
    assert found.envelope.envelope == ENVELOPE.envelope
    assert found.compound is not None
    assert found.compound.body == COMPOUND.body
    assert found.soap is not None
    assert (found.soap.header, found.soap.body) == (SOAP.header, SOAP.body)
    assert found.multi_queue is not None
    assert found.multi_queue.signature == MULTI_QUEUE.signature
    assert found.session == SESSION


def test_the_shortest_messages() -> None:
    """MQQB-005, MQQB-062: 120 bytes without destination."""
    shortest = replace(MESSAGES["no destination"], properties=properties(b"", ""))
    shortest = replace(shortest, base=replace(shortest.base, packet_size=120))
    assert len(shortest.encode()) == 120
    assert isinstance(decode_packet(shortest.encode()), UserMessage)


def test_the_size_leaves_the_session_header_out() -> None:
    """MQQB-006, AMB-1."""
    data = MESSAGES["session"].encode()
    found = decode_packet(data)
    assert isinstance(found, UserMessage)
    assert found.base.packet_size == len(data) - 16
    assert found.session == SESSION
    assert not found.session_is_inside


def test_a_session_header_inside_the_size_is_found() -> None:
    """AMB-1: the headers end 16 bytes before PacketSize, and nothing follows."""
    data = MESSAGES["session inside"].encode()
    found = decode_packet(data)
    assert isinstance(found, UserMessage)
    assert found.base.packet_size == len(data)
    assert found.session == SESSION
    assert found.session_is_inside
    assert found.surplus == b""


def test_16_bytes_more_without_sh_are_surplus() -> None:
    """AMB-1, AMB-63."""
    message = user_message(surplus=bytes(16))
    found = decode_packet(message.encode())
    assert isinstance(found, UserMessage)
    assert (found.surplus, found.session) == (bytes(16), None)


def test_unknown_bytes_inside_the_size_are_kept() -> None:
    """AMB-63."""
    reader = TracingReader(MESSAGES["surplus"].encode())
    read_packet(reader)
    assert reader.fields[-1].path == "surplus"
    assert reader.fields[-1].value == b"later".hex()


def test_an_unpadded_end_is_taken() -> None:
    """AMB-9: the signature of the last header need not end on 4 bytes."""
    message = MESSAGES["several queues"]
    assert len(message.encode()) % 4
    assert decode_packet(message.encode()).encode() == message.encode()


def test_odd_padding_and_reserved_fields_come_back() -> None:
    """MQQB-016, MQQB-018, MQQB-061, MQQB-070, MQQB-076."""
    message = user_message(
        flags=0xED000080,
        base_flags=0xFEC3,
        destination=direct("OS:ab", b"\x01\x02"),
        header=replace(properties(b"x", ""), flags=0xF0, padding=b"\x03\x04\x05"),
    )
    data = patch(message.encode(), 1, b"\xc0")
    assert decode_packet(data).encode() == data


@pytest.mark.parametrize("shape", MESSAGES)
def test_a_message_cut_short_anywhere_is_refused(shape: str) -> None:
    """MQQB-010."""
    data = MESSAGES[shape].encode()
    for size in range(len(data)):
        with pytest.raises(Malformed) as caught:
            decode_packet(data[:size])
        assert caught.value.offset <= size


@pytest.mark.parametrize("shape", [shape for shape in MESSAGES if shape != "surplus"])
def test_headers_must_lie_inside_the_size(shape: str) -> None:
    """MQQB-005, MQQB-010: even if the bytes are there."""
    message = MESSAGES[shape]
    size = message.base.packet_size - len(message.surplus) - 1
    with pytest.raises(Malformed):
        decode_packet(patch(message.encode(), 8, pack("<I", size)))


def test_a_size_larger_than_the_data_is_refused_as_such() -> None:
    """MQQB-005, MQQB-010: the headers are whole, PacketSize is at fault."""
    message = MESSAGES["plain"]
    data = b"--" + patch(message.encode(), 8, pack("<I", message.base.packet_size + 1))
    assert refusal(read_packet, data, start=2) == ("BaseHeader.PacketSize", 10)


def test_an_announced_header_that_is_not_there_is_refused() -> None:
    """MQQB-010, MQQB-059."""
    data = MESSAGES["plain"].encode()
    flags = int.from_bytes(data[60:64], "little") | 0x00800000
    found = refusal(read_packet, patch(data, 60, pack("<I", flags)))
    assert found == ("MultiQueueFormatHeader.Destination.HeaderSize", len(data))


def test_a_session_header_that_is_not_there_is_refused() -> None:
    """MQQB-010, MQQB-022."""
    data = MESSAGES["session"].encode()[:-16]
    assert refusal(read_packet, data) == ("SessionHeader.AckSequenceNumber", len(data))


def test_the_worked_stored_message_is_read() -> None:
    """MQQB-162, MQQB-163, MQQB-165, MQQB-166, MQQB-168, MQQB-171: and encodes to the same."""
    assert len(STORED) == 376
    stored = decode_whole(STORED, StoredMessage.read)
    assert stored.encode() == STORED
    message = stored.message
    assert message.base.packet_size == 0xBC
    assert message.base.time_to_reach_queue == 0x65000000 + 345_600
    assert str(message.user.destination_name()) == r"DIRECT=OS:server1\private$\orders"
    assert (message.properties.label, message.properties.body) == ("L", b"hello")
    assert stored.trailer is not None
    assert stored.trailer.extension.remaining_headers_size == 176
    assert stored.trailer.extension.flags == 0x12
    assert stored.trailer.subqueue == SubqueueHeader()
    assert stored.trailer.extended_address is not None
    assert stored.trailer.extended_address.address[:4] == bytes((10, 0, 0, 7))


def test_the_worked_stored_message_lies_where_it_should() -> None:
    """MQQB-005, MQQB-009, MQQB-163."""
    reader = TracingReader(STORED)
    StoredMessage.read(reader)
    ranges: dict[str, tuple[int, int]] = {}
    for field in reader.fields:
        header = field.path.partition(".")[0]
        start, _ = ranges.get(header, (field.offset, 0))
        ranges[header] = (start, field.offset + field.size - 1)
    assert ranges == {
        "BaseHeader": (0x000, 0x00F),
        "UserHeader": (0x010, 0x077),
        "MessagePropertiesHeader": (0x078, 0x0BB),
        "ExtensionHeader": (0x0BC, 0x0C7),
        "SubqueueHeader": (0x0C8, 0x15B),
        "ExtendedAddressHeader": (0x15C, 0x177),
    }
    places = {field.path: field.offset for field in reader.fields}
    assert places["MessagePropertiesHeader.MessageBody"] == 0x0B4
    assert places["UserHeader.AddressType"] == 0x022


def test_the_worked_stored_message_is_built() -> None:
    """MQQB-162, MQQB-163, MQQB-165, MQQB-166, MQQB-168."""
    message = user_message(
        header=replace(properties(), hash_algorithm=0x800E, encryption_algorithm=0x6610)
    )
    source = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    overlay = UUID(bytes_le=pack("<HHI", 4, 1, 0) + b"\x0a\0\0\x07\0\0\0\0")
    user = replace(
        message.user,
        source_queue_manager=source,
        queue_manager_address=overlay,
        time_to_be_received=0xFFFFFFFF,
    )
    base = replace(message.base, time_to_reach_queue=0x65054600)
    address = ExtendedAddressHeader(
        address_length=4, address_type=1, address=b"\x0a\0\0\x07" + bytes(12)
    )
    trailer = Trailer.make(SubqueueHeader(), address)
    assert StoredMessage(replace(message, base=base, user=user), trailer).encode() == STORED


@pytest.mark.parametrize("shape", MESSAGES)
def test_a_stored_message_may_have_no_trailer(shape: str) -> None:
    """MQQB-166: old systems write none."""
    data = MESSAGES[shape].encode()
    stored = decode_whole(data, StoredMessage.read)
    assert stored.trailer is None
    assert stored.encode() == data


def test_a_stored_message_may_carry_a_session_header() -> None:
    """MQQB-006: it stands between the message and the trailer."""
    data = MESSAGES["session"].encode() + STORED[0xBC:]
    stored = StoredMessage.read(Reader(data))
    assert stored.message.session == SESSION
    assert stored.trailer is not None
    assert stored.encode() == data


def attributes(data: bytes) -> dict[str, object]:
    """The attributes of a message by the names of [MS-MQDMPR] 3.1.7.1.31, and those only in .32."""
    view = PacketView.parse(data)
    message = view.message()
    security, transaction = message.security, message.transaction
    debug, multi_queue = message.debug, message.multi_queue
    assert security is not None
    assert debug is not None
    assert multi_queue is not None
    found: dict[str, object] = {
        "Priority": view.priority,
        "TracingRequested": view.trace,
        "TimeToReachQueue": view.time_to_reach_queue,
        "SourceMachineIdentifier": view.source_queue_manager,
        "DestinationQueueManagerIdentifier": view.queue_manager_address,
        "TimeToBeReceived": view.time_to_be_received,
        "SentTime": view.sent_time,
        "Identifier": view.message_id,
        "DestinationQueueType": view.user.destination.code,
        "AdministrationQueueType": view.user.admin.code,
        "ResponseQueueType": view.user.response.code,
        "DeliveryGuarantee": UserFlags.split(view.flags)["DM"],
        "PositiveJournalingRequested": view.journal,
        "NegativeJournalingRequested": view.dead_letter,
        "DestinationQueueFormatName": view.destination,
        "AdministrationQueueFormatName": view.admin_queue,
        "ResponseQueueFormatName": view.response_queue,
        "ConnectorTypeIdentifier": view.user.connector_type,
        "AcknowledgementsRequested": view.acknowledge,
        "Class": view.message_class,
        "CorrelationIdentifier": view.correlation_id,
        "BodyType": view.body_type,
        "ApplicationTag": view.app_specific,
        "PrivacyLevel": message.properties.privacy_level,
        "HashAlgorithm": message.properties.hash_algorithm,
        "EncryptionAlgorithm": message.properties.encryption_algorithm,
        "Label": view.label,
        "Extension": view.extension,
        "Body": view.body,
        "AuthenticationLevel": security.signature_type,
        "SenderIdentifierType": security.flags & SecurityFlags.ST,
        "SenderIdentifier": security.security_id,
        "SymmetricKey": security.encryption_key,
        "Signature": security.signature,
        "SenderCertificate": security.sender_cert,
        "AuthenticationProviderType": security.provider_type,
        "AuthenticationProviderName": security.provider_name,
        "DestinationMultiQueueFormatName": [e.name() for e in multi_queue.destination.elements],
        "AdministrationMultiQueueFormatName": [
            e.name() for e in multi_queue.administration.elements
        ],
        "ResponseMultiQueueFormatName": [e.name() for e in multi_queue.response.elements],
        "MultipleDestinationSignature": multi_queue.signature.signature,
        "TracingQueueIdentifier": debug.queue_identifier,
    }
    if transaction is not None:
        found |= {
            "FinalAckRequired": bool(transaction.flags & TransactionFlags.FA),
            "FirstInTransaction": bool(transaction.flags & TransactionFlags.FM),
            "LastInTransaction": bool(transaction.flags & TransactionFlags.LM),
            "TransactionIdentifier": transaction.transaction_id,
            "TransactionalMessageSequenceIdentifier": transaction.tx_sequence_id,
            "TransactionSequenceNumber": transaction.tx_sequence_number,
            "TransactionPreviousSequenceNumber": transaction.previous_tx_sequence_number,
            "ConnectorQueueManagerIdentifier": transaction.connector_qm_guid,
        }
    return found


EVERYTHING: dict[str, object] = {
    "Priority": 0,
    "TracingRequested": True,
    "TimeToReachQueue": 3600,
    "SourceMachineIdentifier": mapped.SOURCE,
    "DestinationQueueManagerIdentifier": mapped.TARGET,
    "TimeToBeReceived": 600,
    "SentTime": 0x65000000,
    "Identifier": 0x1001,
    "DestinationQueueType": 3,
    "AdministrationQueueType": 5,
    "ResponseQueueType": 7,
    "DeliveryGuarantee": 1,
    "PositiveJournalingRequested": True,
    "NegativeJournalingRequested": True,
    "DestinationQueueFormatName": mapped.DESTINATION_NAME,
    "AdministrationQueueFormatName": mapped.ADMIN_NAME,
    "ResponseQueueFormatName": mapped.RESPONSE_NAME,
    "ConnectorTypeIdentifier": mapped.CONNECTOR,
    "AcknowledgementsRequested": 0x0E,
    "Class": 0x8002,
    "CorrelationIdentifier": mapped.CORRELATION,
    "BodyType": 0x1008,
    "ApplicationTag": 0x12345678,
    "PrivacyLevel": 5,
    "HashAlgorithm": 0x800C,
    "EncryptionAlgorithm": 0x6610,
    "Label": mapped.LABEL,
    "Extension": mapped.EXTENSION,
    "Body": mapped.BODY,
    "AuthenticationLevel": 0,
    "SenderIdentifierType": 1,
    "SenderIdentifier": mapped.SID,
    "SymmetricKey": mapped.KEY,
    "Signature": mapped.SIGNATURE,
    "SenderCertificate": mapped.CERTIFICATE,
    "AuthenticationProviderType": mapped.PROVIDER_TYPE,
    "AuthenticationProviderName": mapped.PROVIDER_NAME,
    "DestinationMultiQueueFormatName": list(mapped.MANY),
    "AdministrationMultiQueueFormatName": [mapped.ADMIN_NAME],
    "ResponseMultiQueueFormatName": [mapped.DESTINATION_NAME],
    "MultipleDestinationSignature": mapped.MULTI_SIGNATURE,
    "TracingQueueIdentifier": mapped.REPORTS,
    "FinalAckRequired": True,
    "FirstInTransaction": True,
    "LastInTransaction": True,
    "TransactionIdentifier": 0x54321,
    "TransactionalMessageSequenceIdentifier": TxSequenceID(7, 0x64000000),
    "TransactionSequenceNumber": 5,
    "TransactionPreviousSequenceNumber": 4,
    "ConnectorQueueManagerIdentifier": mapped.CONNECTOR_MANAGER,
}
ONLY_WRITTEN = ("ConnectorTypeIdentifier", "Signature", "TransactionPreviousSequenceNumber")


@pytest.mark.parametrize("name", EVERYTHING)
def test_every_attribute_is_read_from_its_field(name: str) -> None:
    """DMPR-360, DMPR-353: the 47 of the text, and three it forgets (A-44)."""
    assert len(EVERYTHING) == 47 + len(ONLY_WRITTEN)
    assert attributes(mapped.everything())[name] == EVERYTHING[name]


@pytest.mark.parametrize(("kind", "priority"), [(0, 0), (1, 5), (3, 7), (5, 3)])
def test_priority_and_signature_type_are_read_too(kind: int, priority: int) -> None:
    """DMPR-360, DMPR-361: the two that a sender leaves 0 in the message above."""
    flags = mapped.SIGNED_BY_APPLICATION | kind << 8
    data = mapped.everything(in_transaction=False, priority=priority, security_flags=flags)
    found = attributes(data)
    assert (found["AuthenticationLevel"], found["Priority"]) == (kind, priority)
    assert found.keys() < EVERYTHING.keys()


@pytest.mark.parametrize(
    ("field", "codes"),
    [
        ("message_class", MessageClass),
        ("privacy_level", PrivacyLevel),
        ("hash_algorithm", HashAlgorithm),
        ("encryption_algorithm", EncryptionAlgorithm),
    ],
)
def test_every_code_is_read_as_it_was_written(field: str, codes: type[IntEnum]) -> None:
    """DMPR-362."""
    plain = MESSAGES["plain"]
    for code in codes:
        given: dict[str, Any] = {field: int(code)}
        written = replace(plain, properties=replace(plain.properties, **given))
        read = PacketView.parse(written.encode()).message()
        assert codes(getattr(read.properties, field)) is code


def test_a_header_that_is_not_there_leaves_its_attributes_unset() -> None:
    """DMPR-359."""
    view = PacketView.parse(MESSAGES["plain"].encode())
    message = view.message()
    assert message.transaction is view.transaction is None
    assert message.security is view.security is None
    assert message.debug is None
    assert message.multi_queue is None
    assert message.user.connector_type is None
    without = PacketView.parse(mapped.everything(in_transaction=False))
    assert without.transaction is None
    assert without.security is not None
