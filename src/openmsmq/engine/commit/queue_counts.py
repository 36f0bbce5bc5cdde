"""What a commit changes in the rows of queues: what they hold, what happened, their properties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from operator import add
from struct import Struct
from typing import Final

from openmsmq.engine.commit.numbers import Numbers
from openmsmq.engine.queues.queue import ManagedQueue, QueueProperties
from openmsmq.engine.storage.layout import (
    COUNTERS_ROW,
    NO_TOTALS,
    Total,
    pack_counters,
    queue_key,
)
from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.types.queues import COME_AND_GO

QUEUE_NUMBER_KEY: Final = b"queue-number"
_u64 = Struct("<Q")


class QueueCounts:
    """The changes of one commit, by queue."""

    __slots__ = ("_changes", "_numbers", "_properties", "_writer")

    def __init__(self, writer: Writer, numbers: Numbers) -> None:
        self._writer = writer
        self._numbers = numbers
        self._changes: dict[ManagedQueue, list[int]] = defaultdict(lambda: [0, 0, *NO_TOTALS])
        "Messages, bytes, and each `Total`."
        self._properties: dict[ManagedQueue, QueueProperties] = {}

    def change(self, queue: ManagedQueue, messages: int, size: int) -> None:
        """A queue holds so much more."""
        changes = self._changes[queue]
        changes[0] += messages
        changes[1] += size

    def total(self, queue: ManagedQueue, what: Total, times: int = 1) -> None:
        """Something that a queue counts."""
        self._changes[queue][2 + what] += times

    def size_of(self, queue: ManagedQueue) -> int:
        """The bytes in a queue, with what this commit has put in and taken out."""
        return queue.total_size + self._changes[queue][1]

    def grown(self) -> Iterator[tuple[ManagedQueue, int]]:
        """The queues that are changed, and by how many bytes; those that are deleted not."""
        for queue, changes in self._changes.items():
            if not queue.deleted:
                yield queue, changes[1]

    def rows(self) -> list[tuple[bytes, bytes]]:
        """The counters as they will be.

        A queue that comes and goes by itself is in the store while messages of it are.
        """
        rows = []
        for queue, changes in self._changes.items():
            if queue.deleted:
                continue
            if queue.kind in COME_AND_GO and not queue.is_stored:
                rows.append((queue_key(queue.number), queue.properties.to_row()))
                self.write_queue_number()
            counted = queue.messages, queue.size, *queue.totals
            messages, size, *totals = map(add, counted, changes)
            key = queue_key(queue.number, COUNTERS_ROW)
            rows.append((key, pack_counters(messages, size, totals)))
        return rows

    def properties(self, queue: ManagedQueue) -> QueueProperties:
        """The properties of a queue, as changed by this commit."""
        return self._properties.get(queue, queue.properties)

    def set_properties(self, queue: ManagedQueue, properties: QueueProperties) -> None:
        """Keep the properties of a queue."""
        self._properties[queue] = properties
        self._writer.put(Table.QUEUES, queue_key(queue.number), properties.to_row())

    def write_queue_number(self) -> None:
        """No number is given again, so that what was sent to one queue never ends in another."""
        self._writer.put(Table.META, QUEUE_NUMBER_KEY, _u64.pack(self._numbers.queue))

    def apply(self) -> None:
        """They are on disk."""
        for queue, (messages, size, *totals) in self._changes.items():
            queue.messages += messages
            queue.size += size
            queue.totals[:] = map(add, queue.totals, totals)
            queue.is_stored = True
