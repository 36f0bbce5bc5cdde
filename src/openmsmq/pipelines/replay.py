"""`[replay]`: messages of an archive sent again, each once, with all that their senders set.

The archive is gone through in steps of whole batches. Each step is written down before it begins,
and is one write with a name of its own: a step that is repeated after a crash has the same
messages under the same name, so that the queue manager takes it once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from openmsmq.pipelines.archive import FACTS, PARTITIONS
from openmsmq.pipelines.files import Entry, File, Folder
from openmsmq.pipelines.spec import Pipeline, Place, columns_of, read_place
from openmsmq.pipelines.steps import Step, Steps
from openmsmq.pipelines.streams import QUEUE, check_targets
from openmsmq.pipelines.tables import FileError, Table
from openmsmq.pipelines.work import Progress, Ready, Watch
from openmsmq.spark.columns import ddl, nearest

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

STEP: Final = 200_000
"Rows of a step, about: it goes on to the end of the batch that reaches them."
TASK: Final = 25_000
"Rows of a task, about."
_ROWS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Replay:
    """What the table says."""

    path: Path
    place: Place
    where: str = "true"
    "SQL over the columns of the archive, `date` and `queue` among them."
    queue: str = ""
    "Where all go that `queues` does not name."
    queues: Mapping[str, str] = field(default_factory=dict)
    "Queues of the archive, and where their messages go; without `queue`, no others go."

    def target(self, queue: str) -> str:
        """Where messages of a queue go; without anything said, back to it. Empty for nowhere."""
        if not self.queue and not self.queues:
            return queue
        return self.queues.get(queue, self.queue)


def read_settings(table: Table) -> Replay:
    """The table `[replay]`."""
    return Replay(
        table.path("path"),
        read_place(table),
        where=table.text("where", "true"),
        queue=table.text("queue", ""),
        queues=table.mapping("queues"),
    )


def check(pipeline: Pipeline) -> None:
    """Fail before Spark is there."""
    settings: Replay = pipeline.settings
    found = {name for entry in Folder(settings.path).entries() for name in queues_of(entry)}
    if not found:
        raise FileError(f"replay.path: there is no archive in {settings.path}")
    for name in settings.queues:
        if name not in found:
            hint = nearest(name, sorted(found))
            raise FileError(f"replay.queues: {name!r} is not in the archive{hint}")
    for name in found:
        if settings.target(name) == name and name.endswith("$"):
            raise FileError(
                f"replay.queues: nothing can be sent to {name}: say where its messages go, or name"
                " only others"
            )
    check_targets(settings.place, sorted({settings.target(name) for name in found} - {""}))
    _steps(pipeline).check()


def _steps(pipeline: Pipeline) -> Steps:
    assert pipeline.checkpoint is not None
    settings: Replay = pipeline.settings
    what = {
        "where": settings.where,
        "queue": settings.queue,
        "queues": dict(settings.queues),
        "manager": settings.place.managers[0],
    }
    return Steps(pipeline.checkpoint, what)


def start(spark: SparkSession, pipeline: Pipeline, watch: Watch) -> None:
    """Send what was not sent yet."""
    settings: Replay = pipeline.settings
    archive, steps = Folder(settings.path), _steps(pipeline)
    _check_condition(spark, settings)
    steps.begin()
    total = 0
    for step in steps.todo(archive, STEP):
        if watch.stopping:
            break
        began = time.monotonic()
        sent = _send(spark, pipeline, step, steps.id)
        steps.done(step, sent)
        total += sent
        watch.show(Progress(step.number, sent, time.monotonic() - began))
    watch.tell(sent=total)


def _check_condition(spark: SparkSession, settings: Replay) -> None:
    """Let Spark look at the condition before anything is sent."""
    empty = spark.createDataFrame([], _schema(settings))
    empty.where(settings.where).schema  # noqa: B018  # analysed now


def _send(spark: SparkSession, pipeline: Pipeline, step: Step, owner: str) -> int:
    """Send a step; how many messages that were."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import count, lit

    settings: Replay = pipeline.settings
    counted = Observation()
    frame = messages(spark, settings, step.entries).observe(counted, count(lit(1)).alias("sent"))
    writer = frame.write.format(QUEUE).mode("append").options(**settings.place.options())
    writer = writer.option("writeId", f"replay/{pipeline.name}/{step.number}")
    writer.option("writeOwner", owner).save()
    sent: int = counted.get["sent"]
    return sent


