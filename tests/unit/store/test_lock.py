"""One process at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from pathlib import Path

import pytest
from tests.unit.store import children

from openmsmq.errors import StorageFailed, StoreInUse
from openmsmq.store.lock import LOCK_FILE, DirectoryLock, is_held, keep_files

HOLD = """
    import sys, time
    from pathlib import Path
    from openmsmq.store.lock import DirectoryLock
    lock = DirectoryLock(Path(sys.argv[1]))
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_lock_in_one_process_is_refused_with_its_owner(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    with pytest.raises(StoreInUse) as caught:
        DirectoryLock(tmp_path)
    assert f"{tmp_path} by process {os.getpid()} on {socket.gethostname()}" in str(caught.value)
    lock.release()


def test_after_release_the_next_gets_in(tmp_path: Path) -> None:
    for _ in range(2):
        DirectoryLock(tmp_path).release()
    assert (tmp_path / LOCK_FILE).read_bytes() == b""


def test_another_process_is_named_and_its_death_frees_the_directory(tmp_path: Path) -> None:
    with children.start(HOLD, tmp_path) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(StoreInUse, match=f"process {child.pid} on "):
            DirectoryLock(tmp_path)
        child.kill()
    assert str(child.pid) in (tmp_path / LOCK_FILE).read_text(), "the file itself stayed behind"
    DirectoryLock(tmp_path).release()


def test_a_holder_that_has_not_written_its_name_yet_is_another_process(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    (tmp_path / LOCK_FILE).write_bytes(b"")
    with pytest.raises(StoreInUse, match="by another process"):
        DirectoryLock(tmp_path)
    lock.release()


def test_the_lock_counts_even_if_its_file_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "pwrite", fail)
    lock = DirectoryLock(tmp_path)
    with pytest.raises(StoreInUse):
        DirectoryLock(tmp_path)
    lock.release()


def test_a_directory_that_cannot_be_locked_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StorageFailed, match="No such file"):
        DirectoryLock(tmp_path / "missing")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(fcntl, "flock", fail)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with pytest.raises(StorageFailed, match="no locks here"):
        DirectoryLock(tmp_path)
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


def test_a_store_in_use_is_recognised(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    assert list(tmp_path.iterdir()) == []
    lock = DirectoryLock(tmp_path)
    assert is_held(tmp_path)
    assert is_held(tmp_path)
    lock.release()
    assert not is_held(tmp_path)
    DirectoryLock(tmp_path).release()


def test_asking_in_a_place_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageFailed, match="Not a directory"):
        is_held(tmp_path / "file")
    with pytest.raises(StorageFailed, match="missing"), keep_files(tmp_path / "missing"):
        pass


def test_many_may_copy_files_and_one_may_replace_them(tmp_path: Path) -> None:
    with keep_files(tmp_path), keep_files(tmp_path):
        with pytest.raises(StoreInUse, match="a backup"), keep_files(tmp_path, alone=True):
            pass
        DirectoryLock(tmp_path).release()
    with keep_files(tmp_path, alone=True):
        for kind in (True, False):
            with pytest.raises(StoreInUse), keep_files(tmp_path, alone=kind):
                pass
        DirectoryLock(tmp_path).release()
    with keep_files(tmp_path):
        pass


def test_files_that_cannot_be_kept_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(StorageFailed, match="no locks here"), keep_files(tmp_path):
        pass
