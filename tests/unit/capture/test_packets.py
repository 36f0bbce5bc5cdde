"""MSMQ packets in captures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

import pytest
from tests.samples import MESSAGES, SESSION, SOURCE, patch, properties, user_message

from openmsmq.capture import packets as capture
from openmsmq.capture.capture import CapturedFrame, read_frames
from openmsmq.capture.ip import Segment, read_frame
from openmsmq.capture.limits import HELD_SEGMENTS_MAX
from openmsmq.capture.packets import CapturedPacket, captured_packets
from openmsmq.capture.pcap import FILE_HEADER, Conversation, Endpoint, datagram
from openmsmq.packet.connection import SessionAck
from openmsmq.packet.ping import PING_SIGNATURE, PingPacket

LOCAL, REMOTE = ("192.0.2.1", 1801), ("192.0.2.7", 50_000)
ELSEWHERE = ("192.0.2.1", 4711)
PLAIN = MESSAGES["plain"].encode()
ALL = MESSAGES["all"].encode()
ACK = SessionAck(SESSION).encode()
PING = PingPacket(1, PING_SIGNATURE, 7, SOURCE).pack()
LARGE = user_message(header=properties(bytes(200_000))).encode()


def frames(records: bytes) -> list[CapturedFrame]:
    return list(read_frames([FILE_HEADER + records]))


def session(
    *received: bytes, local: Endpoint = LOCAL, remote: Endpoint = REMOTE, start: float = 1.0
) -> list[CapturedFrame]:
    """A session in which each packet comes a second after the other and is acknowledged."""
    conversation = Conversation(local, remote)
    records = conversation.opened(start)
    for number, data in zip(count(1), received, strict=False):
        records += conversation.received(data, start + number)
        records += conversation.sent(ACK, start + number)
    return frames(records)


def found(frames: Iterable[CapturedFrame], port: int | None = None) -> list[CapturedPacket]:
    return list(captured_packets(frames, port))


def kinds(packets: list[CapturedPacket]) -> list[str]:
    return [packet.description.kind for packet in packets]


def said(packets: list[CapturedPacket], source: Endpoint = REMOTE) -> list[bytes]:
    """What one side said, as far as it is sound."""
    return [
        p.description.data for p in packets if p.source == source and p.description.error is None
    ]


def with_data(frames: list[CapturedFrame], source: Endpoint = REMOTE) -> list[int]:
    """Which frames carry what one side says."""
    carried = [read_frame(frame.link, frame.data) for frame in frames]
    return [
        number
        for number, segment in enumerate(carried)
        if isinstance(segment, Segment) and segment.source == source and segment.data
    ]


def test_packets_of_both_sides_are_shown_in_order_of_time() -> None:
    packets = found(session(PLAIN, ALL))
    assert [(p.time, p.source, p.target, p.description.kind) for p in packets] == [
        (2_000_000_000, REMOTE, LOCAL, "UserMessage"),
        (2_000_000_000, LOCAL, REMOTE, "SessionAck"),
        (3_000_000_000, REMOTE, LOCAL, "UserMessage"),
        (3_000_000_000, LOCAL, REMOTE, "SessionAck"),
    ]
    assert {(p.conversation, p.protocol) for p in packets} == {(1, "tcp")}


def test_offsets_count_from_the_start_of_a_direction() -> None:
    packets = found(session(PLAIN + ALL, PLAIN))
    assert [p.description.offset for p in packets if p.source == REMOTE] == [
        0,
        len(PLAIN),
        len(PLAIN) + len(ALL),
    ]


def test_a_packet_in_many_segments_is_shown_with_the_last() -> None:
    conversation = Conversation(LOCAL, REMOTE)
    records = conversation.opened(1.0)
    for number in range(len(ALL)):
        records += conversation.received(ALL[number : number + 1], 1.0 + number)
    [packet] = found(frames(records))
    assert packet.description.data == ALL
    assert packet.time == len(ALL) * 1_000_000_000


def test_a_packet_larger_than_a_segment_is_put_together() -> None:
    assert said(found(session(LARGE, PLAIN))) == [LARGE, PLAIN]


def test_conversations_are_distinguished() -> None:
    other = ("192.0.2.8", 50_000)
    first, second = session(PLAIN, ALL), session(ALL, PLAIN, remote=other)
    mixed = [frame for pair in zip(first, second, strict=True) for frame in pair]
    packets = found(mixed)
    assert said(packets) == [PLAIN, ALL]
    assert said(packets, other) == [ALL, PLAIN]
    assert {(p.conversation, p.source) for p in packets if p.source != LOCAL} == {
        (1, REMOTE),
        (2, other),
    }


def test_repeated_and_swapped_segments_change_nothing() -> None:
    sent = session(PLAIN, ALL, PLAIN)
    one, two, three = with_data(sent)
    order = [*range(one), two, one, one, two, three, two]
    assert said(found([sent[number] for number in order])) == [PLAIN, ALL, PLAIN]


def test_a_capture_may_begin_in_the_middle() -> None:
    """Telling begins with the first packet that can be seen to start."""
    sent = session(LARGE + PLAIN, ALL)
    packets = found(sent[with_data(sent)[1] :])
    assert said(packets) == [PLAIN, ALL]
    assert packets[0].description.offset == len(LARGE) - 65_000


def test_what_only_looks_like_a_start_is_passed_over() -> None:
    conversation = Conversation(LOCAL, REMOTE)
    records = conversation.received(b"\0" * 9 + b"LIOR" + bytes(40) + PLAIN, 1.0)
    assert said(found(frames(records))) == [PLAIN]


@pytest.mark.parametrize("port", [None, 4711])
def test_other_ports_count_if_msmq_is_spoken_there(port: int | None) -> None:
    assert said(found(session(PLAIN, local=ELSEWHERE), port)) == [PLAIN]


def test_a_port_that_is_named_is_the_only_one() -> None:
    sent = session(PLAIN) + session(ALL, local=ELSEWHERE)
    assert said(found(sent, 4711)) == [ALL]
    assert said(found(sent, 1801)) == [PLAIN]
    assert said(found(sent, REMOTE[1])) == [PLAIN, ALL]
    assert found(sent, 9) == []


HTTP = b"GET / HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize("data", [HTTP, b"\x16\x03", bytes(5000), b"LIOR" + bytes(100)])
def test_what_is_not_msmq_is_passed_over(data: bytes) -> None:
    conversation = Conversation(ELSEWHERE, REMOTE)
    records = conversation.opened(1.0) + conversation.received(data, 2.0)
    assert found(frames(records + conversation.received(data, 3.0))) == []


@pytest.mark.parametrize("port", [None, 1801])
def test_on_its_own_port_it_is_malformed(port: int | None) -> None:
    [packet] = found(session(HTTP)[:-2], port)
    assert packet.description.error is not None
    assert packet.description.error.field == "BaseHeader.VersionNumber"
    assert packet.description.data == HTTP


def test_a_direction_ends_with_a_malformed_packet() -> None:
    bad = patch(PLAIN, 4, b"LIAR")
    packets = found(session(PLAIN, bad, ALL, ALL))
    assert [p.description.error is None for p in packets if p.source == REMOTE] == [True, False]
    assert said(packets, LOCAL) == [ACK] * 4
    [refused] = [p.description for p in packets if p.description.error]
    assert (refused.kind, refused.offset) == ("Unknown", len(PLAIN))
    assert [field.path for field in refused.fields][-1] == "BaseHeader.TimeToReachQueue"


def test_a_packet_that_is_wrong_inside_does_not_hide_the_next() -> None:
    bad = patch(PLAIN, 60, bytes(4))
    packets = found(session(bad + ALL))
    wrong, right, _ = [p.description for p in packets]
    assert wrong.error is not None
    assert wrong.error.field == "UserHeader.Flags"
    assert (right.offset, right.data) == (len(bad), ALL)


def test_what_looks_like_a_ping_in_a_stream_is_malformed() -> None:
    [packet] = found(session(PING)[:-2])
    assert (packet.description.kind, packet.description.data) == ("Unknown", PING)
    assert packet.description.error is not None


def test_a_gap_in_a_stream_is_reported_and_skipped() -> None:
    sent = session(PLAIN, ALL, PLAIN, ALL)
    lost = with_data(sent)[1]
    packets = found(sent[:lost] + sent[lost + 1 :])
    assert said(packets) == [PLAIN, PLAIN, ALL]
    [hole] = [p.description for p in packets if p.description.error]
    assert (hole.kind, hole.offset, hole.data) == ("Missing", len(PLAIN), b"")
    assert hole.error is not None
    assert hole.error.reason == f"{len(ALL)} bytes are missing in the capture"


def test_a_hole_is_given_up_when_much_follows() -> None:
    sent = session(*[PLAIN] * (HELD_SEGMENTS_MAX + 10))
    del sent[with_data(sent)[2]]
    packets = captured_packets(sent)
    early = [next(packets) for _ in range(2 * HELD_SEGMENTS_MAX)]
    assert "Missing" in kinds(early)
    assert len(said(early) + said(list(packets))) == HELD_SEGMENTS_MAX + 9


def test_a_hole_where_msmq_was_not_seen_is_none() -> None:
    sent = session(HTTP, HTTP, HTTP, local=ELSEWHERE)
    wanted = with_data(sent)
    assert found([sent[wanted[0]], sent[wanted[2]]]) == []


def test_what_is_malformed_behind_a_hole_ends_a_direction() -> None:
    bad = patch(PLAIN, 8, b"\xff\xff\xff\xff")
    sent = session(PLAIN, PLAIN, bad, PLAIN, PLAIN, PLAIN)
    lost = with_data(sent)
    kept = [frame for number, frame in enumerate(sent) if number not in (lost[1], lost[4])]
    packets = found(kept)
    assert [p.description.error is None for p in packets if p.source == REMOTE] == [
        True,
        False,
        False,
    ]


def test_a_truncated_packet_is_shown_last() -> None:
    sent = session(PLAIN, LARGE)
    packets = found(sent[: with_data(sent)[-1]])
    last = packets[-1]
    assert last.source == REMOTE
    assert last.time == 3_000_000_000
    assert last.description.kind == "UserMessage"
    assert last.description.error is not None
    assert last.description.error.field == "MessagePropertiesHeader.MessageBody"


def test_the_same_ports_may_be_used_again() -> None:
    """Each handshake begins a conversation; a repeated one does not."""
    again = [
        replace(frame, data=renumbered(frame.data)) for frame in session(ALL, PLAIN, start=9.0)
    ]
    first = session(PLAIN, ALL)
    packets = found([*first[:1], *first, *again[:2], *again[:2], *again[2:]])
    assert said(packets) == [PLAIN, ALL, ALL, PLAIN]
    assert [p.conversation for p in packets if p.source == REMOTE] == [1, 1, 2, 2]
    assert packets[-1].description.offset == len(ACK)


def renumbered(packet: bytes) -> bytes:
    """A packet whose sender counts from elsewhere."""
    number = int.from_bytes(packet[24:28], "big") + 77_777
    return patch(packet, 24, number.to_bytes(4, "big"))


def test_pings_are_conversations_of_their_own() -> None:
    asked, answered = ("192.0.2.7", 1234), ("192.0.2.1", 3527)
    records = datagram(asked, answered, PING, 1.0) + datagram(answered, asked, PING, 2.0)
    packets = found(frames(records))
    assert kinds(packets) == ["Ping", "Ping"]
    assert [(p.conversation, p.protocol, p.source) for p in packets] == [
        (1, "udp", asked),
        (2, "udp", answered),
    ]


@pytest.mark.parametrize(
    ("data", "target", "port", "expected"),
    [
        (PING, 3527, None, ["Ping"]),
        (PING, 53, None, ["Ping"]),
        (PING, 53, 53, ["Ping"]),
        (PING, 53, 54, []),
        (PING, 3527, 1801, []),
        (b"what", 53, None, []),
        (b"what", 53, 53, ["Unknown"]),
        (b"what", 3527, None, ["Unknown"]),
        (b"", 3527, None, []),
    ],
)
def test_datagrams_count_as_streams_do(
    data: bytes, target: int, port: int | None, expected: list[str]
) -> None:
    records = datagram(("192.0.2.7", 1234), ("192.0.2.1", target), data, 1.0)
    assert kinds(found(frames(records), port)) == expected


def test_other_frames_are_passed_over() -> None:
    assert found([CapturedFrame(0, 1, b"\xff" * 60), CapturedFrame(0, 101, b"")]) == []


def test_only_so_many_conversations_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "CONVERSATIONS_MAX", 2)
    opened = [
        frame
        for port in (1, 2, 3)
        for frame in session(LARGE, remote=("192.0.2.7", port))[:4]  # the start of a packet
    ]
    packets = captured_packets([*opened, *session(PLAIN)])
    quiet = next(packets)
    assert quiet.source == ("192.0.2.7", 1)
    assert quiet.description.error is not None
    assert said(list(packets)) == [PLAIN]


def test_the_quietest_conversation_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "CONVERSATIONS_MAX", 2)
    one, two, three = (session(LARGE, remote=("192.0.2.7", port)) for port in (1, 2, 3))
    first = next(captured_packets([*one[:4], *two[:4], *one[4:5], *three[:4]]))
    assert first.source == ("192.0.2.7", 2)


def test_only_so_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "KEPT_SIZE_MAX", 100_000)
    starts = [session(LARGE, remote=("192.0.2.7", port))[:4] for port in (1, 2, 3)]
    packets = found([frame for frames in starts for frame in frames])
    assert [p.source[1] for p in packets] == [1, 2, 3]
    assert [p.time for p in packets] == [2_000_000_000] * 3
    one = session(LARGE, remote=("192.0.2.7", 1))
    assert found(one)[0].description.error is not None
