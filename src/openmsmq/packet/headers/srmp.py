"""SRMPEnvelopeHeader and CompoundMessageHeader, which a message that came over HTTP carries."""

from __future__ import annotations

from typing import Annotated, Self

from openmsmq.wire.fixed import U16, U32, Fixed, Named, extended, fixed
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import decode_utf16, padding


@fixed
class SRMPEnvelopeStart(Fixed):
    """The fixed part of an SRMPEnvelopeHeader ([MS-MQRR] 2.2.5.1.2.1)."""

    header_id: Annotated[int, "H", Named("HeaderId")] = 0
    reserved: U16 = 0
    data_length: U32 = 0


@extended
class SRMPEnvelopeHeader(SRMPEnvelopeStart):
    """SRMPEnvelopeHeader ([MS-MQRR] 2.2.5.1.2.1).

    HeaderId has no documented value and is not checked. DataLength counts UTF-16 units; it is
    compared with what is left before anything is done with it (CVE-2023-21554).
    """

    data_utf16: bytes = b""
    padding: bytes = b""

    @property
    def envelope(self) -> str:
        """The SOAP envelope."""
        return decode_utf16(self.data_utf16)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read the header."""
        origin = reader.offset
        with reader.section("SRMPEnvelopeHeader"):
            start = reader.fixed(SRMPEnvelopeStart)
            data = reader.utf16(2 * start.data_length, "Data")
            pad = reader.align(4, origin)
        return cls(**start.values(), data_utf16=data, padding=pad)

    def encode(self) -> bytes:
        """The bytes of the header."""
        return self.pack() + self.data_utf16 + padding(len(self.data_utf16), self.padding)


@fixed
class CompoundMessageStart(Fixed):
    """The fixed part of a CompoundMessageHeader ([MS-MQRR] 2.2.5.1.2.2)."""

    header_id: Annotated[int, "H", Named("HeaderId")] = 0
    reserved: U16 = 0
    http_body_size: U32 = 0
    msg_body_size: U32 = 0
    msg_body_offset: U32 = 0


@extended
class CompoundMessageHeader(CompoundMessageStart):
    """CompoundMessageHeader ([MS-MQRR] 2.2.5.1.2.2)."""

    data: bytes = b""
    "The SRMP message as it came by HTTP POST."
    padding: bytes = b""

    @property
    def body(self) -> bytes:
        """The message body inside the data."""
        return self.data[self.msg_body_offset : self.msg_body_offset + self.msg_body_size]

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read the header; the body must lie inside the data."""
        origin = reader.offset
        with reader.section("CompoundMessageHeader"):
            start = reader.fixed(CompoundMessageStart)
            if start.msg_body_offset + start.msg_body_size > start.http_body_size:
                reader.fail(
                    "MsgBodySize",
                    f"body {start.msg_body_offset}+{start.msg_body_size} lies outside the"
                    f" {start.http_body_size} bytes of HTTPBodySize",
                    offset=origin + cls.offset_of("MsgBodySize"),
                )
            data = reader.take(start.http_body_size, "Data")
            pad = reader.align(4, origin)
        return cls(**start.values(), data=data, padding=pad)

    def encode(self) -> bytes:
        """The bytes of the header."""
        return self.pack() + self.data + padding(len(self.data), self.padding)
