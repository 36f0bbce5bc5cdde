"""Queues of other computers, read for dependent clients; that computer is played by the test."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.strategies.dependent import (
    FOR_EVER,
    PEEK,
    PEEK_NEXT,
    UNIT,
    Dependent,
    SupportingWorld,
    body_of,
    text_of,
    wanted,
)

from openmsmq.engine.commit.future import Future
from openmsmq.errors import MQError
from openmsmq.interfaces.limits import CURSORS_MAX, REQUESTS_MAX
from openmsmq.interfaces.qm2qm.stubs import HandleArgument
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.supporting_server import messages, stubs
from openmsmq.interfaces.supporting_server.queue_proxies import (
    QueueElsewhere,
    QueueProxy,
    RemoteMessage,
    RemoteNumbers,
)
from openmsmq.interfaces.supporting_server.stubs import MessageOpnum, Opnum
from openmsmq.names.path import PathName
from openmsmq.packet.builder import PacketBuilder
from openmsmq.rpc.ndr.structure import NULL_HANDLE
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import Caller, Grant

ELSEWHERE = "DIRECT=OS:agent-7\\private$\\answers"
NUMBERS = (0x3B9C41, 0x3B9C42, 0x3B9C43)
INVALID_HANDLE, CANCELLED, USAGE, ACCESS = 0xC00E0007, 0xC00E0008, 0xC00E0050, 0xC00E0025
RESOURCES, GONE, TIMEOUT, MODE = 0xC00E0027, 0xC00E0069, 0xC00E001B, 0xC00E0045


class OtherQueue:
    """A queue of another computer: what it is asked is kept, and the test answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.reads: list[Future[RemoteMessage]] = []
        self.ends: list[Future[None]] = []
        self.cursor: Future[int] = Future()
        self.done: Future[Any] = Future()
        self.closed = 0

    def read(self, action: ReadAction, timeout_ms: int, cursor: int) -> Future[RemoteMessage]:
        self.asked.append((int(action), timeout_ms, cursor))
        self.reads.append(Future())
        return self.reads[-1]

    def end(self, request: int, *, remove: bool) -> Future[None]:
        self.asked.append(("end", request, remove))
        self.ends.append(Future())
        return self.ends[-1]

    def cancel(self, read: Future[RemoteMessage], error: MQError) -> bool:
        self.asked.append(("cancel",))
        read.fail(error)
        return True

    def open_cursor(self) -> Future[int]:
        self.cursor = Future()
        return self.cursor

    def close_cursor(self, cursor: int) -> Future[None]:
        self.asked.append(("close cursor", cursor))
        self.done = Future()
        return self.done

    def purge(self) -> Future[int]:
        self.asked.append(("purge",))
        self.done = Future()
        return self.done

    def close(self) -> None:
        self.closed += 1


class OtherComputer:
    """Opens the queue when the test says so."""

    def __init__(self) -> None:
        self.queue = OtherQueue()
        self.opening: Future[QueueElsewhere] = Future()
        self.asked: list[tuple[PathName, Access, RemoteNumbers]] = []

    def open(self, path: PathName, mode: Mode, numbers: RemoteNumbers) -> Future[QueueElsewhere]:
        self.asked.append((path, mode.access, numbers))
        self.opening = Future()
        return self.opening


@pytest.fixture
def other() -> OtherComputer:
    return OtherComputer()


@pytest.fixture
def world(other: OtherComputer) -> SupportingWorld:
    return SupportingWorld(elsewhere=other)


@pytest.fixture
def client(world: SupportingWorld) -> Dependent:
    return Dependent(world)


def open_later(
    client: Dependent, access: int = 1, name: str = ELSEWHERE
) -> list[bytes | Exception]:
    """rpc_QMOpenQueueInternal with the numbers of a queue elsewhere."""
    from openmsmq.interfaces.queue_format import QueueFormatArgument
    from openmsmq.names.format import parse_format_name

    asked = QueueFormatArgument.of(parse_format_name(name))
    queue, pointer, context = NUMBERS
    place, licence = stubs.NamePlace("nonsense"), UUID(int=3)
    arguments = stubs.OpenInternal(
        asked, access, 0, queue, place, pointer, licence, "CLIENT", 0, context
    )
    return client.later(Opnum.OPEN_QUEUE, arguments)


