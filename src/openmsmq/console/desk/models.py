"""What the desk is asked for and answers: dead letters, lives of messages, searches."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from openmsmq.console.limits import NAME_MAX, NOTE_MAX, PAGE_MAX, SILENCE_HOURS_MAX
from openmsmq.console.models import FilterText, Name


class GroupNote(Struct):
    """What someone wrote about a group of dead letters."""

    text: str
    who: str
    time: datetime


class LetterGroup(Struct):
    """Dead letters of the same queue, reason, destination and kind of label, sender or type."""

    queue: str
    reason: str
    message_class: int
    destination: str
    labels: str
    "Their labels with `#` for digits."
    count: int
    first: datetime
    last: datetime
    sample: str
    "The lookup identifier of one of them."
    filter: str
    "The filter that finds them."
    sender: str = ""
    "The manager that sent them, if groups are made by that."
    type: str = ""
    "What a service bus says that they are, if groups are made by that."
    trend: list[int] = []
    "How many came in each of the last 24 hours."
    hint: str = ""
    "What may be meant, if the queue that they were for is not there."
    recent: int = 0
    "How many came in the last hour."
    note: GroupNote | None = None


class NewNote(Struct, forbid_unknown_fields=True):
    """A note on the group that has these properties."""

    queue: Annotated[str, Meta(min_length=1, max_length=NAME_MAX)]
    reason: Annotated[str, Meta(max_length=NAME_MAX)] = ""
    destination: Annotated[str, Meta(max_length=NAME_MAX)] = ""
    labels: Annotated[str, Meta(max_length=NAME_MAX)] = ""
    text: Annotated[str, Meta(max_length=NOTE_MAX)] = ""
    "Empty to remove it."


class LettersView(Struct):
    """Dead letters of a manager, in groups."""

    groups: list[LetterGroup]
    total: int
    complete: bool
    "False if there are more than were looked at."


class ManagerLetters(Struct):
    """Dead letters of one of several managers."""

    manager: str
    letters: LettersView | None
    error: str = ""
    "Why the manager could not tell."


class StoryEvent(Struct):
    """Something that happened to a message."""

    time: datetime
    manager: str
    event: str
    queue: str
    text: str
    by: str
    lookup_id: str


class MessageTaker(Struct):
    """Someone who took a message, or looked at it."""

    time: datetime
    manager: str
    who: str
    "Empty where that is not known."
    how: str
    queue: str


class Story(Struct):
    """The life of a message, as all managers of the console know it."""

    id: str
    events: list[StoryEvent]
    asked: dict[str, str]
    "Managers that were asked: `ok`, or why one could not tell."
    clocks: dict[str, float] = {}
    """By how many seconds, or more, the clocks of managers are ahead of that of the sender, or
    behind it if the number is negative: only those that must be wrong.
    """
    readers: list[MessageTaker] = []
    """Who took it or gave it back; also who looked at it, for administrators, where that is written
    down (`console.audit_reads`).
    """


class HistoryHit(Struct):
    """A message that was looked for, and where it is."""

    manager: str
    queue: str
    lookup_id: str
    id: str
    label: str
    sent: datetime
    arrived: datetime


class HistoryView(Struct):
    """Messages by label and time, on all managers."""

    messages: list[HistoryHit]
    looked_at: int
    complete: bool
    "False if there are more than were looked at, or than were asked for."
    asked: dict[str, str]
    "Managers that were asked: `ok`, or why one could not answer."


class NewSearch(Struct, forbid_unknown_fields=True):
    """What is looked for, and where."""

    filter: FilterText
    managers: Annotated[list[Name], Meta(max_length=100)] = []
    "On these; none for all."
    queues: Annotated[str, Meta(max_length=200)] = "*"
    "In queues whose names are like this."
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = PAGE_MAX
    "Hits after which it ends."


class SearchView(Struct):
    """A search, and what it has found so far."""

    id: str
    state: Literal["running", "done", "full", "stopped"]
    "`full` if it has as many hits as were asked for: there may be more."
    looked_at: int
    total: int
    "Messages in the queues that it looks at, as far as that is known."
    found: int
    hits: list[HistoryHit]
    "From the one that was asked for on."
    asked: dict[str, str]
    "Managers: `ok`, or why one could not answer; those that are not here are still being asked."


class NewSilence(Struct, forbid_unknown_fields=True):
    """A finding that someone knows about."""

    kind: Annotated[str, Meta(min_length=1, max_length=40)]
    queue: Annotated[str, Meta(max_length=500)] = ""
    hours: Annotated[int, Meta(ge=0, le=SILENCE_HOURS_MAX)] = 4
    "For how long it is silent; 0 ends that."
    reason: Annotated[str, Meta(max_length=500)] = ""
