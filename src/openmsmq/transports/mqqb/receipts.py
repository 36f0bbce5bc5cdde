"""Where a message stands in its sequence, and the FinalAck that its sender may be owed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from openmsmq.engine.arrivals.arrival import Arrival, ArrivalGroup, ArrivalPosition
from openmsmq.engine.arrivals.examination import ExaminedGroup
from openmsmq.engine.arrivals.incoming import SOURCE, transaction_of
from openmsmq.engine.arrivals.receipts import OwedReceipt, ReceiptContext
from openmsmq.limits import U32_MAX
from openmsmq.names.direct import DirectName
from openmsmq.names.format import PrivateName
from openmsmq.packet.acks import FinalAckBody, build_final_ack, order_queue, order_queue_at
from openmsmq.packet.group import PacketGroup
from openmsmq.packet.headers.transaction import TransactionFlags, TxSequenceID
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import DIRECT, FLAGS, u32
from openmsmq.properties.message import MessageClass

_WANTS_FINAL: Final = UserFlags.JN | UserFlags.JP


def arrival_of(packet: bytes) -> Arrival:
    """A UserMessage with its place in its sequence, if it has one ([MS-MQQB] 3.1.5.8.6)."""
    flags = u32(packet, FLAGS)[0]
    if not flags & UserFlags.TH:
        return packet, None
    marks, identifier, number, previous = transaction_of(packet)
    wants_final = bool(flags & _WANTS_FINAL or marks & TransactionFlags.FA)
    return packet, ArrivalPosition(identifier, number, previous, wants_final)


def group_of(group: PacketGroup, examined: ExaminedGroup | None = None) -> ArrivalGroup:
    """UserMessages that differ in little, with the place of the first in its sequence.

    Protected ones come with what was found out about them.
    """
    position = arrival_of(group.first)[1]
    if position is not None and group.marks & TransactionFlags.FA:
        position = position._replace(wants_receipt=True)

    def arrivals() -> Iterable[Arrival]:
        return map(arrival_of, group.split() if examined is None else examined.singles())

    return ArrivalGroup(group, position, arrivals, examined)


class BinaryReceipts:
    """Writes receipts inside the commit that owes them."""

    def acknowledgement(
        self, packet: bytes, reason: MessageClass, context: ReceiptContext
    ) -> OwedReceipt | None:
        """None: acknowledgements are those of [MS-MQDMPR], which the engine writes itself."""
        return None

    def final(self, packet: bytes, reason: MessageClass, context: ReceiptContext) -> OwedReceipt:
        """The FinalAck."""
        return final_ack(packet, reason, context)


def final_ack(packet: bytes, reason: MessageClass, context: ReceiptContext) -> OwedReceipt:
    """The FinalAck for a transactional message ([MS-MQQB] 3.1.7.17).

    One that names no sequence is about a message outside a transaction, which was refused: managers
    that have pinned each other's certificates tell each other so.
    """
    source = UUID(bytes_le=packet[SOURCE])
    identifier = number = previous = 0
    if u32(packet, FLAGS)[0] & UserFlags.TH:
        _, identifier, number, previous = transaction_of(packet)
    body = FinalAckBody(
        TxSequenceID(identifier & U32_MAX, identifier >> 32),
        number,
        previous,
        source,
        PacketView(packet).message_id,
    )
    ack = build_final_ack(
        order_queue_of(packet, context.address),
        body,
        reason,
        source=context.identity,
        message_id=context.message_id,
        sent_time=context.sent_time,
    )
    return OwedReceipt(order_queue(source), ack)


def order_queue_of(packet: bytes, address: str) -> PrivateName | DirectName:
    """Where the sender of a message wants its acknowledgement ([MS-MQQB] 2.2.4, AMB-33).

    `address` is where messages of its sequence came from.
    """
    if packet[FLAGS + 1] >> 2 & 7 == DIRECT and address:
        return order_queue_at(address)
    return order_queue(UUID(bytes_le=packet[SOURCE]))
