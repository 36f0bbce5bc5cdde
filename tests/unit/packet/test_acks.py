"""OrderAck and FinalAck packets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from struct import pack
from uuid import UUID

import pytest
from tests.samples import OTHER, SENT, SESSION, SOURCE, TARGET, direct, properties, user_message

from openmsmq.names.direct import DirectName
from openmsmq.names.format import PrivateName
from openmsmq.names.reference import QueueReference, ReferenceCode
from openmsmq.packet.acks import (
    ACK_LABEL,
    FinalAckBody,
    OrderAckBody,
    ack_body,
    build_final_ack,
    build_order_ack,
    order_queue,
    order_queue_at,
)
from openmsmq.packet.headers.properties import MessagePropertiesHeader
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass

VECTORS = Path(__file__).parents[2] / "vectors" / "mqqb"
SEQUENCE = TxSequenceID(1, 0x64000000)
ORDER_BODY = OrderAckBody(SEQUENCE, 1, 0)
FINAL_BODY = FinalAckBody(SEQUENCE, 1, 0, TARGET, 42)
ORDER_QUEUE = QueueReference(ReferenceCode.PRIVATE_ON_DESTINATION, number=4)
AT_ADDRESS = r"TCP:192.0.2.7\PRIVATE$\order_queue$"


def derived(stem: str) -> bytes:
    """A frame made by hand, without the algorithms, which no acknowledgement needs."""
    packet = decode_packet(bytes.fromhex((VECTORS / f"{stem}.hex").read_text()))
    assert isinstance(packet, UserMessage)
    header = replace(packet.properties, hash_algorithm=0, encryption_algorithm=0)
    return replace(packet, properties=header).encode()


def ack(
    *,
    message_class: int = MessageClass.ORDER_ACK,
    body: bytes = ORDER_BODY.pack(),
    label: str = ACK_LABEL,
    base_flags: int = 0,
    destination: QueueReference = ORDER_QUEUE,
    flags: int = 0,
    header: MessagePropertiesHeader | None = None,
) -> PacketView:
    header = properties(body, label) if header is None else header
    message = user_message(
        base_flags=base_flags,
        flags=flags,
        destination=destination,
        header=replace(header, message_class=message_class),
    )
    return PacketView.parse(message.encode())


def built_order_ack(queue: PrivateName | DirectName) -> PacketView:
    data = build_order_ack(queue, ORDER_BODY, source=SOURCE, message_id=0x11, sent_time=SENT + 1)
    return PacketView.parse(data)


def built_final_ack(
    queue: PrivateName | DirectName, message_class: int = MessageClass.ACK_RECEIVE
) -> PacketView:
    data = build_final_ack(
        queue, FINAL_BODY, message_class, source=SOURCE, message_id=0x12, sent_time=SENT + 2
    )
    return PacketView.parse(data)


def test_an_order_ack_is_the_frame_made_by_hand() -> None:
    """MQQB-117, MQQB-118, MQQB-120 to MQQB-122, MQQB-124, MQQB-125."""
    found = built_order_ack(order_queue(TARGET))
    assert found.data == derived("derived-mqqb-d3-orderack-private")


def test_a_final_ack_is_the_frame_made_by_hand() -> None:
    """MQQB-117, MQQB-119 to MQQB-121, MQQB-123, MQQB-126."""
    found = built_final_ack(order_queue_at("192.0.2.7"))
    assert found.data == derived("derived-mqqb-d4-finalack-direct")


@pytest.mark.parametrize("queue", [order_queue(TARGET), order_queue_at("192.0.2.7")], ids=str)
def test_flags_of_an_order_ack(queue: PrivateName | DirectName) -> None:
    """MQQB-021, MQQB-025, MQQB-117, MQQB-118, AMB-11: delivery mode 0."""
    found = built_order_ack(queue)
    assert found.base_flags == 0
    assert found.time_to_reach_queue == 0xFFFFFFFF
    assert found.flags & ~UserFlags.DQ == UserFlags.MP
    assert (found.acknowledge, found.body_type) == (0, 0)


@pytest.mark.parametrize("queue", [order_queue(TARGET), order_queue_at("192.0.2.7")], ids=str)
def test_flags_of_a_final_ack(queue: PrivateName | DirectName) -> None:
    """MQQB-021, MQQB-025, MQQB-117, MQQB-119: delivery mode 1."""
    found = built_final_ack(queue)
    assert found.base_flags == 0
    assert found.time_to_reach_queue == 0xFFFFFFFF
    assert found.flags & ~UserFlags.DQ == UserFlags.MP | 1 << 5
    assert (found.acknowledge, found.body_type) == (0, 0)


def test_the_order_queue_is_private_queue_4_or_a_direct_name() -> None:
    """MQQB-043, MQQB-120."""
    private, at_address = (
        built_order_ack(order_queue(TARGET)),
        built_order_ack(order_queue_at("::1")),
    )
    assert private.user.destination == ORDER_QUEUE
    assert private.queue_manager_address == TARGET
    assert at_address.user.destination.code is ReferenceCode.DIRECT
    assert at_address.user.destination.text == r"TCP:::1\PRIVATE$\order_queue$"
    assert at_address.queue_manager_address == UUID(int=0)


def test_bodies_have_36_bytes() -> None:
    """MQQB-124 to MQQB-126."""
    start = pack("<IIII", 1, 0x64000000, 1, 0)
    assert ORDER_BODY.pack() == start + bytes(20)
    assert FINAL_BODY.pack() == start + TARGET.bytes_le + pack("<I", 42)


@pytest.mark.parametrize("code", [0x4000, 0x8000, 0x8009, 0xC002, 0xC004])
def test_a_final_ack_has_the_class_it_is_given(code: int) -> None:
    """MQQB-123."""
    assert built_final_ack(order_queue(TARGET), code).message_class == code


@pytest.mark.parametrize("code", [0, MessageClass.ORDER_ACK, 0x3FFF])
def test_a_final_ack_of_a_lower_class_is_our_own_mistake(code: int) -> None:
    """MQQB-123."""
    with pytest.raises(AssertionError):
        built_final_ack(order_queue(TARGET), code)


@pytest.mark.parametrize("queue", [order_queue(TARGET), order_queue_at("192.0.2.7")], ids=str)
def test_what_is_built_is_recognised(queue: PrivateName | DirectName) -> None:
    """MQQB-127, MQQB-128."""
    assert ack_body(built_order_ack(queue)) == ORDER_BODY
    assert ack_body(built_final_ack(queue)) == FINAL_BODY


@pytest.mark.parametrize("code", [0x4000, 0x4001, 0x8000, 0x800C, 0xC004, 0xFFFF])
def test_every_class_from_0x4000_is_a_final_ack(code: int) -> None:
    """MQQB-128, AMB-12."""
    assert ack_body(ack(message_class=code, body=FINAL_BODY.pack())) == FINAL_BODY


@pytest.mark.parametrize("code", [0x0000, 0x0001, 0x0002, 0x00FE, 0x0100, 0x3FFF])
def test_other_classes_are_no_acks(code: int) -> None:
    """MQQB-127, MQQB-128."""
    assert ack_body(ack(message_class=code)) is None


@pytest.mark.parametrize("code", [MessageClass.ORDER_ACK, MessageClass.ACK_RECEIVE])
@pytest.mark.parametrize("flags", [0x0001, 0x0007, 0x0100])
def test_any_other_flag_disqualifies(code: int, flags: int) -> None:
    """MQQB-117, MQQB-127, MQQB-128."""
    assert ack_body(ack(message_class=code)) is not None
    assert ack_body(ack(message_class=code, base_flags=flags)) is None


def test_a_session_header_does_not_disqualify() -> None:
    """AMB-54."""
    message = user_message(
        base_flags=0,
        destination=ORDER_QUEUE,
        header=replace(properties(ORDER_BODY.pack(), ACK_LABEL), message_class=0xFF),
        session=SESSION,
    )
    assert ack_body(PacketView.parse(message.encode())) == ORDER_BODY


@pytest.mark.parametrize("mode", [0, 1])
def test_either_delivery_mode_is_taken(mode: int) -> None:
    """AMB-11."""
    assert ack_body(ack(flags=mode << 5)) == ORDER_BODY


@pytest.mark.parametrize("size", [0, 35, 37])
def test_another_size_disqualifies(size: int) -> None:
    """MQQB-121, MQQB-127."""
    assert ack_body(ack(body=bytes(size))) is None


@pytest.mark.parametrize("label", ["", "QM Ordering Ac", "qm ordering ack", "QM Ordering Ack "])
def test_another_label_disqualifies(label: str) -> None:
    """MQQB-121, MQQB-127."""
    assert ack_body(ack(label=label)) is None


@pytest.mark.parametrize(
    "text",
    [
        AT_ADDRESS,
        r"tcp:192.0.2.7\private$\ORDER_QUEUE$",
        r"SPX:00000012:00a0234f7500\PRIVATE$\order_queue$",
        r"OS:host\private$\order_queue$",
    ],
)
def test_a_direct_name_of_the_order_queue_is_recognised(text: str) -> None:
    """MQQB-120, MQQB-127."""
    assert ack_body(ack(destination=direct(text))) == ORDER_BODY


@pytest.mark.parametrize(
    "destination",
    [
        QueueReference(),
        QueueReference(ReferenceCode.PRIVATE_ON_DESTINATION, number=5),
        QueueReference(ReferenceCode.PUBLIC, OTHER),
        direct(r"TCP:192.0.2.7\PRIVATE$\orders"),
        direct(r"TCP:192.0.2.7\order_queue$"),
        direct(r"TCP:192.0.2.7\PRIVATE$\my_order_queue$"),
    ],
)
def test_another_queue_disqualifies(destination: QueueReference) -> None:
    """MQQB-120, MQQB-127, MQQB-128."""
    assert ack_body(ack(destination=destination)) is None


def test_reserved_bytes_of_an_order_ack_may_be_anything() -> None:
    """MQQB-125."""
    body = ORDER_BODY.pack()[:16] + b"\xaa" * 20
    found = ack_body(ack(body=body))
    assert isinstance(found, OrderAckBody)
    assert found.tx_sequence_id == SEQUENCE
    assert found.pack() == body
