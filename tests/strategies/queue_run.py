"""The steps of random work: time, commits, queues and messages."""

from __future__ import annotations

from typing import Any, Final

import pytest

from openmsmq.engine.commit.future import Future
from openmsmq.errors import OperationCancelled, QueueExists, QueueNotFound
from openmsmq.limits import NO_QUOTA
from openmsmq.properties.message import Acknowledge
from openmsmq.types.delivery import DeliveryOptions
from openmsmq.types.ids import SentId
from openmsmq.types.message import Message
from tests.strategies.model.parts import (
    NO_RULES,
    NOTHING,
    Answer,
    Kind,
    Position,
    Rules,
    Transaction,
    Wishes,
)
from tests.strategies.queue_base import KINDS, OWNER, Slot, fault
from tests.strategies.queue_check import packet_size, queue_name, real_rules
from tests.strategies.queue_reads import Reads
from tests.strategies.queues import Step
from tests.unit.engine import handles

PRIORITIES: Final = (0, 3, 3, 7)
LIFETIMES: Final = (*[None] * 7, 0, 1, 1, 2, 2, 3, 5, 30, 60)
LARGE: Final = bytes(5000)
"More than one row of the store holds."
ADMINS: Final = (0, 0, 0, 1, 1, 2, 9)
"Which queues get acknowledgements; one is transactional, one not there."
QUOTAS: Final = (None, 1, 2, 8)
RULES: Final = (
    NO_RULES,
    Rules(1),
    Rules(2, poison_is_dead=True),
    Rules(0, 1),
    Rules(0, 3, poison_is_dead=True),
    Rules(2, 2),
    Rules(2, 4, poison_is_dead=True),
    Rules(1, 1, poison_is_dead=True),
)
DELAYS: Final = (0.5, 1.0, 2.0, 4.5)
ONCES: Final = ("", "a", "a", "b")


