"""`[replay]`: messages of an archive sent again, each once, with all that their senders set.

The archive is gone through in steps of whole batches. Each step is written down before it begins,
and is one write with a name of its own: a step that is repeated after a crash has the same
messages under the same name, so that the queue manager takes it once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from openmsmq.pipelines.archive.archive import FORMAT
from openmsmq.pipelines.archive.batches import BATCH, POSITION, ArchiveStore
from openmsmq.pipelines.archive.files import alone
from openmsmq.pipelines.archive.rows import rows_of_batches
from openmsmq.pipelines.archive.stores import PARQUET, ArchivePlace, read_archive_place
from openmsmq.pipelines.archive.table_archive import OWN
from openmsmq.pipelines.replay.steps import ReplayStep, Steps
from openmsmq.pipelines.spec import ManagerOptions, Pipeline, columns_of, read_place
from openmsmq.pipelines.streams import QUEUE, check_targets
from openmsmq.pipelines.tables import PipelineFileError, TomlTable
from openmsmq.pipelines.work import Progress, Ready, Watch
from openmsmq.spark.columns import ddl, nearest

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

STEP: Final = 200_000
"Rows of a step, about: it goes on to the end of the batch that reaches them."


@dataclass(frozen=True, slots=True)
class Replay:
    """What the table says."""

    archive: ArchivePlace
    place: ManagerOptions
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


def read_settings(table: TomlTable) -> Replay:
    """The table `[replay]`."""
    return Replay(
        read_archive_place(table, find=True),
        read_place(table),
        where=table.text("where", "true"),
        queue=table.text("queue", ""),
        queues=table.mapping("queues"),
    )


def check(pipeline: Pipeline) -> None:
    """Fail before Spark is there."""
    settings: Replay = pipeline.settings
    settings.archive.check("replay")
    found = queues_of(settings.archive.open())
    if not found:
        place = settings.archive.location
        raise PipelineFileError(f"replay.path: there is no archive in {place}")
    if pipeline.checkpoint is None:
        raise PipelineFileError(
            "checkpoint is missing: a folder for how far the replay of an archive in an object"
            " store has come"
        )
    for name in settings.queues:
        if name not in found:
            hint = nearest(name, sorted(found))
            raise PipelineFileError(f"replay.queues: {name!r} is not in the archive{hint}")
    for name in found:
        if settings.target(name) == name and name.endswith("$"):
            raise PipelineFileError(
                f"replay.queues: nothing can be sent to {name}: say where its messages go, or name"
                " only others"
            )
    check_targets(
        "replay", settings.place, sorted({settings.target(name) for name in found} - {""})
    )
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
    archive = str(settings.archive.location)
    return Steps(pipeline.checkpoint, what, name=pipeline.name, archive=archive)


def start(spark: SparkSession, pipeline: Pipeline, watch: Watch) -> None:
    """Send what was not sent yet."""
    from openmsmq.pipelines.archive.table import ArchiveSource

    settings: Replay = pipeline.settings
    archive, steps = settings.archive.open(), _steps(pipeline)
    spark.dataSource.register(ArchiveSource)
    _check_condition(spark, settings)
    assert pipeline.checkpoint is not None
    pipeline.checkpoint.mkdir(parents=True, exist_ok=True)
    with alone(pipeline.checkpoint):
        steps.begin()
        sent = sum(_sent(spark, pipeline, archive, steps, watch))
    watch.tell(sent=sent)


def _sent(
    spark: SparkSession, pipeline: Pipeline, archive: ArchiveStore, steps: Steps, watch: Watch
) -> Iterator[int]:
    """Send step by step; how many messages each of them had."""
    for step in steps.todo(rows_of_batches(archive), STEP):
        if watch.stopping:
            return
        began = time.monotonic()
        sent = _send(spark, pipeline, step, steps)
        steps.done(step, sent)
        watch.show(Progress(step.number, sent, time.monotonic() - began))
        yield sent


def _check_condition(spark: SparkSession, settings: Replay) -> None:
    """Let Spark look at the condition before anything is sent."""
    empty = spark.createDataFrame([], _schema(settings))
    empty.where(settings.where).schema  # noqa: B018  # analysed now


def _send(spark: SparkSession, pipeline: Pipeline, step: ReplayStep, steps: Steps) -> int:
    """Send a step; how many messages that were."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import count, lit

    settings: Replay = pipeline.settings
    counted = Observation()
    frame = messages(spark, settings, step).observe(counted, count(lit(1)).alias("sent"))
    writer = frame.write.format(QUEUE).mode("append").options(**settings.place.options())
    writer = writer.option("writeId", steps.name_of(step))
    writer.option("writeOwner", steps.id).save()
    sent: int = counted.get["sent"]
    return sent


def messages(spark: SparkSession, settings: Replay, step: ReplayStep) -> DataFrame:
    """Packets and the queues they go to, in the order of the archive."""
    frame = (
        spark.read.format(FORMAT)
        .schema(_schema(settings))
        .option("path", str(settings.archive.location))
        .option("table_format", settings.archive.format)
        .option("catalog", settings.archive.name.catalog)
        .option("table", settings.archive.name.table)
        .option("first", step.first)
        .option("last", step.last)
        .load()
    )
    if _is_mixed(settings.archive, step):
        frame = frame.orderBy(BATCH, "from_queue", POSITION)
    target = _target(settings)
    found = frame.where(settings.where).withColumn("target", target)
    return found.where("target is not null").selectExpr("packet", "target as queue")


def _is_mixed(archive: ArchivePlace, step: ReplayStep) -> bool:
    """Whether the order of files is not that of the messages: some were compacted, or have days."""
    if archive.format == PARQUET:
        return False
    files = archive.open().files(step.first, step.last)
    days: dict[tuple[str, int], str] = {}
    return any(
        file.batches[0] != file.batches[1]
        or days.setdefault((file.source, file.batches[0]), file.date) != file.date
        for file in files
    )


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
    own = "" if settings.archive.format == PARQUET else f", {BATCH} bigint, {POSITION} bigint"
    return f"{ddl(_columns(settings))}, date date, queue string{own}"


def queues_of(archive: ArchiveStore) -> set[str]:
    """The queues that an archive has messages of."""
    return {file.source for file in archive.files()}


def _checkpoint(name: str, settings: Replay) -> Path | None:
    """Beside the data, in a folder that programs which tidy up tables leave alone."""
    location = settings.archive.location
    if not location.is_local:
        return None
    is_table = settings.archive.format != PARQUET
    return (location.path / OWN if is_table else location.path) / "replays" / name


READY: Final = Ready(read_settings, check, start, streams=False, checkpoint=_checkpoint)
