"""Time and new identifiers, the one place where the world gives them (and tests do not)."""

from __future__ import annotations

import time
from typing import Final, Protocol
from uuid import UUID, uuid4

_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """What gives the time and new identifiers."""

    def now(self) -> float:
        """Seconds since 1970 UTC."""
        ...

    def elapsed(self) -> float:
        """Seconds since some moment, counted by what never jumps."""
        ...

    def new_guid(self) -> UUID:
        """An identifier that nothing else has."""
        ...


class SystemClock:
    """The computer's own."""

    def now(self) -> float:
        """Seconds since 1970 UTC."""
        return time.time()

    def elapsed(self) -> float:
        """Seconds since the computer started; where that is known, its sleep among them."""
        return time.clock_gettime(_STEADY)

    def new_guid(self) -> UUID:
        """A random identifier."""
        return uuid4()
