"""Fuzzing of multicast: packets, and sessions that are fed with them."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address

from openmsmq.errors import Malformed
from openmsmq.transports.pgm.limits import APDU_RECEIVED_MAX, HELD_PACKETS_MAX
from openmsmq.transports.pgm.packets import ReceiverPacket, Tsi, checksum, decode
from openmsmq.transports.pgm.receiver import PgmReceiver, SharedLimits
from openmsmq.transports.pgm.source import PgmSource

GROUP, PORT = IPv4Address("234.1.1.1"), 8001
HERE = IPv4Address("10.77.0.1")
TSI = Tsi(bytes.fromhex("0a1b2c3d4e5f"), 0xC001)


def pgm_packet(data: bytes) -> None:
    """What decodes encodes to the same bytes, but for a checksum that was left out."""
    try:
        found = decode(data)
    except Malformed:
        return
    again = found.pack()
    assert len(again) <= len(data)
    assert decode(again) == found


def pgm_session(data: bytes) -> None:
    """Packets one after the other, each behind its length and the time that has passed.

    Their checksums are put right, so that what is behind them is reached.
    """
    limits = SharedLimits()
    receiver = PgmReceiver(GROUP, PORT, draw=lambda: 0.03, limits=limits)
    source = PgmSource(TSI, HERE, GROUP, PORT, 0.0)
    source.submit(bytes(2000))
    now, at = 0.0, 0
    while at + 2 < len(data):
        size, wait = data[at], data[at + 1]
        raw = bytearray(data[at + 2 : at + 2 + size])
        at += 2 + size
        now += wait / 100
        if len(raw) >= 16:
            raw[6:8] = b"\0\0"
            raw[6:8] = checksum(raw).to_bytes(2)
        try:
            packet = decode(bytes(raw))
        except Malformed:
            continue
        for message in receiver.receive(packet, HERE, now):
            assert len(message.message.content) <= APDU_RECEIVED_MAX
        if isinstance(packet, ReceiverPacket):
            source.receive(packet, now)
        source.transmit(now)
        receiver.tick(now)
    assert limits.sessions <= limits.sessions_max
    assert limits.held.size <= limits.held.limit
    for session in receiver.sessions:
        assert len(session._missing) <= HELD_PACKETS_MAX
    receiver.close()
    assert (limits.sessions, limits.held.size) == (0, 0)


PGM_TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (pgm_packet, pgm_session)
}
