"""Outgoing sequences: the numbers of transactional messages on their way ([MS-MQQB] 3.1.1.5).

A sequence belongs to an outgoing queue. Its number in the store is all there is to keep: the
message that arrived as number a has the sequence number a - first + 1, so that messages need not
be touched to be numbered, and are never numbered twice (AMB-22). Numbers of other queues leave
gaps, which PreviousTxSequenceNumber closes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from openmsmq.model.layout import ARRIVAL_BITS, ARRIVAL_MASK, index_key
from openmsmq.model.storage import Snapshot, Table, Writer
from openmsmq.packet.transaction import TxSequenceID
from openmsmq.properties.message import PRIORITY_MAX

if TYPE_CHECKING:
    from openmsmq.model.queue import Queue

SEQUENCE_KEY: Final = b"sequence"
"META row: TimeStamp and Ordinal of the newest sequence; TimeStamp says when the store was made."
OUTGOING: Final = b"O"
"What the keys of these rows begin with."
_END: Final = OUTGOING + b"\xff" * 5
NUMBER_MAX: Final = 0xFFFFFFFF
LOOKUP_BASE: Final = PRIORITY_MAX << ARRIVAL_BITS
"Transactional messages have priority 0."

_identity = Struct("<II")
_key = Struct(">cI")
_row = Struct("<IQ")


class OutgoingSequence(NamedTuple):
    """One sequence of an outgoing queue."""

    ordinal: int
    queue: int
    first: int
    "The arrival number of its first message."

    def write(self, writer: Writer) -> None:
        """Keep it."""
        key = _key.pack(OUTGOING, self.ordinal)
        writer.put(Table.TRANSFER, key, _row.pack(self.queue, self.first))

    @classmethod
    def unpack(cls, key: bytes, row: bytes) -> OutgoingSequence:
        """The reverse of `write`."""
        return cls(_key.unpack(key)[1], *_row.unpack(row))

    def number(self, lookup: int) -> int:
        """TxSequenceNumber of a message."""
        return (lookup & ARRIVAL_MASK) - self.first + 1

    def lookup(self, number: int) -> int:
        """The lookup identifier of the message with this number."""
        return LOOKUP_BASE | self.first + number - 1


@dataclass(slots=True)
class Sequences:
    """The sequences of one outgoing queue, oldest first."""

    all: list[OutgoingSequence] = field(default_factory=list)
    is_current: bool = False
    "The newest was begun in this run and goes on; else the next message begins another."
    _acked: tuple[int, int] = (0, 0)
    "The ordinal of the sequence that was acknowledged last, and up to which number."
    _removed: int = 0
    "Up to which number of it messages were removed, or are being removed."
    _sent: tuple[int, int] = (0, 0)
    "The same of the message that was sent last; none since they are sent again."
    _highest: tuple[int, int] = (0, 0)
    "The same of the last message that was ever sent in this run."

    def begin(self, sequence: OutgoingSequence) -> None:
        """A sequence has begun."""
        self.all.append(sequence)
        self.is_current = True

    def end(self, sequence: OutgoingSequence) -> None:
        """Nothing of a sequence is left."""
        self.is_current = self.is_current and sequence is not self.all[-1]
        self.all.remove(sequence)

    def restore(self, sequence: OutgoingSequence) -> None:
        """It could not be ended; no message is put into it any more."""
        self.all = sorted([*self.all, sequence])

    def follow(self, sequence: OutgoingSequence, number: int) -> int:
        """PreviousTxSequenceNumber of the message that is sent now (AMB-27).

        It is that of the message sent before it, or of the last one acknowledged: so gaps close
        that messages leave which expire.
        """
        previous = 0
        for ordinal, last in (self._acked, self._sent):
            if ordinal == sequence.ordinal:
                previous = max(previous, last)
        self._sent = sequence.ordinal, number
        self._highest = max(self._highest, self._sent)
        return min(previous, number - 1)

    def limit(self, sequence: OutgoingSequence) -> int:
        """The highest number that can be acknowledged: nobody has what was not sent."""
        if not self.is_current or sequence is not self.all[-1]:
            return NUMBER_MAX  # some of it was sent before this run
        ordinal, number = self._highest
        return number if ordinal == sequence.ordinal else 0

    def start_over(self) -> None:
        """What was sent is sent again."""
        self._sent = (0, 0)

    def acknowledged(self, sequence: OutgoingSequence, number: int) -> int:
        """Messages up to a number have reached their queue; the first that may still be here.

        What is acknowledged again was perhaps sent again, since it could not be removed.
        """
        ordinal, before = self._acked
        if ordinal != sequence.ordinal or number <= before:
            self._removed = 0
        if ordinal != sequence.ordinal:
            before = 0
        first, self._removed = min(before, self._removed) + 1, max(number, before)
        self._acked = sequence.ordinal, max(number, before)
        return first

    def look_again(self) -> None:
        """Some that have reached their queue could not be removed here."""
        self._removed = 0

    def of(self, lookup: int) -> OutgoingSequence | None:
        """The sequence that a message belongs to."""
        arrival = lookup & ARRIVAL_MASK
        for sequence in reversed(self.all):
            if sequence.first <= arrival:
                return sequence
        return None

    def find(self, ordinal: int) -> OutgoingSequence | None:
        """The sequence with this ordinal."""
        return next((item for item in self.all if item.ordinal == ordinal), None)

    def range_of(self, sequence: OutgoingSequence) -> tuple[int, int]:
        """The first lookup identifier of its messages, and the one behind their last."""
        later = [item.first for item in self.all if item.first > sequence.first]
        end = LOOKUP_BASE | min(later) if later else LOOKUP_BASE + (1 << ARRIVAL_BITS)
        return LOOKUP_BASE | sequence.first, end


class SequenceNumbers:
    """The identifiers of all sequences of a manager."""

    __slots__ = ("ordinal", "time_stamp")

    def __init__(self, snapshot: Snapshot, now: int) -> None:
        raw = snapshot.get(Table.META, SEQUENCE_KEY)
        if raw is not None:
            self.time_stamp, self.ordinal = _identity.unpack(raw)
            return
        self.time_stamp, self.ordinal = now, 0
        for key, _ in snapshot.scan_back(Table.TRANSFER, OUTGOING, _END):
            self.ordinal = _key.unpack(key)[1]
            break

    def begin(self, writer: Writer, queue: int, arrival: int) -> OutgoingSequence:
        """A sequence begins with the message that arrives now ([MS-MQQB] 3.1.5.6, AMB-20)."""
        self.ordinal += 1
        sequence = OutgoingSequence(self.ordinal, queue, arrival)
        self.write(writer)
        sequence.write(writer)
        return sequence

    def write(self, writer: Writer) -> None:
        """Keep them, before any of them is used: another start may not change them."""
        writer.put(Table.META, SEQUENCE_KEY, _identity.pack(self.time_stamp, self.ordinal))

    def identifier(self, sequence: OutgoingSequence) -> TxSequenceID:
        """TxSequenceID ([MS-MQMQ] 2.2.18.1.2)."""
        return TxSequenceID(sequence.ordinal, self.time_stamp)


def needs_sequence(queue: Queue, arrival: int) -> bool:
    """Whether a transactional message that arrives now begins a sequence."""
    sequences = queue.sequences
    return not sequences.is_current or arrival - sequences.all[-1].first >= NUMBER_MAX


def forget_sequence(writer: Writer, sequence: OutgoingSequence) -> None:
    """No message of it is left."""
    writer.delete(Table.TRANSFER, _key.pack(OUTGOING, sequence.ordinal))


def load_sequences(snapshot: Snapshot, queues: dict[int, Queue]) -> None:
    """Give the outgoing queues their sequences; new messages begin others."""
    for key, row in snapshot.scan(Table.TRANSFER, OUTGOING, _END):
        sequence = OutgoingSequence.unpack(key, row)
        if sequence.queue in queues:
            queues[sequence.queue].sequences.all.append(sequence)


def is_finished(snapshot: Snapshot, queue: Queue, sequence: OutgoingSequence) -> bool:
    """Whether no message of a sequence is left, neither to be sent nor to be confirmed."""
    first, end = queue.sequences.range_of(sequence)
    members: Iterable[Queue] = (queue,) if queue.journal is None else (queue, queue.journal)
    for member in members:
        start, stop = index_key(member.number, first), index_key(member.number, min(end, _LAST))
        for _ in snapshot.scan(Table.INDEX, start, stop):
            return False
    return True


_LAST: Final = (1 << 64) - 1
