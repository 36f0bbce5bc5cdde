"""Streams of .NET objects as neutral trees."""

from __future__ import annotations

import struct
from datetime import date
from typing import Final

import pytest

from openmsmq.bodies import nbf_values
from openmsmq.bodies.nrbf import read_nrbf
from openmsmq.errors import Malformed
from openmsmq.limits import NBF_DEPTH_MAX, NBF_NODES_MAX

# What a writer of such streams would do, in the order of the specification.

PRIMITIVE, STRING, OBJECT, SYSTEM_CLASS, CLASS, OBJECT_ARRAY, STRING_ARRAY = range(7)
PRIMITIVE_ARRAY: Final = 7
NULL: Final = b"\x0a"
END: Final = b"\x0b"

Members = list[tuple[str, int, bytes]]
"Name, BinaryTypeEnum and AdditionalInfos of each member."


def i32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    size, prefix = len(raw), b""
    while size > 0x7F:
        prefix += bytes([size & 0x7F | 0x80])
        size >>= 7
    return prefix + bytes([size]) + raw


def stream(*records: bytes, root: int = 1) -> bytes:
    return b"\x00" + i32(root, -1, 1, 0) + b"".join(records) + END


def library(library_id: int, name: str) -> bytes:
    return b"\x0c" + i32(library_id) + text(name)


def class_info(object_id: int, name: str, names: list[str]) -> bytes:
    return i32(object_id) + text(name) + i32(len(names)) + b"".join(map(text, names))


def typed_class(
    object_id: int, name: str, members: Members, library_id: int | None = None
) -> bytes:
    kinds = bytes(kind for _, kind, _ in members) + b"".join(info for *_, info in members)
    info = class_info(object_id, name, [member for member, *_ in members]) + kinds
    return b"\x04" + info if library_id is None else b"\x05" + info + i32(library_id)


def string(object_id: int, value: str) -> bytes:
    return b"\x06" + i32(object_id) + text(value)


def reference(object_id: int) -> bytes:
    return b"\x09" + i32(object_id)


def objects(object_id: int, *items: bytes) -> bytes:
    return b"\x10" + i32(object_id, len(items)) + b"".join(items)


def primitives(object_id: int, code: int, count: int, data: bytes) -> bytes:
    return b"\x0f" + i32(object_id, count) + bytes([code]) + data


def binary_array(object_id: int, kind: int, lengths: list[int], rest: bytes) -> bytes:
    return b"\x07" + i32(object_id) + bytes([kind]) + i32(len(lengths), *lengths) + rest


def ticks(year_month_day: str) -> int:
    """Ticks at the beginning of a day."""
    return (date.fromisoformat(year_month_day).toordinal() - 1) * 864_000_000_000


GUID: Final = typed_class(
    -11,
    "System.Guid",
    [("_a", PRIMITIVE, b"\x08"), ("_b", PRIMITIVE, b"\x07"), ("_c", PRIMITIVE, b"\x07")]
    + [(f"_{letter}", PRIMITIVE, b"\x02") for letter in "defghijk"],
) + bytes.fromhex("00112233445566778899aabbccddeeff")

SHOP: Final = "Shop, Version=1.0.0.0, Culture=neutral, PublicKeyToken=null"

