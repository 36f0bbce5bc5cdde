"""Deduplication ids, which make sends idempotent.

A program that got no answer to a send repeats it with the same id. The id is written in the commit
that stores the message; the newest ids are remembered for a limited time.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import Final

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.tables import Snapshot, Table, Writer
from openmsmq.names.format import parse_format_name
from openmsmq.types.queues import QueueKind
from openmsmq.types.settings import Settings

DEDUP: Final = b"D"
"Prefix of the rows of single ids."
GROUP: Final = b"G"
"Prefix of the rows of ids that were committed together, oldest first."
DEDUP_STATE_KEY: Final = b"onces"
KEY_SIZE: Final = 16
DROP_LEAST: Final = 100
"Ids that one commit may drop, besides two for each it adds."

_row = Struct("<QI")
_group = Struct(">cQ")
_state = Struct("<QQQ")
_time = Struct("<I")


def dedup_key(queue: ManagedQueue, dedup_id: str) -> bytes:
    """The key of a deduplication id, which is scoped to its queue.

    A queue that is deleted and created again is a new scope; a remote queue is known by its name.
    """
    is_here = queue.kind is not QueueKind.OUTGOING
    scope = queue.number.to_bytes(4) if is_here else parse_format_name(queue.name).key.encode()
    return blake2b(scope + b"\0" + dedup_id.encode(), digest_size=KEY_SIZE).digest()


def find_duplicate(snapshot: Snapshot, key: bytes) -> int | None:
    """The number of the message that was sent with a deduplication id; None for a new id."""
    raw = snapshot.get(Table.TRANSFER, DEDUP + key)
    return None if raw is None else read_dedup_row(raw)


def read_dedup_row(raw: bytes) -> int:
    """The message number in the row of a deduplication id."""
    number: int = _row.unpack(raw)[1]
    return number


def read_group(key: bytes, raw: bytes) -> tuple[int, list[bytes]]:
    """The time and the keys of ids that were committed together."""
    _group.unpack(key)
    if len(raw) % KEY_SIZE != _time.size:
        raise ValueError(f"a row of {len(raw)} bytes")
    keys = [raw[at : at + KEY_SIZE] for at in range(_time.size, len(raw), KEY_SIZE)]
    return _time.unpack_from(raw)[0], keys


def read_state(snapshot: Snapshot) -> tuple[int, int, int]:
    """The number of the oldest group, of the next one, and the count of all ids."""
    raw = snapshot.get(Table.META, DEDUP_STATE_KEY)
    return (0, 0, 0) if raw is None else _state.unpack(raw)


def remember(
    writer: Writer, sent: Sequence[tuple[bytes, int]], now: int, settings: Settings
) -> None:
    """Store ids with the numbers of their messages, and drop those beyond the window."""
    first, following, count = read_state(writer)
    rows = [(DEDUP + key, _row.pack(following, number)) for key, number in sent]
    writer.put_many(Table.TRANSFER, rows)
    keys = b"".join([key for key, _ in sent])
    writer.put(Table.TRANSFER, _group.pack(GROUP, following), _time.pack(now) + keys)
    following += 1
    count += len(sent)
    most = 2 * len(sent) + DROP_LEAST
    while most > 0 and first < following - 1:
        name = _group.pack(GROUP, first)
        came, old = read_group(name, writer.get_many(Table.TRANSFER, [name])[0])
        if count <= settings.dedup_count and came + settings.dedup_time >= now:
            break
        writer.delete_many(Table.TRANSFER, [name, *(DEDUP + key for key in old)])
        first += 1
        count -= len(old)
        most -= len(old)
    writer.put(Table.META, DEDUP_STATE_KEY, _state.pack(first, following, count))
