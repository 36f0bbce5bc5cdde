"""Internal transactions of dependent clients."""

from __future__ import annotations

import pytest
from tests.strategies.dependent import UNIT, Dependent, SupportingWorld, body_of

from openmsmq.engine.commit.future import Future
from openmsmq.errors import MessageStorageFailed
from openmsmq.interfaces.qm2qm.stubs import HandleArgument, HandleResult
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.stubs import Opnum
from openmsmq.rpc.ndr.structure import NULL_HANDLE
from openmsmq.rpc.status import RpcStatus

NO_DTC, SEQUENCE, ENLIST, INVALID_PARAMETER = 0xC00E004C, 0xC00E0051, 0xC00E0058, 0xC00E0006
TIMEOUT, USAGE = 0xC00E001B, 0xC00E0050
QUOTES = "DIRECT=OS:HOST\\private$\\quotes"


@pytest.fixture
def world() -> SupportingWorld:
    found = SupportingWorld()
    found.create("quotes", transactional=True)
    found.send_in_transaction("risk?", queue="quotes")
    return found


@pytest.fixture
def client(world: SupportingWorld) -> Dependent:
    return Dependent(world)


def test_what_needs_a_coordinator_elsewhere_is_refused(client: Dependent) -> None:
    """MQMP-084, MQMP-207, MQMP-210, MQMP-211, MQMP-215: as many bytes as there is room for."""
    for size in (0, 72):
        asked = stubs.GetWhereabouts(size)
        found = client.call(Opnum.GET_WHEREABOUTS, asked, stubs.SizedBytes)
        assert (found.data, found.needed, found.result) == (bytes(size), 0, NO_DTC)
    enlist = stubs.Enlist(UNIT, 4, b"DTC!")
    assert client.result(Opnum.ENLIST, enlist) == NO_DTC
    assert client.receive(client.opened(QUOTES).context, unit=UNIT).result == ENLIST


def test_one_that_is_known_is_enlisted_already(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-212"""
    assert client.begin().result == 0
    enlist = stubs.Enlist(UNIT, 0, b"")
    assert client.result(Opnum.ENLIST, enlist) == 0
    assert Dependent(world).result(Opnum.ENLIST, enlist) == NO_DTC, "another client's is not known"


def test_an_identifier_begins_once(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-216 to MQMP-218"""
    begun = client.begin()
    assert (begun.result, begun.handle != NULL_HANDLE) == (0, True)
    for caller in (client, Dependent(world)):
        again = caller.begin()
        assert (again.result, again.handle) == (SEQUENCE, NULL_HANDLE)
    assert client.begin(bytes(16)).result == INVALID_PARAMETER
    assert client.commit(begun.handle).result == 0
    assert client.begin().result == 0, "it has ended"


def test_a_commit_lets_all_take_effect(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-222, MQMP-223, MQMP-225, MQMP-389, MQMP-390, MQMP-393, MQMP-395, MQMP-453, MQMP-459,
    MQMP-053
    """
    unit, quotes = client.begin(), client.opened(QUOTES)
    sending = client.opened(QUOTES, access=2)
    other = Dependent(world)
    theirs = other.opened(QUOTES)
    for given in (b"x" * 16, UNIT):
        assert other.receive(theirs.context, unit=given).result == ENLIST
        assert other.send(other.opened(QUOTES, access=2).handle, unit=given).result == ENLIST
    assert body_of(client.receive(quotes.context, unit=UNIT)) == "risk?"
    assert other.receive(theirs.context).result == TIMEOUT, "it is held"
    assert client.send(sending.handle, b"none", unit=UNIT).result == 0
    assert world.bodies("quotes") == [], "nothing is sent yet"
    ended = client.commit(unit.handle)
    assert (ended.result, ended.handle) == (0, NULL_HANDLE)
    assert world.bodies("quotes") == ["none"]
    assert client.commit(unit.handle) == RpcStatus.CONTEXT_MISMATCH
    assert len(world.supporting.units) == 0


def test_a_commit_is_answered_when_it_is_on_disk(
    world: SupportingWorld, client: Dependent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQMP-224: one that cannot be written is not, and keeps its handle."""
    unit, quotes = client.begin(), client.opened(QUOTES)
    assert body_of(client.receive(quotes.context, unit=UNIT)) == "risk?"
    pending: Future[None] = Future()
    with monkeypatch.context() as patched:
        patched.setattr(type(world.manager), "commit", lambda *_, **__: pending)
        answers = client.later(Opnum.COMMIT, HandleArgument(unit.handle))
        assert answers == []
        pending.fail(MessageStorageFailed("the disk is full"))
    failed = client.answer(answers, HandleResult)
    assert (failed.result, failed.handle) == (0xC00E002A, unit.handle)
    assert client.commit(unit.handle).result == 0


def test_an_abort_undoes_all(world: SupportingWorld, client: Dependent) -> None:
    """MQMP-227 to MQMP-229"""
    unit, quotes = client.begin(), client.opened(QUOTES)
    sending = client.opened(QUOTES, access=2)
    assert body_of(client.receive(quotes.context, unit=UNIT)) == "risk?"
    assert client.send(sending.handle, b"none", unit=UNIT).result == 0
    ended = client.abort(unit.handle)
    assert (ended.result, ended.handle) == (0, NULL_HANDLE)
    assert world.bodies("quotes") == ["risk?"]
    assert client.receive(quotes.context, unit=UNIT).result == ENLIST


def test_transactions_and_queues_have_to_go_together(client: Dependent) -> None:
    """MQMP-400: both ways, for sends and receives."""
    client.begin()
    plain, transactional = client.opened(access=2), client.opened(QUOTES, access=2)
    assert client.send(plain.handle, unit=UNIT).result == USAGE
    assert client.send(transactional.handle).result == USAGE
    client.world.send("plain")
    assert client.receive(client.opened().context, unit=UNIT).result == USAGE
    assert client.world.bodies() == ["plain"]


def test_a_transaction_that_is_not_used_is_aborted(
    world: SupportingWorld, client: Dependent
) -> None:
    unit, quotes = client.begin(), client.opened(QUOTES)
    assert body_of(client.receive(quotes.context, unit=UNIT)) == "risk?"
    world.pass_time(10)
    assert world.supporting.units.abort_idle(20) == 0
    assert client.receive(quotes.context, unit=UNIT).result == TIMEOUT, "which uses it"
    world.pass_time(15)
    assert world.supporting.units.abort_idle(20) == 0
    world.pass_time(10)
    assert world.supporting.units.abort_idle(20) == 1
    assert world.bodies("quotes") == ["risk?"]
    assert client.commit(unit.handle) == RpcStatus.CONTEXT_MISMATCH
    client.lose()
    assert len(world.supporting.clients) == 0


def test_a_client_that_goes_aborts_its_transactions(
    world: SupportingWorld, client: Dependent
) -> None:
    """MQMP-492: without a queue of its own, too."""
    client.begin()
    client.lose()
    assert (len(world.supporting.units), len(world.supporting.clients)) == (0, 0)
    assert Dependent(world).begin().result == 0
