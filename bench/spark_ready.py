"""Rows that are ready: what Spark itself takes for those of any source in Python.

Each task hands over the same columns, again and again, without a queue or a manager.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from openmsmq.spark.tasks import keep_loaded

TASK = 50_000
"Rows of a task, as the connector has them."


class ReadyRows(DataSource):
    """The format `ready`: `rows` rows of the columns in `file`."""

    @classmethod
    def name(cls) -> str:
        """What `format` is given."""
        return "ready"

    def schema(self) -> str:
        """The columns of the file."""
        return self.options["columns"]

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads them."""
        return ReadyReader(self.options["file"], int(self.options["rows"]))


class ReadyReader(DataSourceReader):
    """Hands over the columns of a file."""

    def __init__(self, file: str, rows: int) -> None:
        self._file, self._rows = file, rows

    def partitions(self) -> list[InputPartition]:
        """Tasks of about the same size."""
        return [InputPartition(min(TASK, self._rows - at)) for at in range(0, self._rows, TASK)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """As many rows as a task has."""
        keep_loaded()
        with pa.memory_map(self._file) as file:
            batch = pa.ipc.open_file(file).get_batch(0)
            for at in range(0, partition.value, batch.num_rows):
                yield batch.slice(0, partition.value - at)
