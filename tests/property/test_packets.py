"""Properties that every packet and every byte string has."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from tests.strategies.packets import packets, pings, stored_messages, user_messages

from openmsmq import limits
from openmsmq.errors import IllegalFormatName, Malformed
from openmsmq.packet.describe import describe
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.message import StoredMessage, UserMessage
from openmsmq.packet.packet import Packet, decode_packet
from openmsmq.packet.ping import PingPacket
from openmsmq.packet.signed import (
    layout_fields,
    signed_at,
    signed_bytes,
    signed_fields,
    view_fields,
)
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import ProtectedLayout
from openmsmq.properties.message import SignatureType
from openmsmq.wire.reader import decode_whole

streams = st.lists(packets(), max_size=4)
cuts = st.lists(st.integers(0, 2000), max_size=8)


def pieces(data: bytes, places: list[int]) -> list[bytes]:
    """`data` cut at `places`."""
    edges = [0, *sorted(place for place in places if place < len(data)), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def frame(chunks: list[bytes]) -> tuple[list[bytes], bool]:
    """The packets found in a stream, and whether it was refused after them."""
    framer = PacketFramer()
    found: list[bytes] = []
    try:
        for chunk in chunks:
            framer.receive_data(chunk)
            found.extend(framer.packets())
            assert framer.pending <= limits.PACKET_SIZE_MAX + 16
    except Malformed:
        return found, True
    return found, False


def corrupted(data: bytes, place: int, value: int) -> bytes:
    """`data` with one byte changed."""
    place %= len(data)
    return data[:place] + bytes([value]) + data[place + 1 :]


@given(packets())
def test_a_packet_decodes_to_itself(packet: Packet) -> None:
    """MQQB-001, MQQB-004, MQQB-005: and so do reserved bits, padding and surplus bytes."""
    data = packet.encode()
    assert decode_packet(data) == packet
    assert decode_packet(data).encode() == data


@given(pings())
def test_a_ping_decodes_to_itself(ping: PingPacket) -> None:
    assert decode_whole(ping.pack(), PingPacket.read) == ping


@given(stored_messages())
def test_a_stored_message_decodes_to_itself(stored: StoredMessage) -> None:
    """MQQB-162 to MQQB-171."""
    data = stored.encode()
    assert decode_whole(data, StoredMessage.read) == stored


@given(streams, cuts)
def test_any_split_of_a_stream_gives_the_same_packets(
    sent: list[Packet], places: list[int]
) -> None:
    """MQQB-006: a SessionHeader follows its packet without being counted."""
    encoded = [packet.encode() for packet in sent]
    assert frame(pieces(b"".join(encoded), places)) == (encoded, False)


@given(streams, cuts, st.integers(0), st.integers(0, 255))
def test_a_damaged_stream_ends_the_same_however_it_is_split(
    sent: list[Packet], places: list[int], place: int, value: int
) -> None:
    data = b"".join(packet.encode() for packet in sent) or b"\0"
    data = corrupted(data, place, value)
    assert frame(pieces(data, places)) == frame([data])


@given(st.binary(max_size=600))
@example(b"\x10" + bytes(40))
@example(b"\x10\0\0\0LIOR" + b"\xff" * 40)
def test_any_bytes_are_a_packet_or_malformed(data: bytes) -> None:
    """MQQB-010: nothing else escapes."""
    for decode in (decode_packet, PacketView.parse):
        with contextlib.suppress(Malformed):
            decode(data)
    with contextlib.suppress(Malformed):
        decode_whole(data, StoredMessage.read)
    with contextlib.suppress(Malformed):
        decode_whole(data, PingPacket.read)


@given(packets(), st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=4))
def test_a_mutated_packet_is_a_packet_or_malformed(
    packet: Packet, changes: list[tuple[int, int]]
) -> None:
    """What still decodes encodes to the mutated bytes: nothing beyond them was read."""
    data = packet.encode()
    for place, value in changes:
        data = corrupted(data, place, value)
    with contextlib.suppress(Malformed):
        assert decode_packet(data).encode() == data


@given(packets(), st.integers(0, 4000), st.integers(0, 0xFFFFFFFF))
def test_a_mutated_length_never_reads_past_the_packet(
    packet: Packet, place: int, length: int
) -> None:
    """Any four bytes may become any length; a packet that ends early is refused as such."""
    data = packet.encode()
    place = place % (len(data) // 4) * 4
    data = data[:place] + length.to_bytes(4, "little") + data[place + 4 :]
    with contextlib.suppress(Malformed):
        assert decode_packet(data).encode() == data
        assert b"".join(frame([data + b"\xa5" * 64])[0]) == data


@given(packets(), st.integers(0))
def test_a_packet_cut_short_is_malformed(packet: Packet, cut: int) -> None:
    data = packet.encode()
    data = data[: cut % len(data)]
    with contextlib.suppress(Malformed):
        decode_packet(data)
        raise AssertionError("a packet that is not whole was taken")


@given(user_messages())
def test_the_quick_check_and_the_full_decoder_agree(message: UserMessage) -> None:
    view = PacketView.parse(message.encode())
    assert view.message() == message
    assert_same_fields(view, message)


@given(user_messages())
def test_what_is_signed_is_the_same_by_offset_and_decoded(message: UserMessage) -> None:
    view = PacketView(message.encode())
    assert view_fields(view, view.security) == signed_fields(message)
    if message.security is not None and message.multi_queue is None:
        layout = ProtectedLayout(view.data)
        fields = signed_fields(message)
        assert layout_fields(view.data, layout) == fields
        covered = signed_bytes(fields, SignatureType.MSMQ_2_0, message.properties.body)
        assert signed_at(view.data, layout, message.properties.body) == covered
        assert layout.header == message.security
    assert view.security == message.security


@given(user_messages(), st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=3))
def test_the_quick_check_takes_exactly_what_the_full_decoder_takes(
    message: UserMessage, changes: list[tuple[int, int]]
) -> None:
    data = message.encode()
    for place, value in changes:
        data = corrupted(data, place, value)
    try:
        expected = decode_packet(data)
    except Malformed:
        expected = None
    try:
        view = PacketView.parse(data)
    except Malformed:
        assert not isinstance(expected, UserMessage)
    else:
        assert isinstance(expected, UserMessage)
        assert_same_fields(view, expected)


def assert_same_fields(view: PacketView, message: UserMessage) -> None:
    """Every field the view reads is what the decoder found."""
    base, user, properties = message.base, message.user, message.properties
    assert view.base_flags == base.flags
    assert view.priority == base.flags & BaseFlags.PR
    assert view.trace == bool(base.flags & BaseFlags.TR)
    assert view.packet_size == base.packet_size
    assert view.time_to_reach_queue == base.time_to_reach_queue
    assert view.user == user
    assert view.source_queue_manager == user.source_queue_manager
    assert view.queue_manager_address == user.queue_manager_address
    assert view.time_to_be_received == user.time_to_be_received
    assert view.sent_time == user.sent_time
    assert view.message_id == user.message_id
    assert view.flags == user.flags
    assert view.transaction == message.transaction
    assert view.security == message.security
    assert view.acknowledge == properties.flags & 0x0F
    assert view.message_class == properties.message_class
    assert view.correlation_id == properties.correlation_id
    assert view.body_type == properties.body_type
    assert view.app_specific == properties.application_tag
    assert view.label == properties.label
    assert view.extension == properties.extension
    assert view.message_size == properties.message_size
    assert view.body == properties.body == bytes(view.body_view)
    try:
        expected = user.destination_name()
    except IllegalFormatName:
        expected = None
    with contextlib.suppress(IllegalFormatName):
        assert view.destination == expected


@given(st.lists(st.one_of(packets(), stored_messages()), min_size=1, max_size=3))
def test_descriptions_tile_the_data(sent: list[Packet | StoredMessage]) -> None:
    """Every byte belongs to exactly one field."""
    data = b"".join(packet.encode() for packet in sent)
    described = list(describe(data))
    assert [d.error for d in described] == [None] * len(sent)
    assert b"".join(d.data for d in described) == data
    for description in described:
        place = 0
        for field in description.fields:
            assert (field.offset, bool(field.size)) == (place, True)
            place += field.size
        assert place == len(description.data)


@given(st.binary(max_size=300), st.one_of(packets(), stored_messages()), st.integers(0))
def test_describing_anything_never_raises(
    garbage: bytes, packet: Packet | StoredMessage, place: int
) -> None:
    data = packet.encode()
    for sample in (garbage, data + garbage, corrupted(data, place, 0xFF)):
        for description in describe(sample):
            assert description.error is None or description.error.offset <= len(sample)


@given(user_messages(with_session=True))
def test_a_session_header_inside_the_packet_size_is_found(message: UserMessage) -> None:
    """AMB-1: some senders count the SessionHeader."""
    bare = replace(message, surplus=b"")
    whole = len(bare.encode())
    sent = replace(bare, base=replace(bare.base, packet_size=whole), session_is_inside=True)
    data = sent.encode()
    assert decode_packet(data) == sent
    assert frame([data + data]) == ([data, data], False)
