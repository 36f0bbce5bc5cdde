"""`[archive]`: queues, journals and dead letters as files or tables, every message once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from openmsmq.pipelines.archive.stores import ArchivePlace, read_archive_place
from openmsmq.pipelines.spec import Pipeline
from openmsmq.pipelines.streams import check_source
from openmsmq.pipelines.tables import TomlTable
from openmsmq.pipelines.work import Ready, Watch
from openmsmq.spark.columns import READ, nearest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT: Final = "msmq-archive"
"What Spark reads an archive by: see `parts`."
PARTITIONS: Final = ("date", "queue")
FACTS: Final = (
    *("lookup_id", "arrival", "message_id", "label", "body_type", "priority", "message_class"),
    *("delivery", "transactional", "correlation_id", "app_specific", "sent_time", "arrived_time"),
    *("time_to_reach_queue", "time_to_be_received", "destination_queue", "response_queue"),
    *("admin_queue", "source_manager", "sender_id", "acknowledge", "journal", "dead_letter"),
    "dead_letter_queue",
    *("trace", "abort_count", "move_count", "from_queue", "from_manager", "packet"),
)
"What is always kept: the packet has the rest, body and extension, and all that can be sent again."


@dataclass(frozen=True, slots=True)
class Archive:
    """What the table says."""

    place: ArchivePlace
    columns: tuple[str, ...] = ()
    "Columns to keep beside the packet that holds them, for readers that know no packets."


def read_settings(table: TomlTable) -> Archive:
    """The table `[archive]`."""
    columns = table.texts("columns", ())
    for name in columns:
        if name not in READ:
            raise table.wrong("columns", f"has {name!r}, which is no column{nearest(name, READ)}")
    return Archive(read_archive_place(table), columns)


def check(pipeline: Pipeline) -> None:
    """Fail before Spark is there."""
    from openmsmq.pipelines.archive.loop import first_offset

    assert pipeline.source is not None
    settings: Archive = pipeline.settings
    settings.place.check("archive")
    check_source(pipeline.source)
    first_offset(settings.place.open().last(), pipeline)


def start(spark: SparkSession, pipeline: Pipeline, watch: Watch) -> None:
    """Archive until there is no more, or until it is stopped."""
    from openmsmq.pipelines.archive.loop import run

    settings: Archive = pipeline.settings
    columns = tuple(dict.fromkeys((*FACTS, *settings.columns)))
    run(spark, pipeline, settings.place, columns, watch)


def _old_checkpoint(name: str, settings: Archive) -> Path | None:
    """Where Spark kept what archives keep themselves now; for archives of before."""
    location = settings.place.location
    return location.path / "checkpoint" if location.is_local else None


READY: Final = Ready(
    read_settings, check, start, checkpoint=_old_checkpoint, needs_checkpoint=False
)
