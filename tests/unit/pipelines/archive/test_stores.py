"""Archives by their formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmsmq.pipelines.archive import stores
from openmsmq.pipelines.archive.stores import ArchivePlace, found_format, place_of
from openmsmq.pipelines.location import DataFolder
from openmsmq.pipelines.tables import PipelineFileError


def test_the_format_of_an_archive_is_found(tmp_path: Path) -> None:
    assert place_of(tmp_path).format == "parquet"
    (tmp_path / "catalog.db").touch()
    assert place_of(str(tmp_path)).format == "iceberg"
    (tmp_path / "_delta_log").mkdir()
    assert place_of(tmp_path).format == "delta"
    assert place_of("s3://lake/x").format == "delta"
    assert found_format(DataFolder("s3://lake/x"), "shared") == "iceberg"


def test_a_package_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "find_spec", lambda name: None)
    place = DataFolder(str(tmp_path))
    ArchivePlace(place).check("archive")
    with pytest.raises(PipelineFileError, match=r"'delta', which needs deltalake: pip install"):
        ArchivePlace(place, "delta").check("archive")
