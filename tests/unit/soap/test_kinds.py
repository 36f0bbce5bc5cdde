"""User messages and receipts, distinguished."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.soap import MANAGER

from openmsmq.properties.message import MessageClass
from openmsmq.soap.envelope import (
    ORDERING_ACK,
    CommitmentReceipt,
    DeliveryReceipt,
    Envelope,
    Msmq,
    Path,
    Properties,
    StreamReceipt,
)
from openmsmq.soap.kinds import DECISIONS, SoapKind, kind_of
from openmsmq.soap.scalars import NEVER, StreamId

ID = f"uuid:7@{MANAGER}"
PLAIN = Envelope(Path("http://m/msmq/q", ID), Properties(NEVER))
DELIVERY = DeliveryReceipt(1, ID)
STREAM = StreamReceipt(StreamId(MANAGER, 1), 3)
ORDERS = Path("http://m/msmq/private$/order_queue$", ID, ORDERING_ACK)


def of_class(code: int) -> Envelope:
    return replace(PLAIN, msmq=Msmq(MANAGER, NEVER, message_class=code))


def commitment(positive: bool) -> CommitmentReceipt:
    return CommitmentReceipt(1, positive, ID)


def test_a_user_message_has_class_0_and_no_receipt() -> None:
    """SRMP-175, SRMP-180: without Msmq its class is 0 (HTTP-23); other classes are ignored."""
    assert kind_of(PLAIN) is kind_of(of_class(0)) is SoapKind.USER
    assert kind_of(of_class(1)) is kind_of(of_class(MessageClass.ACK_REACH_QUEUE)) is None


def test_a_delivery_receipt_has_class_2_and_no_other_receipt() -> None:
    """SRMP-176, SRMP-180."""
    receipt = replace(of_class(2), delivery_receipt=DELIVERY)
    assert kind_of(receipt) is SoapKind.DELIVERY_RECEIPT
    assert kind_of(replace(of_class(0), delivery_receipt=DELIVERY)) is None
    assert kind_of(replace(receipt, stream_receipt=STREAM)) is None
    assert kind_of(replace(receipt, commitment_receipt=commitment(True))) is None


def test_a_stream_receipt_has_class_255_and_its_action() -> None:
    """SRMP-058, SRMP-177, SRMP-180."""
    receipt = replace(of_class(MessageClass.ORDER_ACK), stream_receipt=STREAM)
    assert kind_of(replace(receipt, path=ORDERS)) is SoapKind.STREAM_RECEIPT
    assert kind_of(receipt) is None
    assert kind_of(replace(of_class(0), stream_receipt=STREAM, path=ORDERS)) is None


@pytest.mark.parametrize("code", DECISIONS)
def test_the_class_of_a_commitment_receipt_fits_its_decision(code: int) -> None:
    """SRMP-178, SRMP-179, SRMP-180, SRMP-215: with a stream receipt it is a final one."""
    right = replace(of_class(code), commitment_receipt=commitment(DECISIONS[code]))
    wrong = replace(right, commitment_receipt=commitment(not DECISIONS[code]))
    assert kind_of(right) is SoapKind.COMMITMENT_RECEIPT
    assert kind_of(wrong) is None
    final = replace(right, stream_receipt=STREAM, path=ORDERS)
    assert kind_of(final) is SoapKind.FINAL_STREAM_RECEIPT
    assert kind_of(replace(final, path=PLAIN.path)) is None
    assert kind_of(replace(final, commitment_receipt=wrong.commitment_receipt)) is None


def test_only_receiving_and_its_failures_are_decisions() -> None:
    """SRMP-215, SRMP-216: purged, deleted, timed out, rejected; not what failed on the way."""
    positive = {code for code, decision in DECISIONS.items() if decision}
    assert positive == {MessageClass.ACK_RECEIVE}
    receipt = replace(of_class(0x8002), commitment_receipt=commitment(False))
    assert kind_of(receipt) is None
