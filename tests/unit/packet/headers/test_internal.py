"""InternalHeader."""

from __future__ import annotations

from openmsmq.packet.headers.internal import InternalFlags, InternalHeader, InternalType


def test_nothing_but_the_packet_type_is_set_by_default() -> None:
    """MQQB-026, MQQB-029: Reserved and X5 to X15 are sent as 0."""
    assert InternalHeader(flags=InternalType.SESSION_ACK).pack() == b"\0\0\x01\0"
    assert InternalHeader().pack() == bytes(4)


def test_type_and_refusal_are_bits_of_the_flags() -> None:
    """MQQB-027, MQQB-028."""
    assert InternalFlags.split(0x0012) == {"PT": 2, "CS": 1, "X5_X15": 0}
    assert [(kind.name, kind.value) for kind in InternalType] == [
        ("SESSION_ACK", 1),
        ("ESTABLISH_CONNECTION", 2),
        ("CONNECTION_PARAMETERS", 3),
    ]


def test_reserved_bits_are_kept_and_tell_nothing() -> None:
    """MQQB-026, MQQB-029: ignored on receipt."""
    header = InternalHeader.unpack(b"\xcd\xab\xe3\xff")
    assert header.flags & InternalFlags.PT == InternalType.CONNECTION_PARAMETERS
    assert not header.flags & InternalFlags.CS
    assert header.pack() == b"\xcd\xab\xe3\xff"
