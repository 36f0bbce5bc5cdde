"""Folders of Parquet files that grow by whole batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow.parquet import write_table

from openmsmq.errors import StoreInUse
from openmsmq.pipelines.archive.batches import (
    File,
    ManifestEntry,
    Write,
    partition_of,
)
from openmsmq.pipelines.archive.files import (
    Folder,
    alone,
    check_checkpoint,
    described,
    query_id,
)
from openmsmq.pipelines.location import DataFolder
from openmsmq.pipelines.tables import PipelineFileError


def rows_of(*rows: int) -> Write:
    """Writes each row into a folder of its own."""

    def write(place: DataFolder) -> Iterator[File]:
        for number, row in enumerate(rows):
            path = place.path / f"a={row}" / f"part-{number:05}-x.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_table(pa.table({"n": [row]}), path)
            yield described(place.path, path, 1)

    return write


def add(folder: Folder, batch: int, *rows: int, end: int | None = None) -> ManifestEntry:
    positions = {} if end is None else {"here q": (0, end)}
    return folder.add(batch, "q", positions, rows_of(*rows), is_all=end is not None)


def files(folder: Folder) -> list[str]:
    return sorted(
        str(path.relative_to(folder.data.path)) for path in folder.data.path.rglob("*.parquet")
    )


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "archive")
    made.prepare()
    return made


def test_batches_have_files_with_their_number(folder: Folder) -> None:
    first, second = add(folder, 0, 7, 8, end=2), add(folder, 1, 7)
    assert list(folder.entries()) == [first, second]
    assert folder.last() == second
    assert (first.rows, first.expected, first.is_all) == (2, 2, True)
    expected = ["a=7/00000000-00000.parquet", "a=7/00000001-00000.parquet"]
    assert files(folder) == sorted([*expected, "a=8/00000000-00001.parquet"])
    assert not (folder.root / "staging").exists()


def test_a_batch_counts_once(folder: Folder) -> None:
    first = add(folder, 0, 7)
    assert add(folder, 0, 9) == first
    assert files(folder) == ["a=7/00000000-00000.parquet"]


def test_files_of_a_batch_that_counts_are_moved_later(folder: Folder) -> None:
    """Its writer was killed when the line was written."""
    entry = add(folder, 0, 7)
    staged = folder.root / "staging" / "00000000" / entry.files[0].staged
    staged.parent.mkdir(parents=True)
    (folder.data.path / entry.files[0].path).rename(staged)
    folder.prepare()
    assert files(folder) == [entry.files[0].path]
    folder.prepare()
    assert files(folder) == [entry.files[0].path]


def test_what_does_not_count_is_dropped(folder: Folder) -> None:
    """Its writer was killed before the line was whole."""
    left = folder.root / "staging" / "00000000" / "a=1" / "part-00000-x.parquet"
    left.parent.mkdir(parents=True)
    left.touch()
    (folder.root / "manifest.jsonl").write_text('{"batch": 0')
    folder.prepare()
    assert (list(folder.entries()), files(folder)) == ([], [])
    add(folder, 0, 7)
    assert files(folder) == ["a=7/00000000-00000.parquet"]


def test_a_row_that_is_missing_stops_the_batch(folder: Folder) -> None:
    with pytest.raises(PipelineFileError, match="batch 0 has 1 rows of 2 messages"):
        add(folder, 0, 7, end=2)
    assert (list(folder.entries()), files(folder)) == ([], [])


@pytest.mark.parametrize("batch", [0, 3])
def test_batches_follow_one_another(folder: Folder, batch: int) -> None:
    add(folder, 0, 7)
    add(folder, 1, 7)
    with pytest.raises(
        PipelineFileError, match=f"ends with batch 1, and the stream goes on with {batch}"
    ):
        add(folder, batch, 7)


def test_a_folder_belongs_to_one_stream(folder: Folder, tmp_path: Path) -> None:
    check_checkpoint(folder, tmp_path / "checkpoint")
    folder.add(0, "other", {}, rows_of(7))
    with pytest.raises(PipelineFileError, match="has batches of another stream"):
        add(folder, 1, 7)
    with pytest.raises(PipelineFileError, match="whose checkpoint is not in"):
        check_checkpoint(folder, tmp_path / "checkpoint")


def test_one_process_works_in_a_folder(folder: Folder) -> None:
    with alone(folder.root), pytest.raises(StoreInUse):
        add(folder, 0, 7)
    add(folder, 0, 7)


def test_the_stream_of_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id": "1234"}')
    assert query_id(tmp_path) == "1234"
    assert query_id(tmp_path / "nowhere") == ""


def test_paths_tell_their_partitions() -> None:
    path = "date=2026-07-01/queue=.%5Cprivate$%5Corders/x.parquet"
    assert partition_of(path, "queue") == r".\private$\orders"
    assert partition_of(path, "date") == "2026-07-01"
