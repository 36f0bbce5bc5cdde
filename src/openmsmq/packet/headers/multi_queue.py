"""MultiQueueFormatHeader: all the queues a message was sent to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final, Self

from openmsmq import limits
from openmsmq.errors import Malformed
from openmsmq.names.base import FormatName
from openmsmq.names.mqf import PUBLIC_ALIGNMENT, MQFFormatNameElement
from openmsmq.wire.fixed import U16, U32, Fixed, Named, extended, fixed
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import padding

DESTINATION_ID: Final = 0x0064
ADMIN_ID: Final = 0x00C8
RESPONSE_ID: Final = 0x012C
SIGNATURE_ID: Final = 0x015E


@fixed
class MQFAddressStart(Fixed):
    """The fixed part of an MQFAddressHeader ([MS-MQMQ] 2.2.20.2)."""

    header_size: U32
    header_id: U16
    reserved: U16
    element_count: U32


assert MQFAddressStart.SIZE == 12


@extended
class MQFAddressHeader(MQFAddressStart):
    """MQFAddressHeader ([MS-MQMQ] 2.2.20.2)."""

    elements: tuple[MQFFormatNameElement, ...] = ()
    slack: bytes = b""
    "What HeaderSize covers beyond the last name."
    padding: bytes = b""
    public_alignment: int = PUBLIC_ALIGNMENT
    "What the GUIDs of public names were aligned to (AMB-9)."

    @classmethod
    def make(cls, header_id: int, elements: tuple[MQFFormatNameElement, ...]) -> Self:
        """A header whose size and count are those of its names."""
        size = cls.SIZE
        for element in elements:
            size += len(element.encode(size))
        return cls(size, header_id, 0, len(elements), elements)

    @classmethod
    def read(cls, reader: Reader, header_id: int) -> Self:
        """Read the header; its list must lie inside HeaderSize."""
        origin = reader.offset
        start = reader.fixed(MQFAddressStart)
        _check_address(reader, start, header_id, origin)
        end = origin + start.header_size
        alignment = _public_alignment(reader, start.element_count, origin, end)
        elements = []
        for index in range(start.element_count):
            with reader.section(f"FormatNameList[{index}]"):
                elements.append(
                    MQFFormatNameElement.read(reader, origin=origin, public_alignment=alignment)
                )
                if reader.offset > end:
                    reader.fail("", "goes past HeaderSize")
        slack = reader.take(end - reader.offset, "slack")
        pad = reader.align(4, origin)
        return cls(
            **start.values(),
            elements=tuple(elements),
            slack=slack,
            padding=pad,
            public_alignment=alignment,
        )

    def encode(self) -> bytes:
        """The bytes of the header, with the padding after it."""
        data = self.pack()
        for element in self.elements:
            data += element.encode(len(data), public_alignment=self.public_alignment)
        data += self.slack
        return data + padding(len(data), self.padding)


def _check_address(reader: Reader, start: MQFAddressStart, header_id: int, origin: int) -> None:
    if start.header_id != header_id:
        reader.fail(
            "HeaderID",
            f"is {start.header_id:#06x}, not {header_id:#06x}",
            offset=origin + start.offset_of("HeaderID"),
        )
    if start.header_size < start.SIZE or origin + start.header_size > reader.end:
        reader.fail(
            "HeaderSize",
            f"is {start.header_size}, outside {start.SIZE} to {reader.end - origin}",
            offset=origin,
        )
    if start.element_count > limits.MULTI_QUEUE_ELEMENTS_MAX:
        reader.fail(
            "ElementCount",
            f"is {start.element_count}, over {limits.MULTI_QUEUE_ELEMENTS_MAX}",
            offset=origin + start.offset_of("ElementCount"),
        )


def _public_alignment(reader: Reader, count: int, origin: int, end: int) -> int:
    """Whether the GUID of a public name starts on 4 bytes, or on 2 as the text may mean (AMB-9)."""
    for alignment in (PUBLIC_ALIGNMENT, 2):
        trial = Reader(reader.data, reader.offset, end)
        try:
            for _ in range(count):
                MQFFormatNameElement.read(trial, origin=origin, public_alignment=alignment)
        except Malformed:
            continue
        return alignment
    return PUBLIC_ALIGNMENT


@fixed
class MQFSignatureStart(Fixed):
    """The fixed part of an MQFSignatureHeader ([MS-MQMQ] 2.2.20.3)."""

    id: U16 = SIGNATURE_ID
    reserved: U16 = 0
    size: Annotated[int, "I", Named("Size")] = 0


@extended
class MQFSignatureHeader(MQFSignatureStart):
    """MQFSignatureHeader ([MS-MQMQ] 2.2.20.3)."""

    signature: bytes = b""

    @classmethod
    def make(cls, signature: bytes) -> Self:
        """A header whose size is that of its signature."""
        return cls(SIGNATURE_ID, 0, len(signature), signature)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read the header."""
        origin = reader.offset
        start = reader.fixed(MQFSignatureStart)
        if start.id != SIGNATURE_ID:
            reader.fail("ID", f"is {start.id:#06x}, not {SIGNATURE_ID:#06x}", offset=origin)
        return cls(**start.values(), signature=reader.take(start.size, "Signature"))

    def encode(self) -> bytes:
        """The bytes of the header."""
        return self.pack() + self.signature


@dataclass(frozen=True, slots=True)
class MultiQueueFormatHeader:
    """MultiQueueFormatHeader ([MS-MQMQ] 2.2.20.1)."""

    destination: MQFAddressHeader
    administration: MQFAddressHeader
    response: MQFAddressHeader
    signature: MQFSignatureHeader

    @classmethod
    def make(
        cls,
        destination: tuple[MQFFormatNameElement, ...],
        administration: tuple[MQFFormatNameElement, ...] = (),
        response: tuple[MQFFormatNameElement, ...] = (),
        signature: bytes = b"",
    ) -> Self:
        """A header of three lists of names."""
        return cls(
            MQFAddressHeader.make(DESTINATION_ID, destination),
            MQFAddressHeader.make(ADMIN_ID, administration),
            MQFAddressHeader.make(RESPONSE_ID, response),
            MQFSignatureHeader.make(signature),
        )

    @classmethod
    def to(cls, destinations: Iterable[FormatName]) -> Self:
        """The header that each copy of a message to several queues carries."""
        return cls.make(tuple(map(MQFFormatNameElement.of, destinations)))

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read the four parts."""
        with reader.section("MultiQueueFormatHeader"):
            with reader.section("Destination"):
                destination = MQFAddressHeader.read(reader, DESTINATION_ID)
            with reader.section("Administration"):
                administration = MQFAddressHeader.read(reader, ADMIN_ID)
            with reader.section("Response"):
                response = MQFAddressHeader.read(reader, RESPONSE_ID)
            with reader.section("Signature"):
                signature = MQFSignatureHeader.read(reader)
        return cls(destination, administration, response, signature)

    def encode(self) -> bytes:
        """The bytes of the header."""
        parts = (self.destination, self.administration, self.response, self.signature)
        return b"".join(part.encode() for part in parts)
