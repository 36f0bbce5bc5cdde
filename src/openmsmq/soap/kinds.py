"""Which of its kinds a message is: a user message, or one of four receipts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from openmsmq.properties.message import MessageClass
from openmsmq.soap.envelope import ORDERING_ACK, Envelope

DECISIONS: Final[Mapping[int, bool]] = {
    MessageClass.ACK_RECEIVE: True,
    MessageClass.NACK_PURGED: False,
    MessageClass.NACK_Q_DELETED: False,
    MessageClass.NACK_Q_PURGED: False,
    MessageClass.NACK_RECEIVE_TIMEOUT: False,
    MessageClass.NACK_RECEIVE_REJECTED: False,
}
"The classes of commitment receipts: True for positive ([MC-MQSRM] 3.1.7.3.1; HTTP-18)."


class SoapKind(Enum):
    """What a message is ([MC-MQSRM] 3.1.5.1.5)."""

    USER = auto()
    DELIVERY_RECEIPT = auto()
    STREAM_RECEIPT = auto()
    FINAL_STREAM_RECEIPT = auto()
    COMMITMENT_RECEIPT = auto()


def kind_of(envelope: Envelope) -> SoapKind | None:
    """The kind of a message; None for one that is to be ignored ([MC-MQSRM] 3.1.5.1.5).

    Stream receipts have an action of their own ([MC-MQSRM] 2.2.4.1). Without Msmq element its
    class is 0 (note 12, HTTP-23).
    """
    code = envelope.msmq.message_class if envelope.msmq is not None else MessageClass.NORMAL
    delivery = envelope.delivery_receipt is not None
    stream = envelope.stream_receipt is not None
    commitment = envelope.commitment_receipt
    decided = commitment is not None and DECISIONS.get(code) is commitment.positive
    orders = envelope.path.label == ORDERING_ACK
    match (delivery, stream, commitment is not None):
        case (False, False, False) if code == MessageClass.NORMAL:
            return SoapKind.USER
        case (True, False, False) if code == MessageClass.ACK_REACH_QUEUE:
            return SoapKind.DELIVERY_RECEIPT
        case (False, True, False) if orders and code == MessageClass.ORDER_ACK:
            return SoapKind.STREAM_RECEIPT
        case (False, True, True) if orders and decided:
            return SoapKind.FINAL_STREAM_RECEIPT
        case (False, False, True) if decided:
            return SoapKind.COMMITMENT_RECEIPT
        case _:
            return None
