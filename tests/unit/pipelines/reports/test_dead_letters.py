"""The report on dead letters; tests/spark/test_reports.py makes it of real ones."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.unit.pipelines.reports.test_page import HOSTILE, Tags

from openmsmq.pipelines.reports.dead_letters import (
    ADVICE,
    NEWEST,
    QUEUES,
    DeadLetterFindings,
    _name,
    _span,
    page,
    read_settings,
)
from openmsmq.pipelines.tables import PipelineFileError, TomlTable
from openmsmq.properties.message import MessageClass, describe_class, is_negative

AT = datetime(2026, 7, 1, 10, 0, tzinfo=UTC)
EMPTY = DeadLetterFindings(0, 0, 0, None, None, [], [], [], [], [])
TIMEOUT = int(MessageClass.NACK_RECEIVE_TIMEOUT)
FULL = DeadLetterFindings(
    total=3,
    queues=25,
    senders=30,
    oldest=1_700_000_000,
    latest=1_700_000_600,
    by_class=[(TIMEOUT, 2), (0x8003, 1)],
    by_queue=[(HOSTILE, 2, TIMEOUT), (r"DIRECT=OS:office\private$\bills", 1, 0x8003)],
    by_sender=[(HOSTILE, "", 2), ("6fa1c2b3-8e1d-4f0a-9c57-2b1d3e4f5a6b", "S-1-5-18", 1)],
    by_time=[(1_700_000_000, 2), (1_700_000_600, 1)],
    newest=[(1_700_000_600, 1_700_000_500, HOSTILE, TIMEOUT, HOSTILE, HOSTILE, HOSTILE, HOSTILE)],
)


def settings(**values: Any) -> TomlTable:
    return TomlTable("deadletters", values, Path("/here"))


def test_what_is_not_said_is_usual() -> None:
    found = read_settings(settings(report="page.html"))
    assert (found.queues, found.newest) == (QUEUES, NEWEST)
    assert found.report == Path("/here/page.html")


def test_without_a_report_there_is_nothing_to_do() -> None:
    with pytest.raises(PipelineFileError, match=r"deadletters\.report is missing"):
        read_settings(settings())


def test_the_page_says_why_where_from_whom_and_when() -> None:
    found = Tags(page(FULL, ("shop01:1811", "shop02:1811"), AT).page())
    text = " ".join(found.words)
    for words in (
        "at shop01:1811, shop02:1811, 2026-07-01 10:00:00 UTC",
        describe_class(TIMEOUT),
        ADVICE[TIMEOUT],
        "2 of 25 queues",
        "2 of 30 senders",
        "S-1-5-18",
        "unknown",
        "2023-11-14 22:13:20",
        "bills",
    ):
        assert words in text, words
    assert "svg" in found.tags


def test_what_others_wrote_is_text() -> None:
    page_text = page(FULL, (HOSTILE,), AT).page()
    assert "script" not in Tags(page_text).tags
    assert HOSTILE in Tags(page_text).words


def test_without_dead_letters_there_is_a_page_too() -> None:
    assert "There are none" in page(EMPTY, ("here",), AT).page()


def test_every_reason_to_fail_has_a_name_that_fits() -> None:
    for code in MessageClass:
        if is_negative(code):
            assert len(_name(code)) <= 28
    assert _name(0x9999) == "0x9999"


@pytest.mark.parametrize(
    ("seconds", "span"),
    [(0, 60), (23 * 60, 60), (24 * 60, 600), (86_400, 6 * 3_600), (10**12, 365 * 86_400)],
)
def test_time_is_drawn_in_few_parts(seconds: int, span: int) -> None:
    assert _span(seconds) == span
