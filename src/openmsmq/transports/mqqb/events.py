"""What a session reports, and what it is given to send."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from openmsmq.packet.group import PacketGroup
from openmsmq.transports.mqqb.outbound import Token


class SessionEnd(StrEnum):
    """Why a session ended, for counters and logs."""

    REFUSED = "refused"
    BAD_PACKET = "bad packet"
    UNEXPECTED = "unexpected packet"
    NOT_HERE = "another queue manager was meant"
    TOO_MANY = "too many sessions"
    MISMATCH = "counts do not match"
    SILENT = "no acknowledgement in time"
    SLOW = "not established in time"
    IDLE = "idle"
    LOST = "connection lost"
    NO_ROOM = "no room for its messages"
    SENDER_PENDING = "the directory is asked for a sender"
    PENDING = "too much of unfinished packets"
    TOO_SLOW = "packet too slow"
    STOPPED = "stopped"
    UNSAFE = "too many messages with wrong signatures or keys"
    ENDED = "ended by an administrator"
    NOT_PINNED = "another queue manager answered than the pinned one"


class Opened(NamedTuple):
    """The session is open: messages may be sent."""

    peer: UUID


class Arrived(NamedTuple):
    """A UserMessage came; OrderAcks and FinalAcks are such, too."""

    packet: bytes
    "Without a SessionHeader."
    number: int
    "For `stored`, to be called when it is on disk; 0 for express messages, which need not be."


class GroupArrived(NamedTuple):
    """UserMessages came that differ in little."""

    group: PacketGroup
    number: int
    "That of the last of them, as in `Arrived`."


class Acknowledged(NamedTuple):
    """The peer has these messages, the recoverable ones on its disk."""

    tokens: list[Token]


class Closed(NamedTuple):
    """The session is over: the connection is to be closed once all is written."""

    reason: SessionEnd
    detail: str = ""


Event = Opened | Arrived | GroupArrived | Acknowledged | Closed


class Outgoing(NamedTuple):
    """A message to be sent."""

    packet: bytes
    token: Token
    recoverable: bool
