"""Conversations as packets of a capture file."""

from __future__ import annotations

from itertools import pairwise
from struct import unpack, unpack_from

import pytest

from openmsmq.capture.capture import CapturedFrame, read_frames
from openmsmq.capture.ip import Datagram, Segment, read_frame
from openmsmq.capture.limits import SEGMENT_SIZE_MAX
from openmsmq.capture.pcap import FILE_HEADER, RAW_IP, Conversation, Endpoint, datagram

NOW = 1_700_000_000.25
SHORT = ("192.0.2.1", 1801), ("192.0.2.7", 50_000)
LONG = ("2001:db8::1", 1801), ("2001:db8::7", 50_000)
EITHER = pytest.mark.parametrize(("local", "remote"), [SHORT, LONG], ids=["IPv4", "IPv6"])


def frames(records: bytes) -> list[CapturedFrame]:
    return list(read_frames([FILE_HEADER + records]))


def segments(records: bytes) -> list[Segment]:
    found = [read_frame(frame.link, frame.data) for frame in frames(records)]
    return [segment for segment in found if isinstance(segment, Segment)]


def whole(conversation: Conversation, *said: bytes) -> bytes:
    """A session in which the other side says something and gets the same back."""
    records = conversation.opened(NOW)
    for data in said:
        records += conversation.received(data, NOW) + conversation.sent(data, NOW)
    return records + conversation.closed(NOW)


