"""What is recorded can be read again, and any file can be read without harm."""

from __future__ import annotations

import contextlib
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st
from tests.strategies.packets import packets

from openmsmq.capture.capture import CapturedFrame, read_frames
from openmsmq.capture.ip import Segment, read_frame
from openmsmq.capture.packets import captured_packets
from openmsmq.capture.pcap import FILE_HEADER, Conversation, Endpoint
from openmsmq.capture.tcp import TcpStream
from openmsmq.errors import Malformed
from openmsmq.packet.packet import Packet

ports = st.integers(1, 0xFFFF)
addresses = st.one_of(
    st.tuples(st.ip_addresses(v=4).map(str), st.ip_addresses(v=4).map(str)),
    st.tuples(
        st.ip_addresses(v=6).filter(lambda a: getattr(a, "ipv4_mapped", None) is None).map(str),
        st.ip_addresses(v=6).filter(lambda a: getattr(a, "ipv4_mapped", None) is None).map(str),
    ),
)
speeches = st.lists(st.tuples(st.booleans(), st.binary(max_size=300)), max_size=8)


@st.composite
def ends(draw: st.DrawFn) -> tuple[Endpoint, Endpoint]:
    """Two ends of a connection."""
    local, remote = draw(addresses)
    one, two = draw(st.lists(ports, min_size=2, max_size=2, unique=True))
    return (local, one), (remote, two)


def written(
    local: Endpoint, remote: Endpoint, said: list[tuple[bool, bytes]], *, accepted: bool = True
) -> bytes:
    """A file with a session."""
    conversation = Conversation(local, remote, accepted=accepted)
    records = [FILE_HEADER, conversation.opened(1.0)]
    for number, (sent, data) in enumerate(said):
        say = conversation.sent if sent else conversation.received
        records.append(say(data, 2.0 + number))
    return b"".join((*records, conversation.closed(100.0)))


def streams(frames: list[CapturedFrame]) -> dict[Endpoint, bytes]:
    """What each side said."""
    found: dict[Endpoint, TcpStream] = {}
    heard: dict[Endpoint, bytes] = {}
    for frame in frames:
        segment = read_frame(frame.link, frame.data)
        assert isinstance(segment, Segment)
        stream = found.setdefault(segment.source, TcpStream())
        first = segment.sequence + segment.opens
        heard.setdefault(segment.source, b"")
        heard[segment.source] += b"".join(stream.add(first, segment.data))
    return heard


@given(ends(), speeches, st.booleans())
def test_what_is_written_is_read(
    both: tuple[Endpoint, Endpoint], said: list[tuple[bool, bytes]], accepted: bool
) -> None:
    local, remote = both
    frames = list(read_frames([written(local, remote, said, accepted=accepted)]))
    assert streams(frames) == {
        local: b"".join(data for sent, data in said if sent),
        remote: b"".join(data for sent, data in said if not sent),
    }


@given(ends(), st.lists(st.tuples(st.booleans(), packets()), max_size=5), st.data())
def test_packets_survive_recording_loss_of_order_and_repetition(
    both: tuple[Endpoint, Endpoint], sent: list[tuple[bool, Packet]], data: st.DataObject
) -> None:
    """Frames are repeated, and some are put off for a while."""
    local, remote = both
    said = [(by_local, packet.encode()) for by_local, packet in sent]
    frames = list(read_frames([written(local, remote, said)]))
    opening, rest = frames[:3], frames[3:]
    places = data.draw(st.lists(st.integers(0, 6), min_size=len(rest), max_size=len(rest)))
    order = sorted(range(len(rest)), key=lambda number: number + places[number])
    twice = data.draw(st.lists(st.integers(0, max(len(rest) - 1, 0)), max_size=3))
    shuffled = [*opening, *(rest[n] for n in chain(order, twice if rest else []))]
    found = list(captured_packets(shuffled))
    for by_local, source in ((True, local), (False, remote)):
        expected = [packet for sender, packet in said if sender == by_local]
        assert [p.description.data for p in found if p.source == source] == expected
    assert all(p.description.error is None for p in found)


@given(speeches, st.lists(st.integers(0, 400), max_size=6))
def test_any_cut_of_a_file_gives_the_same_frames(
    said: list[tuple[bool, bytes]], sizes: list[int]
) -> None:
    data = written(("192.0.2.1", 1), ("192.0.2.2", 2), said)
    chunks = []
    place = 0
    for size in sizes:
        chunks.append(data[place : place + size])
        place += size
    assert list(read_frames([*chunks, data[place:]])) == list(read_frames([data]))


@given(
    st.lists(st.tuples(st.booleans(), packets()), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=6),
)
def test_a_damaged_file_gives_packets_or_is_malformed(
    sent: list[tuple[bool, Packet]], changes: list[tuple[int, int]]
) -> None:
    said = [(by_local, packet.encode()) for by_local, packet in sent]
    data = bytearray(written(("192.0.2.1", 1801), ("192.0.2.2", 2), said))
    for place, value in changes:
        data[place % len(data)] = value
    with contextlib.suppress(Malformed):
        list(captured_packets(read_frames([bytes(data)])))


@given(st.binary(max_size=400), st.sampled_from([0, 1, 12, 101, 108, 113, 229, 276]))
def test_any_bytes_are_a_frame(data: bytes, link: int) -> None:
    for start in (b"", b"\x45", b"\x60"):
        found = read_frame(link, start + data)
        assert found is None or (start + data).find(found.data) >= 0
