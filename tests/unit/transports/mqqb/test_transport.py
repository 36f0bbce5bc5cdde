"""Which connection each outgoing queue uses, and when the next is tried."""

from __future__ import annotations

import logging
from collections import Counter
from itertools import pairwise
from uuid import UUID

import pytest
from tests.unit.engine.station import parcel
from tests.unit.transports.mqqb.joined import PEER, STRANGER, establish, parameters
from tests.unit.transports.wires import PORT, Net, Peer, Station, Try, pair, state, statuses

from openmsmq.engine.arrivals.acknowledgements import DROPPED
from openmsmq.engine.arrivals.arrival import ArrivalOutcome
from openmsmq.engine.arrivals.incoming import IncomingSequence
from openmsmq.engine.arrivals.limits import UNSOLICITED_MAX
from openmsmq.engine.outgoing.info import unprocessed
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import UnsupportedOperation
from openmsmq.packet.connection import EstablishConnection, SessionAck
from openmsmq.properties.message import Acknowledge
from openmsmq.transports.limits import UNSENT_MAX
from openmsmq.transports.mqqb import order_acks
from openmsmq.transports.mqqb.events import SessionEnd
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.timers import SessionTimers
from openmsmq.transports.mqqb.transport import SWEEP_EVERY
from openmsmq.types.access import Access, Mode
from openmsmq.types.message import Message
from openmsmq.types.outgoing import ConnectionStatus, TransferState

TO_B = r"DIRECT=OS:b\private$\q"
CONNECT = [
    ConnectionStatus.IN_PROCESS,
    ConnectionStatus.ESTABLISH_PACKET_RECEIVED,
    ConnectionStatus.ESTABLISHED,
]
FAILURE = [ConnectionStatus.IN_PROCESS, ConnectionStatus.SOCKET_CONNECT_FAILURE]
REFUSAL = [ConnectionStatus.IN_PROCESS, ConnectionStatus.CONNECTION_REFUSED]


def messages(*texts: str, recoverable: bool = True, priority: int = 3) -> list[Message]:
    return [Message(t.encode(), recoverable=recoverable, priority=priority) for t in texts]


def connected(net: Net, a: Station, name: str = TO_B) -> ManagedQueue:
    """An outgoing queue with an open session, and nothing on its way."""
    queue = a.out(name)
    a.send(queue, *messages("first"))
    net.wait(1)
    assert state(queue) is TransferState.CONNECTED
    assert queue.messages == 0
    return queue


def hops(queue: ManagedQueue) -> list[str]:
    """NextHops."""
    assert queue.transfer is not None
    return list(queue.transfer.next_hops)


# From message to session


def test_a_message_has_the_other_manager_connected_to() -> None:
    """MQQB-002, MQQB-176, MQQB-179, MQQB-180, MQQB-194: and the state tells how far it is."""
    net, a, b = pair()
    queue = a.out(TO_B)
    assert (state(queue), net.tries) == (TransferState.INACTIVE, [])
    a.send(queue, *messages("hello"))
    assert [(t.host, t.port) for t in net.tries] == [(b.host, PORT)]
    assert state(queue) is TransferState.WAITING
    net.run()
    assert state(queue) is TransferState.CONNECTED
    assert statuses(queue) == CONNECT
    assert b.texts("q") == ["hello"]


def test_the_address_in_use_is_the_next_hop() -> None:
    """MQQB-174, MQQB-181."""
    net, a, b = pair()
    queue = connected(net, a)
    assert hops(queue) == [f"IP={b.host}"]


def test_one_session_serves_all_queues_of_a_computer() -> None:
    net, a, b = pair()
    b.create("other")
    for name in (TO_B, r"DIRECT=OS:B\private$\other"):
        a.send(a.out(name), *messages(name[-1]))
    net.run()
    assert len(net.tries) == 1
    assert (b.texts("q"), b.texts("other")) == (["q"], ["r"])


def test_a_queue_of_a_manager_is_found_once_there_was_a_session() -> None:
    """MQQB-172: who it is that a number belongs to only the session tells."""
    net, a, b = pair()
    number = b.local.find_queue("q").number
    private = a.out(f"PRIVATE={b.local.identity}\\{number:08x}")
    a.send(private, *messages("by number"))
    net.run()
    assert state(private) is TransferState.NEED_VALIDATION
    assert statuses(private) == [ConnectionStatus.ROUTING_DATA_NOT_AVAILABLE]
    assert net.tries == []
    a.send(a.out(TO_B), *messages("by name"))
    net.run()
    assert sorted(b.texts("q")) == ["by name", "by number"]
    assert len(net.tries) == 1
    assert state(private) is TransferState.CONNECTED


