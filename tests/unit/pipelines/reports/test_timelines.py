"""What queues tell about messages; tests/spark/test_reports.py has Spark put it together."""

from __future__ import annotations

import re
from uuid import UUID

from openmsmq.names.format import PublicName, parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.report import build_report
from openmsmq.packet.view import PacketView
from openmsmq.pipelines.reports.timelines import (
    _HOP,
    _MOMENTS,
    _REPORT,
    ACKNOWLEDGEMENTS,
    EVENTS,
    MESSAGES,
    REPORTS,
)
from openmsmq.spark.columns import READ

SOURCE = UUID("6fa1c2b3-8e1d-4f0a-9c57-2b1d3e4f5a6b")


def test_queues_have_the_columns_that_are_read() -> None:
    assert {*MESSAGES, *ACKNOWLEDGEMENTS, *REPORTS} <= READ.keys()


def test_every_moment_of_a_row_is_an_event() -> None:
    assert set(_MOMENTS) <= set(EVENTS)


def test_reports_are_understood_as_they_are_written() -> None:
    builder = PacketBuilder(SOURCE, parse_format_name(r"DIRECT=OS:far\private$\orders"))
    original = PacketView(builder.build(b"", message_id=1001))
    queue = PublicName(UUID(int=1))
    view = PacketView(
        build_report(original, queue, source=SOURCE, message_id=1, sent_time=0, next_hop="10.0.0.7")
    )
    found = re.search(_REPORT, view.label)
    assert found is not None
    assert (int(found[1], 16), found[3]) == (1001, str(SOURCE))
    hop = re.search(_HOP, bytes(view.body).decode("utf-16-le"))
    assert hop is not None
    assert hop[1] == "10.0.0.7"
