"""Forked children leave what their parent has open alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openmsmq.engine.storage.tables import Table
from openmsmq.store.fork import never_free, watch
from openmsmq.store.lmdb import LmdbStore
from openmsmq.store.lock import is_held


def in_child(work: Callable[[], object]) -> int:
    """The exit code of a forked child that does something and ends as Python ends."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def put(store: LmdbStore, key: bytes) -> None:
    store.begin().put(Table.META, key, b"value")
    store.commit()
    store.refresh()


@pytest.mark.parametrize("is_writing", [False, True])
def test_a_child_frees_and_closes_nothing_of_its_parent(tmp_path: Path, is_writing: bool) -> None:
    store = LmdbStore.open(tmp_path)
    put(store, b"before")
    if is_writing:
        store.begin().put(Table.META, b"meanwhile", b"value")

    def work() -> None:
        store.close()
        assert is_held(tmp_path), "the lock is the parent's"
        store.__dict__.clear()  # what no one refers to any more would be freed

    assert in_child(work) == 0
    if is_writing:
        store.commit()
        store.refresh()
        assert store.snapshot.get(Table.META, b"meanwhile") == b"value"
    put(store, b"after")
    assert store.snapshot.get(Table.META, b"after") == b"value"
    store.close()
    LmdbStore.open(tmp_path).close()


def test_a_forked_child_does_not_keep_the_lock_of_its_parent(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    os.close(reader)
    store.close()
    LmdbStore.open(tmp_path).close()
    os.close(writer)
    os.waitpid(child, 0)


def test_a_child_may_open_another_store(tmp_path: Path) -> None:
    store = LmdbStore.open(tmp_path / "parent")

    def work() -> None:
        other = LmdbStore.open(tmp_path / "child")
        put(other, b"key")
        other.close()

    assert in_child(work) == 0
    put(store, b"key")
    store.close()


class Thing:
    """Something that is left in a child."""

    left = 0

    def leave(self) -> None:
        self.left += 1


def test_only_watched_objects_that_exist_are_notified() -> None:
    kept, gone = Thing(), Thing()
    watch(kept)
    watch(gone)
    del gone
    assert in_child(lambda: os._exit(7 if kept.left == 1 else 1)) == 7
    assert kept.left == 0


def test_what_is_never_freed_outlives_its_names() -> None:
    freed = []

    class Loud:
        def __del__(self) -> None:
            freed.append(1)

    thing = Loud()
    never_free(thing)
    del thing
    assert not freed
