"""Copies of a store show one moment, and a store whose file is written anew is always whole."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import lmdb
import pytest
from tests.unit.store import children
from tests.unit.store.contract import commit, contents

import openmsmq.store.copy as module
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import (
    StorageFailed,
    StorageFull,
    StoreDamaged,
    StoreForeign,
    StoreInUse,
    StoreMissing,
    StoreTooNew,
)
from openmsmq.store import files, pages
from openmsmq.store.copy import (
    CHECKING,
    COPYING,
    alone,
    compact,
    copy_file,
    read_along,
    staging,
)
from openmsmq.store.format import FORMAT, FORMAT_KEY
from openmsmq.store.lmdb import LmdbStore
from openmsmq.store.lock import DirectoryLock, keep_files

ROWS = [(b"%06d" % number, bytes(500)) for number in range(2000)]

WORK = """
    import sys
    from openmsmq.engine.storage.tables import Table
    from openmsmq.store.lmdb import LmdbStore
    store = LmdbStore.open(sys.argv[1])
    print("open", flush=True)
    for line in sys.stdin:
        writer = store.begin()
        if line == "remove\\n":
            writer.delete_many(Table.INDEX, [b"%06d" % number for number in range(2000)])
        else:
            writer.put(Table.INDEX, line.strip().encode(), b"")
        store.commit()
        store.refresh()
        assert store.has_room()
        print("done", flush=True)
    store.close()
"""


class Worker:
    """Another process that has a store open."""

    def __init__(self, directory: Path) -> None:
        self._child = children.start(WORK, directory)
        self._answer("open")

    def do(self, what: str) -> None:
        """Commit a row with this key, or the removal of all rows."""
        assert self._child.stdin is not None
        self._child.stdin.write(f"{what}\n")
        self._child.stdin.flush()
        self._answer("done")

    def _answer(self, expected: str) -> None:
        assert self._child.stdout is not None
        assert self._child.stdout.readline() == f"{expected}\n"

    def end(self) -> None:
        """Let it close the store."""
        _, err = self._child.communicate(timeout=60)
        assert self._child.returncode == 0, err


@contextmanager
def working(directory: Path) -> Iterator[Worker]:
    worker = Worker(directory)
    yield worker
    worker.end()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A store with rows, not open."""
    place = tmp_path / "data"
    with closing(LmdbStore.open(place)) as store:
        commit(store, ROWS)
    return place


def rows(directory: Path) -> list[tuple[bytes, bytes]]:
    with closing(LmdbStore.open(directory, create=False)) as store:
        return contents(store)


