"""Counters that last."""

from __future__ import annotations

from collections import Counter

import pytest

from openmsmq.engine.commit.statistics import Statistics
from openmsmq.engine.storage.tables import Table
from openmsmq.store.memory import MemoryStore


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def write(store: MemoryStore, statistics: Statistics, **more: int) -> None:
    """Write what a commit has counted, and commit."""
    store.begin().put_many(Table.META, statistics.rows(Counter(more)))
    store.commit()
    store.refresh()
    statistics.committed()


def test_a_new_store_has_counted_nothing(store: MemoryStore) -> None:
    assert Statistics(store.snapshot).counts == {}


def test_what_a_commit_counts_lasts(store: MemoryStore) -> None:
    statistics = Statistics(store.snapshot)
    write(store, statistics, received=1, arrived=2)
    write(store, statistics, arrived=3)
    assert list(statistics.counts.items()) == [("arrived", 5), ("received", 1)]
    assert Statistics(store.snapshot).counts == statistics.counts


def test_a_commit_that_has_counted_nothing_writes_nothing(store: MemoryStore) -> None:
    statistics = Statistics(store.snapshot)
    statistics.count("arrived")
    write(store, statistics, received=1)
    before = store.writes
    write(store, statistics)
    assert store.writes - before == 1, "the commit itself"


def test_what_no_commit_is_about_counts_at_once_and_lasts_with_the_next(
    store: MemoryStore,
) -> None:
    statistics = Statistics(store.snapshot)
    statistics.count("arrived")
    statistics.count("arrived", 4)
    assert statistics.counts == {"arrived": 5}
    assert Statistics(store.snapshot).counts == {}
    write(store, statistics)
    assert statistics.counts == {"arrived": 5}
    assert Statistics(store.snapshot).counts == {"arrived": 5}


def test_what_is_counted_during_a_commit_waits_for_the_next(store: MemoryStore) -> None:
    statistics = Statistics(store.snapshot)
    statistics.count("arrived")
    store.begin().put_many(Table.META, statistics.rows(Counter(received=1)))
    statistics.count("arrived", 2)
    store.commit()
    store.refresh()
    statistics.committed()
    assert statistics.counts == {"arrived": 3, "received": 1}
    assert Statistics(store.snapshot).counts == {"arrived": 1, "received": 1}
    write(store, statistics)
    assert Statistics(store.snapshot).counts == statistics.counts


def test_a_commit_that_fails_has_counted_nothing(store: MemoryStore) -> None:
    statistics = Statistics(store.snapshot)
    statistics.count("arrived")
    store.begin().put_many(Table.META, statistics.rows(Counter(received=1)))
    store.abort()
    assert statistics.counts == {"arrived": 1}
    write(store, statistics)
    assert Statistics(store.snapshot).counts == {"arrived": 1}


def test_nothing_new_is_not_written(store: MemoryStore) -> None:
    statistics = Statistics(store.snapshot)
    before = store.writes
    store.begin().put_many(Table.META, statistics.rows(Counter()))
    assert store.writes == before
