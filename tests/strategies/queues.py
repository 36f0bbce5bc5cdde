"""Random work on a queue manager: steps that seeds give, and what a manager is started with."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final
from uuid import UUID

from openmsmq.errors import MQError
from openmsmq.store.memory import MemoryStore

ACTIONS: Final = {
    "send": 14,
    "receive": 8,
    "commit": 9,
    "start": 4,
    "finish": 4,
    "peek": 2,
    "by_lookup": 4,
    "end_read": 4,
    "put_back": 2,
    "cursor": 7,
    "move": 8,
    "close": 1,
    "end_transaction": 6,
    "give_up": 3,
    "prepare": 3,
    "decide": 2,
    "purge": 3,
    "delete": 1,
    "create": 2,
    "change": 2,
    "configure": 1,
    "cancel": 2,
    "wait": 7,
    "jump": 2,
    "correct": 2,
    "fail": 1,
    "restart": 1,
}
"What can be done, and how often it is."


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do, the numbers choosing among what there is then."""

    action: str
    queue: int
    place: int
    pick: int
    flags: int

    def has(self, bit: int) -> bool:
        return bool(self.flags >> bit & 1)


def program(seed: int, size: int, *, without: tuple[str, ...] = ()) -> list[Step]:
    """Steps that a seed gives; most of them are about the same queue."""
    chance = Random(seed)
    queues = [chance.randrange(4)] * 4 + [0, 1, 2, 3]
    names = [name for name, often in ACTIONS.items() for _ in range(often) if name not in without]
    return [
        Step(
            chance.choice(names),
            chance.choice(queues),
            chance.randrange(16),
            chance.randrange(256),
            chance.randrange(1 << 16),
        )
        for _ in range(size)
    ]


class VirtualClock:
    """Time goes on when it is asked to, and identifiers count up."""

    def __init__(self) -> None:
        self.wall = 1_000_000_000.0
        self.passed = 1000.0
        self._given = 0

    def now(self) -> float:
        return self.wall

    def elapsed(self) -> float:
        return self.passed

    def new_guid(self) -> UUID:
        self._given += 1
        return UUID(int=self._given)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.wall += seconds
        self.passed += seconds

    def set(self, seconds: float) -> None:
        """Set the clock, forward or back."""
        self.wall += seconds


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
