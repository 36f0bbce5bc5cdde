"""Messages that have come lately."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from openmsmq.engine.arrivals import duplicates
from openmsmq.engine.arrivals.duplicates import (
    KEY_SIZE,
    SEEN,
    Duplicates,
    Owner,
    read_seen,
    seen_row,
)
from openmsmq.engine.arrivals.limits import DUPLICATE_AGE_MAX
from openmsmq.engine.storage.tables import Table
from openmsmq.store.memory import MemoryStore

NOW = 1000
PEER = Owner("aa", is_known=True)
"A peer of the table."


def key(text: str) -> bytes:
    return text.encode().ljust(KEY_SIZE, b".")


class Shelf:
    """A history on a store."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.history = Duplicates(self.store.snapshot)

    def add(self, *texts: str, now: int = NOW, owner: Owner = PEER) -> None:
        """Messages that must not be lost have come."""
        self.add_together([texts], now, owner)

    def add_together(
        self, groups: Sequence[Sequence[str]], now: int = NOW, owner: Owner = PEER
    ) -> None:
        """Messages of several sessions have come with one commit."""
        writer = self.store.begin()
        keys = [[key(text) for text in texts] for texts in groups]
        rows = [self.history.write(writer, owner, group, now) for group in keys]
        self.store.commit()
        self.store.refresh()
        for row, group in zip(rows, keys, strict=True):
            self.history.committed(row, owner, group, now)

    def note(self, *texts: str, now: int = NOW, owner: Owner = PEER) -> None:
        """Express messages have come."""
        for text in texts:
            self.history.note(owner, [key(text)], now)

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
    monkeypatch.setattr(duplicates, "KNOWN_DUPLICATES_MAX", 4)
    monkeypatch.setattr(duplicates, "DUPLICATE_GROUP_MAX", 2)
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
    shelf.history.write(writer, PEER, [key("a")], NOW)
    assert shelf.known("a") == ""
    shelf.store.abort()
    assert shelf.restart().known("a") == ""


def test_after_a_time_it_is_forgotten(shelf: Shelf) -> None:
    """MQQB-343, MQQB-355: when another comes; the period is half an hour."""
    assert DUPLICATE_AGE_MAX == 30 * 60
    shelf.add("a")
    shelf.note("b")
    shelf.note("c", now=NOW + DUPLICATE_AGE_MAX)
    assert shelf.known("abc") == "abc"
    shelf.note("d", now=NOW + DUPLICATE_AGE_MAX + 1)
    assert shelf.known("abcd") == "cd"
    assert shelf.rows == 1
    shelf.add("e", now=NOW + DUPLICATE_AGE_MAX + 1)
    assert shelf.rows == 1


def test_a_clock_that_was_set_while_no_manager_ran_makes_it_forget_nothing(shelf: Shelf) -> None:
    """Ages of what was remembered before count from the first message after a restart."""
    shelf.add("a")
    shelf.add("b", now=NOW + 7200)
    later = NOW + 3600
    again = shelf.restart()
    again.note("c", now=later)
    again.note("d", now=later + DUPLICATE_AGE_MAX)
    assert again.known("abcd") == "abcd"
    again.note("e", now=later + DUPLICATE_AGE_MAX + 1)
    assert again.known("abcde") == "de"


def test_what_comes_again_is_remembered_from_then_on(shelf: Shelf) -> None:
    """MQQB-226: its time is refreshed."""
    shelf.add("a", "b")
    shelf.note("a", now=NOW + 100)
    shelf.note("c", now=NOW + DUPLICATE_AGE_MAX + 1)
    assert shelf.known("ab") == "a"


def test_of_too_many_the_oldest_go(small: Shelf) -> None:
    """MQQB-228, MQQB-229: no one can fill the memory."""
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


def test_after_a_restart_no_more_is_remembered_than_before(small: Shelf) -> None:
    """Rows of what is forgotten may still be on disk; they go with the next commit, too."""
    small.add("a", "b")
    small.add("c", "d")
    small.add("e")
    again = small.restart()
    assert again.known("abcde") == "cde"
    again.add("f")
    assert again.rows == 3


