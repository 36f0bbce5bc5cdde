"""Messages as remote readers get them."""

from __future__ import annotations

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
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.headers.trailer import letter_trailer
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import StoredMessage
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
