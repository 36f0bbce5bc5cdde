"""Packets one after the other, by columns."""

from __future__ import annotations

import pytest
from tests.samples import MESSAGES, SOURCE

from openmsmq.errors import Malformed
from openmsmq.names.direct import DirectName
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.columns import (
    SENT,
    JoinedPackets,
    PacketColumns,
    numbered_packets,
    split_packets,
)
from openmsmq.packet.view import PacketView

PLAIN, TRACED = MESSAGES["plain"].encode(), MESSAGES["debug"].encode()
BUILDER = PacketBuilder(SOURCE, DirectName.from_wire("OS:here\\private$\\orders"))


def test_packets_are_split_by_their_sizes() -> None:
    assert split_packets(PLAIN + TRACED + PLAIN, 3) == [PLAIN, TRACED, PLAIN]


def test_joined_packets_are_a_sequence_of_them() -> None:
    joined = JoinedPackets(PLAIN + TRACED, 2)
    assert (len(joined), list(joined), joined[-1], joined[:1]) == (
        2,
        [PLAIN, TRACED],
        TRACED,
        [PLAIN],
    )
    with pytest.raises(Malformed):
        list(JoinedPackets(PLAIN + TRACED, 3))


@pytest.mark.parametrize(
    ("packets", "count"),
    [
        (PLAIN + TRACED, 1),
        (PLAIN + TRACED, 3),
        (PLAIN + TRACED[:-1], 2),
        (PLAIN + TRACED + b"x", 2),
        (PLAIN + bytes(len(PLAIN)), 2),
        (b"", 1),
    ],
)
def test_packets_that_are_not_so_many_are_refused(packets: bytes, count: int) -> None:
    with pytest.raises(Malformed, match=f"are not {count}, one after the other"):
        split_packets(packets, count)


@pytest.mark.parametrize("bodies", [(b"abcd", b"efgh", b"ijkl"), (b"", b"abcdefgh", b"x")])
def test_packets_are_numbered_where_they_lie(bodies: tuple[bytes, ...]) -> None:
    packets = [BUILDER.build(body) for body in bodies]
    whole = numbered_packets(b"".join(packets), list(map(len, packets)), first_id=9, sent_time=77)
    expected = [
        BUILDER.build(body, message_id=number, sent_time=77)
        for number, body in enumerate(bodies, 9)
    ]
    assert whole == b"".join(expected)


def test_columns_are_compared_and_written() -> None:
    packets = [BUILDER.build(b"body", "l", message_id=n) for n in range(5)]
    columns = PacketColumns(b"".join(packets), 5)
    assert columns.equal(0, packets[0][:SENT])
    assert not columns.equal(SENT, packets[0][SENT : SENT + 8])
    label_end = packets[0].index(b"l\0") + 2
    assert columns.zero(label_end)
    assert not columns.zero(label_end - 2)
    columns.write(16, bytes(16))
    views = [PacketView(one) for one in split_packets(columns.packets(), 5)]
    assert {view.source_queue_manager.int for view in views} == {0}
    assert [view.message_id for view in views] == list(range(5))


def test_one_packet_that_differs_is_enough() -> None:
    for place in range(5):
        packets = [BUILDER.build(b"body", priority=3 + (n == place)) for n in range(5)]
        assert not PacketColumns(b"".join(packets), 5).equal(0, BUILDER.build(b"body")[:8])
