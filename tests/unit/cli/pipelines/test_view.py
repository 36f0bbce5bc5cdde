"""What is seen of a pipeline that runs, and how signals stop it."""

from __future__ import annotations

import json
import os
import signal
from datetime import date
from io import StringIO

import pytest
from rich.console import Console

from openmsmq.cli.pipelines import view as pipeline_view
from openmsmq.cli.pipelines.view import JsonView, LiveView, Quiet, Signals, view
from openmsmq.pipelines.work import Progress


def test_a_program_gets_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = JsonView()
    lines.progress(Progress(0, 10, 0.5))
    lines.rows([{"a": b"\x01", "b": date(2026, 7, 1), "c": None}])
    batch, row = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (batch["event"], batch["rows"], batch["rate"]) == ("batch", 10, 20.0)
    assert row == {"event": "row", "a": "01", "b": "2026-07-01", "c": None}


def test_without_a_terminal_only_rows_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with Signals() as signals, view(as_json=False, signals=signals) as audience:
        audience.on_progress(Progress(0, 10, 0.5))
        audience.on_rows([])
        assert capsys.readouterr().out == ""
        audience.on_rows([{"label": "order\x1b[1m", "n": 1}])
    assert capsys.readouterr().out.split() == ["label", "n", "order\ufffd[1m", "1"]


def test_a_terminal_has_the_newest_batches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with LiveView() as screen:
        for number in range(12):
            screen.progress(Progress(number, 1000, 0.5, lag=12_345, oldest=90))
        screen.rows([{"a": 1}])
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    last = ["11", "1,000", "2,000", "12,345", "0.5", "s", "90", "s", "12,000"]
    assert last in shown
    assert not any(line[:1] == ["1"] and "1,000" in line for line in shown[-11:])


def test_a_terminal_tells_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = StringIO()
    terminal = Console(file=seen, force_terminal=True, width=100)
    monkeypatch.setattr(pipeline_view, "console", lambda: terminal)
    with LiveView() as screen:
        assert "Spark starts" in seen.getvalue()
        screen.started()
    _, _, end = seen.getvalue().partition("on its way")
    assert "\x1b[2K" in end, "the line is taken away"
    assert "BATCH" not in seen.getvalue()


def test_signals_are_counted_once_spark_is_there() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Signals() as signals, view(as_json=True, signals=signals) as audience:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        signals.count = 0
        audience.on_start()
        assert not audience.stopping()
        os.kill(os.getpid(), signal.SIGTERM)
        assert (audience.stopping(), audience.at_once()) == (True, False)
        os.kill(os.getpid(), signal.SIGINT)
        assert audience.at_once()
    assert signal.getsignal(signal.SIGTERM) is before


def test_quiet_is_quiet() -> None:
    with Quiet() as quiet:
        quiet.progress(Progress(0, 1, 1.0))
