"""Batch reads of a manager elsewhere over remote read, one of Windows among them.

`protocol=rpc`: each queue is read by one task, which looks at one message after the other with a
cursor until it is at the end. Nothing is taken. There are no streams: the places of messages are
known to that manager alone, and are no offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

import openmsmq
from openmsmq import Manager, Queue
from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.errors import InvalidParameter, ReceiveTimeout
from openmsmq.spark.arrow import Columns
from openmsmq.spark.block import Block
from openmsmq.spark.options import Options
from openmsmq.spark.service import is_pattern
from openmsmq.spark.tasks import one_ahead
from openmsmq.types.access import Access
from openmsmq.types.received import ReceivedMessage

PORT: Final = 2103
BLOCK_MESSAGES: Final = 500
BLOCK_SIZE: Final = 8 << 20
"Messages, and bytes of them, that become one batch of rows."


@dataclass(frozen=True)
class RemoteQueue(InputPartition):
    """A queue of a manager elsewhere."""

    manager: str
    queue: str


class RemoteReader(DataSourceReader):
    """Reads what is in queues of managers elsewhere."""

    def __init__(self, options: Options, names: tuple[str, ...]) -> None:
        self._options = options
        self._names = names
        if not options.queues or any(map(is_pattern, options.queues)):
            raise InvalidParameter("option queue: names are needed; remote read lists no queues")
        for one in self.partitions():
            with connect_remote(options, one.manager) as manager:
                manager.open_queue(one.queue, access=Access.PEEK).close()

    def partitions(self) -> list[RemoteQueue]:
        """Each queue of each manager."""
        options = self._options
        return [RemoteQueue(place, name) for place in options.managers for name in options.queues]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a queue."""
        assert isinstance(partition, RemoteQueue)
        with connect_remote(self._options, partition.manager) as manager:
            queue = manager.open_queue(partition.queue, access=Access.PEEK)
            for block in one_ahead(blocks(queue)):
                queues = [(queue.name, len(block))]
                yield Columns(block, queues=queues, manager=manager.name).batch(self._names)


def connect_remote(options: Options, place: str) -> Manager:
    """A connection to a manager at `HOST` or `HOST:PORT`."""
    host, _, port = place.rpartition(":") if place.count(":") == 1 else (place, "", "")
    if port and not port.isdecimal():
        raise InvalidParameter(f"option manager: {place}: HOST or HOST:PORT is needed")
    return openmsmq.connect_remote(
        host,
        port=int(port or PORT),
        user=options.user,
        password=options.login_secret(),
        auth=options.auth,
        level=options.level,
        computer=options.computer,
        timeout=options.timeout,
    )


def blocks(queue: Queue) -> Iterator[Block]:
    """The messages of a queue in their order, some at a time."""
    found: list[ReceivedMessage] = []
    size = 0
    with queue.cursor() as cursor:
        look = cursor.peek
        while True:
            try:
                message = look(timeout=0)
            except ReceiveTimeout:
                break
            look = cursor.next
            found.append(message)
            size += len(message.packet)
            if len(found) >= BLOCK_MESSAGES or size >= BLOCK_SIZE:
                yield block_of(found)
                found, size = [], 0
    if found:
        yield block_of(found)


def block_of(messages: list[ReceivedMessage]) -> Block:
    """Messages as the application protocol would bring them."""
    return Block.of_slices(
        [
            QueuedSlice(
                one.lookup_id,
                int(one.arrived_time.timestamp()),
                one.abort_count,
                one.move_count,
                one.message_class,
                1,
                one.stored,
            )
            for one in messages
        ]
    )
