"""Pipelines over REST: their runs, and a stop."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.console.harness import Desk, at_desk

from openmsmq.console.rest.calls import ApiCall
from openmsmq.pipelines.state import VARIABLE, Runs, new_run


def test_a_pipeline_is_seen_and_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))

    @at_desk
    async def see(desk: Desk) -> None:
        assert await desk.ask("GET", "/pipelines") == []
        with Runs(tmp_path).begin(new_run("lake", "archive", "lake.toml", None)) as recorder:
            (found,) = await desk.ask("GET", "/pipelines")
            assert (found["name"], found["state"], found["rows"]) == ("lake", "running", 0)
            stopped = await desk.ask("POST", "/pipelines/lake/stop")
            assert stopped["state"] == "stopping"
            assert recorder.is_asked_to_stop
            recorder.end("stopped")
        await desk.ask("POST", "/pipelines/lake/stop", status=409)
        await desk.ask("POST", "/pipelines/none/stop", status=404)
        assert [act[1] for act in desk.acts] == ["stop pipeline"]
        (tmp_path / "lake" / "run.json").write_text("[]")
        assert await desk.ask("GET", "/pipelines") == []

    see()


async def ended(desk: Desk, job: str) -> dict[str, Any]:
    """A job that is over."""
    task = desk.state.jobs.find(job).task
    assert task is not None
    await task
    found: dict[str, Any] = await desk.ask("GET", f"/jobs/{job}")
    return found


def test_a_pipeline_is_run_and_its_archive_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a program in place of the command line; `tests/unit/cli/pipelines` has that."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    file = tmp_path / "lake.toml"
    for name, kind, path in (("lake", "archive", file), ("copy", "route", file), ("gone", "", "x")):
        with Runs(tmp_path).begin(new_run(name, kind, str(path), None)) as recorder:
            recorder.end("done")
    file.touch()

    @at_desk
    async def see(desk: Desk) -> None:
        code = "import sys; print('{\"rows\": 3}'); sys.exit(sys.argv[2] == 'run')"
        desk.state.jobs._program = (sys.executable, "-c", code)
        assert [one["can_run"] for one in await desk.ask("GET", "/pipelines")] == [
            True,
            False,
            True,
        ]
        begun = await desk.ask("POST", "/pipelines/lake/verify", status=202)
        assert (begun["act"], begun["command"]) == (
            "verify",
            f"openmsmq pipeline verify {file}",
        )
        found = await ended(desk, begun["id"])
        assert (found["state"], found["result"]) == ("done", {"rows": 3})
        await desk.ask("POST", f"/jobs/{begun['id']}/stop", status=409)
        run = await desk.ask("POST", "/pipelines/copy/run", status=202)
        found = await ended(desk, run["id"])
        assert (await desk.ask("GET", "/jobs"))[0] == found
        assert (found["id"], found["state"], found["error"]) == (run["id"], "failed", "exit code 1")
        await desk.ask("POST", "/pipelines/copy/verify", status=422)
        await desk.ask("POST", "/pipelines/gone/run", status=422)
        await desk.ask("POST", "/pipelines/none/run", status=404)
        await desk.ask("GET", "/jobs/none", status=404)
        with Runs(tmp_path).begin(new_run("lake", "archive", str(file), None)):
            await desk.ask("POST", "/pipelines/lake/run", status=409)
        acts = [(act[1], act[3]) for act in desk.acts]
        assert acts[:2] == [("verify pipeline", "begun"), ("verify pipeline", "done")]
        assert acts[-1] == ("run pipeline", "failed: exit code 1")

    see()


@at_desk
async def test_a_right_is_needed_that_no_manager_is_asked_about(desk: Desk) -> None:
    def call(role: str, token: str) -> ApiCall:
        login = desk.state.sessions.begin(token, "someone", role)
        return ApiCall(desk.state, None, login)  # type: ignore[arg-type]

    for role, token in (("operate", "t"), ("admin", ""), ("", ""), ("send+operate", "t")):
        call(role, token).require("operate")
    for role, token in (("watch", "t"), ("", "t"), ("read+send", "")):
        with pytest.raises(Exception, match="operate"):
            call(role, token).require("operate")


def test_a_view_is_json() -> None:
    from openmsmq.console.rest.pipeline_calls import _view

    assert b'"lake"' in msgspec.json.encode(_view(new_run("lake", "route", "f", None)))
