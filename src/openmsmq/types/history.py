"""The history of a message."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """Something that happened to a message."""

    time: datetime
    event: str
    "In one word: `arrived`, `received`, `expired`, ..."
    queue: str
    "The path name of the queue it happened in."
    text: str
    "What happened and why, in words."
    lookup_id: int
    "Its place in that queue."
    by: str
    "Who did it; empty where that is not known."
