"""Queues that dependent clients have open."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.strategies.dependent import (
    PEEK,
    PEEK_NEXT,
    Dependent,
    SupportingWorld,
    body_of,
    text_of,
)
from tests.strategies.remote_reader import ORDERS

from openmsmq.engine.commit.future import Future
from openmsmq.errors import NoDs
from openmsmq.interfaces.limits import CURSORS_MAX
from openmsmq.interfaces.qm2qm.stubs import HandleArgument
from openmsmq.interfaces.queue_format import DistributionListId, QueueFormatArgument
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.stubs import Opnum
from openmsmq.names.format import parse_format_name
from openmsmq.names.path import parse_path_name
from openmsmq.rpc.ndr.structure import NULL_HANDLE
from openmsmq.rpc.status import RpcStatus
from openmsmq.types.caller import Caller, Grant

INVALID_PARAMETER, INVALID_HANDLE, NOT_FOUND = 0xC00E0006, 0xC00E0007, 0xC00E0003
UNSUPPORTED, BAD_ACCESS, DENIED, SHARING = 0xC00E0020, 0xC00E0045, 0xC00E0025, 0xC00E0009
ILLEGAL_NAME, CANCELLED, TOO_SMALL, TIMEOUT = 0xC00E001E, 0xC00E0008, 0xC00E001F, 0xC00E001B
ELSEWHERE = "DIRECT=OS:agent-7\\private$\\answers"
NONE = "DIRECT=OS:HOST\\private$\\none"


@pytest.fixture
def world() -> SupportingWorld:
    return SupportingWorld()


@pytest.fixture
def client(world: SupportingWorld) -> Dependent:
    return Dependent(world)


@pytest.mark.parametrize(
    ("name", "access", "share", "result"),
    [
        (NONE, 3, 0, BAD_ACCESS),
        (ORDERS, 0, 0, BAD_ACCESS),
        (ORDERS, 0x80, 0, BAD_ACCESS),
        (NONE, 1, 2, INVALID_PARAMETER),
        (NONE, 2, 1, INVALID_PARAMETER),
        (QueueFormatArgument(0, 0, 0, None), 1, 0, ILLEGAL_NAME),
        (QueueFormatArgument(3, 0, 0, "nonsense"), 1, 0, ILLEGAL_NAME),
        (QueueFormatArgument(2, 0, 0, None), 1, 0, RpcStatus.BAD_STUB_DATA),
        ("DIRECT=http://HOST/msmq/private$/orders", 1, 0, UNSUPPORTED),
        ("DIRECT=http://HOST/msmq/private$/orders", 0x20, 0, UNSUPPORTED),
        ("MULTICAST=234.1.1.1:8001", 1, 0, UNSUPPORTED),
        (f"{ORDERS};sub", 2, 0, UNSUPPORTED),
        (f"{ORDERS};JOURNAL", 2, 0, UNSUPPORTED),
        ("DIRECT=OS:HOST\\system$;DEADLETTER", 2, 0, UNSUPPORTED),
        (f"CONNECTOR={UUID(int=5)}", 2, 0, UNSUPPORTED),
        (NONE, 1, 0, NOT_FOUND),
        (NONE, 2, 0, NOT_FOUND),
        (NONE, 0x20, 1, NOT_FOUND),
        (ELSEWHERE, 0x81, 0, NOT_FOUND),
        (ELSEWHERE, 0xA0, 0, NOT_FOUND),
        (f"PRIVATE={UUID(int=5)}\\00000007", 1, 0, ILLEGAL_NAME),
        (f"PUBLIC={UUID(int=5)}", 1, 0, UNSUPPORTED),
    ],
)
def test_what_cannot_be_opened_is_refused(
    client: Dependent, name: Any, access: int, share: int, result: int
) -> None:
    """MQMP-232 to MQMP-239, MQMP-244 to MQMP-246, MQMP-258 to MQMP-260, MQMP-515, MQMP-516: how it
    is to be opened is looked at before the queue; outgoing ones are not read from here.
    """
    if name == QueueFormatArgument(2, 0, 0, None):
        stub = bytes([2, 0, 0, 0, 3]) + bytes(200)
        assert client.call(Opnum.OPEN_QUEUE, stub) == result
        return
    found = client.open(name, access, share)
    assert (found.result, found.handle, found.context) == (result, NULL_HANDLE, 0)
    assert (len(client.world.supporting.queues), len(client.world.supporting.clients)) == (0, 0)


def test_distribution_lists_are_refused(client: Dependent) -> None:
    """MQMP-232: there is no directory to look them up in."""
    name = QueueFormatArgument(6, 0, 0, DistributionListId(UUID(int=5), None))
    assert client.open(name, 2).result & 0x80000000


@pytest.mark.parametrize("remote", [(0, 5, 0), (0, 0, 5)])
def test_numbers_of_a_queue_elsewhere_need_one(
    client: Dependent, remote: tuple[int, int, int]
) -> None:
    """MQMP-250"""
    assert client.open(ORDERS, remote=remote).result == INVALID_PARAMETER


def test_a_queue_here_is_opened_under_a_handle_and_a_number(client: Dependent) -> None:
    """MQMP-052, MQMP-249, MQMP-251, MQMP-253, MQMP-256, MQMP-269: what comes as a name is ignored,
    who calls itself how is, too.
    """
    first = client.open(place=stubs.NamePlace("nonsense"))
    second = client.open(place=stubs.NamePlace(None))
    assert (first.result, second.result) == (0, 0)
    assert first.remote_name == second.remote_name == stubs.NamePlace(None)
    assert first.handle != second.handle
    assert 0 != first.context != second.context != 0


def test_a_place_for_a_name_that_is_missing_is_missing_again(client: Dependent) -> None:
    """MQMP-082"""
    found = client.open(place=None)
    assert (found.result, found.remote_name) == (0, None)
    assert client.open(ELSEWHERE, place=None).remote_name.name == "agent-7\\private$\\answers"


def test_who_wants_to_read_elsewhere_learns_where(client: Dependent) -> None:
    """MQMP-257: only a direct name says it."""
    for access in (1, 0x20):
        found = client.open(ELSEWHERE, access)
        assert found.remote_name == stubs.NamePlace("agent-7\\private$\\answers")
        assert (found.result, found.handle, found.context) == (0, NULL_HANDLE, 0)
    found = client.open("DIRECT=TCP:192.0.2.7\\private$\\a")
    assert found.remote_name.name == "192.0.2.7\\private$\\a"


def test_who_sends_elsewhere_sends_from_here(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-240, MQMP-401"""
    found = client.opened(ELSEWHERE, access=2)
    assert found.remote_name == stubs.NamePlace(None)
    assert client.send(found.handle).result == 0
    outgoing = world.manager.queues.find_outgoing(parse_format_name(ELSEWHERE))
    assert outgoing is not None
    assert outgoing.messages + len(outgoing.express) == 1


