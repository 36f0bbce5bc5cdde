"""Damaged and foreign files are refused, and never end the process."""

from __future__ import annotations

import json
import random
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import lmdb
import pytest
from tests.unit.store import children
from tests.unit.store.contract import END, ROWS, commit, contents

from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StorageError, StorageFailed, StoreDamaged, StoreForeign, StoreTooNew
from openmsmq.store.lmdb import LmdbStore
from openmsmq.store.pages import DATA_FILE, check

PAGE = 4096
Damage = tuple[str, int, int]


def build(directory: Path) -> bytes:
    """The file of a store with some rows, of which some were removed."""
    chance = random.Random(1)
    with closing(LmdbStore.open(directory)) as store:
        for batch in range(4):
            writer = store.begin()
            keys = [b"%04d" % n for n in range(batch * 60, batch * 60 + 60)]
            rows = [(key, chance.randbytes(chance.choice([40, 1200, 4000]))) for key in keys]
            writer.put_many(Table.PACKETS, rows, append=True)
            writer.put_many(Table.INDEX, [(key[::-1], key) for key in keys])
            writer.delete_many(Table.PACKETS, keys[::3])
            store.commit()
            store.refresh()
    return (directory / DATA_FILE).read_bytes()


def damages(kind: str, size: int) -> list[Damage]:
    """Where to cut the file, or which bit of which byte to turn over."""
    chance = random.Random(2)
    if kind == "cut":
        return [("cut", at, 0) for at in [*range(1, 400, 13), *range(400, size, 3001)]]
    if kind == "meta":
        places = [*range(152), *range(PAGE, PAGE + 152)]
        return [("flip", at, chance.randrange(8)) for at in places]
    starts = [chance.randrange(2, size // PAGE) * PAGE for _ in range(200)]
    return [("flip", at + chance.randrange(100), chance.randrange(8)) for at in starts]


def apply(damage: Damage, data: bytes) -> bytes:
    """The file with that damage."""
    kind, at, bit = damage
    if kind == "cut":
        return data[:at]
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def use(directory: Path, walk_max: int) -> str:
    """Open, read all, write, remove all; the class of the error that ended it."""
    before = (directory / DATA_FILE).read_bytes()
    try:
        store = LmdbStore.open(directory, walk_max=walk_max)
    except StorageError as error:
        assert (directory / DATA_FILE).read_bytes() == before, "a refused file is not touched"
        return type(error).__name__
    try:
        for table in Table:
            for scan in (store.snapshot.scan, store.snapshot.scan_back):
                assert len(list(scan(table, b"", END))) < 1000
        writer = store.begin()
        writer.put_many(Table.PACKETS, [(b"9%03d" % n, bytes(1000)) for n in range(100)])
        writer.delete_many(Table.PACKETS, [b"%04d" % n for n in range(240)])
        store.commit()
    except StorageError as error:
        return f"{type(error).__name__} in use"
    finally:
        store.close()
    return "works"


def use_all(kind: str, directory: Path, walk_max: int) -> Counter[str]:
    """Try all damages of a kind, naming each before it could kill."""
    data = build(directory / "whole")
    found: Counter[str] = Counter()
    place = directory / "damaged"
    place.mkdir()
    for damage in damages(kind, len(data)):
        print(damage, flush=True)  # noqa: T201
        (place / DATA_FILE).write_bytes(apply(damage, data))
        found[use(place, walk_max)] += 1
    return found


@pytest.mark.parametrize(
    ("kind", "walk_max", "outcomes"),
    [
        ("cut", 0, {"StoreDamaged", "StoreForeign"}),
        ("meta", 0, {"StoreDamaged", "works"}),
        ("data", sys.maxsize, {"StoreDamaged", "works"}),
    ],
    ids=["cut", "meta pages", "any page with the walk"],
)
def test_no_damage_ends_the_process(
    tmp_path: Path, kind: str, walk_max: int, outcomes: set[str]
) -> None:
    """Some bytes of a file do not matter; damage that does is refused before LMDB sees it."""
    code = """
        import json, sys
        from pathlib import Path
        from tests.unit.store.test_pages import use_all
        print(json.dumps(use_all(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
    """
    found: dict[str, int] = json.loads(children.run(code, kind, tmp_path, walk_max)[-1])
    assert found["StoreDamaged"] >= 20
    if walk_max:
        assert found.keys() == outcomes
    else:
        assert found.keys() >= outcomes


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", StoreDamaged),
        (b"Dear diary,\n", StoreForeign),
        (b"Dear diary,\n" * 10_000, StoreForeign),
        (bytes(10), StoreForeign),
        (bytes(100_000), StoreForeign),
    ],
    ids=["empty", "short text", "long text", "few zeros", "many zeros"],
)
def test_a_file_that_is_none_of_ours_is_left_alone(
    tmp_path: Path, content: bytes, kind: type[StorageError]
) -> None:
    """An empty file is refused too: a store is never put in its place before it is complete."""
    (tmp_path / DATA_FILE).write_bytes(content)
    with pytest.raises(kind, match=DATA_FILE):
        LmdbStore.open(tmp_path)
    with pytest.raises(kind, match=DATA_FILE):
        LmdbStore.verify(tmp_path)
    assert (tmp_path / DATA_FILE).read_bytes() == content