def test_the_place_of_a_manager_is_known_after_its_session_is_over() -> None:
    """MQQB-173."""
    net, a, b = pair()
    connected(net, a)
    net.between(a, b)[0].cut()
    number = b.local.find_queue("q").number
    a.send(a.out(f"PRIVATE={b.local.identity}\\{number:08x}"), *messages("later"))
    net.run()
    assert b.texts("q") == ["first", "later"]
    assert net.tries[-1][1:] == (b.host, PORT)


def test_what_cannot_go_by_session_waits() -> None:
    """MQQB-193."""
    net, a, _ = pair()
    queue = a.out("DIRECT=HTTP://b/msmq/private$/q")
    a.send(queue, *messages("1"))
    net.wait(60)
    assert (state(queue), net.tries) == (TransferState.NEED_VALIDATION, [])


@pytest.mark.parametrize("transactional", [False, True])
def test_messages_from_before_the_start_are_sent(transactional: bool) -> None:
    """MQQB-350, MQQB-352."""
    net, a, b = pair(transactional=transactional)
    b.die()
    send = a.send_in if transactional else a.send
    send(a.out(TO_B), *messages("1", "2"))
    net.wait(1)
    a = a.restart_here()
    b = b.restart_here()
    net.wait(1)
    assert b.texts("q") == ["1", "2"]


# Attempts that fail


def test_a_manager_that_is_not_there_is_tried_again_and_again() -> None:
    """MQQB-142, MQQB-182, MQQB-346: after 0.25 s, and twice as long each time, up to 5 s; each time
    by a connection, without a ping before it.
    """
    net, a, b = pair()
    b.die()
    queue = a.out(TO_B)
    a.send(queue, *messages("1"))
    net.wait(18)
    times = [attempt.at for attempt in net.tries]
    gaps = [after - before for before, after in pairwise(times)]
    assert gaps == [0.25, 0.5, 1, 2, 4, 5, 5]
    assert statuses(queue) == FAILURE * 8
    assert state(queue) is TransferState.WAITING
    way = a.transport.peer_of(queue)
    assert way is not None
    assert way.last_error == f"{b.host}:{PORT}: no one there"
    b.restart_here()
    net.wait(5)
    assert state(queue) is TransferState.CONNECTED
    net.wait(2)
    assert (way.failures, way.last_error) == (0, ""), "messages are taken"


def test_an_attempt_that_was_asked_for_takes_the_place_of_the_one_that_was_due() -> None:
    net, a, b = pair()
    b.die()
    queue = a.out(TO_B)
    a.send(queue, *messages("1"))
    net.wait(1)
    a.enter(lambda: a.local.retry(queue))
    net.run()
    net.wait(3)
    times = [attempt.at for attempt in net.tries]
    assert times == [0, 0.25, 0.75, 1, 1.25, 1.75, 2.75], "not twice at 1.75"


def test_the_first_delay_is_short_again_after_a_session() -> None:
    net, a, b = pair()
    b.die()
    queue = a.out(TO_B)
    a.send(queue, *messages("1"))
    net.wait(10)
    b = b.restart_here()
    net.wait(5)
    net.tries.clear()
    b.die()
    a.send(queue, *messages("2"))
    net.wait(1)
    assert len(net.tries) >= 2


def test_managers_without_room_do_not_dial_each_other_without_end() -> None:
    """That the other one has dialled says nothing new if its sessions end at once."""
    net, a, b = pair()
    a.create("q")
    b.die()
    a.send(a.out(TO_B), *messages("1"))
    a.die()
    b = b.restart_here()
    b.send(b.out(r"DIRECT=OS:a\private$\q"), *messages("2"))
    b.done(b.local.configure(quota=0))
    a = a.restart_here()
    a.done(a.local.configure(quota=0))
    net.wait(30)
    assert a.ended(SessionEnd.NO_ROOM) > 3
    assert len(net.tries) < 40, "about every 5 s by either"
    a.done(a.local.configure(quota=None))
    b.done(b.local.configure(quota=None))
    net.wait(6)
    assert (a.texts("q"), b.texts("q")) == (["2"], ["1"])


def test_no_one_is_tried_for_whom_there_is_no_message() -> None:
    """MQQB-346: though a program has the queue open."""
    net, a, b = pair()
    queue = connected(net, a)
    b.die()
    net.wait(60)
    assert len(net.tries) == 1
    assert state(queue) is TransferState.DISCONNECTED
    assert a.transport.peer_of(queue) is None


def test_no_one_is_tried_any_longer_when_the_messages_have_expired() -> None:
    """MQQB-250, MQQB-346."""
    net, a, b = pair()
    b.die()
    queue = a.out(TO_B)
    a.send(queue, Message(b"1", time_to_reach_queue=10))
    net.wait(30)
    tries = len(net.tries)
    net.wait(60)
    assert len(net.tries) == tries
    assert queue.messages == 0


