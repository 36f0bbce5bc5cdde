"""Messages of dependent clients: sent, received and peeked at."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Any
from uuid import UUID

import pytest
from tests.strategies.dependent import (
    FOR_EVER,
    PEEK,
    PEEK_NEXT,
    Dependent,
    SupportingWorld,
    body_of,
    units,
    wanted,
)

from openmsmq.interfaces.limits import REQUESTS_MAX
from openmsmq.interfaces.qm2qm.transfer_buffer import receive_buffer, send_buffer
from openmsmq.interfaces.queue_format import ObjectId
from openmsmq.interfaces.supporting_server import messages, stubs
from openmsmq.interfaces.supporting_server.open_queues import DependentQueue
from openmsmq.interfaces.supporting_server.stubs import MessageOpnum
from openmsmq.interfaces.waits import WaitingRead
from openmsmq.rpc.status import RpcStatus
from openmsmq.types.access import Mode

INVALID_PARAMETER, INVALID_HANDLE, TIMEOUT = 0xC00E0006, 0xC00E0007, 0xC00E001B
CURSOR_ACTION, OVERFLOW, CANCELLED = 0xC00E001C, 0xC00E001A, 0xC00E0008
TAKEN, RESOURCES, LABEL_ROOM, NAME_ROOM = 0xC00E001D, 0xC00E0027, 0xC00E005E, 0xC00E001F


@pytest.fixture
def world() -> SupportingWorld:
    return SupportingWorld()


@pytest.fixture
def client(world: SupportingWorld) -> Dependent:
    return Dependent(world)


# Sending


def test_a_message_is_sent_and_its_identifier_answered(
    world: SupportingWorld, client: Dependent
) -> None:
    """MQMP-395 to MQMP-399, MQMP-402: what comes as an identifier is ignored."""
    sending, receiving = client.opened(access=2), client.opened()
    waiting = client.receive_later(receiving.context, timeout=5000)
    sent = client.send(sending.handle)
    assert (sent.result, sent.message_id.lineage) == (0, world.manager.identity)
    assert body_of(client.answer(waiting, stubs.ReceivedBuffer)) == "hello", "it wakes who waits"
    again = client.send(sending.handle, message_id=ObjectId(UUID(int=9), 9))
    assert again.message_id.uniquifier == sent.message_id.uniquifier + 1
    found = client.receive(receiving.context, message_id=ObjectId(UUID(int=0), 0))
    assert found.buffer.message_id == again.message_id
    assert client.send(sending.handle, message_id=None) == stubs.SentBuffer(None, 0)


def test_a_send_that_fails_sends_nothing(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-388, MQMP-394: a bad argument, and a quota."""
    world.driver.call(
        lambda: world.manager.change_queue(world.manager.find_queue("orders"), quota=0)
    )
    sending = client.opened(access=2)
    sent = client.send(sending.handle, message_id=None)
    assert (sent.message_id, sent.result) == (None, RESOURCES)
    assert client.send(sending.handle, priority=9).result == 0xC00E0018
    assert world.bodies() == []


# Receiving


