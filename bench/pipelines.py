"""Pipelines beside Spark's own file sink: queues to Parquet files and back, 1 KiB bodies.

`python -m bench.pipelines [MESSAGES]`, a million unless told otherwise. One Spark session of this
computer runs them all, warm, with batches of the usual size. The archive writes manifest and
checksums, and whole packets; Spark's sink writes the same columns of a queue with the same
messages, and nothing else. Both take the messages out of their queues, but for the last archive,
which leaves them there. The replay sends all of it again.
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
from openmsmq.pipelines.archive.archive import FACTS
from openmsmq.pipelines.archive.verify import verify
from openmsmq.pipelines.file import read_pipeline
from openmsmq.pipelines.session import start_session
from openmsmq.spark.columns import ddl

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH = 1000
BODY = bytes(range(256)) * 2
"The half of each body that packs well."
WARM = 20_000
"Messages that each way is tried with first."


def fill(manager: openmsmq.Manager, name: str, count: int) -> None:
    """A queue of messages that differ a little."""
    random = Random(1)  # noqa: S311  # nothing secret
    queue = manager.create_queue(name)
    for first in range(0, count, BATCH):
        queue.send_many(
            Message(random.randbytes(512) + BODY, label=f"order {number}")
            for number in range(first, first + BATCH)
        )


def archive(address: str, folder: Path, queue: str, on_commit: str = "remove") -> dict[str, Any]:
    """A pipeline that archives a queue."""
    return {
        "name": f"{queue}-{on_commit}",
        "master": "local[2]",
        "source": {"manager": address, "queue": queue, "on_commit": on_commit},
        "archive": {"path": str(folder / f"{queue}-{on_commit}")},
    }


def spark_sink(spark: SparkSession, address: str, folder: Path, queue: str) -> None:
    """A stream of the same columns into Spark's own sink of files."""
    reader = spark.readStream.format("msmq").schema(ddl(FACTS))
    frame = reader.option("manager", address).option("queue", queue).load()
    writer = frame.writeStream.format("parquet").option("path", str(folder / queue))
    writer = writer.option("compression", "zstd")
    writer = writer.option("checkpointLocation", str(folder / f"{queue}-notes"))
    writer.trigger(availableNow=True).start().awaitTermination()


def rate(title: str, count: int, work: Callable[[], object], beside: float = 0.0) -> float:
    """Messages a second, printed."""
    start = time.perf_counter()
    work()
    found = count / (time.perf_counter() - start)
    ratio = f"{found / beside:8.2f}" if beside else ""
    print(f"{title:42s}{found:10,.0f}/s{ratio}", flush=True)
    return found


def main(count: int = 1_000_000) -> None:
    """Measure and print."""
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    service = Manager(folder, "bench", free_port(), {})
    service.start()
    try:
        with openmsmq.connect(service.address) as manager:
            for name in ("spark", "lake"):
                fill(manager, f"warm-{name}", WARM)
                fill(manager, name, count)
            manager.create_queue("again").close()
        measure(folder, service.address, count)
    finally:
        service.stop()
        shutil.rmtree(folder)


def measure(folder: Path, address: str, count: int) -> None:
    """All of it, in one session that is warm."""
    lake = archive(address, folder, "lake")
    again = {
        "name": "again",
        "replay": {"path": lake["archive"]["path"], "manager": address, "queue": "again"},
    }
    spark = start_session(read_pipeline(lake), folder / "log")

    def piped(pipeline: dict[str, Any]) -> None:
        run(pipeline, spark=spark, runs=folder / "runs")

    title = f"pipelines, {count:,} x 1 KiB"
    print(f"{title:42s}{'rate':>12s}{'ratio':>8s}")
    spark_sink(spark, address, folder, "warm-spark")
    piped(archive(address, folder, "warm-lake"))
    own = rate(
        "queue to files, Spark's own sink",
        count,
        lambda: spark_sink(spark, address, folder, "spark"),
    )
    rate("archive, beside that", count, lambda: piped(lake), own)
    rate("verify", count, lambda: verify(Path(lake["archive"]["path"])))
    rate("replay", count, lambda: piped(again))
    kept = archive(address, folder, "again", on_commit="keep")
    rate("archive of what stays in its queue", count, lambda: piped(kept), own)
    spark.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
