"""Transfer buffers that dependent clients get back with a message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.strategies.dependent import text_of, units

from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.storage.layout import NEVER, Record
from openmsmq.errors import MQError
from openmsmq.interfaces.qm2qm.transfer_buffer import NAMES, receive_buffer
from openmsmq.interfaces.queue_format import ObjectId
from openmsmq.interfaces.supporting_server.filled_buffer import filled
from openmsmq.names.direct import DirectName
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.security import SecurityHeader, encode_provider
from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeader
from openmsmq.packet.view import PacketView

SOURCE = UUID(int=0x1234)
DESTINATION = "DIRECT=OS:HOST\\private$\\orders"
RESPONSE = "DIRECT=OS:agent-7\\private$\\answers"
ADMIN = f"PRIVATE={UUID(int=7)}\\0000002a"
NOW = 1000
NO_ID = ObjectId(UUID(int=0), 0)
SECURITY = SecurityHeader.make(
    1,
    security_id=b"s" * 28,
    encryption_key=b"k" * 40,
    signature=b"g" * 64,
    sender_cert=b"c" * 100,
    provider_info=encode_provider(1, "Provider"),
)
TRANSACTION = TransactionHeader(flags=TransactionFlags.FM | 77 << 4)


def entry(record: dict[str, Any] | None = None, **given: Any) -> Entry:
    """A message in a queue."""
    name = parse_format_name(DESTINATION)
    assert isinstance(name, DirectName)
    queues: dict[str, Any] = {
        "admin": parse_format_name(ADMIN),
        "response": parse_format_name(RESPONSE),
    }
    builder = PacketBuilder(SOURCE, name, **queues)
    fields: dict[str, Any] = {"body": b"risk?", "label": "ask", "message_id": 815} | given
    packet = builder.build(**fields)
    known = Record(1, len(packet), 900, NEVER)._replace(**record or {})
    return Entry(5, known.pack(), packet)


def names(size: int) -> dict[str, Any]:
    """Room for every name."""
    part: dict[str, Any] = {}
    for name in NAMES:
        part |= {f"{name}_size": size, f"{name}_name": (9,) * size, f"{name}_needed": size}
    return part


def room(**given: Any) -> dict[str, Any]:
    """Room for everything."""
    found: dict[str, Any] = {
        "message_class": 9,
        "message_id": NO_ID,
        "correlation_id": bytes(20),
        "title": (0,) * 12,
        "title_size": 12,
        "title_needed": 12,
        "source": UUID(int=0),
        "unit": bytes(range(16)),
        "transaction_id": NO_ID,
    }
    for name in ("sent", "arrived", "priority", "delivery", "acknowledge", "auditing", "trace"):
        found[name] = 99
    for name in ("application_tag", "relative_time_to_queue", "time_left_to_live", "privacy"):
        found[name] = 99
    for name in ("sender_type", "authenticated", "hash_algorithm", "encryption_algorithm"):
        found[name] = 99
    for name in ("provider_type", "body_type", "version", "is_first", "is_last"):
        found[name] = 99
    for name in ("body", "sender", "certificate", "keys", "signature", "extension"):
        found |= {name: bytes(128), f"{name}_size": 128, f"{name}_needed": 128}
    found |= {"provider": (0,) * 20, "provider_size": 20, "provider_needed": 20}
    found["body_allocated"] = 128
    return found | given


def test_all_that_is_wanted_is_filled() -> None:
    """MQMP-412, MQMP-413, MQMP-416, MQMP-419, MQMP-420, MQMP-423, MQMP-424, MQMP-427 to MQMP-435,
    MQMP-438 to MQMP-440, MQMP-449, MQMP-452
    """
    given = entry(
        priority=5,
        journal=True,
        trace=True,
        sent_time=800,
        time_to_reach_queue=60,
        acknowledge=5,
        correlation_id=bytes(range(20)),
        body_type=8,
        app_specific=77,
        extension=b"more",
        headers=OptionalHeaders(
            transaction=TRANSACTION,
            security=SECURITY,
            privacy_level=1,
            hash_algorithm=0x8003,
            encryption_algorithm=0x6801,
            verified=1,
        ),
    )
    asked = receive_buffer(names(64), **room())
    done = filled(asked, given, NOW)
    assert done.error is None
    got = done.buffer
    assert (text_of(got.part.response_name), text_of(got.part.admin_name)) == (RESPONSE, ADMIN)
    assert text_of(got.part.destination_name) == DESTINATION
    assert got.part.response_size == got.part.response_needed == len(RESPONSE) + 1
    assert (got.part.ordering_size, got.part.ordering_name, got.part.ordering_needed) == (0, (), 0)
    assert (got.body, got.body_size, got.body_needed) == (b"risk?".ljust(128, b"\0"), 128, 5)
    assert (text_of(got.title), got.title_size, got.title_needed) == ("ask", 4, 4)
    assert (got.extension_size, got.extension_needed) == (128, 4)
    assert got.extension.startswith(b"more\0")
    assert (got.message_class, got.sent, got.arrived) == (0, 800, 900)
    assert (got.priority, got.delivery, got.acknowledge, got.auditing, got.trace) == (0, 1, 5, 2, 1)
    assert (got.application_tag, got.body_type, got.correlation_id) == (77, 8, bytes(range(20)))
    assert got.message_id == ObjectId(SOURCE, 815)
    assert (got.relative_time_to_queue, got.time_left_to_live) == (60, 0xFFFFFFFF)
    assert (got.sender_type, got.sender_needed, got.sender[:28]) == (1, 28, b"s" * 28)
    assert (got.certificate_needed, got.keys_needed, got.signature_needed) == (100, 40, 64)
    assert got.certificate[:100] == b"c" * 100
    assert (got.keys[:40], got.signature[:64]) == (b"k" * 40, b"g" * 64)
    assert (text_of(got.provider), got.provider_needed, len(got.provider)) == ("Provider", 9, 20)
    assert (got.provider_type, got.authenticated, got.hash_algorithm) == (1, 1, 0x8003)
    assert (got.privacy, got.encryption_algorithm, got.version) == (1, 0x6801, 0x10)
    assert (got.source, got.unit) == (SOURCE, bytes(range(16)))
    assert (got.is_first, got.is_last) == (1, 0)
    assert got.transaction_id == ObjectId(SOURCE, 77)
    assert type(got).decode(got.encode()) == got, "it can be sent"


def test_what_there_is_none_of_has_length_0() -> None:
    """MQMP-430 to MQMP-434: nothing is signed, and no one is named."""
    done = filled(receive_buffer(names(64), **room()), entry(label=""), NOW)
    got = done.buffer
    assert done.error is None
    for name in ("sender", "certificate", "keys", "signature", "extension", "provider", "title"):
        assert getattr(got, f"{name}_needed") == 0, name
    assert (got.title_size, got.authenticated, got.sender_type) == (0, 0, 0)
    assert (got.is_first, got.is_last, got.transaction_id.uniquifier) == (0, 0, 0)


def test_what_is_not_wanted_stays_null() -> None:
    """MQMP-414, MQMP-417, MQMP-442, MQMP-443"""
    ignored = {
        "absolute_time_to_queue": 5,
        "relative_time_to_live": 6,
        "authentication_level": 7,
        "is_encrypted": 8,
        "is_authenticated": 9,
        "is_default_provider": 10,
    }
    asked = receive_buffer({"asynchronous": 1, "timeout": 5}, **ignored)
    assert filled(asked, entry(), NOW).buffer == asked


def test_the_class_and_the_time_left_are_those_of_the_queue() -> None:
    """MQMP-436, MQMP-437, MQMP-441"""
    asked = receive_buffer({}, message_class=0, time_left_to_live=0, authenticated=9)
    dead = entry({"message_class": 0xC002, "expires": 1030}, message_class=0x8004)
    got = filled(asked, dead, NOW).buffer
    assert (got.message_class, got.time_left_to_live, got.authenticated) == (0xC002, 30, 0)
    report = filled(asked, entry({"expires": 990}, message_class=0x8004), NOW).buffer
    assert (report.message_class, report.time_left_to_live) == (0x8004, 0)


@pytest.mark.parametrize(
    ("field", "least", "result"),
    [
        ("body", 5, 0xC00E001A),
        ("title", 4, 0xC00E005E),
        ("sender", 28, 0xC00E0022),
        ("certificate", 100, 0xC00E002B),
        ("provider", 9, 0xC00E0063),
        ("keys", 40, 0xC00E0061),
        ("signature", 64, 0xC00E0062),
        ("extension", 4, 0xC00E001A),
    ],
)
def test_too_little_room_is_answered_with_what_is_needed(
    field: str, least: int, result: int
) -> None:
    """MQMP-418, MQMP-425, MQMP-426, MQMP-430 to MQMP-434, MQMP-444, MQMP-446, MQMP-447, MQMP-451"""
    given = entry(extension=b"more", headers=OptionalHeaders(security=SECURITY))
    kind = units("") if field in ("title", "provider") else b"\0"
    for size, error in ((least, None), (least - 1, result)):
        less = {field: kind * size, f"{field}_size": size}
        for needed in (size, None):
            asked = receive_buffer(names(64), **room(**less, **{f"{field}_needed": needed}))
            done = filled(asked, given, NOW)
            assert (done.error and done.error.hresult) == error
            answered = getattr(done.buffer, f"{field}_needed")
            assert answered == (None if needed is None else least)
            if error:
                assert getattr(done.buffer, field) == kind * size, "nothing of it is given away"


@pytest.mark.parametrize("name", ["response", "admin", "destination"])
def test_too_little_room_for_a_name(name: str) -> None:
    """MQMP-415, MQMP-445, MQMP-450: in characters, with the null."""
    full = len({"response": RESPONSE, "admin": ADMIN, "destination": DESTINATION}[name]) + 1
    for size, is_enough in ((full, True), (full - 1, False)):
        part = {f"{name}_size": size, f"{name}_name": (9,) * size, f"{name}_needed": size}
        done = filled(receive_buffer(part), entry(), NOW)
        assert (done.error is None) is is_enough
        assert getattr(done.buffer.part, f"{name}_needed") == full
        if not is_enough:
            assert isinstance(done.error, MQError)
            assert done.error.hresult == 0xC00E001F
            assert getattr(done.buffer.part, f"{name}_size") == size


def test_the_first_buffer_that_is_too_small_decides() -> None:
    """MQMP-445: in the order of the fields."""
    small = {"title": (0,), "title_size": 1, "body": b"", "body_size": 0, "body_allocated": 0}
    part = {"admin_size": 1, "admin_name": (0,)}
    codes = []
    for given in (part, {}):
        done = filled(receive_buffer(given, **small), entry(), NOW)
        assert done.error is not None
        codes.append(done.error.hresult)
    assert codes == [0xC00E001F, 0xC00E001A]


def test_a_name_that_is_nonsense_is_none() -> None:
    given = entry()
    packet = given.packet.replace("agent-7".encode("utf-16-le"), "a\\\\ent7".encode("utf-16-le"))
    assert PacketView(packet).packet_size == len(packet)
    part = {"response_size": 64, "response_name": (9,) * 64, "response_needed": 64}
    got = filled(receive_buffer(part), replace_packet(given, packet), NOW).buffer.part
    assert (got.response_needed, got.response_name) == (0, ())


def replace_packet(given: Entry, packet: bytes) -> Entry:
    """The same message with another packet."""
    return given._replace(packet=packet)


def test_buffers_are_values() -> None:
    asked = receive_buffer({}, priority=9)
    assert filled(asked, entry(priority=4), NOW).buffer == replace(asked, priority=4)
