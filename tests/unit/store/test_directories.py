"""Directories that outlast a power cut."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openmsmq.store.directories import sync_directory


def test_a_directory_is_synced_and_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def fsync(file: int) -> None:
        assert Path(os.readlink(f"/proc/self/fd/{file}")) == tmp_path
        synced.append(file)

    monkeypatch.setattr(os, "fsync", fsync)
    sync_directory(tmp_path)
    [file] = synced
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(file)
