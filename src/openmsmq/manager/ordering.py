"""When senders of transactional messages are told how far these have come ([MS-MQQB] 3.1.5.8.6)."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from openmsmq.model.committing import NewMessage
from openmsmq.model.core import Core
from openmsmq.model.incoming import SOURCE
from openmsmq.model.layout import NEVER
from openmsmq.packet.acks import OrderAckBody, build_order_ack, order_queue
from openmsmq.packet.transaction import TxSequenceID

DELAY: Final = 0.5
"Order Ack Send Timer ([MS-MQQB] 3.1.2.7), in seconds."
DELAY_MAX: Final = 10.0
"MaximumOrderAckDelay: while messages keep coming, the sender still hears so often (Q<52>)."
COUNT_MAX: Final = 256
"After so many messages the sender hears at once, so that it need not remember more."
_U32: Final = 0xFFFFFFFF


class _Due:
    """What one sequence is owed."""

    __slots__ = ("at", "count", "packet", "since")

    def __init__(self, now: float, packet: bytes) -> None:
        self.at = now + DELAY
        self.since = now
        self.count = 0
        self.packet = packet
        "One of its messages: where the answer goes."


class Ordering:
    """Sends OrderAcks, one for many messages."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._due: dict[bytes, _Due] = {}

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called; None for never."""
        return min((due.at for due in self._due.values()), default=None)

    def came(self, key: bytes, packet: bytes, count: int, now: float) -> None:
        """Messages of a sequence came, in order or not; the last is `packet`."""
        due = self._due.get(key)
        if due is None:
            due = self._due[key] = _Due(now, packet)
        elif now - due.since < DELAY_MAX:
            due.at = now + DELAY
        due.count += count
        due.packet = packet
        if due.count >= COUNT_MAX:
            due.at = now

    def tick(self, now: float) -> None:
        """Send what is due."""
        for key in [key for key, due in self._due.items() if due.at <= now]:
            self._send(key, self._due.pop(key).packet)

    def _send(self, key: bytes, packet: bytes) -> None:
        """An OrderAck for the last message in order ([MS-MQQB] 3.1.6.9, 3.1.7.17)."""
        core = self._core
        sequence = core.incoming.committed_one(key)
        if sequence is None or not sequence.number:
            return  # nothing was accepted yet; a row of an older store may say so with a 0
        core.take_message_ids(1)
        number = sequence.number
        ack = build_order_ack(
            core.incoming.order_queue(packet, sequence.address),
            OrderAckBody(TxSequenceID(sequence.id & _U32, sequence.id >> 32), number, number - 1),
            source=core.identity,
            message_id=core.numbers.message_id & _U32,
            sent_time=core.timeline.wall,
        )
        target = core.queues.outgoing(order_queue(UUID(bytes_le=packet[SOURCE])))
        core.wake(target, core.insert_express(target, [NewMessage(ack, 0, NEVER, express=True)]))
        core.settle()
