"""The way from older formats of a store to this one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from struct import Struct, pack
from typing import Final

from openmsmq.model.layout import (
    ARRIVAL_MASK,
    NEVER,
    PROPERTIES_ROW,
    PURGED_ROW,
    Owed,
    Record,
    expiry_key,
    flags_of,
    index_key,
    owed,
    packet_keys,
    split_index_key,
)
from openmsmq.model.queue import Kind
from openmsmq.model.sequences import OutgoingSequence
from openmsmq.model.storage import Table, Writer
from openmsmq.model.transaction import SENT, Sent, sent_row, split_key
from openmsmq.packet.view import PacketView

_END: Final = b"\xff" * 16
_STEP: Final = 10_000
_old_sent = Struct("<IBQII")
_queue_key = Struct(">IB")
_mark = Struct("<Q")


def to_2(writer: Writer) -> None:
    """Format 2: messages that expire, what is owed for each, kinds of queues, purges by message."""
    _messages(writer)
    _queues(writer)
    _transactions(writer)


def to_3(writer: Writer) -> None:
    """Format 3: a table for transfers between managers, which begins empty.

    What waits to be sent in a transaction was never numbered and cannot have been sent: its
    sequence begins with the first message of each queue.
    """
    for ordinal, (queue, first) in enumerate(_first_transactional(writer).items(), 1):
        OutgoingSequence(ordinal, queue, first).write(writer)


def to_4(writer: Writer) -> None:
    """Format 4: messages that cannot be read yet, and ids of sent ones; there are none so far.

    What was written before reads as it did: properties of queues that are missing have their
    defaults, messages of transactions have neither ids nor times.
    """


def to_5(writer: Writer) -> None:
    """Format 5: owners of subscriptions."""
    migrate_4_to_5_owners(writer)


def migrate_4_to_5_owners(writer: Writer) -> None:
    """Subscriptions have owners, and positions that these have read.

    What was written before reads as it did: without an owner. The number changes because older
    programs would take an owner for damage, and skipped messages for missing ones.
    """


def _first_transactional(writer: Writer) -> dict[int, int]:
    """The first transactional message of each outgoing queue, by arrival number."""
    found: dict[int, int] = {}
    for key, row in _rows(writer, Table.QUEUES):
        number, kind = _queue_key.unpack(key)
        if kind != PROPERTIES_ROW or json.loads(row)["kind"] != Kind.OUTGOING:
            continue
        for place, raw in writer.scan(Table.INDEX, index_key(number, 0), index_key(number + 1, 0)):
            if flags_of(raw) & Owed.TRANSACTIONAL:
                found[number] = split_index_key(place)[1] & ARRIVAL_MASK
                break
    return found


def _messages(writer: Writer) -> None:
    for key, raw in _rows(writer, Table.INDEX):
        record = Record.unpack(raw)
        flags = owed(_packet(writer, record.packet_number, record.size))
        if flags:
            writer.put(Table.INDEX, key, record._replace(flags=flags).pack())
        if record.expires != NEVER:
            writer.put(Table.EXPIRY, expiry_key(record.expires, *split_index_key(key)), b"")


def _queues(writer: Writer) -> None:
    for key, row in _rows(writer, Table.QUEUES):
        number, kind = _queue_key.unpack(key)
        if kind == PROPERTIES_ROW:
            values = json.loads(row)
            private = values["name"].upper().startswith("PRIVATE$\\")
            values["kind"] = Kind.PRIVATE if private else Kind.PUBLIC
            writer.put(Table.QUEUES, key, json.dumps(values, ensure_ascii=False).encode())
        elif kind == PURGED_ROW:
            purged = sorted(_purged(writer, number, _mark.unpack(row)[0]))
            writer.put(Table.QUEUES, key, pack(f"<{len(purged)}Q", *purged))


def _purged(writer: Writer, queue: int, mark: int) -> Iterator[int]:
    """The messages that arrived up to a mark."""
    for key, _ in writer.scan(Table.INDEX, index_key(queue, 0), index_key(queue + 1, 0)):
        lookup = split_index_key(key)[1]
        if lookup & ARRIVAL_MASK <= mark:
            yield lookup


def _transactions(writer: Writer) -> None:
    for key, row in _rows(writer, Table.TRANSACTIONS):
        if split_key(key)[1] == SENT:
            queue, priority, number, size, expires = _old_sent.unpack(row)
            packet = _packet(writer, number, size)
            identifier = PacketView(packet).identifier
            sent = Sent(queue, priority, number, size, expires, owed(packet), identifier)
            writer.put(Table.TRANSACTIONS, key, sent_row(sent))


def _packet(writer: Writer, number: int, size: int) -> bytes:
    return b"".join(writer.get_many(Table.PACKETS, packet_keys(number, size)))


def _rows(writer: Writer, table: Table) -> Iterator[tuple[bytes, bytes]]:
    """All rows of a table, which may be changed meanwhile."""
    after = b""
    while rows := list(islice(writer.scan(table, after, _END), _STEP)):
        yield from rows
        after = rows[-1][0] + b"\0"
