"""Who may read and write with Spark, what is reported before a job starts, and what no one sees."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from openmsmq import Manager, Message
from openmsmq.access.tokens import Tokens
from openmsmq.errors import QueueExists
from openmsmq.types.caller import Role
from tests.e2e.managers import ManagerProcess, running
from tests.spark.conftest import SOURCES
from tests.spark.test_kill import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture
def token(service: ManagerProcess) -> Callable[..., str]:
    """A token for one role, for the queues of a test."""

    def create(role: Role, queues: str) -> str:
        return Tokens.load(service.folder / "data").create(role, (queues,))[1]

    return create


@pytest.fixture
def jobs(spark: SparkSession) -> Iterator[Callable[[], int]]:
    """How many jobs were started since the test began."""
    group = "reported early"
    spark.sparkContext.setJobGroup(group, "")
    tracker = spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup(group))
    yield lambda: len(tracker.getJobIdsForGroup(group)) - before
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_a_sender_writes(
    spark: SparkSession,
    service: ManagerProcess,
    manager: Manager,
    token: Callable[..., str],
    fresh: Callable[[str], str],
    tmp_path: Path,
) -> None:
    queue = manager.create_queue(fresh("q"), transactional=True)
    text = token("send", fresh("*"))
    rows = spark.range(20).repartition(2).selectExpr("cast(id as string) as label", "x'' as body")
    options = {"manager": service.app, "queue": fresh("q"), "token": text}
    for name in ("", "today", "today"):
        named = {"writeId": fresh(name)} if name else {}
        rows.write.format("msmq").options(**options, **named).mode("append").save()
    assert queue.info().messages == 40
    broken = rows.selectExpr("if(label = '7', raise_error('x'), label) as label", "body")
    with pytest.raises(PySparkException):
        broken.write.format("msmq").options(**options).mode("append").save()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"label": "a"}\n{"label": "b"}\n')
    stream = spark.readStream.schema("label string").json(str(tmp_path / "in"))
    query = (
        stream.selectExpr("label", "x'' as body")
        .writeStream.format("msmq")
        .options(**options, checkpointLocation=str(tmp_path / "c"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert queue.info().messages == 42
    assert manager.prepared() == []


def test_a_reader_reads(
    spark: SparkSession,
    service: ManagerProcess,
    manager: Manager,
    token: Callable[..., str],
    fresh: Callable[[str], str],
    tmp_path: Path,
) -> None:
    queue = manager.create_queue(fresh("q"))
    queue.send_many(Message(b"", label=text) for text in "abc")
    secret = tmp_path / "token"
    secret.write_text(token("read", fresh("*")) + "\n")
    options = {"manager": service.app, "queue": fresh("*"), "tokenFile": str(secret)}
    assert spark.read.format("msmq").options(**options).load().count() == 3
    for _ in range(2):
        query = (
            spark.readStream.format("msmq")
            .options(**options, onCommit="move:done")
            .load()
            .writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path / "c"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        queue.send(Message(b"", label="d"))
    # The last batch is committed when its query ends, or with the next one.
    assert manager.open_queue(fresh("q") + ";done").info().messages in (3, 4)


OPTION = {"quue": "x"}, "no option 'quue' here; did you mean 'queue'?"
VALUE = {"timeout": "soon"}, "option timeout is 'soon', not a number from 1 on"
MANAGER = {"manager": "127.0.0.1:1"}, "option manager: 127.0.0.1:1"
QUEUE = {"queue": "ordrs-reported"}, r"did you mean '.\\private$\\orders-reported'?"
TOKEN = {"token": "omq_1234_wrong"}, "option token or tokenFile"


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        *(("read", *wrong) for wrong in (OPTION, VALUE, MANAGER, QUEUE, TOKEN)),
        *(("write", *wrong) for wrong in (OPTION, MANAGER, QUEUE)),
        *(("readStream", *wrong) for wrong in (MANAGER, QUEUE)),
        *(("writeStream", *wrong) for wrong in (VALUE, QUEUE)),
    ],
)
def test_what_is_wrong_is_reported_before_a_job_starts(
    spark: SparkSession,
    service: ManagerProcess,
    manager: Manager,
    jobs: Callable[[], int],
    tmp_path: Path,
    kind: str,
    options: dict[str, str],
    reason: str,
) -> None:
    with suppress(QueueExists):
        manager.create_queue("orders-reported")
    given = {"manager": service.app, "queue": "orders-reported"} | options
    with pytest.raises(PySparkException) as caught:
        work(spark, kind, given, tmp_path)
    assert reason in str(caught.value)
    assert "omq_" not in str(caught.value)
    assert jobs() == 0


@pytest.mark.parametrize("kind", ["read", "readStream", "write", "writeStream"])
def test_who_may_not_is_reported_before_a_job_starts(
    spark: SparkSession,
    service: ManagerProcess,
    manager: Manager,
    jobs: Callable[[], int],
    token: Callable[..., str],
    tmp_path: Path,
    kind: str,
) -> None:
    name = f"mine{tmp_path.name}"
    manager.create_queue(name)
    text = token("send" if kind.startswith("read") else "read", name)
    with pytest.raises(PySparkException, match="option token does not allow this"):
        work(spark, kind, {"manager": service.app, "queue": name, "token": text}, tmp_path)
    assert jobs() == 0


def test_a_row_without_a_body_is_reported_before_a_job_starts(
    spark: SparkSession, service: ManagerProcess, jobs: Callable[[], int], tmp_path: Path
) -> None:
    options = {"manager": service.app, "queue": "any"}
    for kind in ("write", "writeStream"):
        with pytest.raises(PySparkException, match="a write needs one column `body`"):
            work(spark, kind, options, tmp_path, columns=("label",))
        with pytest.raises(PySparkException, match="did you mean 'body'"):
            work(spark, kind, options, tmp_path, columns=("x'' as bdy",))
    with pytest.raises(PySparkException, match="did you mean 'body'"):
        spark.read.format("msmq").schema("bdy binary").options(**options).load().collect()
    assert jobs() == 0


@pytest.mark.acceptance
def test_a_token_is_shown_nowhere(tmp_path: Path) -> None:
    """In plans, logs, the event log and web pages, however it was given."""
    service = ManagerProcess(tmp_path, "shop01")
    with running(service), service.connect() as manager:
        manager.create_queue("in").send_many([Message(b"", label=text) for text in "abc"])
        manager.create_queue("out")
        text = Tokens.load(service.folder / "data").create("read+send")[1]
        command = [sys.executable, "-m", "tests.spark.secretive", service.app, str(tmp_path)]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, (SOURCES, ROOT))),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        done = subprocess.run(
            command,
            input=f"{text}\n",
            text=True,
            capture_output=True,
            env=environment,
            timeout=200,
            check=False,
        )
        assert manager.open_queue("out").info().messages == 6, done.stderr[-3000:]
    shown = done.stdout.splitlines() + done.stderr.splitlines()
    assert "shown" in shown, done.stderr[-3000:]
    events = [path for path in (tmp_path / "events").rglob("*") if path.is_file()]
    assert events
    for path in events:
        shown += path.read_text(errors="replace").splitlines()
    secret = text.split("_", 2)[2]  # which may have such a character in it
    assert [line[:300] for line in shown if secret in line] == []


def work(
    spark: SparkSession,
    kind: str,
    options: dict[str, str],
    folder: Path,
    columns: tuple[str, ...] = ("label", "x'' as body"),
) -> None:
    """Read or write, as far as it goes."""
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / "1.json").write_text('{"label": "a"}\n')
    if kind == "read":
        spark.read.format("msmq").options(**options).load().write.format("noop").mode(
            "overwrite"
        ).save()
        return
    if kind == "write":
        rows = spark.range(1).selectExpr("cast(id as string) as label").selectExpr(*columns)
        rows.write.format("msmq").options(**options).mode("append").save()
        return
    rows = (
        spark.readStream.format("msmq").options(**options).load()
        if kind == "readStream"
        else spark.readStream.schema("label string").json(str(folder / "in")).selectExpr(*columns)
    )
    sink = rows.writeStream.format("noop" if kind == "readStream" else "msmq")
    if kind == "writeStream":
        sink = sink.options(**options)
    query = (
        sink.option("checkpointLocation", str(folder / f"c{len(columns)}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
