"""What is known about queues, as values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from sys import maxsize
from typing import Any, Final
from uuid import UUID

from openmsmq.engine.core import Core
from openmsmq.engine.messages.scan import oldest
from openmsmq.engine.queues.queue import NO_QUOTA, Kind, Poison, Queue
from openmsmq.engine.queues.registry import VISIBLE
from openmsmq.engine.queues.resolver import shown
from openmsmq.engine.queues.system import HIDDEN
from openmsmq.errors import IllegalPropertyValue
from openmsmq.names.parts import fold

BEFORE_ALL: Final = -1
"The place before the first queue."


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """The properties of a queue and how much is in it, at one moment."""

    name: str
    r"Its path name, `.\private$\orders`; of an outgoing queue the format name it sends to."
    id: UUID
    kind: str
    "private, public, system, journal, subqueue or outgoing."
    state: str
    "`active` while it is open, else `inactive`; of an outgoing queue how the transfer stands."
    transactional: bool
    journal: bool
    messages: int
    "How many can be read or are held by readers; not those of open transactions."
    bytes: int
    journal_messages: int
    journal_bytes: int
    delayed: int
    "How many wait and cannot be read yet."
    delayed_bytes: int
    oldest_age: int | None
    "Seconds since the oldest message arrived; None if there is none."
    quota: int | None
    "KiB; None for no limit."
    journal_quota: int | None
    label: str
    authenticate: bool
    privacy: int
    base_priority: int
    type: UUID
    abort_limit: int
    "A message is poison when it was aborted so often; 0 for never."
    retry_delay: int
    "Seconds for which a message cannot be read after it was aborted."
    poison: str
    "Where poison goes: subqueue or dead-letter."
    format_name: str
    created: int
    "Seconds since 1970 UTC."
    modified: int

    @classmethod
    def of(cls, queue: Queue, core: Core) -> QueueInfo:
        """What is known about `queue` now."""
        properties = queue.properties
        journal, delayed = queue.journal, queue.delayed
        arrived = oldest(core.snapshot, queue)
        return cls(
            name=path_name(queue),
            id=properties.id,
            kind=str(queue.kind),
            state=_state(queue),
            transactional=properties.transactional,
            journal=properties.journal,
            messages=queue.messages + len(queue.express),
            bytes=queue.size + queue.express.size,
            journal_messages=0 if journal is None else journal.messages + len(journal.express),
            journal_bytes=0 if journal is None else journal.size + journal.express.size,
            delayed=0 if delayed is None else delayed.messages,
            delayed_bytes=0 if delayed is None else delayed.size,
            oldest_age=None if arrived is None else max(0, core.timeline.wall - arrived),
            quota=_limit(properties.quota),
            journal_quota=_limit(properties.journal_quota),
            label=properties.label,
            authenticate=properties.authenticate,
            privacy=properties.privacy,
            base_priority=properties.base_priority,
            type=properties.type,
            abort_limit=properties.abort_limit,
            retry_delay=properties.retry_delay,
            poison=str(properties.poison),
            format_name=_format_name(queue, core),
            created=properties.created,
            modified=properties.modified,
        )


def queue_infos(core: Core, *, everything: bool) -> list[QueueInfo]:
    """All queues that people made, by name, or really all that there is to see."""
    found, _ = queue_page(core, everything=everything, after=BEFORE_ALL, count=maxsize)
    return by_name(found)


def queue_page(
    core: Core, *, everything: bool, after: int, count: int
) -> tuple[list[QueueInfo], int | None]:
    """Some of these, in the order they were made, and after which to go on; None at the end.

    `count` queues are looked at, so that no page takes long, however few of them can be seen.
    """
    numbers = sorted(core.queues.by_number)
    first = bisect_right(numbers, after)
    page = [core.queues.by_number[number] for number in numbers[first : first + count]]
    found = [
        QueueInfo.of(queue, core)
        for owner in page
        for queue in (owner, owner.journal)
        if queue is not None and (_is_made(queue) or (everything and _is_worth_seeing(queue)))
    ]
    return found, page[-1].number if first + count < len(numbers) else None


def by_name(infos: Iterable[QueueInfo]) -> list[QueueInfo]:
    """Those that people made, those that every manager has, all others; each of them by name."""

    def place(info: QueueInfo) -> tuple[bool, bool, str]:
        return info.kind not in VISIBLE, info.kind != Kind.SYSTEM, fold(info.name)

    return sorted(infos, key=place)


def _is_made(queue: Queue) -> bool:
    """People made it."""
    return queue.kind in VISIBLE and not queue.deleted


def _is_worth_seeing(queue: Queue) -> bool:
    if queue.deleted or queue.number in HIDDEN:
        return False
    if queue.kind in (Kind.UNCONFIRMED, Kind.RESERVED):
        return False  # told with the outgoing queue or the subscription it belongs to
    return queue.kind is not Kind.JOURNAL or bool(queue.messages or queue.express)


def path_name(queue: Queue) -> str:
    """What people call a queue."""
    return queue.name if queue.kind in (Kind.OUTGOING, Kind.MULTIPLE) else shown(queue.name)


def _state(queue: Queue) -> str:
    """Active exactly when it is open ([MS-MQDMPR] 3.1.1.2)."""
    if queue.transfer is not None:
        return str(queue.transfer.state)
    return "active" if queue.modes else "inactive"


def _format_name(queue: Queue, core: Core) -> str:
    if queue.kind in (Kind.OUTGOING, Kind.MULTIPLE):
        return queue.name
    if queue.kind is Kind.PRIVATE:
        return f"PRIVATE={core.identity}\\{queue.number:08x}"
    return f"DIRECT=OS:.\\{queue.name}"


def _limit(quota: int) -> int | None:
    return None if quota == NO_QUOTA else quota


def queue_properties(**given: Any) -> dict[str, Any]:
    """Properties as callers give them, as a queue keeps them; those not given are left out."""
    found = {name: value for name, value in given.items() if value is not None}
    for name in ("quota", "journal_quota"):
        if found.get(name) == inf:
            found[name] = NO_QUOTA
    if isinstance(found.get("type"), str):
        try:
            found["type"] = UUID(found["type"])
        except ValueError:
            raise IllegalPropertyValue(f"type {found['type']!r}: a GUID is needed") from None
    if found.get("poison") in tuple(Poison):
        found["poison"] = Poison(found["poison"])
    return found
