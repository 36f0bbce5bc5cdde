"""Runs as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmsmq.pipelines.faults import PipelineError
from openmsmq.pipelines.state import Run, Runs, default_folder, new_run
from openmsmq.pipelines.work import Progress


def run(name: str = "lake") -> Run:
    return new_run(name, "archive", "/x/lake.toml", Path("/x/checkpoint"))


def test_a_run_is_seen_by_others(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    assert runs.names() == []
    with runs.begin(run()) as recorder:
        assert runs.find("lake").state == "running"
        recorder.progress(Progress(0, 10, 0.5, lag=3, oldest=1))
        recorder.progress(Progress(1, 5, 0.5))
        recorder.tell(path="/x")
        found = Runs(tmp_path).find("lake")
        assert (found.batches, found.rows, found.facts) == (2, 15, {"path": "/x"})
        assert found.progress == Progress(1, 5, 0.5)
        assert found.checkpoint == "/x/checkpoint"
        recorder.end("done")
    assert runs.names() == ["lake"]
    assert runs.find("lake").state == "done"
    assert runs.find("lake").ended


def test_one_that_was_killed_is_lost(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    with runs.begin(run()):
        pass  # which is what a kill leaves behind
    assert runs.find("lake").state == "lost"


def test_it_is_asked_to_stop(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    with runs.begin(run()) as recorder:
        assert not recorder.is_asked_to_stop
        runs.ask_to_stop("lake")
        assert recorder.is_asked_to_stop
        assert runs.find("lake").state == "stopping"
        recorder.end("stopped")
    runs.ask_to_stop("lake")
    with runs.begin(run()) as recorder:
        assert not recorder.is_asked_to_stop, "the request was for the run before"


def test_a_name_runs_once_at_a_time(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    with (
        runs.begin(run()),
        pytest.raises(PipelineError, match="'lake' runs already, as process"),
        runs.begin(run()),
    ):
        pass


def test_an_unknown_name_is_reported_with_the_nearest_one(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    with pytest.raises(PipelineError, match=f"no pipeline 'x'; none has run in {tmp_path}"):
        runs.find("x")
    with runs.begin(run()):
        pass
    with pytest.raises(PipelineError, match=r"did you mean 'lake'\?"):
        runs.find("lak")


def test_where_runs_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENMSMQ_RUNS", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.delenv("OPENMSMQ_RUNS")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_folder() == Path("/state/openmsmq/pipelines")
