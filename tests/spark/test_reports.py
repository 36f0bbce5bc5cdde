"""The reports on dead letters and on the lives of messages, out of real queues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pyspark.sql import SparkSession

from openmsmq import Acknowledge, Manager, Message
from openmsmq.names.format import PublicName, parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.report import build_report
from openmsmq.packet.view import PacketView
from openmsmq.pipelines import run
from openmsmq.pipelines.state import Run
from openmsmq.pipelines.tables import PipelineFileError
from tests.e2e.managers import ManagerProcess, until
from tests.unit.pipelines.reports.test_page import Tags

pytestmark = pytest.mark.slow
HOSTILE = "<script>alert('you')</script>"
ALL = Acknowledge.POS_ARRIVAL | Acknowledge.POS_RECEIVE | Acknowledge.NEG_RECEIVE


Maker = Callable[..., tuple[Run, str]]


@pytest.fixture
def report(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maker:
    """Runs a pipeline; what it reported, and its page."""
    monkeypatch.chdir(tmp_path)

    def make(kind: str, **settings: object) -> tuple[Run, str]:
        document = {"name": kind, kind: {"report": "page.html", **settings}}
        done = run(document, spark=spark, runs=tmp_path / "runs")
        return done, (tmp_path / "page.html").read_text()

    return make


def test_dead_letters_are_explained(
    manager: Manager, service: ManagerProcess, fresh: Callable[[str], str], report: Maker
) -> None:
    name = fresh("orders")
    orders = manager.create_queue(name)
    dead = manager.open_queue(".\\DeadLetter$")
    before = dead.info().messages
    for label in ("order 1", HOSTILE):
        orders.send(Message(b"", label=label, dead_letter=True, time_to_be_received=1))
    away = manager.open_queue(rf"DIRECT=OS:nowhere.invalid\private$\{name}")
    away.send(Message(b"", label="lost", dead_letter=True, time_to_reach_queue=1))
    until(lambda: dead.info().messages == before + 3)
    done, page = report("deadletters", manager=service.app)
    assert done.rows == before + 3
    found = Tags(page)
    assert "script" not in found.tags
    assert HOSTILE in found.words
    reasons = {
        "the message was not received in time",
        "the message did not reach its queue in time",
    }
    assert reasons <= set(found.words)
    assert any(name in words for words in found.words)
    assert dead.info().messages == before + 3


def trace_report(identifier: str, hop: str = "") -> Message:
    """A message that says what a report about a traced message says."""
    source, _, number = identifier.partition("\\")
    builder = PacketBuilder(UUID(source), parse_format_name(r"DIRECT=OS:far\private$\orders"))
    original = PacketView(builder.build(b"", message_id=int(number)))
    built = build_report(
        original,
        PublicName(UUID(int=1)),
        source=UUID(int=2),
        message_id=1,
        sent_time=1_700_000_000,
        next_hop=hop,
    )
    view = PacketView(built)
    return Message(bytes(view.body).decode("utf-16-le"), label=view.label)


def test_the_life_of_every_message_is_put_together(
    spark: SparkSession,
    manager: Manager,
    service: ManagerProcess,
    fresh: Callable[[str], str],
    report: Maker,
    tmp_path: Path,
) -> None:
    orders = manager.create_queue(fresh("orders"), journal=True)
    admin, traces = manager.create_queue(fresh("admin")), manager.create_queue(fresh("traces"))
    wanted: dict[str, Any] = {"acknowledge": ALL, "admin_queue": admin.name}
    taken = orders.send(Message(b"", label=HOSTILE, **wanted))
    orders.receive(timeout=0)
    failed = orders.send(Message(b"", label="late", time_to_be_received=1, **wanted))
    waiting = orders.send(Message(b"", label="waiting"))
    for hop in ("far", ""):
        traces.send(trace_report(waiting, hop))
    traces.send(Message("noise", label="not a report"))
    until(lambda: admin.info().messages == 4)
    sources = {
        "manager": service.app,
        "messages": [orders.name, rf"{orders.name}\Journal$"],
        "acknowledgements": [admin.name],
        "reports": [traces.name],
    }
    done, page = report("audit", read=[sources], table="table")
    assert done.rows == 3
    rows = {row.message_id: row for row in spark.read.parquet(str(tmp_path / "table")).collect()}
    assert rows.keys() == {taken, failed, waiting}
    events = {key: [one.event for one in row.timeline] for key, row in rows.items()}
    assert events[taken] == ["sent", "arrived", "received", "received"]
    assert events[failed] == ["arrived", "failed"]
    assert sorted(events[waiting]) == ["arrived", "passed on", "seen", "sent"]
    assert {row.label: row.outcome for row in rows.values()} == {
        HOSTILE: "received",
        None: "failed",
        "waiting": "arrived",
    }
    assert rows[taken].seconds_to_receive >= 0
    assert rows[failed].sent is None
    found = Tags(page)
    assert "script" not in found.tags
    assert HOSTILE in found.words
    assert any("passed on to far" in words for words in found.words)
    assert any("the message was not received in time" in words for words in found.words)
    report("audit", read=[sources], table="table")  # in place of the first one
    (tmp_path / "table" / "thesis.doc").touch()
    with pytest.raises(PipelineFileError, match=r"thesis\.doc"):
        report("audit", read=[sources], table="table")
