"""NDR structures and the arguments of calls, declared once by their annotated fields.

The annotations of `wire.fixed` stand for integers, UUIDs and bytes (`U32`, `Guid`, `Bytes16`);
everything else names its `NdrKind`: `Annotated[str, WideString(most=256)]`. A field that is itself
a structure is annotated with its class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

from openmsmq.rpc.ndr.kinds import (
    FixedBytes,
    HandleKind,
    Integer,
    NdrKind,
    Pointer,
    Sized,
    Uuid,
)
from openmsmq.rpc.ndr.row import FieldRow, NamedKind, rows_of
from openmsmq.rpc.ndr.stream import NdrReader, NdrWriter, Order, Scope

ContextHandle = Annotated[UUID, HandleKind()]
"A context handle; the nil UUID is NULL."
NULL_HANDLE: Final = UUID(int=0)


@dataclass(frozen=True, slots=True)
class IntegerRange:
    """Bounds of an integer: `Annotated[int, "I", Range(1, 2)]` ([MS-RPCE] 2.2.4.10)."""

    least: int
    most: int


class Structure:
    """A structure, or the arguments or results of a call, declared by its annotated fields."""

    __slots__ = ()
    _kinds: ClassVar[tuple[NamedKind, ...]]
    _rows: ClassVar[list[FieldRow | NamedKind]]
    _plain: ClassVar[FieldRow | None]
    "All fields, if no pointer, array or union is among them."
    ALIGNMENT: ClassVar[int]
    "Its widest member's (C706 14.3.7)."
    _is_whole: ClassVar[bool]
    "Sizes stand behind the arrays that they are of: pointees are read when all fields are."

    @classmethod
    def decode(cls, data: bytes, order: Order = "<") -> Self:
        """The arguments in `data`; what follows them is left alone; `Malformed`."""
        return cls.decode_from(NdrReader(data, order))

    @classmethod
    def decode_from(cls, reader: NdrReader) -> Self:
        """The arguments at the reader, which is then behind them; `Malformed`."""
        values: Scope = {}
        if cls._plain is not None:
            cls._plain.read(reader, values)
            return cls(*values.values())
        if cls._is_whole:
            cls._read_rows(reader, values)
            reader.flush()
        else:
            for name, kind in cls._kinds:
                values[name] = kind.read(reader, name, values)
                reader.flush()
        return cls._made(values)

    @classmethod
    def _read_rows(cls, reader: NdrReader, values: Scope) -> None:
        for row in cls._rows:
            if isinstance(row, FieldRow):
                row.read(reader, values)
            else:
                name, kind = row
                values[name] = kind.read(reader, name, values)

    @classmethod
    def _made(cls, values: Scope) -> Self:
        """The structure, all pointees being there."""
        return cls(*[value() if callable(value) else value for value in values.values()])

    def encode(self) -> bytes:
        """The bytes of these arguments, in the order of the fields.

        ([MS-MQMP] 2.2.3.2, 3.1.4.2, 3.1.4.3)
        """
        writer = NdrWriter()
        if self._is_whole or self._plain is not None:
            self._write_rows(writer)
            writer.flush()
        else:
            values = self._values()
            for name, kind in self._kinds:
                kind.write(writer, values[name], values)
                writer.flush()
        return bytes(writer.out)

    def _write_rows(self, writer: NdrWriter) -> None:
        values = self._values()
        for row in self._rows:
            if isinstance(row, FieldRow):
                row.write(writer, values)
            else:
                name, kind = row
                kind.write(writer, values[name], values)

    def _values(self) -> Scope:
        return {name: getattr(self, name) for name, _ in self._kinds}


StructureT = TypeVar("StructureT", bound=Structure)


@dataclass_transform(frozen_default=True, kw_only_default=False)
def structure(cls: type[StructureT]) -> type[StructureT]:
    """Turn annotated fields into a frozen, slotted dataclass that reads and writes NDR."""
    made = dataclass(frozen=True, slots=True)(cls)
    hints = get_type_hints(made, include_extras=True)
    names = [field.name for field in fields(cast(Any, made))]
    made._kinds = tuple((name, _kind_of(hints[name])) for name in names)
    made.ALIGNMENT = max((kind.widest for _, kind in made._kinds), default=1)
    made._is_whole = any(
        size in names[at:] for at, (_, kind) in enumerate(made._kinds) for size in _sizes_of(kind)
    )
    made._rows = rows_of(made._kinds, made.ALIGNMENT)
    first = made._rows[0] if len(made._rows) == 1 else None
    made._plain = first if isinstance(first, FieldRow) and first.is_plain else None
    return made


def _sizes_of(kind: NdrKind) -> tuple[str | None, ...]:
    """The fields that say how many elements an array has, behind pointers too."""
    while isinstance(kind, Pointer):
        kind = kind.target
    return (kind.size_is, kind.length_is) if isinstance(kind, Sized) else ()


def nested(cls: type[Structure]) -> NdrKind:
    """The kind of a structure, for arrays, pointers and unions of it."""
    return _Plain(cls) if cls._plain else _Composed(cls)


def _kind_of(hint: Any) -> NdrKind:
    base, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    for extra in extras:
        if isinstance(extra, NdrKind):
            return extra
    if isinstance(base, type) and issubclass(base, Structure):
        return nested(base)
    if base is UUID:
        return Uuid()
    code = next(extra for extra in extras if isinstance(extra, str))
    if base is bytes:
        return FixedBytes(int(code.removesuffix("s")))
    bounds = next((extra for extra in extras if isinstance(extra, IntegerRange)), None)
    return Integer(code, bounds.least, bounds.most) if bounds else Integer(code)


class _Plain(NdrKind):
    """A structure of fixed size inside of others."""

    def __init__(self, cls: type[Structure]) -> None:
        self.cls = cls
        self.alignment = self.widest = cls.ALIGNMENT

    def read(self, reader: NdrReader, name: str, scope: Scope) -> Structure:
        with reader.section(name):
            return self.cls.decode_from(reader)

    def write(self, writer: NdrWriter, value: Structure, scope: Scope) -> None:
        value._write_rows(writer)


class _Composed(NdrKind):
    """A structure with pointers or unions inside of others."""

    def __init__(self, cls: type[Structure]) -> None:
        # The count of an array would stand before the structure (C706 14.3.7.2).
        assert not any(isinstance(kind, Sized) for _, kind in cls._kinds), "an array lies inside"
        self.cls = cls
        self.alignment = self.widest = cls.ALIGNMENT

    def read(self, reader: NdrReader, name: str, scope: Scope) -> Callable[[], Structure]:
        reader.align_to(self.alignment)
        values: Scope = {}
        with reader.section(name):
            self.cls._read_rows(reader, values)
        return lambda: self.cls._made(values)

    def write(self, writer: NdrWriter, value: Structure, scope: Scope) -> None:
        writer.align_to(self.alignment)
        value._write_rows(writer)
