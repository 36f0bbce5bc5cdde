"""Slices of runs, and ranges that end them, byte by byte."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import MESSAGES
from tests.unit.app_protocol.test_payloads import refusal

from openmsmq.app_protocol.payloads import Action
from openmsmq.app_protocol.slices import EndRanges, QueuedSlice, SendRun, Slices
from openmsmq.errors import Malformed

PLAIN, TRACED = MESSAGES["plain"].encode(), MESSAGES["debug"].encode()
SIZE = len(PLAIN)
SLICE = QueuedSlice(5, 6, 7, 8, 9, 2, PLAIN + TRACED)


def test_messages_of_a_run_are_one_slice() -> None:
    head = "0500000000000000 06000000 07000000 08000000 0900"
    payload = b"".join(
        (
            pack("<I", 1),
            bytes.fromhex(head),
            pack("<II", len(PLAIN + TRACED), 2),
            PLAIN,
            TRACED,
        )
    )
    assert Slices((SLICE,)).encode() == payload
    (found,) = Slices.decode(payload).slices
    assert (found.data, found.start, found.end) == (payload, 34, len(payload)), "not copied"
    assert (found[:6], found.packets, found.size) == (SLICE[:6], PLAIN + TRACED, SLICE.size)
    assert found.split() == SLICE.split() == [PLAIN, TRACED]


def test_a_slice_ends_with_a_lookup_identifier() -> None:
    (framed,) = Slices.decode(Slices((SLICE,)).encode()).slices
    for one in (SLICE, framed):
        assert one.up_to(6) is one
        first = one.up_to(5)
        assert (first[:6], first.split()) == ((*SLICE[:5], 1), [PLAIN])


def test_a_slice_of_one_message_is_all_its_own() -> None:
    single = SLICE._replace(messages=1)
    (found,) = Slices.decode(Slices((single,)).encode()).slices
    assert found.split() == single.split() == [PLAIN + TRACED]


def test_packets_of_one_size_are_found_without_a_look_at_each() -> None:
    alike = SLICE._replace(messages=3, data=b".." + PLAIN * 3 + b".", start=2, end=2 + 3 * SIZE)
    assert alike.bounds() == range(2, 3 + 3 * SIZE, SIZE)
    assert alike.split() == [PLAIN] * 3
    other = PLAIN[:8] + pack("<I", SIZE - 4) + PLAIN[12:-4]
    more = PLAIN[:8] + pack("<I", SIZE + 4) + PLAIN[12:] + bytes(4)
    assert SLICE._replace(data=other + more).bounds() == [0, SIZE - 4, 2 * SIZE]


@pytest.mark.parametrize(
    "wrong",
    [
        SLICE._replace(data=b""),
        SLICE._replace(data=PLAIN + PLAIN[:8] + pack("<I", SIZE + 65536) + PLAIN[12:]),
        SLICE._replace(messages=3),
        SLICE._replace(data=(PLAIN + TRACED)[:-4]),
        SLICE._replace(data=bytes(240)),
        SLICE._replace(data=PLAIN + TRACED + PLAIN),
    ],
)
def test_packets_that_do_not_fill_their_slice_are_refused(wrong: QueuedSlice) -> None:
    with pytest.raises(Malformed):
        wrong.bounds()
    with pytest.raises(Malformed):
        Slices.decode(Slices((wrong,)).encode()).slices[0].split()


@pytest.mark.parametrize("messages", [0, 3, 1 << 31])
def test_a_slice_says_how_many_it_can_have(messages: int) -> None:
    payload = Slices((SLICE._replace(data=bytes(250), messages=messages),)).encode()
    assert refusal(Slices.decode, payload)[0] == "slices[0].count"


def test_packets_are_sent_in_one_piece() -> None:
    send = SendRun(1, 2, 2, PLAIN + TRACED)
    assert send.encode() == pack("<IQI", 1, 2, 2) + PLAIN + TRACED
    assert SendRun.decode(send.encode()) == send


@pytest.mark.parametrize("count", [0, 100, (1 << 32) - 1])
def test_more_packets_than_fit_are_refused(count: int) -> None:
    payload = pack("<IQI", 1, 2, count) + PLAIN + TRACED
    assert refusal(SendRun.decode, payload)[0] == "count"


def test_ranges_are_ended() -> None:
    end = EndRanges(1, 2, Action.REMOVE, ((5, 8), (1 << 60, (1 << 60) + 1)))
    payload = end.encode()
    assert payload[17:29] == bytes.fromhex("0500000000000000 03000000")
    assert EndRanges.decode(payload) == end


@pytest.mark.parametrize(("first", "count"), [(5, 0), ((1 << 64) - 1, 1), ((1 << 64) - 9, 1000)])
def test_a_range_that_cannot_be_is_refused(first: int, count: int) -> None:
    payload = EndRanges(1, 2, Action.REMOVE, ((5, 8),)).encode()[:17] + pack("<QI", first, count)
    assert refusal(EndRanges.decode, payload)[0] == "ranges"
