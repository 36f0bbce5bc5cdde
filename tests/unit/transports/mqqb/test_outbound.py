"""What was sent and is not acknowledged."""

from __future__ import annotations

import pytest

from openmsmq.packet.headers.session import SessionHeader
from openmsmq.transports.mqqb.outbound import MASK, Outbound, distance


def outbound(kinds: str = "", *, own: int = 64, window: int = 64) -> Outbound:
    """One that has sent express (e) and recoverable (r) messages; their places are the tokens."""
    made = Outbound(own)
    made.agree(window)
    for place, kind in enumerate(kinds, 1):
        made.add([place], recoverable=kind == "r")
    return made


def pushed(made: Outbound, count: int, *, recoverable: bool) -> None:
    """Bring the numbers of `made` up by sending and acknowledging many messages."""
    for _ in range(count):
        made.add([None], recoverable=recoverable)
        number = made.recoverable_sent if recoverable else 0
        made.acknowledge(SessionHeader(made.sent, number, int(recoverable)))


def test_a_new_session_has_sent_nothing() -> None:
    """MQQB-192."""
    made = outbound()
    assert (made.sent, made.recoverable_sent, made.acked) == (0, 0, 0)
    assert not made.is_waiting
    assert made.widens_at is None


def test_messages_are_numbered_from_one_and_recoverable_ones_once_more() -> None:
    """MQQB-114, MQQB-199, MQQB-200."""
    made = outbound("er")
    assert (made.sent, made.recoverable_sent) == (2, 1)
    made.add([3], recoverable=True)
    assert (made.sent, made.recoverable_sent) == (3, 2)


def test_the_smaller_window_of_the_two_counts() -> None:
    """MQQB-195, MQQB-360, AMB-19."""
    assert outbound(own=64, window=2048).window == 64
    assert outbound(own=2048, window=64).window == 64


@pytest.mark.parametrize(("own", "window"), [(64, 0), (0, 64), (0, 0)])
def test_there_is_always_room_for_one(own: int, window: int) -> None:
    """MQQB-195, AMB-19, AMB-26: a window of 0 would be the end."""
    assert outbound(own=own, window=window).room == 1


def test_before_the_windows_are_agreed_on_there_is_room_for_one() -> None:
    assert Outbound(64).window == 1


def test_room_is_what_the_window_leaves() -> None:
    """MQQB-195, AMB-19: up to the last AckSequenceNumber that came, and never less than none."""
    made = outbound("eerr", window=4)
    assert made.room == 0
    made.acknowledge(SessionHeader(3))
    assert made.room == 3
    made.narrow(1, 0)
    made.add([5], recoverable=False)
    assert made.room == 0


def test_recoverable_messages_that_are_not_stored_never_fill_all_numbers() -> None:
    """AMB-32: a peer that counts but does not store is waited for."""
    made = outbound(own=0xFFFF, window=0xFFFF)
    for _ in range(0x8000):
        assert made.room
        made.add([None], recoverable=True)
        made.acknowledge(SessionHeader(made.sent))
    assert made.room == 0
    assert len(made.acknowledge(SessionHeader(made.sent, 10, 1))) == 10
    assert made.room == 10


def test_a_window_of_more_than_half_the_numbers_is_not_used() -> None:
    """AMB-32: an acknowledgement can always be distinguished from one of long ago."""
    made = outbound(own=0xFFFF, window=0xFFFF)
    assert made.room == 0x8000
    for _ in range(0x8000):
        made.add([None], recoverable=False)
    assert made.room == 0
    assert len(made.acknowledge(SessionHeader(made.sent))) == 0x8000


def test_express_messages_are_acknowledged_up_to_a_number() -> None:
    """MQQB-215, MQQB-216."""
    made = outbound("eeee")
    assert made.acknowledge(SessionHeader(3)) == [1, 2, 3]
    assert made.is_waiting
    assert made.acknowledge(SessionHeader(3)) == []
    assert made.acknowledge(SessionHeader(4)) == [4]
    assert not made.is_waiting


def test_recoverable_messages_are_not_acknowledged_by_the_number_of_all() -> None:
    """MQQB-217."""
    made = outbound("rere")
    assert made.acknowledge(SessionHeader(4)) == [2, 4]
    assert made.is_waiting
    assert made.room == 64


