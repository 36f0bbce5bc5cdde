"""`openmsmq demo`, without the demonstration; tests/e2e/test_demo.py has it."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Self

import pytest
from click.testing import CliRunner, Result

from openmsmq.cli import demo
from openmsmq.cli.main import main
from openmsmq.demo.counts import Count
from openmsmq.demo.orders import KILLED, RUNNING, Moment
from openmsmq.demo.play import Outcome
from openmsmq.demo.show import Screen
from openmsmq.errors import ServiceNotAvailable
from openmsmq.pipelines.faults import PipelineError

MOMENTS = [Moment(0.0, 0, 0, RUNNING), Moment(1.0, 1, 1, KILLED), Moment(2.0, 2, 2, RUNNING)]


class Play:
    """One that has already been played."""

    found = 100

    def __init__(self, screen: Screen, count: int, *, keep: bool) -> None:
        self._count = count
        self.folder = Path("/tmp/somewhere")
        manager = SimpleNamespace(address="127.0.0.1:1", pid=4711)
        self.managers = SimpleNamespace(shop=manager, office=manager)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def run(self) -> Outcome:
        return Outcome([Count("orders", self._count, self.found)], MOMENTS)


@pytest.fixture(autouse=True)
def _played(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(demo, "Play", Play)
    yield
    signal.signal(signal.SIGTERM, before)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["demo", "--orders", "100", *arguments])


def test_exact_counts_are_shown() -> None:
    result = run()
    assert result.exit_code == 0
    assert "exactly once" in result.stdout
    assert "kill" not in result.stdout.replace("killed", "")


def test_a_wrong_count_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Play, "found", 99)
    result = run()
    assert result.exit_code == 1
    assert "WRONG" in result.stdout
    assert "exactly once" not in result.stdout
    assert "some counts are wrong" in result.stderr


def test_a_program_gets_the_counts_and_nothing_else() -> None:
    result = run("--json")
    assert json.loads(result.stdout) == {
        "counts": [{"what": "orders", "expected": 100, "found": 100}]
    }


def test_the_plot_is_drawn(tmp_path: Path) -> None:
    run("--plot", str(tmp_path / "plot.svg"))
    assert (tmp_path / "plot.svg").read_text().startswith("<svg")


class Live:
    """A console and traffic that are there already, or will never be."""

    error = ""

    def __init__(self, folder: Path, managers: object) -> None:
        self.pids: list[int] = []

    def start(self) -> str:
        if self.error:
            raise ServiceNotAvailable(self.error)
        self.pids = [1, 2]
        return "http://127.0.0.1:1809/login#code"


def test_what_is_kept_can_be_looked_at_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "LiveShow", Live)
    result = run("--keep")
    assert "http://127.0.0.1:1809/login#code" in result.stdout
    assert "openmsmq queue list --manager 127.0.0.1:1" in result.stdout
    assert "kill 1 2 4711 4711 && rm -r /tmp/somewhere" in result.stdout


def test_without_a_console_the_managers_can_be_ended_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demo, "LiveShow", Live)
    monkeypatch.setattr(Live, "error", "no port is free")
    result = run("--keep")
    assert "no port is free" in result.stdout
    assert "kill 4711 4711 && rm -r /tmp/somewhere" in result.stdout


def test_a_missing_requirement_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> Play:
        raise PipelineError("there is no Java")

    monkeypatch.setattr(demo, "Play", missing)
    result = run()
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "there is no Java" in result.stderr


def test_a_signal_to_end_it_is_like_an_interruption() -> None:
    with pytest.raises(KeyboardInterrupt):
        demo._interrupt(signal.SIGTERM, None)
