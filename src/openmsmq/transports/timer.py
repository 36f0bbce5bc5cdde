"""What a transport needs of the time: to be called later, or not any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from openmsmq.clock import Clock


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Do not call."""
        ...


class Timers(Protocol):
    """Has calls made later."""

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Call after this many seconds."""
        ...


class Alarm:
    """One call at the next deadline: to set it again replaces the time that was set before."""

    def __init__(self, timers: Timers, clock: Clock, call: Callable[[], None]) -> None:
        self._timers = timers
        self._clock = clock
        self._call = call
        self._timer: Timer | None = None

    def set(self, at: float | None) -> None:
        """Call at this time, of `Clock.elapsed`; None: not at all."""
        self.cancel()
        if at is not None:
            wait = max(0.0, at - self._clock.elapsed())
            self._timer = self._timers.call_later(wait, self._ring)

    def cancel(self) -> None:
        """Do not call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        self._call()
