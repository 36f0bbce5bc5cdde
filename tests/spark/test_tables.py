"""Archives as Delta Lake and Iceberg tables, on disk and in an object store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from pyiceberg.utils.config import Config
from pyspark.sql import SparkSession

from openmsmq import Manager, Message
from openmsmq.cli.main import main
from openmsmq.errors import StoreInUse
from openmsmq.pipelines import run
from openmsmq.pipelines.archive.batches import ArchiveStore, File
from openmsmq.pipelines.archive.compaction import compact
from openmsmq.pipelines.archive.stores import ArchivePlace
from openmsmq.pipelines.archive.table_archive import TableArchive
from openmsmq.pipelines.archive.verify import verify
from openmsmq.pipelines.faults import PipelineError
from openmsmq.pipelines.file import read_pipeline
from openmsmq.pipelines.location import DataFolder
from openmsmq.pipelines.tables import PipelineFileError
from tests.e2e.managers import ManagerProcess, free_port, until
from tests.spark.archiver import archived
from tests.spark.conftest import SOURCES
from tests.spark.mixed import all_sent, mixed
from tests.spark.open_tables import delta_files, iceberg_files
from tests.spark.unsteady import unsteady

pytestmark = pytest.mark.slow
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of an S3 API, with a bucket `lake`."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("moto_server")), "-p", str(port)]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet)
    address = f"http://127.0.0.1:{port}"
    try:
        until(lambda: answers(f"{address}/moto-api/data.json"))
        system = pyarrow.fs.S3FileSystem(
            access_key="key",
            secret_key="secret",
            region="us-east-1",
            endpoint_override=address,
            allow_bucket_creation=True,
        )
        system.create_dir("lake")
        yield address
    finally:
        process.kill()
        process.wait()


def answers(address: str) -> bool:
    try:
        with urlopen(address) as answer:
            return bool(answer.read())
    except OSError:
        return False


@dataclass
class Lake:
    """An archive of one queue in one of the places."""

    table: dict[str, str]
    catalog: Path
    source: dict[str, Any]

    def document(self, **more: Any) -> dict[str, Any]:
        return {"name": "lake", "source": self.source, "archive": {**self.table, **more}}

    @property
    def place(self) -> ArchivePlace:
        found = read_pipeline(self.document()).settings.place
        assert isinstance(found, ArchivePlace)
        return found

    def archive(self, **more: Any) -> list[int]:
        """The rows of the batches that were archived."""
        return [one.rows for one in archived(self.document(**more))]

    def killed(self, moment: str, time: int) -> None:
        """Archive in a process that is killed."""
        arguments = [json.dumps(self.document()), moment, str(time)]
        environment = {**os.environ, "PYTHONPATH": f"{SOURCES}{os.pathsep}{Path.cwd()}"}
        command = [sys.executable, "-m", "tests.spark.archiver", *arguments]
        assert subprocess.run(command, env=environment, check=False).returncode == -9, moment

    def rows(self) -> pa.Table:
        """All rows, by a reader that knows nothing of the writer."""
        location = self.place.location
        if self.table["format"] == "delta":
            files = delta_files(location)
        else:
            files = iceberg_files(location, self.catalog)
        system, _ = location.filesystem()
        read = [pa.parquet.read_table(path, filesystem=system, partitioning=None) for path in files]
        return pa.concat_tables(read, promote_options="default").sort_by("position")

    def check(self, manager: Manager) -> None:
        """Every message of the queue is there, once, with its position."""
        queue = manager.open_queue(self.source["queue"])
        rows = self.rows()
        assert rows["position"].to_pylist() == list(range(1, len(rows) + 1))
        assert sorted(rows["lookup_id"].to_pylist()) == [
            m.lookup_id for m in queue.peek_many(9999, timeout=0)
        ]
        found = verify(self.place)
        assert (found.faults, found.rows) == ((), len(rows))
        [subscription] = [one for one in manager.subscriptions() if one.queue == queue.name]
        assert (subscription.committed, subscription.unread) == (len(rows), 0)


@pytest.fixture(params=["delta", "iceberg", "delta-s3", "iceberg-s3"])
def lake(
    request: pytest.FixtureRequest,
    service: ManagerProcess,
    fresh: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Lake:
    kind, _, store = request.param.partition("-")
    table = {"path": str(tmp_path / "archive"), "format": kind}
    catalog = tmp_path / "archive" / "catalog.db"
    name = fresh(request.param)
    if store:
        for key, value in {**KEYS, "AWS_ENDPOINT_URL": request.getfixturevalue("s3")}.items():
            monkeypatch.setenv(key, value)
        table["path"] = f"s3://lake/{uuid4().hex}"
        if kind == "iceberg":
            table |= {"catalog": "shared", "table": "shop.messages"}
            catalog = tmp_path / "shared.db"
            monkeypatch.setenv("PYICEBERG_CATALOG__SHARED__TYPE", "sql")
            monkeypatch.setenv("PYICEBERG_CATALOG__SHARED__URI", f"sqlite:///{catalog}")
            monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # it was read before
    source = {
        "manager": service.app,
        "queue": name,
        "on_commit": "keep",
        "max_messages_per_trigger": 40,
        "messages_per_partition": 15,
    }
    return Lake(table, catalog, source)


def send(manager: Manager, lake: Lake, count: int) -> None:
    random = Random(count)
    queue = manager.create_queue(lake.source["queue"], exist_ok=True)
    queue.send_many(mixed(number, random) for number in range(count))


def test_a_table_grows_by_whole_batches(manager: Manager, lake: Lake) -> None:
    send(manager, lake, 100)
    assert lake.archive() == [40, 40, 20]
    lake.check(manager)
    assert lake.archive() == []
    send(manager, lake, 30)
    assert lake.archive(columns=["body"]) == [30], "with a column that the table did not have"
    lake.check(manager)
    bodies = lake.rows()["body"].to_pylist()
    assert bodies[:100] == [None] * 100
    assert None not in bodies[100:]
    store = lake.place.open()
    assert isinstance(store, TableArchive)
    found = compact(store)
    assert (found.before > 3, found.after) == (True, 1)
    lake.check(manager)
    assert store.vacuum(0) == found.before
    send(manager, lake, 10)
    assert lake.archive() == [10]
    lake.check(manager)


def test_files_go_up_in_parts_and_what_fails_is_asked_again(
    s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is there when all of it is."""
    content = Random(1).randbytes(1 << 20) * 12
    with unsteady(s3) as store:
        for key, value in {**KEYS, "AWS_ENDPOINT_URL": store.address}.items():
            monkeypatch.setenv(key, value)
        system, root = DataFolder(f"s3://lake/{uuid4().hex}").filesystem()
        path = f"{root}/large.parquet"
        with system.open_output_stream(path) as file:
            file.write(content)
            assert system.get_file_info(path).type == pa.fs.FileType.NotFound
        assert system.get_file_info(path).size == len(content)
        with system.open_input_stream(path) as stream:
            assert stream.read() == content
    written = Counter(one for one in store.asked if one.startswith(("POST", "PUT")))
    assert len([one for one in written if "partNumber=" in one]) == 2
    assert set(written.values()) == {2}, "each was asked again once"