def test_a_receive_takes_the_first_message(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-407, MQMP-408, MQMP-455, MQMP-458, MQMP-460: a peek leaves it."""
    world.send("one", "two")
    queue = client.opened()
    for action, body in ((PEEK, "one"), (PEEK, "one"), (0, "one"), (0, "two")):
        found = client.receive(queue.context, action)
        assert body_of(found) == body
        assert found.buffer.part.cursor == 0
    assert world.bodies() == []


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ({"buffer": send_buffer()}, INVALID_PARAMETER),
        ({"action": 1}, INVALID_PARAMETER),
        ({"action": 0x40000010}, INVALID_PARAMETER),
        ({"action": PEEK_NEXT}, CURSOR_ACTION),
        ({"cursor": 77}, INVALID_HANDLE),
    ],
)
def test_what_cannot_be_read_so_is_refused(
    client: Dependent, given: dict[str, Any], result: int
) -> None:
    """MQMP-404 to MQMP-406, MQMP-409"""
    client.world.send("one")
    queue = client.opened()
    assert client.receive(queue.context, **given).result == result
    assert client.world.bodies() == ["one"]


def test_numbers_of_others_are_refused(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-051, MQMP-406, MQMP-454"""
    world.send("one")
    queue, other = client.opened(), Dependent(world)
    for context in (queue.context, queue.context + 99, 0):
        assert other.receive(context).result == INVALID_HANDLE
    cursor = client.cursor(queue.handle).cursor
    theirs = other.opened()
    assert other.receive(theirs.context, cursor=cursor).result == INVALID_HANDLE
    assert body_of(client.receive(queue.context)) == "one"


def test_a_wait_ends_in_time_or_with_a_message(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-462 to MQMP-466: and does not hold up other calls."""
    queue = client.opened()
    assert client.receive(queue.context, timeout=0).result == TIMEOUT
    waiting = client.receive_later(queue.context, timeout=3000)
    for_ever = client.receive_later(queue.context, PEEK, timeout=FOR_EVER)
    assert client.registry(4).result == 0
    world.pass_time(2)
    assert waiting == []
    world.pass_time(2)
    assert client.answer(waiting, stubs.ReceivedBuffer).result == TIMEOUT
    world.pass_time(100_000)
    assert for_ever == []
    world.send("at last")
    assert body_of(client.answer(for_ever, stubs.ReceivedBuffer)) == "at last"
    assert world.supporting.messages.next_deadline is None


def test_what_came_comes_back_if_there_is_no_message(client: Dependent) -> None:
    """MQMP-465"""
    queue = client.opened()
    part = {"response_size": 40, "response_name": (0,) * 40, "response_needed": 40}
    asked = receive_buffer(part, title=(0,) * 12, title_size=12, title_needed=12, **wanted())
    assert client.receive(queue.context, buffer=asked) == stubs.ReceivedBuffer(asked, TIMEOUT)


def test_a_cursor_walks_through_a_queue(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-461, MQMP-488"""
    world.send("a", "b", "c")
    queue = client.opened()
    cursor = client.cursor(queue.handle).cursor
    found = [
        body_of(client.receive(queue.context, action, cursor=cursor))
        for action in (PEEK, PEEK_NEXT, PEEK, 0, PEEK)
    ]
    assert found == ["a", "b", "b", "b", "c"]
    other = client.opened()
    client.receive(other.context)
    client.receive(other.context)
    assert client.receive(queue.context, PEEK, cursor=cursor).result == TAKEN


@pytest.mark.parametrize("is_transactional", [False, True])
def test_a_message_without_room_stays_in_its_place(
    world: SupportingWorld, client: Dependent, is_transactional: bool
) -> None:
    """MQMP-418, MQMP-444: its true size is answered; in a transaction, too."""
    unit = bytes(range(16, 32)) if is_transactional else None
    name, path = "quotes", "DIRECT=OS:HOST\\private$\\quotes"
    world.create(name, transactional=is_transactional)
    if unit is not None:
        client.begin(unit)
        world.send_in_transaction("risk?", queue=name)
    else:
        world.send("risk?", queue=name)
    queue = client.opened(path)
    for action in (0, PEEK):
        small = client.receive(queue.context, action, unit=unit, **wanted(2))
        assert (small.result, small.buffer.body_needed) == (OVERFLOW, 5)
        assert small.buffer.body == bytes(2), "nothing of it is given away"
    assert body_of(client.receive(queue.context, unit=unit, **wanted(5))) == "risk?"


def test_a_cursor_stands_where_it_stood_if_there_is_no_room(
    world: SupportingWorld, client: Dependent
) -> None:
    """MQMP-448"""
    world.send("aa", "bbbb")
    queue = client.opened()
    cursor = client.cursor(queue.handle).cursor
    small = wanted(2)
    assert client.receive(queue.context, PEEK, cursor=cursor, **wanted(1)).result == OVERFLOW
    assert body_of(client.receive(queue.context, PEEK, cursor=cursor, **small)) == "aa"
    for action in (PEEK_NEXT, PEEK_NEXT):
        assert client.receive(queue.context, action, cursor=cursor, **small).result == OVERFLOW
    assert body_of(client.receive(queue.context, PEEK_NEXT, cursor=cursor)) == "bbbb"
    assert client.receive(queue.context, cursor=cursor, **small).result == OVERFLOW
    assert body_of(client.receive(queue.context, cursor=cursor)) == "bbbb"
    assert world.bodies() == ["aa"]


# Clients that go


def test_a_client_that_goes_while_it_waits_takes_nothing(
    world: SupportingWorld, client: Dependent
) -> None:
    """MQMP-467, MQMP-495"""
    queue = client.opened()
    client.receive_later(queue.context, timeout=FOR_EVER)
    client.lose()
    world.send("one")
    assert world.bodies() == ["one"]


def test_a_message_is_put_back_if_its_client_went_while_it_was_removed(
    world: SupportingWorld, client: Dependent
) -> None:
    """MQMP-467: the commit that removes it is followed by one that puts it back."""
    world.send("one", "two")
    queue = client.opened()
    [found] = world.supporting.queues._open.values()
    assert isinstance(found, DependentQueue)
    handle = found.handle
    end = type(handle).end

    def gone(self: Any, *given: Any, **more: Any) -> Any:
        found = end(self, *given, **more)
        client.lose()
        return found

    type(handle).end = gone  # type: ignore[method-assign]
    try:
        client.receive_later(queue.context)
    finally:
        type(handle).end = end  # type: ignore[method-assign]
    assert world.bodies() == ["one", "two"]


def test_500_reads_that_wait_cost_no_thread_and_little_memory(world: SupportingWorld) -> None:
    """What each keeps is what its client has sent, and is gone with it."""
    queues = [(one, one.opened()) for one in (Dependent(world) for _ in range(5))]
    threads = {*threading.enumerate()}
    tracemalloc.start()
    try:
        for client, queue in queues:
            for _ in range(100):
                assert client.receive_later(queue.context, timeout=FOR_EVER) == []
        assert len(world.manager.find_queue("orders").waiters) == 500
        assert tracemalloc.get_traced_memory()[0] < 500 * 20_000
    finally:
        tracemalloc.stop()
    assert {*threading.enumerate()} <= threads
    assert world.supporting.messages._waiting_room == 500 * len(wanted()["body"])
    for client, _ in queues:
        client.lose()
    assert world.supporting.messages._waiting_room == 0
    assert not world.manager.find_queue("orders").waiters


def test_reads_that_wait_are_bounded(world: SupportingWorld, client: Dependent) -> None:
    queue = client.opened()
    [found] = world.supporting.queues._open.values()
    assert isinstance(found, DependentQueue)
    found.waiting.update({WaitingRead(): 0.0 for _ in range(REQUESTS_MAX)})
    assert client.receive(queue.context).result == RESOURCES
    client.lose()
    world.send("one")
    assert world.bodies() == ["one"]


def test_reads_that_wait_have_so_much_room_together(
    world: SupportingWorld, client: Dependent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What each client sent is kept as long as it waits: there is a bound for all of them."""
    monkeypatch.setattr(messages, "WAITING_ROOM_MAX", 10_000)
    queue = client.opened()
    first = client.receive_later(queue.context, timeout=5000, **wanted(6000))
    assert first == []
    assert client.receive(queue.context, timeout=5000, **wanted(6000)).result == RESOURCES
    assert client.receive(queue.context, **wanted(6000)).result == TIMEOUT, "it need not wait"
    small = client.receive_later(queue.context, timeout=5000, **wanted(100))
    assert small == []
    world.pass_time(6)
    for waiting in (first, small):
        assert client.answer(waiting, stubs.ReceivedBuffer).result == TIMEOUT
    again = client.receive_later(queue.context, timeout=5000, **wanted(6000))
    world.send("one")
    assert body_of(client.answer(again, stubs.ReceivedBuffer)) == "one"
    assert world.supporting.messages._waiting_room == 0


def test_lying_sizes_get_a_fault_and_the_next_client_is_served(world: SupportingWorld) -> None:
    """MQMP-067, MQMP-073, MQMP-074, MQMP-079, MQMP-343, MQMP-356: the shape of public flaws."""
    client = Dependent(world)
    queue, sending = client.opened(), client.opened(access=2)
    part = {"response_size": 4, "response_name": (0,) * 4}
    title = {"title": units("ask"), "title_size": 4}
    buffer = receive_buffer(part, correlation_id=bytes(20), **title, **wanted(8))
    stub = stubs.ReceiveMessage(queue.context, buffer).encode()
    sizes = [at for at in range(28, len(stub), 4) if stub[at : at + 4] in _COUNTS]
    assert len(sizes) == 11, "four sizes beside the arrays, seven counts in them"
    for at in sizes:
        for lie in (0, 3, 5, 1025, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF):
            wrong = stub[:at] + lie.to_bytes(4, "little") + stub[at + 4 :]
            assert client.call(MessageOpnum.RECEIVE, wrong) == RpcStatus.BAD_STUB_DATA, (at, lie)
    for kind in (2, 3, 0xFFFFFFFF):
        wrong = stub[:4] + kind.to_bytes(4, "little") + stub[8:]
        assert client.call(MessageOpnum.RECEIVE, wrong) == RpcStatus.BAD_STUB_DATA
    sent = stubs.SendMessage(sending.handle, send_buffer(correlation_id=bytes(20)), None).encode()
    short = sent.replace((20).to_bytes(4, "little"), (19).to_bytes(4, "little"))
    assert client.call(MessageOpnum.SEND, short) == RpcStatus.BAD_STUB_DATA
    assert Dependent(world).open().result == 0
    assert world.bodies() == []


_COUNTS = tuple(number.to_bytes(4, "little") for number in (4, 8, 20))


def test_a_closed_manager_answers_no_one(world: SupportingWorld, client: Dependent) -> None:
    """Reads by programs here and by clients go on side by side."""
    queue = client.opened()
    waiting = client.receive_later(queue.context, timeout=FOR_EVER)
    handle = world.driver.call(lambda: world.manager.open_queue("orders", Mode()))
    world.send("one")
    assert body_of(client.answer(waiting, stubs.ReceivedBuffer)) == "one"
    world.send("two")
    found = world.driver.call(lambda: handle.receive(1, wait=False))
    assert len(found.result()) == 1
    assert client.receive(queue.context).result == TIMEOUT
