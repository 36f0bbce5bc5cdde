"""A connection cut into frames."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from openmsmq.app_protocol.frames import (
    FRAME_SIZE_FIRST,
    FROM_CLIENT,
    FROM_SERVER,
    Frame,
    Framer,
    Kind,
    encode_frame,
)
from openmsmq.app_protocol.limits import BATCH_SIZE_MAX, FRAME_SIZE_MAX
from openmsmq.errors import Malformed
from openmsmq.limits import PACKET_SIZE_MAX

SENT = [Frame(Kind.HELLO, 1, b"{}"), Frame(Kind.PING, 0, b""), Frame(Kind.SEND, 2, b"x" * 100)]
STREAM = b"".join(encode_frame(kind, id, payload) for kind, id, payload in SENT)


def framed(*chunks: bytes, limit: int = FRAME_SIZE_FIRST) -> list[Frame]:
    framer = Framer(FROM_CLIENT, limit=limit)
    found: list[Frame] = []
    for chunk in chunks:
        framer.receive_data(chunk)
        found += frames(framer)
    return found


def frames(framer: Framer) -> Iterator[Frame]:
    """The frames that are whole."""
    return iter(framer.next_frame, None)


def test_a_frame_is_size_kind_id_and_payload() -> None:
    frame = encode_frame(Kind.CALL, 0x01020304, b"{", b"}")
    assert frame.hex(" ") == "07 00 00 00 02 04 03 02 01 7b 7d"


def test_nothing_comes_of_nothing() -> None:
    assert framed() == framed(b"") == []


def test_all_frames_of_a_chunk_are_given() -> None:
    assert framed(STREAM) == SENT


@pytest.mark.parametrize("size", [1, 2, 4, 5, 8, 9, 10, 11, 50])
def test_any_cut_of_the_stream_gives_the_same_frames(size: int) -> None:
    assert framed(*(STREAM[at : at + size] for at in range(0, len(STREAM), size))) == SENT


def test_a_frame_is_given_with_its_last_byte_and_not_before() -> None:
    framer = Framer(FROM_CLIENT)
    framer.receive_data(STREAM[:10])
    assert list(frames(framer)) == []
    assert framer.pending == 10
    framer.receive_data(STREAM[10:12])
    assert list(frames(framer)) == SENT[:1]
    assert framer.pending == 1


def test_frames_that_are_not_taken_wait() -> None:
    framer = Framer(FROM_CLIENT)
    framer.receive_data(STREAM)
    assert framer.next_frame() == SENT[0]
    framer.receive_data(STREAM)
    assert [*frames(framer)] == [*SENT[1:], *SENT]


def test_data_may_come_while_frames_are_taken() -> None:
    framer = Framer(FROM_CLIENT)
    framer.receive_data(STREAM)
    found = []
    for frame in frames(framer):
        found.append(frame)
        if len(found) in (1, 6):  # in the middle of a chunk, and at its end
            framer.receive_data(STREAM)
    assert found == SENT * 3


def test_what_came_late_is_not_lost_when_little_of_it_came() -> None:
    framer = Framer(FROM_CLIENT)
    framer.receive_data(STREAM)
    found = [framer.next_frame()]
    framer.receive_data(STREAM[:3])
    found += frames(framer)
    framer.receive_data(STREAM[3:])
    assert [*found, *frames(framer)] == [*SENT, *SENT]


def test_what_comes_byte_by_byte_costs_little_more_than_its_bytes() -> None:
    framer = Framer(FROM_CLIENT)
    data = encode_frame(Kind.SEND, 1, bytes(50_000))
    tracemalloc.start()
    try:
        for at in range(len(data) - 1):
            framer.receive_data(data[at : at + 1])
            assert not list(frames(framer))
        assert tracemalloc.get_traced_memory()[0] < 2 * len(data)
    finally:
        tracemalloc.stop()
    framer.receive_data(data[-1:])
    assert list(frames(framer)) == [(Kind.SEND, 1, bytes(50_000))]


def test_a_used_up_chunk_is_released() -> None:
    framer = Framer(FROM_CLIENT)
    framer.receive_data(STREAM)
    assert len(list(frames(framer))) == len(SENT)
    assert framer._data == b""


@pytest.mark.parametrize("size", [0, 4, FRAME_SIZE_FIRST + 1, 0xFFFFFFFF])
def test_a_size_beyond_its_bounds_is_refused_with_the_header(size: int) -> None:
    header = size.to_bytes(4, "little") + bytes([Kind.SEND, 1, 0, 0, 0])
    with pytest.raises(Malformed) as caught:
        framed(header)
    assert (caught.value.field, caught.value.offset) == ("size", 0)


def test_the_limit_itself_is_a_size() -> None:
    payload = bytes(FRAME_SIZE_FIRST - 5)
    assert framed(encode_frame(Kind.SEND, 1, payload)) == [Frame(Kind.SEND, 1, payload)]


def test_a_kind_of_the_wrong_side_is_refused_before_its_payload() -> None:
    for kind in (0, Kind.WELCOME, 0x8A, 0xFF):
        with pytest.raises(Malformed) as caught:
            framed(b"\x00\x01\0\0" + bytes([kind]) + bytes(4))
        assert (caught.value.field, caught.value.offset) == ("kind", 4)


def test_frames_before_a_malformed_one_are_given_and_none_after_it() -> None:
    framer = Framer(FROM_CLIENT)
    framer.receive_data(STREAM + bytes(9) + STREAM)
    assert [framer.next_frame() for _ in SENT] == SENT
    for _ in range(2):
        with pytest.raises(Malformed):
            framer.next_frame()


def test_the_limit_may_change_between_two_frames() -> None:
    framer = Framer(FROM_CLIENT, limit=7)
    framer.receive_data(STREAM)
    assert [framer.next_frame(), framer.next_frame()] == SENT[:2]
    framer.limit = FRAME_SIZE_FIRST
    assert list(frames(framer)) == SENT[2:]


def test_every_kind_has_a_side_and_only_ping_and_pong_have_both() -> None:
    assert FROM_CLIENT.keys() | FROM_SERVER.keys() == {kind.value for kind in Kind}
    assert FROM_CLIENT.keys() & FROM_SERVER.keys() == {Kind.PING, Kind.PONG}
    assert Kind.HELLO in FROM_CLIENT
    assert Kind.WELCOME in FROM_SERVER


def test_the_largest_packet_fits_into_a_frame() -> None:
    assert PACKET_SIZE_MAX <= BATCH_SIZE_MAX < FRAME_SIZE_MAX - 64
