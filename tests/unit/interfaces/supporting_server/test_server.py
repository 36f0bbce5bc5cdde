"""The supporting server as a whole: its switch, who may call, whose handles are whose."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.strategies.dependent import (
    NO_ID,
    UNIT,
    Dependent,
    SupportingWorld,
    body_of,
)
from tests.strategies.remote_reader import ORDERS
from tests.strategies.rpc import Pair

from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.manager import QueueManager
from openmsmq.interfaces.qm2qm.stubs import QM2QM, QMCOMM, HandleArgument, OneNumber
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.stubs import QMCOMM2, MessageOpnum, Opnum
from openmsmq.rpc.ndr.structure import NULL_HANDLE
from openmsmq.rpc.status import RpcFault, RpcStatus

CANT_SERVE, ILLEGAL_OPERATION, LICENCES = 0xC00E0066, 0xC00E0064, 0xC00E0067
MISMATCH, NO_SUCH = RpcStatus.CONTEXT_MISMATCH, RpcStatus.OP_RNG_ERROR


@pytest.fixture
def world() -> SupportingWorld:
    return SupportingWorld()


@pytest.fixture
def client(world: SupportingWorld) -> Dependent:
    return Dependent(world)


def test_a_manager_that_is_no_supporting_server_refuses_its_operations() -> None:
    """MQMP-018, MQMP-028 to MQMP-037"""
    client = Dependent(SupportingWorld(clients_max=0))
    for opnum in (*range(6, 13), *range(14, 21), 1, 22, 23, 26, 27, 28):
        assert client.result(opnum, b"") == CANT_SERVE, opnum
    for message_opnum in MessageOpnum:
        assert client.result(message_opnum, b"") == CANT_SERVE
    assert client.call(31, OneNumber(0), OneNumber).number == 2103
    for opnum in (2, 3, 4):
        assert client.result(opnum, b"") == RpcStatus.BAD_STUB_DATA, "it reads the arguments"


def test_reserved_operations_do_not_exist(client: Dependent) -> None:
    """MQMP-026, MQMP-027"""
    for opnum in (0, 5, 13, 21, 24, 25, 29, 30, 32, 33, 34, 35, 100):
        assert client.result(opnum, b"") == NO_SUCH
    pair = client.connect(QMCOMM2)
    pair.call(4, b"")
    pair.run()
    assert statuses(pair.answers) == [NO_SUCH]


def test_every_operation_of_a_supporting_server_is_there(client: Dependent) -> None:
    """MQMP-006, MQMP-007, MQMP-038"""
    assert str(QMCOMM.uuid) == "fdb3a030-065f-11d1-bb9b-00a024ea5525"
    assert str(QMCOMM2.uuid) == "76d12b80-3467-11d3-91ff-0090272f9ea3"
    assert QMCOMM.version == QMCOMM2.version == 1
    for opnum in (*Opnum, *MessageOpnum):
        assert client.result(opnum, b"") == RpcStatus.BAD_STUB_DATA, opnum


def test_old_operations_answer_as_they_should(client: Dependent) -> None:
    """MQMP-093, MQMP-094, MQMP-286, MQMP-287, MQMP-313, MQMP-314: a fault, and two results."""
    asked = stubs.RemoteName(5, stubs.NamePlace(None))
    assert client.call(Opnum.GET_REMOTE_QUEUE_NAME, asked) == ILLEGAL_OPERATION
    opened = client.opened()
    cursor = stubs.CursorProperties(opened.handle, 1, 2)
    assert client.call(Opnum.SET_CURSOR_PROPERTIES, cursor) == stubs.Status(ILLEGAL_OPERATION)
    sending = client.opened(access=2)
    assert client.send(sending.handle).result == 0
    given = stubs.SendMessage.decode(stubs.SendMessage(sending.handle, _buffer(), NO_ID).encode())
    name = stubs.OpenInternal.decode(_opening()).queue_format
    again = stubs.SendInternal(name, given.buffer, NO_ID)
    found = client.call(MessageOpnum.SEND_INTERNAL, again, stubs.SentBuffer)
    assert (found.message_id, found.result) == (NO_ID, ILLEGAL_OPERATION)
    assert client.world.bodies() == ["hello"], "it does nothing"


def _buffer() -> object:
    from openmsmq.interfaces.qm2qm.transfer_buffer import send_buffer

    return send_buffer()


def _opening() -> bytes:
    from openmsmq.interfaces.queue_format import QueueFormatArgument
    from openmsmq.names.format import parse_format_name

    name = QueueFormatArgument.of(parse_format_name(ORDERS))
    place = stubs.NamePlace(None)
    return stubs.OpenInternal(name, 1, 0, 0, place, 0, UUID(int=1), "C", 0, 0).encode()


def test_what_a_manager_says_of_itself(client: Dependent) -> None:
    """MQMP-023, MQMP-302 to MQMP-311: without a directory there is no list of its servers."""
    manager = client.world.manager
    assert (client.registry(0).text, client.registry(0).result) == (None, 0xC00E005F)
    assert (client.registry(1).text, client.registry(1).result) == ("345600", 0)
    assert UUID(client.registry(2).text) == UUID(int=0)
    version = client.registry(3).text
    assert [len(part) for part in version.split(".")] == [1, 1, 4]
    assert client.registry(4).text == str(manager.identity)
    for kind in (5, 0xFFFFFFFF):
        assert client.registry(kind) == stubs.RegistryResult(None, 0xC00E0006)
    client.world.driver.call(lambda: manager.configure(time_to_reach_queue=None))
    assert client.registry(1).text == "4294967295"


def test_the_servers_of_the_directory_are_listed(client: Dependent) -> None:
    """MQMP-300, MQMP-301"""
    client.world.manager.directory.servers = ("DC1", "DC-MUNICH")
    assert client.registry(0) == stubs.RegistryResult("DC1,DC-MUNICH", 0)


def test_handles_are_of_their_kind_and_association(world: SupportingWorld) -> None:
    """MQMP-061 to MQMP-066, MQMP-272, MQMP-283, MQMP-294, MQMP-298, MQMP-317, MQMP-484,
    MQMP-221, MQMP-226
    """
    client, other = Dependent(world), Dependent(world)
    queue, unit = client.opened(), client.begin()
    sending = client.opened(access=2)
    assert client.send(sending.handle).result == 0, "made on qmcomm, used on qmcomm2"
    for caller, handle in (
        (other, queue.handle),
        (client, unit.handle),
        (client, UUID(int=5)),
        (client, NULL_HANDLE),
    ):
        assert caller.close(handle) == MISMATCH
        assert caller.send(handle) == MISMATCH
        assert caller.cursor(handle) == MISMATCH
        assert caller.result(Opnum.PURGE_QUEUE, HandleArgument(handle)) == MISMATCH
        assert caller.result(Opnum.CLOSE_CURSOR, stubs.HandleCursor(handle, 1)) == MISMATCH
        name = stubs.NameOfHandle(handle, 0, None, 0)
        assert caller.call(Opnum.HANDLE_TO_FORMAT_NAME, name) == MISMATCH
    for caller, handle in ((other, unit.handle), (client, queue.handle), (client, UUID(int=9))):
        assert caller.commit(handle) == caller.abort(handle) == MISMATCH
    assert client.close(queue.handle).result == 0
    assert client.close(queue.handle) == MISMATCH, "it is closed"


def test_handles_of_other_interfaces_mean_nothing(world: SupportingWorld) -> None:
    """MQMP-064"""
    client = Dependent(world)
    queue = client.opened()
    pair = client.connect(QM2QM)
    pair.call(3, HandleArgument(queue.handle).encode())
    pair.run()
    assert statuses(pair.answers) == [MISMATCH]
    assert body_of_sent(client) == "hello"


def body_of_sent(client: Dependent) -> str:
    """What a client that is served gets: its own message."""
    sending, receiving = client.opened(access=2), client.opened()
    assert client.send(sending.handle).result == 0
    return body_of(client.receive(receiving.context))


def test_there_are_as_many_clients_as_the_licence_allows() -> None:
    """The clients are counted by their associations, from the first queue to the last."""
    world = SupportingWorld(clients_max=2)
    first, second, third = Dependent(world), Dependent(world), Dependent(world)
    queue, _, unit = first.opened(), first.opened(), second.begin()
    assert third.open().result == third.begin(b"3" * 16).result == LICENCES
    assert second.abort(unit.handle).result == 0
    assert third.open().result == 0
    assert second.begin().result == LICENCES
    first.close(queue.handle)
    assert second.begin().result == LICENCES, "one queue is open still"
    first.lose()
    assert second.begin().result == 0
    assert len(world.supporting.clients) == 2


def test_a_client_that_goes_leaves_nothing_behind(world: SupportingWorld) -> None:
    """MQMP-489, MQMP-492, MQMP-493, MQMP-495"""
    world.create("quotes", transactional=True)
    world.send_in_transaction("risk?", queue="quotes")
    client = Dependent(world)
    unit = client.begin()
    name = "DIRECT=OS:HOST\\private$\\quotes"
    quotes, orders = client.opened(name), client.open(share=1)
    assert (unit.result, orders.result) == (0, 0)
    assert body_of(client.receive(quotes.context, unit=UNIT)) == "risk?"
    waiting = client.receive_later(orders.context, timeout=0xFFFFFFFF)
    assert Dependent(world).open().result == 0xC00E0009, "it is open to one alone"
    client.lose()
    assert waiting == []
    assert (len(world.supporting.queues), len(world.supporting.units)) == (0, 0)
    assert not len(world.supporting.clients)
    assert world.bodies("quotes") == ["risk?"]
    world.send("not for the one that went")
    assert world.bodies() == ["not for the one that went"]
    assert Dependent(world).open(share=1).result == 0


def test_transactions_are_run_down_before_queues(
    world: SupportingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQMP-494: whichever was there first."""
    client = Dependent(world)
    client.begin()
    client.opened()
    order: list[str] = []
    for kind, name in ((QueueManager, "abandon"), (QueueHandle, "close")):
        monkeypatch.setattr(kind, name, _noted(order, name, getattr(kind, name)))
    client.lose()
    assert order == ["abandon", "close"]


def _noted(order: list[str], name: str, made: Any) -> Any:
    def noted(*given: Any) -> Any:
        order.append(name)
        return made(*given)

    return noted


def test_calls_without_a_login_are_refused_but_for_the_port(world: SupportingWorld) -> None:
    """MQMP-016, MQMP-017, MQMP-039, MQMP-042: anyone may connect."""
    from openmsmq.interfaces.levels import LevelPolicy

    world.supporting.clients._policy = LevelPolicy()
    pair = Pair(world.rpc, syntax=QMCOMM)
    pair.run()
    for opnum, asked in ((31, OneNumber(0)), (28, OneNumber(4)), (16, stubs.EnlistInternal(UNIT))):
        pair.call(opnum, asked.encode())
    pair.run()
    port, *faults = pair.answers
    assert isinstance(port, bytes)
    assert OneNumber.decode(port).number == 2103
    assert statuses(faults) == [RpcStatus.ACCESS_DENIED] * 2


def statuses(answers: list[bytes | Exception]) -> list[int]:
    """The status of each fault."""
    return [answer.status for answer in answers if isinstance(answer, RpcFault)]
