"""One connection to another manager, and the messages that travel on it."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from tests.signers import ALICE, VALID, der_of, signer
from tests.unit.engine.station import parcel
from tests.unit.engine.world import NOW
from tests.unit.transports.mqqb.joined import PEER, ack, establish, parameters
from tests.unit.transports.wires import PORT, End, Net, Peer, Station, pair, state

from openmsmq.engine.arrivals.examination import (
    Examination,
    ExaminedGroup,
    ExaminedPacket,
    Keyring,
)
from openmsmq.engine.arrivals.limits import SENDER_WAIT_MAX
from openmsmq.engine.arrivals.sender_cache import SenderCache
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import StorageFull
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.connection import EstablishConnection, SessionAck
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import Packet
from openmsmq.security.sid import Sid
from openmsmq.transports.limits import UNSAFE_MAX
from openmsmq.transports.mqqb import link as link_module
from openmsmq.transports.mqqb.events import SessionEnd as Reason
from openmsmq.transports.mqqb.link import Link
from openmsmq.types.message import Message
from openmsmq.types.outgoing import TransferState
from openmsmq.types.peers import SessionInfo

TO_B = r"DIRECT=OS:b\private$\q"
TO_C = r"DIRECT=OS:c\private$\q"
KINDS = pytest.mark.parametrize("recoverable", [True, False], ids=["recoverable", "express"])


def messages(*texts: str, recoverable: bool = True, priority: int = 3) -> list[Message]:
    return [Message(t.encode(), recoverable=recoverable, priority=priority) for t in texts]


def bodies(packets: list[Packet]) -> list[str]:
    """The bodies of the messages among some packets."""
    return [bytes(p.properties.body).decode() for p in packets if isinstance(p, UserMessage)]


def opened(
    net: Net, a: Station, *, window: int = 64, name: str = TO_C
) -> tuple[Peer, ManagedQueue]:
    """A session of `a` with a peer that the test plays, and the outgoing queue."""
    peer = Peer()
    net.listeners["10.0.0.3", PORT] = peer.meet
    queue = a.out(name)
    a.send(queue, *messages("first", recoverable=False))
    net.run()
    peer.send(establish(a.local.identity, PEER), parameters(window=window))
    net.run()
    assert bodies(peer.packets()) == ["first"]
    peer.send(ack(1))
    net.run()
    assert state(queue) is TransferState.CONNECTED
    assert not queue.express
    return peer, queue


def near_end(net: Net, a: Station) -> End:
    """The end at `a` of its only connection."""
    (end,) = [end for end in net.ends if end.machine in a.transport.links]
    return end


# Sending


def test_the_window_and_what_is_under_way_are_shown() -> None:
    net, a, _ = pair()
    peer, queue = opened(net, a, window=16)
    link = near_end(net, a).machine
    assert isinstance(link, Link)
    info = SessionInfo("m1", "manager", "10.0.0.3:1801", "", "", False, True, 0, 0, 0)
    a.send(queue, *messages("1", "2"), *messages("3", recoverable=False))
    net.run()
    shown = link.details(info)
    assert (shown.session, shown.state, shown.window) == (info, "open", 16)
    assert (shown.room, shown.unacknowledged) == (13, 3)
    assert shown.own_window == a.transport.timing.window
    peer.send(ack(4, 1, 0b11))
    net.run()
    shown = link.details(info)
    assert (shown.room, shown.unacknowledged, shown.to_acknowledge) == (16, 0, 0)


@KINDS
def test_a_message_stays_until_the_peer_has_it(recoverable: bool) -> None:
    """MQQB-216, MQQB-217."""
    net, a, _ = pair()
    peer, queue = opened(net, a)
    a.send(queue, *messages("1", "2", recoverable=recoverable))
    net.run()
    assert bodies(peer.packets()) == ["1", "2"]
    assert len(queue.holds) == 2
    peer.send(ack(3, 1, 0b11 if recoverable else 0))
    net.run()
    assert not queue.messages
    assert not queue.express
    assert a.count("delivered") == 3


def test_a_transactional_message_stays_until_it_is_acknowledged_in_order() -> None:
    """MQQB-218: that the peer has it is not enough."""
    net, a, _ = pair()
    peer, queue = opened(net, a)
    a.send_in(queue, *messages("1", "2"))
    net.run()
    assert bodies(peer.packets()) == ["1", "2"]
    peer.send(ack(3, 1, 0b11))
    net.run()
    assert queue.messages == 2
    (link,) = a.transport.links
    a.transport.received_acks.ordered(link.origin, queue.sequences.all[0].identifier, 2)
    net.wait(1)
    assert not queue.messages


def test_an_acknowledgement_in_order_is_enough_before_the_session_acknowledges() -> None:
    """MQQB-219, MQQB-261: the bit that comes later finds nothing to delete, and is no error."""
    net, a, _ = pair()
    peer, queue = opened(net, a)
    a.send_in(queue, *messages("1", "2"))
    net.run()
    (link,) = a.transport.links
    a.transport.received_acks.ordered(link.origin, queue.sequences.all[0].identifier, 2)
    net.wait(1)
    assert not queue.messages
    assert bodies(peer.packets()) == ["1", "2"]
    peer.send(ack(3, 1, 0b11))
    net.run()
    assert set(a.transport.links) == {link}
    a.send_in(queue, *messages("3"))
    net.run()
    assert bodies(peer.packets()) == ["3"]


def test_a_copy_of_what_arrived_goes_to_the_journal() -> None:
    """MQQB-220."""
    net, a, _ = pair()
    peer, queue = opened(net, a)
    a.send(queue, Message(b"1", journal=True))
    net.run()
    journal = a.local.queues.system_journal
    assert a.bodies(journal) == []
    peer.send(ack(2, 1, 1))
    net.run()
    assert a.bodies(journal) == [b"1"]


@KINDS
def test_what_was_on_its_way_is_sent_again(recoverable: bool) -> None:
    """MQQB-203, MQQB-204, MQQB-349: in its old order, and counted from one again (MQQB-192)."""
    net, a, _ = pair()
    peer, queue = opened(net, a)
    a.send(queue, *messages("1", "2", recoverable=recoverable))
    net.run()
    first = peer.data
    peer.packets()
    peer.close()
    net.run()
    assert state(queue) is TransferState.DISCONNECTED
    a.send(queue, *messages("3", recoverable=recoverable))
    net.wait(0.3)
    peer.packets()
    peer.send(establish(a.local.identity, PEER), parameters())
    net.run()
    assert first
    assert first in peer.data, "every byte as before: the same identifiers"
    assert bodies(peer.packets()) == ["1", "2", "3"]


def test_the_receiver_takes_what_comes_again_once() -> None:
    """And acknowledges it each time (MQQB-226, MQQB-237, MQQB-349)."""
    net, a, b = pair()
    queue = a.out(TO_B)
    a.send(queue, *messages("1"))
    net.run()
    answers = next(end for end in net.ends if end.machine in b.transport.links)
    answers.is_held = True
    a.send(queue, *messages("2", "3"))
    net.run()
    assert b.texts("q") == ["1", "2", "3"]
    answers.cut()
    net.wait(2)
    assert b.texts("q") == ["1", "2", "3"]
    assert b.count("duplicates") == 3
    assert queue.messages == 0


def test_no_more_is_sent_than_the_window_has_room_for() -> None:
    """MQQB-195."""
    net, a, _ = pair()
    peer, queue = opened(net, a, window=3)
    a.send(queue, *messages(*"12345"))
    net.run()
    assert bodies(peer.packets()) == ["1", "2", "3"]
    peer.send(ack(3, 1, 0b11))
    net.run()
    assert bodies(peer.packets()) == ["4", "5"]


def test_a_stuck_connection_gets_no_more_until_it_has_room() -> None:
    net, a, _ = pair()
    peer, queue = opened(net, a)
    end = near_end(net, a)
    end.write_buffer_full = True
    a.send(queue, *messages("1"))
    net.run()
    assert bodies(peer.packets()) == []
    assert not queue.holds
    end.write_buffer_full = False
    assert end.machine is not None
    end.resume()
    net.run()
    assert bodies(peer.packets()) == ["1"]


def test_large_messages_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is under way is limited in bytes as well."""
    monkeypatch.setattr(link_module, "IN_FLIGHT_SIZE_MAX", 3000)
    monkeypatch.setattr(link_module, "TAKE_SIZE_MAX", 1)
    net, a, _ = pair()
    peer, queue = opened(net, a)
    a.send(queue, *(Message(bytes([n]) * 1000) for n in range(6)))
    net.run()
    assert len(bodies(peer.packets())) == 3
    peer.send(ack(3, 1, 0b11))
    net.run()
    assert len(bodies(peer.packets())) == 2
    peer.send(ack(6, 3, 0b111))
    net.run()
    assert len(bodies(peer.packets())) == 1


