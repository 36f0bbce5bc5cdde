"""`[deadletters]`: why messages died, by reason, queue and sender, as a page for a browser.

Dead letters are looked at and stay where they are.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from openmsmq.pipelines.reports.charts import bars
from openmsmq.pipelines.reports.page import ReportPage
from openmsmq.pipelines.reports.queues import check_readable, moment, peek
from openmsmq.pipelines.spec import ManagerOptions, Pipeline, read_place
from openmsmq.pipelines.tables import TomlTable
from openmsmq.pipelines.work import Progress, Ready, Watch
from openmsmq.properties.message import MessageClass, describe_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUEUES: Final = (".\\DeadLetter$", ".\\XactDeadLetter$")
MOST: Final = 20
"Queues and senders that are listed."
NEWEST: Final = 50
"Messages that are listed unless the file says otherwise."
Rows = list[tuple[Any, ...]]
_COLUMNS: Final = (
    *("message_id", "label", "message_class", "destination_queue", "source_manager"),
    *("sender_id", "sent_time", "arrived_time", "from_queue", "from_manager"),
)
_SPANS: Final = (60, 600, 3_600, 6 * 3_600, 86_400, 7 * 86_400, 30 * 86_400, 365 * 86_400)
_BARS: Final = 24
"Parts of the time that are drawn at most."

ADVICE: Final[Mapping[int, str]] = MappingProxyType(
    {
        MessageClass.NACK_BAD_DST_Q: "Create the queue, or correct the name that the sender uses.",
        MessageClass.NACK_DELETED: "Ask who deletes messages from outgoing queues.",
        MessageClass.NACK_REACH_QUEUE_TIMEOUT: "See openmsmq outgoing list where it was sent: the"
        " other computer was away too long, or the time to reach it is too short.",
        MessageClass.NACK_Q_EXCEED_QUOTA: "Read the queue faster, or raise its quota.",
        MessageClass.NACK_ACCESS_DENIED: "Let the sender write to the queue, or stop it.",
        MessageClass.NACK_HOP_COUNT_EXCEEDED: "Look for a circle in the routes between managers.",
        MessageClass.NACK_NOT_TRANSACTIONAL_Q: "Make the queue transactional, or send without a"
        " transaction.",
        MessageClass.NACK_NOT_TRANSACTIONAL_MSG: "Send in a transaction.",
        MessageClass.NACK_Q_DELETED: "Ask who deleted the queue.",
        MessageClass.NACK_Q_PURGED: "Ask who purged the queue.",
        MessageClass.NACK_RECEIVE_TIMEOUT: "Is the receiver running? Else give messages more time"
        " to be received.",
        MessageClass.NACK_RECEIVE_TIMEOUT_AT_SENDER: "Ask the other manager (openmsmq explain)"
        " whether it was received before it is sent again.",
        MessageClass.NACK_RECEIVE_REJECTED: "Look into the logs of the receiving application.",
    }
)
"What to do about a reason."


@dataclass(frozen=True, slots=True)
class Letters:
    """What the table says."""

    place: ManagerOptions
    queues: tuple[str, ...]
    report: Path
    newest: int


@dataclass(frozen=True, slots=True)
class DeadLetterFindings:
    """What the dead letters have in common."""

    total: int
    queues: int
    senders: int
    oldest: int | None
    latest: int | None
    by_class: Rows
    "A reason, and how many."
    by_queue: Rows
    "A queue, how many, and the most frequent reason."
    by_sender: Rows
    "A manager, a user, and how many."
    by_time: Rows
    "The beginning of a span of time, and how many."
    newest: Rows
    "When it died and was sent, label, reason, its queue, its manager, where it lies, its id."


def read_settings(table: TomlTable) -> Letters:
    """The table `[deadletters]`."""
    return Letters(
        read_place(table, several=True),
        table.texts("queue", QUEUES),
        table.path("report"),
        table.whole("newest", NEWEST),
    )


def check(pipeline: Pipeline) -> None:
    """Fail before Spark is there."""
    settings: Letters = pipeline.settings
    check_readable(settings.place, settings.queues)


def start(spark: SparkSession, pipeline: Pipeline, watch: Watch) -> None:
    """Look at all of them, and write the page."""
    settings: Letters = pipeline.settings
    began = time.monotonic()
    frame = peek(spark, settings.place, settings.queues, _COLUMNS).persist()
    try:
        found = find(spark, frame, settings.newest)
    finally:
        frame.unpersist()
    page(found, settings.place.managers, datetime.now(UTC)).write(settings.report)
    watch.show(Progress(0, found.total, time.monotonic() - began))
    watch.tell(report=str(settings.report))


def find(spark: SparkSession, letters: DataFrame, newest: int) -> DeadLetterFindings:
    """Count dead letters in every way."""

    def ask(query: str, **given: Any) -> Rows:
        return [tuple(row) for row in spark.sql(query, letters=letters, **given).collect()]

    [(total, queues, senders, oldest, latest)] = ask(
        "select count(*), count(distinct destination_queue),"
        " count(distinct source_manager, coalesce(sender_id, '')),"
        " min(unix_timestamp(arrived_time)), max(unix_timestamp(arrived_time)) from {letters}"
    )
    span = _span((latest or 0) - (oldest or 0))
    return DeadLetterFindings(
        *(total, queues, senders, oldest, latest),
        by_class=ask(
            "select message_class, count(*) as n from {letters} group by 1 order by n desc, 1"
        ),
        by_queue=ask(
            "select coalesce(destination_queue, '') as queue, count(*) as n, mode(message_class)"
            " from {letters} group by 1 order by n desc, 1 limit {most}",
            most=MOST,
        ),
        by_sender=ask(
            "select source_manager, coalesce(sender_id, ''), count(*) as n from {letters}"
            " group by 1, 2 order by n desc, 1, 2 limit {most}",
            most=MOST,
        ),
        by_time=ask(
            "select unix_timestamp(arrived_time) div {span} * {span} as at, count(*)"
            " from {letters} group by 1 order by 1",
            span=span,
        ),
        newest=ask(
            "select unix_timestamp(arrived_time), unix_timestamp(sent_time), coalesce(label, ''),"
            " message_class, coalesce(destination_queue, ''), source_manager,"
            " concat(from_manager, ': ', from_queue), message_id from {letters}"
            " order by arrived_time desc, message_id limit {newest}",
            newest=newest,
        ),
    )


def _span(seconds: int) -> int:
    """The parts in which so long a time is drawn."""
    return next((span for span in _SPANS if seconds // span < _BARS), _SPANS[-1])


def page(found: DeadLetterFindings, managers: tuple[str, ...], at: datetime) -> ReportPage:
    """The page about dead letters."""
    report = ReportPage("Dead letters", f"at {', '.join(managers)}, {at:%Y-%m-%d %H:%M:%S} UTC")
    report.facts(
        {
            "dead letters": found.total,
            "reasons": len(found.by_class),
            "queues they were for": found.queues,
            "senders": found.senders,
        }
    )
    if not found.total:
        report.paragraph(
            "There are none: every message arrived, or its sender did not ask for a dead letter."
        )
        return report
    _why(report, found)
    _where(report, found)
    _when(report, found)
    _which(report, found)
    return report


def _why(report: ReportPage, found: DeadLetterFindings) -> None:
    report.heading("Why")
    names = {_name(code): float(count) for code, count in found.by_class}
    report.chart(bars("Dead letters by reason", names))
    report.table(
        ("Reason", "What to do", ">Messages"),
        (
            (f"{describe_class(code)} (0x{code:04X})", ADVICE.get(code, ""), count)
            for code, count in found.by_class
        ),
    )


def _where(report: ReportPage, found: DeadLetterFindings) -> None:
    report.heading("For which queues")
    report.chart(
        bars("Dead letters by queue", {name: float(count) for name, count, _ in found.by_queue})
    )
    report.table(
        ("Queue they were for", "Mostly because", ">Messages"),
        ((name, describe_class(code), count) for name, count, code in found.by_queue),
    )
    if found.queues > len(found.by_queue):
        report.paragraph(f"These are {len(found.by_queue)} of {found.queues:,} queues.")
    report.heading("From whom")
    report.table(
        ("Queue manager of the sender", "User of the sender", ">Messages"),
        ((manager, user or "unknown", count) for manager, user, count in found.by_sender),
    )
    if found.senders > len(found.by_sender):
        report.paragraph(f"These are {len(found.by_sender)} of {found.senders:,} senders.")


def _when(report: ReportPage, found: DeadLetterFindings) -> None:
    report.heading("When")
    report.paragraph(f"From {moment(found.oldest)} to {moment(found.latest)} UTC.")
    last = found.by_time[-_BARS:]
    figures = {moment(at): float(count) for at, count in last}
    report.chart(bars("Messages that died, by the time in UTC", figures))


def _which(report: ReportPage, found: DeadLetterFindings) -> None:
    report.heading(f"The newest {len(found.newest):,}")
    report.paragraph("openmsmq explain ID tells the life of each.")
    report.table(
        ("Died", "Sent", "Label", "Reason", "Queue it was for", "Lies in", "ID"),
        (
            (moment(died), moment(sent), label, describe_class(code), queue, place, identifier)
            for died, sent, label, code, queue, _, place, identifier in found.newest
        ),
    )


def _name(code: int) -> str:
    """What the specification calls a reason, in fewer capitals."""
    try:
        return MessageClass(code).name.removeprefix("NACK_").replace("_", " ").lower()
    except ValueError:
        return f"0x{code:04X}"


READY: Final = Ready(read_settings, check, start, streams=False)
