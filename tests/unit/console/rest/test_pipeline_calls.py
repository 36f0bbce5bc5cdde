"""Pipelines over REST: their runs, and a stop."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.console.harness import Desk, at_desk

from openmsmq.console.limits import REPORT_MAX
from openmsmq.console.rest.calls import ApiCall
from openmsmq.pipelines.state import VARIABLE, Runs, new_run
from openmsmq.pipelines.work import Backlog, Progress
from openmsmq.types.caller import Grant


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


def test_its_batches_and_its_report_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    report = tmp_path / "page.html"
    report.write_text("<h1>Dead letters</h1>")

    @at_desk
    async def see(desk: Desk) -> None:
        with Runs(tmp_path).begin(new_run("dead letters", "deadletters", "f", None)) as recorder:
            waits = (Backlog("shop01", r".\private$\orders", 7, 3), Backlog("shop01", "jobs", 2))
            recorder.progress(Progress(1, 100, 2.5004, 9, 3, waits))
            (found,) = await desk.ask("GET", "/pipelines")
            assert (found["batches"], found["seconds"], found["rate"]) == (1, 2.5, 40.0)
            assert [(one["queue"], one["lag"], one["oldest"]) for one in found["queues"]] == [
                (r".\private$\orders", 7, 3),
                ("jobs", 2, None),
            ]
            assert found["report"] == ""
            place = "/pipelines/dead%20letters/report"
            await desk.ask("GET", place, status=404)
            recorder.tell(report=str(report))
            (found,) = await desk.ask("GET", "/pipelines")
            assert found["report"] == f"/api/v1{place}"
            assert await desk.ask("GET", place) == report.read_text()
            assert desk.headers["Content-Type"] == "text/html; charset=utf-8"
            policy = desk.headers["Content-Security-Policy"].split("; ")
            assert {"default-src 'none'", "sandbox"} <= set(policy)
            assert "script" not in desk.headers["Content-Security-Policy"]
            with report.open("r+b") as file:
                file.truncate(REPORT_MAX + 1)
            await desk.ask("GET", place, status=413)
            report.unlink()
            assert (await desk.ask("GET", "/pipelines"))[0]["report"] == ""
            await desk.ask("GET", place, status=404)

    see()


@at_desk
async def test_who_is_limited_to_some_queues_has_no_pipelines(desk: Desk) -> None:
    """They read and write any queue, as the user of the service."""
    desk.state.grant_of = lambda token: Grant("admin", ("orders*",))
    for method, path in (
        ("GET", "/pipelines"),
        ("GET", "/pipelines/lake/report"),
        ("POST", "/pipelines/lake/run"),
        ("POST", "/pipelines/lake/stop"),
        ("GET", "/jobs"),
    ):
        await desk.ask(method, path, status=403)
    await desk.ask("POST", "/searches", {"filter": "label:a"}, status=201)


@at_desk
async def test_a_right_is_needed_that_no_manager_is_asked_about(desk: Desk) -> None:
    desk.state.grant_of = lambda token: None

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
