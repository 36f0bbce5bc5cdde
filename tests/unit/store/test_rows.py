"""What is peculiar to rows in LMDB; the contract is in the tests of `lmdb`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb
import pytest
from tests.unit.store.contract import END, ROWS, commit, contents

from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StoreDamaged
from openmsmq.store.lmdb import LmdbStore
from openmsmq.store.redo import Redo
from openmsmq.store.rows import LmdbSnapshot, LmdbWriter


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LmdbStore]:
    opened = LmdbStore.open(tmp_path)
    yield opened
    opened.close()


def test_values_are_copies_that_outlive_the_transaction(store: LmdbStore) -> None:
    commit(store, ROWS)
    value = store.snapshot.get(Table.INDEX, b"B")
    rows = contents(store)
    commit(store, [(key, b"overwritten") for key, _ in ROWS])
    assert type(value) is bytes
    assert value == b"\1"
    assert rows == ROWS


def test_pages_of_all_tables_are_counted(store: LmdbStore) -> None:
    size, before = store.snapshot.pages()
    commit(store, [(b"%d" % n, bytes(4080)) for n in range(10)], Table.PACKETS)
    commit(store, ROWS)
    assert size >= 4096
    assert store.snapshot.pages() >= (size, before + 12)


@pytest.mark.parametrize("seed", range(20))
def test_scans_of_the_writer_survive_any_change_of_the_table(store: LmdbStore, seed: int) -> None:
    chance = random.Random(seed)
    size = chance.choice([1, 40, 400, 1500])
    keys = [b"%04d" % n for n in range(0, 1000, 2)]
    commit(store, [(key, bytes(size)) for key in keys])
    writer = store.begin()
    known = set(keys)
    for scan, sign in ((writer.scan, 1), (writer.scan_back, -1)):
        at: bytes | None = None
        for key, _ in scan(Table.INDEX, b"", END):
            ahead = sorted(k for k in known if at is None or (k > at if sign > 0 else k < at))
            assert key == ahead[0 if sign > 0 else -1]
            at = key
            for _ in range(chance.randrange(4)):
                other = b"%04d" % chance.randrange(1000)
                if chance.random() < 0.8:
                    assert writer.delete(Table.INDEX, other) == (other in known)
                    known.discard(other)
                else:
                    writer.put(Table.INDEX, other, bytes(size))
                    known.add(other)
    assert [key for key, _ in writer.scan(Table.INDEX, b"", END)] == sorted(known)
    store.commit()


class Broken:
    """A transaction over pages that are damaged."""

    def fail(self, *_: object, **__: object) -> None:
        error = lmdb.CorruptedError("page")
        vars(error)["code"] = -30796
        raise error

    get = put = delete = cursor = begin = fail


def test_damage_found_while_working_is_said_so() -> None:
    broken: lmdb.Transaction[bytes] = Broken()  # type: ignore[assignment]  # stands in for it
    tables = tuple(None for _ in Table)
    environment: lmdb.Environment = Broken()  # type: ignore[assignment]  # stands in for it
    snapshot = LmdbSnapshot(broken, tables, environment)  # type: ignore[arg-type]  # no table is looked at
    writer = LmdbWriter(broken, tables, Redo())  # type: ignore[arg-type]  # no table is looked at
    calls: list[Callable[[], object]] = [
        lambda: snapshot.get(Table.INDEX, b"k"),
        lambda: snapshot.get_many(Table.INDEX, [b"k"]),
        lambda: snapshot.joined(Table.INDEX, b"k", b"l", 2, 0, 1),
        lambda: snapshot.joined(Table.INDEX, b"k", b"z", 16, 0, 1),
        lambda: list(snapshot.scan(Table.INDEX, b"", END)),
        lambda: list(snapshot.scan_back(Table.INDEX, b"", END)),
        lambda: list(writer.scan(Table.INDEX, b"", END)),
        lambda: list(writer.scan_back(Table.INDEX, b"", END)),
        lambda: writer.put(Table.INDEX, b"k", b""),
        lambda: writer.put_many(Table.INDEX, [(b"k", b"")]),
        lambda: writer.delete(Table.INDEX, b"k"),
        lambda: writer.delete_many(Table.INDEX, [b"k"]),
        lambda: writer.change({}, {Table.INDEX: [(b"k", b"")]}, {}),
        lambda: writer.change({}, {}, {Table.INDEX: [b"k"]}),
    ]
    for call in calls:
        with pytest.raises(StoreDamaged, match="page"):
            call()
