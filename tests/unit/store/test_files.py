"""Making and opening the files of a store."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import lmdb
import pytest
from tests.unit.store import children

from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StorageFailed, StoreDamaged, StoreForeign
from openmsmq.store import directories
from openmsmq.store.directories import make_directory
from openmsmq.store.files import TABLE_NAMES, create, open_environment, open_tables
from openmsmq.store.lmdb import LmdbStore

MAP_SIZE = 1 << 24


def lmdb_file(directory: Path, rows: dict[bytes, bytes], tables: tuple[bytes, ...] = ()) -> None:
    """An LMDB file as another program makes it."""
    with lmdb.Environment(
        str(directory), map_size=MAP_SIZE, max_dbs=len(TABLE_NAMES)
    ) as environment:
        for table in tables:
            environment.open_db(table)
        with environment.begin(write=True) as transaction:
            for key, value in rows.items():
                transaction.put(key, value)


def test_the_names_of_the_tables_are_part_of_the_format() -> None:
    assert TABLE_NAMES == (
        b"meta",
        b"queues",
        b"index",
        b"packets",
        b"transactions",
        b"expiry",
        b"history",
        b"transfer",
        b"delayed",
        b"runs",
        b"audit",
    )


def test_a_crash_while_making_a_store_leaves_no_data_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", fail)
        with pytest.raises(KeyboardInterrupt):
            create(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["openmsmq.making"]
    (tmp_path / "openmsmq.making" / "data.mdb").write_bytes(b"half of it")
    create(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["data.mdb"]


def test_a_directory_that_cannot_be_synced_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "no sync")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageFailed, match="no sync"):
        make_directory(tmp_path / "new")
    with pytest.raises(StorageFailed, match="no sync"):
        create(tmp_path)


@pytest.mark.parametrize(
    ("rows", "tables"),
    [
        ({}, ()),
        ({b"partner": b"else"}, ()),
        ({}, (b"queues", b"messages")),
        (dict.fromkeys(TABLE_NAMES, b"no table"), ()),
        ({b"format": b"OpenMSMQ 1"}, TABLE_NAMES),
    ],
    ids=["empty", "rows", "other tables", "rows called as tables", "no format"],
)
def test_an_lmdb_file_of_another_program_is_left_alone(
    tmp_path: Path, rows: dict[bytes, bytes], tables: tuple[bytes, ...]
) -> None:
    lmdb_file(tmp_path, rows, tables)
    before = (tmp_path / "data.mdb").read_bytes()
    for _ in range(2):
        with pytest.raises(StoreForeign, match=str(tmp_path)):
            LmdbStore.open(tmp_path)
    assert (tmp_path / "data.mdb").read_bytes() == before


def test_a_store_that_lost_a_table_is_damaged(tmp_path: Path) -> None:
    create(tmp_path)
    with closing(open_environment(tmp_path, MAP_SIZE)) as environment:
        packets = open_tables(environment)[Table.PACKETS]
        with environment.begin(write=True) as transaction:
            transaction.drop(packets)
        with pytest.raises(StoreDamaged, match="no table packets"):
            open_tables(environment)


def test_a_smaller_map_is_taken_where_the_system_grants_no_large_one(tmp_path: Path) -> None:
    code = """
        import resource, sys
        from openmsmq.store.lmdb import LmdbStore
        resource.setrlimit(resource.RLIMIT_AS, (20 << 30, 20 << 30))
        store = LmdbStore.open(sys.argv[1])
        print(store._environment.info()["map_size"] >> 30)
        store.close()
    """
    assert children.run(code, tmp_path) == ["16"]


@pytest.mark.parametrize(("granted", "tries"), [(1 << 38, 2), (1 << 30, 6), (0, 6)])
def test_the_map_shrinks_until_it_is_granted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, granted: int, tries: int
) -> None:
    asked: list[int] = []
    environment = lmdb.Environment

    def ask(path: str, *, map_size: int, **options: Any) -> lmdb.Environment:
        asked.append(map_size)
        if map_size > granted:
            error = lmdb.MemoryError("mmap")
            vars(error)["code"] = errno.ENOMEM
            raise error
        return environment(path, map_size=1 << 24, **options)

    create(tmp_path)
    monkeypatch.setattr(lmdb, "Environment", ask)
    if granted:
        LmdbStore.open(tmp_path).close()
    else:
        with pytest.raises(StorageFailed, match="mmap"):
            LmdbStore.open(tmp_path)
    assert asked == [1 << bits for bits in range(40, 40 - 2 * tries, -2)]


def test_no_map_at_all_is_an_error(tmp_path: Path) -> None:
    code = """
        import resource, sys
        from openmsmq.errors import StorageFailed
        from openmsmq.store.lmdb import LmdbStore
        resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))
        try:
            LmdbStore.open(sys.argv[1])
        except StorageFailed as error:
            print(error.detail)
    """
    assert "Cannot allocate memory" in children.run(code, tmp_path)[0]


def test_the_lock_file_of_lmdb_has_its_blocks_before_it_is_mapped(tmp_path: Path) -> None:
    (tmp_path / "lock.mdb").write_bytes(b"x")
    create(tmp_path)
    with closing(open_environment(tmp_path, MAP_SIZE)):
        assert (tmp_path / "lock.mdb").stat().st_size >= 4096
        assert (tmp_path / "lock.mdb").stat().st_blocks >= 8


def test_every_directory_that_is_made_outlasts_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only the last one: without its parents it is nowhere."""
    synced: list[Path] = []
    monkeypatch.setattr(directories, "sync_directory", synced.append)
    make_directory(tmp_path / "a" / "b" / "c")
    assert synced == [tmp_path / "a" / "b", tmp_path / "a", tmp_path]
    synced.clear()
    make_directory(tmp_path / "a" / "b" / "c")
    assert synced == []
    monkeypatch.chdir(tmp_path)
    make_directory(Path("a/d"))
    assert synced == [tmp_path / "a"]
