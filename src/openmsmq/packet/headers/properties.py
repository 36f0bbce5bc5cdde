"""MessagePropertiesHeader: label, extension, body, and what the sender asked for."""

from __future__ import annotations

from typing import Annotated, Final, Self

from openmsmq import limits
from openmsmq.wire.fixed import U8, U16, U32, Bits, Bytes20, Fixed, extended, fixed
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import NULL_UNIT, decode_utf16, encode_utf16z, padding

NO_CORRELATION: Final = bytes(20)


class PropertyFlags(Bits):
    """MessagePropertiesHeader.Flags: acknowledgements asked for ([MS-MQMQ] 2.2.19.3)."""

    PA = 0x01  # positive, on arrival
    PR = 0x02  # positive, on receive
    NA = 0x04  # negative, not delivered
    NR = 0x08  # negative, not received
    X4_X7 = 0xF0


@fixed
class MessagePropertiesStart(Fixed):
    """The fixed part of a MessagePropertiesHeader ([MS-MQMQ] 2.2.19.3)."""

    flags: Annotated[int, "B", PropertyFlags] = 0
    label_length: U8 = 0
    message_class: U16 = 0
    correlation_id: Bytes20 = NO_CORRELATION
    body_type: U32 = 0
    application_tag: U32 = 0
    message_size: U32 = 0
    allocation_body_size: U32 = 0
    privacy_level: U32 = 0
    hash_algorithm: U32 = 0
    encryption_algorithm: U32 = 0
    extension_size: U32 = 0


assert MessagePropertiesStart.SIZE == 56


@extended
class MessagePropertiesHeader(MessagePropertiesStart):
    """MessagePropertiesHeader ([MS-MQMQ] 2.2.19.3)."""

    label_utf16: bytes = b""
    "The label as sent, with its null."
    extension: bytes = b""
    body_field: bytes = b""
    "The bytes the body takes in the packet, which an encrypted body has more of than it says."
    padding: bytes = b""

    @property
    def label(self) -> str:
        """The label as text."""
        return decode_utf16(self.label_utf16)

    @property
    def body(self) -> bytes:
        """The body of a message that is not encrypted."""
        return self.body_field[: self.message_size]

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read the header; a length that does not fit the packet is refused."""
        origin = reader.offset
        with reader.section("MessagePropertiesHeader"):
            start = reader.fixed(MessagePropertiesStart)
            label = _read_label(reader, start.label_length, origin)
            extension = reader.take(start.extension_size, "ExtensionData")
            body = reader.take(_body_field_size(reader, start, origin), "MessageBody")
            pad = reader.align(4, origin)
        return cls(
            **start.values(),
            label_utf16=label,
            extension=extension,
            body_field=body,
            padding=pad,
        )

    def encode(self) -> bytes:
        """The bytes of the header."""
        parts = (self.pack(), self.label_utf16, self.extension, self.body_field)
        return b"".join((*parts, padding(sum(map(len, parts)), self.padding)))


def _read_label(reader: Reader, units: int, origin: int) -> bytes:
    """The label, at most 249 characters and a null (AMB-59: the null is counted)."""
    if units > limits.LABEL_UNITS_MAX:
        reader.fail("LabelLength", f"is {units}, over {limits.LABEL_UNITS_MAX}", offset=origin + 1)
    place = reader.offset
    label = reader.utf16(2 * units, "Label")
    if units and not label.endswith(NULL_UNIT):
        reader.fail("Label", "text without its terminating null", offset=place)
    return label


def _body_field_size(reader: Reader, start: MessagePropertiesStart, origin: int) -> int:
    """How many bytes the body takes: what was allocated, if the packet has them (AMB-7)."""
    if start.allocation_body_size < start.message_size:
        reader.fail(
            "AllocationBodySize",
            f"is {start.allocation_body_size}, less than MessageSize {start.message_size}",
            offset=origin + start.offset_of("AllocationBodySize"),
        )
    if start.allocation_body_size <= reader.remaining:
        return start.allocation_body_size
    return start.message_size


def encode_label(label: str) -> bytes:
    """A label as the header carries it: nothing at all when it is empty."""
    return encode_utf16z(label) if label else b""
