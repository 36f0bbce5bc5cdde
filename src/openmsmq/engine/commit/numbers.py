"""Numbers that a queue manager gives out."""

from __future__ import annotations

from openmsmq.engine.outgoing.sequence_numbers import SequenceNumbers


class Numbers:
    """The counters behind packets, arrivals, identifiers and queues; none is ever reused.

    Arrival numbers and identifiers are reserved on disk ahead of their use, so that those of
    express messages are not met again after a crash either.
    """

    __slots__ = (
        "arrival",
        "arrival_end",
        "arrival_loaded",
        "is_reserving",
        "message_id",
        "message_id_end",
        "packet",
        "queue",
        "sequences",
    )

    def __init__(
        self,
        *,
        packet: int,
        arrival: int,
        arrival_end: int,
        message_id: int,
        message_id_end: int,
        queue: int,
        sequences: SequenceNumbers,
    ) -> None:
        self.packet = packet
        self.arrival = arrival
        self.arrival_loaded = arrival
        "The last one of the processes before this one."
        self.arrival_end = arrival_end
        self.message_id = message_id
        self.message_id_end = message_id_end
        "Up to which they are reserved on disk; no express message gets one beyond."
        self.is_reserving = False
        "A commit was asked for that reserves more."
        self.queue = queue
        self.sequences = sequences

    def arrivals(self, count: int) -> range:
        """The next numbers, for this many messages."""
        first = self.arrival + 1
        self.arrival += count
        return range(first, first + count)
