"""The stream of an archive: messages are reserved, written, committed, and then done with.

It is a stream of the format `msmq` without the streaming engine of Spark, whose checkpoint would be
a second place that says how far the archive has come. Here the archive alone says it: the commit
of a batch has its files, its number, its positions in the queues, and the offset with which the
stream goes on. What was reserved or read and is in no commit is read again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from openmsmq.pipelines.archive.batches import ArchiveStore, ManifestEntry
from openmsmq.pipelines.archive.files import written_offset
from openmsmq.pipelines.archive.stores import ArchivePlace
from openmsmq.pipelines.backlog import Waiting
from openmsmq.pipelines.spec import ONCE, Pipeline
from openmsmq.pipelines.tables import PipelineFileError
from openmsmq.pipelines.work import Progress, Watch
from openmsmq.spark.offsets import Offset, own_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from openmsmq.spark.stream_reader import StreamReader

_LOOK: Final = 0.1
"Seconds between looks whether it shall stop."
Written = Mapping[str, Any]


def first_offset(last: ManifestEntry | None, pipeline: Pipeline) -> tuple[str, Written]:
    """By what the archive knows its stream, and where the stream goes on.

    Archives of before have that in the checkpoint of Spark: `PipelineFileError` if it is lost.
    """
    assert pipeline.source is not None
    if last is None:
        owner = uuid4().hex
        name = pipeline.source.subscription or own_name(owner)
        return owner, Offset(owner, {}, name).written()
    if last.offset:
        return last.query, last.offset
    found = {} if pipeline.checkpoint is None else written_offset(pipeline.checkpoint, last.batch)
    if not found:
        raise PipelineFileError(
            f"the archive has batches of a stream whose checkpoint is not in {pipeline.checkpoint}:"
            " bring it back, or choose another path"
        )
    return last.query, found


def run(
    spark: SparkSession,
    pipeline: Pipeline,
    place: ArchivePlace,
    columns: tuple[str, ...],
    watch: Watch,
) -> None:
    """Archive what is there and, if the trigger says so, what comes."""
    from openmsmq.pipelines.archive.tasks import Keeper, schema_of

    assert pipeline.source is not None
    store = place.open()
    store.prepare(schema_of(columns))
    watch.tell(path=str(store.data))
    keeper = Keeper(pipeline.source.options(), columns, checksums=place.location.is_local)
    with _reading(pipeline) as reader:
        waiting = Waiting(pipeline.source)
        try:
            stream = _Stream(spark, pipeline, store, keeper, reader)
            for progress, offset in stream.batches(watch):
                watch.show(waiting.look(progress, Offset.of(offset, {}).positions))
        finally:
            waiting.close()


@contextmanager
def _reading(pipeline: Pipeline) -> Iterator[StreamReader]:
    from openmsmq.pipelines.offsets import reading

    assert pipeline.source is not None
    with reading(pipeline.source.options(), rereads=True) as reader:
        yield reader


class _Stream:
    """One run of an archive."""

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        store: ArchiveStore,
        keeper: Any,
        reader: StreamReader,
    ) -> None:
        self._spark = spark
        self._store = store
        self._keeper = keeper
        self._reader = reader
        self._trigger = pipeline.trigger
        last = store.last()
        self._query, self._offset = first_offset(last, pipeline)
        self._batch = 0 if last is None else last.batch + 1
        if last is None:  # who owns the subscription must be known before anything is read
            self._add({}, self._offset, lambda data: [])

    def _add(self, positions: Mapping[str, tuple[int, int]], offset: Written, write: Any) -> int:
        entry = self._store.add(
            self._batch, self._query, positions, write, is_all=True, offset=offset
        )
        self._batch += 1
        return entry.rows

    def batches(self, watch: Watch) -> Iterator[tuple[Progress, Written]]:
        """Go on until there is no more, or until it shall stop; the batches that are done."""
        if isinstance(self._trigger, str):
            self._reader.prepareForTriggerAvailableNow()
        while not watch.stopping:
            began = time.monotonic()
            number, rows = self._batch, self._next()
            if rows is not None:
                yield Progress(number, rows, time.monotonic() - began), self._offset
            if isinstance(self._trigger, int):
                self._wait(began + self._trigger, watch)
            elif rows is None or self._trigger == ONCE:
                break
        self._reader.wait_for_commits()

    def _next(self) -> int | None:
        """Archive a batch; how many rows it has, or None if there is nothing to read."""
        reader, start = self._reader, dict(self._offset)
        end = reader.latest(start, is_all=self._trigger == ONCE)
        if end == start:
            return None
        parts = reader.partitions(start, end)
        between = reader.between(start, end)
        positions = {name: span for name, span in between.items() if span[0] < span[1]}
        number = self._batch

        def write(data: Any) -> Any:
            return self._keeper.keep(self._spark, parts, number, data)

        rows = self._add(positions, end, write)
        self._offset = end
        reader.commit(end)
        return rows

    def _wait(self, until: float, watch: Watch) -> None:
        while not watch.stopping and (left := until - time.monotonic()) > 0:
            time.sleep(min(_LOOK, left))