def test_the_most_urgent_message_of_all_queues_goes_first() -> None:
    """MQQB-205."""
    net, a, _ = pair()
    peer, queue = opened(net, a, window=1)
    other = a.out(r"DIRECT=OS:c\private$\other")
    a.send(queue, *messages("under way"))
    a.send(queue, *messages("slow", priority=1))
    a.send(other, *messages("older", priority=4))
    a.send(queue, *messages("newer", priority=4))
    a.send(other, *messages("urgent", priority=7))
    sent = []
    for number in range(1, 6):
        net.run()
        sent += bodies(peer.packets())
        peer.send(ack(number + 1, number, 1))
    net.run()
    assert sent == ["under way", "urgent", "older", "newer", "slow"]
    assert not queue.messages
    assert not other.messages


def test_what_had_arrived_when_its_queue_was_paused_leaves() -> None:
    """MQQB-357: its messages wait in their places, but for those that were under way and came."""
    net, a, _ = pair()
    peer, queue = opened(net, a)
    a.send(queue, *messages("1", "2"))
    net.run()
    peer.packets()
    a.hold_back(queue)
    peer.send(ack(2, 1, 1))
    net.run()
    assert queue.messages == 1
    assert not queue.holds
    assert state(queue) is TransferState.ON_HOLD
    peer.packets()
    a.enter(lambda: a.local.dispatcher.resume(queue))
    net.run()
    assert bodies(peer.packets()) == ["2"]
    peer.send(ack(4, 3, 1))
    net.run()
    assert queue.messages == 0


