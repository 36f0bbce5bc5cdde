"""SRMPEnvelopeHeader and CompoundMessageHeader."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import refusal

from openmsmq.packet.headers.srmp import CompoundMessageHeader, SRMPEnvelopeHeader
from openmsmq.wire.reader import Reader

ENVELOPE = pack("<HHI", 0x1234, 0xABCD, 3) + b"<\0>\0\0\0" + b"\xee\xff"
COMPOUND = pack("<HHIII", 0x1234, 0xABCD, 10, 4, 6) + b"POST\r\nbody" + b"\xee\xff"


def test_an_envelope_counts_units_with_the_null() -> None:
    """MQQB-164: any HeaderId, padded to 4, kept as received."""
    reader = Reader(ENVELOPE)
    header = SRMPEnvelopeHeader.read(reader)
    assert reader.remaining == 0
    assert header.envelope == "<>"
    assert header.encode() == ENVELOPE


def test_a_new_envelope_is_padded_with_zeros() -> None:
    """MQQB-009."""
    header = SRMPEnvelopeHeader(data_length=1, data_utf16=b"\0\0")
    assert header.encode() == pack("<HHI", 0, 0, 1) + bytes(4)


def test_new_headers_hold_nothing() -> None:
    assert SRMPEnvelopeHeader().encode() == bytes(8)
    assert CompoundMessageHeader().encode() == bytes(16)


@pytest.mark.parametrize("length", [4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_an_envelope_longer_than_the_packet_is_refused(length: int) -> None:
    """MQQB-010: the length is compared before it is used, doubling does not wrap."""
    data = b"--" + pack("<HHI", 0, 0, length) + bytes(7)
    found = refusal(SRMPEnvelopeHeader.read, data, start=2)
    assert found == ("SRMPEnvelopeHeader.Data", 10)


def test_missing_padding_is_refused() -> None:
    assert refusal(SRMPEnvelopeHeader.read, ENVELOPE[:-1]) == ("SRMPEnvelopeHeader.padding", 14)
    assert refusal(CompoundMessageHeader.read, COMPOUND[:-1]) == (
        "CompoundMessageHeader.padding",
        26,
    )


def test_a_compound_message_holds_the_body_in_its_data() -> None:
    """MQQB-164: any HeaderId, padded to 4, kept as received."""
    reader = Reader(COMPOUND)
    header = CompoundMessageHeader.read(reader)
    assert reader.remaining == 0
    assert header.body == b"body"
    assert header.encode() == COMPOUND


@pytest.mark.parametrize(("size", "offset"), [(5, 6), (1, 10), (0, 11), (0xFFFFFFFF, 0xFFFFFFFF)])
def test_a_body_outside_the_data_is_refused(size: int, offset: int) -> None:
    """MQQB-010."""
    data = b"--" + pack("<HHIII", 0, 0, 10, size, offset) + bytes(12)
    found = refusal(CompoundMessageHeader.read, data, start=2)
    assert found == ("CompoundMessageHeader.MsgBodySize", 10)


@pytest.mark.parametrize(("size", "offset"), [(0, 0), (10, 0), (0, 10), (4, 6)])
def test_a_body_inside_the_data_is_taken(size: int, offset: int) -> None:
    data = pack("<HHIII", 0, 0, 10, size, offset) + bytes(12)
    assert len(CompoundMessageHeader.read(Reader(data)).body) == size


def test_data_longer_than_the_packet_is_refused() -> None:
    """MQQB-010."""
    data = pack("<HHIII", 0, 0, 0xFFFFFFFF, 4, 6) + bytes(12)
    assert refusal(CompoundMessageHeader.read, data) == ("CompoundMessageHeader.Data", 16)
