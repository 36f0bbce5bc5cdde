"""Ping packets."""

from __future__ import annotations

import pytest
from tests.samples import SOURCE, patch, refusal

from openmsmq.packet.ping import PING_SIGNATURE, PingFlags, PingPacket
from openmsmq.wire.reader import Reader

BYTES = b"\x01\0" + b"\x48\x55" + b"\x04\x03\x02\x01" + SOURCE.bytes_le


def test_a_ping_has_24_bytes() -> None:
    """MQQB-129, MQQB-132: flags, signature, cookie and the GUID of the sender."""
    packet = PingPacket(PingFlags.RC, PING_SIGNATURE, 0x01020304, SOURCE)
    assert packet.pack() == BYTES
    assert PingPacket.read(Reader(BYTES)) == packet


def test_flags_say_who_asks_and_what_the_answer_is() -> None:
    """MQQB-131, MQQB-133."""
    assert PingFlags.split(0x0003) == {"RC": 1, "RF": 1, "X": 0}
    assert PingFlags.split(0x0002) == {"RC": 0, "RF": 1, "X": 0}


def test_unused_flags_may_be_anything() -> None:
    """MQQB-134."""
    data = patch(BYTES, 0, b"\xfc\xff")
    packet = PingPacket.read(Reader(data))
    assert not packet.flags & (PingFlags.RC | PingFlags.RF)
    assert packet.pack() == data


@pytest.mark.parametrize("signature", [b"\x55\x48", b"\0\0", b"LI"])
def test_another_signature_is_refused(signature: bytes) -> None:
    """MQQB-130."""
    data = b"--" + patch(BYTES, 2, signature)
    assert refusal(PingPacket.read, data, start=2) == ("Signature", 4)


def test_a_datagram_cut_short_is_refused() -> None:
    """MQQB-129."""
    assert refusal(PingPacket.read, BYTES[:23]) == ("QMGuid", 8)
