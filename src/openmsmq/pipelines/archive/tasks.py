"""What the tasks of an archive do: read positions of a queue, and write them as files.

Messages become columns and files in the same Python process, without a way through Java, which
would cost more than all the rest. A task that is tried again, or runs twice, writes files with
other names; those count that Spark has an answer of.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import file_digest
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.fs import FileSystem
from pyarrow.parquet import ParquetWriter

from openmsmq.pipelines.archive.batches import BATCH, POSITION, File, folder_name
from openmsmq.pipelines.location import DataFolder
from openmsmq.pipelines.offsets import reading
from openmsmq.spark.arrow import TYPES
from openmsmq.spark.columns import READ
from openmsmq.spark.stream_reader import Positions as Part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import InputPartition

_PLAIN: Final = ("packet", "body", "message_id", POSITION)
"Columns whose values differ, for which a dictionary is lost work."


def schema_of(columns: tuple[str, ...]) -> pa.Schema:
    """The columns of files: where rows come from in the stream, and what is kept of messages."""
    own = [(BATCH, pa.int64()), (POSITION, pa.int64())]
    return pa.schema([*own, *((name, TYPES[READ[name]]) for name in columns)])


@dataclass(frozen=True, slots=True)
class Keeper:
    """Keeps messages between positions of queues."""

    options: dict[str, str]
    "Of the format `msmq`."
    columns: tuple[str, ...]
    checksums: bool = True
    "Files are described with their checksums."

    def keep(
        self, spark: SparkSession, parts: list[InputPartition], batch: int, data: DataFolder
    ) -> list[File]:
        """Let tasks write all messages below `data`; the files, in the order of the messages."""
        if not parts:
            return []
        tasks = spark.sparkContext.parallelize(list(enumerate(parts)), len(parts))
        answers = tasks.map(lambda task: self.write(*task, batch, data)).collect()
        return [file for files in answers for file in files]

    def write(self, number: int, part: InputPartition, batch: int, data: DataFolder) -> list[File]:
        """In a task: write the messages of a part."""
        assert isinstance(part, Part)
        unique = f"{batch:08}-{number:05}-{uuid4().hex[:12]}.parquet"
        system, root = data.filesystem()
        files: dict[str, OpenFile] = {}
        with ExitStack() as stack:
            reader = stack.enter_context(reading(self.options, self.columns))
            for rows, positions in placed(part, reader.read(part)):
                own = [pa.repeat(pa.scalar(batch, pa.int64()), len(rows)), positions]
                arrays = [*own, *rows.columns]
                whole = pa.RecordBatch.from_arrays(arrays, schema=schema_of(self.columns))
                for day, queue, found in by_day(whole):
                    folder = f"date={day}/queue={folder_name(queue)}"
                    path = f"{folder}/{unique}"
                    if path not in files:
                        if data.is_local:
                            (data.path / folder).mkdir(parents=True, exist_ok=True)
                        file = File(path, 0, 0, queue=queue, day=day, batches=(batch, batch))
                        files[path] = OpenFile(
                            file, _writer(system, f"{root}/{path}", stack, found)
                        )
                    files[path].write(found)
        return [self._described(one.file, data) for one in files.values()]

    def _described(self, file: File, data: DataFolder) -> File:
        """A file that was written, safe where it lies."""
        if not data.is_local:
            system, root = data.filesystem()
            return replace(file, bytes=system.get_file_info(f"{root}/{file.path}").size)
        with (data.path / file.path).open("rb") as written:
            checksum = file_digest(written, "sha256").hexdigest() if self.checksums else ""
            os.fsync(written.fileno())
            size = os.fstat(written.fileno()).st_size
        return replace(file, bytes=size, sha256=checksum)


@dataclass(slots=True)
class OpenFile:
    """A file that is being written."""

    file: File
    writer: Any = field(repr=False)

    def write(self, rows: pa.RecordBatch) -> None:
        """Add rows."""
        self.writer.write_batch(rows)
        found = pc.min_max(rows.column(POSITION)).as_py()
        known, count = self.file.positions, self.file.rows
        low = min(known[0], found["min"]) if count else found["min"]
        self.file = replace(
            self.file, rows=count + len(rows), positions=(low, max(known[1], found["max"]))
        )


def placed(
    part: Part, batches: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
    """The rows of a part with their positions, those of each queue by themselves.

    They come in the order of its spans; a batch may have rows of several.
    """
    rows: pa.RecordBatch | None = None
    for one in part.ranges:
        for after, last in one.spans:
            at = after
            while at < last:
                rows = rows or next(batches, None)
                assert rows is not None, "there are more positions than rows"
                count = min(len(rows), last - at)
                numbers = pa.py_buffer(array("q", range(at + 1, at + 1 + count)))
                yield (
                    rows.slice(0, count),
                    pa.Array.from_buffers(pa.int64(), count, [None, numbers]),
                )
                rows = rows.slice(count) if count < len(rows) else None
                at += count
    assert rows is None, "there are more rows than positions"
    for _ in batches:  # the reader marks what was read when it comes to its end
        raise AssertionError("there are more rows than positions")


def by_day(batch: pa.RecordBatch) -> Iterator[tuple[str, str, pa.RecordBatch]]:
    """The rows of a queue, by the days on which they arrived."""
    days = batch.column("arrived_time").cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
    queue = batch.column("from_queue")[0].as_py()
    for day in pc.unique(days):
        rows = batch if len(pc.unique(days)) == 1 else batch.filter(pc.equal(days, day))
        yield day.as_py().isoformat(), queue, rows


def _writer(system: FileSystem, path: str, stack: ExitStack, rows: pa.RecordBatch) -> ParquetWriter:
    """Writes a file; an object store shows it when it is whole."""
    sink = stack.enter_context(system.open_output_stream(path))
    coded = [name for name in rows.schema.names if name not in _PLAIN]
    return stack.enter_context(
        ParquetWriter(sink, rows.schema, compression="zstd", use_dictionary=coded)
    )
