"""Spark beside its own Parquet reader: a queue as a table, as a stream and as a sink, 1 KiB bodies.

`python -m bench.spark [--messages N] [PART ...]`: a million messages, and all parts. The manager,
Spark and its Python workers are processes of one machine; what each of them takes of its processors
is reported for each row, since rates say little on a machine that has other work.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from argparse import ArgumentParser
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import openmsmq
from bench.service import Ours
from openmsmq import Message, aio
from openmsmq.app_protocol.payloads import COUNT_MAX
from openmsmq.pipelines import run
from openmsmq.spark.columns import default_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COUNT: Final = 1_000_000
BATCH: Final = 1000
AHEAD: Final = 4
FEW: Final = 5000
"Rows that are written before it is measured."
ROUNDS: Final = 3
"How often each read is measured."
QUEUES: Final = 1000
TICKS: Final = os.sysconf("SC_CLK_TCK")


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

    def fill(self, name: str, count: int) -> None:
        """Make a queue with the messages that are read."""

        async def run() -> None:
            async with aio.connect(self.address) as manager:
                queue = await manager.create_queue(name)
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
    compilers: float
    "What the JVM has used to compile, which is counted there, too."

    def since(self, before: Used, count: int) -> list[float]:
        """Microseconds for each of so many rows."""
        return [(new - old) / count * 1e6 for new, old in zip(self, before, strict=True)]


class Processes:
    """What the processes of Spark and the manager have used, those that are over included.

    Who starts a process waits for its end (see `spark_daemon`), and the kernel then counts what it
    has used with what its parent's children have used.
    """

    def __init__(self, jvm: int, manager: int) -> None:
        self._jvm, self._manager = jvm, manager

    def now(self) -> Used:
        """What the kernel has counted."""
        found = {process.id: process for process in _processes()}
        children: dict[int, list[Process]] = {}
        for process in found.values():
            children.setdefault(process.parent, []).append(process)
        python, left = found[self._jvm].over, [self._jvm]
        while left:
            for process in children.get(left.pop(), ()):
                python += process.used + process.over
                left.append(process.id)
        return Used(found[self._jvm].used, python, found[self._manager].used, self._compilers())

    def _compilers(self) -> float:
        threads = Path(f"/proc/{self._jvm}/task").iterdir()
        return sum(
            thread.used for thread in map(_process, threads) if thread and "Compiler" in thread.name
        )


class Process(NamedTuple):
    """A process or thread of this machine."""

    id: int
    name: str
    parent: int
    used: float
    "Seconds of processors."
    over: float
    "The same of its children that are over, and theirs."


def _process(folder: Path) -> Process | None:
    try:
        number, _, rest = (folder / "stat").read_text().partition(" (")
    except OSError:
        return None  # it is over
    name, _, rest = rest.rpartition(") ")
    fields = rest.split()
    used, over = (sum(map(int, fields[at : at + 2])) / TICKS for at in (11, 13))
    return Process(int(number), name, int(fields[1]), used, over)


def _processes() -> Iterator[Process]:
    return filter(None, map(_process, Path("/proc").glob("[0-9]*")))


class Bench:
    """What is measured, each part with queues of its own."""

    def __init__(
        self, spark: SparkSession, queues: Queues, processes: Processes, folder: Path, count: int
    ) -> None:
        self._spark, self._queues, self._processes = spark, queues, processes
        self._folder, self._count = folder, count

    def _timed(self, what: str, work: Callable[[], object]) -> float:
        """Microseconds of processors for a row."""
        before, start = self._processes.now(), time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        *parts, compilers = self._processes.now().since(before, self._count)
        each = "  ".join(f"{part:6.2f}" for part in (*parts, sum(parts), compilers))
        print(f"{what:<44} {each}   {self._count / seconds:>9,.0f} rows/s", flush=True)
        return sum(parts)

    def _seconds(self, what: str, work: Callable[[], object]) -> None:
        """Seconds of processors, not for a row."""
        before, start = self._processes.now(), time.perf_counter()
        work()
        *parts, compilers = self._processes.now().since(before, 1_000_000)
        each = "  ".join(f"{part:6.2f}" for part in (*parts, sum(parts), compilers))
        lasted = time.perf_counter() - start
        print(f"{what:<44} {each}   seconds ({lasted:.1f} in all)", flush=True)

    def _first(self, what: str, work: Callable[[], object]) -> None:
        """The same with few rows: for compilers, and to know what it costs to start."""
        self._seconds(f"{what}, {FEW} rows", work)

    def _read(self, queue: str, schema: str = "") -> DataFrame:
        reader = self._spark.read.format("msmq").option("manager", self._queues.address)
        reader = reader.option("queue", queue)
        return (reader.schema(schema) if schema else reader).load()

    @cached_property
    def _rows(self) -> DataFrame:
        """The messages of a queue as Parquet, all columns."""
        self._queues.fill("rows", self._count)
        parquet = str(self._folder / "rows")
        work = self._read("rows").write.parquet
        self._timed("queue to Parquet, one batch, not warm", lambda: work(parquet))
        return self._spark.read.parquet(parquet)

    def read(self) -> None:
        """The queue as a table, and the same rows from Parquet."""
        rows = self._rows
        self._compare("all columns", rows, default_schema(headers=True))
        self._compare("label and body", rows.select("label", "body"), "label string, body binary")

    def _compare(self, columns: str, rows: DataFrame, schema: str) -> None:
        """In turns, each once before: what comes later finds more that is compiled."""
        each = {
            "Parquet": rows,
            "queue": self._read("rows", schema),
            "nothing but Spark": self._ready(columns, schema),
        }
        for found in each.values():
            noop(found)
        used = dict.fromkeys(each, 0.0)
        for _ in range(ROUNDS):
            for what, found in each.items():
                used[what] += self._timed(f"{what}, {columns}", partial(noop, found))
        for what in ("queue", "nothing but Spark"):
            print(f"{what}: {used[what] / used['Parquet']:.2f} of Parquet", flush=True)

    def _ready(self, columns: str, schema: str) -> DataFrame:
        """Rows of a source that only hands over columns which are there."""
        import pyarrow as pa

        from openmsmq.spark.arrow import Columns
        from openmsmq.spark.block import Block

        with openmsmq.connect(self._queues.address) as manager:
            queue = manager.open_queue("rows")
            block = Block.of_slices(queue.peek_slices(COUNT_MAX, timeout=0))
            queues, names = [(queue.name, len(block))], self._read("rows", schema).columns
            batch = Columns(block, queues=queues, manager=manager.name).batch(names)
        file = str(self._folder / columns)
        with pa.OSFile(file, "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
        source = self._spark.read.format("ready").option("columns", schema)
        return source.option("file", file).option("rows", self._count).load()

    def write(self) -> None:
        """A table into a queue."""
        rows = self._rows.select("label", "body")
        for queue, is_transactional in (("plain", False), ("transactional", True)):
            with openmsmq.connect(self._queues.address) as manager:
                manager.create_queue(queue, transactional=is_transactional)
                manager.create_queue(f"{queue}-first", transactional=is_transactional)
            self._into(rows.limit(FEW), f"{queue}-first")  # for compilers, and to start workers
            self._timed(f"write, {queue} queue", partial(self._into, rows, queue))
            assert self._queues.messages(queue) == self._count

    def _into(self, rows: DataFrame, queue: str) -> None:
        sink = rows.write.format("msmq").option("manager", self._queues.address)
        sink.option("queue", queue).mode("append").save()

    def stream(self) -> None:
        """A stream from a queue to Parquet, until all is there."""
        self._queues.fill("stream-first", FEW)
        self._first("stream, queue to Parquet", lambda: self._to_parquet("stream-first"))
        self._queues.fill("stream", self._count)
        self._timed("stream, queue to Parquet", lambda: self._to_parquet("stream"))
        found = self._spark.read.parquet(str(self._folder / "stream")).count()
        assert found == self._count, found

    def queues(self) -> None:
        """Many queues with one message each, in one batch of a stream."""
        self._queues.fill("one-first", 1)
        self._seconds(
            "stream, one queue with one message", lambda: self._to_parquet("one-*", "one-first")
        )
        with openmsmq.connect(self._queues.address) as manager:
            for number in range(QUEUES):
                manager.create_queue(f"many-{number}").send(Message(body(number)))
        self._seconds(
            f"stream, {QUEUES:,} queues with one message",
            lambda: self._to_parquet("many-*", "many"),
        )
        found = self._spark.read.parquet(str(self._folder / "many")).count()
        assert found == QUEUES, found

    def _to_parquet(self, queue: str, name: str = "") -> None:
        source = self._spark.readStream.format("msmq")
        source = source.option("manager", self._queues.address).option("queue", queue)
        sink = source.load().writeStream
        name = name or queue
        sink = sink.format("parquet").option("path", str(self._folder / name))
        sink = sink.option("checkpointLocation", str(self._folder / f"checkpoint-{name}"))
        sink.trigger(availableNow=True).start().awaitTermination()

    def replay(self) -> None:
        """An archive of a queue, sent again to another one."""
        self._queues.fill("archive-first", FEW)
        self._first("archive", lambda: self._archive("archive-first"))
        self._first("replay", lambda: self._replay("archive-first"))
        self._queues.fill("archive", self._count)
        self._timed("archive", lambda: self._archive("archive"))
        self._timed("replay", lambda: self._replay("archive"))
        assert self._queues.messages("again-archive") == self._count

    def _archive(self, queue: str) -> None:
        source = {"manager": self._queues.address, "queue": queue}
        place = {"path": str(self._folder / queue)}
        self._run({"name": queue, "source": source, "archive": place})

    def _replay(self, queue: str) -> None:
        with openmsmq.connect(self._queues.address) as manager:
            manager.create_queue(f"again-{queue}")
        target = {"manager": self._queues.address, "queue": f"again-{queue}"}
        place = {"path": str(self._folder / queue)}
        self._run({"name": f"again-{queue}", "replay": place | target})

    def _run(self, pipeline: dict[str, object]) -> None:
        run(pipeline, spark=self._spark, runs=self._folder / "runs")


PARTS: Final[Mapping[str, Callable[[Bench], None]]] = {
    "read": Bench.read,
    "write": Bench.write,
    "stream": Bench.stream,
    "replay": Bench.replay,
    "queues": Bench.queues,
}


def noop(rows: DataFrame) -> None:
    """Read all rows and drop them."""
    rows.write.format("noop").mode("overwrite").save()


def session(folder: Path) -> SparkSession:
    """Spark on this machine."""
    from pyspark.sql import SparkSession

    from bench.spark_ready import ReadyRows
    from openmsmq.spark import register

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.extraJavaOptions", "-XX:-UseDynamicNumberOfCompilerThreads")
        .config("spark.python.daemon.module", "bench.spark_daemon")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    register(spark)
    spark.dataSource.register(ReadyRows)
    return spark


def main(count: int = COUNT, parts: Sequence[str] = tuple(PARTS)) -> None:
    """Print what each part takes."""
    if find_spec("pyspark") is None or shutil.which("java") is None:
        print("Spark is not installed")
        return
    print(f"Spark: {count:,} messages of 1 KiB; microseconds of processors for each row")
    print(f"{'':<44}    JVM  Python  manager   all  (compilers of the JVM)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        queues, spark = Queues(folder), session(folder)
        try:
            jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
            bench = Bench(spark, queues, Processes(jvm, queues.process), folder, count)
            for part in parts:
                PARTS[part](bench)
        finally:
            spark.stop()
            queues.stop()


def _asked() -> tuple[int, Sequence[str]]:
    parser = ArgumentParser(prog="python -m bench.spark")
    parser.add_argument("--messages", type=int, default=COUNT)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all unless told")
    given = parser.parse_args()
    return given.messages, given.parts or tuple(PARTS)


if __name__ == "__main__":
    main(*_asked())
