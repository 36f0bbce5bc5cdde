"""BaseHeader."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import patch, refusal

from openmsmq.packet.headers.base import SIGNATURE, VERSION, BaseFlags, BaseHeader
from openmsmq.wire.reader import Reader

BYTES = bytes.fromhex("10 00 03 00 4C494F52 10000000 FFFFFFFF")


def test_a_header_starts_every_packet_with_version_and_signature() -> None:
    """MQQB-001, MQQB-012, MQQB-014: the wire shows 10 and LIOR."""
    assert (VERSION, SIGNATURE) == (0x10, 0x524F494C)
    assert BaseHeader(flags=3, packet_size=16).pack() == BYTES


def test_a_new_header_says_nothing_else() -> None:
    """MQQB-017: no flags; as long as the specification's infinity."""
    assert BaseHeader().pack() == pack("<BBHIII", 0x10, 0, 0, 0x524F494C, 0, 0xFFFFFFFF)


def test_every_field_stands_at_its_place() -> None:
    """MQQB-004."""
    data = pack("<BBHIII", 0x10, 0x5A, 0x0173, 0x524F494C, 0x123, 0x456)
    header = BaseHeader.read(Reader(b"--" + data, 2))
    assert header == BaseHeader(0x10, 0x5A, 0x0173, SIGNATURE, 0x123, 0x456)
    assert header.pack() == data


def test_the_flags_hold_priority_and_what_is_in_the_packet() -> None:
    """MQQB-019, MQQB-022, MQQB-023, MQQB-024."""
    assert (BaseFlags.PR, BaseFlags.IN, BaseFlags.SH) == (0x0007, 0x0008, 0x0010)
    assert (BaseFlags.DH, BaseFlags.TR) == (0x0020, 0x0100)
    assert BaseFlags.split(0x013D) == {
        "PR": 5,
        "IN": 1,
        "SH": 1,
        "DH": 1,
        "X9": 0,
        "X8": 0,
        "TR": 1,
        "X6_X0": 0,
    }


@pytest.mark.parametrize("reserved", [0x00, 0x5A, 0xC0, 0xCD, 0xFF])
def test_the_reserved_byte_may_be_anything(reserved: int) -> None:
    """MQQB-016."""
    data = patch(BYTES, 1, bytes([reserved]))
    assert BaseHeader.read(Reader(data)).pack() == data


def test_reserved_flags_are_kept_and_ignored() -> None:
    """MQQB-018: bits 0xFEC0."""
    data = patch(BYTES, 2, b"\xc3\xfe")
    assert BaseHeader.read(Reader(data)).pack() == data


@pytest.mark.parametrize("version", [0x00, 0x0F, 0x11, 0xFF])
def test_another_version_is_refused(version: int) -> None:
    """MQQB-013."""
    data = b"--" + patch(BYTES, 0, bytes([version]))
    assert refusal(BaseHeader.read, data, start=2) == (
        "BaseHeader.VersionNumber",
        2,
    )


@pytest.mark.parametrize("signature", [b"LIOs", b"lIOR", b"ROIL", bytes(4)])
def test_another_signature_is_refused(signature: bytes) -> None:
    """MQQB-015."""
    data = b"--" + patch(BYTES, 4, signature)
    assert refusal(BaseHeader.read, data, start=2) == (
        "BaseHeader.Signature",
        6,
    )


@pytest.mark.parametrize("size", [0, 15, 0x400001, 0xFFFFFFFF])
def test_a_size_that_no_packet_has_is_refused(size: int) -> None:
    """MQQB-008: at least the header itself, at most 0x400000."""
    data = b"--" + patch(BYTES, 8, pack("<I", size))
    assert refusal(BaseHeader.read, data, start=2) == (
        "BaseHeader.PacketSize",
        10,
    )


@pytest.mark.parametrize("size", [16, 0x400000])
def test_the_least_and_the_largest_size_are_taken(size: int) -> None:
    """MQQB-008."""
    assert BaseHeader.read(Reader(patch(BYTES, 8, pack("<I", size)))).packet_size == size


def test_a_header_cut_short_is_refused() -> None:
    """MQQB-010."""
    assert refusal(BaseHeader.read, BYTES[:11]) == ("BaseHeader.PacketSize", 8)
