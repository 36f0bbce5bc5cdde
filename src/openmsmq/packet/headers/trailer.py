"""The headers that follow a UserMessage where it is stored or read from afar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Self, TypeVar

from openmsmq.packet.headers.base import BaseFlags, BaseHeader
from openmsmq.wire.fixed import U16, U32, Bits, Bytes16, Fixed, Named, Utf16, fixed
from openmsmq.wire.reader import Reader, decode_whole
from openmsmq.wire.text import decode_utf16, encode_utf16z, padding

SUBQUEUE_NAME_SIZE: Final = 64
_SIZE: Final = BaseHeader.offset_of("PacketSize")
_FLAGS: Final = BaseHeader.offset_of("Flags")


class ExtensionFlags(Bits):
    """ExtensionHeader.Flags ([MS-MQRR] 2.2.5.2)."""

    DL = 0x01  # a DeadLetterHeader follows
    SQ = 0x02  # a SubqueueHeader follows; always set
    X2 = 0x04
    DI = 0x08  # the dead-letter queue named is invalid
    EA = 0x10  # an ExtendedAddressHeader follows; always set
    X5_X7 = 0xE0


@fixed
class ExtensionHeader(Fixed):
    """ExtensionHeader ([MS-MQRR] 2.2.5.2)."""

    header_size: U32 = 12
    remaining_headers_size: U32 = 0
    flags: Annotated[int, "B", ExtensionFlags] = ExtensionFlags.SQ | ExtensionFlags.EA
    reserved: Annotated[bytes, "3s"] = bytes(3)


class SubqueueBits(Bits):
    """The word after SubqueueHeader.HeaderSize ([MS-MQRR] 2.2.5.3; AMB-14)."""

    TM = 0x00000001
    AcknowledgementClass = 0x0001FFFE
    Reserved = 0xFFFE0000


@fixed
class SubqueueHeader(Fixed):
    """SubqueueHeader ([MS-MQRR] 2.2.5.3); without meaning when SubqueueName is empty.

    LastMoveTime counts seconds since 1970, as no other unit fits 32 bits (AMB-15).
    """

    header_size: U32 = 148
    flags: Annotated[int, "I", SubqueueBits] = 0
    abort_counter: U32 = 0
    move_counter: U32 = 0
    last_move_time: U32 = 0
    subqueue_name_utf16: Annotated[bytes, "64s", Utf16(), Named("SubqueueName")] = bytes(
        SUBQUEUE_NAME_SIZE
    )
    target_subqueue_name_utf16: Annotated[bytes, "64s", Utf16(), Named("TargetSubqueueName")] = (
        bytes(SUBQUEUE_NAME_SIZE)
    )

    @property
    def acknowledgement_class(self) -> int:
        """The message class of the acknowledgement that was sent."""
        return (self.flags & SubqueueBits.AcknowledgementClass) >> 1

    @property
    def subqueue_name(self) -> str:
        """The subqueue that holds the message; empty for none."""
        return decode_utf16(self.subqueue_name_utf16)

    @property
    def target_subqueue_name(self) -> str:
        """Where a move that is not yet committed will take the message."""
        return decode_utf16(self.target_subqueue_name_utf16)


@fixed
class ExtendedAddressHeader(Fixed):
    """ExtendedAddressHeader: where the message came from ([MS-MQRR] 2.2.5.5)."""

    header_size: U32 = 28
    address_length: U16 = 0
    address_type: U16 = 0
    address_scope: U32 = 0
    address: Bytes16 = bytes(16)


assert (ExtensionHeader.SIZE, SubqueueHeader.SIZE, ExtendedAddressHeader.SIZE) == (12, 148, 28)


SizedT = TypeVar("SizedT", ExtensionHeader, SubqueueHeader, ExtendedAddressHeader)


@dataclass(frozen=True, slots=True)
class DeadLetterHeader:
    """DeadLetterHeader: the application's own dead-letter queue ([MS-MQRR] 2.2.5.4)."""

    path_name_utf16: bytes
    padding: bytes | None = None
    "What stood after the name; None for a header that was not received."

    @classmethod
    def make(cls, path_name: str) -> Self:
        """A header naming a queue by its path."""
        name = encode_utf16z(path_name)
        return cls(name, padding(len(name)))

    @property
    def path_name(self) -> str:
        """The queue's path name."""
        return decode_utf16(self.path_name_utf16)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read the header; its size counts the padding."""
        origin = reader.offset
        with reader.section("DeadLetterHeader"):
            size = reader.u32("HeaderSize")
            end = origin + size
            name = reader.utf16z("DeadLetterPathName")
            if not reader.offset <= end <= reader.end:
                reader.fail("HeaderSize", f"is {size}, which does not fit the name", offset=origin)
            return cls(name, reader.take(end - reader.offset, "padding"))

    def encode(self) -> bytes:
        """The bytes of the header."""
        name = self.path_name_utf16
        pad = padding(len(name)) if self.padding is None else self.padding
        return (4 + len(name) + len(pad)).to_bytes(4, "little") + name + pad


@dataclass(frozen=True, slots=True)
class Trailer:
    """What follows the UserMessage in a Message Packet Structure ([MS-MQRR] 2.2.5)."""

    extension: ExtensionHeader
    subqueue: SubqueueHeader | None = None
    dead_letter: DeadLetterHeader | None = None
    extended_address: ExtendedAddressHeader | None = None
    surplus: bytes = b""
    "What RemainingHeadersSize covers beyond the headers known."

    @classmethod
    def make(
        cls,
        subqueue: SubqueueHeader,
        extended_address: ExtendedAddressHeader,
        dead_letter: DeadLetterHeader | None = None,
        *,
        dead_letter_is_valid: bool = True,
    ) -> Self:
        """A trailer whose flags and sizes are those of its headers."""
        flags = ExtensionFlags.SQ | ExtensionFlags.EA
        size = SubqueueHeader.SIZE + ExtendedAddressHeader.SIZE
        if dead_letter is not None:
            flags |= ExtensionFlags.DL | (0 if dead_letter_is_valid else ExtensionFlags.DI)
            size += len(dead_letter.encode())
        extension = ExtensionHeader(remaining_headers_size=size, flags=flags)
        return cls(extension, subqueue, dead_letter, extended_address)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read the trailer, no further than RemainingHeadersSize."""
        origin = reader.offset
        extension = _read_sized(reader, ExtensionHeader)
        flags = extension.flags
        end = reader.offset + extension.remaining_headers_size
        if end > reader.end:
            with reader.section("ExtensionHeader"):
                reader.fail(
                    "RemainingHeadersSize",
                    f"is {extension.remaining_headers_size}, {reader.remaining} bytes are left",
                    offset=origin + ExtensionHeader.offset_of("RemainingHeadersSize"),
                )
        outer, reader.end = reader.end, end
        subqueue = _read_sized(reader, SubqueueHeader) if flags & ExtensionFlags.SQ else None
        dead_letter = DeadLetterHeader.read(reader) if flags & ExtensionFlags.DL else None
        address = _read_sized(reader, ExtendedAddressHeader) if flags & ExtensionFlags.EA else None
        surplus = reader.take(reader.remaining, "Trailer.surplus")
        reader.end = outer
        return cls(extension, subqueue, dead_letter, address, surplus)

    def encode(self) -> bytes:
        """The bytes of the trailer."""
        parts = [self.extension.pack()]
        if self.subqueue is not None:
            parts.append(self.subqueue.pack())
        if self.dead_letter is not None:
            parts.append(self.dead_letter.encode())
        if self.extended_address is not None:
            parts.append(self.extended_address.pack())
        return b"".join((*parts, self.surplus))