ORDER: Final = stream(
    library(2, SHOP),
    typed_class(
        1,
        "Shop.Order",
        [
            ("number", STRING, b""),
            ("placed", PRIMITIVE, b"\x0d"),
            ("open", PRIMITIVE, b"\x0c"),
            ("amount", PRIMITIVE, b"\x05"),
            ("paid", PRIMITIVE, b"\x01"),
            ("note", STRING, b""),
            ("customer", CLASS, text("Shop.Customer") + i32(2)),
            ("lines", CLASS, text("Shop.Line[]") + i32(2)),
            ("tags", STRING_ARRAY, b""),
            ("scan", PRIMITIVE_ARRAY, b"\x02"),
            ("id", SYSTEM_CLASS, text("System.Guid")),
        ],
        2,
    ),
    string(3, "A-17"),
    struct.pack("<Q", (ticks("2024-02-29") + 1) | 1 << 62),
    struct.pack("<q", 90 * 600_000_000),
    text("129.90"),
    b"\x01",
    NULL,
    reference(4) + reference(5) + reference(6) + reference(9) + GUID,
    typed_class(
        4,
        "Shop.Customer",
        [("name", STRING, b""), ("payer", CLASS, text("Shop.Customer") + i32(2))],
        2,
    ),
    string(10, "Zoë"),
    reference(4),
    binary_array(5, 0, [4], bytes([CLASS]) + text("Shop.Line") + i32(2)),
    reference(7) + reference(8) + b"\x0d\x02",
    b"\x11" + i32(6, 3) + string(12, "new") + NULL + reference(3),
    typed_class(7, "Shop.Line", [("sku", STRING, b""), ("count", PRIMITIVE, b"\x08")], 2),
    string(13, "bolt") + i32(100),
    b"\x01" + i32(8, 7) + reference(13) + i32(-1),
    primitives(9, 2, 3, b"\x00\x01\xff"),
)


def test_an_order_reads_as_a_person_would_write_it_down() -> None:
    assert read_nrbf(ORDER) == {
        "$type": "Shop.Order",
        "$library": SHOP,
        "number": "A-17",
        "placed": "2024-02-29T00:00:00.0000001Z",
        "open": "PT1H30M",
        "amount": "129.90",
        "paid": True,
        "note": None,
        "customer": {
            "$type": "Shop.Customer",
            "$library": SHOP,
            "$id": 4,
            "name": "Zoë",
            "payer": {"$ref": 4},
        },
        "lines": [
            {"$type": "Shop.Line", "$library": SHOP, "sku": "bolt", "count": 100},
            {"$type": "Shop.Line", "$library": SHOP, "sku": "bolt", "count": -1},
            None,
            None,
        ],
        "tags": ["new", None, "A-17"],
        "scan": b"\x00\x01\xff",
        "id": "33221100-5544-7766-8899-aabbccddeeff",
    }


def test_members_keep_their_order() -> None:
    tree = read_nrbf(ORDER)
    assert isinstance(tree, dict)
    assert list(tree)[:4] == ["$type", "$library", "number", "placed"]


CALL: Final = bytes.fromhex(
    "0001000000ffffffff01000000000000001514000000120b53656e6441646472657373126f444f4a52656d6f74696e"
    "674d657461646174612e4d795365727665722c20444f4a52656d6f74696e674d657461646174612c2056657273696f"
    "6e3d312e302e323632322e33313332362c2043756c747572653d6e65757472616c2c205075626c69634b6579546f6b"
    "656e3d6e756c6c10010000000100000009020000000c0300000051444f4a52656d6f74696e674d657461646174612c"
    "2056657273696f6e3d312e302e323632322e33313332362c2043756c747572653d6e65757472616c2c205075626c69"
    "634b6579546f6b656e3d6e756c6c05020000001b444f4a52656d6f74696e674d657461646174612e41646472657373"
    "04000000065374726565740443697479055374617465035a697001010101030000000604000000114f6e65204d6963"
    "726f736f6674205761790605000000075265646d6f6e64060600000002574106070000000539383035340b"
)
RETURN: Final = bytes.fromhex(
    "000000000000000000010000000000000016110800001210416464726573732072656365697665640b"
)


