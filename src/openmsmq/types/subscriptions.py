"""Public values about durable subscriptions."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from openmsmq.types.queues import QueueKind


@dataclass(frozen=True, slots=True)
class Binding:
    """How a subscription is bound to an owner."""

    take_over: bool = False
    "Take it over from another owner."
    read: int = 0
    "The position up to which it was read before it had an owner."
    run: str = ""
    "Which run of the owner reads, so that two runs at once are noticed; empty for any."
    begins: bool = False
    "This run begins: it takes the place of the run before it."


@dataclass(frozen=True, slots=True)
class SubscriptionInfo:
    """The state of a subscription at one moment."""

    name: str
    queue: str
    r"The path name of the queue it reads, `.\private$\orders`."
    copy: bool
    "It leaves the messages in the queue."
    committed: int
    "The last committed position."
    reserved: int
    "The last reserved position."
    uncommitted: int
    "Messages that are reserved and not committed."
    bytes: int
    "The size of these messages."
    idle: int
    "Seconds since the last commit, or since it was created; 0 if unknown."
    lag: int
    "Messages of the queue that are not reserved yet; for copies, a lower bound."
    oldest: int | None
    "The age of the oldest of these, in seconds."
    owner: str = ""
    "The only reader that may use it; empty for any reader."
    unread: int = 0
    "Messages that the owner committed without reading them; they are kept."
    queue_id: str = ""
    "The identity of the queue, which outlives its name: see `lasting_id`."


def lasting_id(identifier: UUID, kind: str) -> str:
    """The GUID of a queue; a journal, which has that of its queue, is marked."""
    return f"{identifier};JOURNAL" if kind == QueueKind.JOURNAL else str(identifier)
