"""The format itself, without Spark; `tests/spark` has it with it."""

from __future__ import annotations

import pytest
from pyspark.sql.datasource import (
    CaseInsensitiveDict,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)
from pyspark.sql.types import MapType, StringType, StructType

from openmsmq import Manager
from openmsmq.errors import InvalidParameter
from openmsmq.spark.batch_reader import BatchReader
from openmsmq.spark.source import MsmqDataSource, PushingDataSource, PushingReader
from openmsmq.spark.stream_reader import StreamReader
from openmsmq.spark.writers import BatchWriter, StreamWriter

READ = StructType().add("label", "string").add("headers", MapType(StringType(), StringType()))
WRITE = StructType().add("body", "binary")


def source(**options: str) -> MsmqDataSource:
    return MsmqDataSource(CaseInsensitiveDict(options))


def test_the_format_reads_and_writes(manager: Manager) -> None:
    manager.create_queue("orders")
    assert MsmqDataSource.name() == "msmq"
    orders = source(queue="orders")
    assert orders.schema().startswith("lookup_id bigint")
    assert type(orders.reader(READ)) is BatchReader
    assert isinstance(orders.streamReader(READ), StreamReader)
    assert isinstance(orders.writer(WRITE, False), BatchWriter)
    sink = source(queue="orders", checkpointLocation="/c")
    assert isinstance(sink.streamWriter(WRITE, False), StreamWriter)


def test_what_is_wrong_is_reported_by_the_source(manager: Manager) -> None:
    manager.create_queue("orders")
    with pytest.raises(InvalidParameter, match="did you mean 'queue'"):
        source(quue="orders").schema()
    with pytest.raises(InvalidParameter, match='mode\\("append"\\)'):
        source(queue="orders").writer(WRITE, True)
    with pytest.raises(InvalidParameter, match="no option 'subscription' here"):
        source(queue="orders", subscription="x").reader(READ)


def test_tables_of_the_catalogue_are_refused_with_what_works(manager: Manager) -> None:
    """Spark passes on what it knows of a table when it is made, and nothing when it is read."""
    manager.create_queue("orders")
    with pytest.raises(InvalidParameter, match=r"CREATE TABLE .* TEMPORARY VIEW"):
        source(provider="msmq", owner="me", queue="orders").schema()
    with pytest.raises(InvalidParameter, match=r"no options: .* WITH \(manager"):
        source().reader(READ)
    with pytest.raises(InvalidParameter, match=r"no options: .* WITH \(manager"):
        source().writer(WRITE, False)
    rows = StructType().add("body", "binary").add("queue", "string")
    assert isinstance(source().writer(rows, False), BatchWriter)


def test_filters_by_place_are_pushed_down(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    queue.send_many([b"1", b"2", b"3", b"4", b"5"])
    places = [message.lookup_id for message in queue.peek_many(5)]
    name = ("lookup_id",)

    def left(*filters: Filter) -> int:
        reader = PushingDataSource(CaseInsensitiveDict({"queue": "orders"})).reader(READ)
        assert isinstance(reader, PushingReader)
        assert list(reader.pushFilters(list(filters))) == []
        return sum(len(batch) for part in reader.partitions() for batch in reader.read(part))

    assert left() == 5
    assert left(EqualTo(name, places[2])) == 1
    assert left(GreaterThan(name, places[0]), LessThan(name, places[4])) == 3
    assert left(GreaterThanOrEqual(name, places[1]), LessThanOrEqual(name, places[3])) == 3
    assert left(GreaterThan(name, places[4])) == 0


def test_other_filters_are_left_to_spark(manager: Manager) -> None:
    manager.create_queue("orders")
    reader = PushingDataSource(CaseInsensitiveDict({"queue": "orders"})).reader(READ)
    place = ("lookup_id",)
    others: list[Filter] = [
        *(EqualTo(("label",), "x"), EqualTo(place, None), IsNotNull(place), In(place, (1, 2))),
        Not(EqualTo(place, 5)),
    ]
    assert list(reader.pushFilters(others)) == others
