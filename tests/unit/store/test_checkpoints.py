"""When LMDB's file is synced, and what is in the log until then."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.store.contract import ROWS, commit, contents

from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StorageFailed
from openmsmq.store import checkpoints
from openmsmq.store.commit_log import LOG_FILE, read_log, sync
from openmsmq.store.limits import LOGGED_MAX
from openmsmq.store.lmdb import LmdbStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LmdbStore]:
    opened = LmdbStore.open(tmp_path)
    yield opened
    opened.close()


class Syncs:
    """Who has synced LMDB's file, and who may go on with that."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.error: OSError | None = None

    def __call__(self, file: int) -> None:
        name = threading.current_thread().name
        if name == "openmsmq-checkpoint":
            assert self.gate.wait(30)
        self.threads.append(name)
        if self.error is not None:
            raise self.error
        sync(file)

    @property
    def beside(self) -> int:
        """How often that was beside commits."""
        return self.threads.count("openmsmq-checkpoint")


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> Syncs:
    made = Syncs()
    monkeypatch.setattr(checkpoints, "sync", made)
    monkeypatch.setattr(checkpoints, "LOGGED_COMMITS_MAX", 5)
    return made


def logged(directory: Path) -> int:
    """How many commits a start would take from the log."""
    return len(read_log(directory / LOG_FILE)[1])


def put(store: LmdbStore, count: int, size: int = 10) -> None:
    """So many small commits."""
    for number in range(count):
        commit(store, [(b"%d" % number, bytes(size))])


def test_small_commits_are_in_the_log_only(store: LmdbStore, syncs: Syncs, tmp_path: Path) -> None:
    put(store, 4)
    assert (logged(tmp_path), syncs.threads) == (4, [])


def test_commits_that_change_nothing_are_not(store: LmdbStore, tmp_path: Path) -> None:
    store.begin()
    store.commit()
    assert logged(tmp_path) == 0


def test_a_large_commit_syncs_the_file_and_ends_the_log(
    store: LmdbStore, syncs: Syncs, tmp_path: Path
) -> None:
    put(store, 3)
    commit(store, [(b"large", bytes(LOGGED_MAX))])
    assert (logged(tmp_path), len(syncs.threads), syncs.beside) == (0, 1, 0)
    put(store, 1)
    assert logged(tmp_path) == 1


def test_many_small_commits_have_it_synced_beside_others(
    store: LmdbStore, syncs: Syncs, tmp_path: Path
) -> None:
    syncs.gate.clear()
    put(store, 8)
    assert (logged(tmp_path), syncs.beside) == (8, 0)
    syncs.gate.set()
    wait_for_thread()
    put(store, 1)
    assert syncs.beside == 1
    assert logged(tmp_path) == 4, "those since it was begun"


def wait_for_thread() -> None:
    for thread in threading.enumerate():
        if thread.name == "openmsmq-checkpoint":
            thread.join(30)


def test_a_log_that_is_full_waits_for_the_disk(
    store: LmdbStore, syncs: Syncs, tmp_path: Path
) -> None:
    syncs.gate.clear()
    timer = threading.Timer(0.05, syncs.gate.set)
    timer.start()
    size = LOGGED_MAX // 2
    put(store, 4 * 2**20 // size, size)
    timer.join()
    wait_for_thread()
    assert syncs.beside > 1
    assert (tmp_path / LOG_FILE).stat().st_size < 5 * 2**20


def test_a_large_commit_ends_what_is_under_way(
    store: LmdbStore, syncs: Syncs, tmp_path: Path
) -> None:
    syncs.gate.clear()
    put(store, 7)
    syncs.gate.set()
    commit(store, [(b"large", bytes(LOGGED_MAX))])
    assert (logged(tmp_path), syncs.beside, len(syncs.threads)) == (0, 1, 2)


def test_pages_are_used_again_after_a_checkpoint(tmp_path: Path) -> None:
    with closing(LmdbStore.open(tmp_path)) as store:
        sizes = []
        for _ in range(30):
            put(store, 50, 100)
            sizes.append((tmp_path / "data.mdb").stat().st_size)
        assert sizes[-1] <= 2 * sizes[len(sizes) // 2]


def test_with_little_room_nothing_is_logged(
    store: LmdbStore, syncs: Syncs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(LmdbStore, "_disk_space", lambda _: 0)
        store.has_room()
        put(store, 3)
        assert (logged(tmp_path), len(syncs.threads)) == (0, 3)
    store.has_room()
    put(store, 3)
    assert logged(tmp_path) == 3


def test_a_sync_that_fails_beside_commits_ends_the_store(tmp_path: Path, syncs: Syncs) -> None:
    store = LmdbStore.open(tmp_path)
    syncs.error = OSError(errno.EIO, "gone")
    put(store, 5)
    wait_for_thread()
    for _ in range(2):
        with pytest.raises(StorageFailed):
            put(store, 1)
    store.close()
    assert (tmp_path / LOG_FILE).exists()
    syncs.error = None
    with closing(LmdbStore.open(tmp_path)) as again:
        assert len(contents(again)) >= 5


def test_what_the_last_sync_does_not_take_is_left_to_the_next_start(
    tmp_path: Path, syncs: Syncs
) -> None:
    store = LmdbStore.open(tmp_path)
    put(store, 3)
    syncs.error = OSError(errno.EIO, "gone")
    store.close()
    assert logged(tmp_path) == 3
    syncs.error = None
    with closing(LmdbStore.open(tmp_path)) as again:
        assert len(contents(again)) == 3


def test_a_store_that_was_closed_has_no_log(tmp_path: Path, syncs: Syncs) -> None:
    for count in (0, 3, 7):
        with closing(LmdbStore.open(tmp_path)) as store:
            put(store, count)
        assert not (tmp_path / LOG_FILE).exists()
        (tmp_path / "data.mdb").touch()
        with closing(LmdbStore.open(tmp_path)) as store:
            assert len(contents(store)) == count


def test_without_room_for_a_log_lmdb_waits_for_the_disk_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LmdbStore.open(tmp_path).close()

    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", fail)
        store = LmdbStore.open(tmp_path)
    assert store._environment.flags()["sync"]
    commit(store, ROWS)
    assert contents(store) == ROWS
    assert not (tmp_path / LOG_FILE).exists()
    store.close()


def test_a_disk_that_fails_at_the_start_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    LmdbStore.open(tmp_path).close()

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "gone")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", fail)
        with pytest.raises(StorageFailed, match="gone"):
            LmdbStore.open(tmp_path)
    with closing(LmdbStore.open(tmp_path)) as store:
        commit(store, ROWS, Table.AUDIT)
