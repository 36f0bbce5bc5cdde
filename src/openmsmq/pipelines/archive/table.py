"""The format `msmq-archive`: an archive as a table, in its own order, and only what counts.

Spark's own reader of Parquet takes files in any order, and would not know which column a packet
holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import ParquetFile
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from openmsmq.errors import InvalidParameter
from openmsmq.pipelines.archive.archive import FACTS, FORMAT, PARTITIONS
from openmsmq.pipelines.archive.batches import BATCH, LAST, POSITION, File
from openmsmq.pipelines.archive.iceberg import TABLE, CatalogName
from openmsmq.pipelines.archive.stores import ArchivePlace
from openmsmq.pipelines.location import DataFolder
from openmsmq.spark.arrow import Columns
from openmsmq.spark.block import Block
from openmsmq.spark.tasks import keep_loaded

ROWS: Final = 25_000
"Rows of a task, about."
_AT_ONCE: Final = 5_000


@dataclass(frozen=True)
class Part(InputPartition):
    """Files that one task reads, one after the other."""

    files: tuple[File, ...]


class ArchiveSource(DataSource):
    """An archive, from one batch to another; a schema says which columns."""

    @classmethod
    def name(cls) -> str:
        """What `format` is given."""
        return FORMAT

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads the batches."""
        options = self.options
        place = ArchivePlace(
            DataFolder(options["path"]),
            options["table_format"],
            CatalogName(options.get("catalog", ""), options.get("table", TABLE)),
        )
        batches = int(options.get("first", 0)), int(options.get("last", LAST))
        return ArchiveReader(place, batches, tuple(schema.names))


class ArchiveReader(DataSourceReader):
    """Reads batches of an archive."""

    def __init__(
        self, place: ArchivePlace, batches: tuple[int, int], names: tuple[str, ...]
    ) -> None:
        self._place = place
        self._batches = batches
        self._names = names

    def partitions(self) -> list[InputPartition]:
        """The files, in their order."""
        files = self._place.open().files(*self._batches)
        if not files:
            raise InvalidParameter(f"there is no archive in {self._place.location}")
        return [Part(part) for part in parts(files)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of some files."""
        assert isinstance(partition, Part)
        keep_loaded()
        data = self._place.open().data
        for file in partition.files:
            yield from read_file(data, file, self._names, self._batches)


def parts(files: Iterable[File], most: int = ROWS) -> Iterator[tuple[File, ...]]:
    """Files in groups of about this many rows."""
    group: list[File] = []
    rows = 0
    for file in files:
        group.append(file)
        rows += file.rows
        if rows >= most:
            yield tuple(group)
            group, rows = [], 0
    if group:
        yield tuple(group)


def read_file(
    data: DataFolder, file: File, names: Iterable[str], batches: tuple[int, int] = (0, LAST)
) -> Iterator[pa.RecordBatch]:
    """Columns of some batches; what is not kept beside the packet is decoded from it."""
    wanted = list(names)
    fixed = {
        "date": pa.scalar(date.fromisoformat(file.date), pa.date32()),
        "queue": pa.scalar(file.source, pa.string()),
    }
    own = (*FACTS, BATCH, POSITION)
    decoded = [name for name in wanted if name not in (*own, *PARTITIONS)]
    is_part = file.batches[0] < batches[0] or file.batches[1] > batches[1]
    system, root = data.filesystem()
    with ParquetFile(f"{root}/{file.path}", filesystem=system) as opened:
        there = set(opened.schema_arrow.names)
        read = [name for name in wanted if name in own and name in there]
        younger = [name for name in wanted if name in own and name not in there]
        if decoded and "packet" not in read:
            read.append("packet")
        if is_part and BATCH not in read:
            read.append(BATCH)
        for whole in opened.iter_batches(_AT_ONCE, columns=read or ["arrival"]):
            batch = whole.filter(_between(whole.column(BATCH), batches)) if is_part else whole
            found = {name: batch.column(name) for name in read}
            if decoded:
                columns = Columns(Block.of_packets(found["packet"].to_pylist()))
                found |= {name: columns.column(name) for name in decoded}
            found |= {name: pa.nulls(len(batch), pa.string()) for name in younger}
            for name, value in fixed.items():
                found[name] = pa.repeat(value, len(batch))
            yield pa.RecordBatch.from_arrays([found[name] for name in wanted], names=wanted)


def _between(values: pa.Array, limits: tuple[int, int]) -> pa.Array:
    first, last = (pa.scalar(limit, pa.int64()) for limit in limits)
    return pc.and_(pc.greater_equal(values, first), pc.less_equal(values, last))