def killed_and_archived(manager: Manager, lake: Lake, kills: list[tuple[str, int]]) -> None:
    send(manager, lake, 200)
    for moment, time in kills:
        lake.killed(moment, time)
    lake.archive()
    lake.check(manager)
    assert len(lake.rows()) == 200


def test_a_kill_leaves_a_table_exact(manager: Manager, lake: Lake) -> None:
    """Behind the commit that counts, before the queue manager knows."""
    killed_and_archived(manager, lake, [("committed", 3)])


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(5))
def test_five_kills_leave_a_table_exact(manager: Manager, lake: Lake, seed: int) -> None:
    lake.source["queue"] += f"-{seed}"
    kills = [("write", 2), ("commit", 1), ("committed", 1), ("done", 1), ("write", 3)]
    Random(seed).shuffle(kills)
    killed_and_archived(manager, lake, kills)


def test_two_writers_of_one_table(manager: Manager, lake: Lake) -> None:
    """The second one is refused: by the lock of the folder, or by the table itself."""
    send(manager, lake, 20)
    lake.archive()
    first, second = lake.place.open(), lake.place.open()
    last = first.last()
    assert last is not None
    assert isinstance(second, TableArchive)
    real = second.commit

    def add(store: ArchiveStore) -> None:
        assert last is not None
        store.add(last.batch + 1, last.query, {"x": (0, 1)}, row, offset=last.offset)

    def row(data: DataFolder) -> list[File]:
        system, root = data.filesystem()
        rows = lake.rows().slice(0, 1)
        path = f"{uuid4().hex}.parquet"
        pa.parquet.write_table(rows, f"{root}/{path}", filesystem=system)
        size = system.get_file_info(f"{root}/{path}").size
        return [File(path, 1, size, queue=lake.source["queue"], day="2026-07-01")]

    def later(entry: Any) -> None:
        add(first)
        real(entry)

    second.commit = later  # type: ignore[method-assign]
    with pytest.raises(
        (PipelineError, StoreInUse), match=r"at the same time|writes there|directory open"
    ):
        add(second)
    local = second.location.is_local
    assert len(lake.rows()) == (20 if local else 21)