class Run(Reads):
    """A queue manager and its model, doing the same."""

    sent = 0

    def set_up(self) -> None:
        """Create the queues and put some messages into them."""
        super().set_up()
        for number in range(len(self.slots)):
            lifetime = LIFETIMES.index((None, 5, 30, None)[number])
            self._send(Step("send", number, 0, pick=1, flags=lifetime << 4 | 0b10))
            self.commit()
        self._end_transaction(Step("end_transaction", 0, 0, pick=1, flags=1))
        self.commit()

    def do(self, step: Step) -> None:
        """One step on both."""
        self.tick()
        getattr(self, f"_{step.action}")(step)
        self.note_reads()

    # Time

    def _wait(self, step: Step) -> None:
        seconds = 31.0 if step.pick < 20 else step.pick % 8 / 2
        self.clock.wait(seconds)
        self.model.pass_time(seconds)
        self.tick()

    def _correct(self, step: Step) -> None:
        """Set the clock a little, as those do that follow a better one."""
        seconds = step.pick % 9 - 4
        self.clock.set(seconds)
        self.model.pass_time(seconds)
        self.tick()

    def _jump(self, step: Step) -> None:
        """Set the clock to another hour."""
        seconds = (10 + step.pick * 100) * (1 if step.has(0) else -1)
        self.clock.set(seconds)
        self.model.jump(seconds)
        self.tick()

    # Commits

    def _start(self, step: Step) -> None:
        self.start()

    def _finish(self, step: Step) -> None:
        self.finish()

    def _commit(self, step: Step) -> None:
        self.finish()
        self.start()
        self.finish()

    def _fail(self, step: Step) -> None:
        self.fail(fault(step), step.pick)

    def _restart(self, step: Step) -> None:
        if step.has(0):
            self.stop()
        seconds = step.pick % 8
        self.clock.wait(seconds)
        self.model.pass_time(seconds)
        self.restart()

    # Queues

    def _create(self, step: Step) -> None:
        slot = self.slots[step.queue]
        if slot.model.never_was or (slot.model.deleted and slot.deleting.done):
            self.slots[step.queue] = self.new_queue(step.queue)
        else:
            with pytest.raises(QueueExists):
                self.manager.create_queue(f".\\PRIVATE$\\Q{step.queue}")

    def _delete(self, step: Step) -> None:
        slot = self.slots[step.queue]
        if slot.model.deleted:
            with pytest.raises(QueueNotFound):
                self.manager.find_queue(f".\\private$\\q{step.queue}")
        else:
            slot.deleting = self.ask(
                lambda: self.core.queue_lifecycle.delete(slot.real),
                lambda _: self.model.delete(slot.model),
            )

    def _change(self, step: Step) -> None:
        slot = self.slots[step.queue]
        label, journaling = str(step.pick), step.has(0)
        rules = RULES[step.flags >> 5 & 7] if slot.model.transactional else NO_RULES
        quota, journal_quota = QUOTAS[step.flags >> 1 & 3], QUOTAS[step.flags >> 3 & 3]
        self.ask(
            lambda: self.manager.change_queue(
                slot.real,
                label=label,
                journal=journaling,
                quota=_quota(quota),
                journal_quota=_quota(journal_quota),
                **real_rules(rules),
            ),
            lambda _: self.model.change(
                slot.model,
                label=label,
                journaling=journaling,
                quota=quota,
                journal_quota=journal_quota,
                rules=rules,
            ),
        )

    def _configure(self, step: Step) -> None:
        """Give a queue of the manager's own a quota."""
        slot = self.system[step.pick % 3]
        quota = QUOTAS[step.flags & 3]
        self.ask(
            lambda: self.manager.change_queue(slot.real, quota=_quota(quota)),
            lambda _: self.model.change(slot.model, quota=quota),
        )

    def _purge(self, step: Step) -> None:
        slot = self.place(step)
        self.ask(
            lambda: self.core.queue_lifecycle.purge(slot.real),
            lambda _: self.model.purge(slot.model),
        )

    def _close(self, step: Step) -> None:
        """Close a subqueue; what is waiting there is cancelled."""
        for slot in self.slots[step.queue].subqueues.values():
            if slot.handle is not None:
                self.core.queues.close(slot.real, slot.handle, OWNER)
                self.model.cancel_all(slot.model, OperationCancelled)
                slot.handle = None

    # Messages

    def _send(self, step: Step) -> None:
        slot = self.slots[step.queue]
        transactional = slot.model.transactional != (step.pick > 250)
        express = step.has(0) and not transactional
        count = 3 if step.has(1) else 1
        positions = [
            self._position(step, slot, nth, express=express, transactional=transactional)
            for nth in range(count)
        ]
        lifetime = LIFETIMES[step.flags >> 4 & 15]
        for position in positions:
            position.expires = self.model.expiry(lifetime)
        messages = [_message(position, lifetime) for position in positions]
        if step.place >= 8 and not express:
            self._post(step, slot, positions, messages, transactional=transactional)
            return
        if not transactional:
            self.ask(
                lambda: handles.send(self.manager, slot.real, messages, None),
                lambda _: self.model.send(positions),
            )
            return
        real, transaction = self._transaction(step)
        if not transaction.unanswered:
            self.ask(
                lambda: handles.send(self.manager, slot.real, messages, real),
                lambda pending: self.model.send_in(transaction, positions, at_once=pending.done),
            )

    def _post(
        self,
        step: Step,
        slot: Slot,
        positions: list[Position],
        messages: list[Message],
        *,
        transactional: bool,
    ) -> None:
        """Send messages later, or under ids, or both; what would expire before is sent at once."""
        after = int(DELAYS[step.pick % 4] * 1000) if step.place % 2 else 0
        once = ONCES[step.pick // 4 % 4] if step.place >= 10 else ""
        due = self.core.timeline.millis + after if after else 0
        if any((p.expires + 1) * 1000 <= due for p in positions):
            due = after = 0
        ids = tuple(f"{once}{nth}" for nth in range(len(positions))) if once else ()
        for position, name in zip(positions, ids or ("",) * len(positions), strict=True):
            position.due, position.once = due, name
        delivery = DeliveryOptions(after=after, dedup_ids=ids)
        real, transaction = self._transaction(step) if transactional else (None, None)
        if transaction is not None and transaction.unanswered:
            return

        def call() -> Future[Any]:
            numbers: Future[Any] = Future()
            sent = handles.send(self.manager, slot.real, messages, real, delivery)
            sent.then(numbers, lambda found: tuple(map(_number, found)))
            return numbers

        self.ask(call, lambda pending: self._posted(positions, transaction, at_once=pending.done))

    def _posted(
        self, positions: list[Position], transaction: Transaction | None, *, at_once: bool
    ) -> Answer:
        """The same in the model: the numbers that the messages are known by."""
        model = self.model
        fresh, said = model.fresh_ones(positions), Answer()
        known = tuple(model.number_of(p) for p in positions)
        if not fresh:
            return said.succeed(known)

        def then() -> None:
            if sent.errors:
                said.fail(*sent.errors)
            else:
                now = tuple(model.number_of(p) for p in positions)
                said.succeed(now if transaction is None else known)

        if transaction is None:
            sent = model.send(fresh)
        else:
            sent = model.send_in(transaction, fresh, at_once=at_once)
        sent.then = then
        if sent.done:
            then()
        return said

    def _position(
        self, step: Step, slot: Slot, nth: int, *, express: bool, transactional: bool
    ) -> Position:
        self.sent += 1
        body = b"%d" % self.sent + LARGE * (step.place == 15)
        priority = 0 if transactional else PRIORITIES[step.pick % len(PRIORITIES)]
        wishes = _wishes(step)
        has_admin = bool(wishes.acknowledge)
        size = packet_size(len(body), transactional=transactional, admin=has_admin)
        number = self.core.numbers.message_id + 1 + nth
        return Position(slot.model, body, size, priority, express, number, wishes)

    def _move(self, step: Step) -> None:
        """Move a message to a subqueue or back."""
        main = self.slots[step.queue]
        slot = self.place(step)
        lookup = self._some_lookup(step, slot)
        targets = {"": main, "a": main.subqueues.get("a"), "b": main.subqueues.get("b")}
        names = [name for name, target in targets.items() if target is not slot]
        name = names[step.flags % len(names)] if step.pick < 240 else ""
        real, transaction = None, None
        if KINDS[step.queue] and step.has(4):
            real, transaction = self._transaction(step)
            if transaction.unanswered:
                return
        target = self._target(main if slot.model.main is main.model else slot, name)
        self.ask(
            lambda: self.manager.moves.move(slot.real, lookup, target.real, real),
            lambda _: self.model.move(slot.model, lookup, target.model, transaction),
        )

    def _target(self, owner: Slot, name: str) -> Slot:
        """Where a message goes; a subqueue is made if there is none."""
        if not name or owner.model.kind is not Kind.MAIN:
            return owner
        if owner.model.deleted:
            return owner.subqueues.get(name, owner)
        return self.found_subqueue(owner, name, self.core.queues.subqueue(owner.real, name))


def _number(sent: SentId) -> int:
    return int(sent.rpartition("\\")[2])


def _quota(quota: int | None) -> int:
    return NO_QUOTA if quota is None else quota


def _wishes(step: Step) -> Wishes:
    """What the sender of a message asks for: often nothing."""
    if step.flags >> 8 & 3 == 0:
        return NOTHING
    return Wishes(
        dead_letter=step.has(10),
        journal=step.has(11),
        acknowledge=Acknowledge(step.flags >> 12),
        admin=ADMINS[step.pick % len(ADMINS)],
    )


def _message(position: Position, lifetime: int | None) -> Message:
    wishes = position.wishes
    return Message(
        position.body,
        priority=position.priority,
        recoverable=not position.express,
        dead_letter=wishes.dead_letter,
        journal=wishes.journal,
        acknowledge=wishes.acknowledge,
        admin_queue=str(queue_name(wishes.admin)) if wishes.acknowledge else None,
        time_to_be_received=lifetime,
    )
