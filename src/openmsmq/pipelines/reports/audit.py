"""`[audit]`: the life of every message in a table, and how long each part of it took.

Journals, dead letters, acknowledgements and trace reports are looked at and stay where they are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openmsmq.pipelines.reports.audit_page import AuditFindings, page
from openmsmq.pipelines.reports.queues import check_readable, peek
from openmsmq.pipelines.reports.timelines import (
    ACKNOWLEDGEMENTS,
    MESSAGES,
    REPORTS,
    of_acknowledgements,
    of_messages,
    of_reports,
    timelines,
)
from openmsmq.pipelines.spec import ManagerOptions, Pipeline, read_place
from openmsmq.pipelines.tables import PipelineFileError, TomlTable
from openmsmq.pipelines.work import Progress, Ready, Watch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLOWEST: Final = 20
"Messages in each list of the page, unless the file says otherwise."
_QUEUES: Final = 50
"Queues in the table of latencies."
_FIGURES: Final = tuple(
    figure
    for column in ("seconds_to_arrive", "seconds_to_receive")
    for figure in (
        f"count({column})",
        f"percentile({column}, array(0.5, 0.9, 0.99))",
        f"max({column})",
    )
)
_POWER: Final = "cast(log2(seconds_to_receive + 1) as int) as power"
"Seconds in steps that double: 0, 1 to 2, 3 to 6, and so on."
_LISTED: Final = (
    *("message_id", "label", "queue", "unix_timestamp(sent)"),
    "transform(timeline, e -> struct(unix_timestamp(e.time), e.event, e.code, e.hop, e.source))",
)
_SPARK_FILES: Final = ("part-", ".part-", "_SUCCESS", "._SUCCESS")


@dataclass(frozen=True, slots=True)
class Witness:
    """Queues of a manager, by what they can tell."""

    place: ManagerOptions
    messages: tuple[str, ...]
    "Journals, dead letters, and queues where messages wait."
    acknowledgements: tuple[str, ...]
    reports: tuple[str, ...]

    @property
    def queues(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.messages, *self.acknowledgements, *self.reports)


@dataclass(frozen=True, slots=True)
class Audit:
    """What the table says."""

    witnesses: tuple[Witness, ...]
    report: Path
    table: Path | None
    "Where the rows go, as Parquet."
    listed: int


def read_settings(table: TomlTable) -> Audit:
    """The table `[audit]`."""
    witnesses = tuple(map(_witness, table.tables("read")))
    if not witnesses:
        example = f"[[{table.key('read')}]] with `messages`, `acknowledgements` or `reports`"
        raise table.wrong("read", f"is missing: {example}")
    return Audit(
        witnesses,
        table.path("report"),
        table.path("table") if "table" in table else None,
        table.whole("listed", SLOWEST),
    )


def _witness(table: TomlTable) -> Witness:
    found = Witness(
        read_place(table, several=True),
        *(table.texts(key, ()) for key in ("messages", "acknowledgements", "reports")),
    )
    if not found.queues:
        raise table.wrong("messages", "is missing: name the queues to read")
    return found


def check(pipeline: Pipeline) -> None:
    """Fail before Spark is there."""
    settings: Audit = pipeline.settings
    for witness in settings.witnesses:
        check_readable(witness.place, witness.queues)
    if settings.table is not None and settings.table.exists():
        _check_replaceable(settings.table)


def _check_replaceable(folder: Path) -> None:
    """Only a table of an earlier audit is replaced, never the data of another program."""
    if not folder.is_dir():
        raise PipelineFileError(f"audit.table: {folder} is a file")
    others = [one.name for one in folder.iterdir() if not one.name.startswith(_SPARK_FILES)]
    if others:
        raise PipelineFileError(
            f"audit.table: {folder} has {others[0]} in it; give a folder of its own"
        )


def start(spark: SparkSession, pipeline: Pipeline, watch: Watch) -> None:
    """Put all together, and write the table and the page."""
    settings: Audit = pipeline.settings
    began = time.monotonic()
    rows = timelines(reduce(_union, events(spark, settings.witnesses))).persist()
    try:
        found = find(rows, settings.listed)
        if settings.table is not None:
            rows.write.mode("overwrite").parquet(str(settings.table))
    finally:
        rows.unpersist()
    page(found, datetime.now(UTC)).write(settings.report)
    watch.show(Progress(0, found.total, time.monotonic() - began))
    watch.tell(report=str(settings.report))
    if settings.table is not None:
        watch.tell(table=str(settings.table))


def events(spark: SparkSession, witnesses: tuple[Witness, ...]) -> list[DataFrame]:
    """What each kind of queue of each witness tells."""
    kinds = (
        ("messages", MESSAGES, of_messages),
        ("acknowledgements", ACKNOWLEDGEMENTS, of_acknowledgements),
        ("reports", REPORTS, of_reports),
    )
    return [
        tell(peek(spark, witness.place, queues, columns))
        for witness in witnesses
        for kind, columns, tell in kinds
        if (queues := getattr(witness, kind))
    ]


def _union(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.unionByName(right)


def find(rows: DataFrame, listed: int) -> AuditFindings:
    """What the page says."""
    from pyspark.sql.functions import expr

    def list_of(which: str, *order: str) -> list[tuple[Any, ...]]:
        ordered = rows.where(which).orderBy(*map(expr, order), "message_id")
        return _rows(ordered.limit(listed).selectExpr(*_LISTED))

    queues = rows.groupBy(expr("coalesce(queue, 'not known') as queue"))
    by_queue = queues.agg(*map(expr, _FIGURES), expr("count(*) as rows"))
    spread = rows.where("seconds_to_receive >= 0").groupBy(expr(_POWER)).count()
    return AuditFindings(
        outcomes=dict(_rows(rows.groupBy("outcome").count().orderBy("outcome"))),
        latencies=[
            *_rows(rows.selectExpr("'all'", *_FIGURES)),
            *_rows(by_queue.orderBy(expr("-rows"), "queue").limit(_QUEUES).drop("rows")),
        ],
        spread=_rows(spread.orderBy("power")),
        slowest=list_of("seconds_to_receive is not null", "-seconds_to_receive"),
        failed=list_of("outcome = 'failed'", "-unix_timestamp(failed)"),
        unfinished=list_of("outcome in ('arrived', 'unknown')", "sent"),
    )


def _rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


READY: Final = Ready(read_settings, check, start, streams=False)
