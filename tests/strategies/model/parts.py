"""Messages, queues, transactions, cursors and readers of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, Final

from openmsmq.engine.messages.cursor import QueueCursor as RealCursor
from openmsmq.properties.message import Acknowledge

ARRIVAL_MASK: Final = (1 << 56) - 1
NEVER: Final = 0xFFFFFFFF
KIB: Final = 1024
DELAYED_BIT: Final = 1 << 30
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


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the sender of a message asked for."""

    dead_letter: bool = False
    journal: bool = False
    acknowledge: Acknowledge = Acknowledge.NONE
    admin: int = 0
    "Which queue gets the acknowledgements."


NOTHING: Final = Wishes()


@dataclass(eq=False, slots=True)
class Position:
    """A message in a queue, and who holds it (MessagePosition, [MS-MQDMPR] 3.1.1.11)."""

    queue: Queue
    body: bytes
    size: int
    priority: int
    express: bool
    number: int
    "Of its identifier; an acknowledgement has that of the message it is about."
    wishes: Wishes = NOTHING
    expires: int = NEVER
    "The last second of its life."
    forgotten: bool = False
    "No sweep looks for it any longer, as its queue is deleted."
    message_class: int = 0
    lookup: int = 0
    arrived: int = 0
    "When it did."
    holder: object = None
    aborts: int = 0
    moves: int = 0
    purges: set[Answer] = field(default_factory=set)
    "Those that it must go for."
    due: int = 0
    "When it can be read, in milliseconds."
    once: str = ""
    "An id of its own."

    @property
    def arrival(self) -> int:
        return self.lookup & ARRIVAL_MASK

    @property
    def is_free(self) -> bool:
        """Neither held by anyone nor purged."""
        return self.holder is None and not self.purges

    def copy(self, queue: Queue, **changes: Any) -> Position:
        """The same message, free, in a queue."""
        return replace(self, queue=queue, holder=None, purges=set(), **changes)


class Answer:
    """What a call must answer, and whether it may have done so yet."""

    def __init__(self) -> None:
        self.done = False
        self.value: object = None
        self.errors: tuple[type[BaseException], ...] = ()
        self.then: Callable[[], None] = lambda: None
        "What follows from it."

    @property
    def count(self) -> int:
        """A number that it is."""
        assert isinstance(self.value, int)
        return self.value

    def succeed(self, value: object = None) -> Answer:
        assert not self.done
        self.done, self.value = True, value
        self.then()
        return self

    def fail(self, *errors: type[BaseException]) -> Answer:
        assert not self.done
        self.done, self.errors = True, errors
        self.then()
        return self


@dataclass(eq=False)
class Transaction:
    """A transaction ([MS-MQDMPR] 3.1.1.14)."""

    xid: str
    state: State = State.ACTIVE
    sent: list[Position] = field(default_factory=list)
    spilled: int = 0
    "How many of these were written to the store ahead of the commit."
    received: list[Position] = field(default_factory=list)
    moved: list[tuple[Position, Queue]] = field(default_factory=list)
    unanswered: bool = False
    "A send is being written to the store."
    is_in_doubt: bool = False
    "It is prepared on disk."
    is_doomed: bool = False
    "Such a send failed: it can only be aborted."
    is_committed: bool | None = None
    "How it ended, if it was prepared."

    @property
    def is_open(self) -> bool:
        return self.state is State.ACTIVE and not self.is_doomed

    @property
    def is_empty(self) -> bool:
        return not (self.sent or self.received or self.moved)


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


class Kind(Enum):
    """What a queue is for."""

    MAIN = auto()
    JOURNAL = auto()
    SUBQUEUE = auto()
    SYSTEM = auto()
    DELAYED = auto()
    "Holds what cannot be read yet."


@dataclass(frozen=True, slots=True)
class Rules:
    """What becomes of messages that are aborted."""

    abort_limit: int = 0
    retry_delay: int = 0
    poison_is_dead: bool = False
    "Poison goes to the dead letters."


NO_RULES: Final = Rules()


@dataclass(eq=False)
class Queue:
    """A queue ([MS-MQDMPR] 3.1.1.2); `positions` in order, those on disk until they are off it."""

    number: int
    "As the manager counts its queues."
    kind: Kind = Kind.MAIN
    transactional: bool = False
    label: str = ""
    journaling: bool = False
    quota: int | None = None
    "KiB."
    parent: Queue | None = None
    journal: Queue | None = None
    delayed: Queue | None = None
    rules: Rules = NO_RULES
    is_poison: bool = False
    "It is the subqueue for poison."
    subqueues: list[Queue] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    readers: list[Reader] = field(default_factory=list)
    reserved: int = 0
    "Bytes of what was accepted but is not in the queue yet."
    pins: int = 0
    "What is under way to it from elsewhere in the manager."
    marks: dict[Answer, int] = field(default_factory=dict)
    "Up to which arrival each purge under way goes."
    noted: set[Position] = field(default_factory=set)
    "What the disk knows to be purged as soon as no one holds it."
    deleted: bool = False
    on_disk: bool = False
    never_was: bool = False
    "It could not be created."

    @property
    def main(self) -> Queue:
        return self.parent or self

    @property
    def family(self) -> list[Queue]:
        """The queue, its journal, what is waiting, and its subqueues, which go together."""
        assert self.journal is not None
        return [self, self.journal, self.waiting, *self.subqueues]

    @property
    def waiting(self) -> Queue:
        """What holds its messages that cannot be read yet."""
        assert self.delayed is not None
        return self.delayed

    @property
    def is_journaled(self) -> bool:
        """What is received goes to the journal, from a subqueue to that of its queue (A-38)."""
        return self.kind in (Kind.MAIN, Kind.SUBQUEUE) and self.main.journaling

    @property
    def size(self) -> int:
        """The bytes that count, from acceptance to removal (A-04)."""
        return sum(p.size for p in self.positions) + self.reserved

    def find(self, lookup: int) -> Position | None:
        return next((p for p in self.positions if p.lookup == lookup), None)

    def place(self, positions: Sequence[Position]) -> None:
        """By priority, then by arrival."""
        self.positions = sorted([*self.positions, *positions], key=lambda p: p.lookup)

    def remove(self, gone: Sequence[Position]) -> None:
        self.positions = [p for p in self.positions if p not in gone]


def main_queue(number: int, journal_number: int, *, transactional: bool) -> Queue:
    """A queue with its journal."""
    queue = Queue(number, transactional=transactional)
    queue.journal = Queue(journal_number, Kind.JOURNAL, transactional, parent=queue)
    queue.delayed = Queue(number | DELAYED_BIT, Kind.DELAYED, transactional, parent=queue)
    return queue


def hold(positions: Sequence[Position], holder: object) -> None:
    for position in positions:
        position.holder = holder