# Receiving


def test_a_recoverable_message_is_acknowledged_when_it_is_on_disk() -> None:
    """MQQB-212."""
    net, a, b = pair()
    b.is_slow = True
    queue = a.out(TO_B)
    a.send(queue, *messages("1"))
    net.wait(15)
    assert queue.messages == 1
    b.go_on()
    net.wait(2)
    assert queue.messages == 0


@pytest.mark.parametrize("kinds", ["re", "er", "rererer", "eererrre"])
def test_messages_that_come_in_one_piece_keep_their_order(kinds: str) -> None:
    """DMPR-043, SYS-048: express messages between others."""
    net, a, b = pair()
    sent = [Message(f"{n}{k}".encode(), recoverable=k == "r") for n, k in enumerate(kinds)]
    a.send(a.out(TO_B), *sent)
    net.wait(15)
    assert b.texts("q") == [f"{n}{k}" for n, k in enumerate(kinds)]
    assert not a.out(TO_B).messages
    assert not a.out(TO_B).express


def test_messages_that_are_stored_one_by_one_are_counted() -> None:
    """Those that come as a group are not."""
    net, a, b = pair()
    a.send(a.out(TO_B), *messages("1", "22", "333"))
    net.wait(15)
    [link] = b.transport.links
    assert link.singles == 3
    a.send(a.out(TO_B), *(Message(b"4") for _ in range(100)))
    net.wait(15)
    assert link.singles < 20
    assert b.local.find_queue("q").messages == 103


