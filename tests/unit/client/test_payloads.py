"""What clients of a service say and are given."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import MESSAGES
from tests.unit.client.fakes import WELCOME, messages

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import Frame, Kind
from openmsmq.app_protocol.members import JsonObject, Members
from openmsmq.app_protocol.slices import EndRanges, QueuedSlice, Slices
from openmsmq.client import payloads as remote
from openmsmq.errors import InvalidParameter, UnsupportedOperation
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.history import HistoryEvent
from openmsmq.types.outgoing import OutgoingAttempt
from openmsmq.types.read import Read, Seek
from openmsmq.types.settings import Settings

GUID = UUID(int=7)
PACKET = MESSAGES["plain"].encode()
FOR_EVER = 0xFFFFFFFF


def test_a_queue_is_opened_for_what_was_asked() -> None:
    mode = Mode(Access.SEND | Access.PEEK, Share.DENY_RECEIVE)
    asked = remote.opening(WELCOME, "orders", mode)
    assert asked == {"name": "orders", "access": ["send", "peek"], "share": "receive"}
    assert remote.opening(WELCOME, "orders", Mode(Access.RECEIVE))["share"] == "none"


def test_an_older_service_is_not_asked_to_let_operate() -> None:
    mode = Mode(Access.PEEK | Access.OPERATE)
    assert remote.opening(WELCOME, "orders", mode)["access"] == ["peek"]
    modern = replace(WELCOME, capabilities=("operate",))
    assert remote.opening(modern, "orders", mode)["access"] == ["peek", "operate"]


def test_a_queue_may_be_open_for_less() -> None:
    mode = Mode(Access.ALL, Share.DENY_RECEIVE)
    assert remote.opened(Members({"access": ["peek"]}), mode) == Mode(
        Access.PEEK, Share.DENY_RECEIVE
    )


def test_queues_are_asked_for_in_pages_where_that_can_be_done() -> None:
    assert remote.listing(WELCOME, everything=True) == {"everything": True}
    modern = replace(WELCOME, capabilities=("pages", "subscribe"))
    assert remote.listing(modern, everything=False) == {"everything": False, "limit": remote.PAGE}


def test_properties_are_written_so_that_json_takes_them() -> None:
    assert remote.written({"type": GUID, "quota": 5}) == {"type": str(GUID), "quota": 5}


@pytest.mark.parametrize(
    ("timeout", "wait", "milliseconds"),
    [(None, None, FOR_EVER), (0, 0, 0), (1.5, 1.5, 1500), (1e12, None, FOR_EVER)],
    ids=str,
)
def test_a_read_waits_as_long_as_it_shall(
    timeout: float | None, wait: float | None, milliseconds: int
) -> None:
    assert remote.wait_of(timeout) == wait
    payload = remote.read_payload(3, Read(take=True), remote.wait_of(timeout))
    assert app.ReadRequest.decode(payload) == app.ReadRequest(3, timeout=milliseconds)


@pytest.mark.parametrize(
    ("read", "asked"),
    [
        (Read(take=True, count=7), app.ReadRequest(3, 4, 5, count=7)),
        (Read(take=True, count=1 << 40), app.ReadRequest(3, 4, 5, count=0xFFFFFFFF)),
        (Read(take=False, following=True), app.ReadRequest(3, 4, 5, mode=0, seek=app.FOLLOWING)),
        (
            Read(take=True, lookup_id=9),
            app.ReadRequest(3, 4, 5, 9, seek=app.SEEK_CODES[Seek.CURRENT]),
        ),
        (
            Read(take=False, lookup_id=-1, seek=Seek.LAST),
            app.ReadRequest(3, 4, 5, (1 << 64) - 1, mode=0, seek=app.SEEK_CODES[Seek.LAST]),
        ),
    ],
    ids=["many", "too many", "next", "lookup", "last"],
)
def test_a_read_says_what_is_wanted(read: Read, asked: app.ReadRequest) -> None:
    payload = remote.read_payload(3, read, None, transaction=4, cursor=5)
    assert app.ReadRequest.decode(payload) == asked


@given(st.lists(st.binary(max_size=300), max_size=20), st.integers(100, 600))
def test_messages_that_need_not_go_together_are_divided(packets: list[bytes], most: int) -> None:
    batches = remote.send_batches(packets, most, together=False)
    assert [packet for batch in batches for packet in batch] == packets
    for batch in batches:
        size = len(app.Send(1, 0, tuple(batch)).encode()) + 5
        assert size <= most or len(batch) == 1
    if len(batches) > 1:
        assert all(batches)


def test_messages_that_must_go_together_may_be_too_many() -> None:
    packets = [b"x" * 100] * 10
    assert remote.send_batches(packets, 2000, together=True) == [packets]
    with pytest.raises(InvalidParameter, match=r"10 messages with 1040 bytes: .* send fewer"):
        remote.send_batches(packets, 1000, together=True)


def test_messages_are_what_was_queued() -> None:
    lookup = (3 << 56) + 12
    [found] = remote.received(app.Messages.decode(messages(lookup)).messages)
    assert (found.lookup_id, found.arrival, found.body) == (lookup, 12, b"x")


def test_what_a_newer_service_adds_is_passed_over() -> None:
    assert remote.settings(Members({"history": 5, "colour": "red"})) == Settings(history=5)
    time = datetime(2026, 7, 1, tzinfo=UTC)
    happened: JsonObject = {
        **{"time": time.isoformat(), "event": "arrived", "queue": "q", "text": "t"},
        **{"lookup_id": 3, "by": "me", "colour": "red"},
    }
    event = HistoryEvent(time, "arrived", "q", "t", 3, "me")
    assert remote.noted(HistoryEvent, Members(happened)) == event


def test_a_queue_is_known_by_its_guid() -> None:
    info = remote.queue_info(Members({"id": str(GUID), "type": str(GUID), "name": "q", "new": 1}))
    assert (info.id, info.type, info.name) == (GUID, GUID, "q")


def test_an_outgoing_queue_is_known_with_its_attempts() -> None:
    attempt: JsonObject = {"time": 1_000_000_000, "status": "connected", "address": "10.0.0.2:1801"}
    known: JsonObject = {
        **{"name": "DIRECT=OS:b\\q", "state": "connected", "messages": 3, "new": 1},
        "attempts": [{**attempt, "new": 1}],
    }
    info = remote.outgoing_info(Members(known))
    assert (info.name, info.state, info.messages) == ("DIRECT=OS:b\\q", "connected", 3)
    assert info.attempts == (OutgoingAttempt(1_000_000_000, "connected", "10.0.0.2:1801"),)


def test_what_an_older_service_does_not_know_is_not_asked_of_it() -> None:
    with pytest.raises(UnsupportedOperation):
        remote.require(WELCOME, "reserve")
    remote.require(replace(WELCOME, capabilities=("reserve",)), "reserve")


def test_messages_are_ended_by_ranges_if_the_service_takes_these_and_they_are_shorter() -> None:
    modern = replace(WELCOME, capabilities=("runs",))
    kind, payload = remote.end_of(modern, 3, [5, 6, 7, 9, 10], remove=True, transaction=4)
    assert kind is Kind.END_RANGES
    assert EndRanges.decode(payload) == EndRanges(3, 4, 1, ((5, 8), (9, 11)))
    for welcome, lookups in ((WELCOME, [5, 6, 7]), (modern, [5, 7, 9]), (modern, [5])):
        kind, payload = remote.end_of(welcome, 3, lookups, remove=False)
        assert kind is Kind.END
        assert app.End.decode(payload) == app.End(3, 0, 0, tuple(lookups))


def test_messages_of_a_slice_are_what_they_are_one_by_one() -> None:
    packets = [PACKET, PACKET]
    part = QueuedSlice(5, 6, 0, 0, 0, 2, b"".join(packets))
    single = [app.QueuedMessage(5 + at, 6, 0, 0, 0, one) for at, one in enumerate(packets)]
    slices = Frame(Kind.SLICES, 1, Slices((part,)).encode())
    messages = Frame(Kind.MESSAGES, 1, app.Messages(tuple(single)).encode())
    assert remote.messages_in(slices) == remote.messages_in(messages)
    assert [one.lookup_id for one in remote.messages_in(slices)] == [5, 6]
