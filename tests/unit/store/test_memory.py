"""The store in memory: the contract, and dying at any write."""

from __future__ import annotations

from contextlib import suppress

import pytest
from tests.unit.store.contract import ROWS, StoreContract, commit, contents

from openmsmq.engine.storage.tables import Store, Table
from openmsmq.store.memory import Crash, MemoryStore


@pytest.fixture
def store() -> Store:
    return MemoryStore()


class TestContract(StoreContract):
    """The store in memory keeps it."""


def work(store: MemoryStore, number: int) -> None:
    """Three writes and a commit."""
    writer = store.begin()
    writer.put(Table.QUEUES, b"q", b"%d" % number)
    writer.put_many(Table.INDEX, [(b"a%d" % number, b"")], append=True)
    writer.delete(Table.INDEX, b"old")
    store.commit()
    store.refresh()


def test_rows_and_commits_are_counted_as_writes() -> None:
    store = MemoryStore()
    work(store, 1)
    assert store.writes == 4
    store.begin().delete_many(Table.INDEX, [b"x", b"y"])
    assert store.writes == 6


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("write", range(1, 9))
def test_a_crash_at_any_write_leaves_what_was_committed(write: int, after: bool) -> None:
    whole = MemoryStore()
    states = [whole.committed]
    for number in (1, 2):
        work(whole, number)
        states.append(whole.committed)
    store = MemoryStore()
    store.fail_at(write, after=after)
    with suppress(Crash):
        for number in (1, 2):
            work(store, number)
    is_late_commit = after and write % 4 == 0
    assert store.committed == states[(write - 1) // 4 + is_late_commit]


def test_nothing_is_written_after_a_crash() -> None:
    store = MemoryStore()
    commit(store, ROWS)
    before = store.committed
    store.fail_at(2, after=True)
    writer = store.begin()
    writer.put(Table.INDEX, b"1", b"")
    for _ in range(2):
        with pytest.raises(Crash):
            writer.put(Table.INDEX, b"2", b"")
    with pytest.raises(Crash):
        writer.delete_many(Table.INDEX, [b"A"])
    store.abort()
    store.begin()
    with pytest.raises(Crash):
        store.commit()
    store.close()
    assert store.committed == before


def test_a_crash_is_no_exception_that_rules_could_catch() -> None:
    assert not issubclass(Crash, Exception)


def test_the_disk_goes_into_the_next_store_and_is_not_shared() -> None:
    store = MemoryStore()
    commit(store, ROWS)
    store.begin().put(Table.INDEX, b"lost", b"")
    disk = store.committed
    second, third = MemoryStore(disk), MemoryStore(disk)
    assert contents(second) == ROWS
    commit(second, [(b"new", b"")])
    store.abort()
    assert contents(third) == contents(store) == ROWS
    assert disk == store.committed != second.committed


def test_what_is_committed_but_not_refreshed_is_on_the_disk() -> None:
    store = MemoryStore()
    store.begin().put(Table.INDEX, b"A", b"")
    store.commit()
    assert contents(store) == []
    assert contents(MemoryStore(store.committed)) == [(b"A", b"")]


def test_room_is_what_the_test_says() -> None:
    store = MemoryStore()
    store.room = False
    assert not store.has_room()


def test_writes_are_counted_from_one() -> None:
    with pytest.raises(AssertionError, match="from 1"):
        MemoryStore().fail_at(0)
