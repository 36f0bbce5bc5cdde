"""Packets explained field by field."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import MESSAGES, SENT, SESSION, SOURCE, STORED, TARGET, patch

from openmsmq.packet.acks import (
    FinalAckBody,
    OrderAckBody,
    build_final_ack,
    build_order_ack,
    order_queue,
)
from openmsmq.packet.connection import ConnectionParameters, EstablishConnection, SessionAck
from openmsmq.packet.describe import Description, describe
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.ping import PING_SIGNATURE, PingPacket

PING = PingPacket(1, PING_SIGNATURE, 7, SOURCE).pack()
ACK = SessionAck(SESSION).encode()
PLAIN = MESSAGES["plain"].encode()
ORDER_ACK = build_order_ack(
    order_queue(TARGET),
    OrderAckBody(TxSequenceID(1, SENT), 2, 1),
    source=SOURCE,
    message_id=1,
    sent_time=SENT,
)
FINAL_ACK = build_final_ack(
    order_queue(TARGET),
    FinalAckBody(TxSequenceID(1, SENT), 2, 1, TARGET, 42),
    0x8000,
    source=SOURCE,
    message_id=1,
    sent_time=SENT,
)
BODY = "MessagePropertiesHeader.MessageBody"


def only(data: bytes) -> Description:
    [description] = describe(data)
    return description


def paths(description: Description) -> list[str]:
    return [field.path for field in description.fields]


def test_nothing_holds_no_packet() -> None:
    assert list(describe(b"")) == []


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PING, "Ping"),
        (ACK, "SessionAck"),
        (
            ConnectionParameters(ConnectionParametersHeader(500, 20_000)).encode(),
            "ConnectionParameters",
        ),
        (
            EstablishConnection(EstablishConnectionHeader(SOURCE, TARGET, 1)).encode(),
            "EstablishConnection",
        ),
        (ORDER_ACK, "OrderAck"),
        (FINAL_ACK, "FinalAck"),
        (STORED, "StoredMessage"),
        *((message.encode(), "UserMessage") for message in MESSAGES.values()),
    ],
)
def test_every_kind_of_packet_is_recognised(data: bytes, kind: str) -> None:
    """MQQB-020, MQQB-021, MQQB-127 to MQQB-129."""
    description = only(data)
    assert (description.kind, description.offset) == (kind, 0)
    assert description.data == data
    assert description.error is None


@pytest.mark.parametrize(
    "data", [PING, ACK, ORDER_ACK, FINAL_ACK, STORED, MESSAGES["all"].encode()]
)
def test_the_fields_cover_every_byte_once(data: bytes) -> None:
    place = 0
    for field in only(data).fields:
        assert field.offset == place, field.path
        place += field.size
    assert place == len(data)


def test_packets_follow_one_another() -> None:
    """MQQB-001: offsets of fields count from their packet."""
    stream = [ACK, PLAIN, MESSAGES["session"].encode(), STORED, ORDER_ACK]
    found = list(describe(b"".join(stream)))
    assert [description.data for description in found] == stream
    offsets = [sum(map(len, stream[:index])) for index in range(len(stream))]
    assert [description.offset for description in found] == offsets
    assert all(description.fields[0].offset == 0 for description in found)


def test_the_body_of_an_ack_is_shown_as_its_fields() -> None:
    """MQQB-124, MQQB-126."""
    order = [path for path in paths(only(ORDER_ACK)) if path.startswith(BODY)]
    assert order == [
        f"{BODY}.TxSequenceID.Ordinal",
        f"{BODY}.TxSequenceID.TimeStamp",
        f"{BODY}.TxSequenceNumber",
        f"{BODY}.TxPreviousSequenceNumber",
        f"{BODY}.Reserved",
    ]
    final = {field.path: field.value for field in only(FINAL_ACK).fields}
    assert final[f"{BODY}.SourceGUID"] == str(TARGET).upper()
    assert final[f"{BODY}.MessageID"] == 42


def test_what_follows_the_body_of_an_ack_is_shown_as_well() -> None:
    """AMB-54."""
    data = patch(ORDER_ACK, 2, pack("<H", 0x10)) + SESSION.pack()
    description = only(data)
    assert description.kind == "OrderAck"
    assert sum(field.size for field in description.fields) == len(data)
    assert paths(description)[-7:] == [f"SessionHeader.{f.name}" for f in SESSION.FIELDS]


def test_the_body_of_another_message_is_shown_as_it_is() -> None:
    assert {f.path: f.value for f in only(PLAIN).fields}[BODY] == b"hello".hex()


def test_a_stored_message_is_known_by_its_trailer() -> None:
    """MQQB-162, MQQB-163: then the address lies over QueueManagerAddress."""
    assert "UserHeader.AddressType" in paths(only(STORED))
    alone = only(STORED[:0xBC])
    assert alone.kind == "UserMessage"
    assert "UserHeader.QueueManagerAddress" in paths(alone)


def test_a_stored_message_may_carry_a_session_header() -> None:
    """MQQB-006."""
    description = only(MESSAGES["session"].encode() + STORED[0xBC:])
    assert description.kind == "StoredMessage"
    assert "SessionHeader.WindowSize" in paths(description)


def test_an_internal_packet_has_no_trailer() -> None:
    found = list(describe(ACK + STORED[0xBC:]))
    assert [description.kind for description in found] == ["SessionAck", "Unknown"]


def test_what_was_readable_is_shown_before_the_error() -> None:
    """MQQB-010."""
    data = patch(PLAIN, 64, pack("<H", 53))
    description = only(data)
    assert description.kind == "UserMessage"
    assert description.data == data
    assert description.error is not None
    assert description.error.field == "UserHeader.DestinationQueue.Count"
    assert description.error.offset == 64
    assert paths(description)[-2:] == ["UserHeader.Flags", "UserHeader.DestinationQueue.Count"]


def test_nothing_is_read_after_an_error() -> None:
    """MQQB-010: the error is placed in its packet."""
    found = list(describe(ACK + patch(PLAIN, 4, b"LIAR") + ACK))
    assert [description.kind for description in found] == ["SessionAck", "Unknown"]
    assert found[1].offset == len(ACK)
    assert found[1].error is not None
    assert (found[1].error.field, found[1].error.offset) == ("BaseHeader.Signature", 4)


@pytest.mark.parametrize("size", [1, 3, 8, 15])
def test_less_than_a_header_is_shown_as_far_as_it_goes(size: int) -> None:
    description = only(PLAIN[:size])
    assert description.kind == "Unknown"
    assert description.error is not None
    assert description.error.field.startswith("BaseHeader.")


def test_a_ping_cut_short_is_refused() -> None:
    """MQQB-129."""
    description = only(PING[:20])
    assert description.error is not None
    assert (description.error.field, description.error.offset) == ("QMGuid", 8)
    assert paths(description) == ["Flags", "Signature", "Cookie"]


def test_flags_that_look_like_a_ping_do_not_make_one() -> None:
    """MQQB-129: the signature of a session packet decides."""
    assert only(patch(PLAIN, 2, b"\x40\x54")).kind == "UserMessage"
    description = only(patch(PLAIN, 2, b"\x48\x55"))
    assert description.kind == "Unknown"
    assert description.error is not None
    assert description.error.field == "InternalHeader.Flags"


def test_a_trailer_that_is_broken_is_refused() -> None:
    """MQQB-165."""
    description = only(STORED[:-1])
    assert description.kind == "UserMessage"
    assert description.error is not None
    assert description.error.field == "ExtensionHeader.RemainingHeadersSize"
    assert description.error.offset == 0xC0
