"""Several managers: read as one table or stream, and written to through one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import openmsmq
from openmsmq import Manager, Message
from tests.e2e.managers import ManagerProcess, running, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def other(
    service: ManagerProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ManagerProcess]:
    """Another queue manager, which knows where the first one is."""
    folder = tmp_path_factory.mktemp("other")
    process = ManagerProcess(folder, "shop02", peers={"shop01": service.place})
    with running(process):
        yield process


@pytest.fixture
def second(other: ManagerProcess) -> Iterator[Manager]:
    with openmsmq.connect(other.app) as connected:
        yield connected


def test_queues_of_two_managers_are_one_table_and_one_stream(
    spark: SparkSession,
    service: ManagerProcess,
    other: ManagerProcess,
    manager: Manager,
    second: Manager,
    fresh: Callable[[str], str],
    tmp_path: Path,
) -> None:
    def send(*numbers: int) -> None:
        for one, letter in ((manager, "a"), (second, "b")):
            one.open_queue(fresh("q")).send_many(
                [Message(b"", label=f"{letter}{number}") for number in numbers]
            )

    def stream() -> list[tuple[str, str]]:
        rows = spark.readStream.format("msmq").schema("label string, from_manager string")
        query = (
            rows.options(**options, maxMessagesPerTrigger="3")
            .load()
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "table"))
            .option("checkpointLocation", str(tmp_path / "c"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        found = spark.read.parquet(str(tmp_path / "table")).collect()
        return sorted((row.label, row.from_manager) for row in found)

    def expected(*numbers: int) -> list[tuple[str, str]]:
        names = {"a": "shop01", "b": "shop02"}
        return sorted((f"{x}{n}", name) for x, name in names.items() for n in numbers)

    options = {"managers": f"{service.app},{other.app}", "queue": fresh("q")}
    for one in (manager, second):
        one.create_queue(fresh("q"))
    send(1, 2)
    table = spark.read.format("msmq").schema("label string, from_manager string")
    found = table.options(**options).load().collect()
    assert sorted((row.label, row.from_manager) for row in found) == expected(1, 2)
    assert stream() == expected(1, 2)
    send(3)
    assert stream() == expected(1, 2, 3)


def test_rows_go_to_another_manager_through_one(
    spark: SparkSession,
    service: ManagerProcess,
    other: ManagerProcess,
    manager: Manager,
    second: Manager,
    fresh: Callable[[str], str],
) -> None:
    """One manager holds the decision; what is for another one leaves it in the same commit."""
    here = second.create_queue(fresh("here"), transactional=True)
    there = manager.create_queue(fresh("there"), transactional=True)
    names = {"h": fresh("here"), "t": rf"DIRECT=OS:shop01\private$\{fresh('there')}"}
    rows = [(f"{kind}{number}", name) for number in range(20) for kind, name in names.items()]
    frame = spark.createDataFrame(rows, "label string, queue string").repartition(2)
    frame.selectExpr("label", "x'' as body", "queue").write.format("msmq").option(
        "manager", other.app
    ).mode("append").save()
    until(lambda: there.info().messages == 20)
    for queue, kind in ((here, "h"), (there, "t")):
        found = [message.label for message in queue.peek_many(100, timeout=0)]
        assert sorted(found) == sorted(f"{kind}{number}" for number in range(20))
    assert second.prepared() == []
