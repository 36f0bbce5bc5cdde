"""What a transaction sends, written to the store before it is decided.

Each message has a row, and so has a run of plain messages, whose blob becomes that of the run in
the queue when the transaction commits.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import Enum, auto
from struct import Struct
from typing import Final, NamedTuple

from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.run_rows import NewRun, StoredRun
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import IDENTIFIER_SIZE, identifiers
from openmsmq.engine.storage.layout import Owed
from openmsmq.engine.storage.runs import MEMBER

Buffer = list[tuple[ManagedQueue, NewMessage | NewRun]]
_ON_ARRIVAL: Final = (Owed.JOURNAL | Owed.ACK_ARRIVAL).value
"A plain number, since to combine flags with a number makes an object each time."

_sent = Struct("<IBQIIH20s")
_SENT_SIZE: Final = _sent.size
_unpack_sent: Final = _sent.unpack
_special = Struct("<Q16s")
_RUN: Final = MEMBER
"Set in the flags of a row SENT that is about a run."
_shape = Struct("<HI")
"Of a run: messages, and bytes of each; 0 if they differ, and where each ends follows."


class StagedSend(NamedTuple):
    """A message that a transaction has written to the store already, or a run of them."""

    queue: int
    priority: int
    number: int
    "Of its packet, or of the blob of a run."
    size: int
    expires: int
    flags: int
    identifier: bytes
    "That of the first message of a run."
    due: int = 0
    dedup_key: bytes = b""
    sizes: Sequence[int] = ()
    "The bytes of each message of a run."

    @property
    def run(self) -> StoredRun:
        """The run that it is."""
        known = self.number, self.sizes, self.priority, self.flags, self.identifier
        return StoredRun(*known, self.expires)

    @property
    def last(self) -> tuple[int, int]:
        """Where the last packet begins, and where it ends."""
        return self.size - self.sizes[-1] if self.sizes else 0, self.size


def read_sent(row: bytes) -> StagedSend:
    """A message, or a run, that is kept in a row SENT; `ValueError` if it cannot be one."""
    if len(row) == _SENT_SIZE:
        return tuple.__new__(StagedSend, (*_unpack_sent(row), 0, b"", ()))  # half of the time
    sent = StagedSend(*_sent.unpack_from(row))
    if sent.flags & _RUN:
        return sent._replace(flags=sent.flags & ~_RUN, sizes=_read_sizes(row, sent.size))
    due, dedup_key = _special.unpack(row[_sent.size :])
    return sent._replace(due=due, dedup_key=dedup_key.strip(b"\0") and dedup_key)


def _read_sizes(row: bytes, size: int) -> Sequence[int]:
    count, stride = _shape.unpack_from(row, _SENT_SIZE)
    sizes = [stride] * count
    if not stride:
        sizes = array("I", row[_SENT_SIZE + _shape.size :]).tolist()
    if len(sizes) != count or sum(sizes) != size or not count:
        raise ValueError("a run that cannot be")
    return sizes


def sent_row(sent: StagedSend) -> bytes:
    """The reverse of `read_sent`."""
    if sent.sizes:
        sizes, stride = sent.sizes, sent.sizes[0]
        is_even = min(sizes) == max(sizes)
        shape = _shape.pack(len(sizes), stride if is_even else 0)
        row = _sent.pack(*sent[:5], sent.flags | _RUN, sent.identifier)
        return row + shape + (b"" if is_even else array("I", sizes).tobytes())
    row = _sent.pack(*sent[:7])
    return row + _special.pack(sent.due, sent.dedup_key) if sent.due or sent.dedup_key else row


class StagedKind(Enum):
    """How a message that the store has already gets into its queue."""

    PLAIN = auto()
    "Nothing follows from that."
    RUN = auto()
    SPECIAL = auto()


def kind_of(sent: StagedSend) -> tuple[int, StagedKind]:
    """Where a message goes, and how."""
    if sent.sizes:
        return sent.queue, StagedKind.RUN
    is_special = sent.due or sent.dedup_key or sent.flags & _ON_ARRIVAL
    return sent.queue, StagedKind.SPECIAL if is_special else StagedKind.PLAIN


def stage(batch: Batch, buffer: Buffer) -> list[bytes]:
    """Store messages and runs; their rows."""
    rows: list[bytes] = []
    together: list[tuple[ManagedQueue, NewMessage]] = []
    for queue, sent in buffer:
        if isinstance(sent, NewRun):
            rows += _message_rows(batch, together)
            rows.append(_run_row(batch, queue, sent))
            together = []
        else:
            together.append((queue, sent))
    return rows + _message_rows(batch, together)


def _run_row(batch: Batch, queue: ManagedQueue, run: NewRun) -> bytes:
    number, sizes, priority, flags, identifier, expires = batch.store_run(run)
    known = queue.number, priority, number, len(run.packets), expires, flags, identifier
    return sent_row(StagedSend(*known, sizes=sizes))


def _message_rows(batch: Batch, found: list[tuple[ManagedQueue, NewMessage]]) -> list[bytes]:
    """Store messages field by field, since there may be many."""
    if not found:
        return []
    queues = [queue.number for queue, _ in found]
    packets, priorities, expires, _, flags, dues, dedup_keys = zip(
        *[message for _, message in found], strict=True
    )
    ids = identifiers(packets)
    starts = range(0, IDENTIFIER_SIZE * len(packets), IDENTIFIER_SIZE)
    each = [ids[start : start + IDENTIFIER_SIZE] for start in starts]
    numbers, sizes = batch.store_packets(packets), map(len, packets)
    rows = list(map(_sent.pack, queues, priorities, numbers, sizes, expires, flags, each))
    if any(dues) or any(dedup_keys):
        rows = [
            row + _special.pack(due, dedup_key) if due or dedup_key else row
            for row, due, dedup_key in zip(rows, dues, dedup_keys, strict=True)
        ]
    return rows
