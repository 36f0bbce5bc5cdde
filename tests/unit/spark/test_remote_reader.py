"""Batch reads of a manager elsewhere over remote read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.client.remote_read.managers import RemoteManager, remote_manager

pytest.importorskip("pyspark")

from pyspark.sql.types import BinaryType, StructType

import openmsmq
from openmsmq.errors import AccessDenied, InvalidParameter, QueueNotFound
from openmsmq.spark import remote_reader
from openmsmq.spark.options import BATCH, STREAM, Options, parse
from openmsmq.spark.remote_reader import RemoteReader, blocks, connect_remote
from openmsmq.spark.source import MsmqDataSource


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteManager]:
    with remote_manager(tmp_path_factory.mktemp("elsewhere")) as made:
        made.send("b", "c")
        made.send("a", priority=7)
        yield made


def given(elsewhere: RemoteManager, **more: str) -> dict[str, str]:
    return {
        "protocol": "rpc",
        "manager": f"127.0.0.1:{elsewhere.port}",
        "computer": "HOST",
        "queue": "orders",
        "user": "alice",
        "password": "secret",
        **more,
    }


def options(elsewhere: RemoteManager, **more: str) -> Options:
    return parse(given(elsewhere, **more), BATCH)


def test_a_queue_is_read_in_its_order_and_stays_as_it_is(
    elsewhere: RemoteManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_reader, "BLOCK_MESSAGES", 2)
    reader = RemoteReader(options(elsewhere), ("label", "priority", "body", "lookup_id"))
    [partition] = reader.partitions()
    found = list(reader.read(partition))
    assert [len(batch) for batch in found] == [2, 1]
    rows = [row for batch in found for row in batch.to_pylist()]
    assert [(row["body"], row["priority"]) for row in rows] == [(b"a", 7), (b"b", 3), (b"c", 3)]
    assert elsewhere.count() == 3
    with connect_remote(options(elsewhere), f"127.0.0.1:{elsewhere.port}") as manager:
        peeked = manager.open_queue("orders").peek_many(9, timeout=0)
    assert [row["lookup_id"] for row in rows] == [message.lookup_id for message in peeked]


def test_an_empty_queue_has_no_rows(elsewhere: RemoteManager) -> None:
    with connect_remote(options(elsewhere), f"127.0.0.1:{elsewhere.port}") as manager:
        assert list(blocks(manager.open_queue("billing", access=openmsmq.Access.PEEK))) == []


def test_each_queue_of_each_manager_is_a_task(elsewhere: RemoteManager) -> None:
    place = f"127.0.0.1:{elsewhere.port}"
    reader = RemoteReader(options(elsewhere, queue="orders,billing"), ("body",))
    assert [(one.manager, one.queue) for one in reader.partitions()] == [
        (place, "orders"),
        (place, "billing"),
    ]


def test_a_password_may_be_in_a_file(elsewhere: RemoteManager, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("secret\n")
    asked = given(elsewhere, passwordFile=str(file))
    del asked["password"]
    RemoteReader(parse(asked, BATCH), ("body",))


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"queue": "ord*"}, InvalidParameter),
        ({"queue": "missing"}, QueueNotFound),
        ({"password": "wrong"}, AccessDenied),
        ({"manager": "host:port"}, InvalidParameter),
        ({"level": "high"}, InvalidParameter),
        ({"passwordFile": "missing"}, InvalidParameter),
    ],
)
def test_what_cannot_be_read_fails_before_anything_is_planned(
    elsewhere: RemoteManager, more: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        RemoteReader(options(elsewhere, **more), ("body",))


def test_there_are_no_streams(elsewhere: RemoteManager) -> None:
    source = MsmqDataSource(given(elsewhere))
    assert parse(given(elsewhere), STREAM).protocol == "rpc"
    with pytest.raises(InvalidParameter, match="batches only"):
        source.streamReader(_schema())
    assert isinstance(source.reader(_schema()), RemoteReader)


def _schema() -> StructType:
    return StructType().add("body", BinaryType())
