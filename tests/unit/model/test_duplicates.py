"""Messages that have come lately."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from openmsmq.model import duplicates
from openmsmq.model.duplicates import AGE_MAX, KEY_SIZE, SEEN, Duplicates
from openmsmq.model.storage import Table
from openmsmq.store.memory import MemoryStore

NOW = 1000


def key(text: str) -> bytes:
    return text.encode().ljust(KEY_SIZE, b".")


class Shelf:
    """A history on a store."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.history = Duplicates(self.store.snapshot)

    def add(self, *texts: str, now: int = NOW) -> None:
        """Messages that must not be lost have come."""
        self.add_together([texts], now)

    def add_together(self, groups: Sequence[Sequence[str]], now: int = NOW) -> None:
        """Messages of several sessions have come with one commit."""
        writer = self.store.begin()
        keys = [[key(text) for text in texts] for texts in groups]
        rows = [self.history.write(writer, group, now) for group in keys]
        self.store.commit()
        self.store.refresh()
        for row, group in zip(rows, keys, strict=True):
            self.history.committed(row, group, now)

    def note(self, *texts: str, now: int = NOW) -> None:
        """Express messages have come."""
        for text in texts:
            self.history.note([key(text)], now)

    def known(self, texts: str) -> str:
        """Those of some that are remembered; each has one letter."""
        return "".join(text for text in texts if key(text) in self.history)

    @property
    def rows(self) -> int:
        return len(self.store.committed.tables[Table.TRANSFER])

    def restart(self) -> Shelf:
        return Shelf(MemoryStore(self.store.committed))


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """One that remembers four."""
    monkeypatch.setattr(duplicates, "COUNT_MAX", 4)
    monkeypatch.setattr(duplicates, "GROUP_MAX", 2)
    return Shelf()


def test_what_came_is_remembered(shelf: Shelf) -> None:
    """MQQB-228."""
    assert shelf.known("abc") == ""
    shelf.add("a", "b")
    shelf.note("c")
    assert shelf.known("abcd") == "abc"
    assert len(shelf.history) == 3


def test_what_must_not_be_lost_is_remembered_through_a_restart(shelf: Shelf) -> None:
    """MQQB-229."""
    shelf.add("a", "b")
    shelf.note("x")
    shelf.add("c")
    again = shelf.restart()
    assert again.known("abcx") == "abc"
    again.add("d")
    assert again.rows == 3
    assert again.restart().known("abcd") == "abcd"


def test_what_is_written_counts_when_it_is_on_disk(shelf: Shelf) -> None:
    writer = shelf.store.begin()
    shelf.history.write(writer, [key("a")], NOW)
    assert shelf.known("a") == ""
    shelf.store.abort()
    assert shelf.restart().known("a") == ""


def test_after_a_time_it_is_forgotten(shelf: Shelf) -> None:
    """MQQB-343: when another comes; the period is half an hour."""
    assert AGE_MAX == 30 * 60
    shelf.add("a")
    shelf.note("b")
    shelf.note("c", now=NOW + AGE_MAX)
    assert shelf.known("abc") == "abc"
    shelf.note("d", now=NOW + AGE_MAX + 1)
    assert shelf.known("abcd") == "cd"
    assert shelf.rows == 1
    shelf.add("e", now=NOW + AGE_MAX + 1)
    assert shelf.rows == 1


def test_what_comes_again_is_remembered_from_then_on(shelf: Shelf) -> None:
    """MQQB-226: its time is refreshed."""
    shelf.add("a", "b")
    shelf.note("a", now=NOW + 100)
    shelf.note("c", now=NOW + AGE_MAX + 1)
    assert shelf.known("ab") == "a"


def test_of_too_many_the_oldest_go(small: Shelf) -> None:
    """MQQB-228, MQQB-229: nobody can fill the memory."""
    small.note("a", "b", "c", "d")
    assert small.known("abcd") == "abcd"
    small.note("e")
    assert small.known("abcde") == "cde"
    small.add("f", "g")
    assert small.known("cdefg") == "efg"


def test_one_that_comes_again_and_again_is_remembered_once_a_second(small: Shelf) -> None:
    small.note("a", "b", "b", "b", "b", "b", "b")
    assert small.known("ab") == "ab"
    small.note("b", now=NOW + 1)
    assert small.known("ab") == "ab"
    assert len(small.history) == 2


def test_rows_of_what_is_forgotten_go_with_the_next_commit(small: Shelf) -> None:
    small.add("a", "b")
    small.add("c", "d")
    small.add("e")
    assert small.rows == 3
    assert small.known("abcde") == "cde"
    small.add("f")
    assert small.rows == 3
    assert small.restart().known("abcdef") == "cdef"


def test_no_row_is_left_behind_when_sessions_share_a_commit(small: Shelf) -> None:
    for name in "abcdefgh":
        small.add_together([[name + "1", name + "2"], [name + "3"]])
    small.add("z")
    small.add("z")
    left = small.store.committed.tables[Table.TRANSFER]
    assert sum((len(row) - 4) // KEY_SIZE for row in left.values()) <= 5
    assert all(found.startswith(SEEN) for found in left)


def test_rows_that_a_failed_commit_did_not_delete_go_with_the_next(small: Shelf) -> None:
    small.add("a", "b", "c", "d")
    small.add("e")
    writer = small.store.begin()
    small.history.write(writer, [key("f")], NOW)
    small.store.abort()
    assert small.rows == 2
    small.add("f")
    assert small.rows == 2
    assert small.restart().known("abcdef") == "ef"


def test_several_at_once_are_as_one_after_the_other(shelf: Shelf) -> None:
    shelf.history.note([key("a"), key("b")], NOW)
    shelf.history.note([key("b"), key("c")], NOW)
    shelf.history.note([], NOW + 1)
    assert shelf.known("abcd") == "abc"
    assert len(shelf.history) == 3
