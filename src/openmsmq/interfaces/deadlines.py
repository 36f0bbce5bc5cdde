"""Calls what has deadlines when they come, by the clock of the event loop."""

from __future__ import annotations

import asyncio
from typing import Protocol


class Timed(Protocol):
    """A machine that is given the time."""

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called."""
        ...

    def tick(self, now: float) -> None:
        """Do what is due."""
        ...


class Deadlines:
    """The one timer of a machine."""

    def __init__(self, timed: Timed) -> None:
        self._timed = timed
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0
        "When it is due, for a handle of uvloop that is due at once does not say so."

    def changed(self) -> None:
        """The next deadline may be earlier than it was."""
        deadline = self._timed.next_deadline
        if deadline is None:
            return
        if self._timer is None or deadline < self._timer_at:
            self.stop()
            self._timer_at = deadline
            self._timer = asyncio.get_running_loop().call_at(deadline, self._tick)

    def stop(self) -> None:
        """Call it no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._timer = None
        self._timed.tick(asyncio.get_running_loop().time())
        self.changed()
