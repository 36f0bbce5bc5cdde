"""A commit's work with messages of one session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from openmsmq.model.committing import Batch, NewMessage
from openmsmq.model.queue import Queue
from openmsmq.packet.walk import properties_offset, u32
from openmsmq.properties.message import MessageClass


class Refused(Exception):
    """There is no room on this machine: the session is closed, and the message comes again."""


class Rejected(NamedTuple):
    """A message that is not accepted, for good."""

    reason: MessageClass


class Origin:
    """Where messages come from: one session."""

    __slots__ = ("address", "ahead", "is_refused", "name", "waiting")

    def __init__(self, address: str, name: str) -> None:
        self.address = address
        self.name = name
        "For the history of messages."
        self.is_refused = False
        "A message was not taken: those behind it must not be, either."
        self.waiting: list[Sequence[bytes]] = []
        "Messages for the next commit, as long as their queues were not asked for."
        self.ahead: set[Queue] = set()
        "Queues of others: express messages must not overtake what the next commit puts there."

    def applied(self) -> None:
        """A commit is being written: it has all that was waiting for one."""
        self.waiting.clear()
        self.ahead.clear()


class Run(NamedTuple):
    """What many messages in a row have in common: those need not be looked at one by one."""

    start: bytes
    "BaseHeader.Flags."
    front: bytes
    "From TimeToReachQueue to TimeToBeReceived; the source is among it."
    names: bytes
    "From UserHeader.Flags to the first byte of the MessagePropertiesHeader."
    end: int
    "Where these end."
    queue: Queue
    destination: bytes
    priority: int
    owed: int
    oldest: int
    "What was sent before that has come too late."

    def fits(self, packet: bytes) -> bool:
        """Whether a message is like the others."""
        return (
            packet[60 : self.end] == self.names
            and packet[12:52] == self.front
            and packet[2:4] == self.start
            and u32(packet, 52)[0] >= self.oldest
        )

    def key(self, packet: bytes) -> bytes:
        """By what it is known if it comes twice; see `Head.message_key`."""
        return b"".join((packet[16:32], packet[56:60], self.destination))


def run_of(
    packet: bytes, queue: Queue, destination: bytes, message: NewMessage, oldest: int
) -> Run:
    """What the next messages may have in common with this one."""
    end = properties_offset(packet) + 1
    return Run(
        packet[2:4],
        packet[12:52],
        packet[60:end],
        end,
        queue,
        destination,
        message.priority,
        message.flags,
        max(0, oldest),
    )


class Work:
    """What is done with messages of one session that came together."""

    __slots__ = (
        "after",
        "batch",
        "found",
        "keys",
        "new",
        "orders",
        "origin",
        "run",
        "seen",
        "sequences",
        "size",
        "sizes",
    )

    def __init__(self, batch: Batch | None, origin: Origin) -> None:
        """`batch` is the commit that writes them; express messages need none."""
        self.batch = batch
        self.origin = origin
        self.found: dict[tuple[bytes, int], Queue | Rejected] = {}
        "Where they go, by destination and whether they are transactional."
        self.run: Run | None = None
        "What the last of them were like."
        self.new: dict[Queue, list[NewMessage]] = {}
        self.size = 0
        "Bytes of them."
        self.sizes: dict[Queue, int] = {}
        self.keys: list[bytes] = []
        "Messages to be remembered."
        self.seen: dict[bytes, None] = {}
        "Express messages among them."
        self.sequences: set[bytes] = set()
        "Sequences that have come further."
        self.orders: dict[bytes, tuple[bytes, int]] = {}
        "Sequences of which messages came: the last of these, and how many."
        self.after: list[Callable[[], None]] = []
        "What is to be done when all of it is in its place."

    def add(self, queue: Queue, message: NewMessage, size: int) -> None:
        """A message goes into a queue."""
        self.size += size
        self.sizes[queue] = self.sizes.get(queue, 0) + size
        waiting = self.new.get(queue)
        if waiting is None:
            self.new[queue] = [message]
        else:
            waiting.append(message)

    def used(self, queue: Queue) -> int:
        """The bytes that count against the quota of a queue, with these."""
        own = queue.total_size if self.batch is None else self.batch.size_of(queue)
        return queue.quota_size - queue.total_size + own + self.sizes.get(queue, 0)
