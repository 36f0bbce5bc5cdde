"""Queues as programs and people see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Any, Final
from uuid import UUID

from openmsmq.errors import IllegalPropertyValue
from openmsmq.limits import NO_QUOTA
from openmsmq.names.parts import fold

POISON_SUBQUEUE: Final = "poison"
REFUSED_QUEUE: Final = "Refused$"
"Where messages are kept that other managers sent and this one did not accept."


class QueueKind(StrEnum):
    """What a queue is for (QueueType, [MS-MQDMPR] 3.1.1.2, and what it leaves unsaid)."""

    PRIVATE = "private"
    PUBLIC = "public"
    SYSTEM = "system"
    "The manager's own: dead letters, the journal of what it sent, and hidden ones."
    JOURNAL = "journal"
    "Copies of what was received from a queue."
    SUBQUEUE = "subqueue"
    OUTGOING = "outgoing"
    "Messages on their way to a queue of another manager."
    UNCONFIRMED = "unconfirmed"
    "Messages that reached their queue and wait to be consumed there, for their sender's sake."
    CONNECTOR = "connector"
    "Messages for a foreign system, until the program takes them that speaks to it."
    RESERVED = "reserved"
    "Messages that a subscription was given, and is not done with."
    DELAYED = "delayed"
    "Messages that cannot be read yet, or not sent elsewhere yet."
    MULTIPLE = "multiple"
    "Not a queue: several, to which the same is sent."


class Poison(StrEnum):
    """Where messages go that were aborted too often."""

    SUBQUEUE = "subqueue"
    "To the subqueue `poison` of their queue."
    DEAD_LETTER = "dead-letter"
    "To the dead-letter queue of the manager, rejected."


PRIVACY = ("none", "optional", "body")
"Which messages a queue takes, by number: clear ones, both, or encrypted ones."
VISIBLE = (QueueKind.PRIVATE, QueueKind.PUBLIC)
SEARCHED = (
    QueueKind.PRIVATE,
    QueueKind.PUBLIC,
    QueueKind.SYSTEM,
    QueueKind.JOURNAL,
    QueueKind.SUBQUEUE,
    QueueKind.CONNECTOR,
)
"Kinds of queues that messages are looked for in."
COME_AND_GO = (QueueKind.SUBQUEUE, QueueKind.OUTGOING, QueueKind.CONNECTOR)
"Queues that the store has while messages of them are in it."


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """The properties of a queue and how much is in it, at one moment."""

    name: str
    r"Its path name, `.\private$\orders`; of an outgoing queue the format name it sends to."
    id: UUID
    kind: str
    "private, public, system, journal, subqueue, outgoing or connector."
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
    restricted: bool = False
    "It has a list of permissions; without one the roles of tokens and users decide alone."
    multicast: str = ""
    "The group address whose messages it gets, `234.1.1.1:8001`; empty for none."
    arrived: int = 0
    "Messages that were put into it since it was made; those that follow count the same time."
    received: int = 0
    "Those that readers took; of an outgoing queue, those that another manager has."
    expired: int = 0
    rejected: int = 0
    "Those that were not accepted, or became dead letters as poison."
    moved: int = 0
    "Those that were moved out of it, as poison too."
    aborted: int = 0
    "How often a message came back because a transaction was aborted."


def by_name(infos: Iterable[QueueInfo]) -> list[QueueInfo]:
    """Those that people made, those that every manager has, all others; each of them by name."""

    def place(info: QueueInfo) -> tuple[bool, bool, str]:
        return info.kind not in VISIBLE, info.kind != QueueKind.SYSTEM, fold(info.name)

    return sorted(infos, key=place)


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