def test_an_empty_queue_is_no_reason_to_connect() -> None:
    """MQQB-194, MQQB-346: also if someone wants an attempt now."""
    net, a, b = pair()
    b.die()
    private = a.out(f"PRIVATE={b.local.identity}\\0000000c")
    a.send(private, Message(b"1", time_to_reach_queue=3))
    queue = a.out(TO_B)
    net.wait(3)
    assert a.transport.peer_of(private) is not None
    net.now += 2  # it has expired, and no one was notified
    a.enter(lambda: a.local.retry(private))
    assert private.messages == 0
    net.wait(60)
    assert net.tries == []
    a.enter(lambda: a.local.retry(queue))
    assert net.tries == []
    assert dict(a.transport.peers) == {}


def test_the_next_candidate_is_tried_at_once() -> None:
    """MQQB-173, MQQB-177, MQQB-249: where the manager answered, then where its name leads to."""
    net, a, b = pair()
    a.create("t", transactional=True)
    b.send_in(b.out(r"DIRECT=OS:a\private$\t"), *messages("came"))
    net.wait(30)
    net.between(a, b)[0].cut()
    identity = b.local.identity
    a.transport.known.learned(identity, "", "10.0.0.7", PORT)
    a.transport.known.learned(identity, "B", "10.0.0.7", PORT)
    peer = Peer()
    net.listeners["10.0.0.7", PORT] = peer.meet
    net.tries.clear()
    number = b.local.find_queue("q").number
    queue = a.out(f"PRIVATE={identity}\\{number:08x}")
    a.send(queue, *messages("1"))
    net.run()
    (asked,) = peer.packets()
    assert isinstance(asked, EstablishConnection)
    assert asked.header.server_guid == identity
    assert hops(queue) == ["IP=10.0.0.7", f"IP={b.host}"]
    peer.send(establish(a.local.identity, STRANGER, refused=True))
    net.run()
    assert net.tries == [Try(30.0, "10.0.0.7", PORT), Try(30.0, b.host, PORT)]
    assert statuses(queue) == [*REFUSAL, *CONNECT]
    assert hops(queue) == [f"IP={b.host}"]
    assert b.texts("q") == ["1"]


def test_another_at_the_address_refuses() -> None:
    """MQQB-177, MQQB-182, MQQB-188: messages for a manager reach no other one."""
    net, a, b = pair()
    queue = connected(net, a)
    number = b.local.find_queue("q").number
    private = a.out(f"PRIVATE={b.local.identity}\\{number:08x}")
    b.die()
    net.stations[b.host, PORT] = c = Station(net, "c")
    c.create("q")
    a.send(private, *messages("not for c"))
    net.wait(1)
    assert statuses(private)[:2] == REFUSAL
    assert c.ended(SessionEnd.NOT_HERE) >= 1
    assert c.texts("q") == []
    peer = a.transport.peer_of(private)
    assert peer is not None
    assert peer.last_error.startswith("refused: by ")
    assert state(private) in (TransferState.DISCONNECTED, TransferState.WAITING)
    assert queue.messages == 0


def test_one_who_hangs_up_before_the_session_is_open_has_failed() -> None:
    """MQQB-182, MQQB-347."""
    net, a, _ = pair()
    peer = Peer()
    net.listeners["10.0.0.3", PORT] = peer.meet
    queue = a.out(r"DIRECT=OS:c\private$\q")
    a.send(queue, *messages("1"))
    net.run()
    peer.close()
    net.run()
    assert statuses(queue) == [ConnectionStatus.IN_PROCESS, ConnectionStatus.UNKNOWN_FAILURE]
    assert net.timers == [0.25]


def test_the_end_of_a_session_is_a_warning_unless_it_is_quite_usual(
    caplog: pytest.LogCaptureFixture,
) -> None:
    net, a, _ = pair()
    silent, leaving = Peer(), Peer()
    net.listeners["10.0.0.3", PORT] = silent.meet
    net.listeners["10.0.0.4", PORT] = leaving.meet
    for name in "cd":
        a.send(a.out(rf"DIRECT=OS:{name}\private$\q"), *messages("1"))
    net.run()
    with caplog.at_level(logging.INFO):
        leaving.close()
        net.wait(61)
    over = [record for record in caplog.records if record.getMessage() == "session over"]
    assert [record.levelno for record in over[:2]] == [logging.INFO, logging.WARNING]


