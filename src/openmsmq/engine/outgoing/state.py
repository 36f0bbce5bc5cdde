"""What an outgoing queue knows of the way to its destination ([MS-MQDMPR] 3.1.1.3)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from openmsmq.engine.outgoing.limits import ATTEMPTS_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DEFAULT_PORTS, DirectName
from openmsmq.names.format import MulticastName
from openmsmq.types.outgoing import ConnectionStatus, TransferState


class Attempt(NamedTuple):
    """An attempt to connect (ConnectionHistory, [MS-MQDMPR] 3.1.1.3)."""

    status: ConnectionStatus
    time: int
    "Seconds since 1970 UTC."
    error: int
    "An HRESULT, or 0."
    addresses: tuple[str, ...]
    "Those that were tried."


_IN_PROCESS: Final = ConnectionStatus.IN_PROCESS
_REACHED: Final = (ConnectionStatus.ESTABLISH_PACKET_RECEIVED, ConnectionStatus.ESTABLISHED)


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

    @property
    def is_away(self) -> bool:
        """The last attempt to reach the destination failed, as far as one has ended."""
        if self.state is TransferState.CONNECTED:
            return False
        ended = [one.status for one in self.attempts if one.status is not _IN_PROCESS]
        return bool(ended) and ended[-1] not in _REACHED

    def pause(self) -> None:
        """Pause Queue ([MS-MQDMPR] 3.1.7.2.3); one that is locked stays so."""
        if self.is_open:
            self.state = TransferState.ON_HOLD

    def resume(self) -> None:
        """Resume Queue ([MS-MQDMPR] 3.1.7.2.4)."""
        if self.state is TransferState.ON_HOLD:
            self.state = TransferState.INACTIVE

    def set_state(self, state: TransferState) -> None:
        """Take over what the transport says ([MS-MQDMPR] 3.1.1.3); a queue on hold stays so."""
        if self.is_open:
            self.state = state
