"""Spark beside its own Parquet reader: a queue as a table, as a stream and as a sink, 1 KiB bodies.

`python -m bench.spark [MESSAGES]`. The manager, Spark and its Python workers are processes of one
machine; what each of them takes of its processors is reported for each row, since rates say little
on a machine that has other work.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from random import Random
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import openmsmq
from bench.service import Ours
from openmsmq import Message, aio
from openmsmq.pipelines import run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNT: Final = 1_000_000
BATCH: Final = 1000
AHEAD: Final = 4
FEW: Final = 5000
"Rows that are written before it is measured."
TICKS: Final = os.sysconf("SC_CLK_TCK")
OFTEN: Final = 0.2
"Seconds between two looks at the processes."


def body(number: int) -> bytes:
    """An order of 1 KiB."""
    start = f'{{"order": {number}, "customer": "customer {number % 997}", "document": "'
    document = b64encode(Random(number).randbytes(770)).decode()  # noqa: S311
    return f'{start}{document[: 1022 - len(start)]}"}}'.encode()


class Queues:
    """A manager in a process of its own, and what it has cost."""

    def __init__(self, folder: Path) -> None:
        self._service = Ours()
        self.address = self._service.start(folder)

    def stop(self) -> None:
        """End it."""
        self._service.stop()

    @property
    def process(self) -> int:
        """The process of the manager."""
        return self._service.process.pid

    def fill(self, count: int) -> None:
        """Send the messages that are read."""

        async def run() -> None:
            async with aio.connect(self.address) as manager:
                queue = await manager.open_queue("bench")
                firsts = iter(range(0, count, BATCH))

                async def one_after_the_other() -> None:
                    for first in firsts:
                        numbers = range(first, first + BATCH)
                        await queue.send_many(Message(body(n), label=f"order {n}") for n in numbers)

                await asyncio.gather(*(one_after_the_other() for _ in range(AHEAD)))

        asyncio.run(run())

    def messages(self, queue: str) -> int:
        """How many are in a queue."""
        with openmsmq.connect(self.address) as manager:
            return manager.open_queue(queue).info().messages


class Used(NamedTuple):
    """Seconds of processors that were used so far, by whom."""

    jvm: float
    python: float
    "The workers of Spark, and what plans for them."
    manager: float

    def since(self, before: Used, count: int) -> list[float]:
        """Microseconds for each of so many rows."""
        return [(new - old) / count * 1e6 for new, old in zip(self, before, strict=True)]


class Processes:
    """What the processes of Spark and the manager have used, those that are over included.

    The daemon of Spark's workers ignores their end, and the kernel then forgets what they have
    used: so it is looked at all the time, and what was seen last counts.
    """

    def __init__(self, jvm: int, manager: int) -> None:
        self._jvm, self._manager = jvm, manager
        self._workers: dict[tuple[int, str], float] = {}
        "By process and the time of its start."
        self._over = Event()
        self._lock = Lock()
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def now(self) -> Used:
        """What the kernel has counted."""
        with self._lock:
            found = self._look()
            workers = sum(self._workers.values())
            return Used(found[self._jvm].used, workers, found[self._manager].used)

    def _watch(self) -> None:
        while not self._over.wait(OFTEN):
            with self._lock:
                self._look()

    def _look(self) -> dict[int, Process]:
        found = {process.id: process for process in _processes()}
        children: dict[int, list[Process]] = {}
        for process in found.values():
            children.setdefault(process.parent, []).append(process)
        left = [self._jvm]
        while left:
            for process in children.get(left.pop(), ()):
                self._workers[process.id, process.start] = process.used
                left.append(process.id)
        return found


class Process(NamedTuple):
    """A process of this machine."""

    id: int
    parent: int
    start: str
    used: float
    "Seconds of processors."


def _processes() -> Iterator[Process]:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it is over
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            used = (int(fields[11]) + int(fields[12])) / TICKS
            yield Process(int(folder.name), int(fields[1]), fields[19], used)


class Bench:
    """What is measured, one after the other."""

    def __init__(
        self,
        spark: SparkSession,
        queues: Queues,
        processes: Processes,
        folder: Path,
        count: int,
    ) -> None:
        self._spark, self._queues, self._processes = spark, queues, processes
        self._folder, self._count = folder, count

    def _timed(self, what: str, work: Callable[[], object]) -> float:
        """Microseconds of processors for a row."""
        before, start = self._processes.now(), time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        parts = self._processes.now().since(before, self._count)
        each = "  ".join(f"{part:6.2f}" for part in (*parts, sum(parts)))
        print(f"{what:<44} {each}   {self._count / seconds:>9,.0f} rows/s", flush=True)
        return sum(parts)

    def _read(self, schema: str = "") -> DataFrame:
        reader = self._spark.read.format("msmq").option("manager", self._queues.address)
        reader = reader.option("queue", "bench")
        return (reader.schema(schema) if schema else reader).load()

    def batch(self) -> None:
        """The queue as a table, and the same rows from Parquet."""
        parquet = str(self._folder / "rows")
        self._timed("queue to Parquet, one batch", lambda: self._read().write.parquet(parquet))
        rows = self._spark.read.parquet(parquet)
        noop(rows)  # the first reads are for compilers
        noop(self._read())
        self._compare("all columns", rows, "")
        self._compare("label and body", rows.select("label", "body"), "label string, body binary")

    def _compare(self, columns: str, rows: DataFrame, schema: str) -> None:
        peer = self._timed(f"Parquet, {columns}", lambda: noop(rows))
        ours = self._timed(f"queue, {columns}", lambda: noop(self._read(schema)))
        print(f"{'':<44} {ours / peer:>6.2f} of Parquet", flush=True)

    def write(self, queue: str, *, transactional: bool) -> None:
        """A table into a queue."""
        with openmsmq.connect(self._queues.address) as manager:
            manager.create_queue(queue, transactional=transactional)
            manager.create_queue(f"{queue}-first", transactional=transactional)
        rows = self._spark.read.parquet(str(self._folder / "rows")).select("label", "body")
        self._into(rows.limit(FEW), f"{queue}-first")  # for compilers, and to start workers
        self._timed(f"write, {queue} queue", lambda: self._into(rows, queue))
        assert self._queues.messages(queue) == self._count

    def _into(self, rows: DataFrame, queue: str) -> None:
        sink = rows.write.format("msmq").option("manager", self._queues.address)
        sink.option("queue", queue).mode("append").save()

    def stream(self) -> None:
        """A stream from the queue to Parquet, until all is there."""

        def run() -> None:
            source = self._spark.readStream.format("msmq")
            source = source.option("manager", self._queues.address).option("queue", "bench")
            sink = source.load().writeStream
            sink = sink.format("parquet").option("path", str(self._folder / "stream"))
            sink = sink.option("checkpointLocation", str(self._folder / "checkpoint"))
            query = sink.trigger(availableNow=True).start()
            query.awaitTermination()
            later = [progress for progress in query.recentProgress if progress["batchId"]]
            rows = sum(progress["numInputRows"] for progress in later)
            seconds = sum(progress["durationMs"]["triggerExecution"] for progress in later) / 1000
            print(f"{'stream, its batches but the first':<44} {rows / seconds:>9,.0f} rows/s")

        self._timed("stream, queue to Parquet, from start to end", run)
        found = self._spark.read.parquet(str(self._folder / "stream")).count()
        assert found == self._count, found

    def replay(self) -> None:
        """An archive of the queue, sent again to another one."""
        folder = str(self._folder / "archive")
        source = {"manager": self._queues.address, "queue": "plain"}
        archive = {"name": "archive", "source": source, "archive": {"path": folder}}
        runs = self._folder / "runs"
        self._timed("archive", lambda: run(archive, spark=self._spark, runs=runs))
        with openmsmq.connect(self._queues.address) as manager:
            manager.create_queue("again")
        place = {"path": folder, "manager": self._queues.address, "queue": "again"}
        again = {"name": "replay", "replay": place}
        self._timed("replay", lambda: run(again, spark=self._spark, runs=runs))
        assert self._queues.messages("again") == self._count


def noop(rows: DataFrame) -> None:
    """Read all rows and drop them."""
    rows.write.format("noop").mode("overwrite").save()


def session(folder: Path) -> SparkSession:
    """Spark on this machine."""
    from pyspark.sql import SparkSession

    from openmsmq.spark import register

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    return spark


def main(count: int = COUNT) -> None:
    """Print all rates."""
    if find_spec("pyspark") is None or shutil.which("java") is None:
        print("Spark is not installed")
        return
    print(f"Spark: {count:,} messages of 1 KiB; microseconds of processors for each row")
    print(f"{'':<44}    JVM  Python  manager   all")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        queues, spark = Queues(folder), session(folder)
        try:
            queues.fill(count)
            jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
            with Processes(jvm, queues.process) as processes:
                bench = Bench(spark, queues, processes, folder, count)
                bench.batch()
                bench.write("plain", transactional=False)
                bench.write("transactional", transactional=True)
                bench.stream()
                bench.replay()
        finally:
            spark.stop()
            queues.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
