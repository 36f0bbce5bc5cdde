"""The two sides of a connection: the machine that speaks a protocol, and the wire it speaks on.

A machine knows no socket and no clock. It is given bytes and the time, writes bytes to its wire,
and says when it is to be called next. `Connection` is the wire over a socket of an event loop; a
simulation has others.
"""

from __future__ import annotations

from typing import Protocol


class Wire(Protocol):
    """A connection, as the machine on this side of it sees it."""

    @property
    def write_buffer_full(self) -> bool:
        """So much waits to be sent that nothing should be added."""
        ...

    @property
    def address(self) -> str:
        """The IP address of the peer."""
        ...

    def write(self, data: bytes) -> None:
        """Send bytes."""
        ...

    def close(self) -> None:
        """Send what was written, then close the connection."""
        ...

    def update(self) -> None:
        """The machine's `is_full` or `next_deadline` has changed."""
        ...


class Machine(Protocol):
    """A protocol spoken on a connection."""

    @property
    def is_full(self) -> bool:
        """It takes no more bytes for now."""
        ...

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called; None for never, the past for as soon as others had a turn.

        It may be too early, never too late.
        """
        ...

    def receive_data(self, data: bytes, now: float) -> None:
        """Take bytes from the peer."""
        ...

    def resume(self, now: float) -> None:
        """The wire's write buffer has room again."""
        ...

    def tick(self, now: float) -> None:
        """Do what is due."""
        ...

    def lost(self) -> None:
        """The connection is closed."""
        ...
