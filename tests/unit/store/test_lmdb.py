"""The store on disk: the contract, threads, full disks and being opened again."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import lmdb
import pytest
from tests.unit.store import children
from tests.unit.store.contract import END, ROWS, StoreContract, commit, contents

import openmsmq.store.lmdb as module
from openmsmq.engine.storage.tables import Store, Table, Writer
from openmsmq.errors import (
    StorageError,
    StorageFailed,
    StorageFull,
    StoreDamaged,
    StoreForeign,
    StoreInUse,
    StoreMissing,
    StoreTooNew,
)
from openmsmq.store.format import FORMAT, FORMAT_KEY, format_row
from openmsmq.store.lmdb import COMMITS_UNASKED, LmdbStore

VALUE = bytes(2000)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = LmdbStore.open(tmp_path)
    yield opened
    opened.close()


class TestContract(StoreContract):
    """The store on disk keeps it."""


def test_what_was_committed_is_there_when_opened_again(tmp_path: Path) -> None:
    with closing(LmdbStore.open(tmp_path)) as store:
        commit(store, ROWS)
        store.begin().put(Table.INDEX, b"lost", b"")
    with closing(LmdbStore.open(tmp_path, create=False)) as store:
        assert contents(store) == ROWS


def test_what_was_committed_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    code = """
        import os, signal, sys
        from openmsmq.engine.storage.tables import Table
        from openmsmq.store.lmdb import LmdbStore
        store = LmdbStore.open(sys.argv[1])
        store.begin().put(Table.INDEX, b"kept", b"")
        store.commit()
        store.begin().put(Table.INDEX, b"lost", b"")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    with children.start(code, tmp_path) as child:
        child.communicate(timeout=60)
    with closing(LmdbStore.open(tmp_path, create=False)) as store:
        assert contents(store) == [(b"kept", b"")]


def test_a_store_that_is_not_there_is_made_only_if_wanted(tmp_path: Path) -> None:
    wanted = tmp_path / "a" / "b"
    with pytest.raises(StoreMissing, match="a/b"):
        LmdbStore.open(wanted, create=False)
    with pytest.raises(StoreMissing, match="a/b"):
        LmdbStore.verify(wanted)
    assert not wanted.exists()
    LmdbStore.open(str(wanted)).close()
    assert wanted.stat().st_mode & 0o777 == 0o700
    assert (wanted / "data.mdb").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in wanted.iterdir()) == [
        "data.mdb",
        "lock.mdb",
        "openmsmq.lock",
    ]


def test_an_empty_store_takes_little_of_the_disk(tmp_path: Path) -> None:
    LmdbStore.open(tmp_path).close()
    assert (tmp_path / "data.mdb").stat().st_blocks * 512 < 64 * 1024


def test_a_store_is_opened_once_at_a_time(tmp_path: Path) -> None:
    with closing(LmdbStore.open(tmp_path)) as store:
        with pytest.raises(StoreInUse, match=f"process {os.getpid()} "):
            LmdbStore.open(tmp_path)
        with pytest.raises(StoreInUse):
            LmdbStore.verify(tmp_path)
        commit(store, ROWS)
    LmdbStore.verify(tmp_path)
    LmdbStore.open(tmp_path).close()


def test_a_place_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageFailed, match="file"):
        LmdbStore.open(tmp_path / "file")