def test_a_copy_is_a_store_without_unused_pages(directory: Path, tmp_path: Path) -> None:
    with closing(LmdbStore.open(directory)) as store:
        store.begin().delete_many(Table.INDEX, [key for key, _ in ROWS[10:]])
        store.commit()
    before = (directory / "data.mdb").read_bytes()
    target = tmp_path / "copy"
    target.mkdir()
    with read_along(directory) as reader:
        copied = reader.copy(target / "data.mdb")
        assert reader.format == FORMAT
        assert reader.rows == 10 + 1
    content = (target / "data.mdb").read_bytes()
    assert (copied.size, copied.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert copied.size < len(before) // 10
    assert (target / "data.mdb").stat().st_mode & 0o777 == 0o600
    assert (directory / "data.mdb").read_bytes() == before
    LmdbStore.verify(target)
    assert rows(target) == ROWS[:10]


def test_progress_rises_to_the_size_that_was_foretold(directory: Path, tmp_path: Path) -> None:
    reported: list[tuple[str, int, int]] = []
    with read_along(directory) as reader:
        copied = reader.copy(tmp_path / "copy", lambda *step: reported.append(step))
    assert reported[0] == (COPYING, 0, copied.size)
    assert reported[-1] == (COPYING, copied.size, copied.size)
    assert reported == sorted(reported)
    assert {total for _, _, total in reported} == {copied.size}


def test_a_store_in_use_is_read_as_it_was_at_one_moment(directory: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    target.mkdir()
    with working(directory) as worker:
        worker.do("before")
        with read_along(directory) as reader:
            worker.do("after")
            worker.do("remove")
            for number in range(50):  # pages that are not needed any more would be used again
                worker.do(f"again {number}")
            reader.copy(target / "data.mdb")
        worker.do("later")
    LmdbStore.verify(target)
    assert rows(target) == [*ROWS, (b"before", b"")]
    left = [key for key, _ in rows(directory)]
    assert {b"after", b"before", b"later", b"again 49"} < set(left)
    assert len(left) == 53


def test_a_store_may_be_opened_while_it_is_read(directory: Path, tmp_path: Path) -> None:
    """One that comes later must not use the pages again that are read."""
    target = tmp_path / "copy"
    target.mkdir()
    with read_along(directory) as reader:
        with working(directory) as worker:
            worker.do("remove")
            for number in range(50):
                worker.do(f"again {number}")
        reader.copy(target / "data.mdb")
    LmdbStore.verify(directory)
    LmdbStore.verify(target)
    assert rows(target) == ROWS
    assert len(rows(directory)) == 50


def test_a_reader_that_was_killed_keeps_no_pages(directory: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from openmsmq.store.copy import read_along
        with read_along(Path(sys.argv[1])):
            print("reading", flush=True)
            sys.stdin.read()
    """
    with closing(LmdbStore.open(directory)) as store:
        with children.start(code, directory) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "reading\n"
            child.send_signal(signal.SIGKILL)
        assert str(child.pid) in store._environment.readers()
        assert store.has_room()
        assert str(child.pid) not in store._environment.readers()


def test_a_store_in_use_cannot_be_compacted(directory: Path) -> None:
    with closing(LmdbStore.open(directory)) as store:
        with pytest.raises(StoreInUse, match="this process itself"), read_along(directory):
            pass
        commit(store, [(b"more", b"")])
        # LMDB's own lock is still there: another process does not begin anew.
        code = """
            import sys
            from pathlib import Path
            from openmsmq.store.copy import read_along
            with read_along(Path(sys.argv[1])) as reader:
                print(reader._environment.readers())
        """
        assert str(os.getpid()) in " ".join(children.run(code, directory)).split()


def test_a_directory_without_a_store_has_nothing_to_copy(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="nowhere"), read_along(tmp_path / "nowhere"):
        pass
    with pytest.raises(StoreMissing, match="nowhere"):
        compact(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_store_is_not_read(directory: Path) -> None:
    data = directory / "data.mdb"
    os.truncate(data, data.stat().st_size // 2)
    for _ in range(2):
        with pytest.raises(StoreDamaged), read_along(directory):
            pass
        with pytest.raises(StoreDamaged):
            compact(directory)


def test_a_check_that_met_a_writer_does_not_count(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locks: list[DirectoryLock] = []

    def check(path: Path) -> None:
        locks.append(DirectoryLock(path.parent))
        raise StoreDamaged("it was being written")

    monkeypatch.setattr(pages, "check", check)
    with read_along(directory) as reader:
        assert reader.rows == len(ROWS) + 1
    locks[0].release()


@pytest.mark.parametrize(
    ("row", "expected"),
    [(b"OpenMSMQ 999", StoreTooNew), (b"Other 1", StoreForeign), (None, StoreForeign)],
)
def test_a_store_of_another_program_is_not_read(
    directory: Path, row: bytes | None, expected: type[Exception]
) -> None:
    with closing(LmdbStore.open(directory)) as store:
        writer = store.begin()
        if row is None:
            writer.delete(Table.META, FORMAT_KEY)
        else:
            writer.put(Table.META, FORMAT_KEY, row)
        store.commit()
    with pytest.raises(expected), read_along(directory):
        pass
    with pytest.raises(expected):
        compact(directory)


def test_errors_of_lmdb_are_ours(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise lmdb_error(errno.EIO)

    with pytest.raises(StorageFailed, match="wrong"), read_along(directory):
        fail()
    monkeypatch.setattr(files, "open_environment", fail)
    with pytest.raises(StorageFailed, match="wrong"), read_along(directory):
        pass


def lmdb_error(code: int) -> lmdb.Error:
    error = lmdb.Error("wrong")
    vars(error)["code"] = code
    return error


class Failing:
    """An environment that cannot be copied."""

    def stat(self) -> dict[str, int]:
        return {"branch_pages": 0, "leaf_pages": 0, "overflow_pages": 0}

    def copyfd(self, *_: object, **__: object) -> None:
        raise lmdb_error(errno.EIO)


def test_a_copy_that_fails_half_way_is_an_error(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    with read_along(directory) as reader:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", fail)
            with pytest.raises(StorageFull, match="full"):
                reader.copy(tmp_path / "one")
        with pytest.raises(StorageFailed, match="File exists"):
            reader.copy(tmp_path / "one")
        with pytest.raises(StorageFailed, match="No such file"):
            reader.copy(tmp_path / "missing" / "one")
        reader.copy(tmp_path / "two")
        monkeypatch.setattr(reader, "_environment", Failing())
        with pytest.raises(StorageFailed, match="wrong"):
            reader.copy(tmp_path / "three")
    with pytest.raises(StorageFailed, match="No such file"):
        copy_file(tmp_path / "none", tmp_path / "four")


def test_compaction_shrinks_the_file_and_keeps_every_row(directory: Path) -> None:
    with closing(LmdbStore.open(directory)) as store:
        store.begin().delete_many(Table.INDEX, [key for key, _ in ROWS[::2]])
        store.commit()
    size = (directory / "data.mdb").stat().st_size
    reported: list[tuple[str, int, int]] = []
    before, after = compact(directory, lambda *step: reported.append(step))
    assert before == size
    assert after == (directory / "data.mdb").stat().st_size < size * 3 / 4
    assert [what for what in dict.fromkeys(step[0] for step in reported)] == [COPYING, CHECKING]
    assert reported[-1] == (CHECKING, after, after)
    assert rows(directory) == ROWS[1::2]
    assert sorted(path.name for path in directory.iterdir()) == [
        "data.mdb",
        "lock.mdb",
        "openmsmq.lock",
    ]


def test_compaction_does_not_wait_for_other_processes(directory: Path) -> None:
    with closing(LmdbStore.open(directory)), pytest.raises(StoreInUse, match="process"):
        compact(directory)
    with keep_files(directory), pytest.raises(StoreInUse, match="a backup"):
        compact(directory)
    with alone(directory), pytest.raises(StoreInUse, match="replaces"), read_along(directory):
        pass
    compact(directory)


def test_a_copy_that_turns_out_damaged_replaces_nothing(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (directory / "data.mdb").read_bytes()
    check_pages = module.check_pages

    def damage(folder: Path, progress: module.Progress) -> None:
        data = folder / "data.mdb"
        os.truncate(data, data.stat().st_size // 2)
        check_pages(folder, progress)

    monkeypatch.setattr(module, "check_pages", damage)
    with pytest.raises(StoreDamaged):
        compact(directory)
    assert (directory / "data.mdb").read_bytes() == before
    assert not (directory / "openmsmq.staging").exists()


def test_what_a_crash_left_is_removed_and_what_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    left = tmp_path / "openmsmq.staging"
    left.mkdir()
    (left / "data.mdb").write_bytes(b"half")
    with staging(tmp_path) as folder:
        assert folder == left
        assert list(folder.iterdir()) == []
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []
    left.write_bytes(b"a file")
    with pytest.raises(StorageFailed, match="File exists"), staging(tmp_path):
        pass


def test_a_move_that_fails_is_an_error(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="No such file"):
        module.put_in_place(tmp_path / "nowhere", directory)


DIE = """
    import os, shutil, sys
    from pathlib import Path
    from openmsmq.store.copy import compact
    from openmsmq.store.lmdb import LmdbStore
    from tests.unit.store.contract import contents

    EVENTS = {"open", "os.mkdir", "os.rename", "os.rmdir", "os.remove", "os.truncate"}

    def live(directory, last):
        # Die at the event with number `last`; whether it came to that.
        seen = 0
        def watch(event, arguments):
            nonlocal seen
            if event in EVENTS:
                seen += 1
                if seen == last:
                    os._exit(1)
        child = os.fork()
        if not child:
            sys.addaudithook(watch)
            compact(directory)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    whole, place = map(Path, sys.argv[1:])
    last = status = 1
    while status:
        shutil.copytree(whole, place)
        status = live(place, last)
        assert status in (0, 1), status
        LmdbStore.verify(place)
        store = LmdbStore.open(place)
        assert len(contents(store)) == 1000
        store.close()
        compact(place)
        assert not (place / "openmsmq.staging").exists()
        shutil.rmtree(place)
        last += 1
    print(last)
"""


def test_a_crash_at_any_step_of_a_compaction_leaves_a_whole_store(
    directory: Path, tmp_path: Path
) -> None:
    with closing(LmdbStore.open(directory)) as store:
        store.begin().delete_many(Table.INDEX, [key for key, _ in ROWS[::2]])
        store.commit()
    steps = int(children.run(DIE, directory, tmp_path / "place")[0])
    assert steps > 10
    shutil.rmtree(directory)


def test_a_file_is_copied_with_its_digest(tmp_path: Path) -> None:
    content = bytes(range(256)) * 9000
    (tmp_path / "one").write_bytes(content)
    copied = copy_file(tmp_path / "one", tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == content
    assert (copied.size, copied.sha256) == (len(content), hashlib.sha256(content).hexdigest())
