"""Messages received, read from their packets."""

from __future__ import annotations

import copy
import gc
import pickle
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any
from uuid import UUID

import pytest
from tests.samples import (
    DIRECT,
    MESSAGES,
    OTHER,
    PUBLIC,
    SECURITY,
    SENT,
    SOURCE,
    direct,
    properties,
    user_message,
)

from openmsmq.names.format import PrivateName, parse_format_name
from openmsmq.names.reference import QueueReference, ReferenceCode
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.trailer import letter_trailer
from openmsmq.packet.message import UserMessage
from openmsmq.packet.origin import packed_address, with_origin
from openmsmq.properties.message import Acknowledge, SignatureType
from openmsmq.types.json import to_json
from openmsmq.types.message import FIELDS, Message
from openmsmq.types.received import ReceivedMessage, received_together

FACTS: dict[str, Any] = {
    "lookup_id": 5,
    "arrival": 6,
    "arrived": SENT + 1.5,
    "abort_count": 2,
    "move_count": 3,
}
PACKET = user_message().encode()


def received(message: UserMessage, **facts: Any) -> ReceivedMessage:
    return ReceivedMessage(message.encode(), **facts)


def test_a_received_message_is_a_message() -> None:
    assert isinstance(received(user_message()), Message)


def test_what_the_queue_knows_is_kept() -> None:
    message = received(user_message(), **FACTS)
    assert (message.lookup_id, message.arrival) == (5, 6)
    assert (message.abort_count, message.move_count) == (2, 3)
    assert message.arrived_time == datetime(2023, 9, 12, 6, 6, 57, 500_000, tzinfo=UTC)


def test_what_the_packet_says_is_read() -> None:
    message = received(user_message(flags=0x20 | 0x100))
    assert message.packet == user_message(flags=0x20 | 0x100).encode()
    assert message.id == f"{SOURCE}\\4097"
    assert message.identifier == SOURCE.bytes_le + b"\x01\x10\0\0"
    assert message.message_class == 0
    assert message.sent_time == datetime(2023, 9, 12, 6, 6, 56, tzinfo=UTC)
    assert message.destination_queue == DIRECT
    assert message.source_manager == SOURCE
    assert not message.transactional
    assert message.sender_id is None
    assert message.to_message() == Message(
        b"hello",
        label="L",
        time_to_be_received=600,
        recoverable=True,
        dead_letter=True,
    )
    assert (message.text, message.value) == ("hello", "hello")


@pytest.mark.parametrize(
    ("address", "shown"), [("10.0.0.7", "10.0.0.7"), ("fe80::1%3", "fe80::1%3"), ("", "")]
)
def test_the_address_that_a_message_came_from_is_shown(address: str, shown: str) -> None:
    direct = PacketBuilder(UUID(int=9), parse_format_name("DIRECT=OS:server1\\q")).build(b"x")
    message = ReceivedMessage(with_origin(direct, packed_address(address)), **FACTS)
    assert message.source_address == shown


def test_a_report_says_which_message_it_is_about() -> None:
    header = replace(
        properties(), message_class=0x8002, correlation_id=bytes(range(20)), flags=0xF5
    )
    message = received(user_message(header=header))
    assert message.message_class == 0x8002
    assert message.correlation_id == bytes(range(20))
    assert message.acknowledge is Acknowledge.FULL_REACH_QUEUE


def test_zeros_are_no_correlation() -> None:
    assert received(user_message()).correlation_id == b""


@pytest.mark.parametrize("kind", MESSAGES)
def test_every_field_of_every_message_can_be_read(kind: str) -> None:
    message = received(MESSAGES[kind])
    assert message.to_message() == Message(**{n: getattr(message, n) for n in FIELDS})
    assert message.transactional is ("transaction" in kind or kind == "all")


def test_queues_for_replies_are_found() -> None:
    message = received(MESSAGES["names elsewhere"])
    assert message.admin_queue == message.response_queue == PrivateName(OTHER, 5)
    message = received(MESSAGES["public destination"])
    assert message.destination_queue == PUBLIC
    assert message.admin_queue is message.response_queue is None


def test_what_is_no_name_is_no_queue() -> None:
    """Peers may write anything there, and a program that reads many messages must not stop."""
    nonsense = direct("nonsense")
    homeless = QueueReference(ReferenceCode.PRIVATE_ON_ADMIN_HOST, number=1)
    message = received(user_message(destination=nonsense, admin=nonsense, response=homeless))
    assert message.destination_queue is None
    assert message.admin_queue is None
    assert message.response_queue is None


