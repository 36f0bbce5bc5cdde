"""Arguments and results of the endpoint mapper ([MS-RPCE] 2.2.1.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any, Final
from uuid import UUID

from openmsmq.interfaces.limits import ANNOTATION_MAX, ENTRIES_MAX, TOWER_SIZE_MAX
from openmsmq.rpc.ndr.kinds import FullPointer, NdrArray, NdrKind, Uuid
from openmsmq.rpc.ndr.stream import NdrReader, NdrWriter, Scope
from openmsmq.rpc.ndr.structure import ContextHandle, IntegerRange, Structure, nested, structure
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.wire.fixed import U16, U32, Guid

ENDPOINT_MAPPER: Final = SyntaxId.of("e1af8308-5d1f-11c9-91a4-08002b14a0fa", 3)
PORT: Final = 135
NOT_FOUND: Final = 0x16C9A0D6
"ept_s_not_registered: there is no such interface, or no more of them."


class MapperOpnum(IntEnum):
    """Operations of the endpoint mapper (C706 appendix O)."""

    INSERT = 0
    DELETE = 1
    LOOKUP = 2
    MAP = 3
    LOOKUP_HANDLE_FREE = 4


class TowerBytes(NdrKind):
    """twr_t: a structure with an array at its end, whose count stands before it (C706 14.3.7.2)."""

    alignment = widest = 4

    def read(self, reader: NdrReader, name: str, scope: Scope) -> bytes:
        count = reader.number("I", f"{name}.max_count")
        size = reader.number("I", f"{name}.tower_length")
        if count != size or size > TOWER_SIZE_MAX:
            reader.fail(name, f"a tower cannot have {size} bytes of {count}")
        return reader.take(size, name)

    def write(self, writer: NdrWriter, value: bytes, scope: Scope) -> None:
        writer.number("I", len(value))
        writer.number("I", len(value))
        writer.out += value


class Annotation(NdrKind):
    """`[string] char annotation[64]`: a varying array of fixed maximum (C706 14.3.4)."""

    alignment = widest = 4

    def read(self, reader: NdrReader, name: str, scope: Scope) -> bytes:
        if reader.number("I", f"{name}.offset"):
            reader.fail(name, "the offset is not 0")
        size = reader.number("I", f"{name}.actual_count")
        if size > ANNOTATION_MAX:
            reader.fail(name, f"{size} characters are more than {ANNOTATION_MAX}")
        return reader.take(size, name).rstrip(b"\0")

    def write(self, writer: NdrWriter, value: bytes, scope: Scope) -> None:
        writer.number("I", 0)
        writer.number("I", len(value) + 1)
        writer.out += value + b"\0"


@dataclass(frozen=True, slots=True)
class Listed:
    """Elements of an answer, and how many were asked for at most."""

    capacity: int
    items: tuple[Any, ...]


class ListedArray(NdrKind):
    """An array whose max_count is what was asked for, and whose actual_count is what there is."""

    alignment = 4

    def __init__(self, element: NdrKind) -> None:
        self._array = NdrArray(element, most=ENTRIES_MAX, varying=True, size_is="capacity")
        self.widest = self._array.widest

    def read(self, reader: NdrReader, name: str, scope: Scope) -> Callable[[], Listed]:
        reader.align_to(4)
        start = reader.offset
        capacity = reader.number("I", f"{name}.max_count")
        reader.offset = start
        items = self._array.read(reader, name, {})
        return lambda: Listed(capacity, items())

    def write(self, writer: NdrWriter, value: Listed, scope: Scope) -> None:
        self._array.write(writer, value.items, {"capacity": value.capacity})


@structure
class InterfaceId(Structure):
    """RPC_IF_ID."""

    uuid: Guid
    major: U16
    minor: U16


@structure
class MapEntry(Structure):
    """ept_entry_t: an interface that is registered."""

    object_uuid: Guid
    tower: Annotated[bytes | None, FullPointer(TowerBytes())]
    annotation: Annotated[bytes, Annotation()]


@structure
class LookupArguments(Structure):
    """ept_lookup ([MS-RPCE] 2.2.1.2.4)."""

    inquiry: U32
    object_uuid: Annotated[UUID | None, FullPointer(Uuid())]
    interface: Annotated[InterfaceId | None, FullPointer(nested(InterfaceId))]
    version_option: U32
    handle: ContextHandle
    entries_max: Annotated[int, "I", IntegerRange(0, ENTRIES_MAX)]


@structure
class LookupResults(Structure):
    """What ept_lookup answers."""

    handle: ContextHandle
    count: U32
    entries: Annotated[Listed, ListedArray(nested(MapEntry))]
    status: U32


@structure
class MapArguments(Structure):
    """ept_map ([MS-RPCE] 2.2.1.2.5)."""

    object_uuid: Annotated[UUID | None, FullPointer(Uuid())]
    tower: Annotated[bytes | None, FullPointer(TowerBytes())]
    handle: ContextHandle
    towers_max: Annotated[int, "I", IntegerRange(0, ENTRIES_MAX)]


@structure
class MapResults(Structure):
    """What ept_map answers."""

    handle: ContextHandle
    count: U32
    towers: Annotated[Listed, ListedArray(FullPointer(TowerBytes()))]
    status: U32


@structure
class FreeArguments(Structure):
    """ept_lookup_handle_free."""

    handle: ContextHandle


@structure
class FreeResults(Structure):
    """What ept_lookup_handle_free answers."""

    handle: ContextHandle
    status: U32
