"""What a transport needs of the time: to be called later, or not any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Do not call."""
        ...


class Timers(Protocol):
    """Has calls made later."""

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Call after so many seconds."""
        ...