def test_begin_and_end_on_one_thread_with_writes_on_another(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    begun, written = threading.Event(), threading.Event()
    writers: list[Writer] = []

    def own() -> None:
        for _ in range(2):
            writers.append(store.begin())
            begun.set()
            assert written.wait(10)
            written.clear()
            store.commit()

    thread = threading.Thread(target=own)
    thread.start()
    for row in ROWS[:2]:
        assert begun.wait(10)
        begun.clear()
        with pytest.raises(AssertionError, match="another thread"):
            store.commit()
        writers[-1].put(Table.INDEX, *row)
        written.set()
    thread.join(10)
    store.refresh()
    assert contents(store) == ROWS[:2]
    store.close()


def set_format(directory: Path, row: bytes | None) -> None:
    """Write the format row of a store as another program would."""
    with closing(LmdbStore.open(directory)) as store:
        writer = store.begin()
        if row is None:
            writer.delete(Table.META, FORMAT_KEY)
        else:
            writer.put(Table.META, FORMAT_KEY, row)
        store.commit()


@pytest.mark.parametrize(
    ("row", "kind"),
    [(format_row(FORMAT + 1), StoreTooNew), (None, StoreForeign), (b"OpenMSMQ ?", StoreDamaged)],
)
def test_a_store_of_another_format_is_left_alone(
    tmp_path: Path, row: bytes | None, kind: type[StorageError]
) -> None:
    set_format(tmp_path, row)
    before = (tmp_path / "data.mdb").read_bytes()
    for _ in range(2):
        with pytest.raises(kind, match=str(tmp_path)):
            LmdbStore.open(tmp_path)
    assert (tmp_path / "data.mdb").read_bytes() == before


def test_an_older_store_is_migrated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    LmdbStore.open(tmp_path).close()
    monkeypatch.setattr(module, "FORMAT", FORMAT + 1)
    monkeypatch.setattr("openmsmq.store.format.FORMAT", FORMAT + 1)
    migrated: list[int] = []

    def migrate(writer: Writer, version: int) -> None:
        migrated.append(version)
        writer.put(Table.META, FORMAT_KEY, format_row(FORMAT + 1))

    monkeypatch.setattr(module, "migrate", migrate)
    for _ in range(2):
        with closing(LmdbStore.open(tmp_path)) as store:
            assert store.snapshot.get(Table.META, FORMAT_KEY) == format_row(FORMAT + 1)
    assert migrated == [FORMAT]


def test_a_migration_that_fails_leaves_the_older_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LmdbStore.open(tmp_path).close()

    def migrate(writer: Writer, _: int) -> None:
        writer.put(Table.META, FORMAT_KEY, format_row(FORMAT + 1))
        raise LookupError

    with monkeypatch.context() as patched:
        patched.setattr(module, "FORMAT", FORMAT + 1)
        patched.setattr(module, "migrate", migrate)
        for _ in range(2):
            with pytest.raises(LookupError):
                LmdbStore.open(tmp_path)
    with closing(LmdbStore.open(tmp_path)) as store:
        assert store.snapshot.get(Table.META, FORMAT_KEY) == format_row(FORMAT)


class Unwritable:
    """A transaction whose disk fails at the end."""

    def commit(self) -> None:
        error = lmdb.Error("commit")
        vars(error)["code"] = errno.EIO
        raise error


@pytest.mark.parametrize(("reserve", "kind"), [(0, StorageFailed), (1 << 60, StorageFull)])
def test_an_io_error_on_a_disk_without_space_means_that_it_is_full(
    tmp_path: Path, reserve: int, kind: type[StorageError]
) -> None:
    with closing(LmdbStore.open(tmp_path, reserve=reserve)) as store:
        assert_commit_fails(store, kind)
        commit(store, ROWS)


def test_an_io_error_on_a_disk_that_does_not_answer_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> os.statvfs_result:
        raise OSError(errno.EIO, "gone")

    monkeypatch.setattr(os, "statvfs", fail)
    with closing(LmdbStore.open(tmp_path)) as store:
        assert_commit_fails(store, StorageFailed)


def assert_commit_fails(store: LmdbStore, kind: type[StorageError]) -> None:
    store.begin()
    assert store._transaction is not None
    store._transaction.abort()
    store._transaction = Unwritable()  # type: ignore[assignment]  # stands in for it
    with pytest.raises(kind, match=str(store._directory)):
        store.commit()


def fill(
    store: Store, kind: type[StorageError] = StorageFull, *, start: int = 0, at_once: int = 20
) -> int:
    """Append rows, `at_once` in a transaction, until that fails; how many were committed."""
    for first in range(start, start + 20_000, at_once):
        rows = [(b"%08d" % n, VALUE) for n in range(first, first + at_once)]
        try:
            store.begin().put_many(Table.PACKETS, rows)
        except kind:
            store.abort()
            return first - start
        try:
            store.commit()
        except kind:
            return first - start
        store.refresh()
    raise AssertionError("it never became full")


def assert_survives_being_full(store: Store, kind: type[StorageError] = StorageFull) -> None:
    """Fill it twice: earlier rows stay, removing works, and writing goes on afterwards."""
    written = fill(store, kind)
    assert written > 100
    for _ in range(2):
        store.refresh()
        keys = [key for key, _ in contents(store, Table.PACKETS)]
        assert keys == [b"%08d" % n for n in range(written)]
    for part in range(0, written, 10):
        store.begin().delete_many(Table.PACKETS, keys[part : part + 10])
        store.commit()
        store.refresh()
    assert contents(store, Table.PACKETS) == []
    assert fill(store, kind, start=50_000) > written // 2


def test_a_full_map_is_survived(tmp_path: Path) -> None:
    with closing(LmdbStore.open(tmp_path, map_size=4 << 20)) as store:
        assert_survives_being_full(store)
    LmdbStore.verify(tmp_path)


def test_a_transaction_with_a_failed_write_cannot_be_committed(tmp_path: Path) -> None:
    with closing(LmdbStore.open(tmp_path, map_size=1 << 20)) as store:
        commit(store, ROWS)
        writer = store.begin()
        with pytest.raises(StorageFull):
            writer.put(Table.PACKETS, b"k", bytes(1 << 20))
        with pytest.raises(StorageFailed):
            store.commit()
        commit(store, [(b"Z", b"")])
        assert contents(store) == [*ROWS, (b"Z", b"")]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(tmp_path)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs the right to mount a file system")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def test_a_full_disk_is_survived(small_disk: Path) -> None:
    with closing(LmdbStore.open(small_disk)) as store:
        assert_survives_being_full(store)
    LmdbStore.verify(small_disk)


def test_a_store_is_opened_on_a_disk_that_has_become_full(small_disk: Path) -> None:
    with closing(LmdbStore.open(small_disk)) as store:
        commit(store, ROWS)
    fill_disk(small_disk)
    (small_disk / "openmsmq.lock").unlink()
    with closing(LmdbStore.open(small_disk)) as store:
        assert contents(store) == ROWS
        assert not store.has_room()


def test_no_store_is_made_on_a_full_disk(small_disk: Path) -> None:
    (small_disk / "data").mkdir()
    fill_disk(small_disk)
    for _ in range(2):
        with pytest.raises(StorageFull):
            LmdbStore.open(small_disk / "data")
    (small_disk / "filler").unlink()
    LmdbStore.open(small_disk / "data").close()


def fill_disk(directory: Path) -> None:
    with (directory / "filler").open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(65536))


