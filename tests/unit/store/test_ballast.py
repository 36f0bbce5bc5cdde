"""Room that is held until the disk is full."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from openmsmq.store.ballast import BALLAST_FILE, Ballast

SIZE = 1 << 20


def taken(directory: Path) -> int:
    """Bytes of the disk that the file takes."""
    return (directory / BALLAST_FILE).stat().st_blocks * 512


def test_it_takes_room_and_gives_it_up(tmp_path: Path) -> None:
    ballast = Ballast(tmp_path, SIZE)
    assert not ballast.is_held
    ballast.take()
    assert ballast.is_held
    assert taken(tmp_path) >= SIZE
    assert (tmp_path / BALLAST_FILE).stat().st_mode & 0o777 == 0o600
    assert ballast.give_up()
    assert (ballast.is_held, taken(tmp_path)) == (False, 0)
    assert not ballast.give_up()
    ballast.take()
    assert taken(tmp_path) >= SIZE


def test_no_file_stays_open(tmp_path: Path) -> None:
    """It is taken and given up again and again on a disk that is nearly full."""
    ballast, before = Ballast(tmp_path, SIZE), len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        ballast.take()
        assert ballast.give_up()
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_next_start_finds_it(tmp_path: Path) -> None:
    Ballast(tmp_path, SIZE).take()
    assert Ballast(tmp_path, SIZE).is_held
    assert not Ballast(tmp_path, 2 * SIZE).is_held


def test_a_file_with_holes_is_none(tmp_path: Path) -> None:
    """What a power cut or a copy may leave of it."""
    with (tmp_path / BALLAST_FILE).open("wb") as file:
        file.truncate(SIZE)
    ballast = Ballast(tmp_path, SIZE)
    assert not ballast.is_held
    ballast.take()
    assert taken(tmp_path) >= SIZE


def test_without_a_size_there_is_none(tmp_path: Path) -> None:
    ballast = Ballast(tmp_path, 0)
    ballast.take()
    assert not ballast.is_held
    assert list(tmp_path.iterdir()) == []


def test_where_there_is_no_room_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, offset: int, size: int) -> None:
        """As file systems do: what there is has been taken already."""
        os.pwrite(file, bytes(4096), offset)
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "posix_fallocate", full)
    ballast = Ballast(tmp_path, SIZE)
    ballast.take()
    assert not ballast.is_held
    assert taken(tmp_path) == 0


def test_a_ballast_file_that_was_removed_frees_nothing(tmp_path: Path) -> None:
    ballast = Ballast(tmp_path, SIZE)
    ballast.take()
    (tmp_path / BALLAST_FILE).unlink()
    assert not ballast.give_up()
    assert not ballast.is_held
