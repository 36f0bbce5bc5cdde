"""A crash at every single write: what was acknowledged is there, nothing is there by half."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from tests.quick import first_quick
from tests.unit.engine import handles

from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager, received
from openmsmq.engine.queues.holds import REMOVING
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage import runs
from openmsmq.engine.storage.layout import (
    COUNTERS_ROW,
    packet_keys,
    packet_place,
    queue_key,
    unpack_counters,
    unpack_totals,
)
from openmsmq.engine.storage.runs import MessageRun, read_packet, record_of
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions import transaction as model_transaction
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.packet.view import PacketView
from openmsmq.store.memory import Crash, Disk, MemoryStore
from openmsmq.types.lookup import ARRIVAL_MASK
from openmsmq.types.message import Message

QUEUES = {"plain": False, "left": True, "right": True}
STEPS = 30
SEEDS = range(12)
SPILL_SIZE = 600
ALL = 1_000_000


class StillClock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self._guids = 0

    def now(self) -> float:
        """The one time there is."""
        return 1_700_000_000.0

    def elapsed(self) -> float:
        """None passes."""
        return 0.0

    def new_guid(self) -> UUID:
        """The next of a row."""
        self._guids += 1
        return UUID(int=self._guids)


@dataclass
class Work:
    """Something that takes effect at once or not at all."""

    sent: set[tuple[str, str]] = field(default_factory=set)
    taken: set[tuple[str, str]] = field(default_factory=set)
    answer: Future[object] | None = None
    "None while no one asked for it to be committed."
    undone: bool = False
    "It was aborted: nothing of it may be seen."
    xid: str = ""

    @property
    def is_certain(self) -> bool:
        """It was acknowledged."""
        return self.answer is not None and self.answer.done and self.answer.error is None


class World:
    """A manager on a store that may die, and a ledger of what it was asked to do."""

    def __init__(self, store: MemoryStore, seed: int) -> None:
        self.store = store
        self.random = random.Random(seed)
        self.works: list[Work] = []
        self.open: list[tuple[ManagedTransaction, Work]] = []
        self.lookups: set[int] = set()
        self.number = 0
        self.manager = QueueManager(store, StillClock(), name="here")

    def queue(self, name: str) -> ManagedQueue:
        """A queue by its short name."""
        return self.manager.find_queue(name)

    def commit(self) -> None:
        """Let the core commit until nothing is left to do."""
        core = self.manager
        while core.wants_commit:
            core.start_commit(self.store.begin())
            self.store.commit()
            core.finish_commit()

    def create(self) -> None:
        """Make the queues."""
        for name, transactional in QUEUES.items():
            self.manager.create_queue(name, transactional=transactional)
        self.commit()

    def run(self) -> None:
        """Do random things; several may share a commit."""
        actions = [self.send, self.send, self.receive, self.begin, self.work, self.work, self.end]
        for _ in range(STEPS):
            self.random.choice(actions)()
            if self.random.random() < 0.6:
                self.commit()
        self.commit()

    def messages(self, name: str, work: Work) -> list[Message]:
        """Some new messages, noted as sent by `work`."""
        made = []
        for _ in range(self.random.randint(1, 3)):
            self.number += 1
            work.sent.add((name, str(self.number)))
            size = 5000 if self.random.random() < 0.1 else 10
            made.append(Message(bytes(size), label=str(self.number)))
        return made

    def send(self) -> None:
        """Send outside a transaction."""
        work = Work()
        batch = self.messages("plain", work)
        work.answer = handles.send(self.manager, self.queue("plain"), batch, None)  # type: ignore[assignment]
        self.works.append(work)

    def receive(self) -> None:
        """Receive outside a transaction."""
        queue = self.queue("plain")
        work = Work()
        receiving = self.manager.receiver
        count = self.random.randint(1, 3)
        before = set(queue.holds)
        pending = receiving.receive(queue, count, self, wait=False, holder=REMOVING)
        taken = set(queue.holds) - before
        work.taken = {("plain", label) for label in self.labels(queue, taken)}
        work.answer = pending  # type: ignore[assignment]
        self.works.append(work)

    def labels(self, queue: ManagedQueue, lookups: set[int]) -> set[str]:
        """The labels of messages by their places."""
        found = set()
        for lookup in lookups:
            self.lookups.add(lookup)
            raw = record_of(self.store.snapshot, queue.number, lookup)
            assert raw is not None
            found.add(PacketView(read_packet(self.store.snapshot, raw)).label)
        return found

    def begin(self) -> None:
        """Begin a transaction, sometimes one with a name."""
        self.number += 1
        xid = f"x{self.number}" if self.random.random() < 0.4 else ""
        work = Work(xid=xid)
        self.open.append((self.manager.begin(xid), work))

    def work(self) -> None:
        """Send or receive in an open transaction."""
        if not self.open:
            return
        transaction, work = self.random.choice(self.open)
        name = self.random.choice(["left", "right"])
        queue = self.queue(name)
        if self.random.random() < 0.6:
            handles.send(self.manager, queue, self.messages(name, work), transaction)
            return
        receiving = self.manager.receiver
        before = set(queue.holds)
        receiving.receive(queue, 1, self, wait=False, holder=transaction)
        work.taken |= {(name, label) for label in self.labels(queue, set(queue.holds) - before)}

    def end(self) -> None:
        """Commit, abort or prepare an open transaction."""
        if not self.open:
            return
        transaction, work = self.open.pop(self.random.randrange(len(self.open)))
        self.works.append(work)
        outcome = self.random.random()
        if outcome < 0.3:
            work.undone = True
            work.answer = self.manager.abort(transaction)  # type: ignore[assignment]
        elif outcome < 0.6 and transaction.xid:
            self.manager.prepare(transaction)
            self.commit()
            if self.random.random() < 0.7:
                work.answer = self.manager.commit(transaction)  # type: ignore[assignment]
        else:
            work.answer = self.manager.commit(transaction)  # type: ignore[assignment]


def contents(manager: QueueManager, world: World) -> set[tuple[str, str]]:
    """All that can be read, with its queue; the order is checked on the way."""
    found = set()
    for name in QUEUES:
        queue = manager.find_queue(name)
        entries = manager.receiver.peek(queue, ALL, world, wait=False)
        if entries.error is not None:
            continue
        messages = received(entries.result())
        labels = [int(message.label) for message in messages]
        lookups = [message.lookup_id for message in messages]
        assert lookups == sorted(lookups)
        assert len(set(labels)) == len(labels)
        if name == "plain":
            assert labels == sorted(labels)
        world.lookups.update(lookups)
        found |= {(name, message.label) for message in messages}
    return found


def check_rows(disk: Disk, manager: QueueManager) -> None:
    """Counters agree with rows, and no row is left that nothing refers to."""
    packets, index = disk.tables[Table.PACKETS], disk.tables[Table.INDEX]
    stored = [MessageRun.unpack(key, row) for key, row in disk.tables[Table.RUNS].items()]
    expected = {key for run in stored for key in run.packet_keys}
    for name in QUEUES:
        queue = manager.find_queue(name)
        prefix = queue.number.to_bytes(4, "big")
        records = [raw for key, raw in index.items() if key.startswith(prefix)]
        sizes = [packet_place(raw)[1] for raw in records]
        own = [run for run in stored if run.queue == queue.number]
        messages = len(records) + sum(run.left for run in own)
        size = sum(sizes) + sum(run.bytes_left for run in own)
        assert (queue.messages, queue.size) == (messages, size)
        row = disk.tables[Table.QUEUES].get(queue_key(queue.number, COUNTERS_ROW))
        assert row is None or unpack_counters(row) == (queue.messages, queue.size)
        assert row is None or unpack_totals(row) <= tuple(queue.totals)  # express ones wait
        for raw in records:
            expected |= set(packet_keys(*packet_place(raw)))
    staged = disk.tables[Table.TRANSACTIONS]
    assert bool(staged) == bool(manager.prepared)
    if not staged:
        assert set(packets) == expected
    else:
        assert expected <= set(packets)


def check(world: World, disk: Disk) -> None:
    """Open the disk again and compare with the ledger."""
    store = MemoryStore(disk)
    manager = QueueManager(store, StillClock(), name="here")
    check_rows(store.committed, manager)
    in_doubt = set(manager.prepared)
    locked = {place for work in world.works if work.xid in in_doubt for place in work.taken}
    found = contents(manager, world)
    ever_sent: set[tuple[str, str]] = set()
    gone: set[tuple[str, str]] = set()
    for work in [*world.works, *(work for _, work in world.open)]:
        if work.xid in in_doubt or work.undone or work.answer is None:
            happened = False
            assert work.xid not in in_doubt or not work.is_certain
        elif work.is_certain:
            happened = True
        else:
            taken_away = work.taken and not work.taken & (found | locked)
            happened = bool(work.sent & _after(world, found)) or bool(taken_away)
        if happened:
            ever_sent |= work.sent
            gone |= work.taken
        else:
            assert not work.sent & found, "part of what did not happen can be seen"
    assert found == ever_sent - gone - locked


def _after(world: World, found: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """What can be seen, or was taken again by later work that was acknowledged."""
    later = {place for other in world.works if other.is_certain for place in other.taken}
    return found | later


def crash_points(seed: int) -> int:
    """How many writes the program of a seed makes."""
    store = MemoryStore()
    world = World(store, seed)
    world.create()
    before = store.writes
    world.run()
    check(world, store.committed)
    return store.writes - before


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("seed", first_quick(SEEDS))
def test_a_crash_at_any_write_loses_nothing_acknowledged(
    seed: int, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DMPR-001, DMPR-003, DMPR-028, DMPR-030."""
    monkeypatch.setattr(model_transaction, "SPILL_SIZE", SPILL_SIZE)
    monkeypatch.setattr(runs, "COUNT_MIN", 2)
    for point in range(1, crash_points(seed) + 1):
        store = MemoryStore()
        world = World(store, seed)
        world.create()
        store.fail_at(point, after=after)
        with pytest.raises(Crash):
            world.run()
        check(world, store.committed)


def test_numbers_are_never_used_again() -> None:
    """DMPR-030: neither arrival numbers nor message identifiers, express ones included."""
    disk: Disk | None = None
    arrivals: list[int] = []
    identifiers: list[str] = []
    for _ in range(5):
        store = MemoryStore(disk)
        world = World(store, 1)
        if disk is None:
            world.create()
        for recoverable in (True, False):
            message = Message(b"x", recoverable=recoverable)
            handles.send(world.manager, world.queue("plain"), [message], None)
        world.commit()
        queue = world.queue("plain")
        entries = world.manager.receiver.peek(queue, ALL, world, wait=False).result()
        fresh = [m for m in received(entries) if m.id not in identifiers]
        assert len(fresh) == 2
        identifiers += [message.id for message in fresh]
        arrivals += [message.lookup_id & ARRIVAL_MASK for message in fresh]
        disk = store.committed
    assert len(set(arrivals)) == len(arrivals)
    assert arrivals == sorted(arrivals)
