"""Where the parts of many packets begin; `tests/property/test_arrow.py` has all shapes."""

from __future__ import annotations

from uuid import uuid4

import pyarrow as pa
import pytest
from tests.samples import MESSAGES

from openmsmq.app_protocol.slices import QueuedSlice, Slices
from openmsmq.errors import Malformed
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import properties_offset
from openmsmq.spark.arrow import Columns
from openmsmq.spark.block import ENOUGH, Block, gathered
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer

PACKETS = [message.encode() for message in MESSAGES.values()]


def test_the_properties_are_where_the_walk_finds_them() -> None:
    block = Block.of_packets(PACKETS)
    found = [
        place - start
        for place, start in zip(block.properties.tolist(), block.starts.tolist(), strict=True)
    ]
    assert found == [properties_offset(packet) for packet in PACKETS]


def test_bodies_and_extensions_are_slices() -> None:
    block = Block.of_slices(
        [QueuedSlice(n, 0, 0, 0, 0, 1, packet) for n, packet in enumerate(PACKETS)]
    )
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


@pytest.mark.parametrize("sizes", [(10, 10, 10, 10), (10, 30, 0, 7), (5,)])
def test_slices_are_the_same_messages(sizes: tuple[int, ...]) -> None:
    messages = [Message(bytes(size), label=str(number)) for number, size in enumerate(sizes)]
    name = parse_format_name(r"DIRECT=OS:shop01\private$\orders")
    packets = Packer(uuid4()).pack_many(messages, name, first_id=1, sent_time=0)
    known = (1_700_000_000, 2, 3, 0x8001)
    each = [QueuedSlice(900 + number, *known, 1, one) for number, one in enumerate(packets)]
    single = QueuedSlice(7, 1, 0, 0, 0, 1, packets[0])
    run = QueuedSlice(900, *known, len(packets), b"".join(packets))
    names = ("lookup_id", "arrived_time", "abort_count", "move_count", "message_class", "body")
    expected = Columns(Block.of_slices((single, *each))).batch(names)
    assert expected["lookup_id"].to_pylist() == [7, *range(900, 900 + len(packets))]
    assert expected["move_count"].to_pylist() == [0] + [3] * len(packets)
    assert Columns(Block.of_slices((single, run))).batch(names) == expected
    framed = Slices.decode(Slices((single, run)).encode()).slices
    assert framed[0].data is framed[1].data
    assert Columns(Block.of_slices(framed)).batch(names) == expected, "where they lie in a frame"
    broken = run._replace(data=run.data + bytes(4))
    if len(sizes) > 1:
        with pytest.raises(Malformed):
            Block.of_slices((broken,))


def one(lookup: int, size: int) -> QueuedSlice:
    """A message of a size, which is not looked into."""
    return QueuedSlice(lookup, 0, 0, 0, 0, 1, bytes(size))


def test_what_is_read_of_many_queues_is_put_together_until_it_is_enough() -> None:
    small, large = ENOUGH // 4, 2 * ENOUGH
    found = gathered(
        [
            ("a", [one(1, small), one(2, small)]),
            ("b", [one(1, small)]),
            ("b", [one(2, small + 1)]),
            ("c", [one(1, large)]),
            ("d", [one(1, 1)]),
        ]
    )
    blocks = [(block.lookups.tolist(), queues) for block, queues in found]
    assert blocks == [
        ([1, 2, 1], [("a", 2), ("b", 1)]),
        ([2], [("b", 1)]),
        ([1], [("c", 1)]),
        ([1], [("d", 1)]),
    ]
    assert list(gathered([])) == []


def test_packets_that_end_too_soon_are_refused_together() -> None:
    packet = PACKETS[0][:80]
    with pytest.raises(Malformed):
        _ = Block.of_packets([packet[:40]]).head
    with pytest.raises(Malformed):
        _ = Block.of_packets([packet, packet]).record
