"""The page about the lives of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from openmsmq.pipelines.reports.charts import bars
from openmsmq.pipelines.reports.page import ReportPage
from openmsmq.pipelines.reports.queues import moment
from openmsmq.properties.message import describe_class

Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class AuditFindings:
    """What is known about all messages."""

    outcomes: Mapping[str, int]
    "`received`, `failed`, `arrived` or `unknown`, and how many."
    latencies: Rows
    "A queue; twice how many, three percentiles and the most: until arrival, until receipt."
    spread: Rows
    "A power of two, and how many were received within the seconds from it to the next one."
    slowest: Rows
    "Id, label, queue, when it was sent, and events; likewise the others."
    failed: Rows
    unfinished: Rows

    @property
    def total(self) -> int:
        """All messages."""
        return sum(self.outcomes.values())


def page(found: AuditFindings, at: datetime) -> ReportPage:
    """What was found, as a page."""
    report = ReportPage("The lives of messages", f"{at:%Y-%m-%d %H:%M:%S} UTC")
    report.facts({"messages": found.total} | {k: n for k, n in found.outcomes.items()})
    report.paragraph(
        "Arrived messages were not received yet, or no receipt is known; of unknown ones only the"
        " sending is known. Times are whole seconds, as messages carry them, by the clocks of the"
        " computers that recorded them."
    )
    if not found.total:
        return report
    report.heading("How they ended")
    report.chart(bars("Messages by outcome", {k: float(n) for k, n in found.outcomes.items()}))
    _latencies(report, found)
    for title, rows in (
        ("Slowest to be received", found.slowest),
        ("Failed", found.failed),
        ("Not received yet, oldest first", found.unfinished),
    ):
        if rows:
            report.heading(title)
            report.table(("Label", "Queue", "What happened", "ID"), map(_row, rows))
    return report


def _latencies(report: ReportPage, found: AuditFindings) -> None:
    report.heading("How long it took")
    if found.spread:
        figures = {_steps(power): float(count) for power, count in found.spread}
        report.chart(bars("From sending to receipt", figures))
    for title, first in (("arrived", 1), ("were received", 4)):
        report.paragraph(f"Seconds from sending until messages {title}:")
        report.table(
            ("Queue", ">Messages", ">Half within", ">90 % within", ">99 % within", ">At most"),
            (
                (row[0], row[first], *_percentiles(row[first + 1]), row[first + 2])
                for row in found.latencies
                if row[first]
            ),
        )


def _percentiles(values: Sequence[float] | None) -> tuple[str, ...]:
    return tuple(f"{value:g}" for value in values or (0.0, 0.0, 0.0))


def _steps(power: int) -> str:
    """Seconds between two powers of two, less one: `0 s`, `1 to 2 s`, `3 to 6 s`."""
    first, last = (1 << power) - 1, (2 << power) - 2
    return f"{first} s" if first == last else f"{first} to {last} s"


def _row(row: tuple[Any, ...]) -> tuple[object, ...]:
    identifier, label, queue, sent, happened = row
    return label, queue, _story(sent, happened), identifier


def _story(sent: int | None, happened: Rows) -> str:
    """Events in one line: the first with its time, the others by the seconds behind it.

    What several queues report is shown once.
    """
    words: list[str] = []
    begin = sent
    for (time, event, code, hop), alike in groupby(happened, key=lambda one: one[:4]):
        begin = time if begin is None else begin
        when = moment(time) if not words else f"+{time - begin} s"
        reason = f" ({describe_class(code)})" if code else f" to {hop}" if hop else ""
        words.append(f"{when} {event}{reason} [{', '.join(one[4] for one in alike)}]")
    return " \N{RIGHTWARDS ARROW} ".join(words)
