"""Outgoing sequences: the numbers of transactional messages on their way ([MS-MQQB] 3.1.1.5).

A sequence belongs to an outgoing queue. Its identifier and its first message are all there is to
keep: the message that arrived as number a has the sequence number a - first + 1, so that messages
need not be touched to be numbered, and are never numbered twice (AMB-22). Numbers of other queues
leave gaps, which PreviousTxSequenceNumber closes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
from struct import Struct
from typing import Final
from uuid import UUID

from openmsmq.engine.outgoing.limits import STARTS_MAX
from openmsmq.engine.storage.layout import START_SIZE
from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.properties.message import PRIORITY_MAX
from openmsmq.types.lookup import ARRIVAL_BITS, ARRIVAL_MASK

OUTGOING: Final = b"O"
"What the keys of rows about sequences begin with."
SENT_STEP: Final = 1000
"How far a sequence was sent is written down in steps of this many numbers."
LOOKUP_BASE: Final = PRIORITY_MAX << ARRIVAL_BITS
"Transactional messages have priority 0."

_key = Struct(">cII")
_row = Struct("<IQIB")
_GUID: Final = 16
_RESTORED: Final = 1
_ESTABLISHED: Final = 2

SequenceId = tuple[int, int]
"TimeStamp and Ordinal."


@dataclass(slots=True, eq=False)
class OutgoingSequence:
    """One sequence of an outgoing queue ([MS-MQQB] 3.1.1.3.1, [MS-MQDMPR] 3.1.1.12)."""

    time_stamp: int
    ordinal: int
    queue: int
    first: int
    "The arrival number of its first message."
    sent: int = SENT_STEP
    "No message above this number was sent, as far as the disk knows."
    peers: tuple[UUID, ...] = ()
    "The managers that answered when messages of it were sent: these may acknowledge them."
    is_restored: bool = False
    "It comes from a backup: its messages, and later sequences, may have arrived since."
    is_established: bool = False
    "Its first message was answered, where others may follow it only then ([MC-MQSRM] 2.2.5.3.4)."

    @property
    def id(self) -> SequenceId:
        """By what it is known."""
        return self.time_stamp, self.ordinal

    @property
    def identifier(self) -> TxSequenceID:
        """TxSequenceID ([MS-MQMQ] 2.2.18.1.2)."""
        return TxSequenceID(self.ordinal, self.time_stamp)

    def write(self, writer: Writer) -> None:
        """Keep it."""
        key = _key.pack(OUTGOING, self.time_stamp, self.ordinal)
        peers = b"".join(peer.bytes_le for peer in self.peers)
        marks = self.is_restored * _RESTORED | self.is_established * _ESTABLISHED
        start = _row.pack(self.queue, self.first, self.sent, marks)
        writer.put(Table.TRANSFER, key, start + peers)

    @classmethod
    def unpack(cls, key: bytes, row: bytes) -> OutgoingSequence:
        """The reverse of `write`."""
        _, time_stamp, ordinal = _key.unpack(key)
        rest = row[_row.size :]
        if len(rest) % _GUID:
            raise ValueError(f"a row of {len(row)} bytes")
        peers = [UUID(bytes_le=rest[at : at + _GUID]) for at in range(0, len(rest), _GUID)]
        queue, first, sent, marks = _row.unpack_from(row)
        is_restored, is_established = bool(marks & _RESTORED), bool(marks & _ESTABLISHED)
        known = queue, first, sent, tuple(peers), is_restored, is_established
        return cls(time_stamp, ordinal, *known)

    def number(self, lookup: int) -> int:
        """TxSequenceNumber of a message."""
        return (lookup & ARRIVAL_MASK) - self.first + 1

    def lookup(self, number: int) -> int:
        """The lookup identifier of the message with this number."""
        return LOOKUP_BASE | self.first + number - 1


_NONE: Final = ((0, 0), 0)


@dataclass(slots=True)
class LastAck:
    """The last order acknowledgement of an outgoing queue ([MS-MQDMPR] 3.1.1.3, EodLastAck)."""

    sequence: SequenceId
    number: int
    previous: int
    "The number of the message before that one."
    time: int
    "Seconds since 1970 UTC."
    count: int = 1
    "How often it came."


@dataclass(slots=True)
class SentStarts:
    """What messages begin with that were sent last.

    When they leave, the history names them: so their packets need not be read once more.
    """

    _starts: dict[int, bytes] = field(default_factory=dict)
    "By lookup identifiers."

    def keep(self, lookups: Sequence[int], packets: Sequence[bytes]) -> None:
        """Messages are sent."""
        if len(self._starts) + len(lookups) > STARTS_MAX:
            for lookup in list(islice(self._starts, STARTS_MAX // 2)):
                del self._starts[lookup]
        starts = [packet[:START_SIZE] for packet in packets]
        self._starts.update(zip(lookups, starts, strict=True))

    def take(self, lookups: Iterable[int]) -> list[bytes] | None:
        """What messages begin with that leave; None if it is not known of all of them."""
        found = list(map(self._starts.pop, lookups, repeat(b"")))
        return found if all(found) else None


@dataclass(slots=True)
class Sequences:
    """The sequences of one outgoing queue, oldest first."""

    all: list[OutgoingSequence] = field(default_factory=list)
    is_current: bool = False
    "The newest was begun in this run and goes on; else the next message begins another."
    _acked: tuple[SequenceId, int] = _NONE
    "The sequence that was acknowledged last, and up to which number."
    _said: int = 0
    "The number that its receiver named last: below that one if it was restored from a backup."
    _removed: int = 0
    "Up to which number of it messages were removed, or are being removed."
    _is_resent: bool = False
    "One that was acknowledged was sent again, since it could not be removed."
    _sent: tuple[SequenceId, int] = _NONE
    "The same of the message that was sent last; none since they are sent again."
    _highest: tuple[SequenceId, int] = _NONE
    "The same of the last message that was ever sent in this run."
    starts: SentStarts = field(default_factory=SentStarts)
    last_ack: LastAck | None = None
    "None before the first acknowledgement of this run."

    def begin(self, sequence: OutgoingSequence) -> None:
        """A sequence has begun."""
        self.all.append(sequence)
        self.is_current = True

    def end(self, sequence: OutgoingSequence) -> None:
        """Nothing of a sequence is left."""
        self.is_current = self.is_current and sequence is not self.all[-1]
        self.all.remove(sequence)

    def replace(self, old: list[OutgoingSequence], new: list[OutgoingSequence]) -> None:
        """Messages of some sequences, none of which was sent, are those of new ones."""
        kept = [item for item in self.all if item not in old]
        self.all = sorted([*kept, *new], key=lambda item: item.first)

    def restore(self, sequence: OutgoingSequence) -> None:
        """It could not be ended; no message is put into it any more."""
        self.all = sorted([*self.all, sequence], key=lambda item: item.first)

    def follow(self, sequence: OutgoingSequence, numbers: Sequence[int]) -> list[int]:
        """PreviousTxSequenceNumber of messages that are sent now, in rising order (AMB-27).

        It is that of the message sent before it, or of the last one acknowledged: so gaps close
        that messages leave which expire. One that was acknowledged itself, and is sent again since
        it could not be removed, does not follow those behind it: a receiver that was restored
        from a backup would miss what never was before it. What counts is the acknowledgement that
        came last: such a receiver would wait for ever for messages that left after an earlier one.
        """
        acked, sent = (
            number if of == sequence.id else 0
            for of, number in ((self._acked[0], self._said), self._sent)
        )
        first = numbers[0]
        found = [max(last if last < first else 0 for last in (acked, sent)), *numbers[:-1]]
        if acked >= first:
            pairs = zip(numbers, found, strict=True)
            found = [max(before, acked) if acked < number else before for number, before in pairs]
        self._is_resent = self._is_resent or (sequence.id, first) <= self._acked
        self._sent = sequence.id, numbers[-1]
        self._highest = max(self._highest, self._sent)
        return found

    def is_set_back(self, sequence: OutgoingSequence, previous: int, number: int) -> bool:
        """Whether a message follows one that is before the last one acknowledged.

        Its receiver has forgotten what is between them: it was restored from a backup.
        """
        acked, up_to = self._acked
        return acked == sequence.id and previous < up_to < number

    def limit(self, sequence: OutgoingSequence) -> int:
        """The highest number that can be acknowledged: what was not sent cannot have arrived."""
        known, number = self._highest
        highest = number if known == sequence.id else 0
        is_current = self.is_current and sequence is self.all[-1]
        return highest if is_current else max(highest, sequence.sent)

    def start_over(self) -> None:
        """What was sent is sent again."""
        self._sent = _NONE

    def send_again(self, sequence: OutgoingSequence, previous: int) -> None:
        """The message after `previous` is sent again, and none before it."""
        self._sent = sequence.id, previous

    def acknowledged(self, sequence: OutgoingSequence, number: int) -> int:
        """Messages up to a number have reached their queue; the first that may still be here.

        Those that were acknowledged before leave already, unless one of them was sent again.
        """
        known, before = self._acked
        if known != sequence.id or self._is_resent:
            self._removed, self._is_resent = 0, False
        if known != sequence.id:
            before = 0
        first, self._removed = min(before, self._removed) + 1, max(number, before)
        self._acked, self._said = (sequence.id, max(number, before)), number
        return first

    def note_ack(self, sequence: OutgoingSequence, number: int, now: int) -> None:
        """An order acknowledgement came ([MS-MQDMPR] 3.1.1.3); only the latest one is kept."""
        last = self.last_ack
        if last is None or last.sequence != sequence.id:
            self.last_ack = LastAck(sequence.id, number, 0, now)
        elif number > last.number:
            self.last_ack = LastAck(sequence.id, number, last.number, now)
        elif number == last.number:
            last.time, last.count = now, last.count + 1

    def note_previous(self, sequence: OutgoingSequence, number: int, previous: int) -> None:
        """Which message is before the one that was acknowledged last."""
        last = self.last_ack
        if last is not None and (last.sequence, last.number) == (sequence.id, number):
            last.previous = max(last.previous, previous)

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

    def range_of(self, sequence: OutgoingSequence) -> tuple[int, int]:
        """The first lookup identifier of its messages, and the one behind their last."""
        later = [item.first for item in self.all if item.first > sequence.first]
        end = LOOKUP_BASE | min(later) if later else LOOKUP_BASE + (1 << ARRIVAL_BITS)
        return LOOKUP_BASE | sequence.first, end


def forget_sequence(writer: Writer, sequence: OutgoingSequence) -> None:
    """No message of it is left."""
    writer.delete(Table.TRANSFER, _key.pack(OUTGOING, *sequence.id))
