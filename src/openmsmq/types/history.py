"""The history of a message, and the audit log: who asked for what, and was it allowed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


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


@dataclass(frozen=True, slots=True)
class QueueEvent:
    """Something that happened to messages of a queue."""

    time: datetime
    event: str
    "In one word, as in `HistoryEvent`."
    count: int
    "How many messages it happened to at once."
    text: str
    "What happened and why, in words."
    by: str
    "Who did it; empty where that is not known."
    message_id: str
    r"The first of the messages, `guid\number`."
    lookup_id: int
    "Its place in the queue."


@dataclass(frozen=True, slots=True)
class QueueHistory:
    """What happened in a queue, the newest first."""

    events: list[QueueEvent]
    next: int
    "Where to go on, as `before`; 0 if there is no more."


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An access decision, or an administrative act."""

    number: int
    "Counts up from 1; a gap means that entries are gone."
    time: datetime
    who: str
    "The principal: `token:3f9a01c7`, `user:anna`, `anonymous`, ..."
    act: str
    "What was asked for: `open`, `create queue`, `set permissions`, ..."
    target: str
    r"What it was asked of: `.\private$\orders`; empty for the manager itself."
    allowed: bool
    reason: str
    "Why it was denied, or what was changed."
    by: str
    "The program and where it runs, as it says itself."


class FileChange(NamedTuple):
    """What a command changed in a file that says who may do what."""

    number: int
    "Counts up; milliseconds since 1970 UTC if changes are not faster than that."
    time: int
    "Seconds since 1970 UTC."
    who: str
    act: str
    target: str
    reason: str
    by: str
    "The program."
