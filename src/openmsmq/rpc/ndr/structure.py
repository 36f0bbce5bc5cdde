"""NDR structures and the arguments of calls, declared once by their annotated fields.

The annotations of `wire.fixed` stand for integers, UUIDs and bytes (`U32`, `Guid`, `Bytes16`);
everything else names its `NdrKind`: `Annotated[str, WideString(most=256)]`. A field that is itself
a structure is annotated with its class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from struct import Struct
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
    Deferring,
    FixedBytes,
    HandleKind,
    Integer,
    NdrKind,
    Pointer,
    Scope,
    Sized,
    Uuid,
)
from openmsmq.rpc.ndr.stream import NdrReader, NdrWriter, Order

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
    _kinds: ClassVar[tuple[tuple[str, NdrKind], ...]]
    _plain: ClassVar[Plain | None]
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
        if cls._plain is not None:
            return cls(*cls._plain.read(reader))
        values: dict[str, Any] = {}
        for name, kind in cls._kinds:
            values[name] = kind.read(reader, name, values)
            if not cls._is_whole:
                reader.flush()
        reader.flush()
        return cls(*_resolved(cls._kinds, values))

    def encode(self) -> bytes:
        """The bytes of these arguments, in the order of the fields.

        ([MS-MQMP] 2.2.3.2, 3.1.4.2, 3.1.4.3)
        """
        if self._plain is not None:
            return self._plain.pack(self._values())
        writer = NdrWriter()
        values = self._values()
        for name, kind in self._kinds:
            kind.write(writer, values[name], values)
            if not self._is_whole:
                writer.flush()
        writer.flush()
        return bytes(writer.out)

    def _values(self) -> dict[str, Any]:
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
    made._plain = Plain.of(made._kinds)
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


class Plain:
    """Fields of fixed size that can be read and written at once: no pointers, arrays or unions."""

    def __init__(self, kinds: tuple[tuple[str, NdrKind], ...], codes: str) -> None:
        self.layouts = {order: Struct(order + codes) for order in ("<", ">")}
        self.size = self.layouts["<"].size
        self.kinds = kinds
        self._checked = [
            (at, name, kind)
            for at, (name, kind) in enumerate(kinds)
            if isinstance(kind, Integer) and (kind.least, kind.most) != (None, None)
        ]
        self._uuids = [
            at for at, (_, kind) in enumerate(kinds) if isinstance(kind, Uuid | HandleKind)
        ]

    @classmethod
    def of(cls, kinds: tuple[tuple[str, NdrKind], ...]) -> Plain | None:
        """The fields as one layout, if all of them are of fixed size."""
        codes: list[str] = []
        size = 0
        for _, kind in kinds:
            code = _plain_code(kind)
            if code is None:
                return None
            gap = -size % kind.alignment
            codes.append("x" * gap + code)
            size += gap + Struct("<" + code).size
        return cls(kinds, "".join(codes))

    def read(self, reader: NdrReader) -> list[Any]:
        """The values at the reader."""
        if self.size > reader.remaining:
            self._fail(reader)
        start = reader.offset
        values = list(self.layouts[reader.order].unpack_from(reader.data, start))
        for at, name, kind in self._checked:
            kind.check(reader, name, values[at])
        for at in self._uuids:
            values[at] = reader.uuid(values[at])
        reader.offset = start + self.size
        return values

    def _fail(self, reader: NdrReader) -> None:
        """Name the first field that does not fit."""
        for name, kind in self.kinds:
            kind.read(reader, name, {})
        raise AssertionError("the fields fit")

    def pack(self, values: dict[str, Any]) -> bytes:
        """The bytes of values."""
        packed = list(values.values())
        for at in self._uuids:
            packed[at] = packed[at].bytes_le
        return self.layouts["<"].pack(*packed)


def _plain_code(kind: NdrKind) -> str | None:
    match kind:
        case Integer():
            return kind.code
        case FixedBytes():
            return f"{kind.size}s"
        case Uuid():
            return "16s"
        case HandleKind():
            return "4x16s"
    return None


class _Plain(NdrKind):
    """A structure of fixed size inside of others."""

    def __init__(self, cls: type[Structure]) -> None:
        self.cls = cls
        self.alignment = self.widest = cls.ALIGNMENT

    def read(self, reader: NdrReader, name: str, scope: Scope) -> Structure:
        reader.align_to(self.alignment)
        with reader.section(name):
            assert self.cls._plain is not None
            return self.cls(*self.cls._plain.read(reader))

    def write(self, writer: NdrWriter, value: Structure, scope: Scope) -> None:
        writer.align_to(self.alignment)
        assert self.cls._plain is not None
        writer.out += self.cls._plain.pack(value._values())


class _Composed(Deferring):
    """A structure with pointers or unions inside of others."""

    def __init__(self, cls: type[Structure]) -> None:
        # The count of an array would stand before the structure (C706 14.3.7.2).
        assert not any(isinstance(kind, Sized) for _, kind in cls._kinds), "an array lies inside"
        self.cls = cls
        self.alignment = self.widest = cls.ALIGNMENT

    def read(self, reader: NdrReader, name: str, scope: Scope) -> Callable[[], Structure]:
        reader.align_to(self.alignment)
        values: dict[str, Any] = {}
        cls = self.cls
        with reader.section(name):
            for field, kind in cls._kinds:
                values[field] = kind.read(reader, field, values)
        return lambda: cls(*_resolved(cls._kinds, values))

    def write(self, writer: NdrWriter, value: Structure, scope: Scope) -> None:
        writer.align_to(self.alignment)
        values = value._values()
        for field, kind in self.cls._kinds:
            kind.write(writer, values[field], values)


def _resolved(kinds: tuple[tuple[str, NdrKind], ...], values: dict[str, Any]) -> list[Any]:
    """The final values, all pointees being there."""
    return [values[name]() if kind.defers else values[name] for name, kind in kinds]
