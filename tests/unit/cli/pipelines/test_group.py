"""`openmsmq pipeline`, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unit.pipelines.entries import add

from openmsmq.cli.main import main
from openmsmq.pipelines.state import Runs, new_run
from openmsmq.pipelines.work import Backlog, Progress


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """One pipeline that is done, and one that was killed."""
    monkeypatch.setenv("OPENMSMQ_RUNS", str(tmp_path))
    made = Runs(tmp_path)
    with made.begin(new_run("lake", "archive", "lake.toml", tmp_path / "c")) as recorder:
        queues = (Backlog("shop01:1811", r".\private$\orders", 7, 3, 2048),)
        recorder.progress(Progress(0, 100, 2.0, lag=7, oldest=3, queues=queues))
        recorder.tell(path="/lake")
        recorder.end("done")
    with made.begin(new_run("copy", "sink", "copy.toml", None)):
        pass
    return made


def call(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["pipeline", *arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_pipelines_are_listed(runs: Runs) -> None:
    head, copy, lake = call("list").stdout.splitlines()
    assert head.split() == [
        *("NAME", "KIND", "STATE", "STARTED", "BATCHES", "ROWS", "ROWS/S", "LAG"),
    ]
    assert copy.split()[:3] == ["copy", "sink", "lost"]
    assert lake.split()[:3] + lake.split()[4:] == ["lake", "archive", "done", "1", "100", "50", "7"]
    found = [json.loads(line) for line in call("list", "--json").stdout.splitlines()]
    assert [one["state"] for one in found] == ["lost", "done"]
    assert found[1]["progress"]["rate"] == 50.0


def test_nothing_is_listed_where_nothing_ran(tmp_path: Path) -> None:
    assert call("list", "--runs", str(tmp_path)).stdout == ""


def test_the_status_of_one_pipeline_is_shown(runs: Runs) -> None:
    shown = call("status", "lake").stdout.splitlines()
    lines = dict(" ".join(line.split()).split(maxsplit=1) for line in shown)
    assert lines["state"] == "done"
    assert lines["last"] == "batch 100 rows in 2.0 s, 50 rows/s"
    assert lines["oldest"] == "waiting 3 s"
    assert lines["in"].endswith("7 wait at shop01:1811, the oldest for 3 s, 2.0 KiB reserved")
    assert lines["path"] == "/lake"
    assert "error" not in lines
    assert json.loads(call("status", "lake", "--json").stdout)["rows"] == 100
    assert "did you mean 'lake'?" in call("status", "lak", code=1).stderr


def test_one_that_does_not_run_is_not_stopped(runs: Runs) -> None:
    assert call("stop", "lake").stdout == "lake done\n"
    assert json.loads(call("stop", "copy", "--json").stdout)["state"] == "lost"


def test_one_that_goes_on_is_waited_for(runs: Runs) -> None:
    with runs.begin(new_run("copy", "sink", "", None)) as recorder:
        refused = call("stop", "copy", "--timeout", "0", code=3)
        assert "copy is still at its batch" in refused.stderr
        assert recorder.is_asked_to_stop


def test_an_archive_is_verified(tmp_path: Path) -> None:
    add(tmp_path, 0, "a", "b")
    head, queue, total = call("verify", str(tmp_path)).stdout.splitlines()
    assert head.split() == ["QUEUE", "MESSAGES"]
    assert queue.split() == [r".\private$\orders", "2"]
    assert total.startswith("2 messages, 1 batch, 1 file, ")
    add(tmp_path, 2, "c")
    result = call("verify", str(tmp_path), "--json", code=1)
    assert json.loads(result.stdout)["faults"] == ["batch 2 follows batch 0"]
    assert "batch 2 follows batch 0" in result.stderr
    lines = call("verify", str(tmp_path), "--json", "--progress", code=1).stdout.splitlines()
    steps = [json.loads(line) for line in lines[:-1]]
    assert [(one["done"], one["of"]) for one in steps] == [(0, 2), (1, 2), (2, 2)]


def test_a_wrong_file_is_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("[sorce]\n")
    assert "One of these tables is needed" in call("run", str(file), code=2).stderr


def test_names_are_completed(runs: Runs) -> None:
    from click.shell_completion import ShellComplete

    complete = ShellComplete(main, {}, "openmsmq", "_OPENMSMQ_COMPLETE")
    found = complete.get_completions(["pipeline", "stop"], "la")
    assert [(item.value, item.help) for item in found] == [("lake", "done")]
