"""SoapHeader: an application's own SOAP header and body, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from openmsmq.wire.fixed import U16, U32, Fixed, fixed
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import decode_utf16, encode_utf16z, padding

HEADER_SECTION: Final = 0x0320
BODY_SECTION: Final = 0x0384


@fixed
class _HeaderSection(Fixed):
    header_section_id: U16
    reserved: U16
    header_data_length: U32


@fixed
class _BodySection(Fixed):
    body_section_id: U16
    reserved1: U16
    body_data_length: U32


@dataclass(frozen=True, slots=True)
class SoapHeader:
    """SoapHeader ([MS-MQMQ] 2.2.20.7).

    Whether the second section is aligned is not said; it is written on a 4-byte boundary and read
    wherever its identifier stands (AMB-8).
    """

    header_utf16: bytes = b""
    body_utf16: bytes = b""
    reserved: tuple[int, int] = (0, 0)
    paddings: tuple[bytes, bytes] | None = None
    "What stood after the two texts; None for a header that was not received."

    @classmethod
    def make(cls, header: str, body: str) -> Self:
        """A header of two texts."""
        return cls(encode_utf16z(header), encode_utf16z(body))

    @property
    def header(self) -> str:
        """The first text."""
        return decode_utf16(self.header_utf16)

    @property
    def body(self) -> str:
        """The second text."""
        return decode_utf16(self.body_utf16)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read both sections; a length in UTF-16 units that does not fit is refused."""
        origin = reader.offset
        with reader.section("SoapHeader"):
            first = reader.fixed(_HeaderSection)
            if first.header_section_id != HEADER_SECTION:
                reader.fail("HeaderSectionID", "is not 0x0320", offset=origin)
            header = reader.utf16(2 * first.header_data_length, "Header")
            between = b""
            if not reader.data.startswith(BODY_SECTION.to_bytes(2, "little"), reader.offset):
                between = reader.align(4, origin)
            place = reader.offset
            second = reader.fixed(_BodySection)
            if second.body_section_id != BODY_SECTION:
                reader.fail("BodySectionID", "is not 0x0384", offset=place)
            body = reader.utf16(2 * second.body_data_length, "Body")
            after = reader.align(4, origin)
        return cls(header, body, (first.reserved, second.reserved1), (between, after))

    def encode(self) -> bytes:
        """The bytes of the header."""
        header, body = self.header_utf16, self.body_utf16
        first = _HeaderSection(HEADER_SECTION, self.reserved[0], len(header) // 2).pack() + header
        second = _BodySection(BODY_SECTION, self.reserved[1], len(body) // 2).pack() + body
        if self.paddings is None:
            return first + padding(len(first)) + second + padding(len(second))
        return first + self.paddings[0] + second + self.paddings[1]
