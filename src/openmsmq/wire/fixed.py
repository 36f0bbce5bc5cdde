"""Structures of fixed size, declared once by their annotated fields.

A declaration is the specification's table: same fields, same order. The `struct` layout, the
specification's field names and the bit groups of flag words are derived from it when the class is
made, so that decoding, encoding and explaining can never disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from struct import Struct
from typing import (
    Annotated,
    Any,
    ClassVar,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

U8 = Annotated[int, "B"]
U16 = Annotated[int, "H"]
U32 = Annotated[int, "I"]
U64 = Annotated[int, "Q"]
I16 = Annotated[int, "h"]
I32 = Annotated[int, "i"]
I64 = Annotated[int, "q"]
Guid = Annotated[UUID, "16s"]
Bytes16 = Annotated[bytes, "16s"]
Bytes20 = Annotated[bytes, "20s"]

_TYPES = {"B": "u8", "H": "u16", "I": "u32", "Q": "u64", "h": "i16", "i": "i32", "q": "i64"}
_ACRONYMS = {"id": "ID", "qm": "QM", "http": "HTTP"}


@dataclass(frozen=True, slots=True)
class Named:
    """Gives a field the specification's own spelling where the rule of `spec_name` does not."""

    name: str


@dataclass(frozen=True, slots=True)
class Utf16:
    """Marks bytes that hold null-terminated UTF-16 text."""


class Bits:
    """The bit groups of a flag word, as masks: `PR = 0x0007` is three bits from bit 0.

    The masks are plain integers, so testing one on a hot path costs what integers cost.
    """

    GROUPS: ClassVar[tuple[tuple[str, int, int], ...]] = ()
    "Name, shift and width of every group, lowest first; reserved groups included."

    def __init_subclass__(cls) -> None:
        masks = {
            name: mask
            for name, mask in vars(cls).items()
            if isinstance(mask, int) and not name.startswith("_")  # Python's own: __firstlineno__
        }
        cls.GROUPS = tuple(
            (name, (mask & -mask).bit_length() - 1, mask.bit_count())
            for name, mask in sorted(masks.items(), key=lambda item: item[1] & -item[1])
        )

    @classmethod
    def split(cls, word: int) -> dict[str, int]:
        """The value of every group in `word`."""
        return {name: word >> shift & (1 << width) - 1 for name, shift, width in cls.GROUPS}


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """Where one field lies in its structure and how it reads."""

    name: str
    offset: int
    size: int
    kind: str
    bits: type[Bits] | None = None


class Fixed:
    """A little-endian structure of fixed size, declared by its annotated fields."""

    __slots__ = ()
    LAYOUT: ClassVar[Struct]
    SIZE: ClassVar[int]
    FIELDS: ClassVar[tuple[FieldLayout, ...]]
    _names: ClassVar[tuple[str, ...]]
    _decode: ClassVar[tuple[tuple[int, Callable[[Any], Any]], ...]]
    _encode: ClassVar[tuple[tuple[int, Callable[[Any], Any]], ...]]

    @classmethod
    def unpack(cls, data: bytes, offset: int = 0) -> Self:
        """The structure at `offset`; the caller has checked that SIZE bytes are there."""
        if not cls._decode:
            return cls(*cls.LAYOUT.unpack_from(data, offset))
        values = list(cls.LAYOUT.unpack_from(data, offset))
        for index, decode in cls._decode:
            values[index] = decode(values[index])
        return cls(*values)

    @classmethod
    def offset_of(cls, name: str) -> int:
        """Where the field that the specification calls `name` begins."""
        return next(field.offset for field in cls.FIELDS if field.name == name)

    def values(self) -> dict[str, Any]:
        """The declared fields by name, to build a structure that extends this one."""
        return {name: getattr(self, name) for name in self._names}

    def pack(self) -> bytes:
        """The bytes of this structure."""
        values = [getattr(self, name) for name in self._names]
        for index, encode in self._encode:
            values[index] = encode(values[index])
        return self.LAYOUT.pack(*values)


FixedT = TypeVar("FixedT", bound=Fixed)


def spec_name(attribute: str) -> str:
    """`message_id` as the specifications spell it: `MessageID`."""
    return "".join(_ACRONYMS.get(part, part.capitalize()) for part in attribute.split("_"))


def _guid(raw: bytes) -> UUID:
    return UUID(bytes_le=raw)


def _guid_bytes(value: UUID) -> bytes:
    return value.bytes_le


@dataclass_transform(frozen_default=True, kw_only_default=False)
def fixed(cls: type[FixedT]) -> type[FixedT]:
    """Turn annotated fields into a frozen, slotted dataclass with its `struct` layout."""
    made = dataclass(frozen=True, slots=True)(cls)
    hints = get_type_hints(made, include_extras=True)
    codes: list[str] = []
    layout: list[FieldLayout] = []
    decode: list[tuple[int, Callable[[Any], Any]]] = []
    encode: list[tuple[int, Callable[[Any], Any]]] = []
    offset = 0
    for index, field in enumerate(fields(cast(Any, made))):
        kind, *extras = _annotation(hints[field.name])
        name = next((e.name for e in extras if isinstance(e, Named)), spec_name(field.name))
        if issubclass(kind, Fixed):
            code = f"{kind.SIZE}s"
            decode.append((index, kind.unpack))
            encode.append((index, kind.pack))
            for inner in kind.FIELDS:
                path = f"{name}.{inner.name}"
                place = offset + inner.offset
                layout.append(FieldLayout(path, place, inner.size, inner.kind, inner.bits))
        else:
            code = next(e for e in extras if isinstance(e, str))
            bits = next((e for e in extras if isinstance(e, type) and issubclass(e, Bits)), None)
            reads = "guid" if kind is UUID else _TYPES.get(code, "bytes")
            if Utf16() in extras:
                reads = "utf16z"
            layout.append(FieldLayout(name, offset, Struct("<" + code).size, reads, bits))
            if kind is UUID:
                decode.append((index, _guid))
                encode.append((index, _guid_bytes))
        codes.append(code)
        offset += Struct("<" + code).size
    made.LAYOUT = Struct("<" + "".join(codes))
    made.SIZE = made.LAYOUT.size
    made.FIELDS = tuple(layout)
    made._names = tuple(field.name for field in fields(cast(Any, made)))
    made._decode = tuple(decode)
    made._encode = tuple(encode)
    return made


@dataclass_transform(frozen_default=True, kw_only_default=False)
def extended(cls: type[FixedT]) -> type[FixedT]:
    """A structure whose fixed part, its base class, is followed by parts of any size."""
    return dataclass(frozen=True, slots=True)(cls)


def _annotation(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) is Annotated else (hint,)
