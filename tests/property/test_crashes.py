"""A crash at any write loses nothing that was answered and shows nothing by halves.

Random work dies at each of its writes in turn, before a commit takes effect and after. What is
found on the disk must be what the model in `tests/strategies/model` had committed, no more and no
less: since the model answers when it has committed, that is all that was acknowledged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.strategies.model.parts import Position, Transaction
from tests.strategies.queue_run import COMPUTER, OWNER, Run, Slot
from tests.strategies.queues import FaultyStore, StillClock, program

from openmsmq.manager.local import LocalManager, received
from openmsmq.messages.message import Message
from openmsmq.model import core, emptying, recovery, transaction
from openmsmq.model.layout import packet_keys, packet_place, split_index_key
from openmsmq.model.pending import Pending
from openmsmq.model.queue import Queue
from openmsmq.model.storage import Table
from openmsmq.store.memory import Crash, Disk, MemoryStore

STEPS = 40
END = b"\xff" * 20


@pytest.fixture(autouse=True, scope="module")
def _small_sizes() -> Iterator[None]:
    """Let everything that happens after many messages happen after few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "SPILL_SIZE", 700)
        patch.setattr(emptying, "STEP", 3)
        patch.setattr(core, "MESSAGE_ID_BLOCK", 64)
        patch.setattr(recovery, "MESSAGE_ID_BLOCK", 64)
        yield


class Life:
    """A queue manager started on what a crash has left."""

    def __init__(self, disk: Disk) -> None:
        self.store = MemoryStore(disk)
        self.manager = LocalManager(self.store, StillClock(), name=COMPUTER)
        self.core = self.manager.core
        self.commit()

    def commit(self) -> None:
        while self.core.wants_commit:
            self.core.start_commit(self.store.begin())
            self.store.commit()
            self.core.finish_commit()

    def done(self, pending: Pending[Any]) -> Any:
        self.commit()
        return pending.result()

    def readable(self, queue: Queue) -> list[tuple[bytes, int]]:
        """Bodies and abort counts, in order."""
        found = self.manager.receiving.peek(queue, 1000, OWNER, wait=False)
        return [] if found.error else [(m.body, m.abort_count) for m in received(found.result())]

    def keys(self, table: Table) -> list[bytes]:
        return [key for key, _ in self.store.snapshot.scan(table, b"", END)]


def stored(slot: Slot) -> list[Position]:
    """The messages of a queue that are on disk and not purged, as far as anybody was told."""
    durable = [p for p in slot.model.positions if not p.express] if slot.model.on_disk else []
    return [p for p in durable if is_locked(p) or not is_purged(p)]


def is_purged(position: Position) -> bool:
    marks = position.queue.marks
    return any(purge.done and position.arrival <= marks[purge] for purge in marks)


def is_locked(position: Position) -> bool:
    return isinstance(position.holder, Transaction) and position.holder.is_in_doubt


def in_doubt(run: Run) -> list[Transaction]:
    return [t for t in run.model.transactions if t.is_in_doubt]


def check_tables(life: Life, doubtful: list[Transaction]) -> None:
    """Every row is needed by another one, and the counters count the rows."""
    packets: Counter[bytes] = Counter()
    places: dict[int, list[int]] = {queue.number: [] for queue in life.core.queues}
    for key, raw in life.store.snapshot.scan(Table.INDEX, b"", END):
        number, size = packet_place(raw)
        packets.update(packet_keys(number, size))
        places[split_index_key(key)[0]].append(size)
    assert not packets or max(packets.values()) == 1
    spare = Counter(life.keys(Table.PACKETS))
    assert packets <= spare
    unsent = [len(packet_keys(0, p.size)) for t in doubtful for _, p in t.sent]
    assert (spare - packets).total() == sum(unsent)
    rows = [1 + len(t.sent) + len(t.received) for t in doubtful]
    assert len(life.keys(Table.TRANSACTIONS)) == sum(rows)
    for queue in life.core.queues:
        sizes = places[queue.number]
        assert (queue.messages, queue.size) == (len(sizes), sum(sizes))


def check_contents(life: Life, queues: dict[str, list[Position]]) -> None:
    """There are these queues with these messages, in order, and no others."""
    assert [queue.properties.name for queue in life.core.queues] == sorted(queues)
    for queue in life.core.queues:
        expected = [(p.body, p.aborts) for p in queues[queue.properties.name]]
        assert life.readable(queue) == expected


