"""Incoming streams and their receipts."""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from openmsmq.soap.envelope import Envelope, Path, Properties, StreamReceipt
from openmsmq.soap.scalars import NEVER, StreamId
from openmsmq.transports.srmp import streams
from openmsmq.transports.srmp.streams import (
    StreamKey,
    StreamPosition,
    StreamReceipts,
    StreamState,
    position_of,
    receipt_for,
)

GUID = UUID("2744e4e1-2b48-43e8-b441-42745f280d53")
URL = "http://machine1/msmq/private$/order_queue$"
KEY = StreamKey(b"", GUID, "HTTP:MACHINE2\\PRIVATE$\\ORDERS")


def at(number: int, previous: int | None = None, *, stream: int = 5) -> StreamPosition:
    before = number - 1 if previous is None else previous
    return StreamPosition(StreamId(GUID, stream), number, before, URL if number == 1 else "")


def test_a_message_outside_of_streams_has_no_position() -> None:
    assert position_of(Envelope(Path("http://m/msmq/q", "x"), Properties(NEVER))) is None


def test_a_stream_begins_with_its_first_message() -> None:
    """SRMP-196, SRMP-199, SRMP-200: and no later one."""
    assert StreamState().after(at(1)) == StreamState(5, 1, URL)
    assert StreamState().after(at(2)) is None
    assert StreamState().after(at(2, 0)) is None


def test_messages_follow_one_by_one() -> None:
    """SRMP-096, SRMP-097, SRMP-197, SRMP-199, SRMP-200: duplicates and others are not the next."""
    state = StreamState(5, 3, URL)
    assert state.after(at(4)) == StreamState(5, 4, URL)
    for position in (at(1), at(3), at(2), at(5), at(9, 7), at(4, stream=4), at(4, stream=6)):
        assert state.after(position) is None


def test_a_gap_is_bridged_by_the_number_before_it() -> None:
    """SRMP-101, SRMP-198: those between have expired at their sender."""
    state = StreamState(5, 3, URL)
    assert state.after(at(9, 3)) == StreamState(5, 9, URL)
    assert state.after(at(9, 2)) == StreamState(5, 9, URL)
    assert state.after(at(9, 4)) is None


def test_only_a_newer_stream_replaces_one() -> None:
    """SRMP-196: a late copy of an older one does not bring it back (HTTP-42)."""
    state = StreamState(5, 3, URL)
    assert state.after(at(1, stream=6)) == StreamState(6, 1, URL)
    assert state.after(at(1, stream=4)) is None
    assert state.after(at(1, stream=5)) is None


@pytest.mark.parametrize("seed", range(50))
def test_whatever_the_network_does_messages_come_once_and_in_order(seed: int) -> None:
    """SRMP-096, SRMP-097: lost, doubled, late and out of order; some expire at the sender."""
    chance = random.Random(seed)
    waiting = list(range(1, 41))
    state, taken, expired = StreamState(), list[int](), set[int]()
    network: list[StreamPosition] = []
    sent = 0
    while waiting:
        if chance.random() < 0.5:
            place = chance.randrange(min(len(waiting), 5))
            number = waiting[place]
            if number > max(sent, 1) and chance.random() < 0.2:
                waiting.remove(number)  # it was never posted
                expired.add(number)
                continue
            sent = max(sent, number)
            network.append(at(number, waiting[place - 1] if place else state.number))
        elif network:
            position = network.pop(chance.randrange(len(network)))
            if chance.random() < 0.3:
                network.append(position)
            if chance.random() < 0.8 and (after := state.after(position)) is not None:
                state = after
                taken.append(position.number)
            waiting = [n for n in waiting if n > state.number]
    assert taken == [n for n in range(1, 41) if n not in expired]


def test_a_receipt_is_sent_half_a_second_after_the_last_message() -> None:
    """SRMP-201, SRMP-204: each message starts the timer anew."""
    receipts = StreamReceipts()
    assert receipts.next_deadline is None
    receipts.came(KEY, 10.0)
    assert receipts.next_deadline == 10.5
    receipts.came(KEY, 10.4)
    assert receipts.tick(10.5) == []
    assert receipts.next_deadline == 10.9
    assert receipts.tick(10.9) == [KEY]
    assert receipts.next_deadline is None
    assert receipts.tick(99) == []


def test_while_messages_keep_coming_a_receipt_is_sent_every_10_seconds() -> None:
    """SRMP-201."""
    receipts = StreamReceipts()
    sent = []
    for step in range(300):
        now = step / 10
        receipts.came(KEY, now)
        sent += [now for _ in receipts.tick(now)]
    assert sent == [10.0, 20.1]


def test_each_stream_has_its_own_receipt() -> None:
    """SRMP-207, SRMP-210: one receipt covers one stream."""
    receipts = StreamReceipts()
    other = KEY._replace(destination="HTTP:MACHINE2\\PRIVATE$\\INVOICES")
    receipts.came(KEY, 1.0)
    receipts.came(other, 1.2)
    assert receipts.tick(1.6) == [KEY]
    assert receipts.next_deadline == 1.7
    assert receipts.tick(2) == [other]
    assert len(receipts) == 0


def test_streams_that_are_owed_a_receipt_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STREAMS_DUE_MAX", 10)
    receipts = StreamReceipts()
    keys = [KEY._replace(destination=str(n)) for n in range(12)]
    for key in keys:
        receipts.came(key, 1.0)
    assert (len(receipts), receipts.dropped) == (10, 2)
    assert receipts.tick(2.0) == keys[2:]


def test_a_receipt_acknowledges_all_that_is_on_disk() -> None:
    """SRMP-116, SRMP-117, SRMP-205, SRMP-206, SRMP-208: the last number in order (HTTP-11)."""
    assert receipt_for(KEY, StreamState(5, 9, URL)) == StreamReceipt(StreamId(GUID, 5), 9)