def taken(client: Dependent, other: OtherComputer, access: int = 1) -> Any:
    """A queue elsewhere that is open."""
    answers = open_later(client, access)
    other.opening.succeed(other.queue)
    found = client.answer(answers, stubs.OpenedQueue)
    assert found.result == 0, hex(found.result)
    return found


def message(text: str, request: int = 7, *, lives: int = 0xFFFFFFFF) -> RemoteMessage:
    """A message of that computer."""
    builder = PacketBuilder(UUID(int=9), None)
    packet = builder.build(text.encode(), "label", time_to_be_received=lives, message_id=5)
    return RemoteMessage(request, packet, 1_700_000_000)


# Opening and closing


def test_a_queue_that_was_opened_elsewhere_is_taken_over(
    world: SupportingWorld, client: Dependent, other: OtherComputer
) -> None:
    """MQMP-262, MQMP-265, MQMP-268: under a handle and a number of its own, once that computer has
    taken the three numbers.
    """
    here = client.opened()
    answers = open_later(client)
    assert answers == []
    [(path, access, numbers)] = other.asked
    assert (str(path), access, numbers) == ("agent-7\\private$\\answers", Access.RECEIVE, NUMBERS)
    other.opening.succeed(other.queue)
    found = client.answer(answers, stubs.OpenedQueue)
    assert (found.result, found.remote_name) == (0, stubs.NamePlace(None))
    assert found.handle not in (NULL_HANDLE, here.handle)
    assert found.context not in (0, here.context, *NUMBERS)
    assert len(world.supporting.queues) == 2
    size = len(ELSEWHERE) + 1
    asked = stubs.NameOfHandle(found.handle, size, (0,) * size, size)
    named = client.call(Opnum.HANDLE_TO_FORMAT_NAME, asked, stubs.NameResult)
    assert text_of(named.name) == ELSEWHERE


@pytest.mark.parametrize("result", [0xC00E0006, GONE])
def test_a_queue_that_is_not_handed_over_leaves_nothing(
    world: SupportingWorld, client: Dependent, other: OtherComputer, result: int
) -> None:
    """MQMP-263, MQMP-264: refused there, or that computer is gone."""
    answers = open_later(client)
    other.opening.fail(MQError.from_hresult(result))
    found = client.answer(answers, stubs.OpenedQueue)
    assert (found.result, found.handle, found.context) == (result, NULL_HANDLE, 0)
    assert (len(world.supporting.queues), len(world.supporting.clients)) == (0, 0)


@pytest.mark.parametrize(
    ("name", "access", "result"),
    [
        (f"PRIVATE={UUID(int=5)}\\00000007", 1, 0xC00E001E),
        (f"PUBLIC={UUID(int=5)}", 1, 0xC00E0020),
        (ELSEWHERE, 2, MODE),
        (ELSEWHERE, 0x81, MODE),
    ],
)
def test_a_queue_whose_computer_is_not_known_is_not_opened(
    world: SupportingWorld,
    client: Dependent,
    other: OtherComputer,
    name: str,
    access: int,
    result: int,
) -> None:
    """MQMP-261: nor one that is to be sent to."""
    found = client.answer(open_later(client, access, name), stubs.OpenedQueue)
    assert (found.result, found.handle, found.context) == (result, NULL_HANDLE, 0)
    assert other.asked == []
    assert (len(world.supporting.queues), len(world.supporting.clients)) == (0, 0)


def test_without_a_login_for_that_computer_nothing_is_opened() -> None:
    client = Dependent(SupportingWorld())
    assert client.answer(open_later(client), stubs.OpenedQueue).result == GONE
    assert len(client.world.supporting.clients) == 0


def test_the_role_of_the_user_counts_for_queues_elsewhere(other: OtherComputer) -> None:
    caller = Caller("eve", Grant("read", ("private$\\orders",)))
    client = Dependent(SupportingWorld(caller, elsewhere=other))
    assert client.answer(open_later(client), stubs.OpenedQueue).result == ACCESS
    assert other.asked == []


def test_who_is_gone_while_it_is_opened_leaves_nothing(
    world: SupportingWorld, client: Dependent, other: OtherComputer
) -> None:
    open_later(client)
    client.lose()
    other.opening.succeed(other.queue)
    assert other.queue.closed == 1
    assert (len(world.supporting.queues), len(world.supporting.clients)) == (0, 0)


