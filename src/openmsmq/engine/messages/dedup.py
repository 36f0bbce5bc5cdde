"""Ids that programs gave to what they sent, so that to send it again does no harm.

A program that did not hear whether a message was sent sends it again under the same id. The id is
written with the message, in one commit; the newest ids are remembered, for a while.
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

ONCE: Final = b"D"
"What the keys of rows about one id begin with."
GROUP: Final = b"G"
"What the keys of rows begin with that tell which ids came together, the oldest first."
ONCES_KEY: Final = b"onces"
KEY_SIZE: Final = 16
DROP_LEAST: Final = 100
"Ids that may be forgotten with one commit, besides twice as many as come."

_once = Struct("<QI")
_group = Struct(">cQ")
_state = Struct("<QQQ")
_time = Struct("<I")


def once_key(queue: ManagedQueue, once: str) -> bytes:
    """What is remembered of an id: the same one for another queue is another one.

    A queue that is deleted and made again is another queue; one elsewhere goes by its name.
    """
    is_here = queue.kind is not QueueKind.OUTGOING
    scope = queue.number.to_bytes(4) if is_here else parse_format_name(queue.name).key.encode()
    return blake2b(scope + b"\0" + once.encode(), digest_size=KEY_SIZE).digest()


def find_once(snapshot: Snapshot, key: bytes) -> int | None:
    """The number of the message that was sent under an id; None if it is not known."""
    raw = snapshot.get(Table.TRANSFER, ONCE + key)
    return None if raw is None else read_once(raw)


def read_once(raw: bytes) -> int:
    """The number of a message, as a row about its id tells."""
    number: int = _once.unpack(raw)[1]
    return number


def read_group(key: bytes, raw: bytes) -> tuple[int, list[bytes]]:
    """When ids came, and which: what a row tells about those that came together."""
    _group.unpack(key)
    if len(raw) % KEY_SIZE != _time.size:
        raise ValueError(f"a row of {len(raw)} bytes")
    keys = [raw[at : at + KEY_SIZE] for at in range(_time.size, len(raw), KEY_SIZE)]
    return _time.unpack_from(raw)[0], keys


def read_state(snapshot: Snapshot) -> tuple[int, int, int]:
    """The number of the oldest group, that of the next one, and how many ids all have."""
    raw = snapshot.get(Table.META, ONCES_KEY)
    return (0, 0, 0) if raw is None else _state.unpack(raw)


def remember(
    writer: Writer, sent: Sequence[tuple[bytes, int]], now: int, settings: Settings
) -> None:
    """Remember ids and the numbers of their messages, and forget the oldest."""
    first, following, count = read_state(writer)
    rows = [(ONCE + key, _once.pack(following, number)) for key, number in sent]
    writer.put_many(Table.TRANSFER, rows)
    keys = b"".join([key for key, _ in sent])
    writer.put(Table.TRANSFER, _group.pack(GROUP, following), _time.pack(now) + keys)
    following += 1
    count += len(sent)
    most = 2 * len(sent) + DROP_LEAST
    while most > 0 and first < following - 1:
        name = _group.pack(GROUP, first)
        came, old = read_group(name, writer.get_many(Table.TRANSFER, [name])[0])
        if count <= settings.once_count and came + settings.once_time >= now:
            break
        writer.delete_many(Table.TRANSFER, [name, *(ONCE + key for key in old)])
        first += 1
        count -= len(old)
        most -= len(old)
    writer.put(Table.META, ONCES_KEY, _state.pack(first, following, count))
