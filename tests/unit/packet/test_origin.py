"""Where a message came from, in its packet."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.names.format import PrivateName, parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.origin import (
    UNKNOWN,
    all_with_origin,
    origin_of,
    packed_address,
    unpacked_address,
    with_origin,
    without_origin,
)

DIRECT = PacketBuilder(UUID(int=9), parse_format_name("DIRECT=OS:server1\\q")).build(b"x")
PRIVATE = PacketBuilder(UUID(int=9), PrivateName(UUID(int=5), 7)).build(b"x")


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6, network="2000::/3"))
def test_an_address_is_read_as_it_was_written(address: IPv4Address | IPv6Address) -> None:
    assert unpacked_address(packed_address(str(address))) == (address, 0)


@given(st.ip_addresses(v=6, network="fe80::/64"), st.integers(0, 2**32 - 1))
def test_an_address_of_one_link_keeps_its_scope(address: IPv6Address, scope: int) -> None:
    assert unpacked_address(packed_address(f"{address}%{scope}")) == (address, scope)


def test_mapped_addresses_are_those_of_ipv4() -> None:
    assert packed_address("::ffff:10.0.0.7") == packed_address("10.0.0.7")


@pytest.mark.parametrize("text", ["", "a local socket", "shop", "10.0.0"])
def test_what_is_no_address_is_unknown(text: str) -> None:
    assert packed_address(text) == UNKNOWN
    assert unpacked_address(UNKNOWN) is None


def test_only_a_direct_name_leaves_room_for_it() -> None:
    """[MS-MQRR] 2.2.5.1"""
    came = with_origin(DIRECT, packed_address("10.0.0.7"))
    assert len(came) == len(DIRECT)
    assert origin_of(came) == (IPv4Address("10.0.0.7"), 0)
    assert without_origin(came) == DIRECT
    assert origin_of(DIRECT) is None
    assert origin_of(PRIVATE) is None
    assert without_origin(PRIVATE) == PRIVATE


def test_messages_one_after_the_other_get_the_same() -> None:
    packed = packed_address("10.0.0.7")
    longer = PacketBuilder(UUID(int=9), parse_format_name("DIRECT=OS:server1\\q")).build(b"x" * 99)
    packets = [DIRECT, longer, DIRECT]
    found = all_with_origin(b"".join(packets), map(len, packets), packed)
    assert found == b"".join(with_origin(packet, packed) for packet in packets)