def messages(spark: SparkSession, settings: Replay, entries: Iterable[Entry]) -> DataFrame:
    """Packets and the queues they go to, in the order of the archive."""
    parts = _tasks([file for entry in entries for file in entry.files])
    names = _columns(settings)
    data = Folder(settings.path).data
    frame = spark.range(0, len(parts), 1, len(parts)).mapInArrow(
        _reader(data, parts, names), _schema(settings)
    )
    found = frame.where(settings.where)
    target = _target(settings)
    return found.where(target.isNotNull()).select("packet", target.alias("queue"))


def _target(settings: Replay) -> Column:
    from pyspark.sql.functions import col, lit, when

    if not settings.queue and not settings.queues:
        return col("from_queue")
    otherwise = lit(settings.queue or None).cast("string")
    for name, queue in settings.queues.items():
        otherwise = when(col("from_queue") == name, lit(queue)).otherwise(otherwise)
    return otherwise


def _columns(settings: Replay) -> tuple[str, ...]:
    return columns_of("packet from_queue", settings.where)


def _schema(settings: Replay) -> str:
    return f"{ddl(_columns(settings))}, date date, queue string"


def _tasks(files: list[File]) -> list[list[str]]:
    """Files that tasks read, in their order."""
    found: list[list[str]] = []
    rows = TASK
    for file in files:
        if rows >= TASK:
            found.append([])
            rows = 0
        found[-1].append(file.path)
        rows += file.rows
    return found


Batches = Iterator["pa.RecordBatch"]


def _reader(data: Path, parts: list[list[str]], names: tuple[str, ...]) -> Callable[..., Batches]:
    """What reads the files of a task: Spark itself would read them in any order."""

    def read(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for path in parts[number]:
                    yield from read_file(data, path, names)

    return read


def read_file(data: Path, path: str, names: tuple[str, ...]) -> Batches:
    """The rows of a file of an archive, with its day and its queue."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    from openmsmq.spark.arrow import Columns
    from openmsmq.spark.block import Block

    day, queue = (_partition(path, name) for name in PARTITIONS)
    kept = [name for name in names if name in FACTS]
    with ParquetFile(data / path) as file:
        for batch in file.iter_batches(_ROWS, columns=kept):
            columns = {name: batch.column(name) for name in kept}
            if len(kept) < len(names):
                decoded = Columns(Block.of_packets(columns["packet"].to_pylist()))
                columns |= {name: decoded.column(name) for name in names if name not in kept}
            days = pa.repeat(pa.scalar(date.fromisoformat(day), pa.date32()), len(batch))
            queues = pa.repeat(pa.scalar(queue, pa.string()), len(batch))
            found = [*(columns[name] for name in names), days, queues]
            yield pa.RecordBatch.from_arrays(found, names=[*names, *PARTITIONS])


def queues_of(entry: Entry) -> set[str]:
    """The queues that a batch has messages of."""
    return {_partition(file.path, "queue") for file in entry.files}


def _partition(path: str, name: str) -> str:
    """What a path says about a partition."""
    [found] = [part for part in Path(path).parts if part.startswith(f"{name}=")]
    return unquote(found.partition("=")[2])


READY: Final = Ready(
    read_settings,
    check,
    start,
    streams=False,
    checkpoint=lambda name, settings: settings.path / "replays" / name,
)
