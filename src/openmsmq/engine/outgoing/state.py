"""What an outgoing queue knows of the way to its destination ([MS-MQDMPR] 3.1.1.3)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

from openmsmq.names.base import FormatName
from openmsmq.names.direct import DEFAULT_PORTS, DirectName, Protocol
from openmsmq.names.format import ConnectorName, MachineName, MulticastName, PrivateName

ATTEMPTS_MAX: Final = 16
"Attempts to connect that are remembered."


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


class Attempt(NamedTuple):
    """An attempt to connect (ConnectionHistory, [MS-MQDMPR] 3.1.1.3)."""

    status: ConnectionStatus
    time: int
    "Seconds since 1970 UTC."
    error: int
    "An HRESULT, or 0."
    addresses: tuple[str, ...]
    "Those that were tried."


def _attempts() -> deque[Attempt]:
    return deque(maxlen=ATTEMPTS_MAX)


@dataclass(slots=True)
class Transfer:
    """The way to the destination of an outgoing queue."""

    is_multicast: bool = False
    is_http: bool = False
    state: TransferState = TransferState.INACTIVE
    next_hops: tuple[str, ...] = ()
    attempts: deque[Attempt] = field(default_factory=_attempts)
    "The newest last."

    @classmethod
    def to(cls, destination: FormatName, *, hardened: bool) -> Transfer:
        """The way to a destination; in hardened mode only HTTP is open ([MS-MQDMPR] 3.1.7.1.5)."""
        is_http = isinstance(destination, DirectName) and destination.protocol in DEFAULT_PORTS
        state = TransferState.LOCKED if hardened and not is_http else TransferState.INACTIVE
        return cls(isinstance(destination, MulticastName), is_http, state)

    @property
    def is_open(self) -> bool:
        """Messages may be sent."""
        return self.state not in (TransferState.LOCKED, TransferState.ON_HOLD)

    def pause(self) -> None:
        """Pause Queue ([MS-MQDMPR] 3.1.7.2.3); one that is locked stays so."""
        if self.is_open:
            self.state = TransferState.ON_HOLD

    def resume(self) -> None:
        """Resume Queue ([MS-MQDMPR] 3.1.7.2.4)."""
        if self.state is TransferState.ON_HOLD:
            self.state = TransferState.INACTIVE

    def became(self, state: TransferState) -> None:
        """What the session with the next hop did; a queue on hold stays so."""
        if self.is_open:
            self.state = state


def has_way(name: FormatName) -> bool:
    """Whether messages for a queue elsewhere can ever leave ([MS-MQQB] 3.1.7.4).

    There is no directory that would know where a public queue is, and nothing is sent by HTTP.
    """
    if isinstance(name, DirectName):
        return name.protocol in (Protocol.OS, Protocol.TCP)
    return isinstance(name, PrivateName | MachineName | ConnectorName)
