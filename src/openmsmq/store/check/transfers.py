"""What a store remembers of transfers between managers, and what a check finds in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from openmsmq.engine.arrivals.duplicates import SEEN, read_seen
from openmsmq.engine.arrivals.incoming import INCOMING, IncomingSequence, split_sequence_key
from openmsmq.engine.arrivals.peers import PEER, read_peer
from openmsmq.engine.messages.dedup import DEDUP, GROUP, read_dedup_row, read_group
from openmsmq.engine.outgoing.parked import PARKED, read_parked
from openmsmq.engine.outgoing.sequence_numbers import (
    DESTINATION,
    destination_digest,
    read_destination,
)
from openmsmq.engine.outgoing.sequences import OUTGOING, OutgoingSequence, SequenceId
from openmsmq.store.check.queues import CheckedQueue, CheckedQueues
from openmsmq.types.queues import QueueKind


class CheckedTransfers:
    """The sequences of outgoing queues; of the rest it is enough that it can be read."""

    def __init__(self, queues: CheckedQueues) -> None:
        self._queues = queues
        self._sequences: list[OutgoingSequence] = []
        self._used: dict[bytes, SequenceId] = {}
        "The last identifier of each destination."
        self._first: dict[int, int] = {}
        "The arrival number of the first message that has a sequence, by queue."
        self._ids = 0
        "Ids of sent messages."
        self._grouped = 0
        "How many of them will be forgotten one day."

    def take(self, key: bytes, row: bytes) -> None:
        """Take note of a row; an error if it was never written so."""
        kind = key[:1]
        if kind == OUTGOING:
            sequence = OutgoingSequence.unpack(key, row)
            self._sequences.append(sequence)
            first = self._first.get(sequence.queue, sequence.first)
            self._first[sequence.queue] = min(first, sequence.first)
        elif kind == INCOMING:
            split_sequence_key(key)
            IncomingSequence.unpack(row)
        elif kind == DESTINATION:
            self._used[key[1:]] = read_destination(key, row)[:2]
        elif kind in _READERS:
            _READERS[kind](key, row)
        elif kind == DEDUP:
            read_dedup_row(row)
            self._ids += 1
        elif kind == GROUP:
            self._grouped += len(read_group(key, row)[1])
        else:
            raise ValueError(kind)

    def faults(self) -> Iterator[str]:
        """What is wrong with the sequences."""
        for sequence in self._sequences:
            queue = self._queues.get(sequence.queue)
            if queue is None or queue.kind is not QueueKind.OUTGOING:
                yield (
                    f"Sequence {sequence.ordinal} is of queue number {sequence.queue},"
                    " from which nothing is sent."
                )
            elif sequence.is_restored:
                continue  # its series is at an end
            elif self._used.get(destination_digest(queue.name), (0, 0)) < sequence.id:
                yield f"The number of sequence {sequence.ordinal} would be given out again."

    def wrong_ids(self, counted: int) -> Iterator[str]:
        """What is wrong with the ids of sent messages, whose number is known."""
        if not self._ids == self._grouped == counted:
            yield (
                f"There are {self._ids} ids of sent messages, {self._grouped} in groups,"
                f" where {counted} are counted."
            )

    def has_sequence(self, queue: CheckedQueue, arrival: int) -> bool:
        """Whether a transactional message of an outgoing queue can be sent."""
        first = self._first.get(queue.number)
        return first is not None and first <= arrival


_READERS: Final[Mapping[bytes, Callable[[bytes, bytes], object]]] = {
    PARKED: read_parked,
    PEER: read_peer,
    SEEN: read_seen,
}
"Rows of which it is enough that they can be read."
