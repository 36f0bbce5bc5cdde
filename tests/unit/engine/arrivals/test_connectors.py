"""Foreign systems: what a connector server does with messages for them."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import pytest
from tests.samples import OTHER
from tests.unit.engine.office import Manager
from tests.unit.engine.station import Station, in_order, parcel
from tests.unit.engine.world import HERE, ME, PARTNER, commit_all

from openmsmq.engine.arrivals.connectors import for_connector
from openmsmq.engine.arrivals.incoming import head_of
from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import NEVER, Owed
from openmsmq.errors import (
    AccessDenied,
    PublicKeyDoesNotExist,
    QueueNotFound,
    UnsupportedFormatNameOperation,
)
from openmsmq.interfaces.management.machine_properties import active_queues
from openmsmq.interfaces.management.queue_properties import QUEUE_PROPERTIES, QueueFacts
from openmsmq.limits import HOP_COUNT_MAX
from openmsmq.names.format import ConnectorName, PrivateName, PublicName, parse_format_name
from openmsmq.names.parts import Suffix
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.walk import one_hop_more
from openmsmq.properties.message import Acknowledge, MessageClass
from openmsmq.properties.propid import MGMT_QUEUE
from openmsmq.routing.topology import RoutedManager, RoutingLink, Site, Topology
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import Caller, Grant
from openmsmq.types.message import Message
from openmsmq.types.queues import QueueKind

HQ: Final = UUID(int=0x10)
FOREIGN: Final = UUID(int=0x20)
"The site in which the other system is."
ELSEWHERE: Final = UUID(int=0x30)
"A foreign site that has nothing to do with this manager."
SYSTEM: Final = UUID(int=0x21)
"The foreign system, MAINFRAME."
PUBLIC: Final = PublicName(UUID(int=0x22))
"A queue of it that is published."
TO: Final = PrivateName(SYSTEM, 5)
PLAIN: Final = f"CONNECTOR={FOREIGN}"
ORDERED: Final = f"CONNECTOR={FOREIGN};XACTONLY"


def topology(*, own: UUID = ME, serves: bool = True, permissions: str = "") -> Topology:
    """A connector server, a manager that sends, and a foreign system."""
    sites = (HQ, FOREIGN) if serves else (HQ,)
    managers = (
        RoutedManager(own, "here", sites, router=True),
        RoutedManager(PARTNER, "partner", (HQ,), router=True, address="192.0.2.9"),
        RoutedManager(SYSTEM, "MAINFRAME", (FOREIGN,), foreign=True),
        RoutedManager(OTHER, "OTHERFRAME", (ELSEWHERE,), foreign=True),
    )
    return Topology(
        {
            HQ: Site(HQ, "hq"),
            FOREIGN: Site(FOREIGN, "mainframe", foreign=True, permissions=permissions),
            ELSEWHERE: Site(ELSEWHERE, "elsewhere", foreign=True),
        },
        (RoutingLink(HQ, FOREIGN, 1, (own,)),),
        {manager.id: manager for manager in managers},
    )


def connector_server() -> Station:
    """A connector server to which others send."""
    station = Station()
    station.core.route_by(topology())
    return station


def queue_of(station: Station, name: str = PLAIN) -> ManagedQueue:
    found = parse_format_name(name)
    assert isinstance(found, ConnectorName)
    return station.core.queues.find_connector(found)


def manager(**given: object) -> Manager:
    """A connector server whose programs send and read."""
    made = Manager()
    made.local.route_by(topology(own=made.local.identity, **given))  # type: ignore[arg-type] # by name
    return made


# Their queues


def test_a_connector_server_has_two_queues_for_each_foreign_site_it_is_in() -> None:
    """MQBR-157, MQBR-158, MQBR-159: the name has the GUID of the site; none is published."""
    queues = connector_server().core.queues
    found = [queue for queue in queues.everything if queue.kind is QueueKind.CONNECTOR]
    assert [queue.name for queue in found] == [PLAIN, ORDERED]
    assert [queue.properties.transactional for queue in found] == [False, True]
    assert not [queue for queue in queues if queue.kind is QueueKind.CONNECTOR]
    assert queues.resolver.local(ConnectorName(FOREIGN)) is None


def test_others_have_none() -> None:
    station = Station()
    station.core.route_by(topology(serves=False))
    with pytest.raises(QueueNotFound, match="no connector server"):
        queue_of(station)
    assert station.core.routes.connected == {}


def test_a_connector_queue_is_opened_to_receive_and_to_peek_only() -> None:
    """MQBR-160."""
    local = manager().local
    for access in (Access.RECEIVE, Access.PEEK, Access.RECEIVE | Access.PEEK):
        assert local.open_queue(PLAIN, Mode(access)).mode.access == access
    assert Access.SEND not in local.open_queue(ORDERED, Mode()).mode.access
    with pytest.raises(UnsupportedFormatNameOperation):
        local.open_queue(PLAIN, Mode(Access.SEND))
    with pytest.raises(QueueNotFound):
        local.open_queue(f"CONNECTOR={ELSEWHERE}", Mode(Access.RECEIVE))


def test_the_site_says_who_may_open_its_connector_queues() -> None:
    """MQBR-161: those to whom it gives msmq-Open-Connector, and administrators here."""
    clerk = Caller("clerk", Grant("read", token="clerk"))
    local = manager(permissions="O:BAD:(A;;0x1;;;WD)").local
    local.open_queue(PLAIN, Mode(Access.RECEIVE), clerk)
    local = manager(permissions="O:BAD:(A;;0x2;;;WD)").local
    with pytest.raises(AccessDenied):
        local.open_queue(PLAIN, Mode(Access.RECEIVE), clerk)
    local.open_queue(PLAIN, Mode(Access.RECEIVE), Caller("chief", Grant("admin")))


def test_a_site_that_is_left_keeps_its_queues_until_they_are_empty() -> None:
    """MQBR-172, also over a restart."""
    made = manager()
    target = made.open(str(TO), Access.SEND)
    made.send(target, Message("1"))
    made.local.route_by(topology(own=made.local.identity, serves=False))
    commit_all(made.local)
    made = made.restart()
    queue = made.open(PLAIN, Access.RECEIVE)
    with pytest.raises(QueueNotFound):
        made.open(ORDERED, Access.RECEIVE)
    assert made.receive(queue).text == "1"
    made.local.queues.close(queue, Mode(Access.RECEIVE), made)
    with pytest.raises(QueueNotFound):
        made.open(PLAIN, Access.RECEIVE)


def test_empty_queues_are_there_again_after_a_restart() -> None:
    station = connector_server()
    station.take(parcel(to=TO))
    queue = queue_of(station)
    assert station.world.bodies(queue) == [""]
    again = station.restart()
    again.core.route_by(topology())
    assert again.world.bodies(queue_of(again)) == [""]
    assert queue_of(again, ORDERED).messages == 0


# Messages of other managers


def test_messages_for_a_foreign_system_go_to_a_connector_queue() -> None:
    """MQBR-154, MQBR-155, MQBR-164: plain and transactional ones apart, with their destination."""
    station = connector_server()
    station.take(
        parcel("plain", to=TO),
        parcel("public", number=2, to=PUBLIC, manager=SYSTEM),
        parcel("ordered", number=3, to=TO, place=(1, 1, 0)),
    )
    station.take_express(parcel("express", number=4, to=TO, express=True))
    assert station.world.bodies(queue_of(station)) == ["plain", "public", "express"]
    assert station.world.bodies(queue_of(station, ORDERED)) == ["ordered"]
    names = [view.destination for view in station.world.views(queue_of(station))]
    assert names == [TO, PUBLIC, TO]
    assert station.world.views(queue_of(station))[0].hop_count == 1


def test_each_comes_once() -> None:
    station = connector_server()
    packet, ordered = parcel("1", to=TO), parcel("2", number=2, to=TO, place=(1, 1, 0))
    for _ in range(2):
        station.take(packet, ordered)
    assert station.world.bodies(queue_of(station)) == ["1"]
    assert station.world.bodies(queue_of(station, ORDERED)) == ["2"]


def test_what_no_connector_server_takes_is_refused() -> None:
    """What goes round, and what is addressed in a way that is never routed."""
    station = connector_server()
    station.take(parcel(to=TO, hops=HOP_COUNT_MAX))
    station.take(parcel(number=2, to=HERE + "q", manager=SYSTEM))
    assert station.core.queues.refused.messages == 2
    assert queue_of(station).messages == 0


def test_neither_signature_nor_encryption_is_looked_at() -> None:
    """MQBR-162: they stay as they came."""
    station = connector_server()
    security = SecurityHeader.make(SecurityFlags.EB, encryption_key=b"k" * 16)
    packet = parcel("secret", to=TO, headers=OptionalHeaders(security=security))
    assert station.arrivals.examined([packet]) == [packet]
    assert type(station.arrivals.examined([packet])[0]) is bytes
    station.take(packet)
    assert [entry.packet for entry in station.world.entries(queue_of(station))] == [
        one_hop_more(packet)
    ]


def test_nothing_confirms_that_it_came_or_was_received() -> None:
    """MQBR-163: that is for the connector to say."""
    every = Acknowledge.POS_ARRIVAL | Acknowledge.POS_RECEIVE | Acknowledge.NEG_RECEIVE
    station = connector_server()
    station.world.queue("admin")
    station.take(parcel("1", to=TO, acknowledge=every))
    station.take_express(parcel("2", number=2, to=TO, express=True, acknowledge=every))
    queue = queue_of(station)
    for _ in range(2):
        station.world.take(queue)
    assert queue.messages + len(queue.express) == 0
    assert station.admin() == []


def test_what_is_not_received_in_time_is_reported() -> None:
    """TimeToBeReceived goes on in the connector queue."""
    station = connector_server()
    station.world.queue("admin")
    packet = parcel(to=TO, receive=10, dead_letter=True, acknowledge=Acknowledge.NEG_RECEIVE)
    station.take(packet)
    station.world.tick(20)
    assert station.admin() == [MessageClass.NACK_RECEIVE_TIMEOUT]
    assert station.core.queues.dead_letter.messages == 1


def test_the_connector_server_is_the_end_of_a_sequence() -> None:
    """MQBR-165: order is acknowledged when they are in the queue, FinalAcks when received."""
    station = connector_server()
    first = parcel("1", number=1, to=TO, place=(1, 1, 0), wants_final=True)
    third = parcel("3", number=3, to=TO, place=(1, 3, 2), wants_final=True)
    second = parcel("2", number=2, to=TO, place=(1, 2, 1), wants_final=True)
    station.take(first, third)
    assert station.orders == [("3", 2)]
    queue = queue_of(station, ORDERED)
    assert station.world.bodies(queue) == ["1"]
    station.take(second, third)
    assert station.world.bodies(queue) == ["1", "2", "3"]
    assert station.finals() == []
    transaction = station.world.transactions.begin()
    station.world.take(queue, holder=transaction)
    assert station.finals() == []
    station.world.done(station.world.transactions.commit(transaction))
    assert station.finals() == [(MessageClass.ACK_RECEIVE, 1)]


def test_a_sequence_to_a_queue_here_is_another_one() -> None:
    station = connector_server()
    station.world.queue("q", transactional=True)
    station.take(*in_order(1, 2), parcel("f", number=9, to=TO, place=(1, 1, 0)))
    assert station.bodies() == ["1", "2"]
    assert station.world.bodies(queue_of(station, ORDERED)) == ["f"]


def test_the_type_of_a_connector_is_carried_and_not_interpreted() -> None:
    """MQBR-167."""
    station = connector_server()
    station.take(parcel("1", to=TO, headers=OptionalHeaders(connector_type=OTHER)))
    assert [view.connector_type for view in station.world.views(queue_of(station))] == [OTHER]


def test_only_confirmations_are_not_owed() -> None:
    new = NewMessage(parcel(to=TO), 3, NEVER, False, int(~Owed.NOTHING & 0xFFF))
    assert Owed(new.flags & ~for_connector(new).flags) == Owed.ACK_ARRIVAL | Owed.ACK_RECEIVE


# Messages of programs here


def test_programs_of_a_connector_server_send_to_a_foreign_queue_as_to_any_other() -> None:
    """MQBR-156: the same name, in a transaction or not."""
    made = manager()
    made.local.directory.owners[PUBLIC.guid] = SYSTEM
    made.local.directory.is_used = True
    for name in (TO, PUBLIC):
        target = made.open(str(name), Access.SEND)
        made.send(target, Message("plain"))
        made.send_in(target, Message("ordered"))
    plain, ordered = (made.open(name, Access.RECEIVE) for name in (PLAIN, ORDERED))
    assert [message.destination_queue for message in made.peek(plain)] == [TO, PUBLIC]
    assert [message.text for message in made.peek(ordered)] == ["ordered", "ordered"]
    assert {head_of(message.packet).addressee for message in made.peek(plain)} == {SYSTEM.bytes_le}
    assert not made.local.queues.outgoing(TO).messages
    assert made.receive(plain).id.startswith(str(made.local.identity))


def test_a_public_queue_of_this_manager_that_is_not_here_is_not_sent_to() -> None:
    """Its object is in the directory, and was not read yet."""
    made = manager()
    made.local.directory.is_used = True
    made.local.directory.owners[PUBLIC.guid] = made.local.identity
    with pytest.raises(QueueNotFound, match="this manager"):
        made.open(str(PUBLIC), Access.SEND)


def test_only_their_time_to_be_received_counts_there() -> None:
    made = manager()
    target = made.open(str(TO), Access.SEND)
    made.send(target, Message("1", time_to_reach_queue=5))
    made.send(target, Message("2", time_to_be_received=50))
    queue = made.open(PLAIN, Access.RECEIVE)
    made.tick(10)
    assert made.bodies(queue) == [m.body for m in (Message("1"), Message("2"))]
    made.tick(50)
    assert made.bodies(queue) == [Message("1").body]


def test_nothing_is_encrypted_for_a_foreign_system() -> None:
    """It has no key; so such a message is not sent at all."""
    made = manager()
    target = made.open(str(TO), Access.SEND)
    with pytest.raises(PublicKeyDoesNotExist, match="foreign"):
        made.send(target, Message("1", encrypt=True))
    assert made.bodies(made.open(PLAIN, Access.RECEIVE)) == []


def test_what_a_connector_sends_is_an_ordinary_message_of_its_manager() -> None:
    """MQBR-173."""
    made = manager()
    made.create("answers")
    queue = made.open("answers")
    made.send(queue, Message("from the mainframe"))
    (answer,) = made.peek(queue)
    assert answer.id.startswith(str(made.local.identity))
    assert answer.message_class == MessageClass.NORMAL


# Management


def test_management_shows_foreign_destinations_and_connector_queues() -> None:
    """MQBR-168, MQBR-169."""
    made = manager()
    local = made.local
    made.open(str(TO), Access.SEND)
    outgoing = QueueFacts(local, local.queues.outgoing(TO))
    assert QUEUE_PROPERTIES[MGMT_QUEUE.FOREIGN](outgoing) == "YES"
    assert QUEUE_PROPERTIES[MGMT_QUEUE.NEXTHOPS](outgoing) == (f"FOREIGN={FOREIGN}",)
    known = QueueFacts(local, local.queues.outgoing(PrivateName(PARTNER, 5)))
    assert QUEUE_PROPERTIES[MGMT_QUEUE.FOREIGN](known) == "NO"
    unknown = QueueFacts(local, local.queues.outgoing(PrivateName(UUID(int=0x99), 5)))
    assert QUEUE_PROPERTIES[MGMT_QUEUE.FOREIGN](unknown) == "UNKNOWN"
    name = ConnectorName(FOREIGN, Suffix.XACTONLY)
    connector = QueueFacts(local, local.queues.find_connector(name))
    found = {
        item: QUEUE_PROPERTIES[item](connector)
        for item in (MGMT_QUEUE.TYPE, MGMT_QUEUE.FOREIGN, MGMT_QUEUE.FORMATNAME, MGMT_QUEUE.XACT)
    }
    assert list(found.values()) == ["CONNECTOR", "YES", ORDERED, "YES"]
    assert QUEUE_PROPERTIES[MGMT_QUEUE.PATHNAME](connector) is None
    assert PLAIN not in active_queues(local)
    made.open(PLAIN, Access.RECEIVE)
    assert PLAIN in active_queues(local)
