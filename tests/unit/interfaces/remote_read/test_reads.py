"""Reads of remote clients: two steps, waits, cancels, and what time ends."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.strategies.remote_reader import ORDERS, RemoteWorld, body_of

from openmsmq.client.remote_read.messages import received_message
from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.interfaces.limits import CLEANUP_AFTER
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.sections import joined
from openmsmq.interfaces.remote_read.server import MOVE_ACCESS
from openmsmq.interfaces.remote_read.stubs import ReadOpnum
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.view import PacketView
from openmsmq.types.access import Mode
from openmsmq.types.lookup import ARRIVAL_MASK
from openmsmq.types.message import Message

INVALID_PARAMETER, INVALID_HANDLE, CANCELLED = 0xC00E0006, 0xC00E0007, 0xC00E0008
TIMEOUT, ALREADY_RECEIVED, ILLEGAL_CURSOR = 0xC00E001B, 0xC00E001D, 0xC00E001C
NOT_FOUND, BAD_HANDLE, DENIED = 0xC00E0088, 0xC0000008, 0xC0000022
STATUS_NOT_FOUND = 0xC0000225


def lookup_of(results: stubs.ReceiveResults) -> int:
    """The lookup identifier, which a client makes of the priority and the rest of it."""
    message = joined(results.sections or ()).message
    return (7 - (message.base.flags & 7)) << 56 | results.sequence_id


def test_a_message_is_received_in_two_steps() -> None:
    """MQRR-147, MQRR-159, MQRR-160, MQRR-161, MQRR-162, MQRR-169, MQRR-269, MQRR-273

    A handle to receive is good for peeks, too: MQRR-044, MQRR-058.
    """
    world = RemoteWorld()
    world.send("first", "second")
    reader, other = world.connect(), world.connect()
    handle, others = reader.open(), other.open()
    assert body_of(reader.start(handle)) == b"first"
    assert body_of(other.start(others, 1, ReadAction.PEEK_CURRENT)) == b"second"
    assert reader.end(handle) == 0
    assert body_of(other.start(others)) == b"second"
    assert other.end(others) == 0
    assert reader.peek(handle) == TIMEOUT


def test_a_message_that_is_not_acknowledged_is_back_in_its_place() -> None:
    """MQRR-270, MQRR-277"""
    world = RemoteWorld()
    world.send("first", "second")
    reader = world.connect()
    handle = reader.open()
    reader.start(handle)
    assert reader.end(handle, acknowledge=stubs.NACK) == 0
    assert body_of(reader.start(handle, 2)) == b"first"


def test_a_returned_message_wakes_a_reader() -> None:
    """MQRR-278"""
    world = RemoteWorld()
    world.send("only")
    reader = world.connect()
    handle = reader.open()
    reader.start(handle, 1)
    waiting = reader.start_later(handle, 2, timeout_ms=5000)
    assert waiting() is None
    reader.end(handle, 1, stubs.NACK)
    results = waiting()
    assert results is not None
    assert body_of(results) == b"only"


def test_ends_without_their_read_are_refused() -> None:
    """MQRR-271, MQRR-272"""
    world = RemoteWorld()
    world.send("only")
    reader = world.connect()
    handle = reader.open()
    assert reader.end(handle) == INVALID_HANDLE
    reader.start(handle, 1)
    assert reader.end(handle, 99) == INVALID_PARAMETER
    assert reader.end(handle, 1) == 0
    assert reader.end(handle, 1) == INVALID_HANDLE


def test_a_read_that_waits_cannot_be_ended() -> None:
    world = RemoteWorld()
    reader = world.connect()
    handle = reader.open()
    waiting = reader.start_later(handle, 1, timeout_ms=5000)
    assert reader.end(handle, 1) == INVALID_PARAMETER
    assert waiting() is None


def test_peeks_need_no_end() -> None:
    """MQRR-148, MQRR-158, MQRR-166, MQRR-167, MQRR-168"""
    world = RemoteWorld()
    world.send("first")
    reader = world.connect()
    handle = reader.open(peek=True)
    results = reader.start(handle, 1, ReadAction.PEEK_CURRENT)
    assert results.arrive_time == int(world.clock.now())
    assert 0 < results.sequence_id <= ARRIVAL_MASK
    assert reader.start(handle, 1, ReadAction.PEEK_CURRENT) == results
    assert reader.end(handle, 1) == INVALID_HANDLE


def test_messages_come_by_priority_then_arrival() -> None:
    """MQRR-170"""
    world = RemoteWorld()
    world.send("low 1", "low 2", priority=1)
    world.send("high", priority=6)
    reader = world.connect()
    handle = reader.open()
    bodies = [body_of(reader.start(handle, number)) for number in range(3)]
    assert bodies == [b"high", b"low 1", b"low 2"]


def test_an_empty_queue_is_answered_at_once_without_a_wait() -> None:
    """MQRR-165, MQRR-178"""
    world = RemoteWorld()
    reader = world.connect()
    handle = reader.open()
    assert reader.start(handle, 1).result == TIMEOUT
    assert reader.start(handle, 1).result == TIMEOUT
    cursor = reader.cursor(handle)
    assert reader.start(handle, 1, cursor=cursor).result == NOT_FOUND


def test_a_wait_ends_with_a_message() -> None:
    """MQRR-174, MQRR-176, MQRR-180"""
    world = RemoteWorld()
    reader = world.connect()
    handle = reader.open()
    waiting = reader.start_later(handle, 1, timeout_ms=10_000_000)
    world.wait(CLEANUP_AFTER * 2)
    assert waiting() is None
    world.send("late")
    results = waiting()
    assert results is not None
    assert body_of(results) == b"late"
    world.wait(CLEANUP_AFTER - 1)
    assert reader.end(handle, 1) == 0


def test_a_wait_ends_when_its_time_is_over() -> None:
    """MQRR-175, MQRR-177"""
    world = RemoteWorld()
    reader = world.connect()
    handle = reader.open()
    waiting = reader.start_later(handle, 1, timeout_ms=5000)
    world.wait(4.9)
    assert waiting() is None
    world.wait(0.1)
    results = waiting()
    assert results is not None
    assert results.result == TIMEOUT
    assert world.server.reads.next_deadline is None
    assert reader.start_later(handle, 1, timeout_ms=5000)() is None


def test_a_wait_without_end_has_no_deadline() -> None:
    """MQRR-179"""
    world = RemoteWorld()
    reader = world.connect()
    handle = reader.open()
    waiting = reader.start_later(handle, 1, timeout_ms=stubs.INFINITE_MS)
    assert world.server.reads.next_deadline is None
    world.wait(1_000_000)
    assert waiting() is None


def test_one_message_is_for_the_first_who_waits_and_for_all_who_peek() -> None:
    """MQRR-047, MQRR-048, MQRR-181, MQRR-182"""
    world = RemoteWorld()
    reader = world.connect()
    handle = reader.open()
    peeking = reader.start_later(handle, 1, ReadAction.PEEK_CURRENT, timeout_ms=5000)
    first = reader.start_later(handle, 2, timeout_ms=5000)
    second = reader.start_later(handle, 3, timeout_ms=5000)
    world.send("only")
    for answer in (peeking, first):
        results = answer()
        assert results is not None
        assert body_of(results) == b"only"
    assert second() is None


@pytest.mark.parametrize("action", [ReadAction.RECEIVE, ReadAction.PEEK_CURRENT])
def test_a_wait_is_cancelled_from_another_connection_of_the_association(action: ReadAction) -> None:
    """MQRR-050, MQRR-186, MQRR-187, MQRR-189, MQRR-191, MQRR-436"""
    world = RemoteWorld()
    reader = world.connect()
    handle = reader.open()
    waiting = reader.start_later(handle, 1, action, timeout_ms=stubs.INFINITE_MS)
    assert world.connect(reader.group).cancel(handle, 1) == 0
    results = waiting()
    assert results is not None
    assert results.result == CANCELLED
    assert reader.cancel(handle, 1) == STATUS_NOT_FOUND


def test_a_cancel_is_about_one_handle() -> None:
    """MQRR-190"""
    world = RemoteWorld()
    reader = world.connect()
    one, two = reader.open(), reader.open()
    waiting = reader.start_later(one, 1, timeout_ms=5000)
    assert reader.cancel(two, 1) == STATUS_NOT_FOUND
    assert waiting() is None


def test_a_cancel_after_the_message_changes_nothing() -> None:
    """MQRR-185, MQRR-192"""
    world = RemoteWorld()
    world.send("only")
    reader = world.connect()
    handle = reader.open()
    reader.start(handle, 1)
    assert reader.cancel(handle, 1) == STATUS_NOT_FOUND
    assert reader.end(handle, 1) == 0


def test_a_message_that_no_one_ends_returns_to_its_place() -> None:
    """MQRR-163, MQRR-280 to MQRR-285"""
    assert CLEANUP_AFTER == 300
    world = RemoteWorld()
    world.send("only")
    reader = world.connect()
    handle = reader.open()
    reader.start(handle, 1)
    world.wait(CLEANUP_AFTER - 1)
    assert reader.peek(handle) == TIMEOUT
    world.wait(1)
    assert reader.peek(handle) == 0
    assert reader.end(handle, 1) == INVALID_HANDLE


def test_no_deadline_is_left_when_a_message_is_ended() -> None:
    """MQRR-273, MQRR-328"""
    world = RemoteWorld()
    world.send("only")
    reader = world.connect()
    handle = reader.open()
    reader.start(handle, 1)
    assert world.server.reads.next_deadline == CLEANUP_AFTER
    reader.end(handle, 1)
    assert world.server.reads.next_deadline is None


def test_the_number_of_a_request_is_used_once_at_a_time() -> None:
    """MQRR-141"""
    world = RemoteWorld()
    world.send("first", "second")
    reader = world.connect()
    handle = reader.open()
    reader.start(handle, 1)
    assert reader.start(handle, 1).result == INVALID_PARAMETER
    reader.end(handle, 1)
    assert body_of(reader.start(handle, 1)) == b"second"


def test_a_handle_to_peek_receives_nothing() -> None:
    """MQRR-059, MQRR-129"""
    world = RemoteWorld()
    world.send("only")
    reader = world.connect()
    handle = reader.open(peek=True)
    assert reader.start(handle, 1).result == DENIED
    assert reader.peek(handle) == 0


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (ReadAction.LOOKUP_PEEK_CURRENT, b"second"),
        (ReadAction.LOOKUP_PEEK_NEXT, b"third"),
        (ReadAction.LOOKUP_PEEK_PREV, b"first"),
        (ReadAction.LOOKUP_RECEIVE_CURRENT, b"second"),
        (ReadAction.LOOKUP_RECEIVE_NEXT, b"third"),
        (ReadAction.LOOKUP_RECEIVE_PREV, b"first"),
    ],
)
def test_messages_are_found_by_lookup_identifier(action: ReadAction, expected: bytes) -> None:
    """MQRR-149 to MQRR-154, MQRR-164"""
    world = RemoteWorld()
    world.send("first", "second", "third")
    reader = world.connect()
    handle = reader.open()
    cursor = reader.cursor(handle)
    reader.start(handle, 1, ReadAction.PEEK_CURRENT, cursor=cursor)
    second = lookup_of(reader.start(handle, 1, ReadAction.PEEK_NEXT, cursor=cursor))
    assert body_of(reader.start(handle, 2, action, lookup_id=second)) == expected
    assert reader.end(handle, 2) == (0 if action.is_receive else INVALID_HANDLE)


def test_a_lookup_that_leads_nowhere_finds_nothing() -> None:
    """MQRR-155, MQRR-157"""
    world = RemoteWorld()
    world.send("only")
    reader = world.connect()
    handle = reader.open()
    lookup = lookup_of(reader.start(handle, 1, ReadAction.PEEK_CURRENT))
    for action, lookup_id in (
        (ReadAction.LOOKUP_PEEK_CURRENT, lookup + 1),
        (ReadAction.LOOKUP_PEEK_NEXT, lookup),
        (ReadAction.LOOKUP_RECEIVE_PREV, lookup),
    ):
        assert reader.start(handle, 1, action, lookup_id=lookup_id).result == NOT_FOUND


def test_cursors_go_from_message_to_message() -> None:
    """MQRR-111, MQRR-112, MQRR-113, MQRR-114, MQRR-115, MQRR-116, MQRR-117"""
    world = RemoteWorld()
    world.send("first", "second")
    reader = world.connect()
    handle = reader.open()
    cursor = reader.cursor(handle)
    assert reader.start(handle, 1, ReadAction.PEEK_NEXT, cursor=cursor).result == ILLEGAL_CURSOR
    for _ in range(2):
        first = reader.start(handle, 1, ReadAction.PEEK_CURRENT, cursor=cursor)
        assert body_of(first) == b"first"
    second = reader.start(handle, 1, ReadAction.PEEK_NEXT, cursor=cursor)
    assert body_of(second) == b"second"
    assert body_of(reader.start(handle, 1, cursor=cursor)) == b"second"
    reader.end(handle, 1)
    assert reader.start(handle, 1, ReadAction.PEEK_CURRENT, cursor=cursor).result == TIMEOUT
    again = reader.cursor(handle)
    reader.start(handle, 1, ReadAction.PEEK_CURRENT, cursor=again)
    reader.start(handle, 2)
    for action in (ReadAction.PEEK_CURRENT, ReadAction.RECEIVE):
        assert reader.start(handle, 1, action, cursor=again).result == ALREADY_RECEIVED


def test_a_cursor_receives_the_first_message_and_then_the_following() -> None:
    """MQRR-117: where no peek was, and the message is not gone but taken by itself."""
    world = RemoteWorld()
    world.send("first", "second")
    reader = world.connect()
    handle = reader.open()
    cursor = reader.cursor(handle)
    assert body_of(reader.start(handle, 1, cursor=cursor)) == b"first"
    assert body_of(reader.start(handle, 2, cursor=cursor)) == b"second"


@pytest.mark.parametrize(
    ("action", "found"), [(ReadAction.RECEIVE, b"later"), (ReadAction.PEEK_NEXT, b"second")]
)
def test_a_wait_with_a_cursor_that_is_over_leaves_it_unread(action: int, found: bytes) -> None:
    """MQRR-118 (behind all messages, for a receive), MQRR-119 (where it was, for a peek)"""
    world = RemoteWorld()
    world.send("first", "second")
    reader, other = world.connect(), world.connect()
    handle, others = reader.open(), other.open()
    cursor = reader.cursor(handle)
    first = reader.start(handle, 1, ReadAction.PEEK_CURRENT, cursor=cursor)
    if action == ReadAction.RECEIVE:
        first = reader.start(handle, 1, cursor=cursor)
    taken = other.start(others, 1, ReadAction.LOOKUP_RECEIVE_NEXT, lookup_id=lookup_of(first))
    assert body_of(taken) == b"second"
    wait = reader.start_later(handle, 2, action, cursor=cursor, timeout_ms=100)
    assert wait() is None
    world.wait(0.2)
    answer = wait()
    assert answer is not None
    assert answer.result == TIMEOUT
    assert other.end(others, 1, stubs.NACK) == 0
    world.send("later")
    refused = reader.start(handle, 3, ReadAction.PEEK_NEXT, cursor=cursor)
    assert refused.result == ILLEGAL_CURSOR, "it is unread"
    assert body_of(reader.start(handle, 4, ReadAction.PEEK_CURRENT, cursor=cursor)) == found


@pytest.mark.parametrize(
    "action", [ReadAction.RECEIVE, ReadAction.PEEK_CURRENT, ReadAction.PEEK_NEXT]
)
def test_unknown_cursors_and_those_of_other_handles_are_refused(action: ReadAction) -> None:
    """MQRR-110, MQRR-120"""
    world = RemoteWorld()
    reader = world.connect()
    one, two = reader.open(), reader.open()
    cursor = reader.cursor(one)
    assert reader.start(two, 1, action, cursor=cursor).result == BAD_HANDLE
    assert reader.start(two, 1, action, cursor=99).result == BAD_HANDLE


def test_a_large_body_is_cut_at_the_limit() -> None:
    """MQRR-197, MQRR-213"""
    world = RemoteWorld()
    world.send("0123456789")
    reader = world.connect()
    handle = reader.open()
    results = reader.start(handle, 1, ReadAction.PEEK_CURRENT, max_body_size=4)
    assert results.sections is not None
    first, second = results.sections
    assert first.data is not None
    assert first.data.endswith(b"0123")
    assert first.size_allocated - first.size == 6
    assert PacketView(first.data).message_size == 10
    assert results.count == 2
    assert second.size == second.size_allocated


def test_a_message_of_4_megabytes_comes_whole() -> None:
    world = RemoteWorld()
    body = "x" * 4_000_000
    world.send(body)
    reader = world.connect()
    handle = reader.open()
    assert body_of(reader.start(handle)) == body.encode()


def test_a_client_that_cuts_the_connection_loses_nothing() -> None:
    """MQRR-286 to MQRR-290, MQRR-292"""
    world = RemoteWorld()
    world.send("first", "second")
    reader, other = world.connect(), world.connect()
    handle, others = reader.open(), other.open()
    reader.start(handle, 1)
    other.start(others, 1)
    waiting = reader.start_later(handle, 2, timeout_ms=stubs.INFINITE_MS)
    assert waiting() is None
    reader.lose()
    assert body_of(other.start(others, 2)) == b"first"
    assert other.end(others, 1) == 0
    world.send("third")
    assert body_of(other.start(others, 3)) == b"third"
    assert world.server.reads.next_deadline is not None


def test_a_second_connection_keeps_what_was_read() -> None:
    """MQRR-050, MQRR-291"""
    world = RemoteWorld()
    world.send("only")
    reader = world.connect()
    handle = reader.open()
    second = world.connect(reader.group)
    reader.start(handle, 1)
    reader.lose()
    assert second.peek(handle) == TIMEOUT
    assert second.end(handle, 1) == 0
    second.lose()
    third = world.connect()
    assert third.peek(third.open()) == TIMEOUT


def test_a_limit_for_messages_over_http_does_not_cut_others() -> None:
    """MQRR-145"""
    world = RemoteWorld()
    world.send("0123456789")
    reader = world.connect()
    most = stubs.INFINITE_MS
    peek = ReadAction.PEEK_CURRENT
    asked = stubs.StartReceive(reader.open(), 0, 0, peek, 0, 1, most, 1)
    found = reader.call(stubs.ReadOpnum.START_RECEIVE, asked, stubs.ReceiveResults)
    assert found.count == 1
    assert body_of(found) == b"0123456789"


def test_a_handle_of_a_queue_that_was_deleted_reads_nothing() -> None:
    """MQRR-173"""
    world = RemoteWorld()
    world.send("gone")
    reader = world.connect()
    handle = reader.open()
    world.driver.call(lambda: world.manager.delete_queue("orders"))
    assert reader.start(handle, 1).result == 0xC00E004B


def test_a_message_has_no_session_header_and_does_not_say_so() -> None:
    """MQRR-224"""
    world = RemoteWorld()
    world.send("plain")
    reader = world.connect()
    found = reader.start(reader.open(), 1, ReadAction.PEEK_CURRENT)
    message = joined(found.sections or ()).message
    assert not message.base.flags & BaseFlags.SH
    assert message.session is None


def test_a_move_counts_whatever_the_client_says_of_itself() -> None:
    """MQRR-344, MQRR-345, MQRR-369, MQRR-373"""
    world = RemoteWorld()
    world.create("billing", transactional=True)
    sender = world.driver.call(lambda: world.manager.open_queue("billing", Mode()))
    transaction = world.driver.call(world.manager.begin)
    world.driver.call(lambda: sender.send([Message(b"moved")], transaction))
    world.driver.call(lambda: world.manager.commit(transaction))
    world.clock.wait(1000)
    reader = world.connect()
    billing = "DIRECT=OS:HOST\\private$\\billing"
    handle = reader.open(billing)
    lookup = lookup_of(reader.start(handle, 1, ReadAction.PEEK_CURRENT))
    retry = QueueFormatArgument.of(parse_format_name(f"{billing};retry"))
    strange = stubs.OpenArguments(retry, MOVE_ACCESS, 0, UUID(int=0), 0, 0, 255, 0xFFFF, 1)
    opened = reader.call(ReadOpnum.OPEN_QUEUE_FOR_MOVE, strange, stubs.MoveContext)
    moving = stubs.MoveMessage(handle, opened.move_context, lookup, stubs.NO_TRANSACTION)
    assert reader.call(ReadOpnum.MOVE_MESSAGE, moving, stubs.Status32).result == 0
    found = reader.start(reader.open(f"{billing};retry"), 1, ReadAction.PEEK_CURRENT)
    trailer = joined(found.sections or ()).trailer
    assert trailer is not None
    assert trailer.subqueue is not None
    assert trailer.subqueue.move_counter == 1
    assert trailer.subqueue.last_move_time >= found.arrive_time + 1000


@pytest.mark.parametrize("address", ["10.0.0.7", "2001:db8::7", "fe80::7%3"])
def test_a_reader_learns_which_address_messages_came_from(address: str) -> None:
    """MQRR-218, MQRR-219, MQRR-221, MQRR-260, MQRR-263

    Also the second, which is like the first. What is sent here came from this computer.
    """
    world = RemoteWorld()
    builder = PacketBuilder(UUID(int=8), parse_format_name(ORDERS))
    packets = [builder.build(b"x", message_id=number) for number in (1, 2)]
    outcome = world.manager.arrivals.take_express(Origin(address, "partner"), packets)
    assert (outcome.error, outcome.rejected) == (None, [])
    world.send("own")
    reader = world.connect()
    handle = reader.open()
    found = [reader.start(handle, number) for number in (1, 2, 3)]
    came_from = [received_message(results).source_address for results in found]
    assert came_from == [address, address, "127.0.0.1"]
    header = joined(found[0].sections or ()).trailer
    assert header is not None
    assert header.extended_address is not None
    assert header.extended_address.address_type == (6 if ":" in address else 1)