def test_the_request_of_the_specification_is_a_call_with_an_address() -> None:
    """[MS-NRBF] 3, first message."""
    assembly = "DOJRemotingMetadata, Version=1.0.2622.31326, Culture=neutral, PublicKeyToken=null"
    assert read_nrbf(CALL) == {
        "$type": "BinaryMethodCall",
        "MessageEnum": ["ArgsIsArray", "NoContext"],
        "MethodName": "SendAddress",
        "TypeName": f"DOJRemotingMetadata.MyServer, {assembly}",
        "CallArray": [
            {
                "$type": "DOJRemotingMetadata.Address",
                "$library": assembly,
                "Street": "One Microsoft Way",
                "City": "Redmond",
                "State": "WA",
                "Zip": "98054",
            }
        ],
    }


def test_the_response_of_the_specification_is_a_return_value() -> None:
    """[MS-NRBF] 3, second message."""
    assert read_nrbf(RETURN) == {
        "$type": "BinaryMethodReturn",
        "MessageEnum": ["NoArgs", "NoContext", "ReturnValueInline"],
        "ReturnValue": "Address received",
    }


def test_a_string_is_just_its_text() -> None:
    data = bytes.fromhex("0001000000ffffffff01000000000000000601000000") + text("hello") + END
    assert read_nrbf(data) == "hello"


def test_a_boxed_number_is_just_the_number() -> None:
    boxed = typed_class(1, "System.Int32", [("m_value", PRIMITIVE, b"\x08")]) + i32(-5)
    assert read_nrbf(stream(boxed)) == -5


def test_a_bare_primitive_is_the_root() -> None:
    assert read_nrbf(stream(b"\x08\x0a\xff")) == -1


def test_a_shared_array_stands_once_and_is_referred_to_afterwards() -> None:
    data = stream(objects(1, reference(2), reference(2)), primitives(2, 8, 1, i32(7)))
    assert read_nrbf(data) == [{"$id": 2, "$values": [7]}, {"$ref": 2}]


def test_a_root_inside_itself_is_a_reference() -> None:
    assert read_nrbf(stream(objects(1, reference(1)))) == {"$id": 1, "$values": [{"$ref": 1}]}


def test_an_object_stands_where_it_is_met_first_even_before_its_own_place() -> None:
    inner = objects(2, typed_class(3, "T", []))
    data = stream(objects(1, reference(3), reference(2)), inner)
    assert read_nrbf(data) == [{"$type": "T", "$id": 3}, [{"$ref": 3}]]


def test_an_object_met_once_has_no_id() -> None:
    assert read_nrbf(stream(objects(1, typed_class(2, "T", [])))) == [{"$type": "T"}]


def test_dimensions_become_lists_of_lists() -> None:
    data = binary_array(1, 2, [2, 1, 2], bytes([PRIMITIVE, 2]) + b"\x01\x02\x03\x04")
    assert read_nrbf(stream(data)) == [[[1, 2]], [[3, 4]]]


@pytest.mark.parametrize("lengths", [[0, 3], [3, 0], [2**31 - 1, 0]])
def test_an_empty_dimension_makes_an_empty_list(lengths: list[int]) -> None:
    assert read_nrbf(stream(binary_array(1, 2, lengths, bytes([OBJECT])))) == []


def test_lower_bounds_are_shown_unless_they_are_zero() -> None:
    offset = binary_array(1, 5, [1, 2], i32(1, -1) + bytes([STRING]) + NULL + NULL)
    assert read_nrbf(stream(offset)) == {"$lower_bounds": [1, -1], "$values": [[None, None]]}
    plain = binary_array(1, 3, [1], i32(0) + bytes([OBJECT_ARRAY]) + NULL)
    assert read_nrbf(stream(plain)) == [None]


def test_arrays_of_arrays_are_followed() -> None:
    data = binary_array(1, 1, [2], bytes([PRIMITIVE_ARRAY, 8]) + reference(2) + reference(3))
    data += primitives(2, 8, 2, i32(1, 2)) + primitives(3, 8, 0, b"")
    assert read_nrbf(stream(data)) == [[1, 2], []]


def test_what_follows_the_end_is_ignored() -> None:
    assert read_nrbf(stream(string(1, "x")) + b"\0" * 100) == "x"


