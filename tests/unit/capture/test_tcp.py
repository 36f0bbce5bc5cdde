"""Streams put together from segments."""

from __future__ import annotations

import pytest

from openmsmq.capture.limits import HELD_BYTES_MAX, HELD_SEGMENTS_MAX
from openmsmq.capture.tcp import TcpStream


def test_segments_in_order_are_given_at_once() -> None:
    stream = TcpStream()
    stream.begin(100)
    assert stream.add(100, b"abc") == [b"abc"]
    assert stream.add(103, b"de") == [b"de"]
    assert (stream.position, stream.held) == (5, 0)


def test_without_a_beginning_the_first_segment_is_it() -> None:
    stream = TcpStream()
    assert not stream.has_begun
    assert stream.add(7, b"x") == [b"x"]
    assert stream.has_begun
    assert stream.add(8, b"y") == [b"y"]


def test_a_beginning_counts_once() -> None:
    stream = TcpStream()
    stream.begin(1)
    stream.add(1, b"abc")
    stream.begin(50)
    assert stream.add(4, b"d") == [b"d"]


def test_early_segments_wait_for_what_is_before_them() -> None:
    stream = TcpStream()
    stream.begin(0)
    assert stream.add(6, b"gh") == []
    assert stream.add(2, b"cdef") == []
    assert (stream.position, stream.held) == (0, 6)
    assert stream.add(0, b"ab") == [b"ab", b"cdef", b"gh"]
    assert (stream.position, stream.held) == (8, 0)


@pytest.mark.parametrize(
    ("sequence", "data", "new"),
    [
        (0, b"abcd", []),
        (1, b"bc", []),
        (3, b"", []),
        (0, b"abcdef", [b"ef"]),
        (2, b"cde", [b"e"]),
        (3, b"d", []),
    ],
)
def test_what_is_repeated_is_dropped(sequence: int, data: bytes, new: list[bytes]) -> None:
    stream = TcpStream()
    stream.begin(0)
    stream.add(0, b"abcd")
    assert stream.add(sequence, data) == new


def test_early_segments_may_repeat_each_other() -> None:
    stream = TcpStream()
    stream.begin(0)
    for sequence, data in [(2, b"cd"), (2, b"cdef"), (3, b"d"), (2, b"cd")]:
        assert stream.add(sequence, data) == []
    assert b"".join(stream.add(0, b"ab")) == b"abcdef"
    assert stream.held == 0


def test_numbers_begin_again_after_4_gib() -> None:
    stream = TcpStream()
    stream.begin(0xFFFF_FFFE)
    assert stream.add(1, b"d") == []
    assert stream.add(0xFFFF_FFFE, b"abc") == [b"abc", b"d"]
    assert stream.add(0xFFFF_FFFF, b"bc") == []


def test_what_is_missing_can_be_given_up() -> None:
    stream = TcpStream()
    stream.begin(0)
    stream.add(0, b"ab")
    stream.add(10, b"kl")
    stream.add(5, b"f")
    assert stream.skip() == (3, [b"f"])
    assert stream.skip() == (4, [b"kl"])
    assert stream.position == 12


def test_a_stream_holds_so_many_bytes() -> None:
    stream = TcpStream()
    stream.begin(0)
    stream.add(1, bytes(HELD_BYTES_MAX))
    assert not stream.is_stuck
    stream.add(1 + HELD_BYTES_MAX, b"x")
    assert stream.is_stuck


def test_a_stream_holds_so_many_segments() -> None:
    stream = TcpStream()
    stream.begin(0)
    for number in range(HELD_SEGMENTS_MAX):
        stream.add(1 + number, b"x")
    assert not stream.is_stuck
    stream.add(1, b"x")
    assert stream.is_stuck
    assert b"".join(stream.add(0, b"x")) == b"x" * (HELD_SEGMENTS_MAX + 1)
    assert not stream.is_stuck
