"""Acknowledgements of messages of other managers, and what strangers can make us create."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.station import ADMIN, Station, parcel
from tests.unit.engine.world import HERE, ME, PARTNER, commit_all, letter

from openmsmq.engine.arrivals import acknowledgements as module
from openmsmq.engine.arrivals import limits
from openmsmq.engine.arrivals.acknowledgements import DROPPED, Acknowledgements
from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.outgoing.state import Attempt
from openmsmq.engine.queues.queue import ManagedQueue, Purpose
from openmsmq.names.format import parse_format_name
from openmsmq.packet.acks import order_queue
from openmsmq.properties.message import PRIORITY_MAX, Acknowledge, MessageClass
from openmsmq.types.lookup import ARRIVAL_BITS
from openmsmq.types.outgoing import ConnectionStatus, TransferState

ARRIVAL = Acknowledge.POS_ARRIVAL


def third(at: int) -> str:
    """A queue of a third machine."""
    return rf"DIRECT=OS:third{at}\private$\admin"


@pytest.fixture
def station() -> Station:
    """One with a plain queue, a transactional one, and one for acknowledgements."""
    found = Station()
    found.world.queue("q")
    found.world.queue("t", transactional=True)
    found.world.queue("admin")
    return found


@pytest.fixture
def answering(station: Station) -> Acknowledgements:
    return station.core.acknowledgements


def known(station: Station) -> None:
    """The manager at the other end is in the peer table."""
    station.core.peers.learned(PARTNER, "PARTNER", "192.0.2.9", 1801)
    station.origin.entitle(PARTNER.bytes_le, is_proven=True, is_known=True)


def outgoing(station: Station) -> list[ManagedQueue]:
    """All outgoing queues."""
    return [queue for queue in station.core.queues.everything if queue.transfer is not None]


def wanting(at: int, admin: str, *, express: bool = False) -> bytes:
    """A message whose arrival is to be reported to a queue."""
    return parcel(number=at + 1, admin=admin, acknowledge=ARRIVAL, express=express)


# Why there is a queue


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("express", [True, False])
def test_what_a_queue_is_for_depends_on_who_asks(
    station: Station, is_known: bool, express: bool
) -> None:
    if is_known:
        known(station)
    take = station.take_express if express else station.take
    take(wanting(1, third(1), express=express))
    take(wanting(2, str(order_queue(PARTNER)), express=express))
    purposes = [queue.properties.purpose for queue in outgoing(station)]
    if is_known:
        assert purposes == [Purpose.ACKNOWLEDGE, Purpose.ACKNOWLEDGE]
    else:
        assert purposes == [Purpose.UNSOLICITED, Purpose.ANSWER]


def test_an_acknowledgement_to_a_queue_here_takes_no_queue_elsewhere(station: Station) -> None:
    station.take(wanting(1, ADMIN))
    assert station.admin() == [MessageClass.ACK_REACH_QUEUE]
    assert outgoing(station) == []


def test_what_a_stranger_brought_is_a_stranger_s_when_it_is_read(station: Station) -> None:
    """Days later, and after a restart."""
    packet = parcel(admin=third(1), acknowledge=Acknowledge.POS_RECEIVE)
    station.take(packet)
    again = station.restart()
    again.world.take(again.world.find("q"))
    (queue,) = outgoing(again)
    assert queue.properties.purpose is Purpose.UNSOLICITED


def test_a_program_that_sends_to_such_a_queue_makes_it_ordinary(
    station: Station, answering: Acknowledgements
) -> None:
    """For good: what programs send is never dropped."""
    station.take(wanting(1, third(1)))
    (queue,) = outgoing(station)
    assert answering.queues(Purpose.UNSOLICITED) == [queue]
    same = station.core.queues.outgoing(parse_format_name(third(1)))
    station.world.send(same, letter("1"))
    assert same is queue
    assert answering.queues(Purpose.UNSOLICITED) == []
    (found,) = outgoing(station.restart())
    assert found.properties.purpose is Purpose.SEND


@pytest.mark.parametrize("admin", [third(1), str(order_queue(PARTNER))])
def test_a_known_peer_that_names_such_a_queue_frees_it_of_its_bounds(
    station: Station, answering: Acknowledgements, admin: str
) -> None:
    """A stranger that names it first takes nothing from those who are known."""
    station.take(wanting(1, admin))
    known(station)
    station.take(wanting(2, admin))
    (queue,) = outgoing(station)
    assert queue.properties.purpose is Purpose.ACKNOWLEDGE
    assert not answering.queues(Purpose.UNSOLICITED) + answering.queues(Purpose.ANSWER)
    station.take(wanting(3, admin))
    assert queue.properties.purpose is Purpose.ACKNOWLEDGE


def test_the_purpose_of_a_queue_is_known_after_a_restart(station: Station) -> None:
    station.take(wanting(1, third(1)))
    station.take(wanting(2, str(order_queue(PARTNER))))
    again = station.restart().core.acknowledgements
    assert len(again.queues(Purpose.UNSOLICITED)) == 1
    assert len(again.queues(Purpose.ANSWER)) == 1


def test_that_programs_send_by_a_queue_is_known_after_a_restart(station: Station) -> None:
    """Else it would be bounded, and dropped, as those of strangers are."""
    station.take(wanting(1, third(1)))
    station.core.queues.outgoing(parse_format_name(third(1)))
    commit_all(station.core)
    again = station.restart()
    assert again.core.acknowledgements.queues(Purpose.UNSOLICITED) == []
    assert [queue.properties.purpose for queue in outgoing(again)] == [Purpose.SEND]


# Bounds


def test_strangers_get_a_bounded_number_of_queues_for_third_machines(station: Station) -> None:
    """1,000 packets with admin queues of the attacker's choice."""
    for start in range(0, 1000, 500):
        station.take(*(wanting(at, third(at)) for at in range(start, start + 500)))
    assert len(outgoing(station)) == limits.UNSOLICITED_MAX == 100
    assert station.world.count(DROPPED) == 900
    assert len(station.bodies()) == 1000, "the messages themselves are taken"


