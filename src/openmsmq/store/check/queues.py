"""The queues of a store as their rows describe them, and what a check finds in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from openmsmq.engine.queues.queue import JOURNAL_SUFFIX, QueueProperties
from openmsmq.engine.queues.system import FIRST_QUEUE_NUMBER
from openmsmq.engine.storage.layout import (
    COUNTERS_ROW,
    DELAYED_BIT,
    DELETED_ROW,
    JOURNAL_BIT,
    PROPERTIES_ROW,
    PURGED_ROW,
    READ_ROW,
    SUBSCRIPTION_ROW,
    unpack_counters,
    unpack_totals,
)
from openmsmq.engine.subscriptions.ranges import Ranges
from openmsmq.engine.subscriptions.subscription import read_state
from openmsmq.names.parts import fold
from openmsmq.types.queues import QueueKind


@dataclass(slots=True)
class CheckedQueue:
    """What a queue says of itself, and what was found of it."""

    number: int
    name: str = ""
    kind: QueueKind = QueueKind.PRIVATE
    known: bool = False
    deleted: bool = False
    "It is being emptied, and does not count its messages any more."
    expected: tuple[int, int] = (0, 0)
    "Messages and bytes that it says it has."
    given: tuple[int, int] | None = None
    "What a subscription was given and is not done with: behind one position, up to another."
    messages: int = 0
    bytes: int = 0
    waiting: int = 0
    "Messages of a subscription that it is not done with; others it has skipped."

    def __str__(self) -> str:
        if self.kind is QueueKind.RESERVED:
            name, _, place = self.name.partition("|")
            return f"subscription {name} of {place.partition('|')[2]}"
        return f"queue {self.name}" if self.name else f"queue number {self.number}"


class CheckedQueues:
    """All queues, by number."""

    def __init__(self) -> None:
        self._queues: dict[int, CheckedQueue] = {}

    def __iter__(self) -> Iterator[CheckedQueue]:
        return iter(self._queues.values())

    def take(self, number: int, kind: int, row: bytes) -> None:
        """Take note of a row about a queue."""
        queue = self._queues.setdefault(number, CheckedQueue(number))
        if kind in (PROPERTIES_ROW, DELETED_ROW):
            properties = QueueProperties.from_row(row)
            queue.name, queue.kind = properties.name, properties.kind
            queue.deleted = kind == DELETED_ROW
            queue.known = not queue.deleted
        elif kind == COUNTERS_ROW:
            queue.expected = unpack_counters(row)
            unpack_totals(row)
        elif kind == SUBSCRIPTION_ROW:
            queue.given = read_state(row)[1:3]
        elif kind == READ_ROW:
            Ranges.unpack(row)
        elif kind != PURGED_ROW or len(row) % 8:
            raise ValueError(kind)

    def get(self, number: int) -> CheckedQueue | None:
        """The queue with this number; what belongs to one is there as soon as it has messages."""
        owner = self._owner(number)
        if owner is None:
            return self._queues.get(number)
        found = self._queues.setdefault(number, CheckedQueue(number))
        if number & JOURNAL_BIT:
            found.name, found.kind = owner.name + JOURNAL_SUFFIX, QueueKind.JOURNAL
        else:
            found.name, found.kind = f"{owner.name} (delayed)", QueueKind.DELAYED
        found.known = True
        return found

    def _owner(self, number: int) -> CheckedQueue | None:
        """The queue whose journal or delayed messages have this number, if there is one."""
        bits = number & (JOURNAL_BIT | DELAYED_BIT)
        owner = self._queues.get(number ^ bits) if bits else None
        return owner if owner is not None and owner.known else None

    def faults(self, next_number: int) -> Iterator[str]:
        """What is wrong with the queues themselves; `next_number` is for the next new one."""
        names: dict[str, CheckedQueue] = {}
        for queue in self:
            if not queue.known:
                if not (queue.deleted or self._owner(queue.number)):
                    yield f"There are rows about {queue}, but not its properties."
                continue
            is_reserved = queue.kind is QueueKind.RESERVED  # whose name is that of a subscription
            if not is_reserved and names.setdefault(fold(queue.name), queue) is not queue:
                yield f"There are two queues with the name {queue.name}."
            if is_reserved is (queue.given is None):
                yield f"The read position of {queue} is missing."
            if queue.number >= max(next_number, FIRST_QUEUE_NUMBER):
                yield f"The number of {queue} would be given out again."
        for queue in names.values():
            parent = fold(queue.name.rpartition(";")[0])
            is_needed = queue.expected != (0, 0)  # else the next start forgets it
            if queue.kind is QueueKind.SUBQUEUE and parent not in names and is_needed:
                yield f"The queue is missing that {queue} belongs to."

    def wrong_counters(self) -> Iterator[str]:
        """The queues that count other messages than were found."""
        for number in list(self._queues):
            queue = self.get(number)
            assert queue is not None, "its number is known"
            messages, size = queue.expected
            done, end = queue.given or (0, 0)
            if queue.waiting != end - done:
                yield f"There are {queue.waiting} messages in {queue}, not {done + 1} to {end}."
            if queue.known and (queue.messages, queue.bytes) != queue.expected:
                yield (
                    f"There are {queue.messages} messages of {queue.bytes} bytes in {queue},"
                    f" which counts {messages} of {size} bytes."
                )