def test_a_queue_elsewhere_is_closed_without_waiting_for_it(
    world: SupportingWorld, client: Dependent, other: OtherComputer
) -> None:
    """MQMP-273, MQMP-274, MQMP-275, MQMP-276: what becomes of it there is not reported."""
    found = taken(client, other)
    waiting = client.receive_later(found.context, timeout=FOR_EVER)
    closed = client.close(found.handle)
    assert (closed.result, closed.handle) == (0, NULL_HANDLE)
    assert other.queue.closed == 1
    assert client.answer(waiting, stubs.ReceivedBuffer).result == CANCELLED
    assert client.receive(found.context).result == INVALID_HANDLE
    assert (len(world.supporting.queues), len(world.supporting.clients)) == (0, 0)


def test_a_client_that_goes_has_its_queues_elsewhere_closed(
    world: SupportingWorld, client: Dependent, other: OtherComputer
) -> None:
    """MQMP-490"""
    found = taken(client, other)
    client.receive_later(found.context, timeout=FOR_EVER)
    client.lose()
    assert other.queue.closed == 1
    assert ("cancel",) in other.queue.asked
    assert (len(world.supporting.queues), len(world.supporting.clients)) == (0, 0)


# Messages


def test_nothing_is_sent_to_a_queue_that_is_read(client: Dependent, other: OtherComputer) -> None:
    """MQMP-319"""
    assert client.send(taken(client, other).handle).result == INVALID_HANDLE


def test_a_message_is_received_and_ended_there(client: Dependent, other: OtherComputer) -> None:
    """MQMP-469, MQMP-474, MQMP-476: the client has it when that computer has removed it."""
    found, queue = taken(client, other), other.queue
    answers = client.receive_later(found.context, timeout=5000)
    assert queue.asked == [(0, 5000, 0)]
    queue.reads[0].succeed(message("yes"))
    assert answers == []
    assert queue.asked[1:] == [("end", 7, True)]
    queue.ends[0].succeed(None)
    assert body_of(client.answer(answers, stubs.ReceivedBuffer)) == "yes"
    again = client.receive_later(found.context)
    queue.reads[1].succeed(message("lost", 8))
    queue.ends[1].fail(MQError.from_hresult(0xC00E0051))
    assert client.answer(again, stubs.ReceivedBuffer).result == 0xC00E0051


def test_a_peek_is_not_ended(client: Dependent, other: OtherComputer) -> None:
    """MQMP-477: and has the lifetime that is left."""
    found, queue = taken(client, other, access=0x20), other.queue
    answers = client.receive_later(found.context, PEEK, time_left_to_live=0, arrived=0)
    queue.reads[0].succeed(message("yes", lives=60))
    answer = client.answer(answers, stubs.ReceivedBuffer)
    assert (body_of(answer), answer.buffer.time_left_to_live) == ("yes", 0)
    assert answer.buffer.arrived == 1_700_000_000
    assert queue.asked == [(PEEK, 0, 0)]
    assert client.receive(found.context).result == ACCESS, "it is open for peeking"


def test_a_message_that_has_no_room_is_returned_there(
    client: Dependent, other: OtherComputer
) -> None:
    """MQMP-475"""
    found, queue = taken(client, other), other.queue
    answers = client.receive_later(found.context, **wanted(2))
    queue.reads[0].succeed(message("too long"))
    answer = client.answer(answers, stubs.ReceivedBuffer)
    assert (answer.result, answer.buffer.body_needed) == (0xC00E001A, 8)
    assert queue.asked[-1] == ("end", 7, False)


def test_what_a_read_ends_with_is_passed_on(
    world: SupportingWorld, client: Dependent, other: OtherComputer
) -> None:
    """MQMP-473"""
    found, queue = taken(client, other), other.queue
    for result in (TIMEOUT, GONE, 0xC000000D):
        answers = client.receive_later(found.context, timeout=10)
        queue.reads[-1].fail(MQError.from_hresult(result))
        assert client.answer(answers, stubs.ReceivedBuffer).result == result
    assert world.supporting.messages._waiting_room == 0


def test_a_queue_elsewhere_is_not_read_in_a_transaction(
    client: Dependent, other: OtherComputer
) -> None:
    """MQMP-468: nothing is asked of that computer."""
    found = taken(client, other)
    client.begin()
    assert client.receive(found.context, unit=UNIT).result == USAGE
    assert other.queue.asked == []


