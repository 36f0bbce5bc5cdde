"""The steps of the demonstration; tests/e2e/test_demo.py takes all of them."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from pyspark.errors import PySparkValueError
from rich.console import Console

from openmsmq.demo import play
from openmsmq.demo.lake import Lake, OrdersTable
from openmsmq.demo.orders import KILLED, RUNNING, Moment
from openmsmq.demo.play import Outcome, Play
from openmsmq.demo.show import Screen
from openmsmq.pipelines.faults import PipelineError


class Both:
    """Managers that are only stopped."""

    def __init__(self, folder: Path) -> None:
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "check_installed", lambda: None)
    monkeypatch.setattr(play, "Managers", Both)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def new(*, keep: bool = False) -> tuple[Any, StringIO]:
    file = StringIO()
    return Play(Screen(Console(file=file, width=300)), 100, keep=keep), file


def test_nothing_is_left_behind() -> None:
    made, _ = new()
    with made:
        assert made.folder.is_dir()
    assert not made.folder.exists()
    assert made.managers.stops == 1


def test_who_wants_to_keep_it_keeps_what_is_finished() -> None:
    made, _ = new(keep=True)
    with made:
        made._done = True
    assert made.folder.exists()
    assert made.managers.stops == 0


@pytest.mark.parametrize("kind", [KeyboardInterrupt, OSError])
def test_what_ends_early_is_stopped_and_failures_leave_their_logs(
    kind: type[BaseException],
) -> None:
    made, file = new(keep=True)
    with pytest.raises(kind), made:
        raise kind
    assert made.managers.stops == 1
    assert made.folder.exists() is (kind is OSError)
    assert (str(made.folder) in file.getvalue()) is (kind is OSError)


def test_without_spark_nothing_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise PipelineError("java")

    monkeypatch.setattr(play, "check_installed", missing)
    with pytest.raises(PipelineError):
        new()
    assert list(tmp_path.iterdir()) == []


def test_spark_reads_then_writes_then_counts() -> None:
    class Recorded:
        def __init__(self) -> None:
            self.calls: list[str] = []

        def read_orders(self, count: int, show: Any) -> None:
            show(count)
            self.calls.append("read")

        def send_invoices(self) -> None:
            self.calls.append("send")

        def table(self) -> OrdersTable:
            self.calls.append("count")
            return OrdersTable(1, 1, 0, 1)

    made, _ = new()
    lake = Recorded()
    with made:
        assert made._work(cast(Lake, lake)) == OrdersTable(1, 1, 0, 1)
    assert lake.calls == ["read", "send", "count"]


def test_what_spark_complains_about_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Lake:
        raise PySparkValueError("first\nsecond")

    monkeypatch.setattr(play, "Lake", fail)
    made, _ = new()
    made.managers.office = SimpleNamespace(address="here")
    with made, pytest.raises(PipelineError, match=r"^first$"):
        made._spark()


def test_the_drawing_marks_the_time_without_the_office() -> None:
    moments = [
        Moment(0.0, 0, 0, RUNNING),
        Moment(1.0, 5, 5, KILLED),
        Moment(2.0, 9, 5, KILLED),
        Moment(3.0, 9, 9, RUNNING),
    ]
    root = ElementTree.fromstring(Outcome([], moments).drawing())
    marked = [e for e in root.iter() if e.get("class") == "shade"]
    assert len(marked) == 1