def test_nothing_more_is_read_while_much_waits_to_be_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_module, "ARRIVED_SIZE_MAX", 1000)
    net, a, b = pair()
    a.send(a.out(TO_B), *messages("1"))
    net.run()
    end = next(end for end in net.ends if end.machine in b.transport.links)
    link = end.machine
    assert link is not None
    b.is_slow = True
    assert not link.is_full
    a.send(a.out(TO_B), Message(bytes(2000)))
    net.run()
    assert link.is_full
    updates = end.updates
    b.go_on()
    assert not link.is_full
    assert end.updates > updates, "the connection is notified"


@KINDS
def test_a_message_without_room_closes_the_session_and_comes_again(recoverable: bool) -> None:
    """MQQB-235, MQQB-236."""
    net, a, b = pair()
    queue = a.out(TO_B)
    b.done(b.local.configure(quota=0))
    a.send(queue, *messages("1", "2", recoverable=recoverable))
    net.run()
    assert b.ended(Reason.NO_ROOM) == 1
    assert state(queue) is TransferState.DISCONNECTED
    assert not b.transport.links
    b.done(b.local.configure(quota=None))
    net.wait(1)
    assert b.texts("q") == ["1", "2"]
    assert b.count("duplicates") == 0


def test_so_does_a_disk_that_is_full() -> None:
    """MQQB-235, MQQB-236, MQQB-284."""
    net, a, b = pair(transactional=True)
    queue = a.out(TO_B)
    a.send_in(queue, *messages("1"))
    net.wait(1)
    b.error = StorageFull("the disk is full")
    a.send_in(queue, *messages("2"))
    a.send_in(queue, *messages("3"))
    net.run()
    assert b.ended(Reason.NO_ROOM) == 1
    net.wait(2)
    assert b.texts("q") == ["1", "2", "3"]
    assert queue.messages == 0


def test_what_is_stored_after_the_connection_is_lost_is_no_error() -> None:
    net, a, b = pair()
    b.is_slow = True
    a.send(a.out(TO_B), *messages("1"))
    net.run()
    (end,) = net.between(a, b)
    end.cut()
    b.go_on()
    net.wait(1)
    assert b.texts("q") == ["1"]
    assert b.count("duplicates") == 1


def test_garbage_ends_the_connection_without_a_byte() -> None:
    """MQQB-344."""
    net, a, _ = pair()
    peer = net.dial(a)
    peer.send(b"GET / HTTP/1.1\r\n\r\n")
    net.run()
    assert peer.is_lost
    assert peer.data == b""
    assert a.ended(Reason.BAD_PACKET) == 1


def test_one_who_means_someone_else_is_answered_with_who_is_here() -> None:
    """MQQB-188, MQQB-187."""
    net, a, _ = pair()
    peer = net.dial(a)
    peer.send(establish(PEER, PEER))
    net.run()
    (answer,) = peer.packets()
    assert isinstance(answer, EstablishConnection)
    assert answer.refused
    assert answer.header.server_guid == a.local.identity
    assert peer.is_lost


def test_acknowledgements_come_when_they_are_due() -> None:
    """MQQB-206, MQQB-209: half the time that the initiator gives."""
    net, a, b = pair()
    queue = a.out(TO_B)
    a.send(queue, *messages("1", recoverable=False))
    net.run()
    net.wait(9.9)
    assert len(queue.express) == 1
    net.wait(0.2)
    assert not queue.express
    assert b.texts("q") == ["1"]


def test_a_silent_peer_is_given_up() -> None:
    """MQQB-340, MQQB-342: after twice 20 s, as the name was a direct one."""
    net, a, _ = pair()
    peer, queue = opened(net, a)
    a.send(queue, *messages("1"))
    net.run()
    net.wait(39)
    assert not peer.is_lost
    net.wait(45)
    assert a.ended(Reason.SILENT) == 1
    assert peer.is_lost


def test_the_history_of_a_message_says_where_it_came_from() -> None:
    net, a, b = pair()
    (identifier,) = a.send(a.out(TO_B), *messages("1"))
    net.run()
    (event,) = b.local.explain(identifier)
    assert event.by == f"manager at {a.host}"


