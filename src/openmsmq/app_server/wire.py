"""The connection to a program, as its session sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from openmsmq.net.wire import Wire


class ProgramWire(Wire, Protocol):
    """A connection to a program."""

    @property
    def peer(self) -> str:
        """The program's address, for people."""
        ...

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The verified certificate of the program; empty for none."""
        ...

    @property
    def unix(self) -> tuple[int, ...]:
        """The user of this computer that the program runs as, and its groups; empty if unknown."""
        ...

    @property
    def peer_gone(self) -> bool:
        """The program has closed the connection, which was not noticed since nothing is read."""
        ...

    @property
    def received(self) -> int:
        """Bytes that came."""
        ...

    @property
    def sent(self) -> int:
        """Bytes that were sent."""
        ...

    def abort(self) -> None:
        """Close the connection at once."""
        ...