def test_a_file_that_may_not_grow_is_survived(tmp_path: Path) -> None:
    code = """
        import resource, signal, sys
        from tests.unit.store.test_lmdb import *
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))
        store = LmdbStore.open(sys.argv[1])
        assert_survives_being_full(store, StorageError)
        store.close()
    """
    children.run(code, tmp_path)
    LmdbStore.verify(tmp_path)


def test_room_ends_before_the_reserve_and_comes_back_by_removing(tmp_path: Path) -> None:
    size, reserve = 8 << 20, 2 << 20
    with closing(LmdbStore.open(tmp_path, map_size=size, reserve=reserve)) as store:
        written = 0
        while store.has_room():
            commit(store, [(b"%08d" % n, VALUE) for n in range(written, written + 10)])
            written += 10
            assert written < 10_000
        assert not store.has_room()
        assert reserve // 4096 // 2 <= fill(store, start=written), "the reserve is there"
        removed = 0
        while not store.has_room():
            keys = [b"%08d" % n for n in range(removed, removed + 10)]
            store.begin().delete_many(Table.INDEX, keys)
            store.commit()
            store.refresh()
            removed += 10
            assert removed <= written


def test_on_a_full_disk_the_unused_pages_of_the_file_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LmdbStore.open(tmp_path)
    try:
        for rows in (range(2000), range(0)):
            writer = store.begin()
            for number in range(2000):
                writer.delete(Table.META, b"x%d" % number)
            writer.put_many(Table.META, [(b"x%d" % number, bytes(500)) for number in rows])
            store.commit()
            store.refresh()
        monkeypatch.setattr(store, "_disk_space", lambda: 0)
        page_size, used = store.snapshot.pages()
        in_file = (tmp_path / "data.mdb").stat().st_size
        assert store._room() == in_file - used * page_size > 200 * page_size
    finally:
        store.close()


