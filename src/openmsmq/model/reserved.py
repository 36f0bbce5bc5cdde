"""What is written down of messages that a subscription was given."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from openmsmq.model.committing import Batch
from openmsmq.model.history import Event, identifiers
from openmsmq.model.layout import NEVER, SUBSCRIPTION_ROW, Record, queue_key
from openmsmq.model.queue import Queue
from openmsmq.model.reading import Entry
from openmsmq.model.storage import Table
from openmsmq.model.subscription import Subscription

Rows = list[tuple[int, bytes]]
"Positions and records of messages that were given."

_tail = Struct("<QI")


class Reserved(NamedTuple):
    """A message that was given."""

    position: int
    lookup: int
    "What it had in its queue."
    record: bytes
    packet: bytes


def take(batch: Batch, subscription: Subscription, entries: list[Entry]) -> None:
    """Take messages out of their queue, and keep them for the subscription."""
    source = subscription.source
    gone: list[tuple[int, Record]] = []
    for position, entry in enumerate(entries, subscription.end + 1):
        record = Record.unpack(entry.record)
        if entry.express:
            record = record._replace(packet_number=batch.store_packet(entry.packet))
        else:
            batch.take_out(source, entry.lookup, entry.record)
        _keep(batch, subscription, position, entry.lookup, record)
        gone.append((entry.lookup, record))
    note(batch, Event.RESERVED, source, gone, "", subscription.name)


def copy(batch: Batch, subscription: Subscription, entries: list[Entry]) -> None:
    """Keep copies of messages for the subscription."""
    for position, entry in enumerate(entries, subscription.end + 1):
        number = batch.store_packet(entry.packet)
        record = Record.unpack(entry.record)._replace(packet_number=number, readers=b"")
        _keep(batch, subscription, position, entry.lookup, record)
        if not entry.express:
            batch.rewrite(subscription.source, entry.lookup, entry.record)


def _keep(
    batch: Batch, subscription: Subscription, position: int, lookup: int, record: Record
) -> None:
    raw = record._replace(expires=NEVER).pack() + _tail.pack(lookup, record.expires)
    batch.keep_reserved(subscription.store, position, raw, record.size)


def take_out(batch: Batch, subscription: Subscription, rows: Rows) -> list[tuple[int, Record]]:
    """Messages leave the subscription: what they had and were in their queue."""
    for position, raw in rows:
        batch.take_out(subscription.store, position, raw)
    found = []
    for _, raw in rows:
        lookup, expires = place_of(raw)
        found.append((lookup, Record.unpack(raw[: -_tail.size])._replace(expires=expires)))
    return found


def note(
    batch: Batch,
    event: Event,
    queue: Queue,
    messages: Sequence[tuple[int, Record]],
    by: str,
    extra: str,
) -> None:
    """Keep an event of messages that were given."""
    if batch.keeps_history:
        starts = batch.first_chunks([record.pack() for _, record in messages])
        lookups = [lookup for lookup, _ in messages]
        batch.note(event, queue, lookups, identifiers(starts), by, extra)
    batch.count(event.word, len(messages))


def place_of(raw: bytes) -> tuple[int, int]:
    """Where a message stood in its queue, and when it expires there."""
    lookup, expires = _tail.unpack_from(raw, len(raw) - _tail.size)
    return lookup, expires


def write_state(
    batch: Batch, subscription: Subscription, *, done: int | None = None, end: int | None = None
) -> None:
    """Write down how far it has come with this commit."""
    if done is not None or not subscription.finished:
        subscription.finished = batch.now
    row = subscription.pack(
        done=subscription.done if done is None else done,
        end=subscription.end if end is None else end,
    )
    batch.writer.put(Table.QUEUES, queue_key(subscription.store.number, SUBSCRIPTION_ROW), row)
