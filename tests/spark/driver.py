"""A Spark driver of its own, to be killed: `python -m tests.spark.driver JSON`.

It moves what is in a queue to a table of Parquet files, or to another queue, and ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.spark.moments import DRIVER, VARIABLE, KillingDataSource, awaited, watch


@dataclass(frozen=True)
class Job:
    """What is to be done."""

    manager: str
    source: str
    folder: str
    "Of checkpoints and files."
    sink: str = ""
    "The queue that messages go to; without it they go to files."
    master: str = "local[2, 4]"
    per_trigger: int = 20
    settings: dict[str, str] | None = None

    def text(self) -> str:
        """As the command line has it."""
        return json.dumps(asdict(self))


def session(job: Job) -> SparkSession:
    """A session for one job."""
    builder = (
        SparkSession.builder.master(job.master)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", f"{job.folder}/warehouse")
        .config("spark.local.dir", f"{job.folder}/local")
        .config("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    )
    for name in (VARIABLE, DRIVER, "PYTHONPATH"):
        if name in os.environ:
            builder = builder.config(f"spark.executorEnv.{name}", os.environ[name])
    for name, value in (job.settings or {}).items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    made.dataSource.register(KillingDataSource)
    return made


def move(spark: SparkSession, job: Job) -> None:
    """Move what is there."""
    rows = (
        spark.readStream.format("msmq")
        .schema("label string, body binary")
        .option("manager", job.manager)
        .option("queue", job.source)
        .option("maxMessagesPerTrigger", str(job.per_trigger))
        .option("messagesPerPartition", str(max(1, job.per_trigger // 2)))
        .load()
    )
    writer: Any = rows.writeStream.option("checkpointLocation", f"{job.folder}/checkpoint")
    if job.sink:
        writer = writer.format("msmq").option("manager", job.manager).option("queue", job.sink)
    else:
        writer = writer.format("parquet").option("path", f"{job.folder}/table")
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()


def main() -> None:
    """Do it, unless killed."""
    os.environ[DRIVER] = str(os.getpgrp())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    job = Job(**json.loads(sys.argv[1]))
    Path(job.folder).mkdir(exist_ok=True)
    for moment in awaited():
        if moment.name.startswith("file:"):
            threading.Thread(target=watch, args=(moment,), daemon=True).start()
    spark = session(job)
    move(spark, job)
    spark.stop()


if __name__ == "__main__":
    main()
