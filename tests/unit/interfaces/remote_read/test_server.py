"""The server of RemoteRead: queues, cursors, moves, and what is refused."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.strategies.remote_reader import ORDERS, Reader, RemoteWorld, body_of, open_arguments

from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.sections import joined
from openmsmq.interfaces.remote_read.server import MOVE_ACCESS
from openmsmq.interfaces.remote_read.stubs import ReadOpnum
from openmsmq.names.format import parse_format_name
from openmsmq.properties.message import Acknowledge
from openmsmq.rpc.ndr.structure import NULL_HANDLE
from openmsmq.rpc.status import RpcStatus
from openmsmq.types.access import Mode
from openmsmq.types.caller import Caller, Grant
from openmsmq.types.message import Message

QUEUE_NOT_FOUND, INVALID_PARAMETER, INVALID_HANDLE = 0xC00E0003, 0xC00E0006, 0xC00E0007
CANCELLED, SHARING, UNSUPPORTED, ACCESS_DENIED = 0xC00E0008, 0xC00E0009, 0xC00E0020, 0xC00E0025
TIMEOUT, DTC, USAGE, SEQUENCE = 0xC00E001B, 0xC00E004C, 0xC00E0050, 0xC00E0051
NOT_FOUND, LOCKED, DENIED, BAD_PARAMETER = 0xC00E0088, 0xC00E009C, 0xC0000022, 0xC000000D
UNIT = bytes(range(16))


@pytest.fixture
def world() -> RemoteWorld:
    return RemoteWorld()


@pytest.fixture
def reader(world: RemoteWorld) -> Reader:
    return world.connect()


# Opening


def test_the_port_is_reported_to_everyone(reader: Reader) -> None:
    """MQRR-007, MQRR-008, MQRR-011, MQRR-040"""
    found = reader.call(ReadOpnum.GET_SERVER_PORT, stubs.NoArguments(), stubs.Status32)
    assert found.result == 2103


@pytest.mark.parametrize("opnum", [1, 16, 100])
def test_there_are_no_other_operations(reader: Reader, opnum: int) -> None:
    """MQRR-017"""
    assert reader.fault(opnum, stubs.NoArguments()) == RpcStatus.OP_RNG_ERROR


@pytest.mark.parametrize(
    "name",
    [
        ORDERS,
        "DIRECT=TCP:127.0.0.1\\private$\\orders",
        f"{ORDERS};JOURNAL",
        f"{ORDERS};retry",
        "DIRECT=OS:HOST\\SYSTEM$;DEADLETTER",
        "DIRECT=OS:HOST\\SYSTEM$;DEADXACT",
        "DIRECT=OS:HOST\\SYSTEM$;JOURNAL",
    ],
)
def test_queues_are_opened_by_direct_names(reader: Reader, name: str) -> None:
    """MQRR-054, MQRR-056, MQRR-075, MQRR-081, MQRR-088"""
    handle = reader.open(name)
    assert handle != NULL_HANDLE
    assert reader.peek(handle) == TIMEOUT


def test_a_queue_of_this_manager_is_found_by_its_private_name(
    world: RemoteWorld, reader: Reader
) -> None:
    """MQRR-054"""
    world.send("only")
    queue = world.manager.find_queue("orders")
    name = f"PRIVATE={world.manager.identity}\\{queue.number:08x}"
    assert reader.peek(reader.open(name)) == 0


def test_a_queue_that_is_not_there_is_thrown(reader: Reader) -> None:
    """MQRR-076, MQRR-078"""
    for name in ("DIRECT=OS:HOST\\private$\\none", "DIRECT=OS:elsewhere\\private$\\orders"):
        arguments = open_arguments(name, 1)
        assert reader.fault(ReadOpnum.OPEN_QUEUE, arguments) == QUEUE_NOT_FOUND


@pytest.mark.parametrize("name", ["CONNECTOR={0}", "DL={0}", "MULTICAST=239.1.2.3:8001"])
def test_names_that_are_not_for_reading_are_refused(reader: Reader, name: str) -> None:
    """MQRR-055, MQRR-077"""
    arguments = open_arguments(name.format(UUID(int=5)), 1)
    assert reader.fault(ReadOpnum.OPEN_QUEUE, arguments) == INVALID_PARAMETER


def test_an_address_of_http_is_refused(reader: Reader) -> None:
    """MQRR-057"""
    arguments = open_arguments("DIRECT=HTTP://HOST/msmq/private$/orders", 1)
    assert reader.fault(ReadOpnum.OPEN_QUEUE, arguments) in (UNSUPPORTED, QUEUE_NOT_FOUND)


@pytest.mark.parametrize(
    ("kind", "suffix"), [(0, 0), (3, 2), (3, 0x81 ^ 0x80), (4, 0), (8, 0), (1, 0x82)]
)
def test_suffixes_that_do_not_go_with_their_name_are_refused(
    reader: Reader, kind: int, suffix: int
) -> None:
    """MQRR-055, MQRR-087"""
    values = {0: None, 1: UUID(int=5), 3: ORDERS[7:], 4: UUID(int=5), 8: f"{ORDERS[7:]};retry"}
    queue_format = QueueFormatArgument(kind, suffix, 0, values[kind])
    arguments = stubs.OpenArguments(queue_format, 1, 0, UUID(int=1), 1, 6, 1, 0, 0)
    assert reader.fault(ReadOpnum.OPEN_QUEUE, arguments) == INVALID_PARAMETER


@pytest.mark.parametrize(("access", "share"), [(0, 0), (2, 0), (4, 0), (0x21, 0), (1, 2), (1, 3)])
def test_other_access_and_share_modes_are_refused(reader: Reader, access: int, share: int) -> None:
    """MQRR-063, MQRR-077, MQRR-083"""
    arguments = open_arguments(ORDERS, access, share)
    assert reader.fault(ReadOpnum.OPEN_QUEUE, arguments) == INVALID_PARAMETER


def test_what_the_client_says_of_itself_does_not_matter(reader: Reader) -> None:
    """MQRR-065, MQRR-066, MQRR-069, MQRR-071, MQRR-073"""
    queue_format = QueueFormatArgument.of(parse_format_name(ORDERS))
    for routing, major, minor, build in ((0, 0, 0, 0), (1, 255, 255, 65535)):
        version = (routing, major, minor, build, 0)
        arguments = stubs.OpenArguments(queue_format, 1, 0, UUID(int=0), *version)
        opened = reader.call(ReadOpnum.OPEN_QUEUE, arguments, stubs.QueueContextArgument)
        assert opened.context != NULL_HANDLE


@pytest.mark.parametrize(
    ("first", "second", "allowed"),
    [
        ((False, 1), (False, 1), False),
        ((False, 1), (True, 1), False),
        ((False, 1), (False, 0), False),
        ((False, 1), (True, 0), True),
        ((True, 1), (False, 0), False),
        ((True, 1), (False, 1), False),
        ((False, 0), (False, 1), False),
        ((False, 0), (True, 1), False),
        ((False, 0), (False, 0), True),
        ((True, 0), (False, 1), True),
        ((True, 0), (False, 0), True),
    ],
)
def test_share_modes_keep_others_out(
    world: RemoteWorld,
    reader: Reader,
    first: tuple[bool, int],
    second: tuple[bool, int],
    allowed: bool,
) -> None:
    """MQRR-060, MQRR-061, MQRR-062, MQRR-079, MQRR-080, MQRR-082, MQRR-096"""
    handle = reader.open(peek=first[0], share=first[1])
    arguments = open_arguments(ORDERS, 0x20 if second[0] else 1, second[1])
    other = world.connect()
    if not allowed:
        assert other.fault(ReadOpnum.OPEN_QUEUE, arguments) == SHARING
        reader.close(handle)
    assert other.open(peek=second[0], share=second[1]) != NULL_HANDLE


def test_a_caller_without_the_right_is_refused() -> None:
    """MQRR-031, MQRR-041"""
    reader = RemoteWorld(Caller("bob", Grant("send"))).connect()
    assert reader.fault(ReadOpnum.OPEN_QUEUE, open_arguments(ORDERS, 1)) == ACCESS_DENIED
    reader = RemoteWorld(Caller("bob", Grant("read", ("private$\\other",)))).connect()
    for name in (ORDERS, "DIRECT=OS:HOST\\private$\\none"):
        assert reader.fault(ReadOpnum.OPEN_QUEUE, open_arguments(name, 1)) == ACCESS_DENIED
    reader = RemoteWorld(Caller("bob", Grant("read", ("private$\\ord*",)))).connect()
    assert reader.open() != NULL_HANDLE


# Closing


def test_a_closed_handle_is_null_and_unknown(reader: Reader) -> None:
    """MQRR-051, MQRR-090, MQRR-091"""
    handle = reader.open()
    assert reader.close(handle) == stubs.ClosedContext(NULL_HANDLE, 0)
    argument = stubs.QueueContextArgument(handle)
    assert reader.fault(ReadOpnum.CLOSE_QUEUE, argument) == RpcStatus.CONTEXT_MISMATCH


def test_closing_ends_waits_and_returns_messages(world: RemoteWorld, reader: Reader) -> None:
    """MQRR-092, MQRR-093, MQRR-094, MQRR-095"""
    world.send("only")
    handle = reader.open()
    cursor = reader.cursor(handle)
    reader.start(handle, 1)
    waiting = reader.start_later(handle, 2, timeout_ms=5000)
    with_cursor = reader.start_later(handle, 3, cursor=cursor, timeout_ms=5000)
    reader.close(handle)
    for answer in (waiting, with_cursor):
        results = answer()
        assert results is not None
        assert results.result == CANCELLED
    assert world.server.reads.next_deadline is None
    assert body_of(reader.start(reader.open(), 1)) == b"only"


def test_every_operation_refuses_an_unknown_handle(reader: Reader) -> None:
    """MQRR-102, MQRR-122, MQRR-146, MQRR-184, MQRR-334, MQRR-355"""
    handle = UUID(int=12345)
    start = (handle, 0, 0, 99, 0, 1, 0, 0)
    calls = {
        ReadOpnum.CREATE_CURSOR: stubs.QueueContextArgument(handle),
        ReadOpnum.CLOSE_CURSOR: stubs.CursorContext(handle, 1),
        ReadOpnum.PURGE_QUEUE: stubs.QueueContextArgument(handle),
        ReadOpnum.START_RECEIVE: stubs.StartReceive(*start),
        ReadOpnum.CANCEL_RECEIVE: stubs.CancelReceive(handle, 1),
        ReadOpnum.END_RECEIVE: stubs.EndReceive(handle, 1, 1),
        ReadOpnum.MOVE_MESSAGE: stubs.MoveMessage(handle, 1, 1, UNIT),
        ReadOpnum.START_TRANSACTIONAL_RECEIVE: stubs.StartTransactionalReceive(*start, UNIT),
        ReadOpnum.SET_USER_ACKNOWLEDGEMENT_CLASS: stubs.SetUserAcknowledgementClass(handle, 1, 0),
        ReadOpnum.END_TRANSACTIONAL_RECEIVE: stubs.EndReceive(handle, 1, 1),
    }
    for opnum, arguments in calls.items():
        assert reader.fault(opnum, arguments) == RpcStatus.CONTEXT_MISMATCH, opnum


# Cursors and purges


def close_cursor(reader: Reader, handle: UUID, cursor: int) -> int:
    arguments = stubs.CursorContext(handle, cursor)
    return reader.call(ReadOpnum.CLOSE_CURSOR, arguments, stubs.Status32).result


def test_cursors_have_numbers_of_their_own_and_close_once(
    world: RemoteWorld, reader: Reader
) -> None:
    """MQRR-100, MQRR-101, MQRR-107, MQRR-109"""
    one, two = reader.open(), world.connect().open()
    del two
    cursors = [reader.cursor(one) for _ in range(3)]
    assert len(set(cursors)) == 3
    assert 0 not in cursors
    other = reader.open()
    assert close_cursor(reader, other, cursors[0]) == INVALID_HANDLE
    assert close_cursor(reader, one, cursors[0]) == 0
    assert close_cursor(reader, one, cursors[0]) == INVALID_HANDLE


def test_closing_a_cursor_ends_its_wait(reader: Reader) -> None:
    """MQRR-108"""
    handle = reader.open()
    cursor = reader.cursor(handle)
    waiting = reader.start_later(handle, 1, ReadAction.PEEK_CURRENT, cursor=cursor, timeout_ms=5000)
    assert close_cursor(reader, handle, cursor) == 0
    results = waiting()
    assert results is not None
    assert results.result == CANCELLED


def purge(reader: Reader, handle: UUID) -> int:
    argument = stubs.QueueContextArgument(handle)
    return reader.call(ReadOpnum.PURGE_QUEUE, argument, stubs.Status32).result


def test_a_queue_is_purged_through_a_handle_to_receive(world: RemoteWorld, reader: Reader) -> None:
    """MQRR-123, MQRR-124, MQRR-443"""
    world.send("1", "2", "3")
    peeking = reader.open(peek=True)
    assert purge(reader, peeking) == DENIED
    assert reader.peek(peeking) == 0
    handle = reader.open()
    assert purge(reader, handle) == 0
    assert reader.start(handle, 1, ReadAction.PEEK_CURRENT).result == TIMEOUT
    assert reader.close(handle) == stubs.ClosedContext(NULL_HANDLE, 0)


@pytest.mark.parametrize("acknowledge", [stubs.ACK, stubs.NACK])
def test_a_message_that_was_held_when_its_queue_was_purged_goes_when_it_is_ended(
    world: RemoteWorld, reader: Reader, acknowledge: int
) -> None:
    """MQRR-126, MQRR-274, MQRR-275, MQRR-276: until then it is neither gone nor available."""
    world.send("only")
    handle = reader.open()
    reader.start(handle, 1)
    assert purge(reader, handle) == 0
    assert reader.end(handle, 1, acknowledge) == 0
    assert reader.peek(handle) == TIMEOUT


def test_the_sender_learns_that_its_message_was_purged(world: RemoteWorld, reader: Reader) -> None:
    """MQRR-127"""
    world.create("admin")
    admin_queue = "DIRECT=OS:HOST\\private$\\admin"
    wanted = Message(b"x", admin_queue=admin_queue, acknowledge=Acknowledge.FULL_RECEIVE)
    sender = world.driver.call(lambda: world.manager.open_queue("orders", Mode()))
    world.driver.call(lambda: sender.send([wanted]))
    assert purge(reader, reader.open()) == 0
    admin = reader.open(admin_queue)
    found = joined(reader.start(admin).sections or ()).message
    assert found.properties.message_class == 0xC001


# Moves


def open_for_move(reader: Reader, name: str) -> stubs.MoveContext:
    arguments = open_arguments(name, MOVE_ACCESS)
    return reader.call(ReadOpnum.OPEN_QUEUE_FOR_MOVE, arguments, stubs.MoveContext)


def move(reader: Reader, handle: UUID, target: int, lookup: int, unit: bytes = bytes(16)) -> int:
    arguments = stubs.MoveMessage(handle, target, lookup, unit)
    return reader.call(ReadOpnum.MOVE_MESSAGE, arguments, stubs.Status32).result


def first_lookup(reader: Reader, handle: UUID) -> int:
    results = reader.start(handle, 98, ReadAction.PEEK_CURRENT)
    assert results.result == 0
    return (7 - 3) << 56 | results.sequence_id


def test_a_message_moves_between_a_queue_and_its_subqueues(
    world: RemoteWorld, reader: Reader
) -> None:
    """MQRR-097, MQRR-348, MQRR-349, MQRR-351 to MQRR-353, MQRR-366, MQRR-371, MQRR-374"""
    world.send("only")
    names = [ORDERS, f"{ORDERS};retry", f"{ORDERS};poison"]
    main, retry, poison = (reader.open(name) for name in names)
    targets = [open_for_move(reader, name).move_context for name in names]
    lookup = first_lookup(reader, main)
    assert len(set(targets)) == 3
    assert 0 not in targets
    for source, target, place in ((main, 1, retry), (retry, 2, poison), (poison, 0, main)):
        assert move(reader, source, targets[target], lookup) == 0
        found = reader.start(place, 1, ReadAction.LOOKUP_PEEK_CURRENT, lookup_id=lookup)
        assert body_of(found) == b"only"
        assert reader.peek(source) == TIMEOUT
    assert reader.close(open_for_move(reader, names[1]).context).result == 0


def test_moves_are_refused_one_check_after_the_other(world: RemoteWorld, reader: Reader) -> None:
    """MQRR-354, MQRR-356, MQRR-357, MQRR-358, MQRR-359, MQRR-363, MQRR-365, MQRR-372"""
    world.create("billing", transactional=True)
    world.send("only")
    handle = reader.open()
    lookup = first_lookup(reader, handle)
    target = open_for_move(reader, f"{ORDERS};retry")
    assert move(reader, handle, 0, lookup) == INVALID_HANDLE
    assert move(reader, handle, target.move_context + 1, lookup) == INVALID_HANDLE
    other = open_for_move(reader, "DIRECT=OS:HOST\\private$\\billing;retry")
    assert move(reader, handle, other.move_context, lookup) == BAD_PARAMETER
    assert move(reader, handle, target.move_context, lookup, UNIT) == USAGE
    billing = reader.open("DIRECT=OS:HOST\\private$\\billing")
    assert move(reader, billing, other.move_context, lookup, UNIT) == SEQUENCE
    assert move(reader, handle, target.move_context, lookup + 1) == NOT_FOUND
    reader.start(handle, 1)
    assert move(reader, handle, target.move_context, lookup) == LOCKED
    reader.end(handle, 1, stubs.NACK)
    stranger = world.connect()
    assert move(stranger, stranger.open(), target.move_context, lookup) == INVALID_HANDLE
    reader.close(target.context)
    assert move(reader, handle, target.move_context, lookup) == INVALID_HANDLE


def test_a_handle_to_peek_moves_nothing(world: RemoteWorld, reader: Reader) -> None:
    world.send("only")
    handle = reader.open(peek=True)
    target = open_for_move(reader, f"{ORDERS};retry")
    assert move(reader, handle, target.move_context, first_lookup(reader, handle)) == DENIED


def test_a_handle_to_move_to_is_for_nothing_else(world: RemoteWorld, reader: Reader) -> None:
    """MQRR-125, MQRR-347"""
    world.send("only")
    handle = open_for_move(reader, ORDERS).context
    assert purge(reader, handle) == DENIED
    for action in (ReadAction.RECEIVE, ReadAction.PEEK_CURRENT):
        assert reader.start(handle, 1, action).result == DENIED
    argument = stubs.QueueContextArgument(handle)
    made = reader.call(ReadOpnum.CREATE_CURSOR, argument, stubs.CreatedCursor)
    assert made == stubs.CreatedCursor(0, DENIED)


def test_a_queue_that_is_not_there_cannot_be_moved_to(reader: Reader) -> None:
    """MQRR-346"""
    arguments = open_arguments("DIRECT=OS:HOST\\private$\\none;retry", MOVE_ACCESS)
    assert reader.fault(ReadOpnum.OPEN_QUEUE_FOR_MOVE, arguments) == QUEUE_NOT_FOUND
    for access, share in ((1, 0), (MOVE_ACCESS, 1)):
        arguments = open_arguments(ORDERS, access, share)
        assert reader.fault(ReadOpnum.OPEN_QUEUE_FOR_MOVE, arguments) == INVALID_PARAMETER


# Transactions


def start_transactional(
    reader: Reader, handle: UUID, action: int = 0, unit: bytes = UNIT, lookup: int = 0
) -> stubs.ReceiveResults:
    limits = (stubs.INFINITE_MS, stubs.INFINITE_MS)
    arguments = stubs.StartTransactionalReceive(handle, lookup, 0, action, 0, 5, *limits, unit)
    opnum = ReadOpnum.START_TRANSACTIONAL_RECEIVE
    return reader.call(opnum, arguments, stubs.ReceiveResults)


def test_a_transaction_of_a_coordinator_elsewhere_is_refused(reader: Reader) -> None:
    queue_format = QueueFormatArgument.of(parse_format_name(ORDERS))
    arguments = stubs.EnlistRemoteTransaction(UNIT, 6, b"token!", queue_format)
    found = reader.call(ReadOpnum.ENLIST_REMOTE_TRANSACTION, arguments, stubs.Status32)
    assert found.result == DTC


def test_no_transaction_at_all_is_a_receive_as_any_other(
    world: RemoteWorld, reader: Reader
) -> None:
    """MQRR-212, MQRR-308, MQRR-325, MQRR-326"""
    world.send("only")
    handle = reader.open()
    assert body_of(start_transactional(reader, handle, unit=bytes(16))) == b"only"
    opnum = ReadOpnum.END_TRANSACTIONAL_RECEIVE
    for request_id, result in ((6, INVALID_PARAMETER), (5, 0), (5, INVALID_HANDLE)):
        arguments = stubs.EndReceive(handle, stubs.ACK, request_id)
        assert reader.call(opnum, arguments, stubs.Status32).result == result
    assert reader.peek(handle) == TIMEOUT


def test_receives_in_a_transaction_are_checked_in_their_order(
    world: RemoteWorld, reader: Reader
) -> None:
    """MQRR-307, MQRR-309, MQRR-310, MQRR-317"""
    world.create("billing", transactional=True)
    plain, handle = reader.open(), reader.open("DIRECT=OS:HOST\\private$\\billing")
    assert start_transactional(reader, handle, 99).result == INVALID_PARAMETER
    assert start_transactional(reader, plain).result == USAGE
    for action in ReadAction:
        if not action.is_receive and action is not ReadAction.PEEK_NEXT:
            lookup = 5 if action.seek else 0
            assert start_transactional(reader, handle, action, lookup=lookup).result == USAGE
    assert start_transactional(reader, handle).result == SEQUENCE


def test_messages_in_no_transaction_cannot_be_rejected(world: RemoteWorld, reader: Reader) -> None:
    """MQRR-335, MQRR-336, MQRR-339"""
    world.send("only")
    handle = reader.open()
    lookup = first_lookup(reader, handle)
    opnum = ReadOpnum.SET_USER_ACKNOWLEDGEMENT_CLASS
    for lookup_id, message_class, result in (
        (lookup, 0xC001, INVALID_PARAMETER),
        (lookup + 1, 0xC004, NOT_FOUND),
        (lookup, 0xC004, USAGE),
    ):
        arguments = stubs.SetUserAcknowledgementClass(handle, lookup_id, message_class)
        assert reader.call(opnum, arguments, stubs.Status32).result == result


def test_the_worked_receive_goes_as_the_specification_shows_it(world: RemoteWorld) -> None:
    """MQRR-444"""
    world.send("hello")
    client, other = world.connect(), world.connect()
    handle, others = client.open(), other.open()
    results = client.start(handle, 1, timeout_ms=5000)
    assert (results.result, results.count) == (0, 1)
    assert results.sections is not None
    assert results.sections[0].section_type == 0
    assert other.peek(others) == TIMEOUT
    arguments = stubs.EndReceive(handle, 3, 1)
    assert client.fault(ReadOpnum.END_RECEIVE, arguments) == RpcStatus.BAD_STUB_DATA
    assert client.end(handle, 99) == INVALID_PARAMETER
    assert client.end(handle, 1) == 0
    assert other.peek(others) == TIMEOUT
