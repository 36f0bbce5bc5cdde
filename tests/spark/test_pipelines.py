"""Pipelines: as files say, once, over restarts and crashes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.dataset
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import upper

from openmsmq import Manager, Message, Queue, ReceivedMessage
from openmsmq.errors import MQError
from openmsmq.pipelines import run
from openmsmq.pipelines.archive.files import Folder
from openmsmq.pipelines.archive.verify import verify
from openmsmq.pipelines.faults import PipelineError
from openmsmq.pipelines.lines import JsonLinesFile
from openmsmq.pipelines.run import Audience
from openmsmq.pipelines.state import DONE, FAILED, Run, Runs
from openmsmq.pipelines.tables import PipelineFileError
from tests.e2e.managers import ManagerProcess
from tests.spark.archiver import archived as archive_here
from tests.spark.mixed import all_sent, mixed

pytestmark = pytest.mark.slow


@pytest.fixture
def start(
    spark: SparkSession, service: ManagerProcess, tmp_path: Path, fresh: Callable[[str], str]
) -> Callable[..., Run]:
    """Runs a pipeline on queues of the test; tables without a manager get this one."""

    def work(audience: Audience | None = None, **document: Any) -> Run:
        document.setdefault("name", fresh("p"))
        document.setdefault("checkpoint", str(tmp_path / "checkpoint"))
        if document["checkpoint"] is None:
            del document["checkpoint"]
        for name in ("source", "replay", "route"):
            if name in document:
                document[name].setdefault("manager", service.app)
        if document.get("sink", {}).get("kind") == "queue":
            document["sink"].setdefault("manager", service.app)
        return run(document, spark=spark, runs=tmp_path / "runs", audience=audience)

    return work


def peek(queue: Queue) -> list[ReceivedMessage]:
    return queue.peek_many(100_000, timeout=0)


def shout(frame: DataFrame) -> DataFrame:
    return frame.select("label", upper("label").alias("loud"))


def test_sql_between_two_queues(
    manager: Manager, start: Callable[..., Run], fresh: Callable[[str], str], tmp_path: Path
) -> None:
    orders, done = manager.create_queue(fresh("q")), manager.create_queue(fresh("done"))
    orders.send_many(Message(text, label=text) for text in ("a", "b", "c"))
    shown: list[Any] = []
    document = {
        "source": {"queue": fresh("q")},
        "transform": {"sql": "select upper(body_text) as value from source where label <> 'b'"},
        "sink": {"kind": "queue", "queue": fresh("done")},
    }
    found = start(Audience(on_progress=shown.append), **document)
    assert (found.state, found.rows, found.batches) == (DONE, 3, 1)
    assert [(one.rows, one.lag) for one in shown] == [(3, 0)]
    start(**document)
    assert sorted(str(message.text) for message in peek(done)) == ["A", "C"]
    assert Runs(tmp_path / "runs").find(fresh("p")).state == DONE


def test_a_function_and_files(
    manager: Manager, start: Callable[..., Run], fresh: Callable[[str], str], tmp_path: Path
) -> None:
    orders = manager.create_queue(fresh("q"))
    document = {
        "source": {"queue": fresh("q"), "columns": ["label"]},
        "transform": {"python": "tests.spark.test_pipelines:shout"},
        "sink": {"kind": "parquet", "path": str(tmp_path / "table"), "partition_by": ["loud"]},
    }
    for text in "ab":
        orders.send(Message(b"", label=text))
        start(**document)
    rows = pyarrow.dataset.dataset(tmp_path / "table" / "data", partitioning="hive").to_table()
    assert sorted(zip(*rows.to_pydict().values(), strict=True)) == [("a", "A"), ("b", "B")]
    assert verify(tmp_path / "table").faults == ()


def test_rows_are_shown(
    manager: Manager, start: Callable[..., Run], fresh: Callable[[str], str]
) -> None:
    manager.create_queue(fresh("q")).send_many(Message(b"", label=text) for text in "abc")
    shown: list[Any] = []
    sink = {"kind": "console", "rows": 2}
    source = {"queue": fresh("q"), "columns": ["label"]}
    start(Audience(on_rows=shown.extend), source=source, sink=sink)
    assert shown == [{"label": "a"}, {"label": "b"}]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("select lable from source", "`lable` cannot be resolved"),
        ("select label source where", "Syntax error"),
        ("select label from source", "a write needs one column `body`"),
        ("select body, label as lbl from source", "a message has no 'lbl'"),
    ],
)
def test_wrong_sql_is_reported_before_the_stream_starts(
    manager: Manager,
    start: Callable[..., Run],
    fresh: Callable[[str], str],
    tmp_path: Path,
    sql: str,
    reason: str,
) -> None:
    name = fresh(str(len(sql + reason)))
    manager.create_queue(name)
    sink = {"kind": "queue", "queue": name}
    with pytest.raises((PipelineError, MQError)) as caught:
        start(source={"queue": name}, transform={"sql": sql}, sink=sink)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "checkpoint").exists()
    found = Runs(tmp_path / "runs").find(fresh("p"))
    assert found.state == FAILED
    assert "Traceback" in Path(found.log).read_text()


def test_messages_are_routed_as_they_were(
    manager: Manager, start: Callable[..., Run], fresh: Callable[[str], str]
) -> None:
    source = manager.create_queue(fresh("q"))
    urgent, orders, others = (manager.create_queue(fresh(n)) for n in ("urgent", "orders", "rest"))
    source.send_many(mixed(number, Random(number)) for number in range(200))
    before = peek(source)
    rules = [
        {"when": "priority > 5", "queue": fresh("urgent")},
        {"when": "body_text like 'order%'", "queue": fresh("orders")},
    ]
    route = {"rules": rules, "default": fresh("rest")}
    for _ in range(2):
        start(source={"queue": fresh("q")}, route=route)
    expected: dict[str, list[ReceivedMessage]] = {"urgent": [], "orders": [], "rest": []}
    for message in before:
        is_order = (message.text or "").startswith("order")
        where = "urgent" if message.priority > 5 else "orders" if is_order else "rest"
        expected[where].append(message)
    for queue, name in ((urgent, "urgent"), (orders, "orders"), (others, "rest")):
        assert all_sent(peek(queue)) == all_sent(expected[name]), name
    assert manager.prepared() == []


def test_a_condition_that_is_none(
    manager: Manager, start: Callable[..., Run], fresh: Callable[[str], str]
) -> None:
    manager.create_queue(fresh("q"))
    rules = [{"when": "priority + 1", "queue": fresh("q")}]
    with pytest.raises(PipelineError, match="'priority \\+ 1' is int, not true or false"):
        start(source={"queue": fresh("q")}, route={"rules": rules, "default": fresh("q")})


class Archived:
    """Two queues with their journals, archived in several batches."""

    def __init__(self, manager: Manager, start: Callable[..., Run], fresh: Any, folder: Path):
        self.manager = manager
        self.folder = folder
        self.plain = manager.create_queue(fresh("plain"), journal=True)
        self.strict = manager.create_queue(fresh("strict"), transactional=True)
        self.names = [fresh("plain"), fresh("strict"), rf".\private$\{fresh('plain')}\Journal$"]
        self._start = start
        self._random = Random(7)
        self.address = ""
        self.sent = 0

    def send(self, count: int) -> None:
        self.sent += 2 * count
        messages = [mixed(number, self._random) for number in range(count)]
        self.plain.send_many(messages)
        with self.manager.transaction() as transaction:
            self.strict.send_many(messages, transaction=transaction)

    def archive(self, **source: Any) -> Run:
        source = {"queue": self.names, "on_commit": "keep", "subscription": "lake", **source}
        return self._start(source=source, archive={"path": str(self.folder)}, checkpoint=None)

    def keep(self) -> None:
        """Archive without Spark: its tasks run here."""
        source = {"queue": self.names, "on_commit": "keep", "subscription": "lake"}
        source["manager"] = self.address
        archive = {"path": str(self.folder)}
        archive_here({"name": "lake", "source": source, "archive": archive})

    def counted(self) -> int:
        """Messages that are archived."""
        return sum(entry.rows for entry in Folder(self.folder).entries())

    def replay(self, **settings: Any) -> Run:
        name = settings.pop("name", self.names[0])
        checkpoint = str(self.folder / "replays" / name)
        replay = {"path": str(self.folder), **settings}
        return self._start(name=name, replay=replay, checkpoint=checkpoint)


@pytest.fixture
def archived(
    manager: Manager,
    start: Callable[..., Run],
    service: ManagerProcess,
    fresh: Callable[[str], str],
    tmp_path: Path,
) -> Archived:
    made = Archived(manager, start, fresh, tmp_path / "archive")
    made.address = service.app
    return made


def test_an_archive_is_replayed_as_it_was(
    manager: Manager, archived: Archived, fresh: Callable[[str], str]
) -> None:
    limits = {"max_messages_per_trigger": 150, "messages_per_partition": 40}
    archived.send(200)
    archived.plain.receive_many(20, timeout=0)
    archived.archive(**limits)
    archived.send(50)
    archived.archive(**limits)
    found = verify(archived.folder)
    queues = [archived.plain, archived.strict, manager.open_queue(archived.names[2])]
    assert found.faults == ()
    assert found.queues == {queue.name: queue.info().messages for queue in queues}
    targets = [
        manager.create_queue(fresh(f"to-{n}"), transactional=n == 1) for n in range(len(queues))
    ]
    names = {queue.name: target.name for queue, target in zip(queues, targets, strict=True)}
    for _ in range(2):  # the second time there is nothing to do
        archived.replay(queues=names)
    for queue, target in zip(queues, targets, strict=True):
        assert all_sent(peek(target)) == all_sent(peek(queue)), queue.name
    assert manager.prepared() == []


def test_a_replay_chooses_by_sql(
    manager: Manager, archived: Archived, fresh: Callable[[str], str]
) -> None:
    archived.send(100)
    archived.archive()
    target = manager.create_queue(fresh("to"))
    where = "queue like '%plain' and date > date'2020-01-01' and body_text like 'order%'"
    archived.replay(queue=fresh("to"), where=where)
    expected = [m for m in peek(archived.plain) if (m.text or "").startswith("order")]
    assert all_sent(peek(target)) == all_sent(expected)
    with pytest.raises(PipelineFileError, match="give this one another name"):
        archived.replay(queue=fresh("to"), where="true")
    with pytest.raises(PipelineError, match="`lable` cannot be resolved"):
        archived.replay(queue=fresh("to"), where="lable = ''", name="other")


def test_a_replay_that_lost_its_steps_is_refused(
    manager: Manager, archived: Archived, fresh: Callable[[str], str]
) -> None:
    archived.send(20)
    archived.archive()
    target = manager.create_queue(fresh("to"))
    archived.replay(queue=fresh("to"))
    count = target.info().messages
    shutil.rmtree(archived.folder / "replays")
    with pytest.raises(PipelineError, match=r"belongs to .*, not to"):
        archived.replay(queue=fresh("to"))
    assert target.info().messages == count
    assert manager.prepared() == []


def test_files_of_a_batch_that_counts_get_their_places(archived: Archived) -> None:
    """The process died when the batch counted, before its files were moved."""
    archived.send(50)
    archived.keep()
    folder = Folder(archived.folder)
    before = list(folder.entries())
    last = before[-1]
    staged = archived.folder / "staging" / f"{last.batch:08}" / last.files[0].staged
    staged.parent.mkdir(parents=True)
    (folder.data.path / last.files[0].path).rename(staged)
    archived.send(20)
    archived.keep()
    after = list(folder.entries())
    assert after[: len(before)] == before
    assert len(after) == len(before) + 1
    assert verify(archived.folder).faults == ()


def test_a_batch_that_does_not_count_is_written_anew(
    archived: Archived, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process died in the middle of the line that makes the batch count."""
    archived.send(50)
    manifest = archived.folder / "manifest.jsonl"

    def die(lines: JsonLinesFile, values: Mapping[str, Any]) -> None:
        with lines.path.open("ab") as file:
            file.write(json.dumps(values).encode()[:-20])
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        calls = iter((JsonLinesFile.append, die))
        context.setattr(JsonLinesFile, "append", lambda *args: next(calls)(*args))
        with pytest.raises(KeyboardInterrupt):
            archived.keep()
    assert (len(manifest.read_bytes().splitlines()), archived.counted()) == (2, 0)
    archived.keep()
    assert verify(archived.folder).faults == ()
    assert archived.counted() == archived.sent


def test_an_archive_of_before_goes_on_from_its_checkpoint(archived: Archived) -> None:
    """Spark kept the offset that the archive keeps itself now."""
    archived.send(20)
    archived.keep()
    manifest = archived.folder / "manifest.jsonl"
    lines = [json.loads(line) for line in manifest.read_text().splitlines()]
    *_, offset = [(line.pop("total"), line.pop("offset"))[1] for line in lines]
    manifest.write_text("".join(json.dumps(line) + "\n" for line in lines))
    archived.send(5)
    with pytest.raises(PipelineFileError, match="whose checkpoint is not in"):
        archived.keep()
    offsets = archived.folder / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / str(lines[-1]["batch"])).write_text(f"v1\n{{}}\n{json.dumps(offset)}")
    archived.keep()
    assert verify(archived.folder).faults == ()
    assert archived.counted() == archived.sent
