"""Durable subscriptions as programs and people see them."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from openmsmq.types.queues import QueueKind


@dataclass(frozen=True, slots=True)
class Binding:
    """How a subscription comes to its owner."""

    take_over: bool = False
    "It passes from another owner, too."
    read: int = 0
    "Without an owner, it was read up to this position before there were owners."


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """How far a subscription has come, at one moment."""

    name: str
    queue: str
    r"The path name of the queue it reads, `.\private$\orders`."
    copy: bool
    "It leaves the messages in the queue."
    done: int
    "It is done with all messages up to this position."
    end: int
    "It was given all messages up to this position."
    waiting: int
    "Messages that it was given and is not done with."
    bytes: int
    "What these take."
    idle: int
    "Seconds since it was last done with some, or since it began; 0 if that is unknown."
    behind: int
    "Messages of the queue that it was not given yet; of copies, so many at least."
    oldest: int | None
    "Seconds that the first of these has been in the queue."
    owner: str = ""
    "Who alone may read through it; empty for anybody."
    unread: int = 0
    "Messages that its owner says it is done with and has not read; they stay with it."
    queue_id: str = ""
    "What the queue is known by, whatever it is called: see `lasting_id`."


def lasting_id(identifier: UUID, kind: str) -> str:
    """The GUID of a queue; a journal, which has that of its queue, is marked."""
    return f"{identifier};JOURNAL" if kind == QueueKind.JOURNAL else str(identifier)
