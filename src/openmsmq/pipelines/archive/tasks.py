"""What the tasks of an archive do: read positions of a queue, and write them as files.

Messages become columns and files in the same Python process, without a way through Java, which
would cost more than all the rest. A task that is tried again, or runs twice, writes files with
other names; those count that Spark has an answer of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import ParquetWriter

from openmsmq.pipelines.archive.files import File, described
from openmsmq.pipelines.offsets import BatchOffsets, reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import InputPartition

_SPECIAL: Final = re.compile(r"""[\x00-\x1f"#%'*/:=?\\{\[\]^\x7f]""")
"What readers of Parquet expect to be escaped in the names of partitions."
_PLAIN: Final = ("packet", "body", "message_id")
"Columns whose values differ, for which a dictionary is lost work."


@dataclass(frozen=True, slots=True)
class Keeper:
    """Keeps messages between positions of queues."""

    options: dict[str, str]
    "Of the format `msmq`."
    columns: tuple[str, ...]

    def keep(self, spark: SparkSession, offsets: BatchOffsets, staging: Path) -> list[File]:
        """Let tasks write all messages below `staging`; the files, in the order of the messages."""
        with reading(self.options) as reader:
            parts = reader.partitions(offsets.start, offsets.end)
        if not parts:
            return []
        tasks = spark.sparkContext.parallelize(list(enumerate(parts)), len(parts))
        answers = tasks.map(lambda task: self.write(*task, staging)).collect()
        return [file for files in answers for file in files]

    def write(self, number: int, part: InputPartition, staging: Path) -> list[File]:
        """In a task: write the messages of a part."""
        found: dict[Path, int] = {}
        unique = f"{number:05}-{uuid4().hex[:12]}.parquet"
        with ExitStack() as stack:
            writers: dict[Path, ParquetWriter] = {}
            reader = stack.enter_context(reading(self.options, self.columns))
            for batch in reader.read(part):
                for folder, rows in by_day(batch):
                    place = folder / unique
                    if place not in writers:
                        (staging / folder).mkdir(parents=True, exist_ok=True)
                        writers[place] = stack.enter_context(_writer(staging / place, rows.schema))
                    writers[place].write_batch(rows)
                    found[place] = found.get(place, 0) + len(rows)
        return [described(staging, staging / place, rows) for place, rows in found.items()]


def by_day(batch: pa.RecordBatch) -> Iterator[tuple[Path, pa.RecordBatch]]:
    """The rows of a queue, by the folders of their days and of the queue."""
    days = batch.column("arrived_time").cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
    queue = escaped(batch.column("from_queue")[0].as_py())
    for day in pc.unique(days):
        rows = batch if len(pc.unique(days)) == 1 else batch.filter(pc.equal(days, day))
        yield Path(f"date={day.as_py().isoformat()}", f"queue={queue}"), rows


def escaped(name: str) -> str:
    """A name as it stands in the path of a partition."""
    return _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", name)


def _writer(path: Path, schema: pa.Schema) -> ParquetWriter:
    coded = [name for name in schema.names if name not in _PLAIN]
    return ParquetWriter(path, schema, compression="zstd", use_dictionary=coded)
