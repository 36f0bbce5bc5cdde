"""One session against a scripted peer, and two joined to each other."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.samples import MESSAGES, patch, user_message
from tests.unit.transports.mqqb.joined import (
    EXPRESS_PACKET,
    ORDER_ACK,
    OWN,
    PEER,
    RECOVERABLE_PACKET,
    START,
    STRANGER,
    Pair,
    acceptor,
    ack,
    acknowledged,
    acks,
    establish,
    initiator,
    message,
    only,
    opened,
    outgoing,
    packets,
    parameters,
    reason,
    run_until,
    session_in,
    with_header,
)

from openmsmq.packet.connection import ConnectionParameters, EstablishConnection
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import PADDING, EstablishConnectionHeader
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.message import UserMessage
from openmsmq.transports.mqqb.events import (
    Acknowledged,
    Arrived,
    Closed,
    GroupArrived,
    Opened,
    Outgoing,
    SessionEnd,
)
from openmsmq.transports.mqqb.session import Session
from openmsmq.transports.mqqb.states import SessionState
from openmsmq.transports.mqqb.timers import SessionTimers

MS = 1000
BEFORE_OPEN = [
    SessionState.WAITING_EC,
    SessionState.WAITING_ECR,
    SessionState.WAITING_CP,
    SessionState.WAITING_CPR,
]


# Establishing, as acceptor


def test_an_accepted_connection_waits_to_be_spoken_to() -> None:
    """MQQB-185, MQQB-192."""
    session = acceptor()
    assert session.state is SessionState.WAITING_EC
    assert session.data_to_send() == b""
    assert session.take_events() == []
    assert session.room == 0
    assert session.next_deadline == START + 60


@pytest.mark.parametrize("server", [OWN, NO_GUID])
def test_one_that_means_us_or_no_one_in_particular_is_answered(server: UUID) -> None:
    """MQQB-186, MQQB-187, MQQB-188, MQQB-037, AMB-3."""
    session = acceptor()
    session.receive_data(establish(PEER, server, time_stamp=0xFEDCBA98), START)
    answer = only(session, EstablishConnection)
    assert not answer.refused
    assert answer.header == EstablishConnectionHeader(PEER, OWN, 0xFEDCBA98, 0x0310, 0, PADDING)
    assert (session.state, session.peer) == (SessionState.WAITING_CP, PEER)


def test_one_that_means_another_is_refused_by_our_name() -> None:
    """MQQB-188, AMB-24: an answer with CS, and the end."""
    session = acceptor()
    session.receive_data(establish(PEER, STRANGER, time_stamp=7) + parameters(), START)
    answer = only(session, EstablishConnection)
    assert answer.refused
    assert answer.header == EstablishConnectionHeader(PEER, OWN, 7, 0x0310)
    assert session.take_events() == [Closed(SessionEnd.NOT_HERE, str(STRANGER))]
    assert session.next_deadline is None


def test_one_that_comes_when_there_are_too_many_is_refused() -> None:
    """MQQB-189, AMB-24."""
    session = Session(OWN, now=START, is_initiator=False, refuses=True)
    session.receive_data(establish(), START)
    answer = only(session, EstablishConnection)
    assert answer.refused
    assert answer.header.server_guid == OWN
    assert session.take_events() == [Closed(SessionEnd.TOO_MANY)]


def test_parameters_open_the_session_and_are_answered_with_our_window() -> None:
    """MQQB-190, MQQB-191, MQQB-360."""
    session = session_in(SessionState.WAITING_CP)
    session.receive_data(parameters(1496, 30_000, 48), START + 1)
    answer = only(session, ConnectionParameters)
    assert not answer.refused
    assert answer.header == ConnectionParametersHeader(1496, 30_000, window_size=2048)
    assert session.take_events() == [Opened(PEER)]
    assert session.is_open
    assert (session.ack_wait, session.recoverable_ack, session.room) == (30, 1.496, 48)
    assert session.next_deadline == START + 1 + 300, "only the cleanup timer runs"


@pytest.mark.parametrize(
    ("sent", "ack_wait", "recoverable_ack", "room", "patience"),
    [
        ((0, 0, 0), 0, 0, 1, 40),
        ((499, 19_999, 1), 19.999, 0.499, 1, 40),
        ((120_001, 120_001, 2049), 120, 120, 2048, 240),
        ((0xFFFFFFFF, 0xFFFFFFFF, 0xFFFF), 120, 120, 2048, 240),
    ],
)
def test_parameters_beyond_reason_are_echoed_and_used_as_far_as_they_make_sense(
    sent: tuple[int, int, int], ack_wait: float, recoverable_ack: float, room: int, patience: float
) -> None:
    """MQQB-190, AMB-26: small ones as they are for what we send, but not for what we wait for."""
    session = session_in(SessionState.WAITING_CP)
    session.receive_data(parameters(*sent), START)
    answer = only(session, ConnectionParameters).header
    assert (answer.recoverable_ack_timeout_ms, answer.ack_timeout_ms) == sent[:2]
    assert (session.ack_wait, session.recoverable_ack) == (ack_wait, recoverable_ack)
    assert session.room == room
    session.send(outgoing(1), START)
    assert session.next_deadline == START + patience


def test_time_outs_of_nothing_acknowledge_at_once_and_do_not_run_in_circles() -> None:
    """AMB-26."""
    session = opened(ack_timeout=0, recoverable_ack=0)
    session.receive_data(RECOVERABLE_PACKET, START)
    run_until(session, START)
    assert [header.ack_sequence_number for header in acks(session)] == [1]
    session.stored(1, START)
    run_until(session, START)
    assert [header.recoverable_msg_ack_flags for header in acks(session)] == [1]


# Establishing, as initiator


@pytest.mark.parametrize("peer", [NO_GUID, PEER])
def test_an_initiator_speaks_first(peer: UUID) -> None:
    """MQQB-175, MQQB-176, MQQB-033, MQQB-034: nil for the one who a direct name leads to."""
    session = Session(OWN, now=START, is_initiator=True, peer=peer)
    request = only(session, EstablishConnection)
    assert not request.refused
    assert request.header == EstablishConnectionHeader(OWN, peer, int(START) * MS, 0x0310)
    assert session.state is SessionState.WAITING_ECR
    assert session.next_deadline == START + 60


@pytest.mark.parametrize("now", [5_000_000.0, 0xFFFFFFFF / MS])
def test_a_long_uptime_wraps(now: float) -> None:
    """MQQB-175, MQQB-178: and so does the time it takes."""
    session = Session(OWN, now=now, is_initiator=True)
    stamp = only(session, EstablishConnection).header.time_stamp
    assert stamp == int(now * MS) & 0xFFFFFFFF
    session.receive_data(establish(OWN, PEER, time_stamp=stamp), now + 0.25)
    assert session.recoverable_ack == 2


@pytest.mark.parametrize("wanted", [NO_GUID, PEER])
def test_the_answer_is_followed_by_parameters(wanted: UUID) -> None:
    """MQQB-177, MQQB-178, MQQB-179, AMB-25: eight round trips, 20 s, our window."""
    session = initiator(peer=wanted)
    session.receive_data(establish(OWN, PEER, time_stamp=int(START) * MS), START + 0.187)
    request = only(session, ConnectionParameters)
    assert request.header == ConnectionParametersHeader(1496, 20_000, window_size=2048)
    assert (session.state, session.peer) == (SessionState.WAITING_CPR, PEER)
    assert session.recoverable_ack == 1.496


def test_the_answer_to_the_parameters_opens_the_session() -> None:
    """MQQB-180."""
    session = session_in(SessionState.WAITING_CPR)
    session.receive_data(parameters(9999, 99_999, 10), START + 1)
    assert session.data_to_send() == b""
    assert session.take_events() == [Opened(PEER)]
    assert (session.room, session.ack_wait) == (10, 20), "the initiator chose the time-outs"
    assert session.next_deadline == START + 1 + 300


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        (establish(OWN, PEER, refused=True), SessionEnd.REFUSED),
        (establish(OWN, STRANGER), SessionEnd.UNEXPECTED),
        (establish(STRANGER, PEER), SessionEnd.UNEXPECTED),
        (establish(PEER, OWN), SessionEnd.UNEXPECTED),
    ],
    ids=["refused", "from a stranger", "to a stranger", "a request"],
)
def test_a_wrong_answer_is_the_end(answer: bytes, end: SessionEnd) -> None:
    """MQQB-177, AMB-25."""
    session = initiator(peer=PEER)
    session.receive_data(answer, START)
    assert reason(session) is end
    assert session.data_to_send() == b""


def test_an_acceptor_may_refuse_the_parameters() -> None:
    """MQQB-180."""
    session = session_in(SessionState.WAITING_CPR)
    session.receive_data(parameters(refused=True), START)
    assert reason(session) is SessionEnd.REFUSED


# What must not come


@pytest.mark.parametrize("packet", [EXPRESS_PACKET, MESSAGES["session"].encode()])
def test_a_message_instead_of_a_greeting_is_answered(packet: bytes) -> None:
    """MQQB-225: an empty SessionAck, and the end."""
    session = acceptor()
    session.receive_data(packet + packet, START)
    assert acks(session) == [SessionHeader(window_size=2048)]
    (closed,) = session.take_events()
    assert isinstance(closed, Closed)
    assert closed.reason is SessionEnd.UNEXPECTED


def test_no_one_is_here_for_a_malformed_message() -> None:
    """MQQB-010: not a byte."""
    session = acceptor()
    session.receive_data(patch(EXPRESS_PACKET, 60, bytes(4)), START)
    assert session.data_to_send() == b""
    assert reason(session) is SessionEnd.BAD_PACKET


def test_a_message_instead_of_a_greeting_need_not_be_answered() -> None:
    """MQQB-225."""
    session = acceptor(answers_early=False)
    session.receive_data(EXPRESS_PACKET, START)
    assert session.data_to_send() == b""
    assert reason(session) is SessionEnd.UNEXPECTED


@pytest.mark.parametrize("state", [*BEFORE_OPEN, SessionState.OPEN])
@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "VersionNumber"),
        (patch(EXPRESS_PACKET, 4, b"LIAR"), "Signature"),
        (patch(EXPRESS_PACKET, 8, b"\xff\xff\xff\x7f"), "PacketSize"),
        (patch(ack(), 18, b"\x04\0"), "InternalHeader.Flags"),
        (patch(EXPRESS_PACKET, 60, bytes(4)), "UserHeader.Flags"),
    ],
    ids=["version", "signature", "size", "type", "message"],
)
def test_what_is_no_packet_is_the_end_and_the_end_says_why(
    state: SessionState, data: bytes, field: str
) -> None:
    """MQQB-010, MQQB-013, MQQB-015, MQQB-027."""
    session = session_in(state)
    session.take_events()
    session.receive_data(data + EXPRESS_PACKET, START)
    (closed,) = session.take_events()
    assert isinstance(closed, Closed)
    assert closed.reason is SessionEnd.BAD_PACKET
    assert field in closed.detail
    assert session.data_to_send() == b""


def test_messages_before_a_bad_packet_arrive() -> None:
    """MQQB-010."""
    session = opened()
    session.receive_data(EXPRESS_PACKET + b"\0" * 16 + EXPRESS_PACKET, START)
    kinds = [type(event) for event in session.take_events()]
    assert kinds == [Arrived, Closed]


def test_nothing_happens_after_the_end() -> None:
    """MQQB-344: no packet, no event, no timer, and no byte is kept."""
    session = opened()
    session.receive_data(RECOVERABLE_PACKET, START)
    session.close(SessionEnd.LOST, "reset")
    assert session.take_events()[-1] == Closed(SessionEnd.LOST, "reset")
    pending = session.pending
    session.receive_data(EXPRESS_PACKET[:50], START)
    session.stored(1, START)
    session.pause()
    session.tick(START + 1000)
    session.close(SessionEnd.STOPPED)
    assert session.data_to_send() == b""
    assert session.take_events() == []
    assert (session.next_deadline, session.room, session.pending) == (None, 0, pending)


# Timers 1 and 2


@pytest.mark.parametrize("state", BEFORE_OPEN)
def test_a_session_that_is_not_established_in_time_ends(state: SessionState) -> None:
    """MQQB-184, MQQB-185, AMB-21: a minute from the connection on, whatever came."""
    session = session_in(state)
    assert session.next_deadline == START + 60
    session.tick(START + 59.9)
    assert not session.is_over
    session.tick(START + 60)
    assert reason(session) is SessionEnd.SLOW


def test_an_open_session_is_in_no_hurry() -> None:
    """MQQB-180, MQQB-191."""
    session = opened()
    session.tick(START + 61)
    assert session.is_open


def test_an_idle_session_ends() -> None:
    """MQQB-338."""
    session = opened()
    session.tick(START + 299.9)
    assert session.is_open
    session.tick(START + 300)
    assert reason(session) is SessionEnd.IDLE


def test_a_session_that_was_used_lives_on_for_another_period() -> None:
    """MQQB-201, MQQB-338: a message that came or went."""
    session = opened()
    session.receive_data(EXPRESS_PACKET, START + 1)
    run_until(session, START + 599)
    assert session.is_open
    session.send(outgoing(1), START + 599)
    session.receive_data(ack(1, sent=1), START + 599)
    run_until(session, START + 899)
    assert session.is_open
    run_until(session, START + 1200)
    assert reason(session) is SessionEnd.IDLE


def test_acknowledgements_do_not_keep_a_session_alive() -> None:
    """MQQB-338."""
    session = opened()
    session.receive_data(ack(), START + 299)
    session.tick(START + 300)
    assert reason(session) is SessionEnd.IDLE


# Timer 4


@pytest.mark.parametrize(("is_direct", "patience"), [(True, 60), (False, 30)])
def test_a_session_without_acknowledgements_ends(is_direct: bool, patience: float) -> None:
    """MQQB-201, MQQB-340, MQQB-342: twice as late for direct names."""
    session = opened(ack_timeout=30_000, is_direct=is_direct)
    session.send(outgoing(1), START)
    session.send(outgoing(1), START + 10)
    assert session.next_deadline == START + patience, "it is started if it is stopped"
    run_until(session, START + 2 * patience - 0.1)
    assert session.is_open, "the handshake was heard in the first period"
    run_until(session, START + 2 * patience)
    assert reason(session) is SessionEnd.SILENT


def test_any_packet_means_that_the_peer_is_there() -> None:
    """MQQB-011, MQQB-341: for one more period."""
    session = opened()
    session.send(outgoing(1), START)
    run_until(session, START + 39)
    session.receive_data(EXPRESS_PACKET, START + 39)
    run_until(session, START + 79)
    assert session.is_open
    run_until(session, START + 80)
    assert reason(session) is SessionEnd.SILENT


def test_a_session_that_ends_acknowledges_nothing() -> None:
    """MQQB-344: even if both are due, since the machine was asleep."""
    session = opened()
    session.send(outgoing(1), START)
    session.data_to_send()
    session.receive_data(EXPRESS_PACKET, START + 39)
    session.tick(START + 40)
    session.tick(START + 80)
    assert reason(session) is SessionEnd.SILENT
    assert session.data_to_send() == b""


def test_some_bytes_of_a_large_message_are_a_sign_of_life() -> None:
    """MQQB-341: one that takes minutes to come is no silence."""
    session = opened()
    session.send(outgoing(1), START)
    run_until(session, START + 41)
    session.receive_data(EXPRESS_PACKET[:20], START + 79)
    assert session.pending == 20
    run_until(session, START + 81)
    assert session.is_open


def test_an_acknowledgement_of_some_starts_the_wait_anew() -> None:
    """MQQB-223."""
    session = opened()
    session.send(outgoing(2), START)
    session.receive_data(ack(1), START + 30)
    assert session.next_deadline == START + 70


def test_an_acknowledgement_of_all_ends_the_wait() -> None:
    """MQQB-223, MQQB-339."""
    session = opened()
    session.send(outgoing(2), START)
    session.receive_data(ack(2), START + 30)
    assert session.next_deadline == START + 300
    run_until(session, START + 299)
    assert session.is_open


def test_a_recoverable_message_is_waited_for_until_it_is_stored() -> None:
    """MQQB-217, MQQB-223, MQQB-340."""
    session = opened()
    session.send(outgoing(1, recoverable=True), START)
    session.receive_data(ack(1), START + 5)
    assert session.next_deadline == START + 45
    run_until(session, START + 85)
    assert reason(session) is SessionEnd.SILENT


def test_a_session_that_waits_is_not_idle() -> None:
    """MQQB-338."""
    session = opened(ack_timeout=120_000)
    session.send(outgoing(1, recoverable=True), START)
    for seconds in range(100, 700, 100):
        session.receive_data(ack(1), START + seconds)
        run_until(session, START + seconds)
    assert session.is_open


# Timer 5 and acknowledgements that we send


def test_express_messages_are_acknowledged_after_half_of_the_peers_patience() -> None:
    """MQQB-206, MQQB-209, MQQB-107: one SessionAck for all, counted from the first."""
    session = opened()
    session.receive_data(EXPRESS_PACKET, START)
    session.receive_data(EXPRESS_PACKET, START + 3)
    assert session.next_deadline == START + 10
    session.tick(START + 9.9)
    assert acks(session) == []
    session.tick(START + 10)
    assert acks(session) == [SessionHeader(2, 0, 0, 0, 0, 2048)]
    assert session.next_deadline == START + 300


def test_nothing_is_acknowledged_twice() -> None:
    """MQQB-207, MQQB-208, AMB-53."""
    session = opened()
    session.receive_data(EXPRESS_PACKET, START)
    run_until(session, START + 299)
    assert len(acks(session)) == 1


def test_stored_messages_are_acknowledged_sooner() -> None:
    """MQQB-206, MQQB-210: the timer starts again when the first is stored, and only then."""
    session = opened(recoverable_ack=2000)
    session.receive_data(RECOVERABLE_PACKET * 2, START)
    assert session.next_deadline == START + 10
    session.stored(1, START + 1)
    assert session.next_deadline == START + 3
    session.stored(2, START + 2)
    assert session.next_deadline == START + 3
    run_until(session, START + 3)
    assert acks(session) == [SessionHeader(2, 1, 0b11, 0, 0, 2048)]


def test_nothing_recoverable_is_acknowledged_before_it_is_stored() -> None:
    """MQQB-212: it is counted, and no more."""
    session = opened()
    session.receive_data(RECOVERABLE_PACKET * 3, START)
    run_until(session, START + 10)
    assert acks(session) == [SessionHeader(3, 0, 0, 0, 0, 2048)]
    session.stored(2, START + 20)
    run_until(session, START + 20.5)
    assert acks(session) == [SessionHeader(3, 1, 0b11, 0, 0, 2048)]
    run_until(session, START + 200)
    assert acks(session) == []
    session.stored(3, START + 200)
    run_until(session, START + 201)
    assert acks(session) == [SessionHeader(3, 3, 0b1, 0, 0, 2048)]


def test_a_long_round_trip_does_not_put_acknowledgements_off() -> None:
    """MQQB-210: the peer would have given up by then."""
    session = opened(recoverable_ack=120_000)
    session.receive_data(RECOVERABLE_PACKET, START)
    session.stored(1, START + 9)
    assert session.next_deadline == START + 10
    run_until(session, START + 10)
    assert len(acks(session)) == 1
    session.receive_data(RECOVERABLE_PACKET, START + 20)
    run_until(session, START + 30)
    session.stored(2, START + 31)
    assert session.next_deadline == START + 41


def test_express_messages_are_acknowledged_at_half_of_the_window() -> None:
    """MQQB-213, AMB-29: the peer need not wait for a timer."""
    session = opened(window=64)
    session.receive_data(EXPRESS_PACKET * 31, START)
    assert acks(session) == []
    session.receive_data(EXPRESS_PACKET * 34, START)
    assert [header.ack_sequence_number for header in acks(session)] == [65]
    session.receive_data(EXPRESS_PACKET, START)
    assert acks(session) == [], "the next ones wait again"


@pytest.mark.parametrize("packet", [EXPRESS_PACKET, RECOVERABLE_PACKET])
def test_so_are_express_messages_that_are_alike_and_come_together(packet: bytes) -> None:
    """MQQB-213, AMB-29: not recoverable ones, which are stored first."""
    session = opened(window=64)
    together = b"".join(patch(packet, 56, number.to_bytes(4, "little")) for number in range(1, 41))
    session.receive_data(together, START)
    assert any(isinstance(event, GroupArrived) for event in session.take_events())
    expected = [40] if packet is EXPRESS_PACKET else []
    assert [header.ack_sequence_number for header in acks(session)] == expected


def test_recoverable_messages_are_acknowledged_at_half_of_the_window_when_stored() -> None:
    """MQQB-212, MQQB-213, AMB-29."""
    session = opened(window=8)
    session.receive_data(RECOVERABLE_PACKET * 5, START)
    assert acks(session) == []
    session.stored(1, START)
    assert acks(session) == [SessionHeader(5, 1, 1, 0, 0, 2048)]


@pytest.mark.parametrize("packet", [EXPRESS_PACKET, with_header(SessionHeader(0, 0, 0, 1, 0, 1))])
def test_a_window_of_one_has_every_message_acknowledged_at_once(packet: bytes) -> None:
    """MQQB-213, AMB-29: even one that takes an acknowledgement along."""
    session = opened(window=1)
    session.receive_data(packet, START)
    assert [header.ack_sequence_number for header in acks(session)] == [1]


def test_32_stored_messages_are_acknowledged_at_once() -> None:
    """MQQB-211, AMB-28: and the one that comes next is not among them."""
    session = opened(window=2048)
    session.receive_data(RECOVERABLE_PACKET * 33, START)
    for number in range(1, 32):
        session.stored(number, START)
    assert acks(session) == []
    session.stored(32, START)
    assert acks(session) == [SessionHeader(33, 1, 0xFFFFFFFF, 0, 0, 2048)]
    session.stored(33, START)
    run_until(session, START + 0.5)
    assert acks(session) == [SessionHeader(33, 33, 0b1, 0, 0, 2048)]


def test_many_messages_stored_at_once_take_several_acknowledgements() -> None:
    """MQQB-109, MQQB-206, MQQB-211."""
    session = opened(window=2048)
    session.receive_data(RECOVERABLE_PACKET * 100, START)
    session.stored(100, START)
    found = [(h.recoverable_msg_ack_seq_number, h.recoverable_msg_ack_flags) for h in acks(session)]
    assert found == [(1, 0xFFFFFFFF), (33, 0xFFFFFFFF), (65, 0xFFFFFFFF), (97, 0b1111)]
    run_until(session, START + 299)
    assert acks(session) == []


def test_transactional_messages_count_as_recoverable() -> None:
    """MQQB-115: they are sent with DM set."""
    packet = user_message(flags=1 << 5, transaction=MESSAGES["transaction"].transaction).encode()
    session = opened()
    session.receive_data(packet, START)
    (arrived,) = session.take_events()
    assert arrived == Arrived(packet, 1)


TRANSACTION = MESSAGES["transaction"].transaction
assert TRANSACTION is not None


@pytest.mark.parametrize("state", [SessionState.WAITING_EC, SessionState.OPEN])
@pytest.mark.parametrize(
    ("mode", "transaction", "said"),
    [
        (2, None, "UserHeader.Flags at offset 60: DM is 2"),
        (3, None, "UserHeader.Flags at offset 60: DM is 3"),
        (2, TRANSACTION, "UserHeader.Flags at offset 60: DM is 2"),
        (0, TRANSACTION, "UserHeader.Flags at offset 60: DM is 0"),
        (1, replace(TRANSACTION, tx_sequence_number=0), "TxSequenceNumber at offset"),
    ],
    ids=["2", "3", "2 in a transaction", "express in a transaction", "number 0"],
)
def test_a_delivery_mode_that_does_not_exist_is_the_end(
    state: SessionState, mode: int, transaction: TransactionHeader | None, said: str
) -> None:
    """MQQB-047, MQQB-081, MQQB-010: malformed, neither delivered nor acknowledged."""
    message = user_message(flags=mode << 5, transaction=transaction)
    session = session_in(state)
    session.take_events()
    session.receive_data(message.encode() + EXPRESS_PACKET, START)
    (closed,) = session.take_events()
    assert isinstance(closed, Closed)
    assert closed.reason is SessionEnd.BAD_PACKET
    assert said in closed.detail
    assert session.data_to_send() == b""


# Acknowledgements that go with messages


@pytest.mark.parametrize(("seconds", "goes_along"), [(7.5, False), (7.6, True)])
def test_a_message_takes_an_acknowledgement_along_that_is_soon_due(
    seconds: float, goes_along: bool
) -> None:
    """MQQB-202, MQQB-110, MQQB-006: after three quarters of the wait, outside of PacketSize."""
    session = opened()
    session.receive_data(EXPRESS_PACKET, START)
    session.send(outgoing(2, recoverable=True), START + seconds)
    data = session.data_to_send()
    header = SessionHeader(1, 0, 0, 1, 1, 2048)
    first = message(1, recoverable=True)
    if goes_along:
        first = patch(first, 2, b"\x13") + header.pack()
    assert data == first + message(2, recoverable=True)
    run_until(session, START + 10)
    assert len(acks(session)) == (not goes_along), "what was taken along is not sent again"


def test_a_message_takes_acknowledgements_of_stored_messages_along() -> None:
    """MQQB-202, MQQB-208, MQQB-210: three quarters of the shorter wait."""
    session = opened(recoverable_ack=1000)
    session.receive_data(RECOVERABLE_PACKET * 2, START)
    session.stored(2, START + 5)
    session.send(outgoing(1), START + 5.7)
    assert only(session, UserMessage).session is None
    session.send(outgoing(1), START + 5.8)
    assert only(session, UserMessage).session == SessionHeader(2, 1, 0b11, 2, 0, 2048)
    session.send(outgoing(1), START + 5.9)
    assert only(session, UserMessage).session is None
    session.receive_data(EXPRESS_PACKET, START + 6)
    assert session.next_deadline == START + 16, "the wait starts anew"


def test_a_message_stored_after_its_acknowledgement_went_along_is_reported() -> None:
    """MQQB-212."""
    session = opened()
    session.receive_data(RECOVERABLE_PACKET, START)
    session.send(outgoing(1), START + 9)
    assert only(session, UserMessage).session == SessionHeader(1, 0, 0, 1, 0, 2048)
    session.stored(1, START + 9)
    run_until(session, START + 9.5)
    assert acks(session) == [SessionHeader(1, 1, 1, 1, 0, 2048)]


def test_order_and_final_acks_take_nothing_along() -> None:
    """MQQB-117, MQQB-202, AMB-54: they are known by a BaseHeader without flags."""
    session = opened()
    session.receive_data(EXPRESS_PACKET, START)
    session.send([Outgoing(ORDER_ACK, 1, False)], START + 9)
    assert session.data_to_send() == ORDER_ACK
    run_until(session, START + 10)
    assert acks(session) == [SessionHeader(1, 0, 0, 1, 0, 2048)]


# Acknowledgements that come


def test_acknowledged_messages_are_reported() -> None:
    """MQQB-215, MQQB-216, MQQB-217."""
    session = opened()
    session.send(outgoing(2), START)
    session.send(outgoing(2, recoverable=True, first=3), START)
    session.receive_data(ack(3), START)
    assert acknowledged(session) == [1, 2]
    session.receive_data(ack(4, 1, 0b11), START)
    assert acknowledged(session) == [3, 4]
    session.receive_data(ack(4), START)
    assert session.take_events() == [], "nothing new is no event"


def test_an_acknowledgement_that_comes_with_a_message_counts() -> None:
    """MQQB-222, MQQB-224, MQBR-118: the message comes without it, and goes on without it."""
    session = opened()
    session.send(outgoing(1), START)
    session.receive_data(with_header(SessionHeader(1, 0, 0, 1, 0, 64)), START)
    arrived, reported = session.take_events()
    assert arrived == Arrived(EXPRESS_PACKET, 0)
    assert reported == Acknowledged([1])


def test_a_session_header_inside_of_the_size_is_understood() -> None:
    """AMB-1, MQQB-006: and the message is the same."""
    header = SessionHeader(0, 0, 0, 1, 0, 64)
    inside = user_message(session=header, session_is_inside=True).encode()
    session = opened()
    session.receive_data(inside + EXPRESS_PACKET, START)
    assert session.take_events() == [Arrived(EXPRESS_PACKET, 0)] * 2


@pytest.mark.parametrize(("sent", "recoverable_sent"), [(1, 0), (3, 1), (2, 0), (2, 2)])
def test_counts_that_do_not_match_are_the_end(sent: int, recoverable_sent: int) -> None:
    """MQQB-221: but what was acknowledged is."""
    session = opened()
    session.send(outgoing(1), START)
    session.receive_data(EXPRESS_PACKET + RECOVERABLE_PACKET, START)
    session.take_events()
    session.receive_data(ack(1, sent=sent, recoverable_sent=recoverable_sent), START)
    reported, closed = session.take_events()
    assert reported == Acknowledged([1])
    assert isinstance(closed, Closed)
    assert closed.reason is SessionEnd.MISMATCH
    assert session.data_to_send() == message(1)


def test_a_message_with_counts_that_do_not_match_arrives_all_the_same() -> None:
    """MQQB-222."""
    session = opened(window=1)
    session.receive_data(with_header(SessionHeader(0, 0, 0, 7, 0, 64)), START)
    kinds = [type(event) for event in session.take_events()]
    assert kinds == [Arrived, Closed]
    assert session.data_to_send() == b"", "nothing is acknowledged after the end"


def test_an_acknowledgement_of_what_was_never_sent_changes_nothing() -> None:
    """MQQB-215, MQQB-217, AMB-32."""
    session = opened()
    session.send(outgoing(1, recoverable=True), START)
    session.receive_data(ack(2, 2, 0xFFFFFFFF), START)
    assert acknowledged(session) == []
    assert session.room == 63


# The window


def test_there_is_room_for_as_many_as_the_smaller_window_takes() -> None:
    """MQQB-195, AMB-19."""
    session = opened(window=64, timing=SessionTimers(window=10))
    session.send(outgoing(10), START)
    assert session.room == 0
    session.receive_data(ack(4), START)
    assert session.room == 4


def test_a_peer_may_make_its_window_smaller_for_a_while() -> None:
    """MQQB-359, AMB-49: it doubles every half minute."""
    session = opened(window=64)
    session.receive_data(ack(window=1), START)
    rooms = []
    for _ in range(6):
        rooms.append(session.room)
        at = session.next_deadline
        assert at is not None
        session.tick(at)
    assert rooms == [1, 2, 4, 8, 16, 32]
    assert session.room == 64
    assert session.next_deadline == START + 300


def test_pausing_tells_the_peer_to_send_one_at_a_time() -> None:
    """MQQB-356: what came is acknowledged with it, and the session counts as idle."""
    session = opened()
    session.receive_data(EXPRESS_PACKET + RECOVERABLE_PACKET, START)
    session.stored(1, START)
    session.pause()
    assert acks(session) == [SessionHeader(2, 1, 1, 0, 0, 1)]
    assert session.next_deadline == START + 300
    run_until(session, START + 299)
    assert acks(session) == []
    run_until(session, START + 300)
    assert reason(session) is SessionEnd.IDLE


def test_nothing_is_paused_before_it_is_open() -> None:
    session = acceptor()
    session.pause()
    assert session.data_to_send() == b""


# Two sessions


def test_two_sessions_come_to_terms() -> None:
    """MQQB-180, MQQB-191."""
    pair = Pair(far=SessionTimers(window=100))
    assert pair.near.events == [Opened(PEER)]
    assert pair.far.events == [Opened(OWN)]
    assert [side.session.room for side in pair] == [100, 100]


def test_express_messages_go_both_ways() -> None:
    """MQQB-206, MQQB-215, MQQB-227."""
    pair = Pair()
    for side in pair:
        side.session.send(outgoing(3), pair.now)
    pair.carry()
    assert [side.arrived for side in pair] == [[1, 2, 3]] * 2
    assert [side.acknowledged for side in pair] == [[], []]
    pair.wait(10)
    assert [side.acknowledged for side in pair] == [[1, 2, 3]] * 2
    pair.wait(590)
    assert [side.session.is_over for side in pair] == [True, True]


def test_numbers_come_around_more_than_once() -> None:
    """MQQB-114, AMB-32: 70,000 messages, every other one recoverable."""
    pair = Pair()
    count = 70_000
    numbers = 0
    while numbers < count:
        room = min(pair.near.session.room, count - numbers)
        assert room, "early acknowledgements make room without a timer"
        batch = [
            Outgoing(RECOVERABLE_PACKET, n, True) if n % 2 else Outgoing(EXPRESS_PACKET, n, False)
            for n in range(numbers, numbers + room)
        ]
        numbers += room
        pair.near.session.send(batch, pair.now)
        pair.far.events.clear()
        pair.carry()
        pair.store(pair.far)
        pair.carry()
    pair.wait(1)
    assert pair.far.session.inbound.received == count
    assert pair.near.session.outbound.sent == count & 0xFFFF
    assert sorted(map(hash, pair.near.acknowledged)) == list(range(count))
    assert not pair.near.session.outbound.is_waiting
    assert pair.near.session.is_open


def test_recoverable_numbers_come_around_too() -> None:
    """MQQB-114, MQQB-217, AMB-32."""
    pair = Pair()
    count = 66_000
    for start in range(0, count, 1000):
        batch = [Outgoing(RECOVERABLE_PACKET, n, True) for n in range(start, start + 1000)]
        pair.near.session.send(batch, pair.now)
        pair.far.events.clear()
        pair.carry()
        pair.far.session.stored(start + 1000, pair.now)
        pair.carry()
    assert pair.near.acknowledged == list(range(count))
    assert pair.near.session.outbound.recoverable_sent == count & 0xFFFF
    assert pair.near.session.is_open


def test_handshake_and_messages_may_come_byte_by_byte() -> None:
    """MQQB-001."""
    data = establish() + parameters() + message(1) + message(2, recoverable=True)
    session = acceptor()
    for place in range(len(data)):
        session.receive_data(data[place : place + 1], START)
    assert session.take_events() == [
        Opened(PEER),
        Arrived(message(1), 0),
        Arrived(message(2, recoverable=True), 1),
    ]
    assert [type(packet) for packet in packets(session)] == [
        EstablishConnection,
        ConnectionParameters,
    ]


def test_the_part_of_a_packet_goes_with_its_session() -> None:
    session = opened()
    session.receive_data(message()[:-1], START)
    assert session.pending
    session.close(SessionEnd.PENDING)
    assert session.pending == 0
