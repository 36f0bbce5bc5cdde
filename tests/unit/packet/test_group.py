"""Messages that follow each other and differ in little."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.signers import signer
from tests.unit.engine.station import parcel

from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.group import group_at
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.walk import FLAGS, u32
from openmsmq.properties.message import Acknowledge
from openmsmq.security.sid import Sid

PLAIN = [parcel("a" * n, number=n, sent=100 - n) for n in range(1, 7)]
ORDERED = [parcel("a", number=n, place=(1, n, n - 1)) for n in range(1, 7)]


@pytest.mark.parametrize("packets", [PLAIN, ORDERED], ids=["plain", "in order"])
def test_what_is_alike_is_a_group(packets: list[bytes]) -> None:
    data = b"".join(packets)
    group = group_at(data + packets[0][:100], 0)
    assert group is not None
    assert (group.packets, group.split()) == (data, packets)
    assert (group.first, group.last) == (packets[0], packets[-1])
    assert group.last_number == (6 if packets is ORDERED else 0)
    if packets is PLAIN:
        assert group.oldest == 94


@pytest.mark.parametrize(
    "odd",
    [
        parcel("a", number=6),
        parcel("a", number=5, priority=4),
        parcel("a", number=5, to="DIRECT=OS:.\\other"),
        parcel("a", number=5, receive=7),
        parcel("a", number=5, express=True),
        parcel("a", number=5, acknowledge=Acknowledge.POS_RECEIVE),
        parcel("a", number=5, place=(1, 5, 4)),
        parcel("a", number=5, hops=1),
        parcel("aaa", number=5)[:-4],
    ],
)
def test_what_is_not_alike_ends_it(odd: bytes) -> None:
    group = group_at(b"".join([*PLAIN[:4], odd]), 0)
    assert group is not None
    assert group.split() == PLAIN[:4]


@pytest.mark.parametrize("place", [(1, 5, 3), (1, 4, 4), (2, 5, 4)])
def test_what_is_not_next_in_order_ends_it(place: tuple[int, int, int]) -> None:
    group = group_at(b"".join([*ORDERED[:4], parcel("a", number=5, place=place)]), 0)
    assert group is not None
    assert group.last_number == 4


def signed(number: int, name: str = "user-2048", sender: Sid | None = None) -> bytes:
    """A message with a signature that is not verified here."""
    one = replace(signer(name), sender=sender or signer(name).sender)
    filled = replace(one.header, signature=bytes([number]) * one.header.signature_size)
    headers = OptionalHeaders(security=filled, hash_algorithm=one.algorithm)
    return parcel("a" * number, number=number, headers=headers)


def test_signed_messages_of_one_sender_are_a_group() -> None:
    """Their signatures and bodies differ, and nothing else of their SecurityHeaders."""
    packets = [signed(number) for number in range(1, 7)]
    group = group_at(b"".join(packets), 0)
    assert group is not None
    assert group.split() == packets
    assert group.layout is not None
    assert [packet[group.layout.signature][:1] for packet in packets] == [
        bytes([number]) for number in range(1, 7)
    ]
    plain = group_at(b"".join(PLAIN), 0)
    assert plain is not None
    assert plain.layout is None


@pytest.mark.parametrize(
    "odd",
    [
        parcel("a", number=5),
        signed(5, sender=Sid(5, (21, 1, 2, 3, 4))),
        signed(5, "user-1024"),
        signed(5)[:-4],
    ],
    ids=["unsigned", "another sender", "another certificate", "cut off"],
)
def test_another_sender_ends_it(odd: bytes) -> None:
    packets = [signed(number) for number in range(1, 5)]
    group = group_at(b"".join([*packets, odd]), 0)
    assert group is not None
    assert group.split() == packets


def test_few_messages_are_no_group() -> None:
    assert group_at(PLAIN[0], 0) is None
    assert group_at(b"".join(PLAIN[:3]), 0) is None
    bare = [parcel("a", number=n, priority=0) for n in range(1, 7)]
    assert group_at(b"".join(bare), 0) is None, "such may be OrderAcks"


def test_messages_of_two_sources_are_no_group() -> None:
    other = [parcel("a", number=n, source=UUID(int=7)) for n in range(1, 7)]
    mixed = [packet for pair in zip(PLAIN, other[1:], strict=False) for packet in pair]
    assert group_at(b"".join(mixed), 0) is None


def test_messages_with_unusual_headers_are_no_group() -> None:
    """They are looked at one by one."""
    data = bytearray(b"".join(ORDERED))
    for at in range(0, len(data), len(ORDERED[0])):
        flags = u32(data, at + FLAGS)[0] | UserFlags.HH
        data[at + FLAGS : at + FLAGS + 4] = flags.to_bytes(4, "little")
    assert group_at(data, 0) is None


@pytest.mark.parametrize("size", [0, 80, 120])
def test_a_packet_that_says_it_is_too_small_ends_it(size: int) -> None:
    data = bytearray(b"".join(PLAIN))
    last = len(data) - len(PLAIN[-1])
    assert u32(data, last + 8)[0] == len(PLAIN[-1])
    data[last + 8 : last + 12] = size.to_bytes(4, "little")
    group = group_at(data, 0)
    assert group is not None
    assert group.split() == PLAIN[:-1]
