"""Outgoing queues as programs and people see them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final


class TransferState(StrEnum):
    """OutgoingQueue.State ([MS-MQDMPR] 3.1.1.3)."""

    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    DISCONNECTING = "disconnecting"
    INACTIVE = "inactive"
    LOCKED = "locked"
    NEED_VALIDATION = "need validation"
    WAITING = "waiting"
    ON_HOLD = "on hold"


class ConnectionStatus(IntEnum):
    """How an attempt to connect went (ConnectionHistory.Status, [MS-MQDMPR] 3.1.1.3)."""

    IN_PROCESS = 0
    ESTABLISH_PACKET_RECEIVED = 1
    ESTABLISHED = 2
    UNKNOWN_FAILURE = 3
    PING_FAILURE = 4
    SOCKET_CREATE_FAILURE = 5
    SOCKET_BIND_FAILURE = 6
    SOCKET_CONNECT_FAILURE = 7
    TCP_NOT_ENABLED = 8
    SOCKET_SEND_FAILURE = 9
    CONNECTION_NOT_READY = 10
    DNS_FAILURE = 11
    CERTIFICATE_VALIDATION_FAILURE = 12
    CONNECTION_LIMIT_REACHED = 13
    CONNECTION_REFUSED = 14
    ROUTING_DATA_NOT_AVAILABLE = 15
    LOW_RESOURCE = 16


OFFLINE: Final = "offline"
"The state of an outgoing queue in a manager without transports."
STATUS_WORDS: Final = {
    ConnectionStatus.IN_PROCESS: "connecting",
    ConnectionStatus.ESTABLISH_PACKET_RECEIVED: "answered",
    ConnectionStatus.ESTABLISHED: "connected",
    ConnectionStatus.UNKNOWN_FAILURE: "failed",
    ConnectionStatus.PING_FAILURE: "no answer to a ping",
    ConnectionStatus.SOCKET_CREATE_FAILURE: "no socket to be had",
    ConnectionStatus.SOCKET_BIND_FAILURE: "no address to be had",
    ConnectionStatus.SOCKET_CONNECT_FAILURE: "cannot connect",
    ConnectionStatus.TCP_NOT_ENABLED: "no TCP here",
    ConnectionStatus.SOCKET_SEND_FAILURE: "cannot send",
    ConnectionStatus.CONNECTION_NOT_READY: "not ready",
    ConnectionStatus.DNS_FAILURE: "name not found",
    ConnectionStatus.CERTIFICATE_VALIDATION_FAILURE: "certificate not valid",
    ConnectionStatus.CONNECTION_LIMIT_REACHED: "too many connections",
    ConnectionStatus.CONNECTION_REFUSED: "refused",
    ConnectionStatus.ROUTING_DATA_NOT_AVAILABLE: "no way known",
    ConnectionStatus.LOW_RESOURCE: "too little memory",
}


@dataclass(frozen=True, slots=True)
class OutgoingAttempt:
    """An attempt to connect, and how it went."""

    time: int
    "Seconds since 1970 UTC."
    status: str
    "In words: connecting, connected, or what went wrong."
    address: str


@dataclass(frozen=True, slots=True)
class OutgoingInfo:
    """An outgoing queue: what is in it, and how the way to its destination stands."""

    name: str
    "The format name it sends to."
    state: str
    "A word of `TransferState`, or `offline` in a manager without transports."
    messages: int
    "Those that wait to be sent."
    unacknowledged: int
    "Those that were sent, but are not known to have arrived."
    unprocessed: int
    "Those that reached their queue, but are kept until it is known what became of them."
    bytes: int
    "All of these together."
    oldest_age: int | None
    "Seconds since the oldest message that has not arrived came here; None if there is none."
    next_hop: str
    "The address that messages go to, or that was tried last; empty if none was."
    connected_since: int | None
    "Seconds since 1970 UTC; None while there is no connection."
    failures: int
    "Attempts to connect that failed since one succeeded."
    next_retry: int | None
    "Seconds until the next attempt; None if none is to come."
    last_error: str
    "What is wrong, in words; empty if nothing is."
    resends: int
    "How often in a row transactional messages were sent again without an acknowledgement."
    attempts: tuple[OutgoingAttempt, ...]
    "The last attempts to connect, the newest last."
