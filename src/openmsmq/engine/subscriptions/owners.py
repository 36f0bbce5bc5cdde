"""Owners of subscriptions, and what they have read.

A subscription that several readers use under the same name gives each of them messages that the
others take for their own. An owner keeps them apart: once a subscription is bound to one, no other
reader reads through it or is done with anything. Its owner has to say what it has read, on disk,
and what it has not read does not leave when it says that it is done with it: somewhere between it
and its reader messages were skipped.
"""

from __future__ import annotations

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.storage.layout import READ_ROW, queue_key
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.subscriptions.limits import OWNER_MAX, PAST_MAX, RANGES_MAX
from openmsmq.engine.subscriptions.ranges import Ranges
from openmsmq.engine.subscriptions.rows import write_state
from openmsmq.engine.subscriptions.subscription import DurableSubscription
from openmsmq.errors import InvalidParameter, QueueNotFound, RunReplaced, SubscriptionTaken


def check_owner(subscription: DurableSubscription, owner: str) -> None:
    """Refuse a reader that a subscription does not belong to."""
    has = subscription.owner
    if has == owner:
        return
    what = f"subscription {subscription.name} of {subscription.source.name}"
    if not has:
        raise SubscriptionTaken(f"{what} has no owner yet: bind it to {owner} before it is read")
    raise SubscriptionTaken(f"{what} belongs to {has}, not to {owner or 'a reader without a name'}")


def bind(
    core: Core,
    subscription: DurableSubscription,
    owner: str,
    *,
    take_over: bool = False,
    read: int = 0,
    run: str = "",
    begins: bool = False,
) -> Future[None]:
    """Let a subscription belong to an owner, if it has none, or to do so again.

    On purpose (`take_over`) it passes from another one, which cannot take it back: two readers that
    both may would go on so for ever. What that one has read does not count then. Without an owner
    it may have been read up to the position `read` before there were owners.

    An owner may run twice by mistake, from a copy of its state: the run that began last is the one
    that reads. Runs are not stored, since a restart of the manager ends none.
    """
    if not 0 < len(owner) <= OWNER_MAX or not owner.isprintable():
        raise InvalidParameter(f"{owner!r}: an owner has 1 to {OWNER_MAX} printable characters")
    if len(run) > OWNER_MAX:
        raise InvalidParameter(f"a run has {OWNER_MAX} characters at most, not {len(run)}")

    def work(pending: Future[None]) -> None:
        has = subscription.owner
        if has == owner:
            _check_run(subscription, run, begins=begins)
            pending.succeed(None)
            return
        if has and (owner in subscription.past or not take_over):
            check_owner(subscription, owner)
        past = (has, *subscription.past)[:PAST_MAX] if has else subscription.past
        adopted = subscription.committed if has else min(read, subscription.reserved)
        known = Ranges().add(subscription.committed, adopted)

        def apply(batch: Batch) -> None:
            write_state(batch, subscription, owners=(owner, *past))
            _write_read(batch, subscription, known)

        def committed() -> None:
            subscription.owner, subscription.past, subscription.read = owner, past, known
            subscription.run = run
            subscription.is_changing = False
            pending.succeed(None)

        def failed(error: BaseException) -> None:
            subscription.is_changing = False
            pending.fail(error)

        subscription.is_changing = True
        core.submit(apply, committed, failed)

    return subscription.in_turn(work)


def _check_run(subscription: DurableSubscription, run: str, *, begins: bool) -> None:
    """Refuse a run of the owner that another one has replaced."""
    if run and subscription.run not in ("", run) and not begins:
        raise RunReplaced(
            f"another run of the stream that subscription {subscription.name} of"
            f" {subscription.source.name} belongs to has begun since, from the same checkpoint or a"
            " copy of it: only one may run"
        )
    subscription.run = run or subscription.run


def mark_read(
    core: Core, subscription: DurableSubscription, owner: str, after: int, last: int
) -> Future[None]:
    """Remember that its owner has read what it was given behind one position, up to another.

    What many parts of a reader say at once is committed at once, so this does not wait for its
    turn. While the owner changes it is refused: it would count for the next one.
    """
    if subscription.is_over:
        raise QueueNotFound(f"the subscription {subscription.name} was dropped")
    check_owner(subscription, owner)
    if subscription.is_changing:
        raise SubscriptionTaken(
            f"subscription {subscription.name} changes its owner, or ends: try again"
        )
    if not after <= last <= subscription.reserved:
        raise InvalidParameter(
            f"subscription {subscription.name} is reserved up to {subscription.reserved},"
            f" cannot mark {after} to {last}"
        )
    known = subscription.read.add(max(after, subscription.committed), last)
    if len(known) > RANGES_MAX:
        raise InvalidParameter(
            f"subscription {subscription.name} was read in {len(known)} separate parts, more than"
            f" {RANGES_MAX}: read in larger parts"
        )
    subscription.read = known
    pending: Future[None] = Future()
    core.submit(
        lambda batch: _write_read(batch, subscription, subscription.read),
        lambda: pending.succeed(None),
        pending.fail,
    )
    return pending


def _write_read(batch: Batch, subscription: DurableSubscription, read: Ranges) -> None:
    batch.writer.put(Table.QUEUES, queue_key(subscription.store.number, READ_ROW), read.pack())
