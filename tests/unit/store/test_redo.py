"""What a transaction changes is done again from its bytes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from openmsmq.engine.storage.tables import Table
from openmsmq.store import files
from openmsmq.store.limits import LOGGED_MAX, MAP_SIZE
from openmsmq.store.redo import Redo, do_again
from openmsmq.store.rows import LmdbWriter

KEYS = st.binary(min_size=1, max_size=3)
CHANGES = st.tuples(st.sampled_from([Table.INDEX, Table.AUDIT]), KEYS, st.none() | st.binary())


@given(st.lists(CHANGES, max_size=20))
def test_the_same_rows_are_there_afterwards(
    changes: list[tuple[Table, bytes, bytes | None]],
) -> None:
    redo = Redo()
    wanted: dict[tuple[Table, bytes], bytes] = {}
    for table, key, value in changes:
        if value is None:
            redo.delete(table, key)
            wanted.pop((table, key), None)
        else:
            redo.put(table, key, value)
            wanted[table, key] = value
    assert redo.is_whole
    assert redo.is_empty == (not changes)
    with TemporaryDirectory() as folder:
        files.create(Path(folder))
        with closing(files.open_environment(Path(folder), MAP_SIZE)) as environment:
            tables = files.open_tables(environment)
            for _ in range(2):  # a start that was stopped half-way does it once more
                with environment.begin(write=True) as transaction:
                    do_again(redo.pack(), LmdbWriter(transaction, tables, Redo()))
            with environment.begin() as transaction:
                found = {
                    (table, key): value
                    for table in (Table.INDEX, Table.AUDIT)
                    for key, value in transaction.cursor(tables[table])
                }
    assert found == wanted


def test_many_rows_at_once_are_like_one_after_the_other() -> None:
    one, many = Redo(), Redo()
    rows = [(b"a", b"1"), (b"b", b""), (b"c", b"333")]
    for row in rows:
        one.put(Table.RUNS, *row)
    many.put_all(Table.RUNS, rows)
    assert many.pack() == one.pack()


def test_what_is_too_large_is_not_kept_in_memory() -> None:
    redo = Redo()
    redo.put(Table.PACKETS, b"k", bytes(LOGGED_MAX - 8))
    assert redo.is_whole
    assert len(redo.pack()) == LOGGED_MAX
    redo.put_all(Table.PACKETS, ((b"%d" % number, bytes(1000)) for number in range(10**9)))
    assert not redo.is_whole
    assert len(redo.pack()) == LOGGED_MAX


def test_removals_alone_can_be_too_many() -> None:
    redo = Redo()
    for number in range(LOGGED_MAX):
        redo.delete(Table.PACKETS, b"%07d" % number)
    assert not redo.is_whole