def check_outcomes(life: Life, run: Run, *, commit: bool) -> None:
    """Transactions in doubt are decided now, and take effect as if nothing had happened."""
    doubtful = in_doubt(run)
    assert sorted(life.core.prepared) == sorted(t.xid for t in doubtful)
    queues = {f"private$\\q{s.model.number}": s for s in run.slots if s.model.on_disk}
    contents = {
        name: [p for p in stored(slot) if not is_locked(p)] for name, slot in queues.items()
    }
    check_contents(life, contents)
    check_tables(life, doubtful)
    for name, slot in queues.items():
        queue = life.core.find(name)
        locked = [p for p in stored(slot) if is_locked(p)]
        assert set(queue.held) == {p.lookup for p in locked}
        assert queue.reserved == sum(p.size for t in doubtful for q, p in t.sent if q is slot.model)
    names = {slot.model: name for name, slot in queues.items()}
    for decided in doubtful:
        begun = life.manager.prepared(decided.xid)
        life.done(life.manager.commit(begun) if commit else life.manager.abort(begun))
        for queue_model, position in decided.sent if commit else ():
            if queue_model in names:
                contents[names[queue_model]].append(position)
        for queue_model, position in () if commit else decided.received:
            if queue_model in names and not is_purged(position):
                position.aborts += 1
                contents[names[queue_model]].append(position)
                contents[names[queue_model]].sort(key=lambda p: p.lookup)
    check_contents(life, contents)
    check_tables(life, [])


def check_end(life: Life, run: Run) -> None:
    """No number is met twice, and a store that is emptied is empty."""
    assert life.core.numbers.arrival >= run.core.numbers.arrival
    assert life.core.numbers.message_id >= run.core.numbers.message_id
    for queue in life.core.queues:
        if not queue.properties.transactional:
            life.done(life.manager.send(queue, [Message(b"last", priority=0)], None))
            assert life.readable(queue)[-1:] == [(b"last", 0)]
        while life.readable(queue):
            life.done(life.manager.receiving.receive(queue, 1000, OWNER, wait=False))
        assert (queue.messages, queue.size, queue.reserved, queue.held) == (0, 0, 0, {})
    for table in (Table.INDEX, Table.PACKETS, Table.TRANSACTIONS):
        assert life.keys(table) == []


@dataclass
class Death:
    """A run that dies at one of its writes."""

    seed: int
    write: int = 0
    "0 for none."
    after: bool = False

    def run(self) -> Run:
        run = Run(FaultyStore())
        if self.write:
            run.store.fail_at(self.write, after=self.after)
        try:
            run.set_up()
            for step in program(self.seed, STEPS, without=("fail", "peek", "cancel")):
                run.do(step)
                run.check_answers()
            run.commit()
        except Crash:
            assert self.write
            run.check_answers()
            if self.after:
                run.model.finish()
        else:
            assert not self.write
        return run

    def again(self, disk: Disk) -> Disk:
        """What is left when the next start dies too."""
        store = MemoryStore(disk)
        store.fail_at(1 + self.write % 9, after=self.write % 2 == 0)
        try:
            life = LocalManager(store, StillClock(), name=COMPUTER)
            while life.core.wants_commit:
                life.core.start_commit(store.begin())
                store.commit()
                life.core.finish_commit()
        except Crash:
            pass
        return store.committed


def die_everywhere(seed: int) -> None:
    """The same work again and again, each time a little longer."""
    whole = Death(seed).run()
    crashes = [(write, False) for write in range(1, whole.store.writes - whole.opened + 1)]
    crashes += [(write - whole.opened, True) for write in whole.commits]
    for write, after in crashes:
        death = Death(seed, write, after)
        run = death.run()
        life = Life(death.again(run.store.committed))
        check_outcomes(life, run, commit=write % 2 == 0)
        check_end(life, run)


@pytest.mark.parametrize("seed", range(30))
def test_a_crash_at_any_write_leaves_what_was_answered(seed: int) -> None:
    """DMPR-001, DMPR-003, DMPR-028, DMPR-030, DMPR-097, DMPR-105, DMPR-108, DMPR-392."""
    die_everywhere(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30, 130))
def test_it_does_so_in_more_work(seed: int) -> None:
    die_everywhere(seed)
