"""Giver: messages of a queue are given to a subscription, step by step.

Each step is a commit, after which what was given is found by its positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Final

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.messages.scan import fetch, up_to
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import SliceHolder
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.layout import packet_place
from openmsmq.engine.storage.runs import Found
from openmsmq.engine.subscriptions.parts import (
    STEP,
    STEP_SIZE,
    StepParts,
    bytes_of,
    last_of,
    takeable,
)
from openmsmq.engine.subscriptions.rows import copy, give, take, write_state
from openmsmq.engine.subscriptions.subscription import (
    DurableSubscription,
    SubscriptionMode,
    with_reader,
)
from openmsmq.errors import QueueNotAvailable, QueueNotFound

RESERVING: Final = SliceHolder()
"Locks messages while they are being reserved."


class Giver:
    """Gives messages of queues to subscriptions."""

    def __init__(self, core: Core, of: Callable[[ManagedQueue], list[DurableSubscription]]) -> None:
        """`of` finds the subscriptions of a queue."""
        self._core = core
        self._of = of

    def give(
        self,
        subscription: DurableSubscription,
        pending: Future[int],
        count: int,
        size_max: int,
        *,
        is_first: bool,
    ) -> None:
        """Reserve messages step by step; the first one may have any size."""
        if subscription.source.deleted and is_first:
            pending.fail(QueueNotAvailable(subscription.source.name))
            return
        if subscription.source.deleted or not count:
            pending.succeed(subscription.reserved)
            return
        if subscription.way is SubscriptionMode.COPY:
            self._give_copies(subscription, pending, count, size_max, is_first=is_first)
            return
        core, source = self._core, subscription.source
        overdue = core.expiry.overdue
        parts = takeable(core.snapshot, source, count, size_max, overdue, is_first=is_first)
        if not parts:
            pending.succeed(subscription.reserved)
            return

        def go_on() -> None:
            left, size = count - _count(parts), max(0, size_max - bytes_of(parts))
            self.give(subscription, pending, left, size, is_first=False)

        self._take(subscription, parts, go_on, pending.fail)

    def _take(
        self,
        subscription: DurableSubscription,
        parts: StepParts,
        go_on: Callable[[], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        """Let a subscription have messages, which leave their queue."""
        core, source = self._core, subscription.source
        slices = [part for part in parts if isinstance(part, RunSlice)]
        singles = [part[0] for part in parts if not isinstance(part, RunSlice)]
        for part in slices:
            source.holds.hold_slice(part, RESERVING)
        source.holds.hold(singles, RESERVING)
        source.start = last_of(parts)
        end = subscription.reserved + _count(parts)

        def apply(batch: Batch) -> None:
            _check_is_there(subscription)
            at = subscription.reserved + 1
            for is_run, group in groupby(parts, lambda part: isinstance(part, RunSlice)):
                if not is_run:
                    entries = _entries(source, group)
                    take(batch, subscription, entries, at)
                    at += len(entries)
                    continue
                for part in group:
                    assert isinstance(part, RunSlice)
                    if not give(batch, subscription, part, at):
                        take(batch, subscription, part.entries(), at)
                    at += len(part)
            write_state(batch, subscription, reserved=end)

        def committed() -> None:
            subscription.reserved = end
            core.removal.forget(source, singles)
            for part in slices:
                core.removal.forget_slice(source, part)
            go_on()

        def failed(error: BaseException) -> None:
            lookups = [lookup for part in slices for lookup in range(part.first, part.end)]
            core.removal.release(source, singles + lookups)
            fail(error)

        core.submit(apply, committed, failed, grows=True)

    def _give_copies(
        self,
        subscription: DurableSubscription,
        pending: Future[int],
        count: int,
        size_max: int,
        *,
        is_first: bool,
    ) -> None:
        """The same for one that has copies."""
        core = self._core
        found, is_all = subscription.candidates(
            core.snapshot, core.expiry.overdue, min(count, STEP)
        )
        found, rest = _split(found, min(size_max, STEP_SIZE), is_first=is_first)
        subscription.came(item[0] for item in rest)
        if found:

            def go_on() -> None:
                left = max(0, size_max - bytes_of(found))
                self.give(subscription, pending, count - len(found), left, is_first=False)

            self._copy(subscription, found, go_on, pending.fail)
        elif rest or is_all:
            pending.succeed(subscription.reserved)
        else:

            def look_on() -> None:
                self.give(subscription, pending, count, size_max, is_first=is_first)

            core.submit(lambda batch: None, look_on, pending.fail)

    def _copy(
        self,
        subscription: DurableSubscription,
        found: list[Found],
        go_on: Callable[[], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        """Let a subscription have copies of messages."""
        core, source = self._core, subscription.source
        lookups = [item[0] for item in found]
        source.holds.hold(lookups, RESERVING)
        copied = self._copied(subscription, fetch(core.snapshot, source, found))
        end = subscription.reserved + len(found)

        def apply(batch: Batch) -> None:
            _check_is_there(subscription)
            copy(batch, subscription, copied)
            write_state(batch, subscription, reserved=end)

        def committed() -> None:
            subscription.reserved = end
            for entry in copied:
                if entry.lookup in source.express:
                    source.express.rewrite(entry.lookup, entry.record)
            core.removal.release(source, lookups)
            subscription.has_copied(lookups)
            go_on()

        def failed(error: BaseException) -> None:
            core.removal.release(source, lookups)
            fail(error)

        core.submit(apply, committed, failed, grows=True)

    def _copied(self, subscription: DurableSubscription, entries: list[Entry]) -> list[Entry]:
        """The same messages, with records that name the subscriptions with a copy."""
        known = {other.store.number for other in self._of(subscription.source)}
        number = subscription.store.number
        return [
            entry._replace(record=with_reader(entry.record, number, known)) for entry in entries
        ]


def _count(parts: Iterable[Found | RunSlice]) -> int:
    return sum([len(part) if isinstance(part, RunSlice) else 1 for part in parts])


def _entries(source: ManagedQueue, found: Iterable[Found | RunSlice]) -> list[Entry]:
    """Messages that are taken out of a queue, without their packets, unless they are express."""
    return [
        source.express[item[0]] if item[2] else Entry(item[0], item[1], b"")
        for item in found
        if not isinstance(item, RunSlice)
    ]


def _check_is_there(subscription: DurableSubscription) -> None:
    if subscription.is_over:
        raise QueueNotFound(f"the subscription {subscription.name} was dropped")


def _split(found: list[Found], size_max: int, *, is_first: bool) -> tuple[list[Found], list[Found]]:
    """Messages that fit into a number of bytes, at least one if it is the first, and the rest."""
    if not found or (not is_first and packet_place(found[0][1])[1] > size_max):
        return [], found
    fitting = up_to(found, size_max)
    return fitting, found[len(fitting) :]