def test_a_client_that_goes_meanwhile_takes_nothing(
    client: Dependent, other: OtherComputer
) -> None:
    found, queue = taken(client, other), other.queue
    client.receive_later(found.context)
    queue.cancel = lambda read, error: False  # type: ignore[method-assign] # it came too late
    client.lose()
    queue.reads[0].succeed(message("yes"))
    assert queue.asked[-1] == ("end", 7, False)


def test_reads_elsewhere_are_bounded(
    world: SupportingWorld,
    client: Dependent,
    other: OtherComputer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = taken(client, other)
    [proxy] = world.supporting.queues._open.values()
    assert isinstance(proxy, QueueProxy)
    proxy.waiting.update({Future(): 0.0 for _ in range(REQUESTS_MAX)})
    assert client.receive(found.context).result == RESOURCES
    proxy.waiting.clear()
    monkeypatch.setattr(messages, "WAITING_ROOM_MAX", 10)
    assert client.receive(found.context, timeout=5).result == RESOURCES
    assert (other.queue.asked, world.supporting.messages._waiting_room) == ([], 0)


# Cursors and the queue itself


def cursor_of(client: Dependent, other: OtherComputer, handle: UUID, number: int) -> int:
    """A cursor that is called so there."""
    asked = stubs.CreateCursor(handle, 7, 8, 9)
    answers = client.later(MessageOpnum.CREATE_CURSOR, asked)
    assert answers == []
    other.queue.cursor.succeed(number)
    made = client.answer(answers, stubs.CursorNumbers)
    assert made.result == 0
    return int(made.cursor)


def test_a_cursor_has_two_names(client: Dependent, other: OtherComputer) -> None:
    """MQMP-470, MQMP-481, MQMP-483: reads name the one that the other computer gave."""
    found, queue = taken(client, other), other.queue
    own = cursor_of(client, other, found.handle, 0x77)
    assert own not in (0, 0x0B, 0x77)
    client.receive_later(found.context, PEEK_NEXT, cursor=own)
    assert queue.asked == [(PEEK_NEXT, 0, 0x77)]
    assert client.receive(found.context, PEEK, cursor=own + 1).result == INVALID_HANDLE
    assert len(queue.asked) == 1


def test_a_cursor_that_is_not_made_there_is_none(client: Dependent, other: OtherComputer) -> None:
    """MQMP-482"""
    found = taken(client, other)
    answers = client.later(MessageOpnum.CREATE_CURSOR, stubs.CreateCursor(found.handle, 0, 0, 0))
    other.queue.cursor.fail(MQError.from_hresult(GONE))
    assert client.answer(answers, stubs.CursorNumbers) == stubs.CursorNumbers(0, 0, 0, GONE)


def test_a_cursor_is_closed_there(client: Dependent, other: OtherComputer) -> None:
    """MQMP-284, MQMP-285: and is gone here, whatever came of it."""
    found, queue = taken(client, other), other.queue
    own = cursor_of(client, other, found.handle, 0x77)
    answers = client.later(Opnum.CLOSE_CURSOR, stubs.HandleCursor(found.handle, own))
    assert (answers, queue.asked) == ([], [("close cursor", 0x77)])
    queue.done.fail(MQError.from_hresult(INVALID_HANDLE))
    assert client.answer(answers, stubs.Status).result == INVALID_HANDLE
    queue.asked.clear()
    for number in (own, 0):
        asked = stubs.HandleCursor(found.handle, number)
        assert client.result(Opnum.CLOSE_CURSOR, asked) == INVALID_HANDLE
    assert queue.asked == []


def test_cursors_elsewhere_are_bounded(
    world: SupportingWorld, client: Dependent, other: OtherComputer
) -> None:
    found = taken(client, other)
    [proxy] = world.supporting.queues._open.values()
    assert isinstance(proxy, QueueProxy)
    proxy.cursors.update(dict.fromkeys(range(CURSORS_MAX), 1))
    assert client.cursor(found.handle).result == RESOURCES


@pytest.mark.parametrize("result", [0, INVALID_HANDLE])
def test_a_queue_elsewhere_is_purged_there(
    client: Dependent, other: OtherComputer, result: int
) -> None:
    """MQMP-297"""
    found, queue = taken(client, other), other.queue
    answers = client.later(Opnum.PURGE_QUEUE, HandleArgument(found.handle))
    assert (answers, queue.asked) == ([], [("purge",)])
    if result:
        queue.done.fail(MQError.from_hresult(result))
    else:
        queue.done.succeed(0)
    assert client.answer(answers, stubs.Status).result == result
