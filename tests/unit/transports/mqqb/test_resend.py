"""When transactional messages are sent again that no one acknowledges."""

from __future__ import annotations

from functools import partial

from tests.unit.transports.mqqb.joined import PEER, ack, establish, parameters
from tests.unit.transports.mqqb.test_link import bodies, messages, opened
from tests.unit.transports.wires import Net, Station, state

from openmsmq.packet.acks import OrderAckBody, build_order_ack, order_queue
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.message import UserMessage
from openmsmq.transports.mqqb.resend import SCHEDULE
from openmsmq.transports.mqqb.timers import SessionTimers
from openmsmq.types.outgoing import TransferState


class Deaf:
    """A peer that acknowledges what it gets, but never in order."""

    def __init__(self) -> None:
        self.net = Net()
        self.a = Station(self.net, "a", timing=SessionTimers(clean_up=1e9))  # it is never idle
        self.peer, self.queue = opened(self.net, self.a)
        self._count = 1
        self._recoverable = 0

    def send(self, *texts: str) -> None:
        self.a.send_in(self.queue, *messages(*texts))
        self.net.run()

    def hear(self) -> list[tuple[float, str]]:
        """What came since the last time, with the time; it is acknowledged in the session."""
        return [(self.net.now, text) for text in bodies(list(self.take()))]

    def take(self) -> list[UserMessage]:
        """The messages that came."""
        found = [p for p in self.peer.packets() if isinstance(p, UserMessage)]
        if found:
            first = self._recoverable + 1
            self._count += len(found)
            self._recoverable += len(found)
            self.peer.send(ack(self._count, first, (1 << len(found)) - 1))
            self.net.run()
        return found

    def listen(self, seconds: float, step: float = 10) -> list[tuple[float, str]]:
        """What comes in some time."""
        heard = self.hear()
        end = self.net.now + seconds
        while self.net.now < end:
            self.net.wait(step)
            heard += self.hear()
        return heard

    def confirm(self, header: TransactionHeader) -> None:
        """An OrderAck for a message."""
        identity = self.a.local.identity
        number = header.tx_sequence_number
        body = OrderAckBody(header.tx_sequence_id, number, number - 1)
        order = order_queue(identity)
        self.peer.send(build_order_ack(order, body, source=PEER, message_id=1, sent_time=0))
        self.net.run()


def resends(deaf: Deaf) -> int:
    return deaf.a.transport.route(deaf.queue).resends


def test_the_schedule_is_that_of_the_specification() -> None:
    """MQQB-265, MQQB-266."""
    assert SCHEDULE == (30, 30, 30, 300, 300, 300, 1800, 1800, 1800, 21600)


def test_messages_are_sent_again_by_the_schedule() -> None:
    """MQQB-263, MQQB-264, MQQB-265: the session goes on meanwhile, the last interval stays."""
    deaf = Deaf()
    deaf.send("1")
    times = [at for at, _ in deaf.listen(60_000, 30)]
    assert times == [0, 30, 60, 90, 390, 690, 990, 2790, 4590, 6390, 27990, 49590]
    assert resends(deaf) == len(times) - 1
    assert deaf.queue.messages == 1


def test_they_are_sent_again_at_once_if_someone_asks_for_it() -> None:
    """Resend Transactional Sequence ([MS-MQMR] 3.1.4.2): not while nothing may be sent."""
    deaf = Deaf()
    deaf.send("1", "2")
    deaf.hear()
    manager = deaf.a.local
    deaf.a.enter(partial(manager.resend, deaf.queue))
    deaf.net.run()
    assert [text for _, text in deaf.hear()] == ["1", "2"]
    for ask in (manager.pause, manager.resend):
        deaf.a.enter(partial(ask, deaf.queue))
    deaf.net.run()
    assert deaf.hear() == []


def test_all_of_them_are_in_their_order_and_with_their_numbers() -> None:
    """MQQB-259, MQQB-262, MQQB-264."""
    deaf = Deaf()
    deaf.send("1", "2")
    deaf.send("3")
    first = deaf.take()
    deaf.net.wait(31)
    again = deaf.take()
    assert [m.transaction for m in again] == [m.transaction for m in first]
    assert [m.user.message_id for m in again] == [m.user.message_id for m in first]
    assert bodies(list(again)) == ["1", "2", "3"]


def test_some_progress_gives_the_others_their_time_anew() -> None:
    """MQQB-268, MQQB-273."""
    deaf = Deaf()
    deaf.send("1", "2")
    first, _ = deaf.take()
    deaf.net.wait(45)
    assert len(deaf.take()) == 2
    assert resends(deaf) == 1
    assert first.transaction is not None
    deaf.confirm(first.transaction)
    assert resends(deaf) == 0
    assert deaf.queue.messages == 1
    deaf.net.wait(29)
    assert deaf.take() == []
    deaf.net.wait(2)
    assert bodies(list(deaf.take())) == ["2"]


def test_nothing_is_sent_again_when_all_is_acknowledged() -> None:
    """MQQB-269, MQQB-273."""
    deaf = Deaf()
    deaf.send("1", "2")
    _, last = deaf.take()
    assert last.transaction is not None
    deaf.confirm(last.transaction)
    assert deaf.queue.messages == 0
    assert deaf.listen(200) == []


def test_a_new_session_begins_the_schedule_anew() -> None:
    """MQQB-263, MQQB-349."""
    deaf = Deaf()
    deaf.send("1")
    deaf.listen(40)
    assert resends(deaf) == 1
    deaf.peer.close()
    deaf.net.wait(1)
    assert resends(deaf) == 0
    deaf.peer.packets()
    deaf.peer.send(establish(deaf.a.local.identity, PEER), parameters())
    deaf.net.run()
    assert bodies(deaf.peer.packets()) == ["1"]
    deaf.peer.send(ack(1, 1, 1))
    deaf.net.wait(29)
    assert bodies(deaf.peer.packets()) == []
    deaf.net.wait(2)
    assert bodies(deaf.peer.packets()) == ["1"]


def test_a_paused_queue_waits_for_nothing() -> None:
    """MQQB-357."""
    deaf = Deaf()
    deaf.send("1")
    deaf.listen(20)
    deaf.a.hold_back(deaf.queue)
    deaf.net.wait(5)
    assert deaf.take() == []
    assert state(deaf.queue) is TransferState.ON_HOLD
    deaf.a.enter(lambda: deaf.a.local.dispatcher.resume(deaf.queue))
    deaf.net.run()
    assert bodies(list(deaf.take())) == ["1"]
    deaf.net.wait(29)
    assert deaf.take() == [], "it has all its time again"
    deaf.net.wait(2)
    assert bodies(list(deaf.take())) == ["1"]


def test_a_stopped_manager_sends_nothing_again() -> None:
    """MQQB-344, MQQB-348."""
    deaf = Deaf()
    deaf.send("1")
    deaf.take()
    assert 30.0 in deaf.net.timers
    deaf.a.enter(deaf.a.transport.stop)
    assert 30.0 not in deaf.net.timers
    deaf.net.run()
    assert deaf.net.timers == []
