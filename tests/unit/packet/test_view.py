"""Single fields of a message, read from its bytes."""

from __future__ import annotations

from dataclasses import replace
from struct import pack

import pytest
from tests.samples import (
    MESSAGES,
    OTHER,
    SECURITY,
    SENT,
    SESSION,
    SOURCE,
    TARGET,
    direct,
    patch,
    properties,
    user_message,
)

from openmsmq.errors import IllegalFormatName, Malformed
from openmsmq.packet.connection import SessionAck
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.view import PacketView


def view(message: UserMessage) -> PacketView:
    return PacketView.parse(message.encode())


@pytest.mark.parametrize("shape", MESSAGES)
def test_fields_of_the_base_header(shape: str) -> None:
    message, packet = MESSAGES[shape], view(MESSAGES[shape])
    assert packet.base_flags == message.base.flags
    assert packet.priority == message.base.flags & 7
    assert packet.trace == bool(message.base.flags & BaseFlags.TR)
    assert packet.packet_size == message.base.packet_size
    assert packet.time_to_reach_queue == message.base.time_to_reach_queue


@pytest.mark.parametrize("shape", MESSAGES)
def test_fields_of_the_user_header(shape: str) -> None:
    message, packet = MESSAGES[shape], view(MESSAGES[shape])
    assert packet.source_queue_manager == SOURCE
    assert packet.queue_manager_address == TARGET
    assert packet.time_to_be_received == 600
    assert packet.sent_time == SENT
    assert packet.message_id == 0x1001
    assert packet.flags == message.user.flags
    assert packet.destination == message.user.destination_name()
    assert packet.admin_queue == message.user.admin_name()
    assert packet.response_queue == message.user.response_name()
    assert packet.user.encode() == message.user.encode()


@pytest.mark.parametrize("shape", MESSAGES)
def test_headers_between_names_and_properties(shape: str) -> None:
    message, packet = MESSAGES[shape], view(MESSAGES[shape])
    assert packet.transactional == (message.transaction is not None)
    assert packet.transaction == message.transaction
    assert (packet.security is None) == (message.security is None)
    if packet.security is not None and message.security is not None:
        assert packet.security.encode() == message.security.encode()


@pytest.mark.parametrize("shape", MESSAGES)
@pytest.mark.parametrize(
    "first", ["label", "extension", "body", "message_class", "acknowledge", "message_size"]
)
def test_fields_of_the_properties_in_any_order(shape: str, first: str) -> None:
    """The place of the header is found by whichever field is asked for first."""
    message, packet = MESSAGES[shape], view(MESSAGES[shape])
    getattr(packet, first)
    expected = message.properties
    assert packet.label == expected.label
    assert packet.extension == expected.extension
    assert packet.message_size == expected.message_size
    assert packet.body == expected.body
    assert packet.body_view == expected.body
    assert packet.message().encode() == message.encode()


def test_every_property_stands_at_its_place() -> None:
    """MQQB-065 to MQQB-067."""
    correlation = bytes(range(20))
    header = replace(
        properties(b"body", "label", b"extension"),
        flags=0xFA,
        message_class=0x8002,
        correlation_id=correlation,
        body_type=8,
        application_tag=0x12345678,
    )
    data = user_message(header=header).encode()
    assert PacketView(data).acknowledge == 0x0A
    assert PacketView(data).message_class == 0x8002
    assert PacketView(data).correlation_id == correlation
    assert PacketView(data).body_type == 8
    assert PacketView(data).app_specific == 0x12345678


@pytest.mark.parametrize(
    ("flags", "attribute", "value"),
    [
        (0x1D, "hop_count", 0x1D),
        (0, "hop_count", 0),
        (1 << 5, "recoverable", True),
        (0, "recoverable", False),
        (UserFlags.JN, "dead_letter", True),
        (UserFlags.JP, "dead_letter", False),
        (UserFlags.JP, "journal", True),
        (UserFlags.JN, "journal", False),
    ],
)
def test_single_flags(flags: int, attribute: str, value: object) -> None:
    """MQQB-046, MQQB-047."""
    assert getattr(view(user_message(flags=flags)), attribute) == value


def test_a_message_is_identified_by_its_source_and_a_number() -> None:
    packet = view(MESSAGES["plain"])
    assert packet.identifier == SOURCE.bytes_le + pack("<I", 0x1001)
    assert packet.id == f"{SOURCE}\\4097"


@pytest.mark.parametrize("label", ["", "x", "x" * 249, "a\ud83d", "\udc00", "\N{GRINNING FACE}"])
def test_labels_come_back(label: str) -> None:
    """MQQB-064: also half surrogate pairs, which peers send."""
    packet = view(user_message(header=properties(label=label)))
    assert packet.label == packet.message().properties.label == label


def test_a_null_inside_ends_the_label() -> None:
    packet = view(user_message(header=properties(label="a\0b")))
    assert packet.label == packet.message().properties.label == "a"


def test_the_body_leaves_out_what_was_only_allocated() -> None:
    """AMB-7."""
    header = replace(properties(b"cipher!!"), message_size=5)
    assert view(user_message(header=header)).body == b"ciphe"


def test_the_body_can_be_looked_at_without_a_copy() -> None:
    data = MESSAGES["plain"].encode()
    assert PacketView(data).body_view.obj is data


@pytest.mark.parametrize("name", MESSAGES)
def test_the_body_is_found_by_its_offset(name: str) -> None:
    found = PacketView(MESSAGES[name].encode())
    start = found.body_offset
    assert found.data[start : start + found.message_size] == found.body


def test_a_name_that_is_none_is_refused_when_it_is_asked_for() -> None:
    packet = view(user_message(destination=direct("nonsense"), admin=direct("nonsense")))
    with pytest.raises(IllegalFormatName):
        _ = packet.destination
    with pytest.raises(IllegalFormatName):
        _ = packet.admin_queue
    assert packet.response_queue is None


def test_a_direct_destination_is_understood_once() -> None:
    first, second = view(MESSAGES["plain"]), view(MESSAGES["transaction"])
    assert first.destination is second.destination


def test_a_connector_type_is_kept() -> None:
    """MQQB-058."""
    assert view(MESSAGES["connector type"]).user.connector_type == OTHER


def test_an_internal_packet_is_no_message() -> None:
    """MQQB-021."""
    with pytest.raises(Malformed, match="not a UserMessage") as caught:
        PacketView.parse(SessionAck(SESSION).encode())
    assert (caught.value.field, caught.value.offset) == ("BaseHeader.Flags", 2)


@pytest.mark.parametrize("shape", MESSAGES)
def test_a_message_cut_short_is_refused(shape: str) -> None:
    """MQQB-010."""
    with pytest.raises(Malformed):
        PacketView.parse(MESSAGES[shape].encode()[:-1])


def test_the_reason_of_a_refusal_names_the_field() -> None:
    """MQQB-049."""
    data = MESSAGES["plain"].encode()
    with pytest.raises(Malformed) as caught:
        PacketView.parse(patch(data, 60, pack("<I", UserFlags.MP | 1 << 10)))
    assert (caught.value.field, caught.value.offset) == ("UserHeader.Flags", 60)


def test_marks_of_a_verified_signature_are_taken_away() -> None:
    plain = view(MESSAGES["plain"])
    assert plain.unverified() is plain.data
    unmarked = view(user_message(security=replace(SECURITY, flags=SecurityFlags.AI)))
    assert unmarked.unverified() is unmarked.data
    marks = SecurityFlags.AI | SecurityFlags.AU | 2 << 8
    marked = view(user_message(security=replace(SECURITY, flags=marks)))
    assert marked.unverified() == unmarked.data
