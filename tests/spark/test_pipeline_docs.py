"""The files of docs/pipelines.md run, in their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tools.generate_docs import ROOT

import openmsmq.pipelines
from openmsmq import Manager, Message
from openmsmq.pipelines.archive.verify import verify
from tests.docs.console import blocks
from tests.e2e.managers import ManagerProcess, running

pytestmark = pytest.mark.slow
PAGE = ROOT / "docs" / "pipelines.md"
QUEUES = ("shouted", "orders-again", "incoming", "urgent", "others")
TRANSFORM = """
def with_day(frame):
    return frame.selectExpr("label", "cast(arrived_time as date) as day")
"""


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A manager of its own: the page has names that other tests have, too."""
    process = ManagerProcess(tmp_path, "shop01")
    with running(process), process.connect() as connected:
        monkeypatch.setenv("OPENMSMQ_MANAGER", process.app)
        yield connected


def bodies(manager: Manager, name: str) -> list[str]:
    return [str(m.text) for m in manager.open_queue(name).peek_many(99, timeout=0)]


def test_the_files_run(
    spark: SparkSession,
    manager: Manager,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENMSMQ_RUNS", str(tmp_path / "runs"))
    orders = manager.create_queue("orders", journal=True)
    for name in QUEUES:
        manager.create_queue(name)
    orders.send_many(Message(text, label=f"order {text}") for text in ("pen", "book", "ink"))
    orders.receive(timeout=0)
    manager.open_queue("incoming").send_many(
        [Message('{"kind": "order"}'), Message("a"), Message("b", priority=7)]
    )
    (tmp_path / "shop.py").write_text(TRANSFORM)
    files = {text.split()[1]: text for text in blocks(PAGE, "toml")}
    names = ["shout.toml", "table.toml", "lake.toml", "open.toml", "again.toml", "sort.toml"]
    assert list(files) == names
    for name in (*names[1:], names[0]):
        (tmp_path / name).write_text(files[name])
        if name != "shout.toml":
            openmsmq.pipelines.run(name, spark=spark)
    assert verify(tmp_path / "tables").rows == 2
    found = spark.read.parquet(str(tmp_path / "table" / "data")).collect()
    assert {row.label for row in found} == {"order book", "order ink"}
    assert verify(tmp_path / "archive").rows == 3
    assert bodies(manager, "orders-again") == ["book", "ink"]
    assert (bodies(manager, "urgent"), bodies(manager, "others")) == (["b"], ["a"])
    assert bodies(manager, "orders") == ["book", "ink", '{"kind": "order"}']

    [example] = blocks(PAGE, "python")
    monkeypatch.setattr(
        openmsmq.pipelines,
        "run",
        lambda file, _run=openmsmq.pipelines.run: _run(file, spark=spark),
    )
    exec(compile(example, PAGE, "exec"), {})
    assert sorted(bodies(manager, "shouted")) == ["BOOK", "INK", '{"KIND": "ORDER"}']
