"""What the rules rely on, stated once over the store in memory."""

from __future__ import annotations

from openmsmq.engine.storage.tables import Snapshot, Store, Table, Writer
from openmsmq.store.memory import MemoryStore


def opened() -> Store:
    return MemoryStore()


def everything(snapshot: Snapshot) -> list[tuple[bytes, bytes]]:
    return list(snapshot.scan(Table.INDEX, b"", b"\xff"))


def test_tables_keep_their_numbers_since_files_hold_them() -> None:
    assert [(table.value, table.name) for table in Table] == [
        (0, "META"),
        (1, "QUEUES"),
        (2, "INDEX"),
        (3, "PACKETS"),
        (4, "TRANSACTIONS"),
        (5, "EXPIRY"),
        (6, "HISTORY"),
        (7, "TRANSFER"),
        (8, "DELAYED"),
        (9, "RUNS"),
        (10, "AUDIT"),
    ]


def test_what_is_written_is_seen_by_the_writer_at_once_and_by_others_after_a_refresh() -> None:
    store = opened()
    writer: Writer = store.begin()
    writer.put(Table.INDEX, b"b", b"2")
    writer.put_many(Table.INDEX, [(b"a", b"1"), (b"c", b"3")])
    assert everything(writer) == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    store.commit()
    assert everything(store.snapshot) == []
    store.refresh()
    assert everything(store.snapshot) == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    assert list(store.snapshot.scan_back(Table.INDEX, b"a", b"c")) == [(b"b", b"2"), (b"a", b"1")]
    assert store.snapshot.get_many(Table.INDEX, [b"c", b"a"]) == [b"3", b"1"]
    assert store.snapshot.get(Table.INDEX, b"x") is None
    assert store.snapshot.get(Table.META, b"a") is None


def test_what_is_aborted_is_never_seen() -> None:
    store = opened()
    store.begin().put(Table.INDEX, b"a", b"1")
    store.abort()
    store.refresh()
    assert everything(store.snapshot) == []


def test_rows_are_removed_and_absence_is_no_error() -> None:
    store = opened()
    writer = store.begin()
    writer.put(Table.INDEX, b"a", b"1")
    assert writer.delete(Table.INDEX, b"a")
    assert not writer.delete(Table.INDEX, b"a")
    writer.delete_many(Table.INDEX, [b"a", b"b"])
    assert everything(writer) == []
    store.close()


def test_an_empty_store_has_room() -> None:
    assert opened().has_room()
