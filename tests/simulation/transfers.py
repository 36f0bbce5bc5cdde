"""Programs that send many messages at once to queues of other managers.

They travel one behind the other, so that their receivers find groups, which sessions that end,
crashes and full disks cut anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Final

from openmsmq.types.message import Message
from tests.simulation.groups import alike
from tests.simulation.ledger import Letter, Sort
from tests.simulation.node import Node
from tests.simulation.programs import PLAIN, TRANSACTIONAL, Programs

if TYPE_CHECKING:
    from tests.simulation.events import Scheduler

COUNTS: Final = (4, 6, 12, 30)


class Transfers:
    """Programs on one computer that send to others."""

    def __init__(
        self, programs: Programs, others: list[Node], scheduler: Scheduler, chance: Random
    ) -> None:
        self.rate = 0.3
        self._programs = programs
        self._others = others
        self._scheduler = scheduler
        self._chance = chance
        self.protect: Callable[[list[Message]], list[Message]] = lambda messages: messages
        "Signs messages, or lets them be encrypted."

    def go(self) -> None:
        """Send something, and go on with it."""
        programs = self._programs
        if not programs.is_sending:
            return
        self._scheduler.after(self._chance.expovariate(self.rate), self.go)
        if programs.node.is_up and not programs.node.is_stopping:
            programs.node.do(self._send if self._chance.random() < 0.5 else self._transact)

    def _letters(self, target: Node, queue: str, sort: Sort) -> list[Letter]:
        programs, count = self._programs, self._chance.choice(COUNTS)
        return [programs.plain(programs.letters.letter(target, queue, sort)) for _ in range(count)]

    def _send(self) -> None:
        """Outside transactions."""
        programs, target = self._programs, self._chance.choice(self._others)
        queue = PLAIN[self._chance.random() < 0.2]
        letters = self._letters(target, queue, Sort.RECOVERABLE)
        messages = self.protect(alike(letters, self._chance))
        pending = programs.try_send(target, queue, letters, None, messages)
        if pending is not None:
            programs.answer(pending, letters)

    def _transact(self) -> None:
        """In a transaction, which commits or aborts later."""
        programs, target = self._programs, self._chance.choice(self._others)
        local = programs.node.local
        assert local is not None
        transaction = local.begin()
        queue = TRANSACTIONAL[self._chance.random() < 0.2]
        letters = self._letters(target, queue, Sort.TRANSACTIONAL)
        messages = self.protect(alike(letters, self._chance))
        if programs.try_send(target, queue, letters, transaction, messages) is None:
            letters = []
        end = programs.commit if self._chance.random() < 0.85 else programs.abort
        programs.later(lambda: end(transaction, letters))
