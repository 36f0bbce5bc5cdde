"""Messages, queues, transactions, cursors and readers of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from openmsmq.model.cursor import Cursor as RealCursor

ARRIVAL_MASK: Final = (1 << 56) - 1
REMOVING: Final = "removing"
"Holds what was received and leaves the disk with a commit."


class State(Enum):
    """Where a transaction or a cursor stands."""

    ACTIVE = auto()
    PREPARING = auto()
    PREPARED = auto()
    ENDING = auto()
    ENDED = auto()
    UNREAD = auto()
    READ = auto()
    WAITING = auto()


@dataclass(eq=False)
class Position:
    """A message in a queue, and who holds it (MessagePosition, [MS-MQDMPR] 3.1.1.11)."""

    queue: Queue
    body: bytes
    size: int
    priority: int
    express: bool
    lookup: int = 0
    holder: object = None
    aborts: int = 0

    @property
    def arrival(self) -> int:
        return self.lookup & ARRIVAL_MASK

    @property
    def is_purged(self) -> bool:
        """PurgePending, or about to be removed."""
        return self.arrival <= max(self.queue.marks.values(), default=0)

    @property
    def is_available(self) -> bool:
        return self.holder is None and not self.is_purged


class Answer:
    """What a call must answer, and whether it may have done so yet."""

    def __init__(self) -> None:
        self.done = False
        self.value: object = None
        self.errors: tuple[type[BaseException], ...] = ()

    def succeed(self, value: object = None) -> Answer:
        assert not self.done
        self.done, self.value = True, value
        return self

    def fail(self, *errors: type[BaseException]) -> Answer:
        assert not self.done
        self.done, self.errors = True, errors
        return self


@dataclass(eq=False)
class Transaction:
    """A transaction ([MS-MQDMPR] 3.1.1.14)."""

    xid: str
    state: State = State.ACTIVE
    sent: list[tuple[Queue, Position]] = field(default_factory=list)
    received: list[tuple[Queue, Position]] = field(default_factory=list)
    unanswered: bool = False
    "A send is being written to the store ahead of the commit."
    is_in_doubt: bool = False
    "It is prepared on disk."
    is_doomed: bool = False
    "Such a send failed: it can only be aborted."

    @property
    def is_open(self) -> bool:
        return self.state is State.ACTIVE and not self.is_doomed


@dataclass(eq=False)
class Cursor:
    """A cursor ([MS-MQDMPR] 3.2), which remembers an order, not a message (A-08)."""

    queue: Queue
    real: RealCursor
    position: int = 0
    passed: int = 0
    state: State = State.UNREAD
    destructive: bool = False
    closed: bool = False

    def expire(self) -> None:
        """Wait Time Expired ([MS-MQDMPR] 3.2.7.6); the end is behind all that was there (A-19)."""
        if self.state is State.WAITING and self.destructive:
            self.position = max(self.position, self.passed)
        self.state = State.UNREAD


@dataclass(eq=False)
class Reader:
    """A read, which may have to wait ([MS-MQDMPR] 3.1.1.10)."""

    answer: Answer
    count: int
    destructive: bool
    holder: object = REMOVING
    cursor: Cursor | None = None


@dataclass(eq=False)
class Queue:
    """A queue ([MS-MQDMPR] 3.1.1.2); `positions` in order, those on disk until they are off it."""

    number: int
    transactional: bool
    positions: list[Position] = field(default_factory=list)
    readers: list[Reader] = field(default_factory=list)
    reserved: int = 0
    marks: dict[Answer, int] = field(default_factory=dict)
    "Up to which arrival each purge goes."
    label: str = ""
    deleted: bool = False
    on_disk: bool = False
    never_was: bool = False
    "It could not be created."

    def available(self) -> list[Position]:
        return [position for position in self.positions if position.is_available]

    def find(self, lookup: int) -> Position | None:
        return next((p for p in self.positions if p.lookup == lookup), None)

    def place(self, positions: Sequence[Position]) -> None:
        """By priority, then by arrival."""
        self.positions = sorted([*self.positions, *positions], key=lambda p: p.lookup)

    def remove(self, gone: Sequence[Position]) -> None:
        self.positions = [p for p in self.positions if p not in gone]


def hold(positions: Sequence[Position], holder: object) -> None:
    for position in positions:
        position.holder = holder
