"""What a manager remembers of those with whom it has a part in units."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Final
from weakref import WeakKeyDictionary

RECOVER_EVERY: Final = 60.0
"Seconds after which units that others may have left behind are looked for again."


@dataclass(slots=True)
class Partner:
    """A database or another manager, as one that decides units knows it."""

    name: str = ""
    "What it is called in a decision; empty until it is asked for."
    recovered: float | None = None
    "When units that were left behind were last looked for there."

    @property
    def is_due(self) -> bool:
        """It is time to look whether units were left behind."""
        return self.recovered is None or monotonic() - self.recovered > RECOVER_EVERY


class Partners:
    """The partners of a manager, as long as the program has them."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[object, Partner] = WeakKeyDictionary()

    def get(self, thing: object) -> Partner:
        """What is known of a connection or manager."""
        try:
            return self._known.setdefault(thing, Partner())
        except TypeError:  # of a driver whose connections cannot be remembered
            return Partner()
