"""The commit log: what was added is read again, and nothing else."""

from __future__ import annotations

import errno
import os
import random
from contextlib import closing
from pathlib import Path

import pytest

from openmsmq.errors import StoreDamaged
from openmsmq.store import commit_log
from openmsmq.store.commit_log import LOG_FILE, CommitLog, read_log
from openmsmq.store.limits import LOGGED_MAX, SEGMENT_SIZE
from openmsmq.store.pages import META_SIZE, Anchor

FIRST = Anchor(4096, (bytes(META_SIZE), b"\1" * META_SIZE), 7)
SECOND = Anchor(4096, (b"\2" * META_SIZE, b"\3" * META_SIZE), 8)
HEADER = 4096
"Bytes for each of the two headers."


@pytest.fixture
def log(tmp_path: Path) -> CommitLog:
    return CommitLog(tmp_path, FIRST)


def test_a_new_log_has_its_checkpoint_and_no_records(log: CommitLog, tmp_path: Path) -> None:
    log.close()
    assert read_log(tmp_path / LOG_FILE) == (FIRST, [])
    assert [path.name for path in tmp_path.iterdir()] == [LOG_FILE]
    assert (tmp_path / LOG_FILE).stat().st_mode & 0o777 == 0o600


def test_records_are_read_in_their_order(log: CommitLog, tmp_path: Path) -> None:
    records = [bytes([n]) * size for n, size in enumerate((1, 0, 5000, LOGGED_MAX, 3))]
    for record in records:
        assert log.add(record)
    log.close()
    assert read_log(tmp_path / LOG_FILE) == (FIRST, records)


def test_records_in_the_other_segment_follow(log: CommitLog, tmp_path: Path) -> None:
    log.add(b"before")
    place = log.turn()
    log.add(b"after")
    assert read_log(tmp_path / LOG_FILE) == (FIRST, [b"before", b"after"])
    log.begin_at(place, SECOND)
    assert read_log(tmp_path / LOG_FILE) == (SECOND, [b"after"])
    log.close()


def test_what_is_left_of_earlier_records_does_not_count(log: CommitLog, tmp_path: Path) -> None:
    for _ in range(5):
        for text in (b"one", b"two", b"three"):
            log.add(text)
        log.begin_at(log.turn(), SECOND)
    assert read_log(tmp_path / LOG_FILE) == (SECOND, [])
    log.add(b"one")
    assert read_log(tmp_path / LOG_FILE) == (SECOND, [b"one"])
    log.close()


def test_nor_do_records_of_an_earlier_log(log: CommitLog, tmp_path: Path) -> None:
    log.add(b"old")
    log.close()
    old = (tmp_path / LOG_FILE).read_bytes()
    with closing(CommitLog(tmp_path, SECOND)):
        pass
    new = (tmp_path / LOG_FILE).read_bytes()
    (tmp_path / LOG_FILE).write_bytes(new + old[len(new) :])
    assert read_log(tmp_path / LOG_FILE) == (SECOND, [])


def test_a_header_that_is_torn_leaves_the_one_before(log: CommitLog, tmp_path: Path) -> None:
    log.add(b"first")
    log.begin_at(log.turn(), SECOND)
    log.close()
    path = tmp_path / LOG_FILE
    whole = path.read_bytes()
    assert read_log(path) == (SECOND, [])
    for at in (HEADER, HEADER + 40, HEADER + 300):
        path.write_bytes(whole[:at] + b"?" + whole[at + 1 :])
        assert read_log(path) == (FIRST, [b"first"])


def test_a_log_without_a_whole_header_is_damaged(tmp_path: Path) -> None:
    for content in (b"", bytes(100), bytes(3 * HEADER)):
        (tmp_path / LOG_FILE).write_bytes(content)
        with pytest.raises(StoreDamaged, match="has no header that is whole"):
            read_log(tmp_path / LOG_FILE)


def test_a_record_that_is_torn_ends_the_log(log: CommitLog, tmp_path: Path) -> None:
    records = [b"%d" % number * 100 for number in range(10)]
    for record in records:
        log.add(record)
    log.close()
    path, chance = tmp_path / LOG_FILE, random.Random(1)
    whole = path.read_bytes()
    for _ in range(200):
        at = chance.randrange(2 * HEADER, 2 * HEADER + 10 * 116)
        if chance.random() < 0.5:
            path.write_bytes(whole[:at])
        else:
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert read_log(path) == (FIRST, records[: (at - 2 * HEADER) // 116])


def test_a_segment_is_full_before_a_large_record_would_not_fit(log: CommitLog) -> None:
    for _ in range(2):
        size = 0
        while not log.is_full:
            log.add(bytes(LOGGED_MAX))
            size += LOGGED_MAX + 16
        assert SEGMENT_SIZE - LOGGED_MAX - 16 < size <= SEGMENT_SIZE
        log.begin_at(log.turn(), SECOND)
    log.close()


def test_the_file_grows_to_two_segments_and_no_further(log: CommitLog, tmp_path: Path) -> None:
    for _ in range(4):
        while not log.is_full:
            log.add(bytes(LOGGED_MAX))
        log.begin_at(log.turn(), SECOND)
    log.close()
    assert (tmp_path / LOG_FILE).stat().st_size < 2 * HEADER + 2 * SEGMENT_SIZE + LOGGED_MAX + 2**19


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_takes_no_record(
    log: CommitLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(*_: object) -> int:
        raise OSError(code, "full")

    log.add(b"before")
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", fail)
        assert not log.add(b"too much")
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", lambda *_: 3)
        assert not log.add(b"a part of it")
    assert log.add(b"after")
    log.close()
    assert read_log(tmp_path / LOG_FILE)[1] == [b"before", b"after"]


def test_a_disk_that_fails_says_so(log: CommitLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "gone")

    monkeypatch.setattr(commit_log, "sync", fail)
    with pytest.raises(OSError, match="gone"):
        log.add(b"x")
    log.close()


def test_what_could_not_be_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="full"):
        CommitLog(tmp_path, FIRST)
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_is_not_needed_goes(log: CommitLog, tmp_path: Path) -> None:
    log.remove()
    assert list(tmp_path.iterdir()) == []
