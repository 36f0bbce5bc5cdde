"""Purging and deleting in the model: some messages with every commit."""

from __future__ import annotations

from openmsmq.errors import QueueDeleted, QueueNotAvailable
from tests.strategies.model.commits import Error, Outset
from tests.strategies.model.outcomes import DELETED, PURGED
from tests.strategies.model.parts import Answer, Position, Queue
from tests.strategies.model.reading import Reading


class Emptying(Reading):
    """Queues that are emptied."""

    def __init__(self, outset: Outset) -> None:
        super().__init__(outset)
        self.emptying: list[Queue] = []
        "Deleted queues with messages still to be removed."
        self.stopping = False
        "Long work is left for the next start."

    def purge(self, queue: Queue) -> Answer:
        """Purge Queue ([MS-MQDMPR] 3.1.7.1.7): what is there goes, at the latest when given back.

        What comes later stays: sends that are not committed yet (A-30), what is moved or put back.
        """
        if queue.deleted:
            return Answer().fail(QueueNotAvailable)
        if queue.delayed is None:
            return self._purge(queue)
        whole = Answer()
        parts = [self._purge(queue), self._purge(queue.delayed)]
        for part in parts:
            part.then = lambda: self._purged(whole, parts)
        return whole

    def _purged(self, whole: Answer, parts: list[Answer]) -> None:
        """The queue is purged, and what is waiting, or could not be."""
        if all(part.done for part in parts):
            if errors := parts[0].errors or parts[1].errors:
                whole.fail(*errors)
            else:
                whole.succeed(sum(part.count for part in parts))

    def _purge(self, queue: Queue) -> Answer:
        answer = Answer()
        queue.marks[answer] = self.arrival
        express = [p for p in queue.positions if p.express and p.holder is None]
        for position in queue.positions:
            position.purges.add(answer)
        self.left(express, PURGED)
        self._purge_step(queue, answer, after=0, count=len(express))
        self.wake()
        return answer

    def _purge_step(self, queue: Queue, answer: Answer, *, after: int, count: int) -> None:
        """Take out some of what was purged, then the next."""
        seen: list[Position] = []
        gone: list[Position] = []

        def start() -> None:
            seen[:] = [p for p in queue.positions if not p.express and p.lookup > after][
                : self.outset.step
            ]
            free = [p for p in seen if p.holder is None and p not in self.leaving]
            gone[:] = [p for p in free if p.purges and p.arrival <= queue.marks[answer]]
            self.left(gone, PURGED)
            if len(seen) < self.outset.step:
                self.note_purged(queue)

        def finish() -> None:
            if len(seen) == self.outset.step and not queue.deleted:
                so_far = count + len(gone)
                self._purge_step(queue, answer, after=seen[-1].lookup, count=so_far)
            else:
                self._end_purge(queue, answer, [p for p in queue.positions if p.holder is None])
                answer.succeed(count + len(gone))

        def fail(error: Error) -> None:
            self._end_purge(queue, answer, queue.positions)
            self.fresh.append((queue, []))  # readers look again, but nothing is new
            answer.fail(error)

        self.submit(finish, fail, start, grows=False)

    def _end_purge(self, queue: Queue, answer: Answer, spared: list[Position]) -> None:
        del queue.marks[answer]
        for position in spared:
            position.purges.discard(answer)

    def delete(self, queue: Queue) -> Answer:
        """Delete Queue ([MS-MQDMPR] 3.1.7.1.4): its journal and subqueues too (A-29).

        Readers are notified; what transactions and readers in two steps hold goes with the rest.
        """
        answer = Answer()
        family = queue.family
        self._hide(queue)

        def finish() -> None:
            self.withdraw(queue)
            answer.succeed()
            self.emptying += family
            for member in family:
                self.drop_step(member)

        def fail(error: Error) -> None:
            for member in family:
                member.deleted = queue.never_was
            answer.fail(error)

        self.submit(finish, fail, grows=False)
        return answer

    def _hide(self, queue: Queue) -> None:
        for member in queue.family:
            member.deleted = True
            self.cancel_all(member, QueueDeleted)

    def withdraw(self, queue: Queue) -> None:
        """A queue is gone, or never was; express messages are gone with it."""
        self._hide(queue)
        self.named = {name: other for name, other in self.named.items() if other is not queue}
        for member in queue.family:
            member.on_disk = False
            self.left([p for p in member.positions if p.express], DELETED)

    def drop_step(self, queue: Queue, after: int = 0) -> None:
        """Remove some messages of a deleted queue, then the next."""
        gone: list[Position] = []

        def start() -> None:
            gone[:] = [p for p in queue.positions if not p.express and p.lookup > after][
                : self.outset.step
            ]
            self.left(gone, DELETED)

        def finish() -> None:
            if len(gone) < self.outset.step:
                self.emptying.remove(queue)
            elif not self.stopping:
                self.drop_step(queue, gone[-1].lookup)

        self.submit(finish, lambda error: None, start, grows=False)