def test_express_messages_get_no_more(station: Station, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNSOLICITED_MAX", 3)
    for at in range(9):
        station.take_express(wanting(at, third(at), express=True))
    assert len(outgoing(station)) == 3
    assert station.world.count(DROPPED) == 6


def test_there_is_a_bound_for_their_bytes_too(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNSOLICITED_SIZE_MAX", 1000)
    for at in range(20):
        station.take(wanting(at, third(1)))
    (queue,) = outgoing(station)
    size = queue.total_size
    assert 1000 <= size < 2000
    station.take(wanting(21, third(2)))
    assert outgoing(station) == [queue]
    assert queue.total_size == size
    assert station.world.count(DROPPED) > 10


def test_what_known_peers_ask_for_is_not_among_it(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNSOLICITED_MAX", 3)
    known(station)
    for at in range(9):
        station.take(wanting(at, third(at)))
    assert len(outgoing(station)) == 9
    assert station.world.count(DROPPED) == 0


def test_what_programs_send_is_not_among_it(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNSOLICITED_MAX", 3)
    for at in range(9):
        queue = station.core.queues.outgoing(parse_format_name(third(at)))
        station.world.send(queue, letter("1"))
    station.take(wanting(1, third(77)))
    assert len(outgoing(station)) == 10


def tried(queue: ManagedQueue, *statuses: ConnectionStatus) -> None:
    """Attempts to reach the destination of a queue."""
    assert queue.transfer is not None
    queue.transfer.attempts.extend(Attempt(status, 0, 0, ()) for status in statuses)


def test_acknowledgements_that_wait_for_a_manager_that_cannot_be_reached_are_bounded(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10,000 of them; more than that are dropped and counted, also during the next attempt."""
    assert limits.MESSAGES_MAX == 10_000
    monkeypatch.setattr(module, "MESSAGES_MAX", 5)
    known(station)
    station.take(wanting(0, third(1)))
    (queue,) = outgoing(station)
    tried(queue, ConnectionStatus.SOCKET_CONNECT_FAILURE, ConnectionStatus.IN_PROCESS)
    for at in range(1, 9):
        station.take(wanting(at, third(1)))
    assert queue.messages == 5
    assert station.world.count(DROPPED) == 4


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("way", ["not tried yet", "connected", "connected again", "answered"])
def test_a_burst_for_a_manager_that_can_be_reached_is_confirmed_to_the_last_message(
    station: Station, monkeypatch: pytest.MonkeyPatch, way: str, is_known: bool
) -> None:
    """A program that receives 60,000 messages at once is faster than their FinalAcks leave."""
    monkeypatch.setattr(module, "MESSAGES_MAX", 5)
    source = UUID(int=5000)
    if is_known:
        station.core.peers.learned(source, "OTHER", "192.0.2.77", 1801)
    origin = from_network(source, "192.0.2.77")
    station.take(final_wanting(1, source), origin=origin)
    (queue,) = outgoing(station)
    assert queue.transfer is not None
    if way == "connected again":
        tried(queue, ConnectionStatus.DNS_FAILURE)
    if way.startswith("connected"):
        queue.transfer.set_state(TransferState.CONNECTED)
    if way == "answered":
        tried(queue, ConnectionStatus.DNS_FAILURE, ConnectionStatus.ESTABLISHED)
    for at in range(2, 10):
        station.take(final_wanting(at, source), origin=origin)
    assert len(station.finals(source)) == 9
    assert station.world.count(DROPPED) == 0


def test_acknowledgements_for_a_known_manager_that_is_connected_are_bounded_by_their_size(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SIZE_MAX", 500)
    known(station)
    for at in range(9):
        station.take(wanting(at, third(1)))
    (queue,) = outgoing(station)
    size = queue.total_size // queue.messages
    assert 500 <= queue.total_size < 500 + size
    assert station.world.count(DROPPED) == 9 - queue.messages


def final_wanting(at: int, source: UUID) -> bytes:
    """A transactional message that a source wants to hear of, to a queue that is not there."""
    return parcel(source=source, to=HERE + "nowhere", place=(1, at, 0), wants_final=True)


def from_network(source: UUID, address: str) -> Origin:
    return Origin(address, "partner", source.bytes_le)


def test_final_acks_for_strangers_wait_and_the_network_with_the_most_loses_its_oldest(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is waiting for one that brought a message itself is never displaced by a flood."""
    monkeypatch.setattr(module, "ANSWERS_MAX", 4)
    honest = UUID(int=5000)
    station.take(final_wanting(1, honest), origin=from_network(honest, "198.51.100.1"))
    flood = [UUID(int=at) for at in range(1000, 1010)]
    for source in flood:
        station.take(final_wanting(1, source), origin=from_network(source, "192.0.2.66"))
    assert len(station.finals(honest)) == 1
    assert [source for source in flood if station.finals(source)] == flood[-3:]
    assert len(station.core.acknowledgements.queues(Purpose.ANSWER)) == 4
    assert station.world.count(DROPPED) == 7


def test_a_known_peer_s_final_acks_are_not_among_those_of_strangers(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ANSWERS_MAX", 2)
    known(station)
    station.take(final_wanting(1, PARTNER))
    for at in range(1000, 1005):
        source = UUID(int=at)
        station.take(final_wanting(1, source), origin=from_network(source, "192.0.2.66"))
    assert len(station.finals()) == 1
    queue = station.core.queues.find_outgoing(order_queue(PARTNER))
    assert queue is not None
    assert queue.properties.purpose is Purpose.ACKNOWLEDGE
    assert [lookup >> ARRIVAL_BITS for lookup in station.world.lookups(queue)] == [PRIORITY_MAX]


def test_final_acks_about_forged_messages_leave_room_for_those_of_a_known_peer(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger brings messages in the name of a manager that is away."""
    monkeypatch.setattr(module, "FORGED_MAX", 3)
    known(station)
    stranger = from_network(UUID(int=666), "198.51.100.1")
    for at in range(1, 9):
        station.take(final_wanting(at, PARTNER), origin=stranger)
    assert len(station.finals()) == 3
    station.take(parcel(source=PARTNER, to=HERE + "t", place=(2, 1, 0), wants_final=True))
    for at in range(20, 22):
        station.take(final_wanting(at, PARTNER))
    assert len(station.finals()) == 5
    station.world.take(station.world.find("t"))
    assert len(station.finals()) == 6


@pytest.mark.parametrize("is_read", [True, False])
def test_strangers_fill_no_queue_that_programs_send_by(
    station: Station, monkeypatch: pytest.MonkeyPatch, is_read: bool
) -> None:
    """They name the destination of programs here for their acknowledgements."""
    monkeypatch.setattr(module, "UNSOLICITED_SIZE_MAX", 1000)
    queue = station.core.queues.outgoing(parse_format_name(third(1)))
    station.world.send(queue, letter("1"))
    asked = Acknowledge.POS_RECEIVE if is_read else Acknowledge.POS_ARRIVAL
    for at in range(20):
        station.take(parcel(number=at + 1, admin=third(1), acknowledge=asked))
        station.world.take(station.world.find("q"))
    assert queue.properties.purpose is Purpose.SEND
    assert queue.total_size < 2000
    assert station.world.count(DROPPED) > 10
    station.world.send(queue, *(letter(str(at)) for at in range(20)))
    assert queue.total_size > 3000, "programs are not bounded so"


def test_what_is_waiting_for_strangers_has_a_bound_for_its_bytes(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them gets its share of that, whatever the others have."""
    monkeypatch.setattr(module, "ANSWERS_SIZE_MAX", 2000)
    monkeypatch.setattr(module, "ANSWERS_MAX", 4)
    admin = str(order_queue(PARTNER))
    for at in range(40):
        station.take(wanting(at, admin))
    (queue,) = outgoing(station)
    assert 2000 <= queue.total_size < 3000
    other = UUID(int=5)
    for at in range(40):
        station.take(
            parcel(source=other, number=at, admin=str(order_queue(other)), acknowledge=ARRIVAL),
            origin=from_network(other, "192.0.2.66"),
        )
    (_, second) = outgoing(station)
    assert 500 <= second.total_size < 1000


def test_what_cannot_be_sent_is_given_up_and_counted(
    station: Station, answering: Acknowledgements
) -> None:
    station.take(wanting(1, third(1)), wanting(2, third(1)))
    (queue,) = outgoing(station)
    answering.drop(queue)
    commit_all(station.core)
    assert queue.deleted
    assert answering.queues(Purpose.UNSOLICITED) == []
    assert station.world.count(DROPPED) == 2
    station.take(wanting(3, third(1)))
    assert len(outgoing(station)) == 1


# Forged sources


def test_a_flood_with_forged_sources_creates_nothing_for_them(station: Station) -> None:
    """2,000 transactional packets over one session."""
    for start in range(0, 2000, 1000):
        packets = [
            parcel(
                source=UUID(int=10_000 + at),
                number=at,
                to=HERE + ("t" if at % 2 else "nowhere"),
                place=(1, 1, 0),
                wants_final=True,
            )
            for at in range(start, start + 1000)
        ]
        assert station.take(*packets) is None
    assert outgoing(station) == []
    assert len(station.bodies("t")) == 1000
    assert station.world.count(DROPPED) >= 2000


def test_one_that_claims_our_own_identity_hears_nothing(station: Station) -> None:
    """There is no way to this manager itself: acknowledgements would wait for ever."""
    origin = Origin("192.0.2.66", "partner", ME.bytes_le)
    station.take(parcel(source=ME, to="DIRECT=OS:here\\none", place=(1, 1, 0)), origin=origin)
    assert station.finals(ME) == []
    assert station.core.statistics.counts[DROPPED] == 1


def test_the_source_of_a_message_that_another_manager_brings_hears_if_it_is_known(
    station: Station,
) -> None:
    other = UUID(int=77)
    station.core.peers.learned(other, "OTHER", "192.0.2.77", 1801)
    station.take(final_wanting(1, other))
    assert len(station.finals(other)) == 1
