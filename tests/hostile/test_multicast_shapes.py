"""Packets of multicast in the shapes of public advisories: they cost nothing and change nothing.

Lengths that underflow, options of other types, windows that jump, and floods of forged sources.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from struct import pack

import pytest

from openmsmq.errors import Malformed
from openmsmq.transports.pgm.limits import (
    HELD_BYTES_MAX,
    HELD_PACKETS_MAX,
    SESSIONS_PER_ADDRESS_MAX,
)
from openmsmq.transports.pgm.packets import (
    FRAGMENT,
    OptionType,
    PacketOption,
    PgmData,
    Spm,
    Tsi,
    checksum,
    decode,
)
from openmsmq.transports.pgm.receiver import PgmReceiver, SharedLimits

GROUP, PORT = IPv4Address("239.192.0.9"), 8001
FORGER = IPv4Address("10.0.0.66")
TSI = Tsi(b"forger", 7)
DATA = PgmData(TSI, PORT, (), 1, 1, b"data").pack()
FRAGMENTED = PgmData(
    TSI, PORT, (PacketOption(OptionType.FRAGMENT, FRAGMENT.pack(1, 0, 100)),), 1, 1, b"data"
).pack()
OPTIONS_AT = 24


def changed(packet: bytes, at: int, content: bytes) -> bytes:
    """A packet with other bytes somewhere, and a checksum that is right."""
    raw = bytearray(packet)
    raw[at : at + len(content)] = content
    raw[6:8] = b"\0\0"
    raw[6:8] = checksum(raw).to_bytes(2)
    return bytes(raw)


@pytest.mark.parametrize(
    "packet",
    [
        changed(DATA, 14, pack("!H", 5)),
        changed(DATA, 14, pack("!H", 0xFFFF)),
        changed(DATA, 14, pack("!H", 0)),
        changed(DATA[:20], 14, pack("!H", 4)),
        changed(FRAGMENTED, OPTIONS_AT, b"\x00\x04\x00\x00"),
        changed(FRAGMENTED, OPTIONS_AT, b"\x00\x04\xff\xff"),
        changed(FRAGMENTED, OPTIONS_AT + 4, b"\x81\x00"),
        changed(FRAGMENTED, OPTIONS_AT + 4, b"\x81\x03"),
        changed(FRAGMENTED, OPTIONS_AT + 4, b"\x81\xff"),
        changed(FRAGMENTED, OPTIONS_AT + 4, b"\x01\x10"),
        changed(FRAGMENTED, OPTIONS_AT + 8, pack("!III", 1, 0xFFFF_FFFF, 100)),
        changed(FRAGMENTED, OPTIONS_AT + 8, pack("!III", 1, 0, 0xFFFF_FFFF)),
        changed(FRAGMENTED, OPTIONS_AT + 8, pack("!III", 1, 0, 3)),
        changed(FRAGMENTED, OPTIONS_AT + 8, pack("!III", 2, 0, 100)),
    ],
)
def test_a_length_or_an_option_that_cannot_be_is_refused(packet: bytes) -> None:
    """Nothing is cut, added or read beyond the packet."""
    with pytest.raises(Malformed):
        decode(packet)


def receiver() -> tuple[PgmReceiver, SharedLimits]:
    limits = SharedLimits()
    return PgmReceiver(GROUP, PORT, draw=lambda: 0.03, limits=limits), limits


def test_windows_that_jump_hold_no_memory() -> None:
    """Edges far away, backwards and forwards, with data far ahead of what came."""
    there, limits = receiver()
    now = 0.0
    for number in range(3000):
        now += 0.01
        edge = number * 0x1234_5671 % 0x1_0000_0000
        spm = Spm(TSI, PORT, (), number + 1, edge, (edge + 7) % 0x1_0000_0000, FORGER)
        there.receive(spm, FORGER, now)
        ahead = (edge + 9) % 0x1_0000_0000
        there.receive(PgmData(TSI, PORT, (), ahead, edge, bytes(1000)), FORGER, now)
        there.tick(now)
        assert limits.held.size <= HELD_BYTES_MAX
    [session] = there.sessions
    assert len(session._held) <= HELD_PACKETS_MAX
    there.close()
    assert (limits.held.size, limits.sessions) == (0, 0)


def test_a_flood_of_forged_sources_is_bounded() -> None:
    there, limits = receiver()
    for number in range(10_000):
        tsi = Tsi(number.to_bytes(6), 1 + number % 65_535)
        there.receive(Spm(tsi, PORT, (), 1, 1, 0, FORGER), FORGER, number / 1000)
        there.receive(PgmData(tsi, PORT, (), 5, 1, bytes(1000)), FORGER, number / 1000)
    assert limits.sessions <= SESSIONS_PER_ADDRESS_MAX
    assert there.counts["too many sources"] >= 10_000 - SESSIONS_PER_ADDRESS_MAX
    assert limits.held.size <= SESSIONS_PER_ADDRESS_MAX * 1000
