"""Messages as a router keeps them."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.station import Station, parcel
from tests.unit.engine.world import ME, NOW, PARTNER, World, commit_all

from openmsmq.engine.arrivals.arrival import ArrivalWork, Origin, Refused
from openmsmq.engine.arrivals.incoming import head_of
from openmsmq.engine.arrivals.transit import TRACED, forward, transit_message
from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.storage.layout import NEVER, Owed
from openmsmq.limits import HOP_COUNT_MAX
from openmsmq.names.format import PrivateName, PublicName
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.group import PacketGroup
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.walk import one_hop_more
from openmsmq.properties.message import Acknowledge, MessageClass
from openmsmq.routing.topology import RoutedManager, RoutingLink, Site, Topology
from openmsmq.transports.mqqb.receipts import group_of


def transit(packet: bytes, *, is_known: bool = True) -> NewMessage:
    """A message as a router keeps it."""
    return transit_message(World().core, packet, head_of(packet), is_known=is_known)


def test_the_hop_count_is_raised_and_nothing_else_changes() -> None:
    """MQBR-110, MQBR-124."""
    packet = parcel("x", hops=3)
    assert transit(packet).packet == one_hop_more(packet) == parcel("x", hops=4)


@pytest.mark.parametrize("is_ordered", [False, True])
def test_what_a_router_owes(is_ordered: bool) -> None:
    """MQBR-129 to MQBR-133: a negative acknowledgement, and a dead letter of a plain message."""
    packet = parcel(
        dead_letter=True,
        journal=True,
        acknowledge=Acknowledge.NEG_ARRIVAL | Acknowledge.POS_ARRIVAL | Acknowledge.NEG_RECEIVE,
        place=(1, 1, 0) if is_ordered else None,
    )
    owed = Owed(transit(packet).flags)
    expected = Owed.NACK_ARRIVAL if is_ordered else Owed.NACK_ARRIVAL | Owed.DEAD_LETTER
    assert owed == expected
    assert Owed(transit(packet, is_known=False).flags) == expected | Owed.STRANGER


def test_messages_in_a_sequence_keep_their_order_and_others_their_priority() -> None:
    """MQBR-137, MQBR-139."""
    assert transit(parcel(priority=5)).priority == 5
    ordered = transit(parcel(place=(1, 1, 0)))
    assert (ordered.priority, ordered.express) == (0, False)
    assert transit(parcel(express=True)).express


@pytest.mark.parametrize(
    ("lifetimes", "expires"),
    [
        ({}, NEVER),
        ({"reach": 10}, NOW + 10 + 60),
        ({"receive": 20}, NOW + 20),
        ({"reach": 10, "receive": 20}, NOW + 20),
        ({"reach": 10, "receive": 200}, NOW + 70),
    ],
)
def test_lifetimes_are_counted_from_the_senders_clock(
    lifetimes: dict[str, int], expires: int
) -> None:
    """MQBR-146, MQBR-147."""
    assert transit(parcel(**lifetimes)).expires == expires  # type: ignore[arg-type] # by name


@pytest.mark.parametrize("reports", [False, True])
@pytest.mark.parametrize("is_traced", [False, True])
def test_a_router_reports_a_traced_message_if_it_reports_at_all(
    reports: bool, is_traced: bool
) -> None:
    """MQQB-306: as it goes on, with one hop more."""
    world = World()
    world.done(world.core.configure(reports=reports))
    packet = bytearray(parcel("x"))
    packet[3] |= TRACED * is_traced
    work = ArrivalWork(None, Origin("192.0.2.9", "partner", PARTNER.bytes_le))
    forward(world.core, work, bytes(packet), head_of(bytes(packet)), world.queue())
    expected = [one_hop_more(bytes(packet))] if reports and is_traced else []
    assert work.outcome.traced == expected


THIRD = UUID(int=0x77)
"A manager of another site."
TO = PrivateName(THIRD, 5)


def router() -> Station:
    """A router between two sites."""
    here, there = UUID(int=0x10), UUID(int=0x20)
    managers = (
        RoutedManager(ME, "here", (here,), router=True),
        RoutedManager(PARTNER, "partner", (here,), router=True, address="192.0.2.9"),
        RoutedManager(THIRD, "third", (there,), router=True),
    )
    station = Station()
    station.core.route_by(
        Topology(
            {here: Site(here, "here"), there: Site(there, "there")},
            (RoutingLink(here, there, 1, (ME, THIRD)),),
            {manager.id: manager for manager in managers},
        )
    )
    return station


def kept(station: Station) -> list[bytes]:
    """What a router keeps for the third manager."""
    queue = station.core.queues.forwarding(TO, is_sideways=False)
    return [entry.packet for entry in station.world.entries(queue)]


def test_what_a_router_has_no_room_for_stays_with_its_sender() -> None:
    """MQBR-109, MQBR-135, MQQB-241: it counts against the quota of the machine."""
    station = router()
    packet = parcel("x" * 3000, to=TO)
    station.world.done(station.core.configure(quota=(len(packet) >> 10) + 1))
    assert station.take(packet) is None
    error = station.take(parcel("y" * 3000, number=2, to=TO))
    assert isinstance(error, Refused)  # its session is closed, and it comes again
    assert kept(station) == [one_hop_more(packet)]


def test_a_transactional_message_that_went_round_is_refused_to_its_source() -> None:
    """MQBR-114."""
    station = router()
    station.take(parcel(to=TO, hops=HOP_COUNT_MAX, place=(1, 7, 6)))
    assert station.finals() == [(MessageClass.NACK_HOP_COUNT_EXCEEDED, 7)]
    assert kept(station) == []


def test_whether_a_queue_takes_a_message_is_not_for_a_router_to_say() -> None:
    """MQBR-123: not even if its signature is none."""
    station = router()
    security = SecurityHeader.make(0, signature=b"none", sender_cert=b"no certificate")
    packet = parcel("1", to=TO, headers=OptionalHeaders(security=security))
    assert station.arrivals.examined([packet]) == [packet]
    assert station.take(packet) is None
    assert kept(station) == [one_hop_more(packet)]


def test_a_router_goes_on_while_the_directory_is_away() -> None:
    """MQBR-136."""
    station = router()
    station.core.directory.is_used = station.core.directory.is_offline = True
    assert station.take(parcel("1", to=TO)) is None
    public = parcel("2", number=2, to=PublicName(UUID(int=0x99)), manager=THIRD)
    assert station.take(public) is None
    assert len(kept(station)) == 1
    assert station.core.queues.forwarding(PrivateName(THIRD, 0), is_sideways=False).messages == 1


def test_routes_are_there_before_anything_can_come() -> None:
    """MQBR-037: a manager that starts again has its table when it is made."""
    world = World()
    text = (
        'sites = [{name = "a"}, {name = "b"}]\n'
        'links = [{site1 = "a", site2 = "b", gates = ["here", "third"]}]\n'
        f'managers = [{{name = "here", id = "{ME}", sites = ["a"], router = true}},'
        f' {{name = "third", id = "{THIRD}", sites = ["b"], router = true}}]'
    )
    world.done(world.core.configure(topology=text))
    again = world.restart().core
    assert again.routes.decide(THIRD).hops == (THIRD,)
    assert len(again.routes.table) == 1


def test_messages_that_came_together_are_looked_at_once() -> None:
    """MQBR-110, MQBR-117, MQBR-124: each has one hop more, and a lifetime of its own."""
    station = router()
    sent = [NOW - 1, NOW, NOW, NOW + 2, NOW]
    packets = [
        parcel("x" * n, number=n, to=TO, manager=THIRD, sent=moment, reach=100)
        for n, moment in enumerate(sent, 1)
    ]
    framer = PacketFramer()
    framer.receive_data(b"".join(packets))
    [group] = framer.parts()
    assert isinstance(group, PacketGroup)
    whole = group_of(group)._replace(arrivals=lambda: pytest.fail("they were looked at one by one"))
    station.arrivals.take(station.origin, [whole], lambda outcome: None)
    commit_all(station.core)
    assert kept(station) == [one_hop_more(packet) for packet in packets]
    queue = station.core.queues.forwarding(TO, is_sideways=False)
    records = station.world.records(queue)
    assert [record.expires for record in records] == [moment + 160 for moment in sent]
