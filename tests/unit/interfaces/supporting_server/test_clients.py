"""Who calls a supporting server."""

from __future__ import annotations

import pytest
from tests.strategies.dependent import Dependent, SupportingWorld
from tests.strategies.rpc import Pair, make_channel
from tests.unit.rpc.test_server import Bare

from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.qm2qm.stubs import QMCOMM, OneNumber
from openmsmq.interfaces.supporting_server.stubs import QMCOMM2, Opnum
from openmsmq.rpc.auth.context import AuthLevel
from openmsmq.rpc.pdu import ContextAnswer, ContextElement
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.rpc.syntax import NDR, NDR64, SyntaxId
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


@pytest.mark.parametrize(
    ("policy", "address", "least"),
    [
        (LevelPolicy(), "192.0.2.1", AuthLevel.PRIVACY),
        (LevelPolicy(), "127.0.0.1", AuthLevel.CONNECT),
        (LevelPolicy(accept_integrity=True), "192.0.2.1", AuthLevel.INTEGRITY),
        (LevelPolicy(allow_unauthenticated=True), "192.0.2.1", AuthLevel.NONE),
    ],
)
def test_calls_have_to_be_sealed_unless_it_is_set_otherwise(
    policy: LevelPolicy, address: str, least: AuthLevel
) -> None:
    """MQMP-043: one setting is for all interfaces; this one holds it on its own, too."""
    by_all, by_itself = SupportingWorld(), SupportingWorld()
    by_all.rpc.least_level = policy.least
    by_itself.supporting.clients._policy = policy
    for world in (by_all, by_itself):
        for level in (AuthLevel.NONE, AuthLevel.CONNECT, AuthLevel.INTEGRITY, AuthLevel.PRIVACY):
            pair = Pair(world.rpc, make_channel(level), address=address, syntax=QMCOMM)
            pair.call(Opnum.QUERY_REGISTRY, OneNumber(4).encode())
            [found] = pair.run()
            is_refused = isinstance(found, RpcFault) and found.status == RpcStatus.ACCESS_DENIED
            assert is_refused is (level < least), level


@pytest.mark.parametrize("syntax", [QMCOMM, QMCOMM2])
def test_ndr_2_is_the_transfer_syntax(syntax: SyntaxId) -> None:
    """MQMP-024"""
    bare = Bare(SupportingWorld().rpc)
    ack = bare.bind(ContextElement(0, syntax, (NDR,)), ContextElement(1, syntax, (NDR64,)))
    assert [one.result for one in ack.results] == [
        ContextAnswer.ACCEPTANCE,
        ContextAnswer.PROVIDER_REJECTION,
    ]
