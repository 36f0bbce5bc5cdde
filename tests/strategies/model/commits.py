"""Commits of the model: what is asked for waits, is written together, and lasts or does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from openmsmq.errors import MQError, StorageFull
from tests.strategies.model.parts import Position, Queue

Error = type[BaseException]


@dataclass(eq=False)
class Operation:
    """Something to be written."""

    start: Callable[[], object]
    finish: Callable[[], object]
    fail: Callable[[Error], object]
    grows: bool


class Expiring(NamedTuple):
    """Messages that one row is about; which lie together is not the model's to say."""

    key: bytes
    queue: int
    lookups: Sequence[int]


@dataclass(frozen=True, slots=True)
class Outset:
    """What a manager has and the model must be given."""

    arrival: int
    "The last arrival number given."
    wall: float
    "What the clock shows."
    step: int
    "How many messages a purge or a deletion looks at with each commit."
    sweep_step: int
    "How many express messages, or rows about others, expire with each commit."
    expiring: Callable[[bytes, int], Sequence[Expiring]]
    "The rows of that commit, behind a key and before a time."
    release_step: int
    "How many messages that were due can be read with each commit."
    ack_size: Callable[[Position, int], int]
    "The bytes of an acknowledgement with a body of a given length."


class Commits:
    """Operations that are queued, being committed, or done."""

    def __init__(self, outset: Outset) -> None:
        self.outset = outset
        self.arrival = outset.arrival
        "SequentialID ([MS-MQDMPR] 3.1.1.1)."
        self.wall = outset.wall
        "What the clock shows."
        self.queued: list[Operation] = []
        self.committing: list[Operation] | None = None
        self.flying: dict[Queue, list[Position]] = {}
        "What arrives with the commit that runs."
        self.leaving: set[Position] = set()
        "What it takes out."
        self.noting: dict[Queue, set[Position]] = {}
        "What it notes as purged, although it stays for now."
        self.counting: Counter[str] = Counter()
        self.statistics: Counter[str] = Counter()
        self.written: Counter[str] = Counter()
        "The statistics that are on disk."
        self._writing: Counter[str] = Counter()
        self.deferred: list[Callable[[], None]] = []
        "What happens when the commit is over."
        self.fresh: list[tuple[Queue, list[Position]]] = []
        "What readers were not notified of yet."

    def submit(
        self,
        finish: Callable[[], object],
        fail: Callable[[Error], object],
        start: Callable[[], object] = lambda: None,
        *,
        grows: bool = True,
    ) -> None:
        """Ask for something to be written."""
        self.queued.append(Operation(start, finish, fail, grows))

    def start(self) -> None:
        """Write all that was asked for."""
        self.committing, self.queued = self.queued, []
        self.forget_commit()
        for operation in self.committing:
            operation.start()
        self._writing = self.statistics + self.counting

    def finish(self, error: MQError | None = None) -> None:
        """All that was started lasts, or none of it; on a full disk the rest is tried again."""
        assert self.committing is not None
        operations, self.committing = self.committing, None
        if error is None:
            self._take_effect()
            for operation in operations:
                operation.finish()
        else:
            growing = [operation for operation in operations if operation.grows]
            if isinstance(error, StorageFull) and growing and len(growing) < len(operations):
                self.queued = [o for o in operations if not o.grows] + self.queued
                operations = growing
            for operation in operations:
                operation.fail(type(error))
        self.forget_commit()
        deferred, self.deferred = self.deferred, []
        for call in deferred:
            call()

    def _take_effect(self) -> None:
        for position in self.leaving:
            position.queue.remove([position])
        for queue, positions in self.flying.items():
            queue.place(positions)
            self.fresh.append((queue, positions))
        for queue, noted in self.noting.items():
            queue.noted = noted
        self.statistics += self.counting
        self.written = self._writing

    def forget_commit(self) -> None:
        """Nothing is being written."""
        self.flying, self.noting = {}, {}
        self.leaving.clear()
        self.counting.clear()

    # What a commit is made of. Express messages come and go at once, without any.

    def put(self, position: Position) -> None:
        """Put a new message into its queue."""
        self.give_number(position)
        if position.express:
            position.queue.place([position])
            self.fresh.append((position.queue, [position]))
        else:
            self.flying.setdefault(position.queue, []).append(position)

    def give_number(self, position: Position) -> None:
        """Give a lookup identifier: 7 - priority above, SequentialID below (A-09)."""
        self.arrival += 1
        position.lookup = 7 - position.priority << 56 | self.arrival
        position.arrived = int(self.wall)

    def take(self, positions: Sequence[Position]) -> None:
        """Take messages out of their queues."""
        for position in positions:
            if position.express:
                position.queue.remove([position])
            else:
                self.leaving.add(position)

    def count(self, what: str, positions: Sequence[Position]) -> None:
        """Something happened to messages."""
        for position in positions:
            (self.statistics if position.express else self.counting)[what] += 1
