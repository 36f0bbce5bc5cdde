"""Records of .NET streams, and which of them may stand where."""

from __future__ import annotations

import pytest
from tests.unit.bodies.test_nrbf import (
    END,
    NULL,
    OBJECT,
    PRIMITIVE,
    class_info,
    i32,
    library,
    objects,
    primitives,
    reference,
    stream,
    string,
    text,
    typed_class,
)

from openmsmq.bodies.nrbf import read_nrbf
from openmsmq.errors import Malformed


def refused(data: bytes) -> str:
    with pytest.raises(Malformed) as caught:
        read_nrbf(data)
    return str(caught.value)


def test_a_class_without_types_has_records_as_members() -> None:
    system = b"\x02" + class_info(1, "System.Thing", ["a", "b"]) + b"\x08\x08" + i32(3) + NULL
    assert read_nrbf(stream(system)) == {"$type": "System.Thing", "a": 3, "b": None}
    own = library(9, "Lib") + b"\x03" + class_info(1, "T", ["a"]) + i32(9) + string(2, "x")
    assert read_nrbf(stream(own)) == {"$type": "T", "$library": "Lib", "a": "x"}


def test_a_library_may_stand_before_any_member() -> None:
    inner = library(9, "Lib") + typed_class(2, "T", [], 9)
    assert read_nrbf(stream(objects(1, inner))) == [{"$type": "T", "$library": "Lib"}]


def test_metadata_of_an_object_that_cannot_be_referred_to_serves_the_next() -> None:
    first = typed_class(-2, "P", [("x", PRIMITIVE, b"\x08")]) + i32(1)
    second = b"\x01" + i32(-3, -2) + i32(2)
    assert read_nrbf(stream(objects(1, first, second))) == [
        {"$type": "P", "x": 1},
        {"$type": "P", "x": 2},
    ]


def test_runs_of_nulls_fill_an_array() -> None:
    data = b"\x10" + i32(1, 6) + b"\x0d\x00" + b"\x0d\x02" + string(2, "x") + b"\x0e" + i32(3)
    assert read_nrbf(stream(data)) == [None, None, "x", None, None, None]


def test_a_call_may_hold_its_arguments_and_context() -> None:
    """[MS-NRBF] 2.2.3.1."""
    strings = b"\x12" + text("Add") + b"\x12" + text("Calc") + b"\x12" + text("call-1")
    args = i32(3) + b"\x08" + i32(2) + b"\x11" + b"\x12" + text("x")
    assert read_nrbf(stream(b"\x15" + i32(0x22) + strings + args, root=0)) == {
        "$type": "BinaryMethodCall",
        "MessageEnum": ["ArgsInline", "ContextInline"],
        "MethodName": "Add",
        "TypeName": "Calc",
        "CallContext": "call-1",
        "Args": [2, None, "x"],
    }


def test_a_return_without_value_has_none() -> None:
    assert read_nrbf(stream(b"\x16" + i32(0x411), root=0)) == {
        "$type": "BinaryMethodReturn",
        "MessageEnum": ["NoArgs", "NoContext", "ReturnValueVoid"],
    }


def test_more_arguments_than_bytes_are_refused() -> None:
    call = b"\x15" + i32(2) + b"\x12\x00\x12\x00" + i32(2**31 - 1)
    assert "2147483647 arguments do not fit" in refused(stream(call, root=0))


def test_a_stream_begins_with_its_header() -> None:
    assert "begins with its header" in refused(b"\x06" + bytes(20))
    assert "unknown version (2, 0)" in refused(b"\x00" + i32(1, -1, 2, 0) + END)
    assert (
        refused(b"")
        == "SerializationHeaderRecord.RecordTypeEnum at offset 0: needs 1 bytes, 0 are left"
    )


def test_an_unknown_record_is_refused() -> None:
    assert "no record type 18" in refused(stream(b"\x12"))


@pytest.mark.parametrize("record", [NULL, reference(1), b"\x0d\x01", b"\x00"])
def test_only_objects_stand_outside_of_objects(record: bytes) -> None:
    assert "outside of any object" in refused(stream(record))


def test_there_is_one_method_record_at_most() -> None:
    method = b"\x16" + i32(0x411)
    assert "MethodReturn outside" in refused(stream(method, method, root=0))


def test_a_run_of_nulls_belongs_into_arrays() -> None:
    data = stream(typed_class(1, "T", [("a", OBJECT, b"")]), b"\x0d\x01")
    assert "ObjectNullMultiple256 inside an object" in refused(data)


def test_nulls_must_fit_into_their_array() -> None:
    assert "3 nulls do not fit" in refused(stream(b"\x10" + i32(1, 2) + b"\x0d\x03"))
    assert "2 nulls do not fit" in refused(stream(b"\x10" + i32(1, 2) + NULL + b"\x0d\x02"))
    assert "-1 is no length" in refused(stream(b"\x10" + i32(1, 2) + b"\x0e" + i32(-1)))


def test_an_id_is_used_once() -> None:
    assert "2 is used twice" in refused(stream(objects(1, string(2, "x"), string(2, "y"))))


def test_a_class_without_metadata_is_refused() -> None:
    assert "no such class before" in refused(stream(b"\x01" + i32(1, 5)))


def test_an_array_is_not_longer_than_the_data() -> None:
    assert "are left" in refused(stream(primitives(1, 9, 2**31 - 1, b"")))
