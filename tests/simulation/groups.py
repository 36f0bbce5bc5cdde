"""Programs that send many messages at once to queues of their own manager, and read some of them.

Such messages are stored as runs. What is received one by one, in transactions that abort, by lookup
identifier or after a move cuts the runs; restarts find them as they were left.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import REMOVING
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import MQError
from openmsmq.types.message import Message
from openmsmq.types.read import Seek
from tests.simulation.ledger import Letter, Sort
from tests.simulation.programs import PLAIN, TRANSACTIONAL, Programs, then
from tests.unit.engine import handles

if TYPE_CHECKING:
    from tests.simulation.events import Scheduler

ASIDE: Final = "aside"
"The subqueue that messages are moved to."
COUNTS: Final = (1, 4, 6, 12)
SIZES: Final = ((50,), (50,), (0, 10, 300))
"Of the messages of a group; mostly all are equal."
LIFETIMES: Final = (0, 2, 5, 5, 20)
"Seconds in which such messages have to be received."


def alike(letters: list[Letter], chance: Random) -> list[Message]:
    """Messages that ask for nothing and can be stored as a run, mostly."""
    sizes, priority = chance.choice(SIZES), chance.choice((3, 3, 5))
    return [
        Message(
            bytes(chance.choice(sizes)),
            app_specific=letter.uid,
            priority=priority,
            recoverable=True,
            dead_letter=letter.dead_letter,
            time_to_be_received=letter.receive,
        )
        for letter in letters
    ]


def mortal(letters: list[Letter], chance: Random) -> list[Letter]:
    """The same messages, which often expire together, as dead letters or for ever."""
    if chance.random() < 0.5:
        receive, is_kept = chance.choice(LIFETIMES), chance.random() < 0.5
        for letter in letters:
            letter.receive, letter.dead_letter = receive, is_kept
    return letters


class Groups:
    """Programs on one computer that work with groups of messages."""

    def __init__(self, programs: Programs, scheduler: Scheduler, chance: Random) -> None:
        self.rate = 1.0
        self._programs = programs
        self._scheduler = scheduler
        self._chance = chance

    def go(self) -> None:
        """Do something, and go on with it."""
        programs = self._programs
        if programs.is_sending or programs.is_receiving:
            self._scheduler.after(self._chance.expovariate(self.rate), self.go)
        if programs.node.is_up and not programs.node.is_stopping:
            programs.node.do(self._step)

    def _step(self) -> None:
        dice, programs = self._chance.random(), self._programs
        if dice < 0.5:
            if programs.is_sending:
                self._send() if self._chance.random() < 0.6 else self._transact()
        elif not programs.is_receiving:
            return
        elif dice < 0.6:
            self._receive()
        elif dice < 0.7:
            self._receive_in()
        elif dice < 0.9:
            self._pick()
        else:
            self._move()

    # Sending

    def _letters(self, queue: str, sort: Sort) -> list[Letter]:
        programs = self._programs
        target = programs.node
        letters = programs.letters
        count = self._chance.choice(COUNTS)
        found = [programs.plain(letters.letter(target, queue, sort)) for _ in range(count)]
        return mortal(found, self._chance) if letters.has_lifetimes else found

    def _send(self) -> None:
        """Outside transactions; single ones are gathered into one commit with others."""
        programs, queue = self._programs, PLAIN[self._chance.random() < 0.2]
        letters = self._letters(queue, Sort.RECOVERABLE)
        messages = alike(letters, self._chance)
        step = len(letters) if self._chance.random() < 0.7 else 1
        for at in range(0, len(letters), step):
            some = letters[at : at + step]
            pending = programs.try_send(programs.node, queue, some, None, messages[at : at + step])
            if pending is not None:
                programs.answer(pending, some)

    def _transact(self) -> None:
        """In a transaction, which commits or aborts later."""
        programs = self._programs
        node = programs.node
        assert node.local is not None
        transaction = node.local.begin()
        queue = TRANSACTIONAL[self._chance.random() < 0.2]
        letters = self._letters(queue, Sort.TRANSACTIONAL)
        messages = alike(letters, self._chance)
        if programs.try_send(node, queue, letters, transaction, messages) is None:
            letters = []
        end = programs.commit if self._chance.random() < 0.85 else programs.abort
        programs.later(lambda: end(transaction, letters))

    # Receiving

    def _queue(self, names: tuple[str, ...] = (PLAIN[0], *TRANSACTIONAL)) -> ManagedQueue:
        name = self._chance.choice(names)
        found = self._programs.node.core.queues.find(name)
        if self._chance.random() < 0.2:
            local = self._programs.node.local
            assert local is not None
            return local.subqueue(found, ASIDE)
        return found

    def _receive(self) -> None:
        """The first few messages."""
        queue, local = self._queue(), self._programs.node.local
        assert local is not None
        count = self._chance.choice((2, 5, 30))
        pending = local.receiver.receive(queue, count, self, wait=False, holder=REMOVING)
        then(pending, partial(self._programs.answered, queue, pending))

    def _receive_in(self) -> None:
        """The first few messages in a transaction, which often aborts: parts of runs are back."""
        programs, queue = self._programs, self._queue(TRANSACTIONAL)
        programs.receive_in(queue, self._chance.choice((2, 5)), aborts=0.6)

    def _lookup(self, queue: ManagedQueue) -> int | None:
        """One of the messages of a queue."""
        local = self._programs.node.local
        assert local is not None
        found = local.receiver.peek(queue, 20, self, wait=False)
        if found.error is not None or not found.done:
            return None
        entry: Entry = self._chance.choice(found.result())
        return entry.lookup

    def _pick(self) -> None:
        """A message in the middle, by its lookup identifier."""
        queue, local = self._queue(), self._programs.node.local
        assert local is not None
        lookup = self._lookup(queue)
        if lookup is not None:
            pending = local.receiver.by_lookup(queue, lookup, Seek.CURRENT, peek=False)
            then(pending, partial(self._programs.answered, queue, pending))

    def _move(self) -> None:
        """A message in the middle to the subqueue, or back."""
        queue, local = self._queue(), self._programs.node.local
        assert local is not None
        lookup = self._lookup(queue)
        if lookup is None:
            return
        try:
            handles.move(local, queue, lookup, "" if ";" in queue.name else ASIDE, None)
        except MQError:
            return
