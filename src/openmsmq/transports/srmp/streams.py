"""Incoming streams: which message is next, and when its sender gets a receipt.

A stream is known by its identifier and the queue that it is for, to the identity that brought it:
what a stranger claims can neither stop nor forge the stream of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq.soap.envelope import Envelope, StreamReceipt
from openmsmq.soap.scalars import StreamId
from openmsmq.transports.srmp.limits import COALESCE_MAX_S, STREAMS_DUE_MAX

COALESCE_S: Final = 0.5
"Stream Receipt Coalescing Timer ([MC-MQSRM] 3.1.2.3)."


class StreamPosition(NamedTuple):
    """The place of a message in its stream, as the rules for order need it."""

    id: StreamId
    number: int
    previous: int
    "0 for the first message of a stream."
    receipts_to: str = ""
    "Where receipts go: in the first message only."


def position_of(envelope: Envelope) -> StreamPosition | None:
    """The place of a message; None outside of streams ([MC-MQSRM] 2.2.5.3)."""
    stream = envelope.stream
    if stream is None:
        return None
    return StreamPosition(stream.id, stream.current, stream.predecessor, stream.send_receipts_to)


@dataclass(frozen=True, slots=True)
class StreamState:
    """How far a stream to one queue has come ([MC-MQSRM] 3.1.1.1.6); it is kept on disk."""

    id: int = 0
    "The number of its StreamId; identifiers of one sender only grow."
    number: int = 0
    receipts_to: str = ""

    def after(self, position: StreamPosition) -> StreamState | None:
        """The state with a message; None if it is not the next ([MC-MQSRM] 3.1.5.1.6.3).

        Three messages are: the first of a newer stream (HTTP-42), the one with the next number,
        and a later one whose predecessor has come, for those between have expired.
        """
        if position.number == 1:
            is_newer = position.id.number > self.id
            return StreamState(position.id.number, 1, position.receipts_to) if is_newer else None
        if position.id.number != self.id or position.number <= self.number:
            return None
        if position.number == self.number + 1 or position.previous <= self.number:
            return StreamState(self.id, position.number, self.receipts_to)
        return None


class StreamKey(NamedTuple):
    """What an incoming stream is known by."""

    scope: bytes
    "Who brought it, as far as that is proven."
    guid: UUID
    destination: str
    "The queue as the sender addresses it."


@dataclass(slots=True)
class _Due:
    at: float
    since: float


class StreamReceipts:
    """When stream receipts are sent, one for many messages ([MC-MQSRM] 3.1.6.3).

    Only that one is owed is kept here; how far a stream has come is read when the receipt is sent,
    from what is on disk. A duplicate is owed one too: the last may have been lost (HTTP-14).
    """

    def __init__(self) -> None:
        self._due: dict[StreamKey, _Due] = {}
        self._next = inf
        self.dropped = 0
        "Receipts that were not sent because too many were owed."

    def __len__(self) -> int:
        return len(self._due)

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called, at the earliest; None for never."""
        return None if self._next == inf else self._next

    def came(self, key: StreamKey, now: float) -> None:
        """A message of a stream was stored, or has come before; the timer starts anew."""
        due = self._due.get(key)
        if due is None:
            if len(self._due) >= STREAMS_DUE_MAX:
                del self._due[next(iter(self._due))]
                self.dropped += 1
            due = self._due[key] = _Due(now + COALESCE_S, now)
        else:
            due.at = min(now + COALESCE_S, due.since + COALESCE_MAX_S)
        self._next = min(self._next, due.at)

    def tick(self, now: float) -> list[StreamKey]:
        """The streams whose receipt is to be sent now."""
        if now < self._next:
            return []
        ready = [key for key, due in self._due.items() if due.at <= now]
        for key in ready:
            del self._due[key]
        self._next = min((due.at for due in self._due.values()), default=inf)
        return ready


def receipt_for(key: StreamKey, state: StreamState) -> StreamReceipt:
    """What is acknowledged: everything up to the last number on disk (HTTP-11)."""
    return StreamReceipt(StreamId(key.guid, state.id), state.number)