@pytest.mark.parametrize("base", [0, 1, 2, 40_000])
def test_a_header_without_flags_acknowledges_nothing_recoverable(base: int) -> None:
    """MQQB-217, AMB-32: whatever its number says."""
    made = outbound("rr")
    assert made.acknowledge(SessionHeader(2, base, 0)) == []
    assert made.is_waiting


def test_recoverable_messages_are_acknowledged_up_to_the_base_and_by_bits() -> None:
    """MQQB-109, MQQB-217: gaps above the base stay, in order."""
    made = outbound("rrrrrr")
    assert made.acknowledge(SessionHeader(6, 2, 0b1011)) == [1, 2, 3, 5]
    assert made.acknowledge(SessionHeader(6, 4, 0b001)) == [4]
    assert made.acknowledge(SessionHeader(6, 6, 0b001)) == [6]
    assert not made.is_waiting


def test_the_base_counts_even_if_its_own_bit_is_clear() -> None:
    """MQQB-217: everything up to it is deleted, whatever the bits say."""
    assert outbound("rrr").acknowledge(SessionHeader(3, 2, 0b10)) == [1, 2, 3]


def test_bits_reach_32_messages() -> None:
    """MQQB-109."""
    made = outbound("r" * 40)
    assert made.acknowledge(SessionHeader(40, 1, 0x80000001)) == [1, 32]
    assert made.acknowledge(SessionHeader(40, 2, 0xFFFFFFFF)) == [*range(2, 32), 33]
    assert made.acknowledge(SessionHeader(40, 40, 1)) == list(range(34, 41))


def test_bits_above_a_base_acknowledged_before_still_count() -> None:
    """MQQB-109: a peer may repeat where it began."""
    made = outbound("rrrr")
    assert made.acknowledge(SessionHeader(4, 1, 0b1)) == [1]
    assert made.acknowledge(SessionHeader(4, 1, 0b101)) == [3]
    assert made.acknowledge(SessionHeader(4, 1, 0b1111)) == [2, 4]


def test_a_base_that_is_long_acknowledged_says_nothing() -> None:
    """MQQB-217: none of its bits is about a message under way."""
    made = outbound("r" * 40)
    assert len(made.acknowledge(SessionHeader(40, 34, 1))) == 34
    assert made.acknowledge(SessionHeader(40, 1, 0xFFFFFFFF)) == []
    assert made.acknowledge(SessionHeader(40, 4, 0xFFFFFFFF)) == [35]


@pytest.mark.parametrize("number", [4, 100, 0x8003, 0xFFFF])
def test_numbers_never_sent_are_ignored(number: int) -> None:
    """MQQB-215, AMB-32."""
    made = outbound("eee")
    assert made.acknowledge(SessionHeader(number)) == []
    assert made.acked == 0
    assert made.room == 61


@pytest.mark.parametrize("base", [4, 100, 0x8000, 0xFFE1])
def test_recoverable_numbers_never_sent_are_ignored(base: int) -> None:
    """MQQB-217, AMB-32."""
    made = outbound("rrr")
    assert made.acknowledge(SessionHeader(0, base, 1)) == []
    assert made.is_waiting


def test_bits_for_numbers_never_sent_are_ignored() -> None:
    """MQQB-109."""
    assert outbound("rr").acknowledge(SessionHeader(2, 1, 0xFFFFFFFF)) == [1, 2]


def test_flags_without_anything_recoverable_under_way_say_nothing() -> None:
    assert outbound("e").acknowledge(SessionHeader(0, 1, 1)) == []


def test_an_old_acknowledgement_takes_nothing_back() -> None:
    """MQQB-215."""
    made = outbound("eee")
    made.acknowledge(SessionHeader(3))
    assert made.acknowledge(SessionHeader(1)) == []
    assert made.acked == 3
    assert made.room == 64


