"""What pages about one queue or pipeline show: who may what, what happened, work that goes on."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct


class PermissionEntry(Struct):
    """An entry of the list of permissions of a queue, in the order that counts."""

    number: int
    type: str
    "`allow`, `deny` or `audit`."
    who: str
    rights: str


class RightView(Struct):
    """Whether someone may do something with a queue, and what decides."""

    right: str
    allowed: bool
    entry: int | None
    "The number of the entry that decides; null if none does."
    reason: str


class WhoMay(Struct):
    """What someone may do with a queue."""

    who: str
    "`everyone`, `anonymous`, `user:anna`, `token:3f9a01c7`, ..."
    role: str
    "Of a token; both the role and the list must allow what is asked for. Else empty."
    label: str
    "What a token is called."
    rights: list[RightView]


class PermissionsView(Struct):
    """The permissions of a queue."""

    queue: str
    owner: str
    entries: list[PermissionEntry] | None
    "null if there is no list: the queue is open, and roles decide alone."
    sddl: str
    who: list[WhoMay]
    "Those whom entries name, tokens if the login may see them, or who was asked about."


class QueueEventView(Struct):
    """Something that happened to messages of a queue."""

    time: datetime
    event: str
    count: int
    "How many messages it happened to at once."
    text: str
    by: str
    message_id: str
    "The first of them."
    lookup_id: str


class QueueHistoryView(Struct):
    """What happened in a queue, the newest first."""

    events: list[QueueEventView]
    next: str | None
    "Where to go on, as `before`; null if no more is known."


class PipelineBacklog(Struct):
    """What a queue has for a pipeline that is not read yet."""

    manager: str
    queue: str
    lag: int
    oldest: int | None
    "Seconds that the oldest of these messages waits."


class PipelineView(Struct):
    """The last run of a pipeline of Spark on the computer of the console."""

    name: str
    kind: str
    state: str
    file: str
    host: str
    started: str
    ended: str
    batches: int
    rows: int
    seconds: float | None
    "How long the newest batch took."
    rate: float | None
    "Rows a second of the newest batch."
    lag: int | None
    "Messages that wait for it."
    oldest: int | None
    "Seconds that the oldest of them waits."
    error: str
    queues: list[PipelineBacklog] = []
    "The same for each queue, that with the most messages first."
    report: str = ""
    "Where the page that it wrote can be fetched; empty if there is none."
    can_run: bool = False
    "It does not run, and its file is there."


class PipelineJobView(Struct):
    """A run of a pipeline, or the verification of its archive, that was begun in the console."""

    id: str
    pipeline: str
    act: Literal["run", "verify"]
    state: Literal["running", "done", "failed", "stopped"]
    who: str
    started: datetime
    ended: datetime | None
    done: int
    "Rows of a run, files of a verification."
    total: int | None
    "Of how many; null if that is not known."
    error: str
    result: dict[str, Any]
    "What it found; empty before its end."
    command: str
    "The same on the command line."