def test_sessions_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    net, a, _ = pair()
    with caplog.at_level(logging.INFO, logger="openmsmq"):
        a.send(a.out(TO_B), *messages("1"))
        net.run()
        (link,) = a.transport.links
        a.enter(lambda: link.close(Reason.MISMATCH, "12"))
        net.run()
    texts = [record.getMessage() for record in caplog.records]
    assert any("session open" in text for text in texts)
    assert any("session over" in text for text in texts)


def test_a_link_knows_since_when_it_is_open() -> None:
    net, a, b = pair()
    net.wait(5)
    a.send(a.out(TO_B), *messages("1"))
    net.run()
    (link,) = a.transport.links
    assert isinstance(link, Link)
    assert (link.open_since, link.place, link.address) == (NOW + 5, (b.host, PORT), b.host)


def test_a_session_ack_is_all_that_an_early_message_gets() -> None:
    """MQQB-225."""
    net, a, b = pair()
    queue = a.out(TO_C)
    a.send(queue, *messages("early"))
    (entry,) = a.local.dispatcher.take(queue, 1, 10_000, b.transport.identity)
    peer = net.dial(b)
    peer.send(entry.packet)
    net.run()
    (answer,) = peer.packets()
    assert isinstance(answer, SessionAck)
    assert answer.header.ack_sequence_number == 0
    assert peer.is_lost
    assert b.texts("q") == []


# Protected messages


