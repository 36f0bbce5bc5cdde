"""spark.read.format("msmq"): queues as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ipaddress import IPv6Address
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import openmsmq
from openmsmq import Manager, Message
from openmsmq.access.users import Users
from openmsmq.spark import register
from openmsmq.spark.columns import ON_DEMAND, READ
from openmsmq.spark.source import PUSHDOWN
from tests.e2e.managers import ManagerProcess

pytestmark = pytest.mark.slow


@pytest.fixture
def pushing(spark: SparkSession) -> Iterator[None]:
    """The session pushes filters down to sources."""
    spark.conf.set(PUSHDOWN, "true")
    register(spark)
    yield
    spark.conf.unset(PUSHDOWN)
    register(spark)


@pytest.fixture
def read(spark: SparkSession, service: ManagerProcess) -> Callable[..., DataFrame]:
    def load(queue: str, schema: str = "", **options: str) -> DataFrame:
        reader = spark.read.format("msmq").option("manager", service.app).option("queue", queue)
        if schema:
            reader = reader.schema(schema)
        return reader.options(**options).load()

    return load


def test_all_columns_of_a_queue(
    manager: Manager, read: Callable[..., DataFrame], fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    queue.send(
        Message(
            "text",
            label="Grüße",
            priority=5,
            app_specific=7,
            correlation_id=b"c" * 20,
            response_queue="answers",
            extension=b'{"rbs2-msg-id":"1"}',
            time_to_be_received=3600,
        )
    )
    queue.send(b"\xff\x00")
    sent = queue.peek_many(2, timeout=0)
    found = read(fresh("q"))
    assert found.columns == [name for name in READ if name not in ON_DEMAND]
    first, second = (row.asDict() for row in found.orderBy("arrival").collect())
    assert [first["lookup_id"], second["lookup_id"]] == [m.lookup_id for m in sent]
    assert [first["message_id"], second["message_id"]] == [m.id for m in sent]
    assert (first["label"], first["priority"], first["app_specific"]) == ("Grüße", 5, 7)
    assert first["body"] == "text".encode("utf-16-le")
    assert first["headers"] == {"rbs2-msg-id": "1"}
    assert first["correlation_id"] == b"c" * 20
    assert first["response_queue"] == str(sent[0].response_queue)
    assert first["time_to_be_received"] == 3600
    assert first["delivery"] == "recoverable"
    assert (first["from_manager"], first["from_queue"]) == ("shop01", queue.name)
    assert second["body"] == b"\xff\x00"
    assert second["headers"] is None
    assert queue.info().messages == 2, "a read takes nothing"


def test_a_schema_limits_what_is_decoded(
    manager: Manager, read: Callable[..., DataFrame], fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    queue.send_many(Message("x", label=str(n)) for n in range(10))
    found = read(fresh("q"), "label string, body_text string, packet binary").collect()
    assert {row.label for row in found} == {str(n) for n in range(10)}
    assert {row.body_text for row in found} == {"x"}
    assert bytes(found[0].packet) == queue.peek(timeout=0).packet


def test_a_queue_is_split_into_ranges(
    manager: Manager, read: Callable[..., DataFrame], fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    queue.send_many(Message(b"x", priority=n % 8) for n in range(400))
    found = read(fresh("q"), "lookup_id bigint", messagesPerPartition="30")
    assert found.rdd.getNumPartitions() >= 8
    expected = {message.lookup_id for message in queue.peek_many(400, timeout=0)}
    assert {row.lookup_id for row in found.collect()} == expected
    few = manager.create_queue(fresh("few"))
    few.send_many(Message(b"x", priority=3 if n % 100 else 7) for n in range(400))
    found = read(fresh("few"), "lookup_id bigint", messagesPerPartition="100")
    assert found.rdd.getNumPartitions() <= 5, "a few urgent messages make no more tasks"


def test_what_comes_after_planning_is_not_read(
    manager: Manager, read: Callable[..., DataFrame], fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    queue.send_many([Message(b"1"), Message(b"2", priority=0)])
    found = read(fresh("q"), "body binary")
    planned = found.rdd  # which is when Spark plans
    assert planned.getNumPartitions() == 1, "priorities share a task"
    queue.send_many([Message(b"3", priority=7), Message(b"4")])
    assert {bytes(row.body) for row in planned.collect()} == {b"1", b"2"}


def test_lists_patterns_subqueues_and_journals(
    manager: Manager, read: Callable[..., DataFrame], fresh: Callable[[str], str]
) -> None:
    first = manager.create_queue(fresh("a"), journal=True)
    second = manager.create_queue(fresh("b"))
    first.send_many([b"1", b"2"])
    second.send(b"3")
    first.receive(timeout=0)
    first.move(first.peek(timeout=0).lookup_id, "retry")

    def bodies(queue: str) -> list[bytes]:
        return sorted(bytes(row.body) for row in read(queue, "body binary").collect())

    names = f"{fresh('a')},{fresh('b')}"
    assert bodies(names) == [b"3"]
    assert bodies(fresh("a") + ";retry") == [b"2"]
    assert bodies(rf".\private$\{fresh('a')}\Journal$") == [b"1"]
    assert bodies(rf"private$\{fresh('')}*") == [b"1", b"2", b"3"]


def test_an_empty_queue_has_no_rows(
    manager: Manager, read: Callable[..., DataFrame], fresh: Callable[[str], str]
) -> None:
    manager.create_queue(fresh("q"))
    assert read(fresh("q")).collect() == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"messagesPerPartition": "0"}, "option messagesPerPartition is '0'"),
        ({"tokenFile": "/nowhere/token"}, "option tokenFile"),
    ],
)
def test_a_wrong_option_is_reported_before_a_job_starts(
    manager: Manager,
    read: Callable[..., DataFrame],
    fresh: Callable[[str], str],
    options: dict[str, str],
    reason: str,
) -> None:
    manager.create_queue(fresh(reason[-8:]))
    with pytest.raises(PySparkException) as caught:
        read(fresh(reason[-8:]), **options).collect()
    assert reason in str(caught.value)


def test_an_unknown_queue_or_column_is_reported_with_the_nearest(
    manager: Manager, read: Callable[..., DataFrame], fresh: Callable[[str], str]
) -> None:
    manager.create_queue(fresh("orders"))
    with pytest.raises(PySparkException, match=r"did you mean .*-orders'"):
        read(fresh("ordrs")).collect()
    with pytest.raises(PySparkException, match="did you mean 'label'"):
        read(fresh("orders"), "lable string").collect()


@pytest.mark.parametrize("is_pushing", [True, False])
def test_filters_by_place(
    request: pytest.FixtureRequest,
    manager: Manager,
    read: Callable[..., DataFrame],
    fresh: Callable[[str], str],
    is_pushing: bool,
) -> None:
    if is_pushing:
        request.getfixturevalue("pushing")
    queue = manager.create_queue(fresh(f"{is_pushing}"))
    queue.send_many(Message(b"", label=label) for label in "abcde")
    places = [message.lookup_id for message in queue.peek_many(5)]

    def left(condition: str) -> list[str]:
        rows = read(queue.name, "lookup_id bigint, label string").where(condition)
        return sorted(row.label for row in rows.collect())

    assert left("lookup_id > 5") == list("abcde")
    assert left(f"lookup_id > {places[1]} and lookup_id <= {places[3]}") == ["c", "d"]
    assert left(f"lookup_id = {places[2]} and label is not null") == ["c"]
    assert left(f"not (lookup_id = {places[2]}) and label in ('b', 'c')") == ["b"]
    assert left(f"lookup_id > {places[4]} or lookup_id is null") == []
    plan = read(queue.name).where("lookup_id > 5")._jdf.queryExecution().executedPlan().toString()
    assert ("> 5" in plan) is not is_pushing, "Spark itself has nothing left to look at"


def test_sql_reads_a_view_and_is_refused_tables(
    spark: SparkSession, service: ManagerProcess, manager: Manager, fresh: Callable[[str], str]
) -> None:
    manager.create_queue(fresh("q")).send(Message(b"", label="here"))
    options = f"manager '{service.app}', queue '{fresh('q')}'"
    with pytest.raises(PySparkException, match="CREATE TEMPORARY VIEW orders USING msmq"):
        spark.sql(f"CREATE TABLE orders USING msmq OPTIONS ({options})")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW orders USING msmq OPTIONS ({options})")
    assert [row.label for row in spark.sql("SELECT label FROM orders").collect()] == ["here"]
    spark.sql(f"CREATE TABLE labels (label string) USING msmq OPTIONS ({options})")
    try:
        with pytest.raises(PySparkException, match="loses the options"):
            spark.sql("SELECT * FROM labels").collect()
        found = spark.sql(f"SELECT * FROM labels WITH ({options})").collect()
        assert [row.label for row in found] == ["here"]
    finally:
        spark.sql("DROP TABLE labels")


HERE = IPv6Address("::ffff:127.0.0.1").packed
"What remote readers see as the address that messages of this computer came from."


def test_a_manager_elsewhere_is_read_by_rpc(spark: SparkSession, tmp_path: Path) -> None:
    shop = ManagerProcess(tmp_path, "shop01", options=("--rpc-alternate-port", "0"))
    Users(shop.folder / "data").add("anna", "secret", "read")
    shop.start()
    try:
        with openmsmq.connect(shop.app) as manager:
            queue = manager.create_queue("orders")
            queue.send_many(Message(b"b", label=label, priority=3) for label in "abc")
            queue.send(Message("text", label="first", priority=7, app_specific=5))
            packets = [one.packet for one in queue.peek_many(9, timeout=0)]
            expected = [packet[:32] + HERE + packet[48:] for packet in packets]
        (tmp_path / "password").write_text("secret\n")
        rows = spark.read.format("msmq").option("protocol", "rpc").option("user", "anna")
        rows = rows.option("manager", "{}:{}".format(*shop.ready["rpc_alternate"]))
        rows = rows.option("computer", "shop01").option("queue", "orders")
        with pytest.raises(PySparkException, match="the password or"):
            rows.option("password", "wrong").load().collect()
        rows = rows.option("password", "").option("passwordFile", str(tmp_path / "password"))
        found = rows.load().select("label", "app_specific", "from_manager").collect()
        assert [row.label for row in found] == ["first", "a", "b", "c"]
        assert (found[0].app_specific, found[0].from_manager) == (5, "shop01")
        read = rows.schema("packet binary").load().collect()
        assert [bytes(row.packet) for row in read] == expected
    finally:
        shop.kill()
