"""When senders of transactional messages get order acknowledgements ([MS-MQQB] 3.1.5.8.6)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from struct import Struct
from typing import Final, Protocol
from uuid import UUID

from openmsmq.engine.arrivals.acknowledgements import DROPPED
from openmsmq.engine.arrivals.arrival import Origin, StreamProgress
from openmsmq.engine.arrivals.incoming import SOURCE, IncomingSequence
from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.core import Core
from openmsmq.engine.storage.layout import NEVER
from openmsmq.limits import U32_MAX
from openmsmq.packet.acks import OrderAckBody, build_order_ack, order_queue
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.transports.limits import (
    ORDER_ACK_DELAY_MAX,
    ORDER_ACK_MESSAGES_MAX,
    ORDER_ACKS_DUE_MAX,
)
from openmsmq.transports.mqqb.receipts import order_queue_of

DELAY: Final = 0.5
"Order Ack Send Timer ([MS-MQQB] 3.1.2.7), in seconds."
_lifetimes: Final = Struct("<12xI32xI").unpack_from
"TimeToReachQueue and TimeToBeReceived of a packet."


class _Due:
    """What one sequence is owed."""

    __slots__ = ("at", "count", "link", "packet", "since")

    def __init__(self, now: float, link: AckLink, packet: bytes) -> None:
        self.at = now + DELAY
        "Never, while there is no session by which it could go."
        self.since = now
        self.count = 0
        self.link = link
        "The session that brought its last message."
        self.packet = packet
        "One of its messages: where the answer goes."


def _lifetime(packet: bytes) -> int:
    """How many seconds its sender waits for an answer before it gives a message up (AMB-50)."""
    return int(min(_lifetimes(packet)))


class AckLink(Protocol):
    """A session on which acknowledgements of what it brought go back."""

    origin: Origin

    def send_ack(self, packet: bytes) -> None:
        """Send an acknowledgement that need not outlive the connection."""
        ...


class OrderAcks:
    """Sends OrderAcks, one for many messages."""

    def __init__(self, core: Core, find: Callable[[AckLink, UUID], AckLink | None]) -> None:
        """`find` gives an open session to the source of a message."""
        self._core = core
        self._find = find
        self._due: dict[bytes, _Due] = {}
        self._next = inf
        "Nothing is due before."

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called, at the earliest; None for never."""
        return None if self._next == inf else self._next

    def came(self, link: AckLink, progress: StreamProgress, now: float) -> None:
        """Messages of a sequence came, in order or not."""
        key, packet, count = progress
        origin, source = link.origin, packet[SOURCE]
        is_own = source == self._core.identity.bytes_le
        if is_own or (origin.peer != source and not self._core.peers.knows(source)):
            self._core.statistics.count(DROPPED)
            return
        due = self._due.get(key)
        if due is None:
            due = self._due[key] = _Due(now, link, packet)
            if len(self._due) > ORDER_ACKS_DUE_MAX:
                del self._due[next(iter(self._due))]
                self._core.statistics.count(DROPPED)
        elif now - due.since < min(ORDER_ACK_DELAY_MAX, _lifetime(packet) / 2) or due.at == inf:
            due.at = now + DELAY
        due.count += count
        due.packet = packet
        due.link = link
        if due.count >= ORDER_ACK_MESSAGES_MAX:
            due.at = now
        self._next = min(self._next, due.at)

    def opened(self, peer: UUID, now: float) -> None:
        """There is a session with a manager: what could not be sent to it may go now."""
        for due in self._due.values():
            if due.at == inf and due.packet[SOURCE] == peer.bytes_le:
                due.at = self._next = now

    def tick(self, now: float) -> None:
        """Send what is due."""
        for key in [key for key, due in self._due.items() if due.at <= now]:
            due = self._due[key]
            if self._send(due):
                del self._due[key]
            else:
                due.at = inf
        self._next = min((due.at for due in self._due.values()), default=inf)

    def _send(self, due: _Due) -> bool:
        """An OrderAck for the last message in order ([MS-MQQB] 3.1.6.9, 3.1.7.17).

        It goes by the session that brought the message, or by another of the same manager; False
        if there is none.
        """
        core, packet, origin = self._core, due.packet, due.link.origin
        source = UUID(bytes_le=packet[SOURCE])
        sequence = core.incoming.last_of(packet, origin.scopes(packet[SOURCE]))
        if sequence is None or not sequence.number:
            return True  # nothing was accepted yet; a row of an older store may say so with a 0
        if origin.peer == source.bytes_le:
            link = self._find(due.link, source)
            if link is None:
                return False
            link.send_ack(self._build(packet, sequence))
            return True
        target = core.acknowledgements.queue_for(order_queue(source), source, of_stranger=False)
        if target is None:
            core.statistics.count(DROPPED)
            return True
        ack = NewMessage(self._build(packet, sequence), 0, NEVER, express=True)
        core.insert_own(target, ack)
        return True

    def _build(self, packet: bytes, sequence: IncomingSequence) -> bytes:
        core = self._core
        number = sequence.number
        return build_order_ack(
            order_queue_of(packet, sequence.address),
            OrderAckBody(
                TxSequenceID(sequence.id & U32_MAX, sequence.id >> 32), number, number - 1
            ),
            source=core.identity,
            message_id=core.next_message_id(),
            sent_time=core.timeline.wall,
        )