def refused(data: bytes) -> str:
    with pytest.raises(Malformed) as caught:
        read_nrbf(data)
    return str(caught.value)


def test_a_reference_to_nothing_is_refused_where_it_stands() -> None:
    assert refused(stream(objects(1, reference(5)))) == "IdRef at offset 27: no such object"


def test_a_root_that_is_not_there_is_refused() -> None:
    assert "no such object" in refused(stream(string(1, "x"), root=2))


def chain(length: int) -> bytes:
    """`length` arrays, each referring to the next."""
    return stream(*(objects(n, reference(n + 1)) for n in range(1, length)), objects(length))


def test_references_may_not_nest_too_deep() -> None:
    assert read_nrbf(chain(NBF_DEPTH_MAX - 1))
    assert "nested deeper" in refused(chain(NBF_DEPTH_MAX + 1))


def nested(depth: int) -> bytes:
    """`depth` objects, each the member of the one before, the last with a null."""
    heads = [typed_class(n, "T", [("m", OBJECT, b"")]) for n in range(1, depth + 1)]
    return stream(*heads, NULL)


def test_objects_may_not_nest_too_deep() -> None:
    assert read_nrbf(nested(NBF_DEPTH_MAX))
    assert "nested deeper" in refused(nested(NBF_DEPTH_MAX + 1))
    assert "nested deeper" in refused(nested(5000))


def test_arrays_may_not_nest_too_deep() -> None:
    deep = b"".join(b"\x10" + i32(n, 1) for n in range(1, NBF_DEPTH_MAX))
    assert read_nrbf(stream(deep, NULL))
    deeper = b"".join(b"\x10" + i32(n, 1) for n in range(1, 5000))
    assert "nested deeper" in refused(stream(deeper, NULL))


def test_dimensions_count_as_depth() -> None:
    wide = [1] * 32
    rows = b"".join(
        binary_array(n, 2, wide, bytes([OBJECT]) + reference(n + 1)) for n in range(1, 5)
    )
    assert "nested deeper" in refused(stream(rows, objects(5)))


def test_a_long_string_cannot_be_repeated_without_end() -> None:
    data = stream(objects(1, string(2, "x" * 100_000), *([reference(2)] * 10_000)))
    assert "far more text" in refused(data)


def test_a_long_class_name_cannot_be_repeated_without_end() -> None:
    data = stream(typed_class(1, "x" * 100_000, []), *(b"\x01" + i32(n, 1) for n in range(2, 9999)))
    assert "far more text" in refused(data)


def test_short_strings_repeat_as_often_as_programs_do_it() -> None:
    data = stream(objects(1, string(2, "pending"), *([reference(2)] * 10_000)))
    assert read_nrbf(data) == ["pending"] * 10_001


@pytest.mark.parametrize("count", [2**31 - 1, 10**6])
def test_announced_nulls_are_not_made(count: int) -> None:
    data = stream(b"\x10" + i32(1, count) + b"\x0e" + i32(count))
    assert "far more text" in refused(data)


def test_a_sparse_array_of_usual_size_is_read() -> None:
    data = stream(b"\x10" + i32(1, 65_536) + b"\x0e" + i32(65_535) + string(2, "last"))
    assert read_nrbf(data) == [None] * 65_535 + ["last"]


def test_the_number_of_objects_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nbf_values, "NBF_NODES_MAX", 100)
    arrays = [b"\x10" + i32(n, 0) for n in range(1, 102)]
    assert read_nrbf(stream(*arrays[:100])) == []
    assert "more than 100 objects" in refused(stream(*arrays))


def test_the_number_of_rows_is_bounded() -> None:
    data = binary_array(1, 2, [NBF_NODES_MAX, 1], bytes([PRIMITIVE, 1]) + b"\1" * NBF_NODES_MAX)
    assert f"more than {NBF_NODES_MAX} objects" in refused(stream(data))
