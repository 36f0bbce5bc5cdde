"""Units of work that a program has decided: transactions that other participants have a part in."""

from __future__ import annotations

from typing import Final

from openmsmq.app_server.context import SessionContext

UNITS_KEPT: Final = 1000
"Units of a connection that may be finished by others before it looks which."


class DecidedUnits:
    """The units that a program has decided, and whose participants it will inform."""

    def __init__(self, session: SessionContext) -> None:
        self._session = session
        self.names: set[str] = set()

    def add(self, unit: str) -> None:
        """The program has decided a unit, and informs the participants while it is connected."""
        units = self._session.local.units
        if len(self.names) >= UNITS_KEPT:
            self.names &= {known.name for known in units.decided}
        self.names.add(unit)
        if self._session.is_over:
            units.leave(self.names)

    def discard(self, unit: str) -> None:
        """The program does no more about a unit."""
        self.names.discard(unit)

    def leave(self) -> None:
        """The connection is closed."""
        self._session.local.units.leave(self.names)
