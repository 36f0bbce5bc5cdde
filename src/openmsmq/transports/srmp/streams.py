"""Incoming streams: where a message stands in its stream, and when its sender gets a receipt."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple

from openmsmq.soap.envelope import Envelope
from openmsmq.soap.scalars import StreamId
from openmsmq.transports.srmp.limits import (
    COALESCE_MAX_S,
    RECEIPT_ATTEMPTS_MAX,
    RECEIPT_MESSAGES_MAX,
    STREAMS_DUE_MAX,
)

COALESCE_S: Final = 0.5
"Stream Receipt Coalescing Timer ([MC-MQSRM] 3.1.2.3)."
RECEIPT_RETRY_S: Final = 1.0
"Until a receipt is sent again that could not be delivered; twice that the next time, and so on."


class StreamPosition(NamedTuple):
    """The place of a message in its stream, as the rules for order need it."""

    id: StreamId
    number: int
    previous: int
    "0 for the first message of a stream."
    receipts_to: str = ""
    "Where receipts go: in the first message only."
    wants_final: bool = False
    "Its sender wants to know what becomes of it in its queue ([MC-MQSRM] 3.1.7.3.3)."


def position_of(envelope: Envelope) -> StreamPosition | None:
    """The place of a message; None outside of streams ([MC-MQSRM] 2.2.5.3)."""
    stream = envelope.stream
    if stream is None:
        return None
    wants_final = envelope.msmq is not None and envelope.msmq.dead_letter
    return StreamPosition(
        stream.id, stream.current, stream.predecessor, stream.send_receipts_to, wants_final
    )


@dataclass(slots=True)
class _DueReceipt:
    at: float
    since: float
    messages: int = 0
    attempts: int = 0


class StreamReceipts:
    """When stream receipts are sent, one for many messages ([MC-MQSRM] 3.1.6.3).

    Streams are known by their keys in the engine. Only that one is owed is kept here; how far a
    stream has come is read from what is on disk when the receipt is sent. A duplicate is owed one
    too: the last may have been lost (HTTP-14).
    """

    def __init__(self) -> None:
        self._due: dict[bytes, _DueReceipt] = {}
        self._next = inf
        self.dropped = 0
        "Receipts that were not sent because too many were owed."

    def __len__(self) -> int:
        return len(self._due)

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called, at the earliest; None for never."""
        return None if self._next == inf else self._next

    def came(self, key: bytes, now: float, messages: int = 1) -> None:
        """Messages of a stream were stored, or have come before; the timer starts anew.

        ([MC-MQSRM] 3.1.5.1.6.3)
        """
        due = self._due.get(key)
        if due is None:
            due = self._add(key, _DueReceipt(now + COALESCE_S, now))
        else:
            due.at = min(now + COALESCE_S, due.since + COALESCE_MAX_S)
        due.messages += messages
        if due.messages >= RECEIPT_MESSAGES_MAX:
            due.at = now
        self._next = min(self._next, due.at)

    def failed(self, key: bytes, now: float, attempts: int) -> None:
        """A receipt could not be delivered: it is owed again, unless it was tried often enough."""
        if key in self._due or attempts >= RECEIPT_ATTEMPTS_MAX:
            return
        at = now + RECEIPT_RETRY_S * 2 ** (attempts - 1)
        due = self._add(key, _DueReceipt(at, now, attempts=attempts))
        self._next = min(self._next, due.at)

    def _add(self, key: bytes, due: _DueReceipt) -> _DueReceipt:
        if len(self._due) >= STREAMS_DUE_MAX:
            del self._due[next(iter(self._due))]
            self.dropped += 1
        self._due[key] = due
        return due

    def tick(self, now: float) -> list[tuple[bytes, int]]:
        """The streams whose receipt is to be sent now, and how often that was tried before."""
        if now < self._next:
            return []
        ready = [(key, due.attempts) for key, due in self._due.items() if due.at <= now]
        for key, _ in ready:
            del self._due[key]
        self._next = min((due.at for due in self._due.values()), default=inf)
        return ready
