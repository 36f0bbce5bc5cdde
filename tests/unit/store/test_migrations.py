"""Stores of older versions open, with all that was in them.

`format-1.mdb.gz` was written by the program that knew format 1: a queue with one message that
expires and becomes a dead letter and one that does not, a public queue, and a transactional queue
of which a prepared transaction `x1` has received `t1` and to which it sends `t3`; it was purged
after that, which took `t2`.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import openmsmq
from openmsmq.errors import StoreTooOld
from openmsmq.manager.maintenance import backup, check
from openmsmq.model.layout import Owed, Record
from openmsmq.model.storage import Table
from openmsmq.store.lmdb import LmdbStore

OLD = Path(__file__).parent / "format-1.mdb.gz"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "data.mdb").write_bytes(gzip.decompress(OLD.read_bytes()))
    return tmp_path


def test_queues_and_messages_are_all_there(directory: Path) -> None:
    with openmsmq.open(directory) as manager:
        kinds = {info.name: info.kind for info in manager.queues()}
        places = ("orders", ".\\DeadLetter$")  # one of the messages has expired since
        found = [m.text for name in places for m in manager.open_queue(name).peek_many(9, 0)]
        assert kinds == {
            ".\\private$\\orders": "private",
            ".\\private$\\tx": "private",
            ".\\pub": "public",
        }
        assert sorted(map(str, found)) == ["a", "b"]


def test_messages_know_what_is_owed_for_them_and_when_they_expire(directory: Path) -> None:
    store = LmdbStore.open(directory)
    try:
        rows = store.snapshot.scan(Table.INDEX, b"", b"\xff" * 12)
        records = [Record.unpack(raw) for _, raw in rows]
        expiring = list(store.snapshot.scan(Table.EXPIRY, b"", b"\xff" * 16))
    finally:
        store.close()
    assert [record.flags for record in records] == [Owed.DEAD_LETTER, 0, Owed.TRANSACTIONAL]
    assert len(expiring) == 1
    assert int.from_bytes(expiring[0][0][:4], "big") == records[0].expires


@pytest.mark.parametrize(("outcome", "left"), [("commit", ["t3"]), ("abort", [])])
def test_a_prepared_transaction_ends_as_it_would_have(
    directory: Path, outcome: str, left: list[str]
) -> None:
    with openmsmq.open(directory) as manager:
        assert manager.prepared() == ["x1"]
        assert manager.prepared_ages()["x1"] < 60, "since it was opened: no more is known"
        if outcome == "commit":
            manager.commit_prepared("x1")
        else:
            manager.abort_prepared("x1")  # what was purged meanwhile does not come back
        statistics = manager.statistics()
        assert statistics.get("arrived", 0) == len(left)


def test_a_backup_of_an_old_store_says_to_open_it_first(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreTooOld):
        backup(directory, tmp_path / "copy")


def test_the_store_is_whole_afterwards(directory: Path) -> None:
    openmsmq.open(directory).close()
    assert check(directory).findings == ()
