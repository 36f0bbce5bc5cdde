"""SoapHeader."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import refusal

from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.wire.reader import Reader

EVEN = pack("<HHI", 0x0320, 0, 2) + b"h\0\0\0" + pack("<HHI", 0x0384, 0, 4) + b"b\0o\0d\0\0\0"
ODD_HEADER = pack("<HHI", 0x0320, 0, 3) + b"h\0i\0\0\0"
ODD_BODY = pack("<HHI", 0x0384, 0, 1) + b"\0\0"


def test_lengths_count_units_with_the_null() -> None:
    """MQQB-087."""
    assert SoapHeader.make("h", "bod").encode() == EVEN
    header = SoapHeader.read(Reader(EVEN))
    assert (header.header, header.body) == ("h", "bod")
    assert header.encode() == EVEN


def test_both_sections_are_written_on_a_boundary_of_4() -> None:
    """MQQB-009, AMB-8."""
    written = SoapHeader.make("hi", "").encode()
    assert written == ODD_HEADER + bytes(2) + ODD_BODY + bytes(2)


@pytest.mark.parametrize(
    ("between", "after"), [(b"\0\0", b"\0\0"), (b"\xaa\xbb", b"\xcc\xdd"), (b"", b"")]
)
def test_the_second_section_is_found_with_or_without_padding(between: bytes, after: bytes) -> None:
    """AMB-8: looked for at the unaligned place first; the bytes come back as they were."""
    data = ODD_HEADER + between + ODD_BODY + after
    reader = Reader(data)
    header = SoapHeader.read(reader)
    assert reader.remaining == 0
    assert (header.header, header.body) == ("hi", "")
    assert header.encode() == data


def test_sections_may_be_empty_without_even_a_null() -> None:
    data = pack("<HHIHHI", 0x0320, 0, 0, 0x0384, 0, 0)
    header = SoapHeader.read(Reader(data))
    assert (header.header, header.body) == ("", "")
    assert header.encode() == data


def test_reserved_fields_are_kept() -> None:
    """MQQB-087."""
    data = pack("<HHIHHI", 0x0320, 0xABCD, 0, 0x0384, 0x1234, 0)
    assert SoapHeader.read(Reader(data)).encode() == data
    unaligned = ODD_HEADER + pack("<HHI", 0x0384, 0x1234, 1) + b"\0\0"
    assert SoapHeader.read(Reader(unaligned)).encode() == unaligned


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        (pack("<HHI", 0x0321, 0, 0), "HeaderSectionID", 2),
        (pack("<HHI", 0x0320, 0, 3) + b"h\0i\0", "Header", 10),
        (pack("<HHI", 0x0320, 0, 0xFFFFFFFF) + bytes(8), "Header", 10),
        (ODD_HEADER + b"\0", "padding", 16),
        (ODD_HEADER + b"\0\0" + pack("<HHI", 0x0385, 0, 0), "BodySectionID", 18),
        (EVEN[:12] + EVEN[12:18], "BodyDataLength", 18),
        (EVEN[:-1], "Body", 22),
        (ODD_HEADER + b"\0\0" + ODD_BODY, "padding", 28),
    ],
)
def test_what_does_not_fit_is_refused(data: bytes, field: str, offset: int) -> None:
    """MQQB-010, MQQB-087."""
    found = refusal(SoapHeader.read, b"--" + data, start=2)
    assert found == (f"SoapHeader.{field}", offset)
