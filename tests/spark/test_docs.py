"""The examples of docs/spark.md and of the README run, in their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tools.generate_docs import ROOT

from openmsmq import Manager, Message
from tests.docs.console import blocks
from tests.e2e.managers import ManagerProcess

pytestmark = pytest.mark.slow
PAGE = ROOT / "docs" / "spark.md"


def run(text: str, names: dict[str, Any]) -> None:
    exec(compile(text, PAGE, "exec"), names)


def test_the_examples_run(
    spark: SparkSession,
    service: ManagerProcess,
    manager: Manager,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    orders = manager.create_queue("orders")
    done, shouted = manager.create_queue("done"), manager.create_queue("shouted")
    orders.send_many(
        [Message("two books", label="order 1"), Message("a pen", label="order 2", priority=2)]
    )
    names = {"spark": spark, "manager_address": service.app, "checkpoints": str(tmp_path / "c")}
    *examples, packets = blocks(PAGE, "python")
    for text in blocks(PAGE.with_name("cluster.md"), "python"):
        run(text, dict(names))
    run(packets, dict(names))  # while there are some
    assert "order 2" in capfd.readouterr().out
    [five_lines] = [text for text in blocks(ROOT / "README.md", "python") if "spark" in text]
    run(five_lines.replace("127.0.0.1:1811", service.app), {})
    for text in examples:
        run(text, names)
    assert sorted(str(message.text) for message in done.receive_many(9)) == ["a pen", "two books"]
    found = sorted(str(message.text) for message in shouted.receive_many(9))
    assert found == ["A PEN", "TWO BOOKS"]
    assert orders.info().messages == 0
