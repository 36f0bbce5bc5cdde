"""The steps of random work: time, commits, queues and messages."""

from __future__ import annotations

from typing import Final

import pytest

from openmsmq.errors import OperationCancelled, QueueExists, QueueNotFound
from openmsmq.messages.message import Message
from openmsmq.model.queue import NO_QUOTA
from openmsmq.properties.message import Acknowledge
from tests.strategies.model.parts import (
    NOTHING,
    Kind,
    Position,
    Wishes,
)
from tests.strategies.queue_base import KINDS, OWNER, Slot, fault
from tests.strategies.queue_check import packet_size, queue_name
from tests.strategies.queue_reads import Reads
from tests.strategies.queues import Step

PRIORITIES: Final = (0, 3, 3, 7)
LIFETIMES: Final = (*[None] * 7, 0, 1, 1, 2, 2, 3, 5, 30, 60)
LARGE: Final = bytes(5000)
"More than one row of the store holds."
ADMINS: Final = (0, 0, 0, 1, 1, 2, 9)
"Which queues get acknowledgements; one is transactional, one not there."
QUOTAS: Final = (None, 1, 2, 8)


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
                lambda: self.core.queues.delete(slot.real), lambda _: self.model.delete(slot.model)
            )

    def _change(self, step: Step) -> None:
        slot = self.slots[step.queue]
        label, journaling = str(step.pick), step.has(0)
        quota, journal_quota = QUOTAS[step.flags >> 1 & 3], QUOTAS[step.flags >> 3 & 3]
        self.ask(
            lambda: self.manager.change_queue(
                slot.real,
                label=label,
                journal=journaling,
                quota=_quota(quota),
                journal_quota=_quota(journal_quota),
            ),
            lambda _: self.model.change(
                slot.model,
                label=label,
                journaling=journaling,
                quota=quota,
                journal_quota=journal_quota,
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
        self.ask(lambda: self.core.queues.purge(slot.real), lambda _: self.model.purge(slot.model))

    def _close(self, step: Step) -> None:
        """Close a subqueue; what waits there is cancelled."""
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
        if not transactional:
            self.ask(
                lambda: self.manager.send(slot.real, messages, None),
                lambda _: self.model.send(positions),
            )
            return
        real, transaction = self._transaction(step)
        if not transaction.unanswered:
            self.ask(
                lambda: self.manager.send(slot.real, messages, real),
                lambda pending: self.model.send_in(transaction, positions, at_once=pending.done),
            )

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
            lambda: self.manager.moving.move(slot.real, lookup, target.real, real),
            lambda _: self.model.move(slot.model, lookup, target.model, transaction),
        )

    def _target(self, owner: Slot, name: str) -> Slot:
        """Where a message goes; a subqueue is made if there is none."""
        if not name or owner.model.kind is not Kind.MAIN:
            return owner
        if owner.model.deleted:
            return owner.subqueues.get(name, owner)
        return self.found_subqueue(owner, name, self.core.queues.subqueue(owner.real, name))


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