def test_a_database_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / DATA_FILE)) as database:
        database.execute("create table messages (body blob)")
        database.commit()
    before = (tmp_path / DATA_FILE).read_bytes()
    with pytest.raises(StoreForeign, match="no LMDB file"):
        LmdbStore.open(tmp_path)
    assert (tmp_path / DATA_FILE).read_bytes() == before


def test_a_file_of_a_later_lmdb_is_too_new(tmp_path: Path) -> None:
    lmdb.Environment(str(tmp_path), lib_version=1).close()
    with pytest.raises(StoreTooNew, match="later LMDB"):
        check(tmp_path / DATA_FILE)


def test_a_later_version_of_the_same_layout_is_too_new(tmp_path: Path) -> None:
    data = bytearray(build(tmp_path))
    for page in (0, PAGE):
        data[page + 20 : page + 24] = (2).to_bytes(4, sys.byteorder)
    (tmp_path / DATA_FILE).write_bytes(data)
    with pytest.raises(StoreTooNew, match="version 2"):
        check(tmp_path / DATA_FILE)


def test_a_large_file_is_walked_only_when_asked(tmp_path: Path) -> None:
    data = build(tmp_path)
    broken = next(
        damaged
        for at in range(2 * PAGE, len(data), PAGE)
        if is_damaged(tmp_path, damaged := apply(("flip", at + 10, 1), data))
    )
    (tmp_path / DATA_FILE).write_bytes(broken)
    check(tmp_path / DATA_FILE, walk_max=len(data) - 1)
    with pytest.raises(StoreDamaged):
        check(tmp_path / DATA_FILE, walk_max=len(data))
    with pytest.raises(StoreDamaged):
        LmdbStore.verify(tmp_path)


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (("cut", 100, 0), "ends within its first page"),
        (("cut", PAGE, 0), "ends within its second page"),
        (("cut", PAGE + 151, 0), "ends within its second page"),
        (("flip", 0, 0), "page 0 is damaged, it has the number of another page"),
        (("flip", PAGE + 10, 3), "page 1 is damaged, it is marked as another kind of page"),
        (("flip", 16, 0), "page 0 is damaged, its mark is gone"),
        (("flip", PAGE + 20, 5), "page 1 is damaged, it has another version"),
        (("flip", 40, 0), "page 0 is damaged, its page size is impossible"),
        (("flip", PAGE + 41, 5), "page 1 is damaged, it has another page size"),
        (("flip", 44, 2), "page 0 is damaged, its trees are of another kind"),
        (("flip", 134, 7), "page 0 is damaged, it points to no page"),
        (("flip", 144, 0), "page 0 is damaged, it was written out of turn"),
    ],
)
def test_the_error_says_what_is_wrong(tmp_path: Path, damage: Damage, text: str) -> None:
    (tmp_path / DATA_FILE).write_bytes(apply(damage, build(tmp_path)))
    with pytest.raises(StoreDamaged, match=text):
        check(tmp_path / DATA_FILE, walk_max=0)


def test_a_count_of_pages_beyond_all_reason_is_refused_unread(tmp_path: Path) -> None:
    data = bytearray(build(tmp_path))
    for page in (0, PAGE):
        data[page + 136 + 6] = 1
    (tmp_path / DATA_FILE).write_bytes(data)
    with pytest.raises(StoreDamaged, match="far beyond"):
        check(tmp_path / DATA_FILE, walk_max=0)


def is_damaged(directory: Path, data: bytes) -> bool:
    """Whether the walk finds it."""
    (directory / DATA_FILE).write_bytes(data)
    try:
        check(directory / DATA_FILE)
    except StoreDamaged:
        return True
    return False


def test_a_file_that_lacks_free_pages_at_its_end_is_whole(tmp_path: Path) -> None:
    """LMDB may give a page a number and then need it no more before it was ever written."""
    with closing(LmdbStore.open(tmp_path)) as store:
        commit(store, ROWS)
        commit(store, [(b"%03d" % n, bytes(4000)) for n in range(100)], Table.PACKETS)
    for _ in range(4):
        with closing(LmdbStore.open(tmp_path)) as store:
            store.begin().delete_many(Table.PACKETS, [b"%03d" % n for n in range(100)])
            store.commit()
            commit(store, ROWS)
    data = (tmp_path / DATA_FILE).read_bytes()
    (tmp_path / DATA_FILE).write_bytes(data[: -50 * PAGE])
    check(tmp_path / DATA_FILE, walk_max=0)
    with closing(LmdbStore.open(tmp_path)) as store:
        assert contents(store) == ROWS
        commit(store, [(b"%03d" % n, bytes(4000)) for n in range(200)], Table.PACKETS)
    LmdbStore.verify(tmp_path)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="No such file"):
        check(tmp_path / DATA_FILE)
    (tmp_path / DATA_FILE).mkdir()
    with pytest.raises(StorageFailed, match="directory"):
        check(tmp_path / DATA_FILE)


def test_a_file_that_goes_away_during_the_walk_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "gone")

    monkeypatch.setattr("lmdb.verify.verify", fail)
    with pytest.raises(StorageFailed, match="gone"):
        check(tmp_path / DATA_FILE)
