"""What a queue manager reports of a message to its sender."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.names.base import FormatName
from openmsmq.names.format import parse_format_name
from openmsmq.packet.admin import build_admin_ack
from openmsmq.packet.builder import NO_HEADERS, OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, MessageClass

SENDER, RECEIVER = UUID(int=1), UUID(int=2)
QUEUE = parse_format_name("DIRECT=OS:receiver\\private$\\q")
ADMIN = parse_format_name("DIRECT=OS:sender\\private$\\admin")
BODY = b"the body"
NOW = 1_700_000_000
NEGATIVE = [code for code in MessageClass if code & 0x8000]


def original(*, recoverable: bool = True, headers: OptionalHeaders = NO_HEADERS) -> PacketView:
    """A message that is reported about."""
    packet = PacketBuilder(SENDER, QUEUE, admin=ADMIN).build(
        BODY,
        "label",
        recoverable=recoverable,
        journal=True,
        dead_letter=True,
        message_id=77,
        sent_time=NOW - 60,
        time_to_reach_queue=5,
        time_to_be_received=6,
        acknowledge=15,
        correlation_id=b"c" * 20,
        body_type=17,
        app_specific=9,
        extension=b"more",
        headers=headers,
    )
    return PacketView(packet)


def report(
    of: PacketView,
    message_class: MessageClass = MessageClass.NACK_RECEIVE_TIMEOUT,
    admin: FormatName = ADMIN,
) -> PacketView:
    built = build_admin_ack(of, admin, message_class, source=RECEIVER, message_id=5, sent_time=NOW)
    return PacketView.parse(built)


def test_it_says_what_became_of_which_message() -> None:
    message = original()
    found = report(message)
    assert found.message_class == MessageClass.NACK_RECEIVE_TIMEOUT
    assert found.correlation_id == message.identifier
    assert str(found.destination) == str(ADMIN)
    assert str(found.response_queue) == str(QUEUE)
    assert (found.source_queue_manager, found.message_id, found.sent_time) == (RECEIVER, 5, NOW)


@pytest.mark.parametrize("message_class", NEGATIVE, ids=lambda code: code.name)
def test_what_failed_comes_back_with_its_body(message_class: MessageClass) -> None:
    found = report(original(), message_class)
    assert (found.body, found.body_type) == (BODY, 17)


@pytest.mark.parametrize("message_class", [MessageClass.ACK_REACH_QUEUE, MessageClass.ACK_RECEIVE])
def test_a_success_is_reported_without_the_body(message_class: MessageClass) -> None:
    found = report(original(), message_class)
    assert (found.body, found.body_type) == (b"", 0)


def test_an_encrypted_body_does_not_come_back() -> None:
    keys = SecurityHeader.make(0, encryption_key=b"key")
    message = original(headers=OptionalHeaders(security=keys, privacy_level=1))
    assert message.is_encrypted
    found = report(message)
    assert (found.body, found.body_type, found.is_encrypted) == (b"", 0, False)


def test_a_body_that_had_to_be_encrypted_does_not_come_back_clear() -> None:
    """MSEC-087: stored messages are clear, and an acknowledgement may go anywhere."""
    message = original(headers=OptionalHeaders(privacy_level=5))
    assert not message.is_encrypted
    assert report(message).body == b""


@pytest.mark.parametrize("recoverable", [True, False])
def test_it_is_as_safe_as_the_message_was(recoverable: bool) -> None:
    assert report(original(recoverable=recoverable)).recoverable is recoverable


def test_it_asks_for_nothing_and_lives_for_ever() -> None:
    found = report(original())
    assert (found.acknowledge, found.journal, found.dead_letter) == (0, False, False)
    assert found.admin_queue is None
    assert (found.time_to_reach_queue, found.time_to_be_received) == (INFINITE, INFINITE)
    assert (found.label, found.app_specific, found.extension) == ("", 0, b"")


def test_about_a_transactional_message_it_is_not_transactional() -> None:
    message = original(headers=OptionalHeaders(transaction=TransactionHeader()))
    found = report(message)
    assert (found.transactional, found.recoverable, found.body) == (False, True, BODY)


@pytest.mark.parametrize(
    ("name", "manager"),
    [
        ("DIRECT=TCP:10.0.0.1\\private$\\admin", UUID(int=0)),
        (f"PRIVATE={SENDER}\\10", SENDER),
        (f"PRIVATE={RECEIVER}\\10", RECEIVER),
    ],
)
def test_any_administration_queue_can_be_named(name: str, manager: UUID) -> None:
    found = report(original(), admin=parse_format_name(name))
    assert found.destination == parse_format_name(name)
    assert found.queue_manager_address == manager


def test_a_public_administration_queue_can_be_named() -> None:
    name = parse_format_name("PUBLIC=12345678-1234-4234-8234-123456789abc")
    assert report(original(), admin=name).destination == name
