"""After a crash: what the last checkpoint and the log hold is there, and nothing else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.unit.store import children
from tests.unit.store.contract import ROWS, commit, contents

from openmsmq.errors import StoreDamaged
from openmsmq.store.check.check import check
from openmsmq.store.commit_log import LOG_FILE
from openmsmq.store.copy import compact, put_in_place, read_along
from openmsmq.store.limits import LOGGED_MAX
from openmsmq.store.lmdb import LmdbStore
from openmsmq.store.lock import keep_files
from openmsmq.store.pages import DATA_FILE
from openmsmq.store.recovery import needs_recovery, recover, recover_alone

LARGE = (b"0", bytes(2 * LOGGED_MAX))


@pytest.fixture
def crashed(tmp_path: Path) -> Iterator[Path]:
    """A store after a power cut: no page that was written since the last checkpoint is there."""
    with closing(LmdbStore.open(tmp_path / "store")) as store:
        commit(store, [LARGE])  # a checkpoint
        shutil.copytree(tmp_path / "store", tmp_path / "crashed")
        for row in ROWS:
            commit(store, [row])
        shutil.copy(tmp_path / "store" / LOG_FILE, tmp_path / "crashed" / LOG_FILE)
        yield tmp_path / "crashed"


def rows(directory: Path) -> list[tuple[bytes, bytes]]:
    with closing(LmdbStore.open(directory, create=False)) as store:
        return contents(store)


def test_small_commits_come_from_the_log(crashed: Path) -> None:
    assert needs_recovery(crashed)
    assert rows(crashed) == [LARGE, *ROWS]
    assert not needs_recovery(crashed)


def test_pages_that_were_written_in_part_are_not_looked_at(crashed: Path) -> None:
    """All but the first of what the store has written since is there, its meta pages included."""
    now = (crashed.parent / "store" / DATA_FILE).read_bytes()
    then = (crashed / DATA_FILE).read_bytes()
    changed = [at for at in range(8192, len(now), 4096) if now[at:][:4096] != then[at:][:4096]]
    for torn in changed:
        (crashed / DATA_FILE).write_bytes(now[:torn] + bytes(4096) + now[torn + 4096 :])
        again = crashed.parent / "again"
        shutil.copytree(crashed, again)
        assert rows(again) == [LARGE, *ROWS]
        shutil.rmtree(again)


def test_a_recovery_that_was_cut_off_is_begun_again(crashed: Path) -> None:
    log = (crashed / LOG_FILE).read_bytes()
    recover_alone(crashed)
    (crashed / LOG_FILE).write_bytes(log)
    assert rows(crashed) == [LARGE, *ROWS]


def test_without_a_crash_there_is_nothing_to_do(tmp_path: Path) -> None:
    LmdbStore.open(tmp_path).close()
    before = (tmp_path / DATA_FILE).read_bytes()
    recover(tmp_path)
    recover_alone(tmp_path)
    assert (tmp_path / DATA_FILE).read_bytes() == before


def test_a_log_of_another_store_is_refused_and_both_are_left(crashed: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with closing(LmdbStore.open(other)) as store:
        commit(store, [(b"other", b"row")])
    shutil.copy(crashed / LOG_FILE, other / LOG_FILE)
    before = (other / DATA_FILE).read_bytes()
    for _ in range(2):
        with pytest.raises(
            StoreDamaged, match=f"does not belong to data.mdb: .* remove {LOG_FILE}"
        ):
            LmdbStore.open(other)
    assert (other / DATA_FILE).read_bytes() == before
    (other / LOG_FILE).unlink()
    assert rows(other) == [(b"other", b"row")]


def test_a_log_that_is_damaged_is_said_so(crashed: Path) -> None:
    (crashed / LOG_FILE).write_bytes(bytes(10_000))
    with pytest.raises(StoreDamaged, match="no header"):
        LmdbStore.open(crashed)
    assert check(crashed).findings


def test_while_others_copy_the_store_nothing_is_put_back(tmp_path: Path) -> None:
    """They have opened it before the crash, so that the system has all that was written."""
    with closing(LmdbStore.open(tmp_path / "store")) as store:
        for row in ROWS:
            commit(store, [row])
        shutil.copytree(tmp_path / "store", tmp_path / "killed")
    killed = tmp_path / "killed"
    before = (killed / DATA_FILE).read_bytes()
    with keep_files(killed):
        recover(killed)
        assert (killed / DATA_FILE).read_bytes() == before
        assert rows(killed) == ROWS


def test_who_reads_along_sees_all_of_it(crashed: Path) -> None:
    with read_along(crashed) as reader:
        assert list(reader.snapshot.scan(2, b"", b"\xff" * 8)) == [LARGE, *ROWS]  # type: ignore[arg-type]
    assert not needs_recovery(crashed)


def test_who_reads_along_leaves_the_log_of_a_store_that_is_open(tmp_path: Path) -> None:
    with closing(LmdbStore.open(tmp_path)) as store:
        commit(store, ROWS)
        code = """
            import sys
            from pathlib import Path
            from openmsmq.store.copy import read_along
            with read_along(Path(sys.argv[1])) as reader:
                print(reader.rows)
        """
        (found,) = children.run(code, tmp_path)
        assert int(found) > len(ROWS)
        assert needs_recovery(tmp_path)


def test_a_check_looks_at_all_of_it(crashed: Path) -> None:
    check(crashed)
    assert not needs_recovery(crashed)


def test_a_store_is_compacted_with_all_of_it(crashed: Path) -> None:
    compact(crashed)
    assert rows(crashed) == [LARGE, *ROWS]


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_store_that_is_replaced_takes_its_log_along(
    crashed: Path, tmp_path: Path, is_damaged: bool
) -> None:
    if is_damaged:
        (crashed / DATA_FILE).write_bytes(b"nothing")
    staged = tmp_path / "staged"
    with closing(LmdbStore.open(staged)) as store:
        commit(store, ROWS[:1])
    os.link(crashed / DATA_FILE, crashed / "kept")
    put_in_place(staged, crashed)
    assert rows(crashed) == ROWS[:1]
    if not is_damaged:
        (crashed / "kept").rename(crashed / DATA_FILE)
        assert rows(crashed) == [LARGE, *ROWS]
