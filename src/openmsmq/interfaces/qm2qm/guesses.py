"""Numbers that were presented and are none: a few are mistakes, many are guesses (SS-03)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from openmsmq.interfaces.limits import GUESSES_MAX

PERIOD: Final = 60.0
"Seconds after which they are forgotten."


class Guesses:
    """Counts wrong numbers by the address that they came from; a minute's worth is remembered."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._since = 0.0
        self._wrong: Counter[str] = Counter()

    def add(self, address: str) -> None:
        """A number was wrong."""
        self._forget()
        self._wrong[address] += 1

    def is_exhausted(self, address: str) -> bool:
        """Whether an address has guessed too often to be answered (SS-03)."""
        self._forget()
        return self._wrong[address] >= GUESSES_MAX

    def _forget(self) -> None:
        now = self._now()
        if now - self._since >= PERIOD:
            self._since = now
            self._wrong.clear()
