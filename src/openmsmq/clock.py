"""Time and new identifiers, the one place where the world gives them (and tests do not)."""

from __future__ import annotations

import time
from typing import Final, Protocol
from uuid import UUID, uuid4

from openmsmq.limits import U32_MAX

LATEST: Final = U32_MAX - 366 * 86_400
"The last time, in February 2105, from which a clock is taken for wrong: packets and rows count the"
"seconds since 1970 in 32 bits, and a year is left for what runs on from there."
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

    def __init__(self) -> None:
        self._late_since: float | None = None
        "When it was first seen to show more than `LATEST`."

    def now(self) -> float:
        """Seconds since 1970 UTC, never before that; a clock beyond `LATEST` goes on from there."""
        shown = time.time()
        if shown < LATEST:
            return max(shown, 0.0)
        elapsed = self.elapsed()
        if self._late_since is None:
            self._late_since = elapsed
        return LATEST + elapsed - self._late_since

    def elapsed(self) -> float:
        """Seconds since the computer started; where that is known, its sleep among them."""
        return time.clock_gettime(_STEADY)

    def new_guid(self) -> UUID:
        """A random identifier."""
        return uuid4()
