"""Messages as remote readers get them."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.interfaces.remote_read.sections import joined, message_packet, sections_of
from openmsmq.interfaces.remote_read.stubs import SectionBuffer, SectionType
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.headers.trailer import letter_trailer
from openmsmq.packet.message import StoredMessage
from openmsmq.packet.view import PacketView
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


def test_counters_and_the_subqueue_are_told() -> None:
    """MQRR-249, MQRR-250, MQRR-251, MQRR-252"""
    data = message_packet(packet(), aborted=2, moved=3, last_moved=SENT, subqueue="retry")
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
