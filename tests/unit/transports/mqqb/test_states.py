"""The legal moves of a session, for every pair of state and packet kind."""

from __future__ import annotations

from itertools import product

import pytest
from tests.unit.transports.mqqb.joined import (
    EXPRESS_PACKET,
    FINAL_ACK,
    ORDER_ACK,
    OWN,
    PEER,
    START,
    ack,
    establish,
    packets,
    parameters,
    reason,
    session_in,
)

from openmsmq.packet.connection import ConnectionParameters, EstablishConnection
from openmsmq.packet.packet import Packet
from openmsmq.transports.mqqb.events import Arrived, Event, Opened, SessionEnd
from openmsmq.transports.mqqb.states import MOVES, PacketKind, SessionAction, SessionState

S, K = SessionState, PacketKind

LEGAL: dict[
    tuple[SessionState, PacketKind], tuple[SessionState, type[Packet] | None, type[Event] | None]
] = {
    (S.WAITING_EC, K.ESTABLISH_CONNECTION): (S.WAITING_CP, EstablishConnection, None),
    (S.WAITING_ECR, K.ESTABLISH_CONNECTION): (S.WAITING_CPR, ConnectionParameters, None),
    (S.WAITING_CP, K.CONNECTION_PARAMETERS): (S.OPEN, ConnectionParameters, Opened),
    (S.WAITING_CPR, K.CONNECTION_PARAMETERS): (S.OPEN, None, Opened),
    (S.OPEN, K.SESSION_ACK): (S.OPEN, None, None),
    (S.OPEN, K.ORDER_ACK): (S.OPEN, None, Arrived),
    (S.OPEN, K.FINAL_ACK): (S.OPEN, None, Arrived),
    (S.OPEN, K.USER_MESSAGE): (S.OPEN, None, Arrived),
}
"Which state follows, what is sent, and what is reported."
PACKETS = {
    K.CONNECTION_PARAMETERS: parameters(),
    K.SESSION_ACK: ack(),
    K.ORDER_ACK: ORDER_ACK,
    K.FINAL_ACK: FINAL_ACK,
    K.USER_MESSAGE: EXPRESS_PACKET,
}
MESSAGES = (K.ORDER_ACK, K.FINAL_ACK, K.USER_MESSAGE)
PAIRS = list(product(SessionState, PacketKind))
ILLEGAL = [pair for pair in PAIRS if pair not in LEGAL and pair[0] is not S.CLOSED]


def packet_for(state: SessionState, kind: PacketKind) -> bytes:
    """A well-formed packet; an initiator gets the answer to its EstablishConnection."""
    if kind is K.ESTABLISH_CONNECTION:
        return establish(OWN, PEER) if state is S.WAITING_ECR else establish()
    return PACKETS[kind]


def test_the_table_names_every_pair_of_state_and_packet() -> None:
    assert [(state, kind) for state in MOVES for kind in MOVES[state]] == PAIRS
    assert all(MOVES[state][kind].section.startswith("3.1.5.") for state, kind in PAIRS)


def test_the_table_allows_what_the_specification_allows() -> None:
    """[MS-MQQB] 3.1.5.3 to 3.1.5.8: each packet has its states, and no others."""
    refused = (SessionAction.CLOSE, SessionAction.IGNORE)
    legal = {pair for pair in PAIRS if MOVES[pair[0]][pair[1]].action not in refused}
    assert legal == LEGAL.keys()
    for (state, kind), (following, _, _) in LEGAL.items():
        assert MOVES[state][kind].next is following


@pytest.mark.parametrize(("state", "kind"), LEGAL)
def test_a_legal_packet_does_what_the_specification_says(
    state: SessionState, kind: PacketKind
) -> None:
    """[MS-MQQB] 3.1.5.3.1, .3.2, .4.1, .4.2, 3.1.5.5 to 3.1.5.8."""
    following, answer, event = LEGAL[state, kind]
    session = session_in(state)
    session.receive_data(packet_for(state, kind), START)
    assert session.state is following
    assert [type(packet) for packet in packets(session)] == ([] if answer is None else [answer])
    assert [type(found) for found in session.take_events()] == ([] if event is None else [event])


@pytest.mark.parametrize(("state", "kind"), ILLEGAL)
def test_an_illegal_packet_closes_the_session(state: SessionState, kind: PacketKind) -> None:
    """MQQB-183, MQQB-214, MQQB-225, MQQB-267, MQQB-344: no packet is sent about it.

    ([MS-MQQB] 3.1.5.3 to 3.1.5.9. Only a message before EstablishConnection is answered, as MSMQ
    does.)
    """
    packet = packet_for(state, kind)
    session = session_in(state)
    session.receive_data(packet + packet, START)
    assert session.state is S.CLOSED
    assert MOVES[state][kind].action is SessionAction.CLOSE
    if state is not S.WAITING_EC or kind not in MESSAGES:
        assert session.data_to_send() == b""
    assert reason(session) is SessionEnd.UNEXPECTED


@pytest.mark.parametrize("kind", PacketKind)
def test_a_closed_session_ignores_every_packet(kind: PacketKind) -> None:
    """MQQB-344 ([MS-MQQB] 3.1.5.9)."""
    session = session_in(S.CLOSED)
    session.receive_data(packet_for(S.CLOSED, kind), START)
    assert session.state is S.CLOSED
    assert MOVES[S.CLOSED][kind].action is SessionAction.IGNORE
    assert session.data_to_send() == b""
    assert session.take_events() == []


@pytest.mark.parametrize("state", [state for state in SessionState if state is not S.CLOSED])
def test_bytes_that_are_no_packet_close_the_session_in_every_state(state: SessionState) -> None:
    """MQQB-010 ([MS-MQQB] 3.1.5.1.2)."""
    session = session_in(state)
    session.receive_data(b"GET / HTTP/1.1\r\n\r\n", START)
    assert session.state is S.CLOSED
    assert reason(session) is SessionEnd.BAD_PACKET
