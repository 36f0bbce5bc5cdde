"""Random work on a queue manager: steps that seeds give, and what a manager is started with."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final
from uuid import UUID

from openmsmq.errors import MQError
from openmsmq.store.memory import MemoryStore

ACTIONS: Final = {
    "send": 10,
    "receive": 6,
    "commit": 6,
    "start": 3,
    "finish": 3,
    "peek": 2,
    "by_lookup": 4,
    "end_read": 3,
    "put_back": 1,
    "cursor": 8,
    "end_transaction": 5,
    "prepare": 2,
    "purge": 1,
    "delete": 1,
    "create": 2,
    "change": 1,
    "cancel": 2,
    "fail": 1,
}
"What can be done, and how often it is."


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do, the numbers choosing among what there is then."""

    action: str
    queue: int
    pick: int
    flags: int

    def has(self, bit: int) -> bool:
        return bool(self.flags >> bit & 1)


def program(seed: int, size: int, *, without: tuple[str, ...] = ()) -> list[Step]:
    """Steps that a seed gives."""
    chance = Random(seed)
    names = [name for name, often in ACTIONS.items() for _ in range(often) if name not in without]
    return [
        Step(
            chance.choice(names), chance.randrange(4), chance.randrange(256), chance.randrange(256)
        )
        for _ in range(size)
    ]


class StillClock:
    """Time stands still, and identifiers count up."""

    def __init__(self) -> None:
        self._given = 0

    def now(self) -> float:
        return 1_000_000_000.0

    def new_guid(self) -> UUID:
        self._given += 1
        return UUID(int=self._given)


class FaultyStore(MemoryStore):
    """A store whose disk can refuse a write."""

    fault: MQError | None = None
    good: int = 0
    "Writes that succeed before the fault."

    def count_write(self) -> None:
        super().count_write()
        if self.fault is not None:
            self.good -= 1
            if self.good < 0:
                raise self.fault
