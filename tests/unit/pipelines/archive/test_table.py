"""Archives as tables of Spark."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from pyspark.sql.types import StructType
from tests.unit.pipelines.entries import add

from openmsmq.errors import InvalidParameter
from openmsmq.pipelines.archive.batches import File
from openmsmq.pipelines.archive.stores import place_of
from openmsmq.pipelines.archive.table import ArchiveReader, ArchiveSource, Part, parts


def read(folder: Path, *names: str, first: int = 0, last: int = 99) -> dict[str, list[object]]:
    reader = ArchiveReader(place_of(folder), (first, last), names)
    found: dict[str, list[object]] = {name: [] for name in names}
    for part in reader.partitions():
        for batch in reader.read(part):
            for name, values in batch.to_pydict().items():
                found[name] += values
    return found


def test_batches_are_read_in_their_order(tmp_path: Path) -> None:
    for batch, label in enumerate("abc"):
        add(tmp_path, batch, f"{label}1", f"{label}2")
    assert read(tmp_path, "label", first=1, last=2) == {"label": ["b1", "b2", "c1", "c2"]}


def test_what_is_not_kept_is_decoded(tmp_path: Path) -> None:
    add(tmp_path, 0, "a")
    found = read(tmp_path, "body_text", "date", "label", "queue")
    assert list(found.items()) == [
        ("body_text", ["body of a"]),
        ("date", [date(2026, 7, 1)]),
        ("label", ["a"]),
        ("queue", [r".\private$\orders"]),
    ]
    assert read(tmp_path, "date") == {"date": [date(2026, 7, 1)]}


def test_files_are_grouped_by_their_rows() -> None:
    files = [File(str(number), rows, 0, "") for number, rows in enumerate((5, 5, 20, 1, 1))]
    found = [[file.path for file in part] for part in parts(files, 10)]
    assert found == [["0", "1"], ["2"], ["3", "4"]]


def test_a_source_of_spark(tmp_path: Path) -> None:
    add(tmp_path, 0, "a")
    source = ArchiveSource({"path": str(tmp_path), "first": "0", "table_format": "parquet"})
    assert source.name() == "msmq-archive"
    [part] = source.reader(StructType().add("label", "string")).partitions()
    assert isinstance(part, Part)
    with pytest.raises(InvalidParameter, match="there is no archive in"):
        ArchiveReader(place_of(tmp_path / "x"), (0, 9), ("label",)).partitions()
