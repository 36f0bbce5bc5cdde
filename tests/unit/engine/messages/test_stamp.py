"""Packets of programs made into packets of a manager."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import (
    DIRECT,
    MESSAGES,
    MULTI_QUEUE,
    ON_TARGET,
    OTHER,
    PUBLIC,
    SENT,
    SOURCE,
    TARGET,
    patch,
    properties,
    user_message,
)

from openmsmq.engine.messages.stamp import (
    Destination,
    check_for_sending,
    in_transaction,
    require_same,
    stamp,
    with_destination,
    with_headers,
)
from openmsmq.errors import FailVerifySignatureEx, Malformed, MessageTooLarge
from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.names.format import FormatName, parse_format_name
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.headers.user import NO_GUID, UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer

PACKER = Packer(SOURCE)
MESSAGE = Message(
    b"body",
    label="label",
    priority=5,
    recoverable=False,
    admin_queue=r"DIRECT=OS:host\private$\a",
    response_queue=r"DIRECT=OS:host\private$\r",
    extension=b"e",
)
SENDABLE = [
    "plain", "no destination", "public destination", "private names",
    "three direct names", "names elsewhere", "no label, no body", "extension", "debug", "security",
]  # fmt: skip


def packed(message: Message = MESSAGE, destination: FormatName = DIRECT) -> bytes:
    return PACKER.pack(message, destination, message_id=0, sent_time=0)


def refusal(packet: bytes) -> tuple[str, int, str]:
    with pytest.raises(Malformed) as caught:
        check_for_sending(packet)
    return caught.value.field, caught.value.offset, caught.value.reason


@pytest.mark.parametrize("shape", SENDABLE)
def test_a_program_may_send(shape: str) -> None:
    packet = MESSAGES[shape].encode()
    assert check_for_sending(packet).data is packet


@pytest.mark.parametrize("shape", [shape for shape in MESSAGES if shape not in SENDABLE])
def test_a_program_may_not_send(shape: str) -> None:
    with pytest.raises(Malformed):
        check_for_sending(MESSAGES[shape].encode())


@pytest.mark.parametrize(
    ("shape", "field", "name"),
    [
        ("transaction", "UserHeader.Flags", "TH"),
        ("connector type", "UserHeader.Flags", "CQ"),
        ("several queues", "UserHeader.Flags", "MQ"),
        ("soap", "UserHeader.Flags", "HH"),
        ("over HTTP", "UserHeader.Flags", "AH"),
        ("session inside", "BaseHeader.Flags", "SH"),
    ],
)
def test_what_only_a_manager_writes_is_named(shape: str, field: str, name: str) -> None:
    found, offset, reason = refusal(MESSAGES[shape].encode())
    assert (found, name in reason) == (field, True)
    assert offset == (2 if field.startswith("Base") else 60)


@pytest.mark.parametrize("bits", [UserFlags.X1, UserFlags.X2, UserFlags.X4, 0x40, 0x01])
def test_bits_without_a_meaning_for_programs_are_refused(bits: int) -> None:
    """Reserved ones, delivery modes 2 and 3, routing servers passed."""
    assert refusal(user_message(flags=bits).encode())[0] == "UserHeader.Flags"
    assert refusal(user_message(base_flags=BaseFlags.X9).encode())[0] == "BaseHeader.Flags"


@pytest.mark.parametrize(
    ("code", "fine"),
    [
        (MessageClass.NORMAL, True),
        (0x1FF, True),
        (0x8100, True),
        (0x200, False),
        (MessageClass.ORDER_ACK, False),
        (MessageClass.ACK_REACH_QUEUE, False),
        (MessageClass.NACK_RECEIVE_TIMEOUT, False),
    ],
)
def test_only_classes_of_applications_are_sent(code: int, fine: bool) -> None:
    """[MS-MQMQ] 2.2.18.1.6: no one passes for a queue manager that acknowledges."""
    packet = PacketView(user_message().encode())
    place = len(packet.data) - len(properties().encode()) + 2
    changed = patch(packet.data, place, pack("<H", code))
    if fine:
        assert check_for_sending(changed).message_class == code
    else:
        assert refusal(changed)[:2] == ("MessagePropertiesHeader.MessageClass", place)


def test_a_body_that_says_it_is_encrypted_is_refused() -> None:
    packet = user_message().encode()
    place = len(packet) - len(properties().encode()) + 40
    changed = patch(packet, place, pack("<I", 1))
    assert refusal(changed)[:2] == ("MessagePropertiesHeader.PrivacyLevel", place)


def test_a_program_may_ask_for_encryption() -> None:
    "MSEC-119: with AES only."
    packet = user_message().encode()
    place = len(packet) - len(properties().encode()) + 40
    assert check_for_sending(patch(packet, place, pack("<I", 5))).privacy_level == 5
    assert refusal(patch(packet, place, pack("<I", 3)))[1] == place


@pytest.mark.parametrize(
    "header",
    [
        SecurityHeader.make(1, security_id=b"\1\1\0\0\0\0\0\5\7\0\0\0"),
        SecurityHeader.make(0, signature=bytes(4), sender_cert=b"c"),
        SecurityHeader.make(0, signature=b"signed"),
        SecurityHeader.make(0, signature=b"signed", sender_cert=b"c", encryption_key=b"k"),
        SecurityHeader.make(SecurityFlags.AU, signature=b"signed", sender_cert=b"c"),
        SecurityHeader.make(SecurityFlags.EB, signature=b"signed", sender_cert=b"c"),
        SecurityHeader.make(3 << 8, signature=b"signed", sender_cert=b"c"),
    ],
    ids=["sender", "zeros", "no certificate", "key", "AU", "EB", "AS"],
)
def test_a_program_names_a_sender_with_its_signature_only(header: SecurityHeader) -> None:
    "MSEC-010, MSEC-011: a sender that is not signed would be believed elsewhere."
    found, offset, _ = refusal(user_message(security=header).encode())
    assert found.startswith("SecurityHeader")
    assert offset == PacketView(user_message(security=header).encode()).security_offset


def test_a_manager_changes_nothing_that_is_signed() -> None:
    signed = MESSAGES["security"].encode()
    require_same(signed, stamp(signed, source=SOURCE.bytes_le, message_id=9, sent_time=9))
    other = Destination.of(parse_format_name("DIRECT=OS:elsewhere\\q"))
    for changed in (
        with_destination(signed, other),
        stamp(signed, source=bytes(16), message_id=9, sent_time=9),
        patch(signed, 2, b"\7"),
    ):
        with pytest.raises(FailVerifySignatureEx):
            require_same(signed, changed)


@pytest.mark.parametrize("room", [6, 40, 0xFFFFFFFF])
def test_a_body_has_as_much_room_as_it_takes(room: int) -> None:
    """AMB-7: otherwise a header that is appended could become part of it."""
    packet = user_message(debug=MESSAGES["debug"].debug).encode()
    place = len(packet) - len(properties().encode()) - 20 + 36
    changed = patch(packet, place, pack("<I", room))
    assert refusal(changed)[:2] == ("MessagePropertiesHeader.AllocationBodySize", place)


def test_bytes_after_the_last_header_are_refused() -> None:
    message = user_message(debug=MESSAGES["debug"].debug, surplus=b"late")
    packet = message.encode()
    assert refusal(packet)[:2] == ("end", len(packet) - 4)
    assert refusal(MESSAGES["surplus"].encode())[0] == "end"


def test_garbage_is_refused() -> None:
    for garbage in (b"", bytes(200), packed()[:-1], packed() + b"\0"):
        with pytest.raises(Malformed):
            check_for_sending(garbage)


@pytest.mark.parametrize("limit", [None, 77])
def test_a_stamped_packet_is_the_one_that_the_manager_would_have_written(limit: int | None) -> None:
    written = Packer(OTHER).pack(MESSAGE, DIRECT, message_id=0, sent_time=0)
    stamped = stamp(
        written,
        source=SOURCE.bytes_le,
        message_id=(1 << 32) + 9,
        sent_time=SENT,
        time_to_reach_queue=0xFFFFFFFF if limit is None else limit,
    )
    expected = PACKER.pack_many(
        [MESSAGE], DIRECT, first_id=9, sent_time=SENT, time_to_reach_queue=limit
    )
    assert [stamped] == expected


def test_a_limit_of_the_message_itself_is_kept() -> None:
    written = packed(Message(time_to_reach_queue=5))
    stamped = stamp(
        written, source=SOURCE.bytes_le, message_id=0, sent_time=0, time_to_reach_queue=77
    )
    assert stamped == written


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("recoverable", [False, True])
def test_a_transaction_is_inserted(trace: bool, recoverable: bool) -> None:
    message = Message(b"body", priority=7, trace=trace, recoverable=recoverable)
    expected = PACKER.pack(message, DIRECT, message_id=0, sent_time=0, transactional=True)
    assert in_transaction(packed(message)) == expected


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("transactional", [False, True])
def test_several_queues_are_appended(trace: bool, transactional: bool) -> None:
    message = Message(b"body", priority=7, trace=trace)
    headers = OptionalHeaders(multi_queue=MULTI_QUEUE)
    expected = PACKER.pack_many(
        [message], DIRECT, first_id=0, sent_time=0, headers=headers, transactional=transactional
    )
    packet = with_headers(packed(message), headers)
    assert [in_transaction(packet) if transactional else packet] == expected


@pytest.mark.parametrize("before", [DIRECT, PUBLIC, ON_TARGET], ids=str)
@pytest.mark.parametrize("after", [DIRECT, PUBLIC, ON_TARGET], ids=str)
def test_any_destination_gives_way_to_any_other(before: FormatName, after: FormatName) -> None:
    manager = TARGET if after == PUBLIC else NO_GUID
    packet = with_destination(packed(destination=before), Destination.of(after, manager=manager))
    assert packet == PACKER.pack(
        MESSAGE, after, message_id=0, sent_time=0, destination_manager=manager
    )


def test_a_destination_may_be_left_out() -> None:
    packet = with_destination(MESSAGES["no destination"].encode(), Destination.of(DIRECT))
    assert check_for_sending(packet).destination == DIRECT
    assert PacketView(packet).body == b"hello"


def test_a_packet_to_the_right_place_is_left_alone() -> None:
    packet = packed()
    assert with_destination(packet, Destination.of(DIRECT)) is packet
    other = patch(packet, 32, TARGET.bytes_le)
    assert with_destination(other, Destination.of(DIRECT)) == packet


def test_a_packet_that_grows_too_large_is_refused() -> None:
    room = PACKET_SIZE_MAX - len(packed(Message(b"")))
    packet = packed(Message(bytes(room - 16)))
    with pytest.raises(MessageTooLarge):
        in_transaction(packet)
    longer = parse_format_name(f"{DIRECT}{'x' * 20}")
    with pytest.raises(MessageTooLarge):
        with_destination(packet, Destination.of(longer))
    assert len(in_transaction(packed(Message(bytes(room - 20))))) == PACKET_SIZE_MAX
