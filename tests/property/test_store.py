"""Stores against a plain dictionary: whatever happens, what was committed is what is there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st
from tests.quick import examples

from openmsmq.engine.storage.tables import Snapshot, Store, Table, Writer
from openmsmq.store.lmdb import LmdbStore
from openmsmq.store.memory import Crash, MemoryStore

END = b"\xff" * 4
TABLES = (Table.QUEUES, Table.INDEX, Table.PACKETS)
Model = dict[Table, dict[bytes, bytes]]

keys = st.binary(min_size=1, max_size=2)
values = st.one_of(st.binary(max_size=3), st.integers(0, 5000).map(bytes))
tables = st.sampled_from(TABLES)


@dataclass(frozen=True)
class Put:
    table: Table
    key: bytes
    value: bytes

    def do(self, writer: Writer, model: Model) -> None:
        writer.put(self.table, self.key, self.value)
        model[self.table][self.key] = self.value


@dataclass(frozen=True)
class PutMany:
    table: Table
    rows: dict[bytes, bytes]

    def do(self, writer: Writer, model: Model) -> None:
        last = max(model[self.table], default=b"")
        rises = sorted(self.rows) == list(self.rows) and min(self.rows, default=END) > last
        writer.put_many(self.table, self.rows.items(), append=rises)
        model[self.table].update(self.rows)


@dataclass(frozen=True)
class Delete:
    table: Table
    keys: list[bytes]

    def do(self, writer: Writer, model: Model) -> None:
        first, *others = self.keys
        assert writer.delete(self.table, first) == (first in model[self.table])
        writer.delete_many(self.table, others)
        for key in self.keys:
            model[self.table].pop(key, None)


@dataclass(frozen=True)
class Drain:
    """Remove the rows of a range while scanning it."""

    table: Table
    first: bytes
    end: bytes
    back: bool

    def do(self, writer: Writer, model: Model) -> None:
        rows = model[self.table]
        scan = writer.scan_back if self.back else writer.scan
        found = []
        for key, value in scan(self.table, self.first, self.end):
            found.append((key, value))
            writer.delete(self.table, key)
        expected = [(k, rows[k]) for k in sorted(rows) if self.first <= k < self.end]
        assert found == (expected[::-1] if self.back else expected)
        for key, _ in found:
            del rows[key]


Step = Put | PutMany | Delete | Drain
steps = st.one_of(
    st.builds(Put, tables, keys, values),
    st.builds(
        PutMany,
        tables,
        st.dictionaries(keys, values, max_size=12).map(lambda rows: dict(sorted(rows.items()))),
    ),
    st.builds(PutMany, tables, st.dictionaries(keys, values, max_size=12)),
    st.builds(Delete, tables, st.lists(keys, min_size=1, max_size=6)),
    st.builds(Drain, tables, keys, st.one_of(keys, st.just(END)), st.booleans()),
)


@dataclass(frozen=True)
class Batch:
    """One transaction, and what becomes of it."""

    steps: list[Step]
    commits: bool
    refreshes: bool
    reopens: bool


batches = st.lists(
    st.builds(
        Batch,
        st.lists(steps, max_size=5),
        st.sampled_from([True, True, True, False]),
        st.sampled_from([True, True, False]),
        st.sampled_from([False, False, False, True]),
    ),
    max_size=6,
)


def copy(model: Model) -> Model:
    return {table: dict(rows) for table, rows in model.items()}


def check(reader: Snapshot, model: Model) -> None:
    """Every way of reading gives the rows of the model."""
    for table, rows in model.items():
        expected = [(key, rows[key]) for key in sorted(rows)]
        assert list(reader.scan(table, b"", END)) == expected
        assert list(reader.scan_back(table, b"", END)) == expected[::-1]
        assert reader.get_many(table, list(rows)) == list(rows.values())
        assert [reader.get(table, key) for key in rows] == list(rows.values())
        assert reader.get(table, b"none of these") is None


def run(store: Store, transactions: list[Batch], reopen: Callable[[Store], Store]) -> Store:
    """Do all of it, comparing with the model after every step."""
    committed: Model = {table: {} for table in TABLES}
    seen = copy(committed)
    for batch in transactions:
        if batch.reopens:
            store, seen = reopen(store), copy(committed)
        written = copy(committed)
        writer = store.begin()
        for step in batch.steps:
            step.do(writer, written)
        check(writer, written)
        check(store.snapshot, seen)
        if batch.commits:
            store.commit()
            committed = written
        else:
            store.abort()
        check(store.snapshot, seen)
        if batch.refreshes:
            store.refresh()
            seen = copy(committed)
            check(store.snapshot, seen)
    return store


@given(batches)
def test_a_store_in_memory_is_a_dictionary_that_lasts(transactions: list[Batch]) -> None:
    def reopen(store: Store) -> Store:
        assert isinstance(store, MemoryStore)
        return MemoryStore(store.committed)

    run(MemoryStore(), transactions, reopen)


@examples(40)
@given(batches)
def test_a_store_on_disk_is_a_dictionary_that_lasts(transactions: list[Batch]) -> None:
    with TemporaryDirectory() as directory:

        def reopen(store: Store) -> Store:
            store.close()
            return LmdbStore.open(directory, create=False, walk_max=0)

        with closing(run(LmdbStore.open(directory), transactions, reopen)):
            pass
        LmdbStore.verify(Path(directory))


def work(store: MemoryStore, transactions: list[Batch]) -> list[Model]:
    """Do all of it; what was committed after each transaction."""
    states: list[Model] = [{table: {} for table in TABLES}]
    for batch in transactions:
        written = copy(states[-1])
        writer = store.begin()
        for step in batch.steps:
            step.do(writer, written)
        store.commit()
        store.refresh()
        states.append(written)
    return states


@examples(60)
@given(batches, st.booleans())
def test_a_crash_at_any_write_leaves_whole_transactions(
    transactions: list[Batch], after: bool
) -> None:
    whole = MemoryStore()
    states = work(whole, transactions)
    ends = commit_writes(transactions)
    for write in range(1, whole.writes + 1):
        store = MemoryStore()
        store.fail_at(write, after=after)
        try:
            work(store, transactions)
        except Crash:
            pass
        else:
            raise AssertionError("it should have crashed")
        done = sum(end < write or (after and end == write) for end in ends)
        check(MemoryStore(store.committed).snapshot, states[done])


def commit_writes(transactions: list[Batch]) -> list[int]:
    """The number of the write that each commit is."""
    store = MemoryStore()
    ends = []
    for last in range(len(transactions)):
        store = MemoryStore()
        work(store, transactions[: last + 1])
        ends.append(store.writes)
    return ends
