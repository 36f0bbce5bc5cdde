"""A queue manager's core on a store in memory, driven by hand: what the tests of the rules use."""

from __future__ import annotations

from typing import Any, Final, TypeVar
from uuid import UUID

from openmsmq.model.committing import Outgoing
from openmsmq.model.core import Core
from openmsmq.model.cursor import Cursor
from openmsmq.model.pending import Pending
from openmsmq.model.queue import Queue, QueueProperties
from openmsmq.model.reading import REMOVING, Entry, Holder
from openmsmq.model.receiving import Receiving, Seek
from openmsmq.model.sending import Sending
from openmsmq.model.transacting import Transacting
from openmsmq.model.transaction import Transaction
from openmsmq.properties.message import INFINITE
from openmsmq.store.memory import Disk, MemoryStore

T = TypeVar("T")
NOW: Final = 1_700_000_000
OWNER: Final = object()
"The handle that reads."
MANY: Final = 10_000


def commit(core: Core, error: BaseException | None = None) -> None:
    """Do one commit the way a driver does, or let it fail with `error`."""
    core.start_commit(core.store.begin())
    if error is None:
        core.store.commit()
    else:
        core.store.abort()
    core.finish_commit(error)


def commit_all(core: Core) -> None:
    """Commit until nothing is left to be committed."""
    while core.wants_commit:
        commit(core)


def properties(name: str = "q", **given: Any) -> QueueProperties:
    """Properties of a queue, its identifier made from its name."""
    return QueueProperties(name, UUID(int=sum(name.encode())), NOW, NOW, **given)


def message(
    packet: bytes | str, *, priority: int = 3, express: bool = False, expires: int = INFINITE
) -> Outgoing:
    """A message to send; the rules never look into its packet."""
    raw = packet.encode() if isinstance(packet, str) else packet
    return Outgoing(packet=raw, priority=priority, expires=expires, express=express)


def packets(entries: list[Entry]) -> list[str]:
    """The packets of messages that were found, as text."""
    return [entry.packet.decode() for entry in entries]


class World:
    """A core with all its parts, on the disk an earlier one has left."""

    def __init__(self, disk: Disk | None = None) -> None:
        self.store = MemoryStore(disk)
        self.core = Core(self.store, new_identity=UUID(int=7))
        self.sending = Sending(self.core)
        self.receiving = Receiving(self.core)
        self.transacting = Transacting(self.core)

    def restart(self) -> World:
        """The next process, on what this one had committed when it died."""
        return World(self.store.committed)

    def commit(self, error: BaseException | None = None) -> None:
        """Do one commit, or let it fail."""
        commit(self.core, error)

    def done(self, pending: Pending[T]) -> T:
        """The answer, after all commits it takes."""
        commit_all(self.core)
        return pending.result()

    # Queues

    def queue(self, name: str = "q", **given: Any) -> Queue:
        """A new queue."""
        return self.done(self.core.create(properties(name, **given)))

    def send(
        self,
        queue: Queue,
        *sent: str | Outgoing,
        transaction: Transaction | None = None,
        priority: int | None = None,
        express: bool = False,
    ) -> None:
        """Send messages and wait until they are there; in a transaction their priority is 0."""
        if priority is None:
            priority = 0 if transaction else 3
        outgoing = [
            message(one, priority=priority, express=express) if isinstance(one, str) else one
            for one in sent
        ]
        self.done(self.sending.send(queue, outgoing, NOW, transaction))

    def fill(self, queue: Queue, *sent: str) -> None:
        """Send messages to a transactional queue."""
        transaction = self.transacting.begin()
        self.send(queue, *sent, transaction=transaction)
        self.done(self.transacting.commit(transaction, NOW))

    # Reading

    def read(self, queue: Queue) -> list[str]:
        """What can be read in a queue, in order."""
        pending = self.receiving.peek(queue, MANY, OWNER, wait=False)
        return [] if pending.error else packets(pending.result())

    def lookups(self, queue: Queue) -> list[int]:
        """The lookup identifiers of what can be read in a queue, in order."""
        pending = self.receiving.peek(queue, MANY, OWNER, wait=False)
        return [] if pending.error else [entry.lookup for entry in pending.result()]

    def receive(self, queue: Queue, count: int = 1, holder: Holder = REMOVING) -> list[str]:
        """Take messages that are there."""
        return packets(self.take(queue, count, holder))

    def take(self, queue: Queue, count: int = 1, holder: Holder = REMOVING) -> list[Entry]:
        """Take messages that are there, as entries."""
        return self.done(self.receiving.receive(queue, count, OWNER, wait=False, holder=holder))

    def wait_receive(
        self, queue: Queue, count: int = 1, holder: Holder = REMOVING, owner: object = OWNER
    ) -> Pending[list[Entry]]:
        """Begin to wait for messages."""
        return self.receiving.receive(queue, count, owner, wait=True, holder=holder)

    def wait_peek(self, queue: Queue, count: int = 1) -> Pending[list[Entry]]:
        """Begin to wait for messages to look at."""
        return self.receiving.peek(queue, count, OWNER, wait=True)

    def lookup(
        self, queue: Queue, lookup: int, seek: Seek = Seek.CURRENT, *, peek: bool = True
    ) -> str:
        """The message a lookup identifier leads to."""
        found = self.done(self.receiving.by_lookup(queue, lookup, seek, peek=peek))
        assert len(found) == 1
        return found[0].packet.decode()

    # Cursors

    def cursor_peek(
        self, queue: Queue, cursor: Cursor, *, following: bool = False, wait: bool = False
    ) -> Pending[list[Entry]]:
        """Peek with a cursor, at the current message or at the next."""
        return self.receiving.peek_cursor(queue, cursor, OWNER, wait=wait, following=following)

    def cursor_receive(
        self, queue: Queue, cursor: Cursor, *, wait: bool = False, holder: Holder = REMOVING
    ) -> Pending[list[Entry]]:
        """Receive with a cursor."""
        return self.receiving.receive_cursor(queue, cursor, OWNER, wait=wait, holder=holder)
