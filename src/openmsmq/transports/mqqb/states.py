"""The legal moves of a session: what each packet does in each state ([MS-MQQB] 3.1.5.1 to 3.1.5.8).

The table names every pair of state and packet kind, so that what a peer may send when is read in
one place. A packet that is not legal closes the session; a closed session ignores all of them.
WAITING_RECONNECT of the specification is not among them: peers, not sessions, wait to reconnect.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple


class SessionState(StrEnum):
    """SessionState ([MS-MQQB] 3.1.1.3.1)."""

    WAITING_EC = "waiting for EstablishConnection"
    WAITING_ECR = "waiting for the answer to EstablishConnection"
    WAITING_CP = "waiting for ConnectionParameters"
    WAITING_CPR = "waiting for the answer to ConnectionParameters"
    OPEN = "open"
    CLOSED = "closed"


class PacketKind(StrEnum):
    """The packets that travel on a session ([MS-MQQB] 3.1.5.1.1)."""

    ESTABLISH_CONNECTION = "EstablishConnection"
    CONNECTION_PARAMETERS = "ConnectionParameters"
    SESSION_ACK = "SessionAck"
    ORDER_ACK = "OrderAck"
    FINAL_ACK = "FinalAck"
    USER_MESSAGE = "UserMessage"


class SessionAction(StrEnum):
    """What a session does about a packet."""

    ANSWER_ESTABLISH = "answer EstablishConnection, or refuse it"
    SEND_PARAMETERS = "check the answer and send ConnectionParameters"
    ANSWER_PARAMETERS = "answer ConnectionParameters and open"
    OPEN = "check the answer and open"
    ACKNOWLEDGE = "remove what is acknowledged"
    DELIVER = "count it and pass it on"
    CLOSE = "close the session"
    IGNORE = "ignore it"


class Move(NamedTuple):
    """What a packet does in a state, and which state follows if the packet is in order."""

    action: SessionAction
    next: SessionState
    section: str
    "Of [MS-MQQB]."


_S = SessionState
_K = PacketKind
SECTIONS: Final[Mapping[PacketKind, str]] = {
    _K.ESTABLISH_CONNECTION: "3.1.5.3",
    _K.CONNECTION_PARAMETERS: "3.1.5.4",
    _K.SESSION_ACK: "3.1.5.5",
    _K.ORDER_ACK: "3.1.5.6",
    _K.FINAL_ACK: "3.1.5.7",
    _K.USER_MESSAGE: "3.1.5.8",
}
"Where [MS-MQQB] says in which states a packet is legal; in all others the session is closed."

LEGAL: Final[Mapping[tuple[SessionState, PacketKind], Move]] = {
    (_S.WAITING_EC, _K.ESTABLISH_CONNECTION): Move(
        SessionAction.ANSWER_ESTABLISH, _S.WAITING_CP, "3.1.5.3.1"
    ),
    (_S.WAITING_ECR, _K.ESTABLISH_CONNECTION): Move(
        SessionAction.SEND_PARAMETERS, _S.WAITING_CPR, "3.1.5.3.2"
    ),
    (_S.WAITING_CP, _K.CONNECTION_PARAMETERS): Move(
        SessionAction.ANSWER_PARAMETERS, _S.OPEN, "3.1.5.4.1"
    ),
    (_S.WAITING_CPR, _K.CONNECTION_PARAMETERS): Move(SessionAction.OPEN, _S.OPEN, "3.1.5.4.2"),
    (_S.OPEN, _K.SESSION_ACK): Move(SessionAction.ACKNOWLEDGE, _S.OPEN, "3.1.5.5"),
    (_S.OPEN, _K.ORDER_ACK): Move(SessionAction.DELIVER, _S.OPEN, "3.1.5.6"),
    (_S.OPEN, _K.FINAL_ACK): Move(SessionAction.DELIVER, _S.OPEN, "3.1.5.7"),
    (_S.OPEN, _K.USER_MESSAGE): Move(SessionAction.DELIVER, _S.OPEN, "3.1.5.8"),
}


def move(state: SessionState, kind: PacketKind) -> Move:
    """What a packet does in a state ([MS-MQQB] 3.1.5.5, 3.1.5.6 and those of the table)."""
    legal = LEGAL.get((state, kind))
    if legal is not None:
        return legal
    if state is SessionState.CLOSED:
        return Move(SessionAction.IGNORE, SessionState.CLOSED, "3.1.5.9")
    return Move(SessionAction.CLOSE, SessionState.CLOSED, SECTIONS[kind])


MOVES: Final[Mapping[SessionState, Mapping[PacketKind, Move]]] = {
    state: {kind: move(state, kind) for kind in PacketKind} for state in SessionState
}
"Every pair of state and packet kind."
