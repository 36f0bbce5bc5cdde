"""Pipelines over REST: their runs, and a stop."""

from __future__ import annotations

from pathlib import Path

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
