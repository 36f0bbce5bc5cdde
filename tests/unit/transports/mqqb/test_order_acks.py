"""When senders of transactional messages hear how far these have come."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.station import parcel
from tests.unit.engine.world import PARTNER
from tests.unit.transports.mqqb.joined import establish, parameters
from tests.unit.transports.wires import Net, Station, pair

from openmsmq.engine.arrivals.acknowledgements import DROPPED
from openmsmq.engine.arrivals.arrival import Origin, StreamProgress
from openmsmq.engine.arrivals.incoming import SOURCE, IncomingSequence, sequence_key
from openmsmq.engine.arrivals.peers import Identity, Pin
from openmsmq.packet.acks import OrderAckBody, ack_body, order_queue
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.message import UserMessage
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import Acknowledge
from openmsmq.transports.limits import ORDER_ACK_DELAY_MAX, ORDER_ACK_MESSAGES_MAX
from openmsmq.transports.mqqb import order_acks as ordering
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.order_acks import DELAY, AckLink, OrderAcks
from openmsmq.types.message import Message

TO_B = r"DIRECT=OS:b\private$\q"
SOURCE_ID = UUID(int=99)
"The manager at the other end of a session."


def letters(count: int) -> list[Message]:
    return [Message(str(n).encode()) for n in range(count)]


class Watched:
    """Two managers, the first of which sends transactional messages to the other."""

    def __init__(self) -> None:
        self.net, self.a, self.b = pair(transactional=True)
        self.queue = self.a.out(TO_B)

    def send(self, count: int = 1) -> None:
        """Send messages in a transaction, and let them arrive."""
        self.a.send_in(self.queue, *letters(count))
        self.net.run()

    @property
    def unacknowledged(self) -> int:
        """Messages that the sender keeps."""
        return self.queue.messages


@pytest.fixture
def watched() -> Watched:
    return Watched()


class Line:
    """A session that remembers the acknowledgements that are sent by it."""

    def __init__(self) -> None:
        self.is_open = True
        self.origin = Origin("10.0.0.9", "partner", SOURCE_ID.bytes_le)
        self.sent: list[PacketView] = []

    def send_ack(self, packet: bytes) -> None:
        self.sent.append(PacketView(packet))


class Desk:
    """Acknowledgements of a manager's own, for messages that a test says have come."""

    def __init__(self, station: Station | None = None) -> None:
        self.core = (station or Station(Net(), "b")).local
        self.line = Line()
        self.due = OrderAcks(self.core, self.find)

    def find(self, link: AckLink, source: UUID) -> AckLink | None:
        """The session, while it is open."""
        assert source == SOURCE_ID
        return self.line if self.line.is_open else None

    def accepted(self, packet: bytes, number: int = 1) -> bytes:
        """A message was accepted; the key of its sequence."""
        key = sequence_key(packet)
        sequence = IncomingSequence(1, number, 0, 0, "10.0.0.9", "q", packet[SOURCE])
        self.core.incoming.stage(key, sequence)
        self.core.incoming.committed({key})
        return key

    def came(self, packet: bytes, now: float, count: int = 1) -> None:
        """Messages have come."""
        self.due.came(self.line, StreamProgress(sequence_key(packet), packet, count), now)


def packet_to(name: str, source: UUID = SOURCE_ID) -> bytes:
    """A transactional message to a queue."""
    return parcel(to=rf"DIRECT=OS:b\{name}", source=source, place=(1, 1, 0))


def test_the_sender_hears_half_a_second_after_the_last_message(watched: Watched) -> None:
    """MQQB-282."""
    watched.send()
    watched.net.wait(0.4)
    watched.send()
    watched.net.wait(0.45)
    assert watched.unacknowledged == 2
    watched.net.wait(0.1)
    assert watched.unacknowledged == 0


def test_but_not_later_than_10_seconds_after_the_first(watched: Watched) -> None:
    """MQQB-282, MQQB-283."""
    for _ in range(24):
        watched.send()
        watched.net.wait(0.4)
    assert watched.net.now == pytest.approx(9.6)
    assert watched.unacknowledged == 24
    for _ in range(3):
        watched.send()
        watched.net.wait(0.4)
    assert watched.unacknowledged < 3
    assert (DELAY, ORDER_ACK_DELAY_MAX) == (0.5, 10)