@pytest.mark.parametrize("recoverable", [False, True])
def test_numbers_wrap_and_zero_is_one_of_them(recoverable: bool) -> None:
    """MQQB-114, AMB-32."""
    made = outbound(own=8, window=8)
    pushed(made, 0xFFFE, recoverable=recoverable)
    for token in range(4):  # numbers 0xFFFF, 0, 1 and 2
        made.add([token], recoverable=recoverable)
    assert made.sent == 2
    assert made.room == 4
    base, flags = (0, 1) if recoverable else (0, 0)
    assert made.acknowledge(SessionHeader(0, base, flags)) == [0, 1]
    assert made.room == 6
    base, flags = (2, 1) if recoverable else (0, 0)
    assert made.acknowledge(SessionHeader(2, base, flags)) == [2, 3]
    assert not made.is_waiting


def test_a_base_of_zero_without_flags_does_not_wrap_into_an_acknowledgement() -> None:
    """MQQB-217, AMB-32: 0 comes after 65535, and still means none."""
    made = outbound()
    pushed(made, 0xFFFE, recoverable=True)
    made.add([1], recoverable=True)
    assert made.acknowledge(SessionHeader(0xFFFF, 0, 0)) == []
    assert made.is_waiting


def test_a_window_made_smaller_doubles_every_half_minute() -> None:
    """MQQB-359, AMB-49: up to what was agreed on."""
    made = outbound(own=2048, window=6)
    made.narrow(1, 100)
    assert (made.window, made.widens_at) == (1, 130)
    made.widen(129.9)
    assert made.window == 1
    made.widen(130)
    assert (made.window, made.widens_at) == (2, 160)
    made.widen(191)
    assert made.window == 6
    assert made.widens_at is None


def test_a_window_doubles_as_often_as_time_has_passed() -> None:
    """MQQB-359."""
    made = outbound()
    made.narrow(1, 0)
    made.widen(95)
    assert (made.window, made.widens_at) == (8, 120)


def test_every_header_says_anew_what_the_window_is() -> None:
    """AMB-49: but never more than was agreed on, and never nothing."""
    made = outbound(own=2048)
    made.narrow(0, 10)
    assert made.window == 1
    made.narrow(1, 20)
    assert made.widens_at == 40, "the same again does not put it off"
    made.widen(40)
    made.narrow(1, 50)
    assert (made.window, made.widens_at) == (1, 80)
    made.narrow(0xFFFF, 60)
    assert made.window == 64
    assert made.widens_at is None


# Sequence numbers


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(1, 1, 0), (1, 3, 2), (0xFFFF, 0, 1), (0xFFFE, 2, 4), (3, 1, 0xFFFE), (0, 0xFFFF, 0xFFFF)],
)
def test_a_distance_goes_up_and_around_the_corner(start: int, end: int, expected: int) -> None:
    """MQQB-114, AMB-32."""
    assert distance(start, end) == expected
    assert start + distance(start, end) & MASK == end


@pytest.mark.parametrize("start", [0, 0x7FFE, 0xFFFD])
@pytest.mark.parametrize("recoverable", [False, True])
def test_messages_that_are_sent_together_count_as_each_would(start: int, recoverable: bool) -> None:
    """AMB-32: around the corner, too; some are acknowledged, and then the others."""
    together, each = Outbound(2048), Outbound(2048)
    for made in (together, each):
        made.agree(2048)
        made.sent = made.acked = made.recoverable_sent = start
    tokens = list("abcdef")
    together.add(tokens, recoverable=recoverable)
    for token in tokens:
        each.add([token], recoverable=recoverable)
    known: list[list[object]] = []
    for made in (together, each):
        first = start + 1 & MASK
        known.append(made.acknowledge(SessionHeader(first + 1 & MASK, first, 0b11)))
        known.append(made.acknowledge(SessionHeader(first + 5 & MASK, first + 2 & MASK, 0b1101)))
        known.append(made.acknowledge(SessionHeader(first + 5 & MASK, first + 3 & MASK, 0b1)))
        assert not made.is_waiting
        assert (made.sent, made.recoverable_sent) == (
            start + 6 & MASK,
            start + 6 * recoverable & MASK,
        )
    assert known[:3] == known[3:]
    assert [token for some in known[:3] for token in some] == (
        ["a", "b", "c", "e", "f", "d"] if recoverable else tokens
    )
