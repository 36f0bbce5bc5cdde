"""Last words about messages that are kept until it is known who may say them (decision 22).

The engine keeps what the transport gives it and does not look inside.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from openmsmq.engine.outgoing.sequences import OutgoingSequence, SequenceId
from openmsmq.engine.storage.tables import Snapshot, Table

PARKED: Final = b"F"
"What the keys of these rows begin with."
PARKED_END: Final = PARKED + b"\xff" * 28
_key: Final = Struct(">cIII16s")
_BODY: Final = 36
"Bytes of what a transport keeps: the body of a FinalAck ([MS-MQQB] 2.2.5.1)."


class Parked(NamedTuple):
    """A last word that waits."""

    sequence: SequenceId
    number: int
    "Of the message in its sequence."
    peer: bytes
    "The manager that says so."
    message_class: int
    body: bytes

    @property
    def key(self) -> bytes:
        """The key of its row."""
        return _key.pack(PARKED, *self.sequence, self.number, self.peer)

    @property
    def row(self) -> bytes:
        """The bytes to store."""
        return self.message_class.to_bytes(2, "little") + self.body


def read_parked(key: bytes, row: bytes) -> Parked:
    """A last word that waits, as a row tells."""
    _, time_stamp, ordinal, number, peer = _key.unpack(key)
    if len(row) != 2 + _BODY:
        raise ValueError(f"a row of {len(row)} bytes")
    message_class = int.from_bytes(row[:2], "little")
    return Parked((time_stamp, ordinal), number, peer, message_class, row[2:])


def parked_rows(snapshot: Snapshot, sequence: OutgoingSequence) -> list[tuple[bytes, bytes]]:
    """The rows about messages of a sequence."""
    prefix = _key.pack(PARKED, *sequence.id, 0, bytes(16))[:9]
    return list(snapshot.scan(Table.TRANSFER, prefix, prefix + b"\xff" * 21))


def parked_sequences(snapshot: Snapshot) -> set[SequenceId]:
    """The sequences with messages that these are about."""
    rows = snapshot.scan(Table.TRANSFER, PARKED, PARKED_END)
    return {read_parked(key, row).sequence for key, row in rows}
