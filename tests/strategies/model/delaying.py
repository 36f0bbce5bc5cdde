"""Messages of the model that wait, that have ids of their own, or that are poison."""

from __future__ import annotations

from collections import Counter
from typing import Final

from openmsmq.properties.message import MessageClass
from tests.strategies.model.commits import Error, Outset
from tests.strategies.model.expiring import Expiry
from tests.strategies.model.parts import KIB, Kind, Position, Queue

REJECTED: Final = MessageClass.NACK_RECEIVE_REJECTED
Place = tuple[int, int, int]
Once = tuple[Queue, str]


class Delays(Expiry):
    """What is not read in its turn: later, once, or never again."""

    def __init__(self, outset: Outset) -> None:
        super().__init__(outset)
        self.releasing = False
        "Messages are on their way that were due."
        self.known: dict[Once, int] = {}
        "The numbers of messages that were sent under ids."
        self.knowing: dict[Once, int] = {}
        "The same of the commit that runs."

    @property
    def millis(self) -> int:
        """Milliseconds as lifetimes count them."""
        return int((self.wall - self.shift) * 1000)

    def _take_effect(self) -> None:
        super()._take_effect()
        self.known |= self.knowing

    def forget_commit(self) -> None:
        super().forget_commit()
        self.knowing = {}

    # Sending

    def fresh_ones(self, positions: list[Position]) -> list[Position]:
        """Those whose ids are not known; the others are not sent."""
        fresh = [p for p in positions if (p.queue, p.once) not in self.known]
        repeated = len(positions) - len(fresh)
        self.statistics += Counter({"repeated sends": repeated})
        return fresh

    def number_of(self, position: Position) -> int:
        """The number that a message is known by."""
        return self.known.get((position.queue, position.once), position.number)

    def arrive(self, positions: list[Position]) -> None:
        """Messages come into their queue, unless they were sent before or have to wait."""
        if positions[0].queue.deleted:
            return
        fresh = []
        for position in positions:
            name = position.queue, position.once
            if position.once and (name in self.known or name in self.knowing):
                self.count("repeated sends", [position])
                continue
            if position.once:
                self.knowing[name] = position.number
            fresh.append(position)
        now = [p for p in fresh if p.due <= self.millis]
        for position in now:
            self.put(position)
        self.arrived(now)
        for position in fresh:
            if position not in now:
                self.give_number(position)
                self._delay(position.copy(position.queue.waiting))

    def _delay(self, position: Position) -> None:
        self.flying.setdefault(position.queue, []).append(position)
        self.count("delayed", [position])

    # Aborts

    def give_back(self, position: Position) -> Position | None:
        """A message was aborted: where it is then, if not in its place.

        It is counted when that lasts, unless it goes elsewhere.
        """
        queue, aborts = position.queue, position.aborts + 1
        rules = queue.rules
        if queue.kind is not Kind.MAIN:
            return None
        if 0 < rules.abort_limit <= aborts and (away := self._poison(position, aborts)):
            return away
        if not rules.retry_delay:
            return None
        due = self.millis + rules.retry_delay * 1000
        self.take([position])
        resting = position.copy(queue.waiting, aborts=aborts, due=due)
        self._delay(resting)
        return resting

    def _poison(self, position: Position, aborts: int) -> Position | None:
        """To the subqueue, or to the dead letters if there is room."""
        queue = position.queue
        if not queue.rules.poison_is_dead:
            (target,) = (sub for sub in queue.subqueues if sub.is_poison)
            moved = position.copy(target, aborts=aborts, moves=position.moves + 1)
            self.take([position])
            self.flying.setdefault(target, []).append(moved)
        else:
            dead = self.transactional_dead_letters
            size = dead.size + sum(p.size for p in self.flying.get(dead, []))
            size -= sum(p.size for p in self.leaving if p.queue is dead)
            if dead.quota is not None and size + position.size > dead.quota * KIB:
                return None
            self.take([position])
            self.acknowledge(position, REJECTED)
            self.keep(dead, position, REJECTED)
        self.count("poisoned", [position])
        return position

    def purged_meanwhile(self, old: Position, new: Position) -> None:
        """What was purged while it was on its way to another place is purged there."""
        if old.purges:
            marks = new.queue.marks.items()
            new.purges |= {purge for purge, mark in marks if new.arrival <= mark}

    # Time

    def begin_release(self) -> None:
        """The manager begins to let messages go that are due."""
        self.releasing = True
        self._release_step((0, 0, 0))

    def _release_step(self, after: Place) -> None:
        seen: list[Position] = []
        moved: list[tuple[Position, Position]] = []
        now = self.millis

        def start() -> None:
            waiting = [p for q in self.queues for p in q.positions if q.kind is Kind.DELAYED]
            due = [p for p in waiting if p.due <= now and _place(p) > after]
            seen[:] = sorted(due, key=_place)[: self.outset.release_step]
            free = [p for p in seen if not (p.queue.deleted or p.purges or p in self.leaving)]
            moved[:] = [(p, self._release(p)) for p in free]

        def finish() -> None:
            for old, new in moved:
                self.purged_meanwhile(old, new)
            if len(seen) == self.outset.release_step and not self.stopping:
                self._release_step(_place(seen[-1]))
            else:
                self.releasing = False

        def fail(error: Error) -> None:
            self.releasing = False

        self.submit(finish, fail, start, grows=False)

    def _release(self, position: Position) -> Position:
        """A message comes to its old place, or now for the first time."""
        self.take([position])
        found = position.copy(position.queue.main)
        if position.aborts:
            self.flying.setdefault(found.queue, []).append(found)
            self.count("due", [found])
        else:
            self.put(found)
            self.arrived([found])
        return found


def _place(position: Position) -> Place:
    """Which is due before which."""
    return position.due, position.queue.number, position.lookup
