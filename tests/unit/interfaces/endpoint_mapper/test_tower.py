"""Protocol towers."""

from __future__ import annotations

import json
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from openmsmq.errors import Malformed
from openmsmq.interfaces.endpoint_mapper.tower import Tower, query
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ
from openmsmq.rpc.syntax import NDR

VECTORS = json.loads(
    (Path(__file__).parents[3] / "vectors" / "rpc" / "endpoint-mapper.json").read_text()
)["vectors"]


def test_a_query_is_the_worked_example() -> None:
    assert query(REMOTE_READ).encode().hex() == VECTORS["tower"]
    assert Tower.decode(bytes.fromhex(VECTORS["tower"])) == query(REMOTE_READ)


def test_port_and_address_are_big_endian() -> None:
    tower = Tower(REMOTE_READ, NDR, 2103, IPv4Address("10.0.0.5"))
    assert tower.encode().hex().endswith("0837" + "010009" + "0400" + "0a000005")
    assert Tower.decode(tower.encode()) == tower


def test_a_sixth_floor_is_not_looked_at_and_a_seventh_is_refused() -> None:
    """MQRR-441"""
    data = query(REMOTE_READ).encode()
    assert Tower.decode(b"\x06" + data[1:] + b"\x01\0\x20\0\0") == query(REMOTE_READ)
    with pytest.raises(Malformed):
        Tower.decode(b"\x07" + data[1:] + b"\x01\0\x20\0\0" * 2)


@pytest.mark.parametrize("at", [0, 2, 4, 27, 29, 52, 54, 59, 66, 68])
def test_what_is_no_tower_of_tcp_is_malformed(at: int) -> None:
    data = bytearray(query(REMOTE_READ).encode())
    data[at] ^= 0x40
    with pytest.raises(Malformed):
        Tower.decode(bytes(data))


def test_a_tower_that_is_cut_short_is_malformed() -> None:
    data = query(REMOTE_READ).encode()
    for size in range(len(data)):
        with pytest.raises(Malformed):
            Tower.decode(data[:size])
