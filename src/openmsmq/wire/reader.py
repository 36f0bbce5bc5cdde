"""A cursor over bytes that never reads, slices or allocates past its end."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import NoReturn, TypeVar
from uuid import UUID

from openmsmq.errors import Malformed
from openmsmq.wire.fixed import Fixed

_U16 = Struct("<H")
_U32 = Struct("<I")
_U64 = Struct("<Q")
FixedT = TypeVar("FixedT", bound=Fixed)
T = TypeVar("T")


class Section:
    """The part of a read that belongs to one structure.

    Its name stays in place when reading fails: it is part of what went wrong.
    """

    __slots__ = ("_name", "_open")

    def __init__(self, open_sections: list[str], name: str) -> None:
        self._open = open_sections
        self._name = name

    def __enter__(self) -> None:
        self._open.append(self._name)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._open.pop()


class Reader:
    """Reads named fields in order; a field that does not fit raises `Malformed` and says which.

    Every read names its field, so that an error can say where the data is wrong and
    `TracingReader` can list what was read. Lengths are compared with what is left before they are
    used: a hostile length costs nothing.
    """

    __slots__ = ("_sections", "data", "end", "offset")

    def __init__(self, data: bytes, offset: int = 0, end: int | None = None) -> None:
        self.data = data
        self.offset = offset
        self.end = len(data) if end is None else end
        assert 0 <= offset <= self.end <= len(data), "reader placed outside its data"
        self._sections: list[str] = []

    @property
    def remaining(self) -> int:
        """How many bytes are left."""
        return self.end - self.offset

    def section(self, name: str) -> Section:
        """Fields read inside belong to the structure `name`."""
        return Section(self._sections, name)

    def path(self, name: str) -> str:
        """`name` with the structures it lies in: `UserHeader.DestinationQueue.Count`."""
        return ".".join((*self._sections, name)) if name else ".".join(self._sections)

    def fail(self, name: str, reason: str, *, offset: int | None = None) -> NoReturn:
        """Refuse the data because of field `name`, the next to be read unless `offset` is given."""
        raise Malformed(self.path(name), self.offset if offset is None else offset, reason)

    def need(self, size: int, name: str) -> int:
        """Step over the `size` bytes of field `name`; the offset they begin at."""
        start = self.offset
        stop = start + size
        if stop > self.end or size < 0:
            self.fail(name, f"needs {size} bytes, {self.end - start} are left")
        self.offset = stop
        return start

    def u8(self, name: str) -> int:
        """One byte."""
        return self.data[self.need(1, name)]

    def u16(self, name: str) -> int:
        """A 16-bit unsigned integer."""
        value: int = _U16.unpack_from(self.data, self.need(2, name))[0]
        return value

    def u32(self, name: str) -> int:
        """A 32-bit unsigned integer."""
        value: int = _U32.unpack_from(self.data, self.need(4, name))[0]
        return value

    def u64(self, name: str) -> int:
        """A 64-bit unsigned integer."""
        value: int = _U64.unpack_from(self.data, self.need(8, name))[0]
        return value

    def guid(self, name: str) -> UUID:
        """A GUID, its first three parts little-endian ([MS-MQMQ] 2.2.18.1.1)."""
        start = self.need(16, name)
        return UUID(bytes_le=bytes(self.data[start : start + 16]))

    def take(self, size: int, name: str) -> bytes:
        """`size` bytes."""
        start = self.need(size, name)
        return bytes(self.data[start : start + size])

    def utf16(self, size: int, name: str) -> bytes:
        """`size` bytes of UTF-16 text, as they are; `decode_utf16` makes the text."""
        if size % 2:
            self.fail(name, f"UTF-16 text cannot have {size} bytes")
        return self.take(size, name)

    def utf16z(self, name: str) -> bytes:
        """UTF-16 text up to and with its null, which must come before the end of the data."""
        start = self.offset
        stop = self.data.find(b"\0\0", start, self.end)
        while stop >= 0 and (stop - start) % 2:
            stop = self.data.find(b"\0\0", stop + 1, self.end)
        if stop < 0:
            self.fail(name, "text without its terminating null")
        return self.utf16(stop + 2 - start, name)

    def fixed(self, kind: type[FixedT]) -> FixedT:
        """A whole structure of fixed size."""
        start = self.offset
        if start + kind.SIZE > self.end:
            self._fail_inside(kind)
        self.offset = start + kind.SIZE
        return kind.unpack(self.data, start)

    def align(self, boundary: int, origin: int, name: str = "padding") -> bytes:
        """The bytes up to the next multiple of `boundary` counted from offset `origin`."""
        size = (origin - self.offset) % boundary
        return self.take(size, name) if size else b""

    def _fail_inside(self, kind: type[Fixed]) -> NoReturn:
        """Refuse a structure that is cut short, naming the first field that does not fit."""
        short = next(f for f in kind.FIELDS if self.offset + f.offset + f.size > self.end)
        left = max(0, self.end - self.offset - short.offset)
        self.fail(
            short.name,
            f"needs {short.size} bytes, {left} are left",
            offset=min(self.offset + short.offset, self.end),
        )


def decode_whole(data: bytes, read: Callable[[Reader], T]) -> T:
    """What `read` makes of `data`; bytes left over are refused."""
    reader = Reader(data)
    value = read(reader)
    if reader.remaining:
        reader.fail("end", f"{reader.remaining} bytes too many")
    return value
