"""Ids of sent messages: remembered with them, the newest ones, for a while."""

from __future__ import annotations

from tests.unit.engine.world import properties

from openmsmq.engine.messages.dedup import (
    DEDUP,
    GROUP,
    dedup_key,
    find_duplicate,
    read_group,
    read_state,
    remember,
)
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.tables import Table
from openmsmq.store.memory import MemoryStore
from openmsmq.types.queues import QueueKind
from openmsmq.types.settings import Settings

FEW = Settings(dedup_count=3, dedup_time=100)


def key(number: int) -> bytes:
    return number.to_bytes(16)


def kept(store: MemoryStore) -> list[int]:
    """The ids that are known, by the numbers they were made from."""
    found = [number for number in range(1000) if find_duplicate(store.snapshot, key(number))]
    rows = store.committed.tables[Table.TRANSFER]
    grouped = [one for k, raw in rows.items() if k[:1] == GROUP for one in read_group(k, raw)[1]]
    assert sorted(grouped) == [key(number) for number in found]
    assert sum(k[:1] == DEDUP for k in rows) == read_state(store.snapshot)[2] == len(found)
    return found


def take(store: MemoryStore, *numbers: int, now: int = 0, settings: Settings = FEW) -> None:
    remember(store.begin(), [(key(one), one) for one in numbers], now, settings)
    store.commit()
    store.refresh()


def test_an_id_leads_to_the_message_that_was_sent_under_it() -> None:
    store = MemoryStore()
    assert find_duplicate(store.snapshot, key(7)) is None
    take(store, 7)
    assert find_duplicate(store.snapshot, key(7)) == 7


def test_the_oldest_are_forgotten_when_there_are_too_many() -> None:
    store = MemoryStore()
    for number in range(1, 9):
        take(store, number)
    assert kept(store) == [6, 7, 8]


def test_those_that_came_together_are_forgotten_together() -> None:
    store = MemoryStore()
    take(store, 1, 2)
    take(store, 3, 4)
    assert kept(store) == [3, 4]


def test_those_that_come_now_are_remembered_however_many() -> None:
    store = MemoryStore()
    take(store, *range(1, 11))
    assert kept(store) == list(range(1, 11))


def test_old_ones_are_forgotten() -> None:
    store = MemoryStore()
    take(store, 1, now=0)
    take(store, 2, now=100)
    assert kept(store) == [1, 2]
    take(store, 3, now=101)
    assert kept(store) == [2, 3]


def test_no_commit_has_to_forget_very_many() -> None:
    store = MemoryStore()
    many = Settings(dedup_count=1000)
    for number in range(1, 600):
        take(store, number, settings=many)
    take(store, 600)
    assert kept(store)[0] == 103
    for number in range(601, 620):
        take(store, number)
    assert kept(store) == [617, 618, 619]


def test_an_id_is_another_one_for_another_queue() -> None:
    queues = [ManagedQueue(16, properties("a")), ManagedQueue(17, properties("a"))]
    assert dedup_key(queues[0], "x") == dedup_key(queues[0], "x")
    assert dedup_key(queues[0], "x") != dedup_key(queues[0], "y")
    assert dedup_key(queues[0], "x") != dedup_key(queues[1], "x")


def test_a_queue_elsewhere_goes_by_its_name_however_that_is_written() -> None:
    """An outgoing queue comes and goes, and has another number each time."""
    names = ("DIRECT=OS:there\\private$\\x", "DIRECT=os:THERE\\PRIVATE$\\X")
    queues = [
        ManagedQueue(n, properties(name, kind=QueueKind.OUTGOING)) for n, name in enumerate(names)
    ]
    assert dedup_key(queues[0], "x") == dedup_key(queues[1], "x")
