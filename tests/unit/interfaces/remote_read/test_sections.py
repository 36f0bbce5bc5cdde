"""Messages as remote readers get them."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest
from tests.soap import envelope, msmq

from openmsmq.errors import Malformed
from openmsmq.interfaces.remote_read.sections import (
    MessageFacts,
    joined,
    message_packet,
    sections_of,
)
from openmsmq.interfaces.remote_read.stubs import SectionBuffer, SectionType
from openmsmq.names.format import PrivateName, parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.headers.trailer import letter_trailer
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import StoredMessage
from openmsmq.packet.origin import packed_address, with_origin
from openmsmq.packet.view import PacketView
from openmsmq.soap.mime import Content
from openmsmq.soap.packets import read_message, to_packet
from openmsmq.wire.reader import decode_whole

SENT = 0x65000000
BUILDER = PacketBuilder(UUID(int=9), parse_format_name("DIRECT=OS:server1\\private$\\orders"))


def packet(body: bytes = b"hello", time_to_reach_queue: int = 345_600) -> bytes:
    return BUILDER.build(
        body,
        label="L",
        message_id=0x1001,
        sent_time=SENT,
        time_to_reach_queue=time_to_reach_queue,
    )


def stored(data: bytes) -> StoredMessage:
    return decode_whole(data, StoredMessage.read)


def test_headers_about_the_message_follow_it() -> None:
    """MQRR-215, MQRR-216, MQRR-237, MQRR-238, MQRR-239, MQRR-240, MQRR-246, MQRR-253, MQRR-255"""
    data = message_packet(packet())
    assert len(data) == len(packet()) + 12 + 148 + 28
    trailer = stored(data).trailer
    assert trailer is not None
    assert trailer.extension.remaining_headers_size == 176
    assert trailer.extension.flags == 0x12
    assert trailer.subqueue is not None
    assert trailer.subqueue.flags == 0
    assert trailer.subqueue.subqueue_name_utf16 == bytes(64)
    assert trailer.subqueue.target_subqueue_name_utf16 == bytes(64)
    assert trailer.extended_address is not None
    assert trailer.extended_address.address_type == 0


@pytest.mark.parametrize(
    ("relative", "absolute"), [(345_600, SENT + 345_600), (0xFFFFFFFF, 0xFFFFFFFF)]
)
def test_the_time_to_reach_the_queue_is_absolute_and_saturates(
    relative: int, absolute: int
) -> None:
    """MQRR-204, MQRR-217"""
    assert PacketView(message_packet(packet(b"x", relative))).time_to_reach_queue == absolute


def test_the_message_itself_does_not_change() -> None:
    """MQRR-214"""
    original = packet()
    before = bytes(original)
    sections_of(message_packet(original), 2)
    assert original == before


def test_counters_and_the_subqueue_are_reported() -> None:
    """MQRR-249, MQRR-250, MQRR-251, MQRR-252"""
    facts = MessageFacts(aborted=2, moved=3, last_moved=SENT, subqueue="retry")
    data = message_packet(packet(), facts)
    trailer = stored(data).trailer
    assert trailer is not None
    assert trailer.subqueue is not None
    assert (trailer.subqueue.abort_counter, trailer.subqueue.move_counter) == (2, 3)
    assert trailer.subqueue.last_move_time == SENT
    assert trailer.subqueue.subqueue_name == "retry"
    assert len(trailer.subqueue.subqueue_name_utf16) == 64


def test_a_dead_letter_queue_of_its_own_is_named() -> None:
    """MQRR-238, MQRR-256, MQRR-257, MQRR-258"""
    data = message_packet(packet() + letter_trailer("host\\private$\\dead"))
    trailer = stored(data).trailer
    assert trailer is not None
    assert trailer.dead_letter is not None
    assert trailer.dead_letter.path_name == "host\\private$\\dead"
    assert trailer.extension.flags == 0x13
    assert len(trailer.dead_letter.encode()) % 4 == 0


@pytest.mark.parametrize(("is_there", "flags"), [(True, 0x13), (False, 0x1B)])
def test_it_is_said_whether_the_dead_letter_queue_is_there(is_there: bool, flags: int) -> None:
    """MQRR-241"""
    asked = []

    def takes_letters(path: str, *, transactional: bool) -> bool:
        asked.append((path, transactional))
        return is_there

    data = packet() + letter_trailer("host\\private$\\dead")
    trailer = stored(message_packet(data, takes_letters=takes_letters)).trailer
    assert trailer is not None
    assert trailer.extension.flags == flags
    assert asked == [("host\\private$\\dead", False)]


@pytest.mark.parametrize("limit", [5, 6, 0xFFFFFFFF])
def test_a_body_within_the_limit_comes_whole(limit: int) -> None:
    """MQRR-194, MQRR-196, MQRR-206, MQRR-208"""
    data = message_packet(packet())
    assert sections_of(data, limit) == (
        SectionBuffer(SectionType.FULL_PACKET, len(data), len(data), data),
    )


@pytest.mark.parametrize("limit", [0, 2, 4])
def test_a_longer_body_is_cut_and_what_follows_it_is_the_second_section(limit: int) -> None:
    """MQRR-197 to MQRR-202, MQRR-205 to MQRR-209, MQRR-211, MQRR-213"""
    data = message_packet(packet())
    first, second = sections_of(data, limit)
    body = data.index(b"hello")
    assert first == SectionBuffer(
        SectionType.BINARY_FIRST, body + 5, body + limit, data[: body + limit]
    )
    assert second == SectionBuffer(SectionType.BINARY_SECOND, 3 + 188, 3 + 188, data[body + 5 :])
    assert first.size_allocated + second.size_allocated == len(data)
    assert first.size_allocated - first.size == 5 - limit


def test_the_worked_example_is_cut_as_the_specification_says() -> None:
    """MQRR-199, MQRR-200, MQRR-202"""
    first, second = sections_of(message_packet(packet()), 2)
    assert (first.size_allocated, first.size) == (185, 182)
    assert (second.size_allocated, second.size) == (191, 191)


def test_the_class_of_a_dead_letter_is_reported() -> None:
    """MQRR-247"""
    data = message_packet(packet(), MessageFacts(acknowledgement_class=0xC004))
    trailer = stored(data).trailer
    assert trailer is not None
    assert trailer.subqueue is not None
    assert trailer.subqueue.acknowledgement_class == 0xC004
    assert trailer.subqueue.pack()[4:8] == bytes.fromhex("08800100")


def over_http(body: bytes = b"hello") -> bytes:
    """The packet of a message that came over HTTP."""
    return to_packet(read_message(Content(envelope(msmq()), body)), arrived=SENT)


def test_a_binary_message_has_no_srmp_headers_although_it_has_a_soap_header() -> None:
    """MQRR-223, MQRR-225, MQRR-226, MQRR-229, MQRR-232"""
    message = stored(message_packet(over_http())).message
    assert not message.user.flags & UserFlags.AH
    assert (message.envelope, message.compound) == (None, None)
    nothing_kept = stored(message_packet(packet(), MessageFacts(over_http=True))).message
    assert not nothing_kept.user.flags & UserFlags.AH
    assert (nothing_kept.envelope, nothing_kept.compound) == (None, None)


def test_a_message_that_came_over_http_has_its_envelope_and_its_request() -> None:
    """MQRR-223, MQRR-227 to MQRR-229, MQRR-231, MQRR-232, MQRR-234 to MQRR-236"""
    message = stored(message_packet(over_http(), MessageFacts(over_http=True))).message
    assert message.user.flags & UserFlags.AH
    assert message.envelope is not None
    assert message.envelope.data_length == len(message.envelope.data_utf16) // 2
    assert message.envelope.envelope.startswith("<se:Envelope")
    compound = message.compound
    assert compound is not None
    assert compound.http_body_size == len(compound.data)
    start = compound.msg_body_offset
    assert compound.data[start : start + compound.msg_body_size] == b"hello"
    assert compound.data.startswith(b"POST ")


@pytest.mark.parametrize("short", [1, 100])
def test_the_request_of_a_message_is_cut_where_its_body_would_be(short: int) -> None:
    """MQRR-143, MQRR-195, MQRR-197, MQRR-199, MQRR-202, MQRR-294"""
    data = message_packet(over_http(), MessageFacts(over_http=True))
    message = stored(data).message
    assert message.compound is not None
    header = message.compound.encode()
    size, start = len(header), data.index(header)
    assert [one.section_type for one in sections_of(data, 0, size)] == [SectionType.FULL_PACKET]
    first, second = sections_of(data, 0, size - short)
    cut = start + size - short
    assert first == SectionBuffer(SectionType.SRMP_FIRST, start + size, cut, data[:cut])
    rest = data[start + size :]
    assert second == SectionBuffer(SectionType.SRMP_SECOND, len(rest), len(rest), rest)


def test_nothing_behind_the_body_is_no_section() -> None:
    """MQRR-203"""
    body = bytes(range(8))
    plain = packet(body)
    assert plain.endswith(body)
    [only] = sections_of(plain, 4)
    assert only == SectionBuffer(SectionType.BINARY_FIRST, len(plain), len(plain) - 4, plain[:-4])


def test_a_whole_message_is_read_from_its_section() -> None:
    """MQRR-210, MQRR-264"""
    data = message_packet(packet())
    assert joined(sections_of(data, 5)).message.properties.body == b"hello"
    plain = SectionBuffer(SectionType.FULL_PACKET, len(packet()), len(packet()), packet())
    assert joined((plain,)).trailer is None


def test_what_is_not_whole_cannot_be_joined() -> None:
    for sections in (sections_of(message_packet(packet()), 2), ()):
        with pytest.raises(Malformed):
            joined(sections)


@pytest.mark.parametrize(
    ("address", "overlaid", "extended"),
    [
        ("10.0.0.7", (4, 1, 0, "0a000007 00000000"), (4, 1, 0, "0a000007" + "00" * 12)),
        (
            "2001:db8::7",
            (16, 6, 0, "20010db8 00000000"),
            (16, 6, 0, "20010db8" + "00" * 11 + "07"),
        ),
        ("fe80::7%3", (16, 6, 3, "fe800000 00000000"), (16, 6, 3, "fe80" + "00" * 13 + "07")),
    ],
)
def test_readers_learn_the_address_that_a_message_came_from(
    address: str, overlaid: tuple[int, int, int, str], extended: tuple[int, int, int, str]
) -> None:
    """MQRR-218, MQRR-219, MQRR-220, MQRR-221, MQRR-260, MQRR-261, MQRR-262, MQRR-263"""
    data = message_packet(with_origin(packet(), packed_address(address)))
    *start, raw = overlaid
    expected = struct.pack("<HHI8s", *start, bytes.fromhex(raw))
    assert data[32:48] == expected
    assert data[:12] == packet()[:12]
    assert data[48 : len(packet())] == packet()[48:]
    trailer = stored(data).trailer
    assert trailer is not None
    header = trailer.extended_address
    assert header is not None
    found = header.address_length, header.address_type, header.address_scope, header.address.hex()
    assert found == extended


def test_what_was_sent_at_this_manager_came_from_this_computer() -> None:
    """MQRR-219"""
    data = message_packet(packet(), MessageFacts(is_own=True))
    assert data[32:48] == struct.pack("<HHI4s4x", 4, 1, 0, bytes((127, 0, 0, 1)))


def test_other_names_keep_the_manager_that_they_are_for() -> None:
    """MQRR-222 is decided otherwise: the name of a private queue is made of these bytes."""
    name = PrivateName(UUID(int=5), 7)
    builder = PacketBuilder(UUID(int=9), name, destination_manager=name.guid)
    data = builder.build(b"x", message_id=1, sent_time=SENT)
    assert message_packet(data, MessageFacts(is_own=True))[32:48] == name.guid.bytes_le
    trailer = stored(message_packet(data)).trailer
    assert trailer is not None
    assert trailer.extended_address is not None
    assert trailer.extended_address.address_type == 0
