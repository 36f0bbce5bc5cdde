"""Where the parts of many packets begin; `tests/property/test_arrow.py` has all shapes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.samples import MESSAGES

from openmsmq.app_protocol.payloads import Messages, QueuedMessage
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import properties_offset
from openmsmq.spark.block import Block

PACKETS = [message.encode() for message in MESSAGES.values()]


def test_the_properties_are_where_the_walk_finds_them() -> None:
    block = Block.of_packets(PACKETS)
    found = [
        place - start
        for place, start in zip(block.properties.to_pylist(), block.starts.to_pylist(), strict=True)
    ]
    assert found == [properties_offset(packet) for packet in PACKETS]


def test_bodies_and_extensions_are_slices() -> None:
    queued = tuple(QueuedMessage(n, 0, 0, 0, 0, packet) for n, packet in enumerate(PACKETS))
    block = Block.of_payload(Messages(queued).encode())
    assert len(block) == len(PACKETS)
    assert block.packets.to_pylist() == PACKETS
    assert block.bodies.to_pylist() == [PacketView(packet).body for packet in PACKETS]
    assert block.extensions.to_pylist() == [PacketView(packet).extension for packet in PACKETS]


def test_a_packet_that_was_not_checked_is_refused() -> None:
    packet = bytearray(PACKETS[0])
    at = properties_offset(PACKETS[0]) + 52
    packet[at : at + 4] = b"\xff\xff\xff\x3f"
    with pytest.raises(pa.ArrowInvalid):
        _ = Block.of_packets([bytes(packet)]).bodies