def test_and_before_its_sender_gives_a_message_up(watched: Watched) -> None:
    """AMB-50: messages that live for a short time are acknowledged while they do."""
    for _ in range(12):
        message = Message(b"", time_to_reach_queue=2, dead_letter=True)
        watched.a.send_in(watched.queue, message)
        watched.net.wait(0.4)
    watched.net.wait(5)
    dead = watched.a.local.queues.transactional_dead_letter
    assert watched.a.bodies(dead) == []
    assert watched.unacknowledged == 0


def test_and_at_once_after_256_messages(watched: Watched) -> None:
    """A busy sender need not remember more."""
    watched.send(ORDER_ACK_MESSAGES_MAX - 1)
    assert watched.unacknowledged == ORDER_ACK_MESSAGES_MAX - 1
    watched.send(1)
    assert watched.unacknowledged == 0
    assert ORDER_ACK_MESSAGES_MAX == 256


def test_the_acknowledgement_names_sequence_and_number(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQQB-268, MQQB-284, MQQB-286, MQQB-287: it goes by the session that brought the messages."""
    sent: list[tuple[Link, bytes]] = []
    monkeypatch.setattr(Link, "send_ack", lambda link, packet: sent.append((link, packet)))
    watched.send(3)
    watched.net.wait(0.6)
    ((link, packet),) = sent
    assert {link} == watched.b.transport.links
    view = PacketView(packet)
    body = ack_body(view)
    assert isinstance(body, OrderAckBody)
    assert (body.tx_sequence_number, body.tx_previous_sequence_number) == (3, 2)
    assert body.tx_sequence_id == watched.queue.sequences.all[0].identifier
    assert str(view.destination) == rf"DIRECT=TCP:{watched.a.host}\PRIVATE$\order_queue$"
    assert view.priority == 0
    assert view.acknowledge == Acknowledge.NONE
    assert view.admin_queue is None
    assert view.response_queue is None
    assert not [queue for queue in watched.b.local.queues.everything if queue.transfer]


def test_what_is_not_on_disk_is_not_acknowledged(watched: Watched) -> None:
    """MQQB-284."""
    watched.b.is_slow = True
    watched.send(2)
    watched.net.wait(5)
    assert watched.unacknowledged == 2
    watched.b.go_on()
    watched.net.wait(1)
    assert watched.unacknowledged == 0


def test_what_does_not_follow_is_not_acknowledged(watched: Watched) -> None:
    """MQQB-284: the number is that of the last message in sequence, whatever came behind it."""
    peer = watched.net.dial(watched.b)
    peer.send(establish(PARTNER, NO_GUID), parameters())
    for number, previous in ((1, 0), (2, 1), (4, 3)):
        place = (1, number, previous)
        peer.send(parcel(str(number), number=number, to=TO_B, place=place, admin=None))
    watched.net.wait(0.6)
    assert watched.b.texts("q") == ["1", "2"]
    sent = [PacketView(p.encode()) for p in peer.packets() if isinstance(p, UserMessage)]
    bodies = [ack_body(view) for view in sent]
    assert [body.tx_sequence_number for body in bodies if isinstance(body, OrderAckBody)] == [2]


def test_a_message_that_comes_again_is_acknowledged_again(watched: Watched) -> None:
    """MQQB-280: the sender may not have heard."""
    watched.send()
    back = next(end for end in watched.net.ends if end.machine in watched.b.transport.links)
    back.is_held = True
    watched.net.wait(1)
    assert watched.unacknowledged == 1
    back.cut()
    watched.net.wait(1)
    assert watched.unacknowledged == 0
    assert watched.b.texts("q") == ["0"]


def test_messages_that_nothing_was_accepted_of_are_not_acknowledged() -> None:
    """There is nothing to say about the sequence yet."""
    desk = Desk()
    assert desk.due.next_deadline is None
    desk.came(packet_to("q"), 0.0)
    assert desk.due.next_deadline == DELAY
    desk.due.tick(1.0)
    assert desk.due.next_deadline is None
    assert desk.line.sent == []
    desk.due.opened(SOURCE_ID, 2.0)
    assert desk.due.next_deadline is None, "nothing is owed"


def test_a_sequence_without_a_number_is_not_acknowledged() -> None:
    """An older version accepted the number 0: the others behind it still hear (MQQB-282)."""
    desk = Desk()
    for name, number in (("old", 0), ("new", 1)):
        desk.accepted(packet_to(name), number)
        desk.came(packet_to(name), 0.0)
    desk.due.tick(1.0)
    assert len(desk.line.sent) == 1
    assert desk.due.next_deadline is None


def test_nothing_is_sent_before_it_is_due() -> None:
    desk = Desk()
    one, two = packet_to("one"), packet_to("two")
    desk.came(one, 0.0)
    desk.came(two, 0.3)
    desk.due.tick(0.4)
    assert desk.due.next_deadline == 0.5
    desk.due.tick(0.5)
    assert desk.due.next_deadline == pytest.approx(0.8)
    desk.came(two, 0.6, ORDER_ACK_MESSAGES_MAX)
    assert desk.due.next_deadline == 0.6


def test_without_a_session_an_acknowledgement_waits_for_the_next() -> None:
    """MQQB-286, AMB-57: no time passes for it, and no one is dialled."""
    desk = Desk()
    packet = packet_to("q")
    desk.accepted(packet)
    desk.came(packet, 0.0)
    desk.line.is_open = False
    desk.due.tick(1.0)
    assert desk.due.next_deadline is None
    desk.line.is_open = True
    desk.due.opened(UUID(int=1), 5.0)
    assert desk.due.next_deadline is None
    desk.due.opened(SOURCE_ID, 6.0)
    assert desk.due.next_deadline == 6.0
    desk.due.tick(6.0)
    assert len(desk.line.sent) == 1
    assert not [queue for queue in desk.core.queues.everything if queue.transfer]


def test_one_that_waits_is_due_again_when_another_message_comes() -> None:
    desk = Desk()
    packet = packet_to("q")
    desk.accepted(packet)
    desk.came(packet, 0.0)
    desk.line.is_open = False
    desk.due.tick(1.0)
    desk.line.is_open = True
    desk.came(packet, 99.0)
    assert desk.due.next_deadline == 99.0 + DELAY
    desk.due.tick(100.0)
    assert len(desk.line.sent) == 1


def test_a_source_that_is_not_at_the_other_end_hears_only_if_it_is_known() -> None:
    """Otherwise there is no way to it, and no reason to believe that it sent the message."""
    desk = Desk()
    other = UUID(int=77)
    packet = packet_to("q", other)
    scope = desk.line.origin.scopes(other.bytes_le)[0]
    key = scope + sequence_key(packet)[16:]
    sequence = IncomingSequence(1, 1, 0, 0, "10.0.0.9", "q", other.bytes_le)
    desk.core.incoming.stage(key, sequence)
    desk.core.incoming.committed({key})
    desk.due.came(desk.line, StreamProgress(key, packet, 1), 0.0)
    assert desk.due.next_deadline is None
    assert desk.core.statistics.counts[DROPPED] == 1
    desk.core.peers.learned(other, "OTHER", "10.0.0.7", 1801)
    desk.due.came(desk.line, StreamProgress(key, packet, 1), 0.0)
    desk.due.tick(1.0)
    assert desk.line.sent == []
    queue = desk.core.queues.find_outgoing(order_queue(other))
    assert queue is not None
    assert len(queue.express) == 1


def test_of_too_many_that_are_owed_those_owed_longest_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their senders send again."""
    monkeypatch.setattr(ordering, "ORDER_ACKS_DUE_MAX", 3)
    desk = Desk()
    for at in range(5):
        packet = packet_to(f"q{at}")
        desk.accepted(packet)
        desk.came(packet, at / 100)
    assert desk.core.statistics.counts[DROPPED] == 2
    desk.due.tick(1.0)
    assert len(desk.line.sent) == 3


def test_a_stopped_manager_acknowledges_nothing_more(watched: Watched) -> None:
    """MQQB-285, MQQB-348: the sender asks again."""
    watched.send()
    watched.b.enter(watched.b.transport.stop)
    watched.net.wait(20)
    assert watched.unacknowledged == 1
    watched.b = watched.b.restart_here()
    watched.net.wait(6)
    assert watched.unacknowledged == 0
    assert watched.b.texts("q") == ["0"]


def test_one_that_claims_our_own_identity_hears_nothing() -> None:
    """Also if the configuration names this manager among its peers."""
    desk = Desk()
    desk.core.peers.configure(Identity.ADDRESS, {"b": Pin(desk.core.identity)})
    packet = packet_to("q", desk.core.identity)
    desk.accepted(packet)
    desk.came(packet, 0.0)
    assert desk.due.next_deadline is None
