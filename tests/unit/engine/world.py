"""A queue manager's core on a store in memory, driven by hand: what the tests of the rules use."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, TypeVar
from uuid import UUID

from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.messages.cursor import QueueCursor
from openmsmq.engine.messages.enqueue import Enqueuer
from openmsmq.engine.messages.receive import Receiver
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import REMOVING, Holder
from openmsmq.engine.queues.queue import ManagedQueue, QueueProperties
from openmsmq.engine.queues.subqueues import Moves
from openmsmq.engine.queues.system import FIRST_QUEUE_NUMBER
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import Record, owed
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions.lifecycle import Transactions
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import NO_HEADERS, OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge
from openmsmq.store.memory import Disk, MemoryStore
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.caller import INTERNAL
from openmsmq.types.read import Seek

T = TypeVar("T")
NOW: Final = 1_700_000_000
OWNER: Final = object()
"The handle that reads."
READER: Final = Holder()
"What takes messages that it will end."
MANY: Final = 10_000
ME: Final = UUID(int=7)
"The queue manager."
PARTNER: Final = UUID(int=99)
"Another one."
begins_twice = False
"Whether every commit is begun a first time in vain, as in the tests of this folder."
HERE: Final = "DIRECT=OS:here\\"
"What the names of its queues begin with."


def commit(core: Core, error: BaseException | None = None) -> None:
    """Do one commit the way a driver does, or let it fail with `error`."""
    if begins_twice:
        _commit_in_vain(core)
    try:
        core.start_commit(core.store.begin())
    except Exception as raised:
        core.store.abort()
        core.retreat(raised)
        return
    if error is None:
        core.store.commit()
    else:
        core.store.abort()
    core.finish_commit(error)


def _commit_in_vain(core: Core) -> None:
    """Begin a commit that comes to nothing; numbers that it gave out are given out again."""
    numbers = core.numbers
    names = ("arrival", "packet", "message_id", "queue")
    before, sequences = [getattr(numbers, name) for name in names], numbers.sequences
    series = dict(sequences._last), sequences._drawn, sequences.floor
    with suppress(Exception):
        core.start_commit(core.store.begin())
    core.store.abort()
    core.retreat(KeyboardInterrupt())
    for name, number in zip(names, before, strict=True):
        setattr(numbers, name, number)
    sequences._last, sequences._drawn, sequences.floor = series


def commit_all(core: Core) -> None:
    """Commit until nothing is left to be committed."""
    while core.wants_commit:
        commit(core)
    queues = core.queues.everything
    assert core.stored_size == sum(queue.size for queue in queues)
    assert core.express_size == sum(queue.express.size for queue in queues)


def properties(name: str = "q", **given: Any) -> QueueProperties:
    """Properties of a queue, its identifier made from its name."""
    return QueueProperties(name, UUID(int=sum(name.encode())), NOW, NOW, **given)


def message(
    packet: bytes | str, *, priority: int = 3, express: bool = False, expires: int = INFINITE
) -> NewMessage:
    """A message to send; the rules look into its packet only to keep its history."""
    raw = packet.encode() if isinstance(packet, str) else packet
    return NewMessage(packet=raw, priority=priority, expires=expires, express=express)


def letter(
    body: str = "",
    *,
    number: int = 1,
    source: UUID = ME,
    priority: int = 3,
    express: bool = False,
    transactional: bool = False,
    expires: int = INFINITE,
    dead_letter: bool = False,
    journal: bool = False,
    acknowledge: Acknowledge = Acknowledge.NONE,
    admin: str | None = None,
    reach: int = INFINITE,
    receive: int = INFINITE,
) -> NewMessage:
    """A message to send with a packet that is one, and all that its sender asks for."""
    builder = PacketBuilder(
        source,
        parse_format_name(HERE + "q"),
        admin=None if admin is None else parse_format_name(admin),
    )
    headers = OptionalHeaders(transaction=TransactionHeader()) if transactional else NO_HEADERS
    packet = builder.build(
        body.encode(),
        recoverable=not express,
        dead_letter=dead_letter,
        journal=journal,
        message_id=number,
        acknowledge=acknowledge,
        time_to_reach_queue=reach,
        time_to_be_received=receive,
        headers=headers,
    )
    priority = 0 if transactional else priority
    return NewMessage(packet, priority, expires, express, owed(packet))


def packets(entries: list[Entry]) -> list[str]:
    """The packets of messages that were found, as text."""
    return [entry.packet.decode() for entry in entries]


class HandClock:
    """Shows what it is given, and counts identifiers."""

    def __init__(self, time: float = NOW) -> None:
        self.time = time
        self.passed = 0.0
        self._given = 0

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds
        self.passed += seconds

    def now(self) -> float:
        return self.time

    def elapsed(self) -> float:
        return self.passed

    def new_guid(self) -> UUID:
        self._given += 1
        return UUID(int=self._given)


class World:
    """A core with all its parts, on the disk an earlier one has left, with a clock of its own."""

    def __init__(
        self, disk: Disk | None = None, now: float = NOW, *, restored: bool = False
    ) -> None:
        """`restored` says that the disk is a copy from a backup."""
        self.store = MemoryStore(disk)
        self.now = now
        "What the clock shows."
        self.elapsed = 50.0
        "What really passed."
        self.core = Core(
            self.store,
            new_identity=ME,
            now=now,
            elapsed=self.elapsed,
            restored=restored,
            receipts=RECEIPTS,
        )
        self.core.queues.resolver.configure(["here"], takes_all=True)
        self.enqueuer = Enqueuer(self.core)
        self.receiver = Receiver(self.core)
        self.moves = Moves(self.core)
        self.caller = INTERNAL
        "Who calls from now on."
        self.transactions = Transactions(self.core)

    def restart(self, seconds: float = 0) -> World:
        """The next process, some time later, on what this one had committed when it died."""
        return World(self.store.committed, self.now + seconds)

    def tick(self, seconds: float = 0, *, jump: float = 0) -> None:
        """Let time pass and the clock jump, and have done what is due then."""
        self.pass_time(seconds, jump=jump)
        commit_all(self.core)

    def pass_time(self, seconds: float = 0, *, jump: float = 0) -> bool:
        """The same without the commits; what the core says to it."""
        self.now += seconds + jump
        self.elapsed += seconds
        return self.core.advance(self.now, self.elapsed)

    def commit(self, error: BaseException | None = None) -> None:
        """Do one commit, or let it fail."""
        commit(self.core, error)

    def done(self, pending: Future[T]) -> T:
        """The answer, after all commits it takes."""
        commit_all(self.core)
        return pending.result()

    # What is in the store and known

    def rows(self, table: Table) -> dict[bytes, bytes]:
        """The rows of a table; of queues, those that people made."""
        found = self.store.committed.tables[table]
        if table is Table.QUEUES:
            first = FIRST_QUEUE_NUMBER.to_bytes(4, "big")
            return {key: row for key, row in found.items() if key >= first}
        return found

    def reported(self, sent: NewMessage) -> list[tuple[Event, str]]:
        """The history of a message: what happened, and in which queue."""
        identifier = PacketView(sent.packet).identifier
        happened = self.core.history.of(self.core.snapshot, identifier)
        names = {queue.number: queue.name for queue in self.core.queues.everything}
        return [(Event(item.event), names.get(item.queue, "")) for item in happened]

    def count(self, what: str) -> int:
        """How often something happened."""
        return self.core.statistics.counts.get(what, 0)

    # Queues

    def queue(self, name: str = "q", **given: Any) -> ManagedQueue:
        """A new queue."""
        return self.done(self.core.queue_lifecycle.create(properties(name, **given)))

    def subqueue(self, parent: ManagedQueue, name: str = "retry") -> ManagedQueue:
        """A subqueue, which is there as long as someone uses it."""
        return self.core.queues.subqueue(parent, name)

    def find(self, name: str = "q") -> ManagedQueue:
        """A queue that is there."""
        return self.core.queues.find(name)

    def send(
        self,
        queue: ManagedQueue,
        *sent: str | NewMessage,
        transaction: ManagedTransaction | None = None,
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
        self.done(self.enqueuer.send(queue, outgoing, transaction, self.caller))

    def fill(self, queue: ManagedQueue, *sent: str) -> None:
        """Send messages to a transactional queue."""
        transaction = self.transactions.begin()
        self.send(queue, *sent, transaction=transaction)
        self.done(self.transactions.commit(transaction, caller=self.caller))

    def send_in(self, queue: ManagedQueue, *sent: NewMessage) -> None:
        """Send messages in a transaction of their own."""
        transaction = self.transactions.begin()
        self.done(self.enqueuer.send(queue, list(sent), transaction, self.caller))
        self.done(self.transactions.commit(transaction, caller=self.caller))

    def move(
        self,
        queue: ManagedQueue,
        lookup: int,
        target: ManagedQueue,
        transaction: ManagedTransaction | None = None,
    ) -> None:
        """Move a message and wait until it is there."""
        self.done(self.moves.move(queue, lookup, target, transaction, self.caller))

    # Reading

    def entries(self, queue: ManagedQueue) -> list[Entry]:
        """What can be read in a queue, in order, with all that is known of it."""
        pending = self.receiver.peek(queue, MANY, OWNER, wait=False)
        return [] if pending.error else pending.result()

    def records(self, queue: ManagedQueue) -> list[Record]:
        """The records of what can be read in a queue."""
        return [Record.unpack(entry.record) for entry in self.entries(queue)]

    def bodies(self, queue: ManagedQueue) -> list[str]:
        """The bodies of letters that can be read in a queue."""
        return [view.body.decode() for view in self.views(queue)]

    def views(self, queue: ManagedQueue) -> list[PacketView]:
        """The letters that can be read in a queue."""
        return [PacketView(entry.packet) for entry in self.entries(queue)]

    def read(self, queue: ManagedQueue) -> list[str]:
        """What can be read in a queue, in order."""
        return packets(self.entries(queue))

    def lookups(self, queue: ManagedQueue) -> list[int]:
        """The lookup identifiers of what can be read in a queue, in order."""
        return [entry.lookup for entry in self.entries(queue)]

    def receive(self, queue: ManagedQueue, count: int = 1, holder: Holder = REMOVING) -> list[str]:
        """Take messages that are there."""
        return packets(self.take(queue, count, holder))

    def take(self, queue: ManagedQueue, count: int = 1, holder: Holder = REMOVING) -> list[Entry]:
        """Take messages that are there, as entries."""
        return self.done(
            self.receiver.receive(
                queue, count, OWNER, wait=False, holder=holder, caller=self.caller
            )
        )

    def wait_receive(
        self, queue: ManagedQueue, count: int = 1, holder: Holder = REMOVING, owner: object = OWNER
    ) -> Future[list[Entry]]:
        """Begin to wait for messages."""
        return self.receiver.receive(queue, count, owner, wait=True, holder=holder)

    def wait_peek(self, queue: ManagedQueue, count: int = 1) -> Future[list[Entry]]:
        """Begin to wait for messages to look at."""
        return self.receiver.peek(queue, count, OWNER, wait=True)

    def lookup(
        self, queue: ManagedQueue, lookup: int, seek: Seek = Seek.CURRENT, *, peek: bool = True
    ) -> str:
        """The message a lookup identifier leads to."""
        found = self.done(self.receiver.by_lookup(queue, lookup, seek, peek=peek))
        assert len(found) == 1
        return found[0].packet.decode()

    # Cursors

    def cursor_peek(
        self,
        queue: ManagedQueue,
        cursor: QueueCursor,
        *,
        following: bool = False,
        wait: bool = False,
    ) -> Future[list[Entry]]:
        """Peek with a cursor, at the current message or at the next."""
        return self.receiver.peek_cursor(queue, cursor, OWNER, wait=wait, following=following)

    def cursor_receive(
        self,
        queue: ManagedQueue,
        cursor: QueueCursor,
        *,
        wait: bool = False,
        holder: Holder = REMOVING,
    ) -> Future[list[Entry]]:
        """Receive with a cursor."""
        return self.receiver.receive_cursor(queue, cursor, OWNER, wait=wait, holder=holder)