def test_room_is_asked_for_once_between_commits_unless_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    statvfs = os.statvfs

    def ask(path: Path) -> os.statvfs_result:
        asked.append(path)
        return statvfs(path)

    monkeypatch.setattr(os, "statvfs", ask)
    with closing(LmdbStore.open(tmp_path, reserve=0, map_size=1 << 20)) as store:
        assert [store.has_room() for _ in range(3)] == [True] * 3
        assert len(asked) == 1
        commit(store, ROWS)
        assert store.has_room()
        assert len(asked) == 2
    with closing(LmdbStore.open(tmp_path, reserve=1 << 60)) as store:
        assert [store.has_room() for _ in range(3)] == [False] * 3
        assert len(asked) == 5


def test_while_there_is_plenty_of_room_only_some_commits_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [100 << 30]
    monkeypatch.setattr(LmdbStore, "_disk_space", lambda _: left[0])
    with closing(LmdbStore.open(tmp_path)) as store:
        assert store.has_room()
        left[0] = 0
        for _ in range(COMMITS_UNASKED - 1):
            commit(store, ROWS)
            assert store.has_room()
        commit(store, ROWS)
        assert not store.has_room()


def test_a_disk_that_does_not_answer_is_an_error_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> os.statvfs_result:
        raise OSError(errno.EIO, "gone")

    monkeypatch.setattr(os, "statvfs", fail)
    with closing(LmdbStore.open(tmp_path)) as store, pytest.raises(StorageFailed, match="gone"):
        store.has_room()


class Failing:
    """An environment whose disk is gone."""

    def begin(self, *, write: bool = False) -> None:
        error = lmdb.PanicError("begin")
        vars(error)["code"] = -30795
        raise error

    def close(self) -> None:
        pass


def test_transactions_that_cannot_begin_are_an_error_of_the_store(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    commit(store, ROWS)
    whole, store._environment = store._environment, Failing()  # type: ignore[assignment]  # as if
    with pytest.raises(StorageFailed, match=str(tmp_path)):
        store.begin()
    with pytest.raises(StorageFailed, match=str(tmp_path)):
        store.refresh()
    assert contents(store) == ROWS, "the last snapshot still answers"
    store._environment = whole
    store.close()


def test_the_file_stays_as_it_is_when_messages_come_and_go(tmp_path: Path) -> None:
    with closing(LmdbStore.open(tmp_path)) as store:
        sizes = []
        for batch in range(60):
            writer = store.begin()
            writer.delete_many(
                Table.PACKETS, [b"%08d" % n for n in range(batch * 50 - 50, batch * 50)]
            )
            rows = [(b"%08d" % n, VALUE) for n in range(batch * 50, batch * 50 + 50)]
            writer.put_many(Table.PACKETS, rows, append=True)
            store.commit()
            store.refresh()
            sizes.append((tmp_path / "data.mdb").stat().st_size)
        assert sizes[-1] == sizes[30]
        assert len(list(store.snapshot.scan(Table.PACKETS, b"", END))) == 50


def test_ballast_that_was_given_up_is_taken_again_when_there_is_room(tmp_path: Path) -> None:
    with closing(LmdbStore.open(tmp_path, ballast=1 << 20)) as store:
        store._ballast.give_up()
        assert store.has_room()
        store.begin()
        store.commit()
        assert store._ballast.is_held


def test_a_disk_is_full_below_the_reserve_and_not_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve = 1 << 20
    with closing(LmdbStore.open(tmp_path, reserve=reserve, ballast=1 << 20)) as store:
        for left, is_full in ((reserve, False), (reserve - 1, True)):
            monkeypatch.setattr(store, "_disk_space", lambda left=left: left)
            assert store.make_room() is is_full
