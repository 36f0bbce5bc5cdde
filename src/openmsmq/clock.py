"""Time and new identifiers, the one place where the world gives them (and tests do not)."""

from __future__ import annotations

import time
from typing import Protocol
from uuid import UUID, uuid4


class Clock(Protocol):
    """What gives the time and new identifiers."""

    def now(self) -> float:
        """Seconds since 1970 UTC."""
        ...

    def new_guid(self) -> UUID:
        """An identifier that nothing else has."""
        ...


class SystemClock:
    """The computer's own."""

    def now(self) -> float:
        """Seconds since 1970 UTC."""
        return time.time()

    def new_guid(self) -> UUID:
        """A random identifier."""
        return uuid4()