def test_one_who_says_nothing_has_failed_after_a_minute() -> None:
    """MQQB-176, MQQB-184, MQQB-345."""
    net, a, _ = pair()
    peer = Peer()
    net.listeners["10.0.0.3", PORT] = peer.meet
    queue = a.out(r"DIRECT=OS:c\private$\q")
    a.send(queue, *messages("1"))
    net.wait(59)
    assert state(queue) is TransferState.WAITING
    net.wait(1.1)
    assert peer.is_lost
    assert a.ended(SessionEnd.SLOW) == 1
    assert statuses(queue) == [ConnectionStatus.IN_PROCESS, ConnectionStatus.UNKNOWN_FAILURE]


def test_a_session_that_is_being_closed_is_disconnecting() -> None:
    """MQQB-344, MQQB-345."""
    net, a, b = pair()
    queue = connected(net, a)
    (link,) = a.transport.links
    a.enter(lambda: link.close(SessionEnd.IDLE))
    assert state(queue) is TransferState.DISCONNECTING
    net.run()
    assert state(queue) is TransferState.DISCONNECTED
    assert b.ended(SessionEnd.LOST) == 1


def test_a_message_during_the_end_of_a_session_goes_with_the_next() -> None:
    net, a, b = pair()
    queue = connected(net, a)
    (link,) = a.transport.links
    a.enter(lambda: link.close(SessionEnd.IDLE))
    a.send(queue, *messages("late"))
    assert state(queue) is TransferState.DISCONNECTING
    net.wait(1)
    assert b.texts("q") == ["first", "late"]
    assert len(net.tries) == 2


def test_someone_may_want_the_next_attempt_now() -> None:
    net, a, b = pair()
    b.die()
    queue = a.out(TO_B)
    a.send(queue, *messages("1"))
    net.wait(20)
    b.restart_here()
    tries = len(net.tries)
    a.enter(lambda: a.local.retry(queue))
    net.run()
    assert len(net.tries) == tries + 1
    assert state(queue) is TransferState.CONNECTED
    local = a.create("here")
    with pytest.raises(UnsupportedOperation):
        a.local.retry(local)


# Sessions that others began


def test_acknowledgements_use_the_session_that_the_sender_began() -> None:
    """MQQB-286, MQQB-291, MQQB-297, MQQB-304."""
    net, a, b = pair()
    a.create("admin")
    ack = Message(b"1", acknowledge=3, admin_queue=r"DIRECT=OS:a\private$\admin")
    a.send(a.out(TO_B), ack)
    number = a.local.find_queue("admin").number
    by_number = f"PRIVATE={a.local.identity}\\{number:08x}"
    a.send(a.out(TO_B), Message(b"2", acknowledge=3, admin_queue=by_number))
    net.wait(2)
    # Who is at a direct name only a session tells: b asks, but not for the other.
    assert [t.host for t in net.tries] == [b.host, a.host]
    assert len(a.peek(a.local.find_queue("admin"))) == 2


def test_order_acknowledgements_too() -> None:
    """MQQB-286."""
    net, a, b = pair(transactional=True)
    queue = a.out(TO_B)
    a.send_in(queue, *messages("1", "2"))
    net.wait(1)
    assert b.texts("q") == ["1", "2"]
    assert queue.messages == 0
    assert len(net.tries) == 1


