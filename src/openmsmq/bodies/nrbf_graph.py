"""The objects of a .NET binary serialization stream, still referring to each other ([MS-NRBF])."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import Final, TypeAlias

from openmsmq.bodies.body import Tree
from openmsmq.bodies.nbf_values import Budget, read_i32
from openmsmq.bodies.nrbf_primitives import (
    PrimitiveType,
    Scalar,
    read_primitive,
    read_primitive_type,
    read_primitives,
    simple_value,
)
from openmsmq.bodies.nrbf_records import (
    TYPE_KEY,
    ArrayHeader,
    ClassMetadata,
    MessageFlags,
    RecordType,
    read_array,
    read_class,
    read_length,
    read_string,
)
from openmsmq.limits import NBF_DEPTH_MAX
from openmsmq.wire.reader import Reader

_NULL_TEXT = 8
"What one null of a run is charged; a few bytes can announce two thousand million."


@dataclass(frozen=True, slots=True)
class MemberReference:
    """MemberReference ([MS-NRBF] 2.5.3): the object may come before or after."""

    object_id: int
    offset: int


@dataclass(slots=True)
class Instance:
    """An object and the values of its members, in the order of their names."""

    object_id: int
    metadata: ClassMetadata
    values: list[Value]


@dataclass(slots=True)
class Array:
    """An array and its items, the last index running fastest."""

    header: ArrayHeader
    items: list[Value]

    @property
    def object_id(self) -> int:
        """The id references use."""
        return self.header.object_id


Object: TypeAlias = Scalar | Instance | Array
Value: TypeAlias = Object | MemberReference

_CODES = frozenset(RecordType)
_CLASSES: Final = frozenset(
    {
        RecordType.CLASS_WITH_ID,
        RecordType.SYSTEM_CLASS_WITH_MEMBERS,
        RecordType.CLASS_WITH_MEMBERS,
        RecordType.SYSTEM_CLASS_WITH_MEMBERS_AND_TYPES,
        RecordType.CLASS_WITH_MEMBERS_AND_TYPES,
    }
)
_ARRAYS: Final = frozenset(
    {
        RecordType.BINARY_ARRAY,
        RecordType.ARRAY_SINGLE_PRIMITIVE,
        RecordType.ARRAY_SINGLE_OBJECT,
        RecordType.ARRAY_SINGLE_STRING,
    }
)
_METHODS: Final = frozenset({RecordType.METHOD_CALL, RecordType.METHOD_RETURN})
_NULL_RUNS: Final = frozenset(
    {RecordType.OBJECT_NULL_MULTIPLE_256, RecordType.OBJECT_NULL_MULTIPLE}
)


class Graph:
    """Everything in a stream, by id."""

    def __init__(self, reader: Reader, budget: Budget) -> None:
        self.root_id = 0
        self.method: dict[str, Tree] | None = None
        "The method record, if the stream is a call or a return."
        self.objects: dict[int, Object] = {}
        self.encounters: Counter[int] = Counter()
        "How often an object stands or is referred to inside another."
        self._reader = reader
        self._budget = budget
        self._libraries: dict[int, str] = {}
        self._classes: dict[int, ClassMetadata] = {}
        self._read_header()
        while (record := self._read_record_type()) is not RecordType.MESSAGE_END:
            self._read_top(record)

    def _read_header(self) -> None:
        """SerializationHeaderRecord ([MS-NRBF] 2.6.1)."""
        reader = self._reader
        with reader.section("SerializationHeaderRecord"):
            if reader.u8("RecordTypeEnum") != RecordType.SERIALIZED_STREAM_HEADER:
                reader.fail("RecordTypeEnum", "a stream begins with its header", offset=0)
            self.root_id = read_i32(reader, "RootId")
            read_i32(reader, "HeaderId")
            start = reader.offset
            version = read_i32(reader, "MajorVersion"), read_i32(reader, "MinorVersion")
            if version != (1, 0):
                reader.fail("MajorVersion", f"unknown version {version}", offset=start)

    def _read_record_type(self) -> RecordType:
        """The type of the next record that is not a BinaryLibrary ([MS-NRBF] 2.6.2)."""
        reader = self._reader
        while True:
            start = reader.offset
            code = reader.u8("RecordTypeEnum")
            if code not in _CODES:
                reader.fail("RecordTypeEnum", f"no record type {code}", offset=start)
            if code != RecordType.BINARY_LIBRARY:
                return RecordType(code)
            with reader.section("BinaryLibrary"):
                library_id = read_i32(reader, "LibraryId")
                self._libraries[library_id] = read_string(reader, "LibraryName")

    def _read_top(self, record: RecordType) -> None:
        """A record that is not inside another ([MS-NRBF] 2.7)."""
        if record in _METHODS and self.method is None:
            self.method = _read_method(self._reader, record)
        elif record is RecordType.MEMBER_PRIMITIVE_TYPED:
            self._register(self.root_id, self._read_typed())
        elif record in _CLASSES or record in _ARRAYS or record is RecordType.BINARY_OBJECT_STRING:
            self._read_value(record, 0)
        else:
            self._reader.fail("RecordTypeEnum", f"{record.spec_name} outside of any object")

    def _register(self, object_id: int, value: Object) -> None:
        if object_id in self.objects:
            self._reader.fail("ObjectId", f"{object_id} is used twice")
        self.objects[object_id] = value

    def _read_value(self, record: RecordType, depth: int) -> Value:
        """The value of a member or item; `depth` objects are around it ([MS-NRBF] 2.5)."""
        reader = self._reader
        if depth > NBF_DEPTH_MAX:
            reader.fail("RecordTypeEnum", f"nested deeper than {NBF_DEPTH_MAX}")
        if record in _CLASSES:
            return self._read_instance(record, depth)
        if record in _ARRAYS:
            return self._read_array(record, depth)
        match record:
            case RecordType.BINARY_OBJECT_STRING:
                object_id = read_i32(reader, "ObjectId")
                text = read_string(reader, "Value")
                self._register(object_id, text)
                return text
            case RecordType.MEMBER_PRIMITIVE_TYPED:
                return self._read_typed()
            case RecordType.MEMBER_REFERENCE:
                start = reader.offset
                reference = MemberReference(read_i32(reader, "IdRef"), start)
                self.encounters[reference.object_id] += 1
                return reference
            case RecordType.OBJECT_NULL:
                return None
        reader.fail("RecordTypeEnum", f"{record.spec_name} inside an object")

    def _read_typed(self) -> Scalar:
        """MemberPrimitiveTyped ([MS-NRBF] 2.5.1)."""
        return read_primitive(self._reader, read_primitive_type(self._reader))

    def _read_instance(self, record: RecordType, depth: int) -> Value:
        """A class record and its members ([MS-NRBF] 2.3)."""
        reader = self._reader
        with reader.section(record.spec_name):
            if record is RecordType.CLASS_WITH_ID:
                object_id, metadata = self._read_class_with_id()
            else:
                object_id, metadata = read_class(reader, record, self._libraries)
                self._classes[object_id] = metadata
            self._budget.spend("ObjectId", nodes=1, text=metadata.text_size)
            instance = Instance(object_id, metadata, [])
            self._register(object_id, instance)
        for member_type in metadata.member_types:
            if member_type is None:
                instance.values.append(self._read_value(self._read_record_type(), depth + 1))
            else:
                instance.values.append(read_primitive(reader, member_type))
        members = dict(zip(metadata.member_names, instance.values, strict=True))
        simple = simple_value(metadata.name, members)
        if simple is not None:
            self.objects[object_id] = simple
            return simple
        self.encounters[object_id] += depth > 0
        return instance

    def _read_class_with_id(self) -> tuple[int, ClassMetadata]:
        """ClassWithId ([MS-NRBF] 2.3.2.5)."""
        reader = self._reader
        object_id = read_i32(reader, "ObjectId")
        start = reader.offset
        metadata = self._classes.get(read_i32(reader, "MetadataId"))
        if metadata is None:
            reader.fail("MetadataId", "no such class before", offset=start)
        return object_id, metadata

    def _read_array(self, record: RecordType, depth: int) -> Value:
        """An array record and its items ([MS-NRBF] 2.4)."""
        with self._reader.section(record.spec_name):
            header = read_array(self._reader, record)
            array = Array(header, [])
            self._register(header.object_id, array)
        count = prod(header.lengths)
        if header.item_type is None:
            self._read_items(array.items, count, depth)
        else:
            values = read_primitives(self._reader, header.item_type, count)
            if not isinstance(values, list) and len(header.lengths) == 1:
                self.objects[header.object_id] = values
                return values
            array.items.extend(values)
        levels = range(len(header.lengths)) if count else range(1)
        rows = sum(prod(header.lengths[:level]) for level in levels)
        self._budget.spend("Lengths", nodes=rows)
        self.encounters[header.object_id] += depth > 0
        return array

    def _read_items(self, items: list[Value], count: int, depth: int) -> None:
        """Records up to `count`, in which one may stand for many nulls ([MS-NRBF] 2.4)."""
        reader = self._reader
        while len(items) < count:
            record = self._read_record_type()
            if record not in _NULL_RUNS:
                items.append(self._read_value(record, depth + 1))
                continue
            short = record is RecordType.OBJECT_NULL_MULTIPLE_256
            nulls = reader.u8("NullCount") if short else read_length(reader, "NullCount")
            if nulls > count - len(items):
                reader.fail("NullCount", f"{nulls} nulls do not fit into the array")
            self._budget.spend("NullCount", text=nulls * _NULL_TEXT)
            items.extend([None] * nulls)


def _read_method(reader: Reader, record: RecordType) -> dict[str, Tree]:
    """BinaryMethodCall or BinaryMethodReturn ([MS-NRBF] 2.2.3.1, 2.2.3.3)."""
    structure = "Binary" + record.spec_name
    with reader.section(structure):
        flags = MessageFlags(reader.u32("MessageEnum"))
        method: dict[str, Tree] = {TYPE_KEY: structure, "MessageEnum": [*flags.spec_names()]}
        if record is RecordType.METHOD_CALL:
            method["MethodName"] = _read_value_with_code(reader)
            method["TypeName"] = _read_value_with_code(reader)
        elif MessageFlags.RETURN_VALUE_INLINE in flags:
            method["ReturnValue"] = _read_value_with_code(reader)
        if MessageFlags.CONTEXT_INLINE in flags:
            method["CallContext"] = _read_value_with_code(reader)
        if MessageFlags.ARGS_INLINE in flags:
            count = read_length(reader, "Length")
            if count > reader.remaining:
                reader.fail("Length", f"{count} arguments do not fit")
            method["Args"] = [_read_value_with_code(reader) for _ in range(count)]
    return method


def _read_value_with_code(reader: Reader) -> Scalar:
    """ValueWithCode and StringValueWithCode ([MS-NRBF] 2.2.2.1, 2.2.2.2)."""
    kind = read_primitive_type(reader, with_code=True)
    if kind is PrimitiveType.NULL:
        return None
    if kind is PrimitiveType.STRING:
        return read_string(reader, "StringValue")
    return read_primitive(reader, kind)
