"""Neighbouring fields of fixed size, read and written at once."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import NoReturn

from openmsmq.rpc.ndr.kinds import FixedBytes, HandleKind, Integer, NdrKind, Pointer, Uuid
from openmsmq.rpc.ndr.stream import NdrReader, NdrWriter, Scope

NamedKind = tuple[str, NdrKind]


class FieldRow:
    """Fields of fixed size: integers, UUIDs, bytes, and pointers, whose pointees come later."""

    def __init__(self, fields: Sequence[NamedKind], alignment: int) -> None:
        """`alignment` is that of the first field, or of the structure that it begins."""
        self._fields = fields
        self.alignment = alignment
        codes, size = [], 0
        for _, kind in fields:
            gap, code = -size % kind.alignment, code_of(kind)
            assert code is not None
            codes.append("x" * gap + code)
            size += gap + Struct("<" + code).size
        self._layouts = {order: Struct(order + "".join(codes)) for order in ("<", ">")}
        self._pack = self._layouts["<"].pack
        self.size = size
        self._names = tuple(name for name, _ in fields)
        self._ranges = [
            (at, kind.least, kind.most)
            for at, (_, kind) in enumerate(fields)
            if isinstance(kind, Integer) and kind.least is not None and kind.most is not None
        ]
        self._uuids = [
            (at, name)
            for at, (name, kind) in enumerate(fields)
            if isinstance(kind, Uuid | HandleKind)
        ]
        self._pointers = [
            (at, name, kind) for at, (name, kind) in enumerate(fields) if isinstance(kind, Pointer)
        ]

    @property
    def is_plain(self) -> bool:
        """Whether no pointers are among the fields."""
        return not self._pointers

    def read(self, reader: NdrReader, values: Scope) -> None:
        """Put the fields into `values`; pointees follow."""
        start = reader.offset + -reader.offset % self.alignment
        if start + self.size > reader.end:
            self._fail(reader, values)
        found = self._layouts[reader.order].unpack_from(reader.data, start)
        for at, least, most in self._ranges:
            if not least <= found[at] <= most:
                self._fail(reader, values)
        reader.offset = start + self.size
        values.update(zip(self._names, found, strict=True))
        for at, name in self._uuids:
            values[name] = reader.uuid(found[at])
        for at, name, pointer in self._pointers:
            values[name] = pointer.follow(reader, found[at], name, values)

    def _fail(self, reader: NdrReader, values: Scope) -> NoReturn:
        """Name the first field that is wrong."""
        reader.align_to(self.alignment)
        for name, kind in self._fields:
            values[name] = kind.read(reader, name, values)
        raise AssertionError("the fields are right")

    def write(self, writer: NdrWriter, values: Scope) -> None:
        """Write the fields of `values`; pointees follow."""
        found = [values[name] for name in self._names]
        for at, _ in self._uuids:
            found[at] = found[at].bytes_le
        for at, _, pointer in self._pointers:
            found[at] = pointer.lead(writer, found[at], values)
        writer.align_to(self.alignment)
        writer.out += self._pack(*found)


def rows_of(fields: Sequence[NamedKind], alignment: int) -> list[FieldRow | NamedKind]:
    """The fields of a structure of this alignment: in rows, and one by one where they vary."""
    found: list[FieldRow | NamedKind] = []
    row: list[NamedKind] = []
    room = alignment
    "No field of a row is aligned to more than its start is."

    def end() -> None:
        if row:
            found.append(FieldRow(tuple(row), room))
            row.clear()

    for name, kind in fields:
        if code_of(kind) is None:
            end()
            found.append((name, kind))
            room = 0
        else:
            if kind.alignment > room:
                end()
                room = kind.alignment
            row.append((name, kind))
    end()
    return found


def code_of(kind: NdrKind) -> str | None:
    """How `struct` calls a value of fixed size; None if it varies."""
    match kind:
        case Integer():
            return kind.code
        case FixedBytes():
            return f"{kind.size}s"
        case Uuid():
            return "16s"
        case HandleKind():
            return "4x16s"
        case Pointer():
            return "I"
    return None
