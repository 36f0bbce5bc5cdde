"""What every store owes its users; the tests of each store are made of this."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from openmsmq.engine.storage.tables import Store, Table, Writer

END = b"\xff" * 8
ROWS = [(bytes([65 + n]), bytes([n])) for n in range(10)]


def commit(store: Store, rows: list[tuple[bytes, bytes]], table: Table = Table.INDEX) -> None:
    """Write rows, commit and refresh."""
    store.begin().put_many(table, rows)
    store.commit()
    store.refresh()


def contents(store: Store, table: Table = Table.INDEX) -> list[tuple[bytes, bytes]]:
    """All rows that the snapshot shows."""
    return list(store.snapshot.scan(table, b"", END))


class StoreContract:
    """Inherited by the tests of each store, which have a fixture `store`."""

    def test_a_new_store_has_no_rows_of_messages(self, store: Store) -> None:
        for table in (Table.QUEUES, Table.INDEX, Table.PACKETS, Table.TRANSACTIONS):
            assert contents(store, table) == []

    def test_rows_are_read_as_they_were_written(self, store: Store) -> None:
        writer = store.begin()
        writer.put(Table.QUEUES, b"k", b"v")
        writer.put(Table.QUEUES, b"empty", b"")
        store.commit()
        store.refresh()
        assert store.snapshot.get(Table.QUEUES, b"k") == b"v"
        assert store.snapshot.get(Table.QUEUES, b"empty") == b""
        assert store.snapshot.get(Table.QUEUES, b"K") is None

    def test_tables_do_not_mix(self, store: Store) -> None:
        for table in Table:
            commit(store, [(b"k", table.name.encode())], table)
        assert [store.snapshot.get(table, b"k") for table in Table] == [
            table.name.encode() for table in Table
        ]

    def test_a_row_is_written_over(self, store: Store) -> None:
        commit(store, [(b"a", b"1"), (b"a", b"2")])
        commit(store, [(b"a", b"3")])
        assert contents(store) == [(b"a", b"3")]

    def test_many_values_come_in_the_order_of_their_keys(self, store: Store) -> None:
        commit(store, ROWS)
        keys = [b"C", b"A", b"C"]
        assert store.snapshot.get_many(Table.INDEX, keys) == [b"\2", b"\0", b"\2"]
        assert store.snapshot.get_many(Table.INDEX, []) == []

    def test_very_many_values_come_in_the_order_of_their_keys(self, store: Store) -> None:
        """They may lie side by side all along, at first, or not at all."""
        keys = [bytes([number]) for number in range(100)]
        commit(store, [(key, key * 2) for key in keys])
        for wanted in (keys, keys[10:60] + keys[:10], keys[::2], keys[::-1], keys[90:]):
            found = store.snapshot.get_many(Table.INDEX, wanted)
            assert found == [key * 2 for key in wanted]

    @pytest.mark.parametrize("count", [1, 2, 7, 8, 40])
    def test_rows_that_lie_side_by_side_come_in_one_piece(self, store: Store, count: int) -> None:
        """Without the start of the first and the end of the last; they may be one row."""
        keys = [bytes([number]) for number in range(50)]
        commit(store, [(key, key * 5) for key in keys])
        whole = b"".join(key * 5 for key in keys[3 : 3 + count])
        place = Table.INDEX, keys[3], keys[2 + count], count
        assert store.snapshot.joined(*place, 0, 5) == whole
        assert store.snapshot.joined(*place, 2, 4) == whole[2:-1]
        writer = store.begin()
        writer.put(Table.INDEX, keys[3], b"later")
        assert writer.joined(*place, 0, 5) == b"later" + whole[5:]
        store.commit()
        assert store.snapshot.joined(*place, 0, 5) == whole, "it has not been refreshed"
        store.refresh()
        assert store.snapshot.joined(*place, 0, 5) == b"later" + whole[5:]

    @pytest.mark.parametrize("count", [1, 2, 20])
    def test_asking_for_rows_in_one_piece_of_which_one_is_missing_is_a_mistake(
        self, store: Store, count: int
    ) -> None:
        keys = [bytes([number]) for number in range(50)]
        for missing in {keys[5], keys[4 + count // 2 + count % 2], keys[4 + count]}:
            commit(store, [(key, key) for key in keys])
            store.begin().delete(Table.INDEX, missing)
            store.commit()
            store.refresh()
            with pytest.raises(AssertionError, match="not there"):
                store.snapshot.joined(Table.INDEX, keys[5], keys[4 + count], count, 0, 1)

    def test_asking_for_many_rows_of_which_one_is_missing_is_a_mistake(self, store: Store) -> None:
        commit(store, ROWS)
        with pytest.raises(AssertionError, match="not there"):
            store.snapshot.get_many(Table.INDEX, [b"A", b"missing"])

    @pytest.mark.parametrize(
        ("first", "end", "expected"),
        [
            (b"", END, ROWS),
            (b"", b"", []),
            (b"C", b"F", ROWS[2:5]),
            (b"BB", b"EE", ROWS[2:5]),
            (b"A", b"A", []),
            (b"F", b"C", []),
            (b"J", END, ROWS[9:]),
            (b"K", END, []),
            (b"", b"A", []),
            (b"\0", b"B", ROWS[:1]),
        ],
    )
    def test_scans_have_their_first_and_not_their_end(
        self, store: Store, first: bytes, end: bytes, expected: list[tuple[bytes, bytes]]
    ) -> None:
        commit(store, ROWS)
        for reader in (store.snapshot, store.begin()):
            assert list(reader.scan(Table.INDEX, first, end)) == expected
            assert list(reader.scan_back(Table.INDEX, first, end)) == expected[::-1]

    @pytest.mark.parametrize("most", [None, 0, 1, 3, 100])
    def test_a_writer_reads_rows_at_once(self, store: Store, most: int | None) -> None:
        """With what it has written itself."""
        commit(store, ROWS)
        writer = store.begin()
        writer.delete(Table.INDEX, b"C")
        writer.put(Table.INDEX, b"DD", b"new")
        expected = list(writer.scan(Table.INDEX, b"B", b"H"))
        assert (b"DD", b"new") in expected
        assert writer.rows(Table.INDEX, b"B", b"H", most) == expected[:most]
        assert writer.rows(Table.INDEX, b"K", END, most) == []

    def test_a_snapshot_reads_rows_at_once(self, store: Store) -> None:
        commit(store, ROWS)
        expected = list(store.snapshot.scan(Table.INDEX, b"B", b"H"))
        assert store.snapshot.rows(Table.INDEX, b"B", b"H") == expected
        assert store.snapshot.rows(Table.INDEX, b"B", b"H", 2) == expected[:2]

    def test_scans_miss_no_key_that_begins_with_another(self, store: Store) -> None:
        rows = [(key, b"") for key in (b"A", b"A\0", b"A\0\0", b"A\0\1", b"A\1", b"B")]
        commit(store, rows)
        for reader in (store.snapshot, store.begin()):
            assert list(reader.scan(Table.INDEX, b"", END)) == rows
            assert list(reader.scan_back(Table.INDEX, b"", END)) == rows[::-1]

    def test_a_scan_may_be_left_early(self, store: Store) -> None:
        commit(store, ROWS)
        for _ in range(300):
            assert next(store.snapshot.scan(Table.INDEX, b"", END)) == ROWS[0]
            assert next(store.snapshot.scan_back(Table.INDEX, b"", END)) == ROWS[-1]
        writer = store.begin()
        half_read = writer.scan(Table.INDEX, b"", END)
        next(half_read)
        store.commit()
        store.refresh()
        assert contents(store) == ROWS

    def test_a_writer_may_remove_what_its_scan_has_passed(self, store: Store) -> None:
        rows = [(b"%05d" % n, bytes(200)) for n in range(2000)]
        commit(store, rows)
        writer = store.begin()
        seen = []
        for row in writer.scan(Table.INDEX, b"00100", b"01900"):
            assert writer.delete(Table.INDEX, row[0])
            seen.append(row)
        assert seen == rows[100:1900]
        for row in writer.scan_back(Table.INDEX, b"", END):
            assert writer.delete(Table.INDEX, row[0])
            seen.append(row)
        assert seen[1800:] == (rows[:100] + rows[1900:])[::-1]
        store.commit()
        store.refresh()
        assert contents(store) == []

    def test_a_scan_of_the_writer_sees_what_is_written_ahead_of_it(self, store: Store) -> None:
        commit(store, ROWS)
        writer = store.begin()
        scan = writer.scan(Table.INDEX, b"", END)
        assert next(scan) == ROWS[0]
        writer.delete(Table.INDEX, b"B")
        writer.put(Table.INDEX, b"BB", b"new")
        assert next(scan) == (b"BB", b"new")
        back = writer.scan_back(Table.INDEX, b"", END)
        assert next(back) == ROWS[9]
        writer.delete(Table.INDEX, b"I")
        writer.put(Table.INDEX, b"J", b"behind")
        assert next(back) == ROWS[7]

    def test_the_writer_reads_its_own_writes(self, store: Store) -> None:
        commit(store, ROWS)
        writer = store.begin()
        writer.put(Table.INDEX, b"A", b"new")
        writer.delete(Table.INDEX, b"B")
        assert writer.get(Table.INDEX, b"A") == b"new"
        assert writer.get(Table.INDEX, b"B") is None
        assert writer.get_many(Table.INDEX, [b"C", b"A"]) == [b"\2", b"new"]
        assert list(writer.scan(Table.INDEX, b"", b"D")) == [(b"A", b"new"), ROWS[2]]

    def test_a_delete_says_whether_there_was_a_row(self, store: Store) -> None:
        commit(store, ROWS)
        writer = store.begin()
        assert writer.delete(Table.INDEX, b"A") is True
        assert writer.delete(Table.INDEX, b"A") is False

    def test_many_rows_are_removed_and_missing_ones_ignored(self, store: Store) -> None:
        commit(store, ROWS)
        store.begin().delete_many(Table.INDEX, (key for key in (b"A", b"missing", b"C", b"A")))
        store.commit()
        store.refresh()
        assert contents(store) == [ROWS[1], *ROWS[3:]]

    def test_rows_are_appended(self, store: Store) -> None:
        writer = store.begin()
        writer.put_many(Table.PACKETS, iter(ROWS[:5]), append=True)
        writer.put_many(Table.PACKETS, ROWS[5:], append=True)
        store.commit()
        store.refresh()
        assert contents(store, Table.PACKETS) == ROWS

    def test_tables_change_together(self, store: Store) -> None:
        commit(store, ROWS)
        few, many = [(b"few", b"1")], [(b"%d" % number, b"") for number in range(9)]
        store.begin().change(
            {Table.PACKETS: ROWS, Table.HISTORY: few},
            {Table.QUEUES: few, Table.AUDIT: many, Table.INDEX: [(b"A", b"new"), *few]},
            {Table.INDEX: [key for key, _ in ROWS if key != b"A"], Table.EXPIRY: [b"missing"]},
        )
        store.commit()
        store.refresh()
        assert contents(store, Table.PACKETS) == ROWS
        assert contents(store, Table.HISTORY) == contents(store, Table.QUEUES) == few
        assert contents(store, Table.AUDIT) == many
        assert contents(store) == [(b"A", b"new"), *few]

    @pytest.mark.parametrize("wrong", [b"B", b"E", b"\0"])
    def test_appending_below_the_last_row_is_a_mistake(self, store: Store, wrong: bytes) -> None:
        commit(store, ROWS[:5])
        writer = store.begin()
        with pytest.raises(AssertionError, match="does not lie above"):
            writer.put_many(Table.INDEX, [(b"X", b""), (wrong, b"")], append=True)

    @pytest.mark.parametrize("key", [b"", bytes(512)], ids=["empty", "too long"])
    def test_a_key_that_cannot_be_is_a_mistake(self, store: Store, key: bytes) -> None:
        writer = store.begin()
        with pytest.raises(AssertionError, match="a key is empty or too long"):
            writer.put(Table.INDEX, key, b"")

    def test_rows_that_fail_to_come_leave_the_transaction_to_its_owner(self, store: Store) -> None:
        def rows() -> Iterator[tuple[bytes, bytes]]:
            yield ROWS[0]
            raise LookupError

        with pytest.raises(LookupError):
            store.begin().put_many(Table.INDEX, rows())
        store.abort()
        store.refresh()
        assert contents(store) == []

    def test_the_snapshot_changes_at_refresh_only(self, store: Store) -> None:
        commit(store, ROWS[:2])
        store.begin().put_many(Table.INDEX, ROWS[2:4])
        assert contents(store) == ROWS[:2]
        store.commit()
        assert contents(store) == ROWS[:2]
        writer = store.begin()
        writer.delete(Table.INDEX, b"A")
        store.commit()
        assert contents(store) == ROWS[:2]
        store.refresh()
        assert contents(store) == ROWS[1:4]

    def test_the_snapshot_stays_the_same_object(self, store: Store) -> None:
        kept = store.snapshot
        commit(store, ROWS)
        assert list(kept.scan(Table.INDEX, b"", END)) == ROWS

    def test_an_aborted_transaction_leaves_nothing(self, store: Store) -> None:
        commit(store, ROWS)
        writer = store.begin()
        writer.put(Table.INDEX, b"A", b"new")
        writer.put(Table.INDEX, b"new", b"new")
        writer.delete_many(Table.INDEX, [b"B", b"C"])
        store.abort()
        store.refresh()
        assert contents(store) == ROWS
        assert list(store.begin().scan(Table.INDEX, b"", END)) == ROWS

    def test_there_is_one_writer_at_a_time(self, store: Store) -> None:
        store.begin()
        with pytest.raises(AssertionError, match="one write transaction"):
            store.begin()

    def test_nothing_ends_that_was_not_begun(self, store: Store) -> None:
        with pytest.raises(AssertionError, match="no write transaction"):
            store.commit()
        with pytest.raises(AssertionError, match="no write transaction"):
            store.abort()

    def test_a_writer_is_void_after_its_end(self, store: Store) -> None:
        writer = store.begin()
        store.commit()
        self.assert_void(writer)
        writer = store.begin()
        store.abort()
        self.assert_void(writer)

    def assert_void(self, writer: Writer) -> None:
        """Nothing can be written with it."""
        with pytest.raises(AssertionError, match="used after"):
            writer.put(Table.INDEX, b"k", b"")
        with pytest.raises(AssertionError, match="used after"):
            writer.put_many(Table.INDEX, [(b"k", b"")])
        with pytest.raises(AssertionError, match="used after"):
            writer.delete(Table.INDEX, b"k")
        with pytest.raises(AssertionError, match="used after"):
            writer.delete_many(Table.INDEX, [b"k"])

    def test_a_scan_is_void_after_refresh(self, store: Store) -> None:
        commit(store, ROWS)
        for scan in (store.snapshot.scan, store.snapshot.scan_back):
            rows = scan(Table.INDEX, b"", END)
            next(rows)
            store.refresh()
            with pytest.raises(AssertionError, match="used after"):
                next(rows)

    def test_a_scan_of_the_writer_is_void_after_its_end(self, store: Store) -> None:
        commit(store, ROWS)
        writer = store.begin()
        scans = [scan(Table.INDEX, b"", END) for scan in (writer.scan, writer.scan_back)]
        for rows in scans:
            next(rows)
        store.commit()
        for rows in scans:
            with pytest.raises(AssertionError, match="used after"):
                next(rows)

    def test_a_new_store_has_room(self, store: Store) -> None:
        assert store.has_room()

    def test_closing_twice_is_fine_and_forgets_the_open_transaction(self, store: Store) -> None:
        commit(store, ROWS)
        store.begin().put(Table.INDEX, b"Z", b"")
        store.close()
        store.close()
