"""Where a message stands in its sequence, and the FinalAck that its sender may be owed."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.station import STAMP, parcel
from tests.unit.engine.world import ME, PARTNER

from openmsmq.engine.arrivals.arrival import ArrivalPosition
from openmsmq.engine.arrivals.receipts import ReceiptContext
from openmsmq.names.format import PrivateName
from openmsmq.packet.acks import FinalAckBody, ack_body, order_queue
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass
from openmsmq.transports.mqqb.receipts import arrival_of, final_ack, order_queue_of

CONTEXT = ReceiptContext(ME, 7, 1000, "192.0.2.9", lambda source, packet: "")


def test_a_plain_message_has_no_position() -> None:
    packet = parcel("1")
    assert arrival_of(packet) == (packet, None)


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        (False, {}),
        (True, {"dead_letter": True}),
        (True, {"journal": True}),
        (True, {"wants_final": True}),
    ],
)
def test_a_transactional_message_says_its_place_and_whether_a_final_ack_is_wanted(
    wanted: bool, given: dict[str, bool]
) -> None:
    """[MS-MQQB] 3.1.1.6.2, 3.1.5.8.6."""
    packet = parcel("1", place=(3, 5, 4), **given)  # type: ignore[arg-type] # flags of it
    found, position = arrival_of(packet)
    assert found is packet
    assert position == ArrivalPosition(STAMP << 32 | 3, 5, 4, wanted)


def test_a_final_ack_names_the_message_its_place_and_the_reason() -> None:
    """[MS-MQQB] 2.2.5.1, 3.1.7.17."""
    packet = parcel("1", number=9, place=(3, 5, 4))
    receipt = final_ack(packet, MessageClass.NACK_Q_PURGED, CONTEXT)
    assert receipt.destination == order_queue(PARTNER)
    view = PacketView(receipt.packet)
    assert ack_body(view) == FinalAckBody(TxSequenceID(3, STAMP), 5, 4, PARTNER, 9)
    assert (view.message_class, view.message_id) == (MessageClass.NACK_Q_PURGED, 7)
    assert receipt == final_ack(packet, MessageClass.NACK_Q_PURGED, CONTEXT), "it is pure"


def test_the_order_queue_is_at_the_address_for_direct_names_only() -> None:
    """MQQB-230, [MS-MQQB] 2.2.4, AMB-33: whatever else the session carries."""
    direct = parcel("1", place=(1, 1, 0))
    assert str(order_queue_of(direct, "192.0.2.9")).startswith("DIRECT=TCP:192.0.2.9")
    assert order_queue_of(direct, "") == order_queue(PARTNER)
    private = parcel("1", to=PrivateName(UUID(int=5), 12), place=(1, 1, 0))
    assert order_queue_of(private, "192.0.2.9") == order_queue(PARTNER)