@pytest.mark.parametrize(
    ("security", "expected"),
    [
        (SECURITY, "S-1-5-7"),
        (replace(SECURITY, flags=0xFFF1), "S-1-5-7"),
        (replace(SECURITY, flags=0), None),
        (replace(SECURITY, flags=2), None),
        (SecurityHeader.make(2, security_id=OTHER.bytes_le), None),
        (SecurityHeader.make(1, security_id=b"nonsense"), None),
    ],
)
def test_the_sender_is_a_security_identifier(
    security: SecurityHeader, expected: str | None
) -> None:
    assert received(user_message(security=security)).sender_id == expected


@pytest.mark.parametrize("code", [0, 1, 0x00FF, 0x0123, 0x8004, 0xC003, 0xE1FF, 0xFFFF])
def test_a_class_is_what_its_sender_says_it_is(code: int) -> None:
    """DMPR-056: those that no one defined, too."""
    header = replace(properties(), message_class=code)
    assert received(user_message(header=header)).message_class == code


ALTERNATIVE = SecurityHeader.make(
    1,
    security_id=SECURITY.security_id,
    signature=b"signed",
    provider_info=b"\x01\0\0\0" + "Some provider\0".encode("utf-16-le"),
)


@pytest.mark.parametrize(
    ("reported", "untold"),
    [
        pytest.param(MESSAGES["connector type"], MESSAGES["plain"], id="DMPR-092"),
        pytest.param(
            user_message(security=ALTERNATIVE), user_message(security=SECURITY), id="DMPR-093"
        ),
        pytest.param(MESSAGES["over HTTP"], MESSAGES["plain"], id="DMPR-096"),
    ],
)
def test_some_headers_tell_a_program_nothing(reported: UserMessage, untold: UserMessage) -> None:
    """DMPR-092, DMPR-093, DMPR-096.

    The type of a connector, the provider it signed with, what came over HTTP. All of it is in the
    packet, to be handed on.
    """
    assert reported.encode() != untold.encode()
    assert to_json(received(reported, **FACTS)) == to_json(received(untold, **FACTS))
    assert received(reported).packet == reported.encode()


def test_a_message_says_which_signature_was_verified() -> None:
    """MSEC-077: XML reads as 9."""
    verified = replace(SECURITY, flags=0x0001 | 0x0010 | 0x0900)
    message = received(user_message(security=verified))
    assert message.signature_type == SignatureType.XML
    assert message.sender_certificate == SECURITY.sender_cert
    plain = received(user_message())
    assert (plain.signature_type, plain.sender_certificate) == (SignatureType.NONE, b"")


def test_a_received_message_cannot_be_changed() -> None:
    message = received(user_message(), **FACTS)
    for name in (*FIELDS, "lookup_id", "id", "_view", "other"):
        with pytest.raises(FrozenInstanceError):
            setattr(message, name, 1)
        with pytest.raises(FrozenInstanceError):
            delattr(message, name)
    assert message.lookup_id == 5


@pytest.mark.parametrize("name", FACTS)
def test_messages_at_different_places_are_different(name: str) -> None:
    message = ReceivedMessage(PACKET, **FACTS)
    assert message != ReceivedMessage(PACKET, **FACTS | {name: 99})


def test_messages_are_equal_by_packet_and_place() -> None:
    message = ReceivedMessage(PACKET, **FACTS)
    assert message == ReceivedMessage(PACKET, **FACTS)
    assert hash(message) == hash(ReceivedMessage(PACKET, **FACTS))
    assert message != received(MESSAGES["extension"], **FACTS)
    assert message != message.to_message()
    assert message.to_message() != message


def test_messages_go_to_other_processes() -> None:
    message = ReceivedMessage(PACKET, **FACTS)
    assert pickle.loads(pickle.dumps(message)) == copy.copy(message) == message


def test_a_message_can_be_changed_to_be_sent_on() -> None:
    message = received(user_message())
    assert replace(message.to_message(), label="M").label == "M"


def test_a_repr_shows_where_it_is_and_what_is_in_it() -> None:
    message = ReceivedMessage(PACKET, **FACTS)
    assert repr(message) == (
        rf"ReceivedMessage(id='{SOURCE}\\4097', lookup_id=5, b'hello', label='L', "
        "recoverable=False, time_to_be_received=600)"
    )


def together(*bodies: bytes) -> tuple[list[ReceivedMessage], list[ReceivedMessage]]:
    """Messages that came together, behind something else, and the same made one by one."""
    packets = [user_message(header=properties(body)).encode() for body in bodies]
    bounds = list(accumulate(map(len, packets), initial=3))
    found = received_together(b"..." + b"".join(packets), bounds, 5, SENT, 2, 3, 0)
    alone = [
        ReceivedMessage(
            packet, lookup_id=5 + at, arrival=5 + at, arrived=SENT, abort_count=2, move_count=3
        )
        for at, packet in enumerate(packets)
    ]
    return found, alone