def test_one_order_acknowledgement_is_sent_for_all_that_comes_with_a_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though each part of it is enough for one (MQQB-285)."""
    monkeypatch.setattr(order_acks, "ORDER_ACK_MESSAGES_MAX", 2)
    net, a, b = pair(transactional=True)
    built: list[int] = []
    build = order_acks.OrderAcks._build

    def counted(self: order_acks.OrderAcks, packet: bytes, sequence: IncomingSequence) -> bytes:
        built.append(sequence.number)
        return build(self, packet, sequence)

    monkeypatch.setattr(order_acks.OrderAcks, "_build", counted)
    came: list[tuple[Link, ArrivalOutcome]] = []
    arrived = b.transport.arrived

    def noted(link: Link, outcome: ArrivalOutcome) -> None:
        came.append((link, outcome))
        arrived(link, outcome)

    monkeypatch.setattr(b.transport, "arrived", noted)
    a.send_in(a.out(TO_B), *messages("1", "2", "3"))
    net.wait(0.3)
    assert built == [3]
    b.enter(lambda: [arrived(*came[0]) for _ in range(3)])
    net.wait(0.3)
    assert built == [3, 3]


def test_a_sequence_whose_messages_have_all_expired_is_over() -> None:
    """MQQB-271: the next message begins another; no acknowledgement ends this one."""
    net, a, b = pair(transactional=True)
    b.die()
    queue = a.out(TO_B)
    a.send_in(queue, Message(b"1", time_to_reach_queue=3))
    assert len(queue.sequences.all) == 1
    net.wait(10)
    assert (queue.messages, queue.sequences.all) == (0, [])


def test_an_order_ack_that_is_owed_goes_with_the_next_session() -> None:
    """MQQB-285, MQQB-286, AMB-57: no one is dialled for it, since the sender sends again."""
    net, a, b = pair(transactional=True)
    queue = a.out(TO_B)
    a.send_in(queue, *messages("1"))
    net.run()
    a.hold_back(queue)
    net.between(a, b)[0].cut()
    net.tries.clear()
    net.wait(60)
    assert net.tries == []
    assert queue.messages == 1
    a.send(a.out(r"DIRECT=OS:b\private$\other"), *messages("x"))
    net.run()
    assert queue.messages == 0


def test_the_one_who_was_called_calls_back_for_what_it_owes() -> None:
    """MQQB-285, MQQB-286, MQQB-346: a FinalAck comes once, and is kept until it is delivered."""
    net, a, b = pair(transactional=True)
    a.send_in(a.out(TO_B), Message(b"1", journal=True))
    net.wait(1)
    net.between(a, b)[0].cut()
    net.is_slow = True
    b.receive(b.local.find_queue("q"))
    (queue,) = [queue for queue in b.local.queues.by_number.values() if queue.transfer]
    assert net.tries[-1][1:] == (a.host, PORT)
    assert state(queue) is TransferState.WAITING
    assert a.bodies(a.local.queues.system_journal) == []
    net.is_slow = False
    net.run()
    assert a.bodies(a.local.queues.system_journal) == [b"1"]
    net.wait(1)
    assert queue.deleted


def test_a_queue_stays_with_its_session_when_there_is_another() -> None:
    """Messages of one queue on two connections would come out of order."""
    net, a, b = pair()
    queue = connected(net, a)
    own = a.transport.peers["B"].link
    a.create("back")
    b.send(b.out(f"DIRECT=TCP:{a.host}\\private$\\back"), *messages("1"))
    net.run()
    assert len(a.transport.links) == 2
    a.send(queue, *messages("2"))
    assert a.transport.peers["B"].queues[queue] is own
    assert a.transport.link_of(a.transport.peers["B"], queue) is own


def test_what_a_lost_session_carried_goes_by_another_that_is_open() -> None:
    """MQQB-203, MQQB-204, MQQB-349: no matter who began it."""
    net, a, b = pair()
    queue = connected(net, a)
    a.create("back")
    b.send(b.out(f"DIRECT=TCP:{a.host}\\private$\\back"), *messages("1"))
    net.wait(1)
    ends = net.between(a, b)
    own = next(end for end in ends if end.machine is a.transport.peers["B"].link)
    own.is_held = True
    a.send(queue, *messages("2", "3"))
    net.run()
    assert b.texts("q") == ["first"]
    own.cut()
    net.run()
    assert b.texts("q") == ["first", "2", "3"]
    assert len(net.tries) == len(ends) == 2
    assert state(queue) is TransferState.CONNECTED


def test_when_the_session_that_carried_it_instead_is_lost_another_is_begun() -> None:
    """MQQB-349: the peer had begun that one, and has no reason to begin another."""
    net, a, b = pair()
    queue = connected(net, a)
    a.create("back")
    b.send(b.out(f"DIRECT=TCP:{a.host}\\private$\\back"), *messages("1"))
    net.wait(1)
    ends = net.between(a, b)
    own = next(end for end in ends if end.machine is a.transport.peers["B"].link)
    own.cut()
    a.send(queue, *messages("2"))
    net.run()
    assert len(net.tries) == 2
    for end in ends:
        end.is_held = True
    a.send(queue, *messages("3"))
    net.run()
    assert b.texts("q") == ["first", "2"]
    for end in ends:
        end.cut()
    net.wait(5)
    assert b.texts("q") == ["first", "2", "3"]
    assert len(net.tries) == 3


def test_of_two_sessions_with_a_manager_the_other_is_used_when_one_is_over() -> None:
    """MQQB-286: acknowledgements go by either."""
    net, a, b = pair(transactional=True)
    a.create("back")
    b.send(b.out(f"DIRECT=TCP:{a.host}\\private$\\back"), *messages("1"))
    queue = a.out(TO_B)
    a.send_in(queue, *messages("1"))
    net.wait(30)
    assert len(net.tries) == len(b.transport.links) == 2
    first = b.transport.session_table.of(a.local.identity)[-1]
    next(end for end in net.ends if end.machine is first and not end.is_over).cut()
    net.run()
    assert b.transport.session_table.of(a.local.identity)[-1] is not first
    a.send_in(queue, *messages("2"))
    net.wait(2)
    assert queue.messages == 0


# Who may come


def test_too_many_sessions_are_refused() -> None:
    """MQQB-189: with CS, and then the connection is over."""
    net = Net()
    a = Station(net, "a", sessions_max=2)
    for _ in range(2):
        net.dial(a)
    late = net.dial(a)
    late.send(establish())
    net.run()
    (answer,) = late.packets()
    assert isinstance(answer, EstablishConnection)
    assert answer.refused
    assert late.is_lost
    assert a.ended(SessionEnd.TOO_MANY) == 1
    assert len(a.transport.links) == 2


def test_a_manager_that_was_taken_offline_lets_no_one_in() -> None:
    net, a, _ = pair()
    a.enter(a.local.dispatcher.take_offline)
    peer = net.dial(a)
    net.run()
    assert peer.is_lost
    assert peer.data == b""


def test_a_session_that_is_open_brings_nothing_once_its_manager_is_offline() -> None:
    """SYS-043: it ends; what its peer sends meanwhile comes when the manager is back."""
    net, a, b = pair()
    connected(net, a)
    b.enter(b.local.dispatcher.take_offline)
    a.send(a.out(TO_B), *messages("second"))
    net.wait(60)
    assert not b.transport.links
    assert b.texts("q") == ["first"]
    b.enter(b.local.dispatcher.bring_online)
    net.wait(600)
    assert b.texts("q") == ["first", "second"]


def test_bytes_are_counted() -> None:
    net, a, b = pair()
    connected(net, a)
    assert a.transport.bytes_sent == b.transport.bytes_received > 0
    assert b.transport.bytes_sent == a.transport.bytes_received > 0


# Pause and resume


def test_a_paused_queue_is_left_alone() -> None:
    """MQQB-193, MQQB-357, MQQB-358."""
    net, a, b = pair()
    queue = a.out(TO_B)
    a.hold_back(queue)
    a.send(queue, *messages("1", "2"))
    net.wait(60)
    assert (state(queue), net.tries) == (TransferState.ON_HOLD, [])
    a.enter(lambda: a.local.dispatcher.resume(queue))
    net.run()
    assert state(queue) is TransferState.CONNECTED
    assert b.texts("q") == ["1", "2"]


def test_a_queue_that_waits_for_a_connection_can_be_paused() -> None:
    net, a, b = pair()
    b.die()
    queue = a.out(TO_B)
    a.send(queue, *messages("1"))
    net.wait(1)
    a.hold_back(queue)
    net.wait(6)
    tries = len(net.tries)
    net.wait(60)
    assert len(net.tries) == tries
    assert state(queue) is TransferState.ON_HOLD


def test_pausing_tells_the_peer_to_send_one_message_at_a_time() -> None:
    """MQQB-356, MQQB-357."""
    net, a, _ = pair()
    peer = Peer()
    net.listeners["10.0.0.3", PORT] = peer.meet
    queue = a.out(r"DIRECT=OS:c\private$\q")
    a.send(queue, *messages("1"))
    net.run()
    peer.packets()
    peer.send(establish(a.local.identity, PEER), parameters())
    net.run()
    peer.packets()
    a.hold_back(queue)
    net.run()
    (ack,) = peer.packets()
    assert isinstance(ack, SessionAck)
    assert ack.header.window_size == 1
    assert state(queue) is TransferState.ON_HOLD


# The end


def test_stopping_closes_all_sessions_and_tries_no_more() -> None:
    """MQQB-344, MQQB-348."""
    net, a, b = pair()
    connected(net, a)
    waiting = a.out(r"DIRECT=OS:h\private$\q")
    a.send(waiting, *messages("1"))
    net.run()
    a.enter(a.transport.stop)
    net.run()
    assert not a.transport.links
    assert not b.transport.links
    assert a.ended(SessionEnd.STOPPED) == 1
    tries = len(net.tries)
    a.send(waiting, *messages("2"))
    net.wait(60)
    assert len(net.tries) == tries
    assert net.timers == []


def test_a_connection_that_comes_about_after_the_stop_is_closed() -> None:
    net, a, b = pair()
    a.send(a.out(TO_B), *messages("1"))
    a.enter(a.transport.stop)
    net.run()
    assert not a.transport.links
    assert b.texts("q") == []
    peer = net.dial(a)
    net.run()
    assert peer.is_lost


def test_an_idle_session_is_closed_after_five_minutes() -> None:
    """MQQB-338."""
    net, a, b = pair()
    queue = connected(net, a)
    net.wait(900)
    assert not a.transport.links
    assert a.ended(SessionEnd.IDLE) + b.ended(SessionEnd.IDLE) >= 1
    assert len(net.tries) == 1
    a.send(queue, *messages("2"))
    net.run()
    assert b.texts("q") == ["first", "2"]


def test_timing_can_be_given() -> None:
    net = Net()
    a = Station(net, "a", timing=SessionTimers(establish=5))
    peer = net.dial(a)
    net.wait(5.1)
    assert peer.is_lost


def test_the_manager_knows_who_sends_its_messages() -> None:
    _, a, _ = pair()
    queue = a.local.open_queue(TO_B, Mode(Access.SEND)).queue
    assert queue.transfer is not None
    assert a.local.transports.get(queue) is a.transport


# What strangers make us create


def stranger(net: Net, station: Station) -> Peer:
    """A manager that no one knows opens a session."""
    peer = net.dial(station)
    peer.send(establish(PEER, station.transport.identity), parameters())
    net.run()
    return peer


def asking(number: int, admin: str) -> bytes:
    """A message whose arrival is to be reported to a queue of a third machine."""
    return parcel(
        number=number,
        to=r"DIRECT=OS:b\private$\q",
        source=PEER,
        acknowledge=Acknowledge.POS_ARRIVAL,
        admin=admin,
    )


def third(at: int) -> str:
    """A queue of a machine that no one reaches."""
    return rf"DIRECT=TCP:192.0.2.{at}\private$\admin"


def queues_of(station: Station) -> list[ManagedQueue]:
    """All outgoing queues."""
    return [queue for queue in station.local.queues.everything if queue.transfer]


def test_a_flood_of_forged_sources_creates_no_outgoing_queues_and_no_ways() -> None:
    """8,000 transactional packets over one session."""
    net, _, b = pair(transactional=True)
    peer = stranger(net, b)
    net.tries.clear()
    for start in range(0, 8000, 50):  # less than a window at a time
        peer.send(
            *(
                parcel(
                    source=UUID(int=10_000 + at),
                    number=at,
                    to=r"DIRECT=OS:b\private$\q",
                    place=(1, 1, 0),
                    wants_final=True,
                    admin=None,
                )
                for at in range(start, start + 50)
            )
        )
        net.run()
    net.wait(2)
    assert b.local.find_queue("q").messages == 8000
    assert queues_of(b) == []
    assert (b.transport.peers, net.tries) == ({}, [])
    assert b.transport._order_acks.next_deadline is None
    assert len(b.local.incoming) <= 8000


def test_what_strangers_direct_at_third_machines_is_dropped_after_ten_minutes() -> None:
    """Without a connection; attempts become rare before."""
    net, _, b = pair()
    peer = stranger(net, b)
    peer.send(*(asking(at, third(at)) for at in range(1, 31)))
    net.run()
    assert len(queues_of(b)) == 30
    net.wait(UNSENT_MAX - 2)
    assert len(queues_of(b)) == 30
    net.wait(3 * SWEEP_EVERY)
    assert queues_of(b) == []
    assert b.count(DROPPED) == 30
    tries = Counter(item.host for item in net.tries if item.host.startswith("192.0.2."))
    assert set(tries.values()) == {12}
    net.wait(3600)
    assert Counter(item.host for item in net.tries if item.host in tries) == tries
    assert b.transport.peers == {}


def test_at_most_a_hundred_of_them_are_created() -> None:
    net, _, b = pair()
    peer = stranger(net, b)
    for start in range(0, 4000, 50):
        names = [rf"DIRECT=OS:third{at}\private$\admin" for at in range(start, start + 50)]
        peer.send(*(asking(start + at, name) for at, name in enumerate(names, 1)))
        net.run()
    assert b.local.find_queue("q").messages == 4000
    assert len(queues_of(b)) == len(b.transport.peers) == UNSOLICITED_MAX
    assert b.count(DROPPED) == 4000 - UNSOLICITED_MAX


def test_a_program_s_message_to_the_same_queue_makes_it_ordinary() -> None:
    """It stays, and is tried for as often as any other."""
    net, _, b = pair()
    peer = stranger(net, b)
    peer.send(asking(1, third(1)), asking(2, third(2)))
    net.run()
    queue = b.out(third(1))
    b.send(queue, *messages("mine"))
    net.wait(2 * UNSENT_MAX)
    assert queues_of(b) == [queue]
    assert queue.messages == 2
    tries = [item.at for item in net.tries if item.host == "192.0.2.1"]
    assert tries[-1] - tries[-2] == 5


def test_what_strangers_direct_at_a_machine_that_can_be_reached_is_sent() -> None:
    net, _, b = pair()
    net.stations["192.0.2.1", PORT] = c = Station(net, "c", port=99)
    c.create("admin")
    peer = stranger(net, b)
    peer.send(asking(1, third(1)))
    net.wait(2)
    assert len(c.texts("admin")) == 1
    assert queues_of(b) == []


# After a restore


def test_a_sender_that_was_restored_with_a_slow_clock_is_not_refused() -> None:
    """Its new streams have identifiers above all that it ever used."""
    net, a, b = pair(transactional=True)
    net.now = 5000.0
    queue = a.out(TO_B)
    a.send_in(queue, *messages("1"))
    net.wait(1)
    backup = a.store.committed
    first = b.local.incoming.items()[0]
    a.send_in(queue, *messages("2", "3"))
    net.wait(1)
    a.die()
    net.now -= 4000.0
    a = Station(net, "a", disk=backup, restored=True)
    a.send_in(a.out(TO_B), *messages("4"))
    net.wait(1)
    assert b.texts("q") == ["1", "2", "3", "4"]
    assert a.out(TO_B).messages == 0
    last = b.local.incoming.items()[0]
    assert last.id >> 32 > first.id >> 32


def test_a_receiver_that_was_restored_takes_the_rest_of_a_stream(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What came after the backup and was acknowledged is missing, and that is logged."""
    net, a, b = pair(transactional=True)
    queue = a.out(TO_B)
    a.send_in(queue, *messages("1"))
    net.wait(1)
    backup = b.store.committed
    a.send_in(queue, *messages("2", "3", "4", "5"))
    net.wait(0.2)
    assert b.texts("q") == ["1", "2", "3", "4", "5"]
    (link,) = a.transport.links
    sequence = queue.sequences.all[0].identifier
    a.enter(lambda: a.transport.received_acks.ordered(link.origin, sequence, 3))
    assert queue.messages == 1
    b.die()
    b = Station(net, "b", disk=backup, restored=True)
    with caplog.at_level(logging.WARNING):
        net.wait(60)
    assert b.texts("q") == ["1", "5"]
    assert queue.messages == 0
    assert b.count("gaps after a restore") == 1
    assert [item.missing for item in b.local.incoming.items()] == [3]
    assert "messages are missing since the restore" in caplog.text


