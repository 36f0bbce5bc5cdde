"""Reading with a record: every field that was read, where, and what it held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from openmsmq.wire.fixed import Bits, Fixed
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import decode_utf16

FixedT = TypeVar("FixedT", bound=Fixed)


@dataclass(frozen=True, slots=True)
class Field:
    """One field as it stands in the data."""

    path: str
    offset: int
    size: int
    kind: str
    "u8, u16, u32, u64, i16, i32, i64, guid, utf16z or bytes."
    value: int | str
    "An integer, a GUID or text as text, other bytes as hexadecimal digits."
    bits: type[Bits] | None = None
    "The bit groups of a flag word."


class TracingReader(Reader):
    """A `Reader` that lists the fields it has read, also when it then fails."""

    __slots__ = ("fields",)

    def __init__(self, data: bytes, offset: int = 0, end: int | None = None) -> None:
        super().__init__(data, offset, end)
        self.fields: list[Field] = []

    def _note(self, name: str, size: int, kind: str, value: int | str) -> None:
        self.fields.append(Field(self.path(name), self.offset - size, size, kind, value))

    def u8(self, name: str) -> int:
        value = super().u8(name)
        self._note(name, 1, "u8", value)
        return value

    def u16(self, name: str) -> int:
        value = super().u16(name)
        self._note(name, 2, "u16", value)
        return value

    def u32(self, name: str) -> int:
        value = super().u32(name)
        self._note(name, 4, "u32", value)
        return value

    def u64(self, name: str) -> int:
        value = super().u64(name)
        self._note(name, 8, "u64", value)
        return value

    def guid(self, name: str) -> UUID:
        value = super().guid(name)
        self._note(name, 16, "guid", str(value).upper())
        return value

    def take(self, size: int, name: str) -> bytes:
        value = super().take(size, name)
        if size:
            self._note(name, size, "bytes", value.hex())
        return value

    def utf16(self, size: int, name: str) -> bytes:
        value = super().utf16(size, name)
        if size:
            taken = self.fields.pop()
            text = decode_utf16(value)
            self.fields.append(Field(taken.path, taken.offset, size, "utf16z", text))
        return value

    def fixed(self, kind: type[FixedT]) -> FixedT:
        start = self.offset
        for layout in kind.FIELDS:
            if start + layout.offset + layout.size > self.end:
                break
            raw = self.data[start + layout.offset : start + layout.offset + layout.size]
            value = _field_value(layout.kind, raw)
            place = start + layout.offset
            path = self.path(layout.name)
            self.fields.append(Field(path, place, layout.size, layout.kind, value, layout.bits))
        return super().fixed(kind)


def _field_value(kind: str, raw: bytes) -> int | str:
    if kind == "guid":
        return str(UUID(bytes_le=bytes(raw))).upper()
    if kind == "utf16z":
        return decode_utf16(raw)
    if kind == "bytes":
        return bytes(raw).hex()
    return int.from_bytes(raw, "little", signed=kind.startswith("i"))
