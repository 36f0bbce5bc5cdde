"""What is known about other queue managers."""

from __future__ import annotations

from uuid import UUID

from tests.unit.engine.office import Manager
from tests.unit.engine.station import in_order
from tests.unit.engine.world import PARTNER
from tests.unit.transports.pgm.group import TICKER, GroupHost, Segment
from tests.unit.transports.wires import Net, Station, pair

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.arrivals.peers import Identity, Pin
from openmsmq.transports.mqqb.receipts import arrival_of
from openmsmq.transports.peers.info import multicast_infos, peer_infos
from openmsmq.types.message import Message
from openmsmq.types.peers import PeerInfo


def test_a_manager_that_answered_is_known_by_name_and_address() -> None:
    net, a, b = pair()
    a.send(a.out("DIRECT=OS:b\\q"), Message("1"))
    net.run()
    (info,) = peer_infos(a.local)
    assert info == PeerInfo(
        id=b.local.identity,
        names=("B",),
        address=b.host,
        port=1801,
        pinned=False,
        relay=False,
        sessions=(b.host,),
        claimed_from=(),
        missing=0,
    )


def test_a_manager_that_only_called_is_known_by_its_session() -> None:
    net, a, b = pair()
    a.send(a.out("DIRECT=OS:b\\q"), Message("1"))
    net.run()
    (info,) = peer_infos(b.local)
    assert (info.id, info.names, info.address) == (a.local.identity, (), "")
    assert info.sessions == (a.host,)


def test_what_the_configuration_says_of_a_manager_is_shown() -> None:
    net, a, b = pair()
    a.send(a.out("DIRECT=OS:b\\q"), Message("1"))
    net.run()
    pins = {"B": Pin(b.local.identity, relay=True)}
    a.local.peers.configure(Identity.PINNED, pins)
    (info,) = peer_infos(a.local)
    assert (info.pinned, info.relay) == (True, True)


def test_what_a_restore_has_cost_is_shown_by_sender() -> None:
    net = Net()
    a = Station(net, "a")
    a.create("q", transactional=True)
    core = a.local
    core.incoming.unknown = core.incoming.unknown._replace(may_skip=True)
    origin = Origin("10.0.0.9", "x", PARTNER.bytes_le)
    packets = in_order(5, to="DIRECT=TCP:10.0.0.1\\q")
    a.enter(
        lambda: a.local.arrivals.take(origin, list(map(arrival_of, packets)), lambda outcome: None)
    )
    (info,) = peer_infos(a.local)
    assert (info.id, info.missing) == (PARTNER, 4)


def test_a_manager_without_a_network_knows_its_table() -> None:
    local = Manager().local
    local.peers.learned(UUID(int=5), "x", "10.0.0.5", 1801)
    (info,) = peer_infos(local)
    assert (info.id, info.sessions) == (UUID(int=5), ())


def test_multicast_sessions_are_listed_at_both_ends() -> None:
    segment = Segment(loss=0.15)
    sender, receiver = GroupHost(segment), GroupHost(segment)
    receiver.listen("prices")
    sender.publish(*(Message(bytes(3000)) for _ in range(10)))
    segment.wait(20.0)
    [source] = multicast_infos(sender.local)
    assert (source.direction, source.group) == ("outgoing", TICKER.removeprefix("MULTICAST="))
    [heard] = multicast_infos(receiver.local)
    assert (heard.direction, heard.group, heard.session) == (
        "incoming", source.group, source.session,
    )  # fmt: skip
    assert (heard.packets, heard.lost) == (source.packets, 0)
    assert 0 < heard.repairs <= source.repairs
    assert multicast_infos(Manager().local) == []