def test_access_is_what_was_asked_for(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-241 to MQMP-243, MQMP-299, MQMP-318, MQMP-456, MQMP-457"""
    world.send("one", "two")
    receive, send, peek = (client.opened(access=access) for access in (1, 2, 0x20))
    assert body_of(client.receive(receive.context, PEEK)) == "one"
    assert body_of(client.receive(receive.context)) == "one"
    assert client.send(receive.handle).result == DENIED
    assert client.receive(send.context).result == DENIED
    assert client.receive(send.context, PEEK).result == DENIED
    assert body_of(client.receive(peek.context, PEEK)) == "two"
    assert client.receive(peek.context).result == DENIED
    assert client.send(peek.handle).result == DENIED
    for handle in (send.handle, peek.handle):
        assert client.result(Opnum.PURGE_QUEUE, HandleArgument(handle)) == DENIED
    assert world.bodies() == ["two"]
    assert client.result(Opnum.PURGE_QUEUE, HandleArgument(receive.handle)) == 0
    assert world.bodies() == []


def test_a_queue_can_be_open_to_one_alone(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-247, MQMP-248, SS-12"""
    plain = client.opened()
    assert client.open(share=1).result == SHARING
    client.close(plain.handle)
    alone = client.open(share=1)
    assert alone.result == 0
    assert Dependent(world).open().result == SHARING
    assert Dependent(world).open(access=2).result == 0, "who sends is not kept out"
    assert client.close(alone.handle).result == 0
    assert Dependent(world).open().result == 0


def test_rights_are_looked_at_before_queues() -> None:
    """MQMP-040, MQMP-049: what someone has no right to see is not known to be missing."""
    bob = Dependent(SupportingWorld(Caller("bob", Grant("send"))))
    for name in (ORDERS, NONE, ELSEWHERE):
        assert bob.open(name).result == DENIED
    assert bob.open(access=2).result == 0
    eve = Dependent(SupportingWorld(Caller("eve", Grant("peek", ("private$\\orders",)))))
    assert eve.open(access=0x20).result == 0
    assert eve.open(access=1).result == eve.open(access=2).result == DENIED
    assert eve.open(NONE, 0x20).result == DENIED


def test_a_closed_queue_is_gone_with_its_number(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-270, MQMP-271, MQMP-277, MQMP-278, MQMP-454"""
    queue = client.opened()
    waiting = client.receive_later(queue.context, timeout=5000)
    closed = client.close(queue.handle)
    assert (closed.result, closed.handle) == (0, NULL_HANDLE)
    assert client.answer(waiting, stubs.ReceivedBuffer).result == CANCELLED
    assert client.receive(queue.context).result == INVALID_HANDLE
    assert not world.manager.find_queue("orders").modes
    assert world.supporting.messages.next_deadline is None


def test_cursors_are_closed_by_their_number(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-141, MQMP-279 to MQMP-282, MQMP-479, MQMP-480, MQMP-485, MQMP-488"""
    world.send("one", "two")
    queue, other = client.opened(), client.opened()
    made = client.cursor(queue.handle)
    assert (made.result, made.server_queue, made.client_queue) == (0, 0, 0)
    assert client.receive(queue.context, PEEK_NEXT, cursor=made.cursor).result == 0xC00E001C
    assert body_of(client.receive(queue.context, PEEK, cursor=made.cursor)) == "one"
    close = Opnum.CLOSE_CURSOR
    assert client.result(close, stubs.HandleCursor(queue.handle, 0x0B)) == 0
    assert body_of(client.receive(queue.context, PEEK_NEXT, cursor=made.cursor)) == "two"
    for handle, number in ((other.handle, made.cursor), (queue.handle, made.cursor + 1)):
        assert client.result(close, stubs.HandleCursor(handle, number)) == INVALID_HANDLE
    assert client.result(close, stubs.HandleCursor(queue.handle, 0)) == INVALID_HANDLE
    assert client.result(close, stubs.HandleCursor(queue.handle, made.cursor)) == 0
    assert client.result(close, stubs.HandleCursor(queue.handle, made.cursor)) == INVALID_HANDLE
    numbers = {client.cursor(queue.handle).cursor for _ in range(20)}
    assert not numbers & {0, 0x0B}


def test_cursors_are_bounded(world: SupportingWorld, client: Dependent) -> None:
    queue = client.opened()
    [found] = world.supporting.queues._open.values()
    found.cursors.update(dict.fromkeys(range(10**6, 10**6 + CURSORS_MAX)))  # type: ignore[arg-type]
    assert client.cursor(queue.handle).result == 0xC00E0027


def test_the_name_of_a_handle_is_the_one_that_was_given(client: Dependent) -> None:
    """MQMP-288 to MQMP-293"""
    name = "DIRECT=OS:host\\PRIVATE$\\orders"
    queue = client.opened(name)

    def ask(size: int, given: int | None = None, *, null: bool = False) -> Any:
        room = None if null else (7,) * size
        asked = stubs.NameOfHandle(queue.handle, size, room, size if given is None else given)
        return client.call(Opnum.HANDLE_TO_FORMAT_NAME, asked, stubs.NameResult)

    full = len(name) + 1
    found = ask(40)
    assert (text_of(found.name), found.needed, found.result) == (name, full, 0)
    assert len(found.name) == 40
    assert ask(full).result == 0
    cut = ask(10)
    assert (text_of(cut.name), cut.needed, cut.result) == (name[:9], full, TOO_SMALL)
    assert len(cut.name) == 10
    nothing = ask(0, null=True)
    assert (nothing.name, nothing.needed, nothing.result) == (None, full, TOO_SMALL)
    assert ask(40, 39).result == INVALID_PARAMETER
    assert ask(40, null=True).result == INVALID_PARAMETER


def test_a_queue_is_purged(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-296"""
    world.send("one", "two")
    queue = client.opened()
    assert client.result(Opnum.PURGE_QUEUE, HandleArgument(queue.handle)) == 0
    assert world.bodies() == []
    assert client.receive(queue.context).result == TIMEOUT


def test_over_long_names_get_a_fault_and_the_next_client_is_served(world: SupportingWorld) -> None:
    """The shape of public flaws of qmcomm: a name longer than any queue has."""
    for size in (1100, 60_000):
        long = QueueFormatArgument(3, 0, 0, "OS:" + "a" * size + "\\private$\\b")
        assert Dependent(world).open(long) == RpcStatus.BAD_STUB_DATA
    assert Dependent(world).open().result == 0


# Public queues of other computers

PUBLIC = f"PUBLIC={UUID(int=5)}"
ANSWERS = "agent-7\\answers"


class Directory:
    """Knows one public queue, and says so later."""

    def __init__(self, world: SupportingWorld) -> None:
        self.asked: list[str] = []
        self.pending: Future[None] = Future()
        self._view = world.manager.directory
        self._view.is_used, self._view.is_offline = True, False
        world.supporting.queues.directory = self

    def needs_lookup(self, name: str) -> bool:
        return name == PUBLIC and not self._view.names

    def look_up(self, name: str) -> Future[None]:
        self.asked.append(name)
        return self.pending

    def answer(self) -> None:
        self._view.names[UUID(int=5)] = parse_path_name(ANSWERS)
        self._view.owners[UUID(int=5)] = UUID(int=7)
        self.pending.succeed(None)


def asked_for(client: Dependent, name: str, access: int = 1) -> list[Any]:
    """rpc_QMOpenQueueInternal, which may wait for the directory."""
    queue, place = QueueFormatArgument.of(parse_format_name(name)), stubs.NamePlace(None)
    opening = stubs.OpenInternal(queue, access, 0, 0, place, 0, NULL_HANDLE, "C", 0, 0)
    return client.later(Opnum.OPEN_QUEUE, opening)


def test_the_directory_says_where_a_public_queue_is(
    world: SupportingWorld, client: Dependent
) -> None:
    """MQMP-513, MQMP-514: it is asked once, and the client gets the path."""
    directory = Directory(world)
    answers = asked_for(client, PUBLIC)
    assert (answers, directory.asked) == ([], [PUBLIC])
    directory.answer()
    found = client.answer(answers, stubs.OpenedQueue)
    assert (found.result, found.remote_name, found.handle) == (
        0,
        stubs.NamePlace(ANSWERS),
        NULL_HANDLE,
    )
    [again] = asked_for(client, PUBLIC)
    assert stubs.OpenedQueue.decode(again).remote_name == stubs.NamePlace(ANSWERS)
    [sending] = asked_for(client, PUBLIC, access=2)
    assert stubs.OpenedQueue.decode(sending).result == 0
    assert client.opened().result == 0, "a queue here"
    assert directory.asked == [PUBLIC]


def test_a_failure_of_the_directory_is_the_answer(
    world: SupportingWorld, client: Dependent
) -> None:
    """MQMP-514: nothing was opened."""
    directory = Directory(world)
    answers = asked_for(client, PUBLIC)
    directory.pending.fail(NoDs("no domain controller answers"))
    assert client.answer(answers, stubs.OpenedQueue).result == 0xC00E0013
    assert not len(world.supporting.queues)


def test_the_directory_is_asked_for_those_alone_who_may_open() -> None:
    """Access before names."""
    caller = Caller("eve", Grant("send"))
    world = SupportingWorld(caller)
    directory = Directory(world)
    [answer] = asked_for(Dependent(world), PUBLIC)
    assert stubs.OpenedQueue.decode(answer).result == DENIED
    assert directory.asked == []


@pytest.mark.parametrize("access", [1, 2])
def test_nothing_is_opened_for_a_client_that_is_gone(
    world: SupportingWorld, client: Dependent, access: int
) -> None:
    directory = Directory(world)
    answers = asked_for(client, PUBLIC, access)
    client.lose()
    directory.answer()
    assert answers == []
    assert not len(world.supporting.queues) + len(world.supporting.clients)
