"""Pipelines beside Spark's own file sink: queues to Parquet files and back, 1 KiB bodies.

`python -m bench.pipelines [MESSAGES]`, 300,000 unless told otherwise. One Spark session of this
computer runs them all. The archive writes manifest and checksums, and whole packets; Spark's sink
writes the same columns of the same stream, and nothing else. The replay sends all of it again.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import openmsmq
from bench.servers import free_port
from bench.transfer import Manager
from openmsmq import Message
from openmsmq.pipelines import run
from openmsmq.pipelines.archive import FACTS
from openmsmq.pipelines.session import start_session
from openmsmq.pipelines.spec import read_pipeline
from openmsmq.pipelines.verify import verify
from openmsmq.spark.columns import ddl

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH = 1000
BODY = bytes(range(256)) * 2
"The half of each body that packs well."
PER_TRIGGER = 100_000


def fill(manager: openmsmq.Manager, count: int) -> None:
    """Messages that differ a little, in a queue that three read, and a queue for the replay."""
    random = Random(1)  # noqa: S311  # nothing secret
    queue = manager.create_queue("bench")
    manager.create_queue("again").close()
    for first in range(0, count, BATCH):
        queue.send_many(
            Message(random.randbytes(512) + BODY, label=f"order {number}")
            for number in range(first, first + BATCH)
        )


def source(address: str, subscription: str) -> dict[str, Any]:
    """What each of them reads."""
    return {
        "manager": address,
        "queue": "bench",
        "subscription": subscription,
        "on_commit": "keep",
        "max_messages_per_trigger": PER_TRIGGER,
    }


def spark_sink(spark: SparkSession, address: str, folder: Path, subscription: str) -> None:
    """The same stream into Spark's own sink of files."""
    frame = (
        spark.readStream.format("msmq")
        .schema(ddl(FACTS))
        .option("manager", address)
        .option("queue", "bench")
        .option("subscription", subscription)
        .option("onCommit", "keep")
        .option("maxMessagesPerTrigger", PER_TRIGGER)
        .load()
    )
    writer = frame.writeStream.format("parquet").option("path", str(folder / subscription))
    writer = writer.option("compression", "zstd")
    writer = writer.option("checkpointLocation", str(folder / f"{subscription}-notes"))
    writer.trigger(availableNow=True).start().awaitTermination()


def rate(title: str, count: int, work: Callable[[], object], beside: float = 0.0) -> float:
    """Messages a second, printed."""
    start = time.perf_counter()
    work()
    found = count / (time.perf_counter() - start)
    ratio = f"{found / beside:8.2f}" if beside else ""
    print(f"{title:42s}{found:10,.0f}/s{ratio}", flush=True)
    return found


def main(count: int = 300_000) -> None:
    """Measure and print."""
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    service = Manager(folder, "bench", free_port(), {})
    service.start()
    try:
        with openmsmq.connect(service.address) as manager:
            fill(manager, count)
        measure(folder, service.address, count)
    finally:
        service.stop()
        shutil.rmtree(folder)


def measure(folder: Path, address: str, count: int) -> None:
    """All of it, in one session that is warm."""
    lake = {
        "name": "lake",
        "master": "local[2]",
        "source": source(address, "lake"),
        "archive": {"path": str(folder / "archive")},
    }
    again = {
        "name": "again",
        "replay": {"path": str(folder / "archive"), "manager": address, "queue": "again"},
    }
    spark = start_session(read_pipeline(lake), folder / "log")
    runs = folder / "runs"
    title = f"pipelines, {count:,} x 1 KiB"
    print(f"{title:42s}{'rate':>12s}{'ratio':>8s}")
    spark_sink(spark, address, folder, "warm")
    beside = rate(
        "queue to files, Spark's own sink",
        count,
        lambda: spark_sink(spark, address, folder, "spark"),
    )
    rate("archive, beside that", count, lambda: run(lake, spark=spark, runs=runs), beside)
    rate("verify", count, lambda: verify(folder / "archive"))
    rate("replay", count, lambda: run(again, spark=spark, runs=runs))
    spark.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