def letter_trailer(path_name: str) -> bytes:
    """What follows the packet of a message with a dead-letter queue of its own."""
    return Trailer.make(
        SubqueueHeader(), ExtendedAddressHeader(), DeadLetterHeader.make(path_name)
    ).encode()


def split_stored(data: bytes) -> tuple[bytes, bytes]:
    """A UserMessage as it travels, and what its manager keeps behind it ([MS-MQRR] 2.2.5).

    A SessionHeader, which stands behind it on the wire, belongs to the message.
    """
    size = int.from_bytes(data[_SIZE : _SIZE + 4], "little")
    if len(data) < BaseHeader.SIZE or size >= len(data) or data[_FLAGS] & BaseFlags.SH:
        return data, b""
    return data[:size], data[size:]


def letter_path(data: bytes) -> str:
    """The dead-letter queue that a stored message names, by its path; empty if it names none."""
    trailer = split_stored(data)[1]
    if not trailer:
        return ""
    header = decode_whole(trailer, Trailer.read).dead_letter
    return "" if header is None else header.path_name


def _read_sized(reader: Reader, kind: type[SizedT]) -> SizedT:
    """Read a header of fixed size, whose HeaderSize must say so."""
    origin = reader.offset
    with reader.section(kind.__name__):
        header = reader.fixed(kind)
        if header.header_size != kind.SIZE:
            reader.fail("HeaderSize", f"is {header.header_size}, not {kind.SIZE}", offset=origin)
    return header
