"""Subscriptions for clients and the command line."""

from __future__ import annotations

from typing import Final

from openmsmq.app_protocol.payloads import COUNT_MAX, room_for
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.info import path_name
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.subscriptions.owners import bind, mark_read
from openmsmq.engine.subscriptions.slices import ReservedSlice, read_slices
from openmsmq.engine.subscriptions.subscription import DurableSubscription, SubscriptionMode
from openmsmq.names.parse import parse_name
from openmsmq.names.parts import fold
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.subscriptions import Binding, SubscriptionInfo, lasting_id

READ_SIZE_MAX: Final = room_for(COUNT_MAX)
"Bytes of the packets that are read at once, unless it is a single one: they fit a frame."


def subscription_infos(local: QueueManager, name: str = "") -> list[SubscriptionInfo]:
    """All subscriptions, or those with a name, by queue and name."""
    found = [
        _info(subscription, local)
        for subscription in local.reservations
        if not name or fold(subscription.name) == fold(name)
    ]
    return sorted(found, key=lambda info: (fold(info.queue), fold(info.name)))


def lag_of(local: QueueManager, subscription: DurableSubscription, look: int) -> tuple[int, int]:
    """Messages that it was not given yet, and for how many seconds the first of them is there.

    A lower bound, if it may have copies of more than `look` messages.
    """
    lag, arrived = subscription.lag(local.snapshot, local.expiry.overdue, look)
    return lag, 0 if arrived is None else max(0, local.timeline.wall - arrived)


def _info(subscription: DurableSubscription, core: Core) -> SubscriptionInfo:
    now = core.timeline.wall
    lag, arrived = subscription.lag(core.snapshot, core.expiry.overdue)
    source, store = subscription.source, subscription.store
    return SubscriptionInfo(
        name=subscription.name,
        queue=path_name(source),
        copy=subscription.way is SubscriptionMode.COPY,
        committed=subscription.committed,
        reserved=subscription.reserved,
        uncommitted=subscription.reserved - subscription.committed,
        bytes=store.size,
        idle=max(0, now - subscription.finished) if subscription.finished else 0,
        lag=lag,
        oldest=None if arrived is None else max(0, now - arrived),
        owner=subscription.owner,
        unread=subscription.unread,
        queue_id=lasting_id(source.properties.id, source.kind),
    )


def open_subscription(
    local: QueueManager, queue: ManagedQueue, name: str, *, copy: bool
) -> Future[DurableSubscription]:
    """The subscription of a queue, created if it does not exist."""
    return local.reservations.open(
        name, queue, SubscriptionMode.COPY if copy else SubscriptionMode.TAKE
    )


def find_subscription(local: QueueManager, name: str, queue: str) -> DurableSubscription:
    """The subscription with this name of a queue, which may be deleted meanwhile."""
    path = local.resolver.local(parse_name(queue))
    return local.reservations.find(name, queue if path is None else path)


def read_reserved(
    local: QueueManager, subscription: DurableSubscription, after: int, last: int, owner: str
) -> list[Entry]:
    """Messages that it was given behind one position, up to another or as many as fit a frame."""
    last = min(last, after + COUNT_MAX)
    return local.reservations.read(subscription, after, last, READ_SIZE_MAX, owner)


def read_reserved_slices(
    local: QueueManager, subscription: DurableSubscription, after: int, last: int, owner: str
) -> list[ReservedSlice]:
    """The same with messages that are alike together.

    A slice says four bytes more than a message, and may be a single one.
    """
    last = min(last, after + COUNT_MAX)
    room = READ_SIZE_MAX - 4 * COUNT_MAX
    return read_slices(local.snapshot, subscription, after, last, room, owner)


def commit_reserved(
    local: QueueManager,
    subscription: DurableSubscription,
    position: int,
    move_to: str,
    owner: str,
    caller: Caller = INTERNAL,
) -> Future[None]:
    """Commit all messages up to a position; with a name they move to that subqueue."""
    source = subscription.source
    target = local.subqueue(source, move_to) if move_to and not source.deleted else None
    return local.reservations.commit(subscription, position, target, owner, caller)


def bind_subscription(
    local: QueueManager, subscription: DurableSubscription, owner: str, binding: Binding
) -> Future[None]:
    """Let a subscription belong to an owner."""
    return bind(
        local,
        subscription,
        owner,
        take_over=binding.take_over,
        read=binding.read,
        run=binding.run,
        begins=binding.begins,
    )


def mark_reserved(
    local: QueueManager, subscription: DurableSubscription, owner: str, after: int, last: int
) -> Future[None]:
    """Remember what its owner has read, behind one position up to another."""
    return mark_read(local, subscription, owner, after, last)


def drop_subscription(
    local: QueueManager,
    subscription: DurableSubscription,
    *,
    unread: bool,
    caller: Caller = INTERNAL,
) -> Future[int]:
    """End a subscription, or give back only what it has skipped; how many messages it gives."""
    reservations = local.reservations
    return (reservations.give_back if unread else reservations.drop)(subscription, caller)
