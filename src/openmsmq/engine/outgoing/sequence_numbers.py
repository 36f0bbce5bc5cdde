"""The identifiers of outgoing sequences: one series for each destination (AMB-20).

They cannot be guessed: the first Ordinal of a destination is random (decision 22).
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from struct import Struct
from typing import Final, NamedTuple

from openmsmq.engine.outgoing.limits import DESTINATIONS_MAX, OVERTAKEN_MAX
from openmsmq.engine.outgoing.sequences import OUTGOING, SENT_STEP, OutgoingSequence, SequenceId
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.runs import stored_between
from openmsmq.engine.storage.tables import Snapshot, Table, Writer
from openmsmq.limits import U32_MAX
from openmsmq.names.format import parse_format_name
from openmsmq.packet.headers.transaction import TxSequenceID

FLOOR_KEY: Final = b"sequence-floor"
"META row: every destination that is used for the first time gets a TimeStamp above this one."
DESTINATION: Final = b"T"
"What the keys of rows about destinations begin with."
RESTORE_STEP: Final = 30 * 24 * 3600
"Seconds by which TimeStamps rise at a restore while the clock is behind those used before."
_FIRST_ORDINAL_MASK: Final = 0x7FFFFFFF
_DIGEST: Final = 16
_RESTORE_STRIDE: Final = 1 << 16
"By how much Ordinals may go up at a restore, so that two of one backup hardly use the same."

_destination = Struct("<III")
_floor = Struct("<I")


class _Destination(NamedTuple):
    """What a destination used last."""

    time_stamp: int
    "0 after a restore: the next sequence takes a new one."
    ordinal: int
    used: int
    "When that sequence began, in seconds since 1970 UTC."


class SequenceNumbers:
    """The identifiers of all sequences of a manager, one series for each destination (AMB-20)."""

    __slots__ = ("_drawn", "_entropy", "_last", "floor", "live")

    def __init__(self, snapshot: Snapshot, entropy: bytes = b"") -> None:
        """`entropy` are random bytes; without any, series begin with 1, as tests like it."""
        raw = snapshot.get(Table.META, FLOOR_KEY)
        self.floor = 0 if raw is None else int(_floor.unpack(raw)[0])
        found = [
            (read_destination(key, row), key[1:])
            for key, row in snapshot.scan(Table.TRANSFER, DESTINATION, DESTINATION + b"\xff" * 17)
        ]
        found.sort(key=lambda item: item[0].used)
        self._last = {key: last for last, key in found}
        "By the digest of the destination's name; the one used last comes last."
        self.live: dict[SequenceId, tuple[ManagedQueue, OutgoingSequence]] = {}
        "All sequences, as far as they are in use."
        self._entropy = entropy
        self._drawn = 0

    def begin(
        self, writer: Writer, queue: ManagedQueue, arrival: int, now: int
    ) -> OutgoingSequence:
        """A sequence begins with the message that arrives now ([MS-MQQB] 3.1.5.6, AMB-20).

        A destination goes on with the next Ordinal. One that is new, or whose numbers have come to
        an end, gets a TimeStamp that none before it had, and a random Ordinal; after a restore
        (`start_over`), such a TimeStamp and an Ordinal somewhat above its last.
        """
        key = destination_digest(queue.name)
        last = self._last.pop(key, None)
        if last is not None and last.time_stamp and last.ordinal < U32_MAX:
            stamp, ordinal = last.time_stamp, last.ordinal + 1
        else:
            before = self.floor if last is None else max(self.floor, last.time_stamp)
            stamp, ordinal = min(max(before + 1, now), U32_MAX), self._draw()
            if last is not None and last.ordinal < U32_MAX - _RESTORE_STRIDE:
                ordinal = last.ordinal + 1 + ordinal % _RESTORE_STRIDE
        while (stamp, ordinal) in self.live:
            ordinal += 1
        self._last[key] = used = _Destination(stamp, ordinal, min(now, U32_MAX))
        writer.put(Table.TRANSFER, DESTINATION + key, _destination.pack(*used))
        self._evict(writer)
        sequence = OutgoingSequence(stamp, ordinal, queue.number, arrival, SENT_STEP)
        sequence.write(writer)
        return sequence

    def _draw(self) -> int:
        """The first Ordinal of a series."""
        self._drawn += 1
        if not self._entropy:
            return 1
        drawn = blake2b(self._drawn.to_bytes(8, "big"), key=self._entropy, digest_size=4).digest()
        return int.from_bytes(drawn, "big") & _FIRST_ORDINAL_MASK or 1

    def _evict(self, writer: Writer) -> None:
        while len(self._last) > DESTINATIONS_MAX:
            key = next(iter(self._last))
            self.floor = max(self.floor, self._last.pop(key).time_stamp)
            writer.delete(Table.TRANSFER, DESTINATION + key)
            write_floor(writer, self.floor)

    def start_over(self, writer: Writer, now: int, passed: int) -> None:
        """After a restore: every destination gets a TimeStamp above all that were used before.

        The original may have gone on with any of these series (see `overtaken_by`). The same
        backup may have been restored before, too: of two restores the later one needs the higher
        TimeStamps. The clock gives them, unless it is behind the last one used. Then the floor
        rises by a month, and by the seconds that have `passed` since the backup was in use, as far
        as that clock tells. Ordinals go on, so that `overtaken_by` knows a series again.
        """
        for _, sequence in self.live.values():
            sequence.is_restored = True
            sequence.write(writer)
        stamps = [last.time_stamp for last in self._last.values()]
        self.floor = max([self.floor, *stamps])
        if self.floor >= now:
            self.floor = min(self.floor + max(RESTORE_STEP + passed, 0), U32_MAX)
        for key, last in self._last.items():
            self._last[key] = begun = last._replace(time_stamp=0)
            writer.put(Table.TRANSFER, DESTINATION + key, _destination.pack(*begun))
        write_floor(writer, self.floor)

    def began(self, queue: ManagedQueue, sequence: OutgoingSequence) -> None:
        """A sequence is on disk."""
        queue.sequences.begin(sequence)
        self.live[sequence.id] = queue, sequence

    def find(self, identifier: TxSequenceID) -> tuple[ManagedQueue, OutgoingSequence] | None:
        """The queue whose sequence this is; others are ignored (AMB-35)."""
        found = self.live.get((identifier.time_stamp, identifier.ordinal))
        if found is None or found[0].deleted or found[1] not in found[0].sequences.all:
            return None
        return found

    def overtaken_by(
        self, identifier: TxSequenceID
    ) -> tuple[ManagedQueue, list[OutgoingSequence]] | None:
        """The sequences that a later one of the same destination has overtaken, and their queue.

        The later one was begun after the backup was taken from which this store was restored, so
        that it is not known here; perhaps by one that was restored before, hence with a greater
        TimeStamp. Other destinations are far away, since the first Ordinal of each is random.
        """
        stamp, ordinal = identifier.time_stamp, identifier.ordinal
        before = {
            sequence.ordinal: queue
            for queue, sequence in self.live.values()
            if sequence.is_restored
            and sequence.time_stamp <= stamp
            and 0 < ordinal - sequence.ordinal <= OVERTAKEN_MAX
        }
        if not before:
            return None
        queue = before[max(before)]
        return queue, [
            item
            for item in queue.sequences.all
            if item.is_restored and item.time_stamp <= stamp and item.ordinal < ordinal
        ]

    def ended(self, sequences: Iterable[OutgoingSequence]) -> None:
        """Sequences are not on disk any longer."""
        for sequence in sequences:
            self.live.pop(sequence.id, None)


def write_destination(writer: Writer, name: str, time_stamp: int, ordinal: int) -> None:
    """Keep what a destination used last, though it is not known when."""
    row = _destination.pack(time_stamp, ordinal, 0)
    writer.put(Table.TRANSFER, DESTINATION + destination_digest(name), row)


def write_floor(writer: Writer, time_stamp: int) -> None:
    """Keep the TimeStamp above which new destinations begin."""
    writer.put(Table.META, FLOOR_KEY, _floor.pack(time_stamp))


def destination_digest(name: str) -> bytes:
    """What tells destinations apart, by the format name of their outgoing queue."""
    key = parse_format_name(name).key
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def read_destination(key: bytes, row: bytes) -> _Destination:
    """What a destination used last, as a row tells."""
    if len(key) != 1 + _DIGEST:
        raise ValueError(f"a key of {len(key)} bytes")
    return _Destination._make(_destination.unpack(row))


def needs_sequence(queue: ManagedQueue, arrival: int) -> bool:
    """Whether a transactional message that arrives now begins a sequence."""
    sequences = queue.sequences
    return not sequences.is_current or arrival - sequences.all[-1].first >= U32_MAX


def load_sequences(
    snapshot: Snapshot, queues: dict[int, ManagedQueue], numbers: SequenceNumbers
) -> None:
    """Give outgoing queues their sequences ([MS-MQQB] 3.1.1.3.1); new messages begin others."""
    for key, row in snapshot.scan(Table.TRANSFER, OUTGOING, OUTGOING + b"\xff" * 9):
        sequence = OutgoingSequence.unpack(key, row)
        if sequence.queue in queues:
            queue = queues[sequence.queue]
            queue.sequences.all.append(sequence)
            numbers.live[sequence.id] = queue, sequence
    for queue in queues.values():
        queue.sequences.all.sort(key=lambda item: item.first)


def is_finished(snapshot: Snapshot, queue: ManagedQueue, sequence: OutgoingSequence) -> bool:
    """Whether no message of a sequence is left, neither to be sent nor to be confirmed."""
    first, end = queue.sequences.range_of(sequence)
    members: Iterable[ManagedQueue] = (queue,) if queue.journal is None else (queue, queue.journal)
    for member in members:
        for _ in stored_between(snapshot, member.number, first, end):
            return False
    return True
