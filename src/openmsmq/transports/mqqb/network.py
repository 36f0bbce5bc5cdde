"""What transfers need of the world: connections and the time. Sockets are one way to have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from openmsmq.transports.mqqb.events import End
from openmsmq.types.outgoing import ConnectionStatus


class Timer(Protocol):
    """Something that will be done."""

    def cancel(self) -> None:
        """But not any more."""
        ...


class Wire(Protocol):
    """A connection to another manager, from this side."""

    @property
    def is_stuck(self) -> bool:
        """So much waits to be sent that nothing should be added."""
        ...

    @property
    def address(self) -> str:
        """The IP address of the other side."""
        ...

    def write(self, data: bytes) -> None:
        """Send bytes."""
        ...

    def close(self) -> None:
        """Send what is to be sent, and end it."""
        ...

    def adjust(self) -> None:
        """How much the machine on this side can take has changed."""
        ...


class Machine(Protocol):
    """What speaks on a connection."""

    @property
    def is_full(self) -> bool:
        """It wants no more bytes for now."""
        ...

    @property
    def is_open(self) -> bool:
        """A session is established."""
        ...

    @property
    def is_known(self) -> bool:
        """The other side is one of the managers that this one knows."""
        ...

    @property
    def pending(self) -> int:
        """Bytes of a packet whose rest has not come."""
        ...

    def close(self, reason: End, detail: str = "") -> None:
        """End the session from this side."""
        ...

    def receive_data(self, data: bytes) -> None:
        """Take what the other side sent."""
        ...

    def room(self) -> None:
        """The wire is not stuck any longer."""
        ...

    def lost(self) -> None:
        """The connection is over."""
        ...


class Network(Protocol):
    """Connections to other managers."""

    def connect(
        self,
        host: str,
        port: int,
        made: Callable[[Wire], Machine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        """Connect to a computer: one of the two is called, sooner or later."""
        ...

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Have something done later."""
        ...
