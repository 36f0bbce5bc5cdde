"""The way from older formats of a store to this one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from struct import Struct, pack
from typing import Final

from openmsmq.engine.arrivals.duplicates import SEEN, Owner, seen_row
from openmsmq.engine.arrivals.incoming import INCOMING, IncomingSequence, read_incoming_4
from openmsmq.engine.commit.timeline import Timeline, expiry
from openmsmq.engine.outgoing.sequence_numbers import write_destination, write_floor
from openmsmq.engine.outgoing.sequences import OUTGOING, OutgoingSequence
from openmsmq.engine.storage.layout import (
    COUNTERS_ROW,
    JOURNAL_BIT,
    NEVER,
    PROPERTIES_ROW,
    PURGED_ROW,
    Owed,
    Record,
    expiry_key,
    flags_of,
    index_key,
    owed,
    pack_counters,
    packet_keys,
    queue_key,
    split_index_key,
    unpack_counters,
)
from openmsmq.engine.storage.recovery import STARTS_KEY
from openmsmq.engine.storage.settings import SETTINGS_KEY, load_settings, settings_row
from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.engine.transactions.staged import StagedSend, sent_row
from openmsmq.engine.transactions.transaction import SENT, split_key
from openmsmq.errors import MQError
from openmsmq.limits import U32_MAX
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.format import parse_format_name
from openmsmq.names.parts import fold
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE
from openmsmq.types.lookup import ARRIVAL_MASK
from openmsmq.types.queues import QueueKind
from openmsmq.types.settings import CONFIRMATION_GRACE

_END: Final = b"\xff" * 16
_STEP: Final = 10_000
_INHERITED_MAX: Final = 100
"Names of this computer that are kept."
_old_sent = Struct("<IBQII")
_queue_key = Struct(">IB")
_mark = Struct("<Q")
_old_key = Struct(">cI")
_old_row = Struct("<IQ")
_OLD_STAMP_KEY: Final = b"sequence"


def to_2(writer: Writer) -> None:
    """Format 2: messages that expire, what is owed for each, kinds of queues, purges by message."""
    _messages(writer)
    _queues(writer)
    _transactions(writer)


def to_3(writer: Writer) -> None:
    """Format 3: a table for transfers between managers, which begins empty.

    Transactional messages in outgoing queues were never numbered and cannot have been sent: their
    sequence begins with the first message of each queue.
    """
    for ordinal, (queue, first) in enumerate(_first_transactional(writer).items(), 1):
        writer.put(Table.TRANSFER, _old_key.pack(OUTGOING, ordinal), _old_row.pack(queue, first))


def to_4(writer: Writer) -> None:
    """Format 4: messages that cannot be read yet, and ids of sent ones; there are none so far.

    What was written before reads as it did: properties of queues that are missing have their
    defaults, messages of transactions have neither ids nor times.
    """


def to_5(writer: Writer) -> None:
    """Format 5: sequences of their own for each destination, and state by who may speak for it.

    Subscriptions may have owners; those written before have none.
    """
    _outgoing_sequences(writer)
    _incoming_sequences(writer)
    _seen_messages(writer)
    migrate_4_to_5_names(writer)
    migrate_4_to_5_unconfirmed(writer)


def to_6(writer: Writer) -> None:
    """Format 6: a table for messages that are stored together, which begins empty.

    Events of the history may name the first of several messages.
    """


def to_7(writer: Writer) -> None:
    """Format 7: a table for the audit log, which begins empty."""


def to_8(writer: Writer) -> None:
    """Format 8: queues count what happens to their messages, from now on."""
    for key, row in _rows(writer, Table.QUEUES):
        if _queue_key.unpack(key)[1] == COUNTERS_ROW:
            writer.put(Table.QUEUES, key, pack_counters(*unpack_counters(row)))


def to_9(writer: Writer) -> None:
    """Format 9: transactions that are not decided may keep runs; there are none so far."""


def to_10(writer: Writer) -> None:
    """Format 10: subscriptions may be given whole runs; there are none so far."""


def to_11(writer: Writer) -> None:
    """Format 11: runs of outgoing queues, which may expire; there are none so far."""


def to_12(writer: Writer) -> None:
    """Format 12: runs of queues here may expire, too; there are none so far that do."""


def to_13(writer: Writer) -> None:
    """Format 13: a log may hold what the tables lack, which older programs do not know."""


def _outgoing_sequences(writer: Writer) -> None:
    """All destinations shared one TimeStamp and one series of Ordinals.

    Who answers at each, and how far its messages were sent, is not known.
    """
    stamp = _time_stamp(writer)
    newest: dict[int, int] = {}
    for key, row in list(writer.scan(Table.TRANSFER, OUTGOING, OUTGOING + _END)):
        ordinal, (queue, first) = _old_key.unpack(key)[1], _old_row.unpack(row)
        writer.delete(Table.TRANSFER, key)
        OutgoingSequence(stamp, ordinal, queue, first, U32_MAX).write(writer)
        newest[queue] = max(newest.get(queue, 0), ordinal)
    for queue, ordinal in newest.items():
        properties = writer.get(Table.QUEUES, queue_key(queue))
        if properties is not None:
            write_destination(writer, json.loads(properties)["name"], stamp, ordinal)
    writer.delete(Table.META, _OLD_STAMP_KEY)
    write_floor(writer, stamp)


def _time_stamp(writer: Writer) -> int:
    """The TimeStamp of all sequences; a store that was restored had none until its next start."""
    raw = writer.get(Table.META, _OLD_STAMP_KEY)
    if raw is not None:
        return int.from_bytes(raw[:4], "little")
    starts = writer.get(Table.META, STARTS_KEY) or bytes(4)
    return int.from_bytes(starts[-4:], "little") + 1


def _incoming_sequences(writer: Writer) -> None:
    for key, row in list(writer.scan(Table.TRANSFER, INCOMING, INCOMING + _END * 2)):
        writer.put(Table.TRANSFER, key, read_incoming_4(key, row).pack())


def _seen_messages(writer: Writer) -> None:
    """What came lately counts as brought by known peers, so that no stranger displaces it."""
    for key, row in list(writer.scan(Table.TRANSFER, SEEN, SEEN + _END)):
        time = int.from_bytes(row[:4], "little")
        writer.put(Table.TRANSFER, key, seen_row(time, Owner("", is_known=True), [row[4:]]))


def migrate_4_to_5_names(writer: Writer) -> None:
    """Keep the names of this computer under which transactional messages have come.

    They were not checked before. Those used last are kept, up to a bound.
    """
    times: dict[str, int] = {}
    for _, row in writer.scan(Table.TRANSFER, INCOMING, INCOMING + _END * 2):
        sequence = IncomingSequence.unpack(row)
        host = _named_computer(sequence.name)
        if host:
            times[host] = max(times.get(host, 0), sequence.time)
    if times:
        newest = sorted(times, key=lambda host: (-times[host], host))[:_INHERITED_MAX]
        settings = load_settings(writer).changed(inherited_names=tuple(sorted(newest)))
        writer.put(Table.META, SETTINGS_KEY, settings_row(settings))


def _named_computer(destination: str) -> str:
    """The computer in a destination as its sender wrote it; empty if none is named."""
    try:
        name = parse_format_name(destination)
    except MQError:
        return ""
    return (
        fold(name.address) if isinstance(name, DirectName) and name.protocol is Protocol.OS else ""
    )


def migrate_4_to_5_unconfirmed(writer: Writer) -> None:
    """Let sent messages expire that wait for their last word, as those do that are sent now.

    They were kept for ever. When they expire is counted from what the clock showed then.
    """
    shift = Timeline(writer).shift
    for number in _outgoing(writer):
        first, end = (index_key(number + more | JOURNAL_BIT, 0) for more in (0, 1))
        for key, raw in list(writer.scan(Table.INDEX, first, end)):
            record = Record.unpack(raw)
            view = PacketView(_packet(writer, record.packet_number, record.size))
            if view.time_to_be_received == INFINITE:
                continue
            lifetime = view.time_to_be_received + CONFIRMATION_GRACE
            expires = expiry(view.sent_time - shift, lifetime, NEVER)
            writer.put(Table.INDEX, key, record._replace(expires=expires).pack())
            writer.put(Table.EXPIRY, expiry_key(expires, *split_index_key(key)), b"")


def _outgoing(writer: Writer) -> list[int]:
    """The numbers of the outgoing queues."""
    found = []
    for key, row in _rows(writer, Table.QUEUES):
        number, kind = _queue_key.unpack(key)
        if kind == PROPERTIES_ROW and json.loads(row)["kind"] == QueueKind.OUTGOING:
            found.append(number)
    return found


def _first_transactional(writer: Writer) -> dict[int, int]:
    """The first transactional message of each outgoing queue, by arrival number."""
    found: dict[int, int] = {}
    for number in _outgoing(writer):
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
            values["kind"] = QueueKind.PRIVATE if private else QueueKind.PUBLIC
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
            sent = StagedSend(queue, priority, number, size, expires, owed(packet), identifier)
            writer.put(Table.TRANSACTIONS, key, sent_row(sent))


def _packet(writer: Writer, number: int, size: int) -> bytes:
    return b"".join(writer.get_many(Table.PACKETS, packet_keys(number, size)))


def _rows(writer: Writer, table: Table) -> Iterator[tuple[bytes, bytes]]:
    """All rows of a table, which may be changed meanwhile."""
    after = b""
    while rows := list(islice(writer.scan(table, after, _END), _STEP)):
        yield from rows
        after = rows[-1][0] + b"\0"
