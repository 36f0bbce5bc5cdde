"""Dependent clients as people see them."""

from __future__ import annotations

import pytest
from tests.strategies.dependent import FOR_EVER, PEEK, Dependent, SupportingWorld, body_of
from tests.unit.interfaces.supporting_server.test_queue_proxies import (
    ELSEWHERE,
    OtherComputer,
    taken,
)

from openmsmq.interfaces.supporting_server import roster
from openmsmq.interfaces.supporting_server.roster import (
    DependentRoster,
    OpenConnection,
    access_word,
)
from openmsmq.interfaces.supporting_server.stubs import ReceivedBuffer
from openmsmq.rpc.association import Association
from openmsmq.types.access import Access
from openmsmq.types.caller import Caller, Grant
from openmsmq.types.peers import DependentInfo, DependentQueueInfo


class Line:
    """A connection of a client."""

    received, sent = 30, 40

    def __init__(self, client: Dependent) -> None:
        self._client = client

    def abort(self) -> None:
        self._client.lose()


def listed(world: SupportingWorld, *lines: Line) -> DependentRoster:
    def connections_of(association: Association) -> list[OpenConnection]:
        return list(lines)

    return DependentRoster(world.supporting, connections_of, world.clock.elapsed)


def test_what_a_client_has_open_and_waits_for_is_listed() -> None:
    world = SupportingWorld(Caller("anna", Grant("read+send", user="anna")))
    everyone = listed(world)
    client = Dependent(world)
    assert everyone.all() == []
    queue, name = client.opened(), "DIRECT=OS:HOST\\private$\\orders"
    client.opened(access=2)
    client.begin()
    world.clock.wait(5)
    waits = client.receive_later(queue.context, timeout=FOR_EVER)
    world.clock.wait(2)
    client.receive_later(queue.context, PEEK, timeout=9000)
    world.clock.wait(3)
    assert everyone.all() == [
        DependentInfo(
            id="d1",
            peer="127.0.0.1",
            who="user:anna",
            age=10,
            connections=0,
            received=0,
            sent=0,
            transactions=1,
            waiting=2,
            open_queues=2,
            queues=(
                DependentQueueInfo(name, "receive", 2, 5),
                DependentQueueInfo(name, "send", 0, None),
            ),
        )
    ]
    world.send("one")
    assert body_of(client.answer(waits, ReceivedBuffer)) == "one"
    assert everyone.all()[0].waiting == 1
    client.lose()
    assert everyone.all() == []


def test_a_client_is_ended_by_its_number_and_its_message_stays() -> None:
    world = SupportingWorld()
    first, second = Dependent(world), Dependent(world)
    first.opened()
    waits = second.opened()
    second.receive_later(waits.context, timeout=FOR_EVER)
    everyone = listed(world, Line(second))
    assert [one.id for one in everyone.all()] == ["d1", "d2"]
    assert (everyone.all()[1].received, everyone.all()[1].sent) == (30, 40)
    assert not everyone.end(3)
    assert everyone.end(2)
    assert [one.id for one in everyone.all()] == ["d1"]
    world.send("one")
    assert world.bodies() == ["one"]


def test_queues_of_third_computers_are_listed_with_their_reads() -> None:
    other = OtherComputer()
    world = SupportingWorld(elsewhere=other)
    client = Dependent(world)
    found = taken(client, other)
    client.receive_later(found.context, timeout=FOR_EVER)
    world.clock.wait(4)
    [shown] = listed(world).all()
    assert shown.queues == (DependentQueueInfo(ELSEWHERE, "receive", 1, 4),)


def test_very_many_queues_are_counted_but_not_all_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "QUEUES_SHOWN_MAX", 3)
    world = SupportingWorld()
    first, second = Dependent(world), Dependent(world)
    for client in (first, first, second, second):
        client.receive_later(client.opened().context, timeout=FOR_EVER)
    found = listed(world).all()
    assert [(one.open_queues, one.waiting, len(one.queues)) for one in found] == [
        (2, 2, 2),
        (2, 2, 1),
    ]


@pytest.mark.parametrize(
    ("access", "word"),
    [(Access.RECEIVE, "receive"), (Access.SEND, "send"), (Access.PEEK, "peek")],
)
def test_what_a_queue_is_open_for_has_a_word(access: Access, word: str) -> None:
    assert access_word(access) == word
