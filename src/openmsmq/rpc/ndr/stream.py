"""Cursors over NDR data: alignment, both byte orders, and pointees that come later.

A pointer inside a structure or an array is a number on the wire; what it points to follows the
outermost construct, depth first (C706 14.3.12.3). Both cursors therefore keep a list of what is
still to be read or written, which `flush` works off.
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import Any, Final, Literal, Protocol
from uuid import UUID

from openmsmq.rpc.limits import DEPTH_MAX
from openmsmq.wire.reader import Reader

Order = Literal["<", ">"]
"The byte order of integers, as `struct` writes it; what is sent from here is little-endian."

FIRST_REFERENT: Final = 0x0002_0000
REFERENT_STEP: Final = 4


Scope = dict[str, Any]
"The fields of the structure that is read or written, by name."


class Readable(Protocol):
    """What can be read later."""

    def read(self, reader: NdrReader, name: str, scope: Scope) -> Any:
        """The value at the reader."""
        ...


class Writable(Protocol):
    """What can be written later."""

    def write(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        """Write a value."""
        ...


@cache
def layout_of(codes: str) -> Struct:
    """The `struct` layout of a format."""
    return Struct(codes)


class NdrReader(Reader):
    """Reads NDR data of either byte order; all that does not fit raises `Malformed`."""

    __slots__ = ("_deferred", "_depth", "full_pointers", "order")

    def __init__(self, data: bytes, order: Order = "<", offset: int = 0) -> None:
        super().__init__(data, offset)
        self.order: Order = order
        self._deferred: list[tuple[Readable, str, Scope]] = []
        self._depth = 0
        self.full_pointers: dict[int, tuple[Readable, str, Scope]] = {}
        "What the full pointers of these data point to, and where that is put, by referent."

    def align_to(self, boundary: int) -> None:
        """Skip the gap before a value; its bytes mean nothing ([MS-RPCE] 3.1.1.5.3.2)."""
        self.need(-self.offset % boundary, "alignment")

    def number(self, code: str, name: str) -> int:
        """An aligned integer, if there are as many bytes ([MS-MQRR] 3.1.4)."""
        layout = layout_of(self.order + code)
        self.align_to(layout.size)
        value: int = layout.unpack_from(self.data, self.need(layout.size, name))[0]
        return value

    def numbers(self, codes: str, name: str) -> tuple[int, ...]:
        """Neighbouring integers of one size."""
        layout = layout_of(self.order + codes)
        self.align_to(layout.size // len(codes))
        return layout.unpack_from(self.data, self.need(layout.size, name))

    def uuid(self, raw: bytes) -> UUID:
        """The UUID of 16 bytes, whose first three parts are in the data's byte order."""
        return UUID(bytes_le=raw) if self.order == "<" else UUID(bytes=raw)

    def defer(self, kind: Readable, name: str, scope: Scope) -> None:
        """Have a pointee read behind the construct that is being read, and put into `scope`."""
        self._deferred.append((kind, name, scope))

    def flush(self) -> None:
        """Read what was deferred; a pointee's own pointees follow it directly."""
        if not self._deferred:
            return
        if self._depth == DEPTH_MAX:
            self.fail("pointer", f"pointers lie more than {DEPTH_MAX} deep in each other")
        self._depth += 1
        deferred, self._deferred = self._deferred, []
        for kind, name, scope in deferred:
            scope[name] = kind.read(self, name, scope)
            if self._deferred:
                self.flush()
        self._depth -= 1


class NdrWriter:
    """Writes NDR data, little-endian; gaps are zeros."""

    __slots__ = ("_deferred", "_referent", "out")

    def __init__(self) -> None:
        self.out = bytearray()
        self._deferred: list[tuple[Writable, Any, Scope]] = []
        self._referent = FIRST_REFERENT

    def align_to(self, boundary: int) -> None:
        """Write the gap before a value (C706 14.2.2)."""
        self.out += bytes(-len(self.out) % boundary)

    def number(self, code: str, value: int) -> None:
        """An aligned integer."""
        layout = layout_of("<" + code)
        self.align_to(layout.size)
        self.out += layout.pack(value)

    def numbers(self, codes: str, *values: int) -> None:
        """Neighbouring integers of one size."""
        layout = layout_of("<" + codes)
        self.align_to(layout.size // len(codes))
        self.out += layout.pack(*values)

    def referent(self) -> int:
        """A number for a pointer that is not NULL, different from all others of these data."""
        self._referent += REFERENT_STEP
        return self._referent - REFERENT_STEP

    def defer(self, kind: Writable, value: Any, scope: Scope) -> None:
        """Have a pointee written behind the construct that is being written."""
        self._deferred.append((kind, value, scope))

    def flush(self) -> None:
        """Write what was deferred; a pointee's own pointees follow it directly."""
        deferred, self._deferred = self._deferred, []
        for kind, value, scope in deferred:
            kind.write(self, value, scope)
            if self._deferred:
                self.flush()
