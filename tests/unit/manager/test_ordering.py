"""When senders of transactional messages hear how far these have come."""

from __future__ import annotations

import pytest
from tests.unit.manager.wires import Net, Station, pair
from tests.unit.model.station import parcel
from tests.unit.model.world import SOMEBODY
from tests.unit.session.joined import establish, parameters

from openmsmq.manager import ordering
from openmsmq.manager.ordering import COUNT_MAX, DELAY, DELAY_MAX, Ordering
from openmsmq.messages.message import Message
from openmsmq.model.incoming import sequence_key
from openmsmq.model.queue import Queue
from openmsmq.packet.acks import OrderAckBody, ack_body
from openmsmq.packet.message import UserMessage
from openmsmq.packet.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import Acknowledge

TO_B = r"DIRECT=OS:b\private$\q"


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


def owed(station: Station) -> list[PacketView]:
    """The acknowledgements that wait to be sent."""
    queues = list(station.local.core.queues.by_number.values())
    outgoing: list[Queue] = [queue for queue in queues if queue.transfer is not None]
    found = []
    for queue in outgoing:
        entries = station.local.dispatching.take(queue, 100, 1 << 20)
        found += [PacketView(entry.packet) for entry in entries]
        station.local.dispatching.take_back(queue)
    return found


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
    assert (DELAY, DELAY_MAX) == (0.5, 10)


def test_and_at_once_after_256_messages(watched: Watched) -> None:
    """A busy sender need not remember more."""
    watched.send(COUNT_MAX - 1)
    assert watched.unacknowledged == COUNT_MAX - 1
    watched.send(1)
    assert watched.unacknowledged == 0
    assert COUNT_MAX == 256


def test_the_acknowledgement_names_sequence_and_number(watched: Watched) -> None:
    """MQQB-268, MQQB-284, MQQB-286, MQQB-287."""
    watched.send(3)
    watched.net.between(watched.a, watched.b)[0].cut()
    watched.a.is_up = False
    watched.net.wait(0.6)
    (view,) = owed(watched.b)
    body = ack_body(view)
    assert isinstance(body, OrderAckBody)
    assert (body.tx_sequence_number, body.tx_previous_sequence_number) == (3, 2)
    sequence = watched.queue.sequences.all[0]
    assert body.tx_sequence_id.ordinal == sequence.ordinal
    assert str(view.destination) == rf"DIRECT=TCP:{watched.a.host}\PRIVATE$\order_queue$"
    assert view.priority == 0
    assert view.acknowledge == Acknowledge.NONE
    assert view.admin_queue is None
    assert view.response_queue is None


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
    peer.send(establish(SOMEBODY, NO_GUID), parameters())
    for number, previous in ((1, 0), (2, 1), (4, 3)):
        place = (1, number, previous)
        peer.send(parcel(str(number), number=number, to=TO_B, place=place, admin=None))
    watched.net.wait(0.6)
    assert watched.b.texts("q") == ["1", "2"]
    sent = [PacketView(p.encode()) for p in peer.packets() if isinstance(p, UserMessage)]
    bodies = [ack_body(view) for view in (*sent, *owed(watched.b))]
    assert [body.tx_sequence_number for body in bodies if isinstance(body, OrderAckBody)] == [2]


def test_a_message_that_comes_again_is_acknowledged_again(watched: Watched) -> None:
    """MQQB-280: the sender may not have heard."""
    watched.send()
    back = next(end for end in watched.net.ends if end.machine in watched.b.transfers.links)
    back.is_held = True
    watched.net.wait(1)
    assert watched.unacknowledged == 1
    back.cut()
    watched.net.wait(1)
    assert watched.unacknowledged == 0
    assert watched.b.texts("q") == ["0"]


def test_messages_that_nothing_was_accepted_of_are_not_acknowledged() -> None:
    """There is nothing to say about the sequence yet."""
    net = Net()
    b = Station(net, "b")
    due = Ordering(b.local.core)
    assert due.next_deadline is None
    packet = bytes(200)
    due.came(sequence_key(packet), packet, 1, 0.0)
    assert due.next_deadline == DELAY
    due.tick(1.0)
    assert due.next_deadline is None
    assert owed(b) == []


def test_a_sequence_without_a_number_is_not_acknowledged(watched: Watched) -> None:
    """An older version accepted the number 0: the others behind it still hear (MQQB-282)."""
    watched.send()
    core = watched.b.local.core
    ((key, sequence),) = core.incoming._committed.items()
    empty = key[:-1] + b"\0"
    core.incoming._committed[empty] = sequence._replace(number=0)
    due = Ordering(core)
    packet = bytes(200)
    due.came(empty, packet, 1, 0.0)
    due.came(key, packet, 1, 0.0)
    watched.a.is_up = False
    watched.net.between(watched.a, watched.b)[0].cut()
    due.tick(1.0)
    assert len(owed(watched.b)) == 1


def test_nothing_is_sent_before_it_is_due() -> None:
    due = Ordering(Station(Net(), "b").local.core)
    due.came(b"one", bytes(200), 1, 0.0)
    due.came(b"two", bytes(200), 1, 0.3)
    due.tick(0.4)
    assert due.next_deadline == 0.5
    due.tick(0.5)
    assert due.next_deadline == pytest.approx(0.8)
    due.came(b"two", bytes(200), ordering.COUNT_MAX, 0.6)
    assert due.next_deadline == 0.6


def test_a_stopped_manager_acknowledges_nothing_more(watched: Watched) -> None:
    """MQQB-285, MQQB-348: the sender asks again."""
    watched.send()
    watched.b.enter(watched.b.transfers.stop)
    watched.net.wait(20)
    assert watched.unacknowledged == 1
    watched.b = watched.b.restart_here()
    watched.net.wait(6)
    assert watched.unacknowledged == 0
    assert watched.b.texts("q") == ["0"]
