"""Elements of BER, as LDAP uses them: definite lengths, one byte of tag (RFC 4511 5.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from openmsmq.errors import Malformed
from openmsmq.wire.reader import Reader

BOOLEAN: Final = 0x01
INTEGER: Final = 0x02
OCTETS: Final = 0x04
ENUMERATED: Final = 0x0A
SEQUENCE: Final = 0x30
SET: Final = 0x31
_LENGTH_BYTES: Final = 4


def element(tag: int, *parts: bytes) -> bytes:
    """An element around its content."""
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def integer(number: int, tag: int = INTEGER) -> bytes:
    """A number, in two's complement."""
    return element(tag, number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True))


def octets(value: bytes | str, tag: int = OCTETS) -> bytes:
    """A string of bytes, or a text in UTF-8."""
    return element(tag, value.encode() if isinstance(value, str) else value)


def boolean(value: bool) -> bytes:
    """True or false."""
    return element(BOOLEAN, b"\xff" if value else b"\0")


def size_of(data: bytes | bytearray) -> int | None:
    """Bytes of the element that begins `data`; None while too little is there; `Malformed`."""
    if len(data) < 2:
        return None
    first = data[1]
    if first < 0x80:
        return 2 + first
    count = first & 0x7F
    if not 1 <= count <= _LENGTH_BYTES:
        raise Malformed("length", 1, f"0x{first:02X} is no length of this size")
    if len(data) < 2 + count:
        return None
    return 2 + count + int.from_bytes(data[2 : 2 + count], "big")


def read_any(reader: Reader) -> tuple[int, Reader]:
    """The tag of the next element, and a reader of its content; `Malformed`."""
    tag = reader.u8("tag")
    size = reader.u8("length")
    if size & 0x80:
        if not 1 <= size & 0x7F <= _LENGTH_BYTES:
            reader.fail("length", f"0x{size:02X} is no length of this size")
        size = int.from_bytes(reader.take(size & 0x7F, "length"), "big")
    start = reader.need(size, "content")
    return tag, Reader(reader.data, start, start + size)


def read(reader: Reader, tag: int) -> Reader:
    """A reader of the content of the next element, which has this tag; `Malformed`."""
    at = reader.offset
    found, content = read_any(reader)
    if found != tag:
        reader.fail("tag", f"0x{found:02X} is not 0x{tag:02X}", offset=at)
    return content


def members(reader: Reader) -> Iterator[tuple[int, Reader]]:
    """All elements that are left."""
    while reader.remaining:
        yield read_any(reader)


def read_octets(reader: Reader, tag: int = OCTETS) -> bytes:
    """The next string of bytes."""
    return rest(read(reader, tag))


def read_text(reader: Reader, tag: int = OCTETS) -> str:
    """The next text; what is no UTF-8 is replaced."""
    return read_octets(reader, tag).decode(errors="replace")


def read_integer(reader: Reader, tag: int = INTEGER) -> int:
    """The next number, of at most 8 bytes."""
    content = read(reader, tag)
    if not 1 <= content.remaining <= 8:
        content.fail("number", f"{content.remaining} bytes")
    return int.from_bytes(rest(content), "big", signed=True)


def rest(reader: Reader) -> bytes:
    """All bytes that are left."""
    return reader.take(reader.remaining, "content")