def words_sum(data: bytes) -> int:
    """The sum of 16-bit words, carries added: 65,535 for what holds its checksum."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(unpack(f"!{len(padded) // 2}H", padded))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_a_file_begins_as_the_format_says() -> None:
    assert FILE_HEADER.hex() == "d4c3b2a10200040000000000000000000000040065000000"


def test_a_packet_has_its_time_to_the_microsecond() -> None:
    [frame] = frames(datagram(*SHORT, b"x", 1_700_000_000.123_456))
    assert (frame.time, frame.link) == (1_700_000_000_123_456_000, RAW_IP)


@pytest.mark.parametrize(("now", "seconds"), [(-5.0, 0), (2.0**32 + 7, 7)])
def test_a_time_beyond_the_format_is_clamped(now: float, seconds: int) -> None:
    [frame] = frames(datagram(*SHORT, b"x", now))
    assert frame.time == seconds * 1_000_000_000


@pytest.mark.parametrize("accepted", [True, False])
def test_the_side_that_connected_begins(*, accepted: bool) -> None:
    local, remote = SHORT
    made = segments(Conversation(local, remote, accepted=accepted).opened(NOW))
    client, server = (remote, local) if accepted else (local, remote)
    assert [(s.source, s.target, s.flags) for s in made] == [
        (client, server, 0x02),
        (server, client, 0x12),
        (client, server, 0x10),
    ]


def test_a_session_ends_from_both_sides() -> None:
    local, remote = SHORT
    made = segments(Conversation(local, remote).closed(NOW))
    assert [(s.source, s.flags) for s in made] == [(local, 0x11), (remote, 0x11), (local, 0x10)]


@EITHER
def test_bytes_keep_their_direction_and_order(local: Endpoint, remote: Endpoint) -> None:
    made = segments(whole(Conversation(local, remote), b"one", b"two"))
    said = [(s.source, s.target, s.data) for s in made if s.data]
    assert said == [
        (remote, local, b"one"),
        (local, remote, b"one"),
        (remote, local, b"two"),
        (local, remote, b"two"),
    ]


@EITHER
def test_long_data_are_cut(local: Endpoint, remote: Endpoint) -> None:
    data = bytes(range(256)) * 600
    made = segments(Conversation(local, remote).sent(data, NOW))
    pieces = [s.data for s in made if s.source == local]
    assert [len(piece) for piece in pieces] == [SEGMENT_SIZE_MAX, SEGMENT_SIZE_MAX, 23_600]
    assert b"".join(pieces) == data


def test_nothing_said_is_nothing_written() -> None:
    assert Conversation(*SHORT).sent(b"", NOW) == b""


@EITHER
def test_every_byte_has_its_number_and_is_acknowledged(local: Endpoint, remote: Endpoint) -> None:
    """What one side acknowledges is all that the other has said so far."""
    records = whole(Conversation(local, remote), b"a" * 70_000, b"b")
    said = {local: 0, remote: 0}
    for frame, segment in zip(frames(records), segments(records), strict=True):
        header = 20 if local == SHORT[0] else 40
        acknowledged = unpack_from("!I", frame.data, header + 8)[0]
        assert segment.sequence == said[segment.source]
        assert acknowledged == (said[segment.target] if segment.acknowledges else 0)
        said[segment.source] += len(segment.data) + bool(segment.flags & 0x03)
    assert said == {local: 70_003, remote: 70_003}


def test_data_are_acknowledged_before_more_come() -> None:
    made = segments(Conversation(*SHORT).sent(bytes(200_000), NOW))
    assert all(bool(a.data) != bool(b.data) for a, b in pairwise(made))


def test_numbers_begin_again_after_4_gib() -> None:
    conversation = Conversation(*SHORT)
    conversation._local.sequence = 0xFFFF_FFFE
    first, _, second, _ = segments(conversation.sent(b"abc", NOW) + conversation.sent(b"d", NOW))
    assert (first.sequence, second.sequence) == (0xFFFF_FFFE, 1)


@EITHER
@pytest.mark.parametrize("size", [0, 1, 2, 23, 24, 65_000])
def test_checksums_are_right(local: Endpoint, remote: Endpoint, size: int) -> None:
    data = bytes(n % 251 for n in range(size))
    records = whole(Conversation(local, remote), data) + datagram(local, remote, data, NOW)
    for frame in frames(records):
        packet = frame.data
        if packet[0] >> 4 == 4:
            assert words_sum(packet[:20]) == 0xFFFF
            ends, kind, carried = packet[12:20], packet[9], packet[20:]
        else:
            ends, kind, carried = packet[8:40], packet[6], packet[40:]
        pseudo = ends + len(carried).to_bytes(4, "big") + kind.to_bytes(4, "big")
        assert words_sum(pseudo + carried) == 0xFFFF


def test_a_checksum_is_never_zero_which_would_mean_that_there_is_none() -> None:
    """The two bytes that make up for everything else in the datagram."""
    [frame] = frames(datagram(*SHORT, b"\0\0", NOW))
    checksum = frame.data[26:28]
    [frame] = frames(datagram(*SHORT, checksum, NOW))
    assert frame.data[26:28] == b"\xff\xff"


@EITHER
def test_a_datagram_is_whole(local: Endpoint, remote: Endpoint) -> None:
    [frame] = frames(datagram(remote, local, b"ping", NOW))
    assert read_frame(frame.link, frame.data) == Datagram(remote, local, b"ping")


@pytest.mark.parametrize(
    ("local", "remote", "shown"),
    [
        ("::ffff:192.0.2.1", "192.0.2.7", ("192.0.2.1", "192.0.2.7")),
        ("fe80::1%eth0", "fe80::2%3", ("fe80::1", "fe80::2")),
        ("192.0.2.1", "2001:db8::7", ("::ffff:c000:201", "2001:db8::7")),
        ("", "a local socket", ("0.0.0.0", "0.0.0.0")),
    ],
)
def test_addresses_of_all_kinds_have_a_place(
    local: str, remote: str, shown: tuple[str, str]
) -> None:
    segment, _ = segments(Conversation((local, 1), (remote, 2)).sent(b"x", NOW))
    source, target = segment.source[0], segment.target[0]
    assert (source.replace("::ffff:192.0.2.1", "::ffff:c000:201"), target) == shown


def test_anything_with_bytes_in_it_will_do() -> None:
    made = segments(Conversation(*SHORT).sent(memoryview(b"abc"), NOW))  # type: ignore[arg-type] # as sockets give
    assert made[0].data == b"abc"