def test_spark_duckdb_and_pandas_read_it(
    spark: SparkSession, manager: Manager, service: ManagerProcess, lake: Lake, tmp_path: Path
) -> None:
    """With real tasks of Spark; and messages are replayed as they were, also when compacted."""
    if not lake.place.location.is_local:
        pytest.skip("readers are the same, files are elsewhere")
    send(manager, lake, 90)
    done = run(lake.document(), spark=spark, runs=tmp_path / "runs")
    assert (done.rows, done.batches) == (90, 3)
    lake.check(manager)
    if lake.table["format"] == "delta":
        from deltalake import DeltaTable

        files = delta_files(lake.place.location)
        table = DeltaTable(lake.table["path"])
        frame = table.to_pandas()
        dataset = table.to_pyarrow_dataset()
        assert set(frame.queue) == {rf".\private$\{lake.source['queue']}"}
    else:
        from pyiceberg.catalog.sql import SqlCatalog

        files = iceberg_files(lake.place.location, lake.catalog)
        catalog = SqlCatalog("archive", uri=f"sqlite:///{lake.catalog}")
        dataset = catalog.load_table("openmsmq.archive").scan().to_arrow()
        frame = dataset.to_pandas()
    assert sorted(frame.position) == list(range(1, 91))
    assert dataset is not None
    found = duckdb.sql("select count(*), max(position) from dataset")
    assert found is not None
    assert found.fetchall() == [(90, 90)]
    rows = spark.read.parquet(*files).selectExpr("count(distinct position)").collect()
    assert rows[0][0] == 90
    target = manager.create_queue(f"{lake.source['queue']}-to")
    for command in ("compact", "verify", "vacuum"):
        answer = CliRunner().invoke(main, ["pipeline", command, lake.table["path"], "--json"])
        assert answer.exit_code == 0, answer.output
    assert json.loads(answer.output) == {"removed": 0}, "what is younger than a week stays"
    replay = {
        **{key: value for key, value in lake.table.items() if key != "format"},
        "manager": service.app,
        "queue": target.name,
    }
    for _ in range(2):
        run({"name": "again", "replay": replay}, spark=spark, runs=tmp_path / "runs")
    source = manager.open_queue(lake.source["queue"])
    expected = all_sent(source.peek_many(999, timeout=0))
    assert all_sent(target.peek_many(999, timeout=0)) == expected


def test_what_cannot_be(manager: Manager, service: ManagerProcess, fresh: Any) -> None:
    manager.create_queue(fresh("q")).send(Message(b""))
    source = {"manager": service.app, "queue": fresh("q")}

    def refused(**table: str) -> str:
        with pytest.raises(PipelineFileError) as caught:
            archived({"name": "lake", "source": source, "archive": table})
        return str(caught.value)

    assert "half of a batch" in refused(path="s3://lake/x")
    assert "needs a catalogue" in refused(path="s3://lake/x", format="iceberg")
    assert "a path is needed, or a URI" in refused(path="ftp://lake/x")
    assert "is for format" in refused(path="x", catalog="c")
    assert "did you mean 'delta'" in refused(path="x", format="detla")
