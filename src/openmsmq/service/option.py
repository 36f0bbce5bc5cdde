"""One option of a service: how it is written, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openmsmq.toml import Value


@dataclass(frozen=True, slots=True)
class Option:
    """How a field of `Config` is written, and what it means."""

    place: str
    "In a file: the table and the key."
    read: Value[Any]
    help: str
    flag: str = ""
    "On the command line, with what follows it; empty: only a file can say it."
    live: bool = False
    "It can change while the manager runs."

    @property
    def table(self) -> str:
        """The table of a file that it stands in."""
        return self.place.partition(".")[0]

    @property
    def key(self) -> str:
        """Its name there."""
        return self.place.partition(".")[2]
