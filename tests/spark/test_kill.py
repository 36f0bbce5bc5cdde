"""Kill -9 of the driver, of executors and of the manager: every message is there once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any, Final

import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import SparkSession

from openmsmq import Manager, Message
from tests.e2e.managers import ManagerProcess, free_port
from tests.spark.conftest import SOURCES
from tests.spark.driver import Job, move
from tests.spark.moments import Moment, Victim, travelling

pytestmark = pytest.mark.slow
ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 600
ROUND: Final = 60
"Messages that are new with every run of a driver: three batches of two tasks."

Kill = tuple[str, int, Victim]
"A moment, how often it has come by then, and who is killed."
Named = tuple[str, int]
"A moment, and how often it has come by then; of a file, which batch it is of."
READING: Final[tuple[Named, ...]] = (
    ("begun", 1),
    ("reserve:before", 1),
    ("reserve:after", 1),
    ("reserve:after", 2),
    ("file:checkpoint/offsets/", 0),
    ("planned", 2),
    ("read:before", 1),
    ("read:middle", 3),
    ("read:after", 4),
    ("file:checkpoint/commits/", 1),
    ("finish:before", 1),
    ("finish:after", 1),
    ("finish:after", 2),
)
"Moments of every stream."
TO_FILES: Final[tuple[Named, ...]] = (
    *READING,
    ("file:table/_spark_metadata/", 0),
    ("file:table/_spark_metadata/", 2),
)
TO_QUEUE: Final[tuple[Named, ...]] = (
    *(READING[place] for place in (0, 2, 4, 7, 9, 10, 12)),
    ("write:middle", 1),
    ("write:prepared", 1),
    ("write:prepared", 4),
    ("decide:before", 1),
    ("decide:after", 1),
    ("decide:before", 2),
    ("decide:after", 3),
    ("file:checkpoint/commits/", 2),
)
IN_TASKS: Final[tuple[Named, ...]] = (
    ("read:before", 1),
    ("read:middle", 2),
    ("write:middle", 3),
    ("write:prepared", 1),
    ("write:prepared", 4),
)
OF_MANAGER: Final[tuple[Named, ...]] = (
    ("reserve:before", 2),
    ("read:middle", 1),
    ("write:middle", 2),
    ("decide:before", 2),
    ("finish:before", 1),
)


class Pipeline:
    """A stream that is killed and goes on, and what went into it."""

    def __init__(self, folder: Path, *, sink: str = "", transactional: bool = True) -> None:
        self.service = ManagerProcess(folder, "shop01").start()
        self.sent: list[str] = []
        self._folder = folder
        self._sink = sink
        self._runs = 0
        self.job = Job(self.service.app, "in", str(folder / "job"), sink)
        with self.service.connect() as manager:
            manager.create_queue("in", transactional=transactional)
            if sink:
                manager.create_queue(sink, transactional=transactional)

    def send(self, count: int = ROUND) -> None:
        """Put new messages into the queue, urgent ones among them."""
        first = len(self.sent)
        new = [f"m{number}" for number in range(first, first + count)]
        self.sent += new
        with self.service.connect() as manager:
            queue = manager.open_queue("in")
            with manager.transaction(stage=True) as transaction:
                queue.send_many(
                    [Message(b"x", label=text, priority=len(text) % 8) for text in new],
                    transaction=transaction,
                )

    def run(self, *kills: Kill) -> None:
        """Run a driver, until it is done or killed; a manager that is killed is started again."""
        self._runs += 1
        moments = [
            self._placed(Moment(name, time, victim, str(self.place(at)), self.service.pid))
            for at, (name, time, victim) in enumerate(kills)
        ]
        for moment in moments:
            Path(moment.folder).mkdir(parents=True)
        environment = os.environ | travelling(moments)
        environment["PYTHONPATH"] = os.pathsep.join(map(str, (SOURCES, ROOT)))
        command = [sys.executable, "-m", "tests.spark.driver", self.job.text()]
        log = self._folder / f"log{self._runs}"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, env=environment, stdout=output, stderr=output, start_new_session=True
            )
        victims = {moment.victim for moment in moments}
        try:
            if "manager" in victims:
                self._revive(process)
            code = process.wait(PATIENCE)
        finally:
            _end(process)
        text = log.read_text()[-3000:]
        for moment in moments:
            assert (Path(moment.folder) / "killed").exists(), f"{moment} never came: {text}"
        assert code == (-signal.SIGKILL if "driver" in victims else 0), text

    def _revive(self, driver: subprocess.Popen[bytes]) -> None:
        """Start the manager again when it was killed; Spark takes its time until then."""
        while not self.service.is_over:
            assert driver.poll() is None, "the driver is over, and the manager is not"
            sleep(0.02)
        self.service.start()

    def place(self, moment: int = 0) -> Path:
        """Where those meet who count how often a moment of the last run has come."""
        return self._folder / f"run{self._runs}" / str(moment)

    def _placed(self, moment: Moment) -> Moment:
        """A file of a batch, counted from the next batch on."""
        if not moment.name.startswith("file:"):
            return moment
        kind = moment.name.removeprefix("file:")
        place = Path(self.job.folder) / kind
        names = [path.name.partition(".")[0] for path in place.glob("*")]
        number = max((int(name) for name in names if name), default=-1) + 1 + moment.time
        return replace(moment, name=f"file:{place / str(number)}")

    def check(self) -> None:
        """Every message is at the other end, once, and nothing is left over."""
        with self.service.connect() as manager:
            found = _labels(manager, self._sink) if self._sink else self._rows()
            assert Counter(found) == Counter(self.sent)
            assert manager.prepared() == []
            assert manager.open_queue("in").info().messages == 0

    def _rows(self) -> list[str]:
        """What the log of the table says, as Spark's own reader goes by it."""
        table = Path(self.job.folder) / "table"
        files: set[str] = set()
        for path in (table / "_spark_metadata").iterdir():
            if path.name.partition(".")[0].isdecimal():
                _, *lines = path.read_text().splitlines()
                files |= {json.loads(line)["path"].removeprefix("file://") for line in lines}
        read = [pq.read_table(name, columns=["label"])["label"].to_pylist() for name in files]
        return [text for labels in read for text in labels]


