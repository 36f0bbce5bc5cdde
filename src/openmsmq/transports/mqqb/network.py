"""What transfers need of the world: connections and the time. Sockets are one way to have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from openmsmq.net.wire import Machine, Wire
from openmsmq.transports.mqqb.events import SessionEnd
from openmsmq.transports.timer import Timers
from openmsmq.types.outgoing import ConnectionStatus


class PeerMachine(Machine, Protocol):
    """A session with another manager on a connection."""

    @property
    def is_open(self) -> bool:
        """A session is established."""
        ...

    @property
    def is_known(self) -> bool:
        """The peer is one of the managers that this one knows."""
        ...

    @property
    def singles(self) -> int:
        """Messages that have come and are stored one by one, not as a group."""
        ...

    @property
    def pending(self) -> int:
        """Bytes of a packet whose rest has not come."""
        ...

    def close(self, reason: SessionEnd, detail: str = "") -> None:
        """End the session from this side."""
        ...


class Network(Timers, Protocol):
    """Connections to other managers."""

    def connect(
        self,
        host: str,
        port: int,
        made: Callable[[Wire], PeerMachine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        """Connect to a computer: one of the two is called, sooner or later."""
        ...
