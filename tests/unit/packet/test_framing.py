"""A stream cut into packets."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import MESSAGES, SESSION, patch

from openmsmq.errors import Malformed
from openmsmq.packet.connection import ConnectionParameters, SessionAck
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader

PLAIN = MESSAGES["plain"].encode()
OUTSIDE = MESSAGES["session"].encode()
INSIDE = MESSAGES["session inside"].encode()
ACK = SessionAck(SESSION).encode()
PARAMETERS = ConnectionParameters(ConnectionParametersHeader(500, 20_000)).encode()
STREAM = [PARAMETERS, PLAIN, OUTSIDE, ACK, INSIDE, MESSAGES["all"].encode(), PLAIN]


def frame(data: bytes) -> list[bytes]:
    framer = PacketFramer()
    framer.receive_data(data)
    return list(framer.packets())


def test_nothing_comes_of_nothing() -> None:
    assert frame(b"") == []


def test_all_packets_of_a_chunk_are_given() -> None:
    """MQQB-001, MQQB-005."""
    assert frame(b"".join(STREAM)) == STREAM


@pytest.mark.parametrize("size", [1, 7, 16, 17, 100])
def test_any_cut_of_the_stream_gives_the_same_packets(size: int) -> None:
    framer = PacketFramer()
    data = b"".join(STREAM)
    found: list[bytes] = []
    for start in range(0, len(data), size):
        framer.receive_data(data[start : start + size])
        found += framer.packets()
    assert found == STREAM
    assert framer.pending == 0


def test_a_packet_is_given_with_its_last_byte_and_not_before() -> None:
    framer = PacketFramer()
    framer.receive_data(PLAIN[:-1])
    assert list(framer.packets()) == []
    assert framer.pending == len(PLAIN) - 1
    framer.receive_data(PLAIN[-1:] + b"\x10")
    assert list(framer.packets()) == [PLAIN]
    assert framer.pending == 1


def test_a_session_header_follows_the_size_of_a_message() -> None:
    """MQQB-006, MQQB-022, AMB-1: the packet is whole 16 bytes after PacketSize."""
    assert int.from_bytes(OUTSIDE[8:12], "little") == len(OUTSIDE) - 16
    framer = PacketFramer()
    framer.receive_data(OUTSIDE[:-16])
    assert list(framer.packets()) == []
    framer.receive_data(OUTSIDE[-16:-1])
    assert list(framer.packets()) == []
    framer.receive_data(OUTSIDE[-1:])
    assert list(framer.packets()) == [OUTSIDE]


def test_a_session_header_may_lie_inside_the_size() -> None:
    """AMB-1: then nothing more is waited for."""
    assert int.from_bytes(INSIDE[8:12], "little") == len(INSIDE)
    assert frame(INSIDE) == [INSIDE]
    assert frame(INSIDE + PLAIN) == [INSIDE, PLAIN]


@pytest.mark.parametrize("surplus", [15, 17])
def test_only_exactly_16_bytes_more_are_a_session_header_inside(surplus: int) -> None:
    """AMB-1, AMB-63: other bytes beyond the headers are kept, and the header follows."""
    data = OUTSIDE[:-16] + bytes(surplus) + OUTSIDE[-16:]
    data = patch(data, 8, pack("<I", len(data) - 16))
    assert frame(data) == [data]


def test_a_session_ack_counts_its_session_header() -> None:
    """MQQB-007, AMB-1."""
    assert frame(ACK + ACK) == [ACK, ACK]


@pytest.mark.parametrize(
    ("offset", "new", "field"),
    [
        (0, b"\x11", "VersionNumber"),
        (4, b"LIAR", "Signature"),
        (8, pack("<I", 15), "PacketSize"),
        (8, pack("<I", 0x400001), "PacketSize"),
    ],
)
def test_a_bad_start_is_refused_as_soon_as_16_bytes_are_there(
    offset: int, new: bytes, field: str
) -> None:
    """MQQB-008, MQQB-010, MQQB-013, MQQB-015."""
    bad = patch(PLAIN[:16], offset, new)
    assert frame(bad[:15]) == []
    with pytest.raises(Malformed) as caught:
        frame(bad)
    assert (caught.value.field, caught.value.offset) == (f"BaseHeader.{field}", offset)


def test_the_largest_packet_is_waited_for() -> None:
    """MQQB-008."""
    assert frame(patch(PLAIN, 8, pack("<I", 0x400000))) == []


def test_good_packets_are_given_before_a_bad_one_is_refused_for_good() -> None:
    """MQQB-010."""
    framer = PacketFramer()
    framer.receive_data(PLAIN + ACK + b"\0" * 16 + PLAIN)
    packets = framer.packets()
    assert next(packets) == PLAIN
    assert next(packets) == ACK
    with pytest.raises(Malformed):
        next(packets)
    assert framer.pending == 16 + len(PLAIN)
    for _ in range(2):
        framer.receive_data(PLAIN)
        with pytest.raises(Malformed) as caught:
            list(framer.packets())
        assert (caught.value.field, caught.value.offset) == ("BaseHeader.VersionNumber", 0)


def test_a_message_whose_headers_cannot_be_walked_is_refused() -> None:
    """MQQB-010: with a SessionHeader its end cannot be known."""
    bad = patch(OUTSIDE, 60, pack("<I", 0))
    with pytest.raises(Malformed) as caught:
        frame(bad[:-16])
    assert (caught.value.field, caught.value.offset) == ("UserHeader.Flags", 60)


def test_a_message_whose_end_is_known_is_not_looked_into() -> None:
    """MQQB-005: the one who takes the packet judges its headers."""
    bad = patch(PLAIN, 60, pack("<I", 0))
    assert frame(bad + ACK) == [bad, ACK]


def test_packets_not_asked_for_stay() -> None:
    framer = PacketFramer()
    framer.receive_data(PLAIN + ACK)
    for packet in framer.packets():
        assert packet == PLAIN
        break
    assert framer.pending == len(ACK)
    assert list(framer.packets()) == [ACK]


def test_data_may_come_while_packets_are_taken() -> None:
    framer = PacketFramer()
    framer.receive_data(PLAIN)
    packets = framer.packets()
    assert next(packets) == PLAIN
    framer.receive_data(ACK)
    assert list(packets) == [ACK]
    assert framer.pending == 0


def test_buffered_bytes_can_be_dropped() -> None:
    framer = PacketFramer()
    framer.receive_data(PLAIN[:-1])
    framer.clear()
    assert framer.pending == 0
    framer.receive_data(PLAIN)
    assert list(framer.packets()) == [PLAIN]


def test_the_rest_is_what_makes_no_packet_yet() -> None:
    framer = PacketFramer()
    framer.receive_data(PLAIN + PLAIN[:10])
    assert list(framer.packets()) == [PLAIN]
    assert (framer.rest, framer.pending) == (PLAIN[:10], 10)
