"""The format `msmq`: queues as sources and sinks of Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from openmsmq.errors import InvalidParameter
from openmsmq.spark import options as known
from openmsmq.spark.batch_reader import BatchReader
from openmsmq.spark.columns import check_read, check_write, default_schema
from openmsmq.spark.options import RPC, parse
from openmsmq.spark.remote_reader import RemoteReader
from openmsmq.spark.stream_reader import StreamReader
from openmsmq.spark.writers import BatchWriter, StreamWriter
from openmsmq.types.lookup import ARRIVAL_BITS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import Filter

_NO_TABLES: Final = (
    "Spark's catalogue loses the options of tables of sources in Python. What works: CREATE"
    " TEMPORARY VIEW orders USING msmq OPTIONS (manager 'shop01:1811', queue 'orders'); for a table"
    " that is there, SELECT ... FROM it WITH (manager 'shop01:1811', queue 'orders')"
)
PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"


class MsmqDataSource(DataSource):
    """A queue, many queues, or those of many managers."""

    @classmethod
    def name(cls) -> str:
        """What `format` is given."""
        return "msmq"

    def schema(self) -> str:
        """All columns but those that cost much."""
        if "provider" in self.options:  # Spark asks for the schema of a new table
            raise InvalidParameter(f"CREATE TABLE ... USING msmq: {_NO_TABLES}")
        found = parse(self.options, known.STREAM)
        return default_schema(headers=found.include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads what is there."""
        return self._reader(BatchReader, schema)

    def _reader(self, kind: type[BatchReader], schema: StructType) -> DataSourceReader:
        if not self.options:
            raise InvalidParameter(f"there are no options: {_NO_TABLES}")
        options, names = parse(self.options, known.BATCH), check_read(_columns(schema))
        return RemoteReader(options, names) if options.protocol == RPC else kind(options, names)

    def streamReader(self, schema: StructType) -> StreamReader:
        """Reads what is there and what comes."""
        if parse(self.options, known.STREAM).protocol == RPC:
            raise InvalidParameter(
                "option protocol: rpc is for batches only, since places of messages at a manager"
                " elsewhere are no offsets; read a stream from a manager of OpenMSMQ (app)"
            )
        return StreamReader(parse(self.options, known.STREAM), check_read(_columns(schema)))

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        """Sends rows as messages."""
        names = check_write(_columns(schema))
        _refuse_overwriting(overwrite)
        if not self.options and "queue" not in names:
            raise InvalidParameter(f"there are no options: {_NO_TABLES}")
        return BatchWriter(parse(self.options, known.WRITE), names)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        """Sends the rows of a stream as messages."""
        names = check_write(_columns(schema))
        _refuse_overwriting(overwrite)
        return StreamWriter(parse(self.options, known.SINK), names)


class PushingReader(BatchReader):
    """Reads only what a filter by place leaves."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take over those that limit the range of lookup identifiers."""
        for one in filters:
            bounds = _bounds(one)
            if bounds is None:
                yield one
            else:
                self.limit(*bounds)


class PushingDataSource(MsmqDataSource):
    """The same for sessions that push filters down, which Spark refuses to others."""

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads what is there, as far as filters let it."""
        return self._reader(PushingReader, schema)


def pushes_filters(spark: SparkSession) -> bool:
    """Whether filters are pushed down in a session."""
    return spark.conf.get(PUSHDOWN, "false") == "true"


def _bounds(one: Filter) -> tuple[int, int] | None:
    """The lookup identifiers that a filter leaves; None if it is about something else.

    Spark sends filters of many kinds, of which some have neither a column nor a value.
    """
    value, most = getattr(one, "value", None), (8 << ARRIVAL_BITS) - 1
    names = tuple(name.lower() for name in getattr(one, "attribute", ()))
    if names != ("lookup_id",) or not isinstance(value, int):
        return None
    return {
        "EqualTo": (value, value),
        "GreaterThan": (value + 1, most),
        "GreaterThanOrEqual": (value, most),
        "LessThan": (0, value - 1),
        "LessThanOrEqual": (0, value),
    }.get(type(one).__name__)


def _columns(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema.fields]


def _refuse_overwriting(overwrite: bool) -> None:
    if overwrite:
        raise InvalidParameter('a queue is not overwritten: use mode("append")')
