"""What is written down of messages that a subscription was given."""

from __future__ import annotations

from operator import add
from typing import Final

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import (
    NEVER,
    RECORD_SIZE,
    SUBSCRIPTION_ROW,
    place_and_expiry,
    queue_key,
    with_expiry,
    with_packet,
)
from openmsmq.engine.storage.runs import is_member, reserved_tail
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.subscriptions.subscription import DurableSubscription

Rows = list[tuple[int, bytes]]
"Positions and records of messages that were given."
Messages = list[tuple[int, bytes]]
"Lookup identifiers and records of messages as they are in their queue."

TAIL_SIZE: Final = reserved_tail.size
"Bytes behind the record of a message that was given."


def give(batch: Batch, subscription: DurableSubscription, run: RunSlice, first: int) -> bool:
    """Let a subscription have a whole run, from a position on; False if it is not whole now."""
    source, store = subscription.source, subscription.store
    if not batch.runs.replace(run.run, run.run.given(store.number, first)):
        return False
    batch.count_in(source, -len(run), -run.size)
    batch.count_in(store, len(run), run.size)
    if batch.keeps_history:
        started = run.with_packets(batch.start_of(run))
        batch.note_slice(Event.RESERVED, source, started, "", subscription.name)
    batch.count(Event.RESERVED.word, len(run))
    return True


def take(batch: Batch, subscription: DurableSubscription, entries: list[Entry], first: int) -> None:
    """Take messages out of their queue, and keep them for the subscription from a position on."""
    source = subscription.source
    places = [(entry.lookup, entry.record) for entry in entries]
    if _are_members(places):
        taken = _taken_together(batch, source, places)
        if taken is not None:
            records, packets = taken
            gone = [(lookup, raw) for (lookup, _), raw in zip(places, records, strict=True)]
            _keep(batch, subscription, gone, first)
            note(batch, Event.RESERVED, source, gone, "", subscription.name, packets)
            return
    entries = _exploded(batch, source, entries)
    batch.take_out_many(
        source, [(entry.lookup, entry.record) for entry in entries if not entry.express]
    )
    stored = iter(_stored(batch, [entry for entry in entries if entry.express]))
    gone = [(entry.lookup, next(stored) if entry.express else entry.record) for entry in entries]
    _keep(batch, subscription, gone, first)
    note(batch, Event.RESERVED, source, gone, "", subscription.name)


def _taken_together(
    batch: Batch, source: ManagedQueue, messages: Messages
) -> tuple[list[bytes], list[bytes]] | None:
    """Take messages out of their runs and their queue, not out of the store.

    Their records and packets; None, and nothing is changed, if some are in no run any longer.
    """
    lookups = [lookup for lookup, _ in messages]
    if batch.runs.missing(source.number, lookups):
        return None
    batch.runs.remove(source.number, lookups)
    records, packets = batch.with_own_packets([raw for _, raw in messages])
    batch.take_out_many(source, list(zip(lookups, records, strict=True)))
    return records, packets


def copy(batch: Batch, subscription: DurableSubscription, entries: list[Entry]) -> None:
    """Keep copies of messages for the subscription."""
    entries = _exploded(batch, subscription.source, entries)
    stored = _stored(batch, entries)
    copies = [(entry.lookup, raw[:RECORD_SIZE]) for entry, raw in zip(entries, stored, strict=True)]
    _keep(batch, subscription, copies, subscription.reserved + 1)
    for entry in entries:
        if not entry.express:
            batch.rewrite(subscription.source, entry.lookup, entry.record)


def _are_members(messages: Messages) -> bool:
    return all([is_member(raw) for _, raw in messages])


def _out_of_run(batch: Batch, queue: ManagedQueue, lookup: int, raw: bytes) -> bytes:
    plain = batch.explode(queue, lookup, raw)
    assert plain is not None, "a message that is held or reserved is there"
    return plain


def _exploded(batch: Batch, source: ManagedQueue, entries: list[Entry]) -> list[Entry]:
    """The same messages with rows of their own, those that were in runs, too."""
    found = []
    for entry in entries:
        if is_member(entry.record):
            readers = entry.record[RECORD_SIZE:]
            plain = _out_of_run(batch, source, entry.lookup, entry.record[:RECORD_SIZE])
            entry = entry._replace(record=plain + readers)
        found.append(entry)
    return found


def _stored(batch: Batch, entries: list[Entry]) -> list[bytes]:
    """The records of messages whose packets are stored anew."""
    numbers = batch.store_packets([entry.packet for entry in entries])
    return [
        with_packet(entry.record, number) for entry, number in zip(entries, numbers, strict=True)
    ]


def _keep(batch: Batch, subscription: DurableSubscription, messages: Messages, first: int) -> None:
    """What is kept does not expire, but remembers when it would."""
    lookups, raws = [lookup for lookup, _ in messages], [raw for _, raw in messages]
    expires = [expiry for _, _, expiry in map(place_and_expiry, raws)]
    if min(expires, default=NEVER) != NEVER:
        raws = [with_expiry(raw, NEVER) for raw in raws]
    kept = list(map(add, raws, map(reserved_tail.pack, lookups, expires)))
    batch.keep_reserved(subscription.store, first, kept)


def take_out(batch: Batch, subscription: DurableSubscription, rows: Rows) -> Messages:
    """Messages leave the subscription: what they had and were in their queue."""
    store = subscription.store
    taken = _taken_together(batch, store, rows) if _are_members(rows) else None
    if taken is not None:
        rows = [(at, raw) for (at, _), raw in zip(rows, taken[0], strict=True)]
    else:
        rows = [(at, _out_of_run(batch, store, at, raw)) for at, raw in rows]
        batch.take_out_many(store, rows)
    tails = reserved_tail.iter_unpack(b"".join([raw[-TAIL_SIZE:] for _, raw in rows]))
    found = []
    for (_, raw), (lookup, expires) in zip(rows, tails, strict=True):
        kept = raw[:-TAIL_SIZE]
        found.append((lookup, kept if expires == NEVER else with_expiry(kept, expires)))
    return found


def note(
    batch: Batch,
    event: Event,
    queue: ManagedQueue,
    messages: Messages,
    by: str,
    extra: str,
    packets: list[bytes] | None = None,
) -> None:
    """Keep an event of messages that were given; `packets` are theirs, if they are at hand."""
    if batch.keeps_history:
        starts = batch.first_chunks([raw for _, raw in messages]) if packets is None else packets
        lookups = [lookup for lookup, _ in messages]
        batch.note(event, queue, lookups, identifiers(starts), by, extra)
    batch.count(event.word, len(messages))


def place_of(raw: bytes) -> tuple[int, int]:
    """Where a message stood in its queue, and when it expires there."""
    lookup, expires = reserved_tail.unpack_from(raw, len(raw) - TAIL_SIZE)
    return lookup, expires


def write_state(
    batch: Batch,
    subscription: DurableSubscription,
    *,
    committed: int | None = None,
    reserved: int | None = None,
    owners: tuple[str, ...] | None = None,
) -> None:
    """Write down how far it has come with this commit, and whose it is."""
    if committed is not None or not subscription.finished:
        subscription.finished = batch.now
    row = subscription.pack(
        committed=subscription.committed if committed is None else committed,
        reserved=subscription.reserved if reserved is None else reserved,
        owners=(subscription.owner, *subscription.past) if owners is None else owners,
    )
    batch.writer.put(Table.QUEUES, queue_key(subscription.store.number, SUBSCRIPTION_ROW), row)
