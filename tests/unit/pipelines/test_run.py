"""Following a run, without Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.client.services import Service

from openmsmq import Manager
from openmsmq.errors import QueueNotFound
from openmsmq.pipelines.custom import Sink
from openmsmq.pipelines.faults import PipelineError
from openmsmq.pipelines.run import Audience, run
from openmsmq.pipelines.state import Runs
from openmsmq.pipelines.tables import TomlTable
from openmsmq.pipelines.work import Progress, Ready

MODULE = "openmsmq.pipelines.run"  # where the package has the function instead


@dataclass
class Query:
    """A stream that has a batch with every look, until it has had all."""

    batches: int
    between: int = 0
    "Looks at which a batch goes on."
    looks: int = 0
    isActive: bool = True
    recentProgress: list[Any] = field(default_factory=list)
    status: dict[str, bool] = field(default_factory=lambda: {"isTriggerActive": True})

    def awaitTermination(self, timeout: float) -> bool:
        self.looks += 1
        if self.looks % (self.between + 1) == 0:
            number = len(self.recentProgress)
            self.recentProgress.append(
                SimpleNamespace(
                    batchId=number,
                    numInputRows=10,
                    durationMs={"addBatch": 400, "triggerExecution": 500},
                    sources=[SimpleNamespace(endOffset='{"here q": 10}')],
                )
            )
        self.isActive = len(self.recentProgress) < self.batches
        return not self.isActive

    def stop(self) -> None:
        self.isActive = False


@pytest.fixture
def follow(
    service: Service, manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs a pipeline of a kind that is made up, in whose place the query is."""
    monkeypatch.setattr(sys.modules[MODULE], "check_installed", lambda: None)

    def work(start: Callable[..., Any], audience: Audience | None = None) -> Any:
        def read(table: TomlTable) -> Sink:
            return Sink(table.text("kind"))

        ready = Ready(read, lambda pipeline: None, start)
        monkeypatch.setattr("openmsmq.pipelines.file.KINDS", {"sink": ready})
        monkeypatch.setattr(sys.modules[MODULE], "KINDS", {"sink": ready})
        document = {
            "name": "test",
            "checkpoint": "c",
            "source": {"queue": "orders", "manager": service.address},
            "sink": {"kind": "x"},
        }
        session: Any = object()
        return run(document, spark=session, runs=tmp_path / "runs", audience=audience)

    return work


def test_every_batch_is_shown_once(follow: Callable[..., Any]) -> None:
    shown: list[Progress] = []
    found = follow(lambda *_: Query(3, between=2), Audience(on_progress=shown.append))
    assert [(one.batch, one.rows, one.seconds, one.lag) for one in shown] == [
        (number, 10, 0.5, 0) for number in range(3)
    ]
    assert (found.state, found.batches, found.rows) == ("done", 3, 30)


def test_reports_of_a_stream_that_waits_are_no_batches(follow: Callable[..., Any]) -> None:
    """They have the number of the batch that comes next, whose rows the pipeline counts itself."""

    def report(batch: int, **durations: int) -> SimpleNamespace:
        sources = [SimpleNamespace(endOffset="{}")]
        return SimpleNamespace(batchId=batch, numInputRows=0, durationMs=durations, sources=sources)

    query, shown = Query(0), list[Progress]()
    idle = [report(1, latestOffset=2, triggerExecution=3)] * 2
    done = [report(n, addBatch=400, triggerExecution=500) for n in range(2)]
    query.recentProgress = [done[0], *idle, done[1], report(2, triggerExecution=3)]
    query.looks, query.between = 0, 9  # no batches of its own

    def start(spark: object, pipeline: object, watch: Any) -> Query:
        watch.count(0, 10)
        watch.count(1, 7)
        return query

    found = follow(start, Audience(on_progress=shown.append))
    assert [(one.rows, one.seconds, one.lag) for one in shown] == [(10, 0.5, None), (7, 0.5, 0)]
    assert (found.batches, found.rows) == (2, 17)


def test_it_stops_after_the_batch_it_is_at(follow: Callable[..., Any]) -> None:
    query = Query(100, between=4)
    found = follow(lambda *_: query, Audience(stopping=lambda: query.looks > 6))
    assert (found.state, found.batches) == ("stopped", 2)
    assert not query.isActive


def test_it_stops_between_batches(follow: Callable[..., Any]) -> None:
    query = Query(100, between=4, status={"isTriggerActive": False})
    found = follow(lambda *_: query, Audience(stopping=lambda: True))
    assert (found.state, found.batches) == ("stopped", 0)


def test_it_stops_at_once(follow: Callable[..., Any]) -> None:
    query = Query(100, between=4)
    found = follow(lambda *_: query, Audience(stopping=lambda: True, at_once=lambda: True))
    assert (found.state, found.batches) == ("stopped", 0)


def test_others_ask_it_to_stop(follow: Callable[..., Any], tmp_path: Path) -> None:
    query = Query(100)
    runs = Runs(tmp_path / "runs")
    found = follow(lambda *_: query, Audience(on_progress=lambda _: _ask(runs)))
    assert (found.state, found.batches) == ("stopped", 2)


def _ask(runs: Runs) -> None:
    runs.ask_to_stop("test")


def test_what_a_batch_pipeline_tells(follow: Callable[..., Any]) -> None:
    def start(spark: Any, pipeline: Any, watch: Any) -> None:
        watch.show(Progress(0, 5, 1.0))
        watch.show_rows([{"a": 1}])
        watch.tell(report="x.html")

    rows: list[Any] = []
    found = follow(start, Audience(on_rows=rows.extend))
    assert (found.state, found.rows, found.facts) == ("done", 5, {"report": "x.html"})
    assert rows == [{"a": 1}]


def test_a_failure_is_one_line_and_a_log(follow: Callable[..., Any], tmp_path: Path) -> None:
    def start(*_: Any) -> None:
        raise RuntimeError("[X.Y] so it is. SQLSTATE: 1\nat java")

    with pytest.raises(PipelineError, match=r"^so it is. \(all of it: .*log\)$"):
        follow(start)
    found = Runs(tmp_path / "runs").find("test")
    assert (found.state, found.error) == ("failed", "so it is.")
    assert "at java" in Path(found.log).read_text()


def test_our_own_errors_stay_what_they_are(follow: Callable[..., Any], tmp_path: Path) -> None:
    def start(*_: Any) -> None:
        raise QueueNotFound("orders")

    with pytest.raises(QueueNotFound):
        follow(start)
    assert Runs(tmp_path / "runs").find("test").state == "failed"


def test_an_interrupted_run_was_stopped(follow: Callable[..., Any], tmp_path: Path) -> None:
    def start(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow(start)
    assert Runs(tmp_path / "runs").find("test").state == "stopped"
