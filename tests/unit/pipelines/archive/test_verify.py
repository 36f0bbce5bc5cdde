"""Whether an archive has every message once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.pipelines.entries import KEY, add

from openmsmq.pipelines.archive.files import Folder
from openmsmq.pipelines.archive.verify import verify
from openmsmq.pipelines.tables import PipelineFileError


def test_a_sound_archive(tmp_path: Path) -> None:
    add(tmp_path, 0, "a", "b")
    add(tmp_path, 1, "c")
    found = verify(tmp_path)
    assert (found.batches, found.files, found.rows, found.faults) == (2, 2, 3, ())
    assert found.queues == {r".\private$\orders": 3}


@pytest.mark.parametrize(("after", "fault"), [(1, "overlap"), (3, "gap")])
def test_gaps_and_overlaps_are_found(tmp_path: Path, after: int, fault: str) -> None:
    add(tmp_path, 0, "a", "b")
    add(tmp_path, 1, "c", after=after)
    [found] = verify(tmp_path).faults
    assert found == f"batch 1 begins behind {after} of {KEY}, not behind 2", fault


def test_a_missing_batch_is_found(tmp_path: Path) -> None:
    add(tmp_path, 0, "a")
    add(tmp_path, 2, "c")
    assert verify(tmp_path).faults == ("batch 2 follows batch 0",)


def test_files_that_are_not_what_they_were_are_found(tmp_path: Path) -> None:
    entries = [add(tmp_path, batch, "a", "b") for batch in range(3)]
    places = [Folder(tmp_path).data.path / entry.files[0].path for entry in entries]
    places[0].unlink()
    places[1].write_bytes(places[1].read_bytes()[:-1])
    places[2].with_name("other.parquet").touch()
    gone, changed, unknown = verify(tmp_path).faults
    assert gone == f"{entries[0].files[0].path}: No such file or directory"
    assert changed == f"{entries[1].files[0].path} has changed"
    assert unknown.endswith("other.parquet is not in the manifest")


def test_a_folder_without_an_archive(tmp_path: Path) -> None:
    with pytest.raises(PipelineFileError, match="there is no manifest"):
        verify(tmp_path)
