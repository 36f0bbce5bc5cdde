"""Receipts that are owed for messages that came by SRMP, as packets for their outgoing queues.

All that a receipt needs is in the packet of the message, with the SOAP header it keeps, so that it
can be made days later and after any restart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from openmsmq.engine.arrivals.receipts import OwedReceipt, ReceiptContext
from openmsmq.limits import U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.packet.acks import FinalAckBody
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import TIME_TO_REACH_QUEUE_DEFAULT, MessageClass
from openmsmq.soap.addresses import queue_at
from openmsmq.soap.envelope import (
    ORDERING_ACK,
    Envelope,
    Msmq,
    Path,
    Properties,
    StreamReceipt,
)
from openmsmq.soap.kept import kept_envelope
from openmsmq.soap.kinds import DECISIONS
from openmsmq.soap.scalars import NEVER, SoapMessageId

RECEIPT_PRIORITY: Final = 3
"Of delivery and commitment receipts ([MC-MQSRM] 4.3)."


class SrmpReceipts:
    """Writes receipts inside the commit that owes them."""

    def acknowledgement(
        self, packet: bytes, reason: MessageClass, context: ReceiptContext
    ) -> OwedReceipt | None:
        """A delivery or commitment receipt, if the sender asked for it."""
        view = PacketView(packet)
        if reason is MessageClass.ACK_REACH_QUEUE:
            return _owed(delivery_receipt(view), context)
        return _owed(commitment_receipt(view, reason), context)

    def final(
        self, packet: bytes, reason: MessageClass, context: ReceiptContext
    ) -> OwedReceipt | None:
        """The final stream receipt, to the address that the stream began with."""
        view = PacketView(packet)
        came = _came(view)
        if came is None or came.stream is None:
            return None
        known = context.receipts_to(came.stream.id.guid.bytes_le, packet)
        receipts_to = known or came.stream.send_receipts_to
        return _owed(final_stream_receipt(view, reason, receipts_to), context)


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt on its way: where to, and what it says."""

    destination: FormatName
    message_class: int
    label: str
    correlation: bytes
    response: FormatName | None
    body: bytes = b""

    def packet(self, *, manager: UUID, message_id: int, sent_time: int) -> bytes:
        """The packet to put into the outgoing queue: a regular message that asks for nothing."""
        builder = PacketBuilder(manager, self.destination, response=self.response)
        return builder.build(
            self.body,
            label=self.label,
            priority=0 if self.body else RECEIPT_PRIORITY,
            recoverable=False,
            message_id=message_id,
            sent_time=sent_time,
            time_to_reach_queue=TIME_TO_REACH_QUEUE_DEFAULT,
            message_class=self.message_class,
            correlation_id=self.correlation,
        )


def delivery_receipt(view: PacketView) -> Receipt | None:
    """The receipt for a message that was placed in its queue ([MC-MQSRM] 3.1.5.1.6.2).

    None if none was asked for.
    """
    came = _came(view)
    if came is None or came.services is None or not came.services.delivery_to:
        return None
    return _receipt(view, came.services.delivery_to, MessageClass.ACK_REACH_QUEUE)


def commitment_receipt(view: PacketView, reason: int) -> Receipt | None:
    """The receipt for a message that left its queue ([MC-MQSRM] 3.1.7.3.1).

    None unless the decision that `reason` stands for was asked for.
    """
    came = _came(view)
    request = came.services.commitment if came is not None and came.services is not None else None
    decision = DECISIONS.get(reason)
    if request is None or decision is None:
        return None
    is_wanted = request.positive if decision else request.negative
    return _receipt(view, request.send_to, reason) if is_wanted else None


def final_stream_receipt(view: PacketView, reason: int, receipts_to: str) -> Receipt | None:
    """The receipt for a stream message that left its queue ([MC-MQSRM] 3.1.7.3.3).

    None unless it has DeadLetter; `receipts_to` is the address that its stream began with.
    """
    came = _came(view)
    header = view.transaction
    if came is None or came.stream is None or header is None or not view.dead_letter:
        return None
    if reason not in DECISIONS or not receipts_to:
        return None
    body = FinalAckBody(
        TxSequenceID(came.stream.id.number & U32_MAX, came.stream.id.number >> 32),
        came.stream.current,
        came.stream.predecessor,
        came.stream.id.guid,
        view.message_id,
    )
    return _receipt(view, receipts_to, reason, ORDERING_ACK, body.pack())


def stream_receipt(
    receipt: StreamReceipt,
    *,
    to: str,
    via: str,
    manager: UUID,
    message_id: int,
    now: int,
) -> Envelope:
    """The envelope of a stream receipt as Windows writes it ([MC-MQSRM] 3.1.6.3, 4.4)."""
    identifier = str(SoapMessageId(message_id, manager))
    return Envelope(
        Path(to, identifier, ORDERING_ACK, via),
        Properties(NEVER, now),
        stream_receipt=receipt,
        msmq=Msmq(
            manager,
            min(now + TIME_TO_REACH_QUEUE_DEFAULT, NEVER),
            message_class=MessageClass.ORDER_ACK,
            priority=0,
        ),
    )


def _came(view: PacketView) -> Envelope | None:
    """The envelope that a message came with."""
    header = view.message().soap
    return kept_envelope(header) if header is not None else None


def _receipt(
    view: PacketView, to: str, code: int, label: str | None = None, body: bytes = b""
) -> Receipt:
    """A receipt that repeats the label, and comes from the queue that the message was for."""
    return Receipt(
        queue_at(to, "sendTo"),
        code,
        view.label if label is None else label,
        view.identifier,
        view.destination,
        body,
    )


def _owed(receipt: Receipt | None, context: ReceiptContext) -> OwedReceipt | None:
    if receipt is None:
        return None
    packet = receipt.packet(
        manager=context.identity, message_id=context.message_id, sent_time=context.sent_time
    )
    return OwedReceipt(receipt.destination, packet)
