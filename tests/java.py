"""Java for tests of Spark: `python -m tests.java` keeps the classes that Spark loads.

Java then takes them from `ARCHIVE` as they are in memory, instead of looking for fifteen thousand
of them, parsing and checking them, which is half of the work of a short test. It takes no archive
of another version of itself or of Spark, and goes without.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.e2e.managers import ManagerProcess, running

ARCHIVE: Final = Path(sys.prefix) / "spark.jsa"
SHORT: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"
"Java that lives for seconds has no use for its second compiler, which takes a quarter of its time."
PATIENCE: Final = 300
"Seconds: nothing waits longer for what is no more than convenient."


def options() -> str:
    """What tests give Java."""
    return f"{SHORT} -XX:SharedArchiveFile={ARCHIVE}" if ARCHIVE.exists() else SHORT


def main() -> None:
    """Do a little of everything with Spark, and let Java keep what it has loaded."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("Java takes too long"))
    signal.alarm(PATIENCE)
    with TemporaryDirectory() as name:
        folder = Path(name)
        made = folder / ARCHIVE.name
        os.environ["JDK_JAVA_OPTIONS"] = f"{SHORT} -XX:ArchiveClassesAtExit={made}"
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["PYSPARK_PYTHON"] = sys.executable
        process = ManagerProcess(folder, "shop01")
        with running(process):
            _work(process, folder)
        if made.exists():
            shutil.move(made, ARCHIVE)


def _work(process: ManagerProcess, folder: Path) -> None:
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from openmsmq import Message
    from openmsmq.spark import register

    with process.connect() as manager:
        for queue in "ab":
            manager.create_queue(queue).send(Message("text", label="x"))
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.port", "0")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.local.dir", str(folder / "local"))
        .getOrCreate()
    )
    register(spark)
    place = {"manager": process.app, "queue": "a"}
    rows = spark.read.format("msmq").options(**place).load()
    rows.write.parquet(str(folder / "table"))
    table = spark.read.parquet(str(folder / "table"))
    table.groupBy("label").count().orderBy("label").collect()
    table.select("label", "body").write.format("msmq").options(**place).mode("append").save()
    stream = spark.readStream.format("msmq").options(**place).load().select("label", "body")
    sink = stream.writeStream.format("msmq").options(**place | {"queue": "b"})
    sink = sink.option("checkpointLocation", str(folder / "checkpoint"))
    with suppress(
        PySparkException
    ):  # Spark gives a worker ten seconds to start, however busy it is
        sink.trigger(availableNow=True).start().awaitTermination()
    gateway: Any = SparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    main()