def _labels(manager: Manager, name: str) -> list[str]:
    found = manager.open_queue(name).receive_many(100_000, timeout=0)
    return [message.label for message in found]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let nothing of a driver live on."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[Callable[..., Pipeline]]:
    made: list[Pipeline] = []

    def make(**options: Any) -> Pipeline:
        made.append(Pipeline(tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.service.kill()


def survive(stream: Pipeline, moments: Iterable[Named], victim: Victim = "driver") -> None:
    """Go on after each kill, with more to do every time."""
    for name, time in moments:
        stream.send()
        stream.run((name, time, victim))
    stream.run()
    stream.check()


def test_a_driver_that_is_killed_before_it_decides_loses_and_doubles_nothing(
    pipeline: Callable[..., Pipeline], spark: SparkSession
) -> None:
    stream = pipeline(sink="out")
    stream.send(2 * stream.job.per_trigger)
    stream.run(("decide:before", 2, "driver"))
    move(spark, stream.job)
    stream.check()


@pytest.mark.acceptance
def test_three_kills_of_three_kinds_lose_and_double_nothing(
    pipeline: Callable[..., Pipeline],
) -> None:
    """A task that has prepared, the manager, and the driver before it decides."""
    stream = pipeline(sink="out")
    stream.send()
    stream.run(
        ("write:prepared", 1, "worker"),
        ("reserve:before", 2, "manager"),
        ("decide:before", 2, "driver"),
    )
    stream.run()
    stream.check()


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_files_have_all_messages_once_after_15_kills_of_the_driver(
    pipeline: Callable[..., Pipeline],
) -> None:
    assert len(TO_FILES) == 15
    survive(pipeline(), TO_FILES)


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("transactional", [True, False])
def test_a_queue_has_all_messages_once_after_15_kills_of_the_driver(
    pipeline: Callable[..., Pipeline], transactional: bool
) -> None:
    assert len(TO_QUEUE) == 15
    survive(pipeline(sink="out", transactional=transactional), TO_QUEUE)


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("victim", ["worker", "executor"])
def test_a_queue_has_all_messages_once_after_5_kills_in_tasks(
    pipeline: Callable[..., Pipeline], victim: Victim
) -> None:
    stream = pipeline(sink="out")
    if victim == "executor":
        stream.job = replace(stream.job, master="local-cluster[2,1,1024]")
    survive(stream, IN_TASKS, victim)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A cluster of two workers; Spark speculates only where they are on different hosts."""
    home, port = Path(pyspark.__file__).parent, free_port()
    address = f"spark://127.0.0.1:{port}"
    options = [
        ["master.Master", "-h", "127.0.0.1", "-p", str(port), "--webui-port", "0"],
        *(
            ["worker.Worker", "-h", host, "-c", "1", "-m", "1g", "--webui-port", "0", address]
            for host in ("127.0.0.2", "127.0.0.3")
        ),
    ]
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(map(str, (SOURCES, ROOT))),
    }
    with (tmp_path / "cluster").open("wb") as log:
        processes = [
            subprocess.Popen(
                [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *rest],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            for name, *rest in options
        ]
    yield address
    for process in processes:
        _end(process)


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("moment", ["write:middle", "write:prepared"])
def test_a_slow_task_that_runs_twice_counts_once(
    pipeline: Callable[..., Pipeline], cluster: str, moment: str
) -> None:
    """Speculation: the slow attempt has sent its rows, or even prepared them."""
    stream = pipeline(sink="out")
    settings = {
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.5",
        "spark.speculation.minTaskRuntime": "100ms",
        "spark.executor.memory": "512m",
    }
    stream.job = replace(stream.job, master=cluster, settings=settings)
    stream.send(40)
    stream.run((moment, 3, "none"))  # not in the first batch, where all are slow
    attempts = (stream.place() / "came").stat().st_size
    stream.check()
    assert attempts >= 5, "four tasks, and one that ran twice"


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("transactional", [True, False])
def test_a_queue_has_all_messages_once_after_5_kills_of_the_manager(
    pipeline: Callable[..., Pipeline], transactional: bool
) -> None:
    survive(pipeline(sink="out", transactional=transactional), OF_MANAGER, "manager")
