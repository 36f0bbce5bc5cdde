"""Incoming streams and their receipts."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.soap.envelope import Envelope, Path, Properties
from openmsmq.soap.scalars import NEVER
from openmsmq.transports.srmp import streams
from openmsmq.transports.srmp.streams import (
    StreamReceipts,
    position_of,
)

GUID = UUID("2744e4e1-2b48-43e8-b441-42745f280d53")
URL = "http://machine1/msmq/private$/order_queue$"
KEY = b"k" * 24


def test_a_message_outside_of_streams_has_no_position() -> None:
    assert position_of(Envelope(Path("http://m/msmq/q", "x"), Properties(NEVER))) is None


def test_a_receipt_is_sent_half_a_second_after_the_last_message() -> None:
    """SRMP-201, SRMP-204: each message starts the timer anew."""
    receipts = StreamReceipts()
    assert receipts.next_deadline is None
    receipts.came(KEY, 10.0)
    assert receipts.next_deadline == 10.5
    receipts.came(KEY, 10.4)
    assert receipts.tick(10.5) == []
    assert receipts.next_deadline == 10.9
    assert receipts.tick(10.9) == [(KEY, 0)]
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
    other = b"o" * 24
    receipts.came(KEY, 1.0)
    receipts.came(other, 1.2)
    assert receipts.tick(1.6) == [(KEY, 0)]
    assert receipts.next_deadline == 1.7
    assert receipts.tick(2) == [(other, 0)]
    assert len(receipts) == 0


def test_streams_that_are_owed_a_receipt_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STREAMS_DUE_MAX", 10)
    receipts = StreamReceipts()
    keys = [b"%d" % n for n in range(12)]
    for key in keys:
        receipts.came(key, 1.0)
    assert (len(receipts), receipts.dropped) == (10, 2)
    assert receipts.tick(2.0) == [(key, 0) for key in keys[2:]]


def test_after_256_messages_a_receipt_is_sent_at_once() -> None:
    """So that a sender need not keep more, however fast it sends."""
    receipts = StreamReceipts()
    receipts.came(KEY, 1.0, 255)
    assert receipts.tick(1.0) == []
    receipts.came(KEY, 1.0)
    assert receipts.tick(1.0) == [(KEY, 0)]


def test_a_receipt_that_fails_is_owed_again_a_few_times() -> None:
    """More and more rarely; a message that comes meanwhile does not wait for that."""
    receipts = StreamReceipts()
    now, tried = 0.0, []
    receipts.came(KEY, now)
    while (at := receipts.next_deadline) is not None:
        ((key, attempts),) = receipts.tick(at)
        tried.append(at - now)
        now = at
        receipts.failed(key, now, attempts + 1)
    assert tried == [0.5, 1, 2, 4, 8, 16]
    receipts.failed(KEY, 100.0, 5)
    receipts.came(KEY, 101.0)
    assert receipts.next_deadline == 101.5