@KINDS
def test_protected_messages_keep_their_place_and_no_commit_waits_for_them(
    recoverable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MSEC-200: they are examined in the turn of their session, before a commit begins."""
    net, a, b = pair()
    b.local.examiner.keyring = Keyring({ALICE: (der_of(),)})
    examine = b.local.examiner.examine
    in_commits: list[bool] = []

    def watched(packet: bytes, now: float) -> Examination:
        in_commits.append(b.local.is_committing)
        return examine(packet, VALID)

    monkeypatch.setattr(b.local.examiner, "examine", watched)
    signed = Message(b"2", recoverable=recoverable, signer=signer())
    plain = messages("1", "3", recoverable=recoverable)
    a.send(a.out(TO_B), plain[0], signed, plain[1], replace(signed, body=b"4"))
    net.run()
    assert b.texts("q") == ["1", "2", "3", "4"]
    assert in_commits == [False, False]


@KINDS
def test_signed_messages_that_come_together_are_examined_and_taken_together(
    recoverable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MSEC-063: what holds for all of them is asked once; anything else for each."""
    net, a, b = pair()
    b.local.examiner.keyring = Keyring({ALICE: (der_of(),)})
    look, groups = b.local.examiner.examined_group, list[type]()

    def valid(packets: list[bytes], now: float) -> ExaminedGroup | list[ExaminedPacket]:
        found = look(packets, VALID)
        groups.append(type(found))
        return found

    monkeypatch.setattr(b.local.examiner, "examined_group", valid)
    signed = Message(b"a", recoverable=recoverable, signer=signer())
    a.send(a.out(TO_B), *[replace(signed, body=text.encode()) for text in "abcdef"])
    net.run()
    assert b.texts("q") == list("abcdef")
    assert groups == [ExaminedGroup]
    b.local.examiner.keyring = Keyring()
    a.send(a.out(TO_B), *[replace(signed, body=text.encode()) for text in "ghijkl"])
    net.run()
    assert b.texts("q") == list("abcdef"), "alice is not known any longer"
    assert groups == [ExaminedGroup, list]


@KINDS
def test_a_sender_that_the_directory_has_to_be_asked_for(
    recoverable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MSEC-066, MQDS-175, MQDS-176: neither taken nor refused until the directory has answered."""
    net, a, b = pair()
    anna, asked = Sid(5, (21, 1, 2, 3, 1000)), list[Sid]()
    examine = b.local.examiner.examine
    monkeypatch.setattr(b.local.examiner, "examine", lambda packet, now: examine(packet, VALID))
    b.local.examiner.directory = cache = SenderCache(asked.append)
    signed = Message(b"2", recoverable=recoverable, signer=replace(signer(), sender=anna))
    a.send(a.out(TO_B), signed, *messages("3", recoverable=recoverable))
    net.run()
    net.wait(5)
    assert b.texts("q") == []
    assert set(asked) == {anna}
    assert b.ended(Reason.SENDER_PENDING) >= 1
    cache.found(anna, (der_of(),), VALID)
    net.wait(60)
    assert b.texts("q") == ["2", "3"]

    bob = replace(signed, body=b"4", signer=replace(signer(), sender=Sid(5, (21, 1, 2, 3, 1001))))
    cache.found(bob.signer.sender, (b"another certificate",), VALID)  # type: ignore[union-attr,arg-type]
    a.send(a.out(TO_B), bob, *messages("5", recoverable=recoverable))
    net.wait(60)
    assert b.texts("q") == ["2", "3", "5"], "the certificate is that of someone else"


@KINDS
def test_an_unknown_sender_does_not_hold_back_its_session_for_ever(
    recoverable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MSEC-066: the directory is down; in the end the message is refused, and kept as such."""
    net, a, b = pair()
    anna = Sid(5, (21, 1, 2, 3, 1000))
    examine, start = b.local.examiner.examine, net.now
    monkeypatch.setattr(
        b.local.examiner, "examine", lambda packet, now: examine(packet, VALID + net.now - start)
    )
    b.local.examiner.directory = SenderCache(lambda sid: None)
    signed = Message(b"2", recoverable=recoverable, signer=replace(signer(), sender=anna))
    a.send(a.out(TO_B), signed, *messages("3", recoverable=recoverable))
    net.wait(SENDER_WAIT_MAX - 60)
    assert b.texts("q") == []
    net.wait(120)
    assert b.texts("q") == ["3"]
    assert len(b.bodies(b.local.queues.refused)) == 1


@KINDS
def test_many_wrong_messages_close_the_session(recoverable: bool) -> None:
    """MSEC-199: no certificate is registered here."""
    net, a, b = pair()
    wrong = [Message(b"x", recoverable=recoverable, signer=signer())] * (UNSAFE_MAX + 1)
    a.send(a.out(TO_B), *wrong[:UNSAFE_MAX])
    net.run()
    assert b.ended(Reason.UNSAFE) == 0
    a.send(a.out(TO_B), wrong[-1], *messages("1"))
    net.run()
    assert b.ended(Reason.UNSAFE) == 1
    net.wait(2)
    assert b.texts("q") == ["1"], "those behind them come again"


def test_a_header_that_contradicts_itself_ends_the_session() -> None:
    """MSEC-198."""
    net, a, b = pair()
    queue = a.out(TO_B)
    a.send(queue, *messages("1"))
    net.run()
    [link] = b.transport.links
    header = SecurityHeader.make(1, security_id=b"no SID")
    packet = parcel("2", to="DIRECT=OS:b\\private$\\q", headers=OptionalHeaders(security=header))
    link._take([packet], 1)
    link._act()
    net.run()
    assert b.ended(Reason.BAD_PACKET) == 1


def test_only_a_peer_that_takes_messages_is_soon_dialled_again() -> None:
    """MQQB-182: that it answers is not enough."""
    net, a, b = pair()
    b.die()
    queue = a.out(TO_C)
    a.send(queue, *messages("1", "2"))
    net.wait(1)
    way = a.transport.peer_of(queue)
    assert way is not None
    failures = way.failures
    assert failures
    peer = Peer()
    net.listeners["10.0.0.3", PORT] = peer.meet
    net.wait(5)
    peer.send(establish(a.local.identity, PEER), parameters(window=64))
    net.run()
    assert bodies(peer.packets()) == ["1", "2"]
    peer.send(ack(0))
    net.run()
    assert way.failures >= failures, "nothing was taken"
    peer.send(ack(1, 1, 1))
    net.run()
    assert way.failures == 0


def test_people_see_where_messages_go() -> None:
    """Who has connected from somewhere is not found at that port."""
    net, a, b = pair()
    a.send(a.out(r"DIRECT=OS:b\private$\q"), Message("1"))
    net.wait(1)
    assert [link.next_hop for link in a.transport.links] == [f"{b.host}:{PORT}"]
    assert [link.next_hop for link in b.transport.links] == [a.host]