def test_no_row_is_left_behind_when_sessions_share_a_commit(small: Shelf) -> None:
    for name in "abcdefgh":
        small.add_together([[name + "1", name + "2"], [name + "3"]])
    small.add("z")
    small.add("z")
    left = small.store.committed.tables[Table.TRANSFER]
    assert sum(len(read_seen(found, row).keys) for found, row in left.items()) <= 5
    assert all(found.startswith(SEEN) for found in left)


def test_rows_that_a_failed_commit_did_not_delete_go_with_the_next(small: Shelf) -> None:
    small.add("a", "b", "c", "d")
    small.add("e")
    writer = small.store.begin()
    small.history.write(writer, PEER, [key("f")], NOW)
    small.store.abort()
    assert small.rows == 2
    small.add("f")
    assert small.rows == 2
    assert small.restart().known("abcdef") == "ef"


def test_several_at_once_are_as_one_after_the_other(shelf: Shelf) -> None:
    shelf.history.note(PEER, [key("a"), key("b")], NOW)
    shelf.history.note(PEER, [key("b"), key("c")], NOW)
    shelf.history.note(PEER, [], NOW + 1)
    assert shelf.known("abcd") == "abc"
    assert len(shelf.history) == 3


# Strangers


FLOOD = Owner("198.51.100.1", is_known=False)
OTHER = Owner("198.51.100.2", is_known=False)


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """One that remembers four of known peers and four of all others."""
    monkeypatch.setattr(duplicates, "KNOWN_DUPLICATES_MAX", 4)
    monkeypatch.setattr(duplicates, "STRANGER_DUPLICATES_MAX", 4)
    monkeypatch.setattr(duplicates, "DUPLICATE_GROUP_MAX", 1)
    return Shelf()


def test_a_flood_of_strangers_displaces_nothing_of_known_peers(strict: Shelf) -> None:
    strict.add("a", "b")
    strict.note("c")
    for text in "0123456789":
        strict.note(text, owner=FLOOD)
        strict.add(text.upper() + "x", owner=FLOOD)
    assert strict.known("abc") == "abc"
    assert len(strict.history) == 3 + 4
    assert strict.restart().known("ab") == "ab"


def test_the_stranger_with_the_most_loses_its_oldest_first(strict: Shelf) -> None:
    strict.add("o", owner=OTHER)
    for text in "123456":
        strict.note(text, owner=FLOOD)
    assert strict.known("o123456") == "o456"


def test_among_known_peers_the_one_with_the_most_loses_its_oldest_first(strict: Shelf) -> None:
    strict.add("o", owner=Owner("bb", is_known=True))
    for text in "123456":
        strict.add(text)
    assert strict.known("o123456") == "o456"


def test_the_owner_of_what_came_is_known_after_a_restart(strict: Shelf) -> None:
    strict.add("a", owner=PEER)
    strict.add("b", owner=FLOOD)
    rows = strict.store.committed.tables[Table.TRANSFER]
    assert [read_seen(found, row).owner for found, row in sorted(rows.items())] == [PEER, FLOOD]
    again = strict.restart()
    for text in "1234":
        again.note(text, owner=FLOOD)
    assert again.known("ab1234") == "a1234"


def test_rows_of_strangers_that_are_forgotten_go_from_the_disk(strict: Shelf) -> None:
    for text in "123456789":
        strict.add(text, owner=FLOOD)
    assert strict.rows <= 5


def test_what_is_forgotten_early_is_forgotten_once(
    strict: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue by age holds no more than twice as many groups as are remembered."""
    monkeypatch.setattr(duplicates, "DROPPED_GROUPS_MAX", 10)
    strict.add("a")
    for at in range(100):
        strict.note(f"x{at}", owner=FLOOD)
        assert len(strict.history._by_age) <= 2 * 11 + 5
    strict.note("z", now=NOW + DUPLICATE_AGE_MAX + 1)
    assert strict.known("az") == "z"
    assert len(strict.history) == 1


def test_a_row_of_another_size_was_never_written() -> None:
    row = seen_row(NOW, PEER, [key("a")])
    assert read_seen(SEEN + bytes(8), row).keys == [key("a")]
    with pytest.raises(ValueError, match="bytes"):
        read_seen(SEEN + bytes(8), row[:-1])
