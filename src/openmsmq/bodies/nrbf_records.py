"""The records of a .NET binary serialization stream, without the values in them ([MS-NRBF])."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from openmsmq.bodies.nbf_values import read_counted, read_i32
from openmsmq.bodies.nrbf_primitives import PrimitiveType, read_primitive_type
from openmsmq.limits import RANK_MAX
from openmsmq.wire.reader import Reader

TYPE_KEY: Final = "$type"
LIBRARY_KEY: Final = "$library"
ID_KEY: Final = "$id"


class RecordType(enum.IntEnum):
    """RecordTypeEnumeration ([MS-NRBF] 2.1.2.1)."""

    SERIALIZED_STREAM_HEADER = 0
    CLASS_WITH_ID = 1
    SYSTEM_CLASS_WITH_MEMBERS = 2
    CLASS_WITH_MEMBERS = 3
    SYSTEM_CLASS_WITH_MEMBERS_AND_TYPES = 4
    CLASS_WITH_MEMBERS_AND_TYPES = 5
    BINARY_OBJECT_STRING = 6
    BINARY_ARRAY = 7
    MEMBER_PRIMITIVE_TYPED = 8
    MEMBER_REFERENCE = 9
    OBJECT_NULL = 10
    MESSAGE_END = 11
    BINARY_LIBRARY = 12
    OBJECT_NULL_MULTIPLE_256 = 13
    OBJECT_NULL_MULTIPLE = 14
    ARRAY_SINGLE_PRIMITIVE = 15
    ARRAY_SINGLE_OBJECT = 16
    ARRAY_SINGLE_STRING = 17
    METHOD_CALL = 21
    METHOD_RETURN = 22

    @property
    def spec_name(self) -> str:
        """The name as the specification spells it."""
        return self.name.title().replace("_", "")


class BinaryType(enum.IntEnum):
    """BinaryTypeEnumeration ([MS-NRBF] 2.1.2.2)."""

    PRIMITIVE = 0
    STRING = 1
    OBJECT = 2
    SYSTEM_CLASS = 3
    CLASS = 4
    OBJECT_ARRAY = 5
    STRING_ARRAY = 6
    PRIMITIVE_ARRAY = 7


class BinaryArrayType(enum.IntEnum):
    """BinaryArrayTypeEnumeration ([MS-NRBF] 2.4.1.1)."""

    SINGLE = 0
    JAGGED = 1
    RECTANGULAR = 2
    SINGLE_OFFSET = 3
    JAGGED_OFFSET = 4
    RECTANGULAR_OFFSET = 5


class MessageFlags(enum.IntFlag):
    """MessageFlags of a method record ([MS-NRBF] 2.2.1.1)."""

    NO_ARGS = 0x0001
    ARGS_INLINE = 0x0002
    ARGS_IS_ARRAY = 0x0004
    ARGS_IN_ARRAY = 0x0008
    NO_CONTEXT = 0x0010
    CONTEXT_INLINE = 0x0020
    CONTEXT_IN_ARRAY = 0x0040
    METHOD_SIGNATURE_IN_ARRAY = 0x0080
    PROPERTIES_IN_ARRAY = 0x0100
    NO_RETURN_VALUE = 0x0200
    RETURN_VALUE_VOID = 0x0400
    RETURN_VALUE_INLINE = 0x0800
    RETURN_VALUE_IN_ARRAY = 0x1000
    EXCEPTION_IN_ARRAY = 0x2000
    GENERIC_METHOD = 0x8000

    def spec_names(self) -> list[str]:
        """The flags that are set, as the specification spells them."""
        names = MessageFlags.__members__.items()
        return [name.title().replace("_", "") for name, flag in names if flag in self]


@dataclass(frozen=True, slots=True)
class ClassMetadata:
    """What a class record says about every instance of its class ([MS-NRBF] 2.3.1)."""

    name: str
    library: str | None
    "None for a class of the system library."
    member_names: tuple[str, ...]
    member_types: tuple[PrimitiveType | None, ...]
    "Per member the type of its bare value; None where a record follows."
    text_size: int
    "Characters each instance repeats."


@dataclass(frozen=True, slots=True)
class ArrayHeader:
    """The shape of an array and what is in it ([MS-NRBF] 2.4)."""

    object_id: int
    lengths: tuple[int, ...]
    lower_bounds: tuple[int, ...]
    "Empty if all are 0."
    item_type: PrimitiveType | None
    "The type of the bare values; None where records follow."


def read_string(reader: Reader, name: str) -> str:
    """LengthPrefixedString ([MS-NRBF] 2.1.1.6); broken characters are replaced, as .NET does."""
    return read_counted(reader, name).decode("utf-8", "replace")


def read_length(reader: Reader, name: str) -> int:
    """An INT32 that counts something."""
    start = reader.offset
    length = read_i32(reader, name)
    if length < 0:
        reader.fail(name, f"{length} is no length", offset=start)
    return length


def read_class(
    reader: Reader, record: RecordType, libraries: dict[int, str]
) -> tuple[int, ClassMetadata]:
    """ObjectId and metadata of the four class records that have metadata ([MS-NRBF] 2.3.2)."""
    object_id = read_i32(reader, "ObjectId")
    name = read_string(reader, "Name")
    names = _read_member_names(reader)
    types: tuple[PrimitiveType | None, ...] = (None,) * len(names)
    if record in (
        RecordType.CLASS_WITH_MEMBERS_AND_TYPES,
        RecordType.SYSTEM_CLASS_WITH_MEMBERS_AND_TYPES,
    ):
        types = _read_member_types(reader, len(names))
    library = None
    if record in (RecordType.CLASS_WITH_MEMBERS_AND_TYPES, RecordType.CLASS_WITH_MEMBERS):
        start = reader.offset
        library = libraries.get(read_i32(reader, "LibraryId"))
        if library is None:
            reader.fail("LibraryId", "no such library before", offset=start)
    text_size = len(name) + len(library or "") + sum(map(len, names))
    return object_id, ClassMetadata(name, library, names, types, text_size)


def _read_member_names(reader: Reader) -> tuple[str, ...]:
    """MemberCount and MemberNames ([MS-NRBF] 2.3.1.1)."""
    start = reader.offset
    count = read_length(reader, "MemberCount")
    if count > reader.remaining:
        reader.fail("MemberCount", f"{count} names do not fit", offset=start)
    names = tuple(read_string(reader, "MemberNames") for _ in range(count))
    if len({*names, TYPE_KEY, LIBRARY_KEY, ID_KEY}) < count + 3:
        reader.fail("MemberNames", "a name that is used twice", offset=start)
    return names


def _read_member_types(reader: Reader, count: int) -> tuple[PrimitiveType | None, ...]:
    """MemberTypeInfo ([MS-NRBF] 2.3.1.2)."""
    kinds = [_read_binary_type(reader, "BinaryTypeEnums") for _ in range(count)]
    return tuple(_read_additional_info(reader, kind) for kind in kinds)


def _read_binary_type(reader: Reader, name: str) -> BinaryType:
    start = reader.offset
    code = reader.u8(name)
    if code > max(BinaryType):
        reader.fail(name, f"no binary type {code}", offset=start)
    return BinaryType(code)


def _read_additional_info(reader: Reader, kind: BinaryType) -> PrimitiveType | None:
    """AdditionalInfos of one member or of the items ([MS-NRBF] 2.3.1.2, 2.4.3.1)."""
    if kind is BinaryType.PRIMITIVE:
        return read_primitive_type(reader)
    if kind is BinaryType.PRIMITIVE_ARRAY:
        read_primitive_type(reader)
    elif kind is BinaryType.SYSTEM_CLASS:
        read_string(reader, "ClassName")
    elif kind is BinaryType.CLASS:
        read_string(reader, "TypeName")
        read_i32(reader, "LibraryId")
    return None


def read_array(reader: Reader, record: RecordType) -> ArrayHeader:
    """The head of any array record ([MS-NRBF] 2.4.3)."""
    object_id = read_i32(reader, "ObjectId")
    if record is RecordType.BINARY_ARRAY:
        return _read_binary_array(reader, object_id)
    length = read_length(reader, "Length")
    item_type = None
    if record is RecordType.ARRAY_SINGLE_PRIMITIVE:
        item_type = read_primitive_type(reader)
    return ArrayHeader(object_id, (length,), (), item_type)


def _read_binary_array(reader: Reader, object_id: int) -> ArrayHeader:
    """BinaryArray after its ObjectId ([MS-NRBF] 2.4.3.1)."""
    start = reader.offset
    kind = reader.u8("BinaryArrayTypeEnum")
    if kind > max(BinaryArrayType):
        reader.fail("BinaryArrayTypeEnum", f"no kind of array {kind}", offset=start)
    start = reader.offset
    rank = read_i32(reader, "Rank")
    if not 1 <= rank <= RANK_MAX:
        reader.fail("Rank", f"no array has {rank} dimensions", offset=start)
    lengths = tuple(read_length(reader, "Lengths") for _ in range(rank))
    lower_bounds: tuple[int, ...] = ()
    if kind >= BinaryArrayType.SINGLE_OFFSET:
        lower_bounds = tuple(read_i32(reader, "LowerBounds") for _ in range(rank))
    item_type = _read_additional_info(reader, _read_binary_type(reader, "TypeEnum"))
    return ArrayHeader(object_id, lengths, lower_bounds if any(lower_bounds) else (), item_type)