def test_a_receiver_that_was_set_back_and_does_not_know_it_takes_the_rest_of_a_stream() -> None:
    """Its disk is an older one, unannounced: the sender names the last one that it knows."""
    net, a, b = pair(transactional=True)
    queue = a.out(TO_B)
    a.send_in(queue, *messages("1"))
    net.wait(0.2)
    backup = b.store.committed
    a.send_in(queue, *messages("2", "3", "4", "5"))
    net.wait(0.2)
    (link,) = a.transport.links
    sequence = queue.sequences.all[0].identifier
    a.enter(lambda: a.transport.received_acks.ordered(link.origin, sequence, 4))
    b.die()
    b = Station(net, "b", disk=backup)
    net.wait(120)
    assert b.texts("q") == ["1", "5"]
    assert queue.messages == 0
    assert a.count("receivers set back") == 1


# Streams of an older store


def unconfirmed() -> tuple[Net, Station, Station]:
    """The last message of a stream of an older store has arrived, and is not received yet."""
    net, a, b = pair(transactional=True)
    a.send_in(a.out(TO_B), Message(b"1", dead_letter=True))
    net.wait(1)
    queue = a.out(TO_B)
    assert (queue.messages, unprocessed(queue)) == (0, 1)
    (sequence,) = queue.sequences.all
    sequence.peers = ()
    write = sequence.write
    a.enter(
        lambda: a.local.submit(lambda batch: write(batch.writer), lambda: None, lambda error: None)
    )
    return net, a.restart_here(), b


