"""Who calls a supporting server."""

from __future__ import annotations

import pytest
from tests.strategies.dependent import Dependent, SupportingWorld

from openmsmq.types.caller import Caller, Grant


def test_what_is_denied_is_recorded() -> None:
    """MQMP-040: with the name of the caller."""
    world = SupportingWorld(Caller("bob", Grant("send", user="bob")))
    client = Dependent(world)
    assert client.open().result == 0xC00E0025
    assert client.create() == 0xC00E0025
    entries = world.driver.call(lambda: world.manager.audit_entries(0, 10))
    assert [(entry.act, entry.allowed) for entry in entries] == [("open", False), ("admin", False)]
    assert {entry.who for entry in entries} == {"user:bob"}


def test_clients_are_counted_while_they_have_something_open() -> None:
    world = SupportingWorld()
    client = Dependent(world)
    assert client.registry(4).result == 0
    assert len(world.supporting.clients) == 0
    queue, unit = client.opened(), client.begin()
    assert len(world.supporting.clients) == 1
    client.close(queue.handle)
    client.commit(unit.handle)
    assert len(world.supporting.clients) == 0


@pytest.mark.parametrize("role", ["peek", "watch", "operate"])
def test_roles_that_only_look_send_and_receive_nothing(role: str) -> None:
    client = Dependent(SupportingWorld(Caller("eve", Grant(role))))
    assert client.open(access=2).result == client.open(access=1).result == 0xC00E0025
    assert (client.open(access=0x20).result == 0) is (role == "peek")
