"""OrderAck and FinalAck: what the receiver of transactional messages tells their sender.

Both travel as UserMessages to the sender's order queue and are distinguished by their contents
([MS-MQQB] 2.2.4, 2.2.5, 3.1.5.1.1).
"""

from __future__ import annotations

from typing import Annotated, Final
from uuid import UUID

from openmsmq.names.direct import DirectName
from openmsmq.names.format import PrivateName
from openmsmq.names.reference import ReferenceCode
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import NAMES, u16, u32
from openmsmq.properties.message import MessageClass
from openmsmq.wire.fixed import U32, Bytes20, Fixed, Guid, Named, fixed
from openmsmq.wire.text import decode_utf16

ACK_LABEL: Final = "QM Ordering Ack"
ORDER_QUEUE_NUMBER: Final = 0x00000004
ORDER_QUEUE_PATH: Final = r"\private$\order_queue$"


@fixed
class OrderAckBody(Fixed):
    """OrderAck Body ([MS-MQQB] 2.2.4.1)."""

    tx_sequence_id: TxSequenceID
    tx_sequence_number: U32
    tx_previous_sequence_number: U32
    reserved: Bytes20 = bytes(20)


@fixed
class FinalAckBody(Fixed):
    """FinalAck Body ([MS-MQQB] 2.2.5.1)."""

    tx_sequence_id: TxSequenceID
    tx_sequence_number: U32
    tx_previous_sequence_number: U32
    source_guid: Annotated[Guid, Named("SourceGUID")]
    message_id: U32


assert OrderAckBody.SIZE == FinalAckBody.SIZE == 0x24


def order_queue(manager: UUID) -> PrivateName:
    """The order queue of a queue manager known by its GUID ([MS-MQQB] 2.2.4)."""
    return PrivateName(manager, ORDER_QUEUE_NUMBER)


def order_queue_at(address: str) -> DirectName:
    """The order queue of the host with this IP address ([MS-MQQB] 2.2.4)."""
    return DirectName.from_wire(f"TCP:{address}\\PRIVATE$\\order_queue$")


def build_order_ack(
    queue: PrivateName | DirectName,
    body: OrderAckBody,
    *,
    source: UUID,
    message_id: int,
    sent_time: int,
) -> bytes:
    """An OrderAck Packet for the order queue of a sender ([MS-MQQB] 2.2.4; DM 0: AMB-11)."""
    return _builder(source, queue).build(
        body.pack(),
        label=ACK_LABEL,
        priority=0,
        recoverable=False,
        message_id=message_id,
        sent_time=sent_time,
        message_class=MessageClass.ORDER_ACK,
    )


def build_final_ack(
    queue: PrivateName | DirectName,
    body: FinalAckBody,
    message_class: int,
    *,
    source: UUID,
    message_id: int,
    sent_time: int,
) -> bytes:
    """A FinalAck Packet: received (ACK_RECEIVE), or why not ([MS-MQQB] 2.2.5)."""
    assert message_class >= MessageClass.ACK_RECEIVE, "a FinalAck has a class from 0x4000"
    return _builder(source, queue).build(
        body.pack(),
        label=ACK_LABEL,
        priority=0,
        message_id=message_id,
        sent_time=sent_time,
        message_class=message_class,
    )


def _builder(source: UUID, queue: PrivateName | DirectName) -> PacketBuilder:
    manager = queue.guid if isinstance(queue, PrivateName) else NO_GUID
    return PacketBuilder(source, queue, destination_manager=manager)


def ack_body(packet: PacketView) -> OrderAckBody | FinalAckBody | None:
    """What an OrderAck or FinalAck says; None for any other message ([MS-MQQB] 3.1.5.1.1).

    A SessionHeader does not disqualify (AMB-54), and every class from 0x4000 is a FinalAck
    (AMB-12).
    """
    if packet.base_flags & ~BaseFlags.SH or packet.message_size != OrderAckBody.SIZE:
        return None
    if packet.label != ACK_LABEL or not _goes_to_order_queue(packet):
        return None
    if packet.message_class == MessageClass.ORDER_ACK:
        return OrderAckBody.unpack(packet.body)
    if packet.message_class >= MessageClass.ACK_RECEIVE:
        return FinalAckBody.unpack(packet.body)
    return None


def _goes_to_order_queue(packet: PacketView) -> bool:
    """Private queue 4, or a direct name of `order_queue$` ([MS-MQQB] 2.2.4)."""
    data = packet.data
    match packet.flags >> 10 & 7:
        case ReferenceCode.PRIVATE_ON_DESTINATION:
            return bool(u32(data, NAMES)[0] == ORDER_QUEUE_NUMBER)
        case ReferenceCode.DIRECT:
            end = NAMES + 2 + u16(data, NAMES)[0]
            return decode_utf16(data[NAMES + 2 : end]).casefold().endswith(ORDER_QUEUE_PATH)
        case _:
            return False