def test_a_final_ack_for_an_old_stream_counts_when_its_destination_has_answered() -> None:
    """MQQB-276: it comes once, and there is nothing left to send that would have it dialled."""
    net, a, b = unconfirmed()
    b.enter(lambda: b.receive(b.local.find_queue("q")))
    net.wait(1)
    assert unprocessed(a.out(TO_B)) == 0


def test_a_destination_is_dialled_until_it_is_known_who_may_acknowledge() -> None:
    net, a, b = unconfirmed()
    del net.stations[b.host, PORT]
    b.enter(lambda: b.receive(b.local.find_queue("q")))
    net.wait(20)
    assert unprocessed(a.out(TO_B)) == 1
    a = a.restart_here()
    net.wait(20)
    net.stations[b.host, PORT] = b
    net.wait(10)
    assert unprocessed(a.out(TO_B)) == 0


def test_a_final_ack_for_an_old_stream_counts_at_once_where_the_destination_has_answered() -> None:
    net, a, b = unconfirmed()
    b.create("other")
    a.send(a.out(r"DIRECT=OS:b\private$\other"), Message(b"x"))
    net.wait(1)
    tries = len(net.tries)
    b.enter(lambda: b.receive(b.local.find_queue("q")))
    net.wait(1)
    assert unprocessed(a.out(TO_B)) == 0
    assert [item.host for item in net.tries[tries:]] == []
