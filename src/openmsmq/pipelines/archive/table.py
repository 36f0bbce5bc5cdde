"""The format `msmq-archive`: an archive as a table, in its own order, and only what counts.

Spark's own reader of Parquet takes files in any order, and would not know which column a packet
holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow.parquet import ParquetFile
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from openmsmq.errors import InvalidParameter
from openmsmq.pipelines.archive.archive import FACTS, FORMAT, PARTITIONS
from openmsmq.pipelines.archive.files import File, Folder, partition_of
from openmsmq.spark.arrow import Columns
from openmsmq.spark.block import Block

ROWS: Final = 25_000
"Rows of a task, about."
_AT_ONCE: Final = 5_000


@dataclass(frozen=True)
class Part(InputPartition):
    """Files that one task reads, one after the other."""

    files: tuple[str, ...]


class ArchiveSource(DataSource):
    """An archive, from one batch to another; a schema says which columns."""

    @classmethod
    def name(cls) -> str:
        """What `format` is given."""
        return FORMAT

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads the batches."""
        options = self.options
        first, last = int(options.get("first", 0)), int(options.get("last", 1 << 62))
        return ArchiveReader(Path(options["path"]), first, last, tuple(schema.names))


class ArchiveReader(DataSourceReader):
    """Reads batches of an archive."""

    def __init__(self, path: Path, first: int, last: int, names: tuple[str, ...]) -> None:
        self._path = path
        self._batches = first, last
        self._names = names

    def partitions(self) -> list[InputPartition]:
        """The files, in their order."""
        first, last = self._batches
        entries = [one for one in Folder(self._path).entries() if first <= one.batch <= last]
        if not entries:
            raise InvalidParameter(f"there is no archive in {self._path}")
        files = [file for entry in entries for file in entry.files]
        return [Part(part) for part in parts(files)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of some files."""
        assert isinstance(partition, Part)
        for path in partition.files:
            yield from read_file(Folder(self._path).data, path, self._names)


def parts(files: Iterable[File], most: int = ROWS) -> Iterator[tuple[str, ...]]:
    """Files in groups of about so many rows."""
    group: list[str] = []
    rows = 0
    for file in files:
        group.append(file.path)
        rows += file.rows
        if rows >= most:
            yield tuple(group)
            group, rows = [], 0
    if group:
        yield tuple(group)


def read_file(data: Path, path: str, names: Iterable[str]) -> Iterator[pa.RecordBatch]:
    """Columns of a file; what is not kept beside the packet is decoded from it."""
    wanted = list(names)
    fixed = {
        "date": pa.scalar(date.fromisoformat(partition_of(path, "date")), pa.date32()),
        "queue": pa.scalar(partition_of(path, "queue"), pa.string()),
    }
    decoded = [name for name in wanted if name not in (*FACTS, *PARTITIONS)]
    with ParquetFile(data / path) as file:
        there = set(file.schema_arrow.names)
        kept = [name for name in wanted if name in FACTS and name in there]
        younger = [name for name in wanted if name in FACTS and name not in there]
        read = kept if "packet" in kept or not decoded else [*kept, "packet"]
        for batch in file.iter_batches(_AT_ONCE, columns=read or ["arrival"]):
            found = {name: batch.column(name) for name in read}
            if decoded:
                columns = Columns(Block.of_packets(found["packet"].to_pylist()))
                found |= {name: columns.column(name) for name in decoded}
            found |= {name: pa.nulls(len(batch), pa.string()) for name in younger}
            for name, value in fixed.items():
                found[name] = pa.repeat(value, len(batch))
            yield pa.RecordBatch.from_arrays([found[name] for name in wanted], names=wanted)
