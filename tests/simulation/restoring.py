"""Backups of simulated managers, of any age, and restores from them."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from openmsmq.engine.outgoing.sequences import OUTGOING
from openmsmq.engine.storage.tables import Table
from openmsmq.store.memory import Disk
from tests.simulation.events import Scheduler
from tests.simulation.node import Node


class Backup(NamedTuple):
    """A disk as it was."""

    time: float
    disk: Disk

    @property
    def is_busy(self) -> bool:
        """Transactional messages were on their way."""
        return any(key.startswith(OUTGOING) for key in self.disk.tables[Table.TRANSFER])


class Backups:
    """Takes copies of disks at times, and lets managers go on with them later."""

    def __init__(self, nodes: list[Node], scheduler: Scheduler, chance: Random) -> None:
        self.is_on = False
        self._nodes = nodes
        self._scheduler = scheduler
        self._chance = chance
        self._taken: dict[Node, list[Backup]] = {}

    def begin(self, span: float) -> None:
        """Some backups, and a restore or two, within this many seconds."""
        self.is_on = True
        for node in self._nodes:
            self._take(node)
        chance, after = self._chance, self._scheduler.after
        for _ in range(chance.choice((4, 8, 16))):
            after(chance.random() * span, lambda: self._take(chance.choice(self._nodes)))
        for _ in range(chance.choice((1, 1, 2, 3))):
            after(chance.random() * span, lambda: self._restore(chance.choice(self._nodes)))

    def _choose(self, taken: list[Backup]) -> Backup:
        """Any of them, but often one with messages that were under way."""
        busy = [backup for backup in taken if backup.is_busy]
        return self._chance.choice(busy if busy and self._chance.random() < 0.7 else taken)

    def _take(self, node: Node) -> None:
        if node.is_restored:  # and not started since: it is the backup from before that
            return
        backup = Backup(self._scheduler.now, node.store.committed)
        self._taken.setdefault(node, []).append(backup)

    def _restore(self, node: Node) -> None:
        if not self.is_on or not self._taken[node]:
            return
        backup = self._choose(self._taken[node])
        node.restore(backup.disk, backup.time)
        # A second restore from before the first would need a clock that is right.
        self._taken[node] = []
        if self._chance.random() < 0.3:  # its clock is behind what its messages said before
            node.clock.offset -= 900.0
            node.clock.has_jumped = True
        if self._chance.random() < 0.5:
            node.start()
