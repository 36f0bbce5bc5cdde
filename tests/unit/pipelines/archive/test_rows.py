"""Rows of batches."""

from __future__ import annotations

from pathlib import Path

from tests.unit.pipelines.entries import add

from openmsmq.pipelines.archive.files import Folder
from openmsmq.pipelines.archive.rows import rows_of_batches


def test_files_of_one_batch_are_counted_unopened(tmp_path: Path) -> None:
    add(tmp_path, 0, "a", "b")
    add(tmp_path, 1, "c")
    for path in tmp_path.rglob("*.parquet"):
        path.unlink()
    assert rows_of_batches(Folder(tmp_path)) == {0: 2, 1: 1}
