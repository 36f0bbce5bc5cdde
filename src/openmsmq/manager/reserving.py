"""Subscriptions with a name, as programs and people ask for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from openmsmq.app.messages import COUNT_MAX, room_for
from openmsmq.manager.info import path_name
from openmsmq.manager.local import LocalManager
from openmsmq.model.core import Core
from openmsmq.model.pending import Pending
from openmsmq.model.queue import Queue
from openmsmq.model.reading import Entry
from openmsmq.model.subscription import Subscription, Way
from openmsmq.names.parse import parse_name
from openmsmq.names.parts import fold

READ_SIZE_MAX: Final = room_for(COUNT_MAX)
"Bytes of the packets that are read at once, unless it is a single one: they fit a frame."


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


def subscription_infos(local: LocalManager) -> list[SubscriptionInfo]:
    """All subscriptions, by queue and name."""
    found = [_info(subscription, local.core) for subscription in local.reservations]
    return sorted(found, key=lambda info: (fold(info.queue), fold(info.name)))


def _info(subscription: Subscription, core: Core) -> SubscriptionInfo:
    now = core.timeline.wall
    behind, arrived = subscription.behind(core.snapshot, core.expiring.overdue)
    return SubscriptionInfo(
        name=subscription.name,
        queue=path_name(subscription.source),
        copy=subscription.way is Way.COPY,
        done=subscription.done,
        end=subscription.end,
        waiting=subscription.store.messages,
        bytes=subscription.store.size,
        idle=max(0, now - subscription.finished) if subscription.finished else 0,
        behind=behind,
        oldest=None if arrived is None else max(0, now - arrived),
    )


def open_subscription(
    local: LocalManager, queue: Queue, name: str, *, copy: bool
) -> Pending[Subscription]:
    """The subscription of a queue, begun if it is not there yet."""
    return local.reservations.open(name, queue, Way.COPY if copy else Way.TAKE)


def find_subscription(local: LocalManager, name: str, queue: str) -> Subscription:
    """The subscription with this name of a queue, which may be deleted meanwhile."""
    path = local.naming.local(parse_name(queue))
    return local.reservations.find(name, queue if path is None else path)


def read_reserved(
    local: LocalManager, subscription: Subscription, after: int, last: int
) -> list[Entry]:
    """Messages that it was given behind one position, up to another or as many as fit a frame."""
    last = min(last, after + COUNT_MAX)
    return local.reservations.read(subscription, after, last, READ_SIZE_MAX)


def finish_reserved(
    local: LocalManager, subscription: Subscription, position: int, move_to: str
) -> Pending[None]:
    """The reader is done with all up to a position; with a name they go to that subqueue."""
    source = subscription.source
    target = local.subqueue(source, move_to) if move_to and not source.deleted else None
    return local.reservations.finish(subscription, position, target)