def test_messages_that_came_together_are_as_if_each_came_alone() -> None:
    found, alone = together(b"a", b"longer", b"")
    assert [(one.body, one.lookup_id) for one in found] == [(b"a", 5), (b"longer", 6), (b"", 7)]
    assert found == alone
    assert [hash(one) for one in found] == [hash(one) for one in alone]
    assert [repr(one) for one in found] == [repr(one) for one in alone]


@pytest.mark.parametrize("name", [*FIELDS, *FACTS, "id", "stored", "arrived_time", "sent_time"])
def test_the_first_thing_asked_of_one_that_came_with_others_may_be_anything(name: str) -> None:
    if name == "arrived":
        name = "arrived_time"
    found, alone = together(b"a", b"b")
    assert getattr(found[1], name) == getattr(alone[1], name)
    assert found == alone


def test_one_that_came_with_others_goes_to_other_processes_unread() -> None:
    found, alone = together(b"a", b"b")
    assert pickle.loads(pickle.dumps(found)) == alone
    found, alone = together(b"a", b"b")
    assert [copy.copy(one) for one in found] == [copy.deepcopy(one) for one in alone]


def test_one_that_was_looked_at_keeps_nothing_of_those_that_came_with_it() -> None:
    found, _ = together(b"a" * 1000, b"b")
    assert found[1].body == b"b"
    assert len(pickle.dumps(found[1])) < 1000
    kept = gc.get_referents(found[1])
    while kept:
        assert not any(isinstance(one, bytes) and b"a" * 1000 in one for one in kept)
        kept = gc.get_referents(*[one for one in kept if not isinstance(one, type)])


def test_threads_may_look_at_one_that_came_with_others_at_once() -> None:
    """A second one looks while the first cuts out the packet, and another just before."""
    _, alone = together(b"a", b"b")
    packets = [one.stored for one in alone]
    asking: list[ReceivedMessage] = []
    others: list[bytes] = []

    class Interrupted(list[int]):
        def __getitem__(self, place: Any) -> Any:
            if asking:
                others.append(asking.pop().body)
            return super().__getitem__(place)

    bounds = Interrupted(accumulate(map(len, packets), initial=0))
    found = received_together(b"".join(packets), bounds, 5, SENT, 2, 3, 0)
    asking.append(found[1])
    assert found[1].body == b"b"
    assert others == [b"b"]
    late = found[0].__class__
    assert found[0].body == b"a"
    assert vars(late)["_view"].__get__(found[0]).body == b"a"
    assert vars(late)["_facts"].__get__(found[0]) == vars(late)["_facts"].__get__(found[1])
    assert vars(late)["body"].__get__(found[0]) == b"a"
    assert found == alone


def test_of_those_that_came_together_each_may_have_other_headers() -> None:
    packets = [message.encode() for message in MESSAGES.values()]
    bounds = list(accumulate(map(len, packets), initial=0))
    found = received_together(b"".join(packets), bounds, 5, SENT, 0, 0, 0)
    for one, packet in zip(found, packets, strict=True):
        alone = ReceivedMessage(packet)
        assert [getattr(one, name) for name in FIELDS] == [getattr(alone, name) for name in FIELDS]


@pytest.mark.parametrize("garbage", [b"", b"\xff" * 30, b"\xff" * 200])
def test_what_is_no_message_fails_when_it_is_read(garbage: bytes) -> None:
    found = received_together(garbage * 2, [0, len(garbage), 2 * len(garbage)], 5, SENT, 0, 0, 0)
    assert [one.stored for one in found] == [garbage, garbage]
    assert found[1].lookup_id == 6


def test_what_a_message_does_not_have_is_an_error() -> None:
    found, alone = together(b"a")
    for one in (*found, *alone):
        with pytest.raises(AttributeError, match=r"ReceivedMessage.*nothing"):
            _ = one.nothing  # type: ignore[attr-defined] # as it should be


@pytest.mark.parametrize(
    ("path", "name"), [("here\\private$\\late", "DIRECT=OS:here\\private$\\late"), ("?", None)]
)
def test_the_dead_letter_queue_is_read_from_what_is_kept_behind_the_packet(
    path: str, name: str | None
) -> None:
    stored = PACKET + letter_trailer(path)
    found = ReceivedMessage(stored, **FACTS)
    assert (found.stored, found.packet) == (stored, PACKET)
    assert found.dead_letter_queue == (None if name is None else parse_format_name(name))
