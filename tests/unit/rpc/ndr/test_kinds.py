"""The kinds of NDR values: what they take, and what they refuse."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.rpc.ndr.kinds import (
    ByteArray,
    FullPointer,
    IntegerArray,
    NdrArray,
    NdrKind,
    Pointer,
    Union,
    WideString,
    made,
)
from openmsmq.rpc.ndr.stream import NdrReader, NdrWriter, Order
from openmsmq.rpc.ndr.structure import Structure, nested, structure
from openmsmq.wire.fixed import U8, U16, U32, Guid

TEXT = WideString(most=8)


def read(kind: NdrKind, data: str, scope: dict[str, Any] | None = None, order: Order = "<") -> Any:
    reader = NdrReader(bytes.fromhex(data), order)
    values = dict(scope or {})
    values["x"] = kind.read(reader, "x", values)
    reader.flush()
    return made(values["x"])


def write(kind: NdrKind, value: Any, scope: dict[str, Any] | None = None) -> str:
    writer = NdrWriter()
    kind.write(writer, value, scope or {})
    writer.flush()
    return writer.out.hex()


def test_text_has_its_null_and_three_counts() -> None:
    data = "030000000000000003000000" + "610062000000"
    assert write(TEXT, "ab") == data
    assert read(TEXT, data) == "ab"
    assert read(TEXT, "000000030000000000000003" + "006100620000", order=">") == "ab"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("030000000100000003000000610062000000", "offset 1 is not 0"),
        ("020000000000000003000000610062000000", "actual_count 3 is more than max_count 2"),
        ("0300000000000000030000006100620063", "needs 6 bytes, 5 are left"),
        ("030000000000000003000000610062006300", "without its terminating null"),
        ("030000000000000000000000", "without its terminating null"),
        ("090000000000000001000000", "9 elements are more than 8"),
    ],
)
def test_text_that_does_not_fit_its_counts_is_malformed(data: str, reason: str) -> None:
    """MQRR-022, MQRR-023"""
    with pytest.raises(Malformed, match=reason):
        read(TEXT, data)


def test_the_count_of_an_array_has_to_be_the_one_the_call_states() -> None:
    """MQRR-020"""
    kind = ByteArray(most=10, size_is="n")
    assert read(kind, "020000000102", {"n": 2}) == b"\x01\x02"
    with pytest.raises(Malformed, match="max_count 2 is not 3"):
        read(kind, "020000000102", {"n": 3})


def test_a_count_is_compared_with_its_bound_before_anything_is_read() -> None:
    with pytest.raises(Malformed, match="4294967295 elements are more than 10"):
        read(IntegerArray("Q", most=10), "ffffffff")
    with pytest.raises(Malformed, match="5 elements cannot lie in 2 bytes"):
        read(NdrArray(TEXT, most=10), "050000000000")


def test_a_varying_array_has_an_actual_count_besides() -> None:
    kind = ByteArray(most=10, size_is="n", length_is="m")
    data = "0400000000000000020000000a0b"
    assert write(kind, b"\x0a\x0b", {"n": 4, "m": 2}) == data
    assert read(kind, data, {"n": 4, "m": 2}) == b"\x0a\x0b"
    with pytest.raises(Malformed, match="actual_count 2 is not 1"):
        read(kind, data, {"n": 4, "m": 1})


def test_integers_of_an_array_are_aligned_and_in_either_byte_order() -> None:
    kind = IntegerArray("Q", most=10)
    data = "02000000" + "00000000" + "0100000000000000" + "0200000000000000"
    assert write(kind, (1, 2)) == data
    assert read(kind, data) == (1, 2)
    assert read(kind, "00000001" + "00000000" + "0000000000000003", order=">") == (3,)
    assert read(kind, "00000000") == ()
    assert write(kind, ()) == "00000000"


@structure
class Named(Structure):
    """A structure with a pointer."""

    number: U16
    name: Annotated[str | None, Pointer(TEXT)]


def test_pointees_of_an_array_follow_the_whole_array() -> None:
    kind = NdrArray(nested(Named), most=4)
    value = (Named(1, "a"), Named(2, None), Named(3, "b"))
    data = write(kind, value)
    assert data == (
        "03000000"
        "0100000000000200"
        "0200000000000000"
        "0300000004000200"
        "02000000000000000200000061000000"
        "02000000000000000200000062000000"
    )
    assert read(kind, data) == value


def test_null_with_elements_announced_is_malformed() -> None:
    """MQRR-024"""
    kind = Pointer(ByteArray(most=10, size_is="n"))
    assert read(kind, "00000000", {"n": 0}) is None
    with pytest.raises(Malformed, match="NULL where 3 elements are announced"):
        read(kind, "00000000", {"n": 3})


def test_a_full_pointer_that_repeats_another_has_its_pointee_once() -> None:
    kind = FullPointer(TEXT)
    both = NdrArray(kind, most=2)
    data = "02000000" + "01000000" + "01000000" + "02000000000000000200000061000000"
    assert read(both, data) == ("a", "a")
    assert read(kind, "00000000") is None


def test_a_full_pointer_cannot_repeat_a_pointer_to_something_else() -> None:
    @structure
    class Two(Structure):
        """Two full pointers."""

        text: Annotated[str | None, FullPointer(TEXT)]
        data: Annotated[bytes | None, FullPointer(ByteArray(most=10))]

    with pytest.raises(Malformed, match="repeats a pointer to something else"):
        read(nested(Two), "0100000001000000" + "02000000000000000200000061000000")


ARMS = Union("kind", "B", {0: None, 1: nested(Named), 3: Pointer(TEXT)})


def test_a_union_has_its_tag_and_an_arm_at_its_own_alignment() -> None:
    assert write(ARMS, None, {"kind": 0}) == "00"
    data = "03000000" + "00000200" + "02000000000000000200000061000000"
    assert write(ARMS, "a", {"kind": 3}) == data
    assert read(ARMS, data, {"kind": 3}) == "a"
    assert read(ARMS, "00", {"kind": 0}) is None
    assert ARMS.widest == 4


def test_a_tag_has_to_be_the_selector() -> None:
    """MQRR-021"""
    with pytest.raises(Malformed, match="tag 1 is not kind, which is 3"):
        read(ARMS, "01000000", {"kind": 3})


def test_a_tag_without_an_arm_is_malformed() -> None:
    with pytest.raises(Malformed, match="there is no arm 9"):
        read(ARMS, "09", {"kind": 9})


@structure
class Plain(Structure):
    """Fields of fixed size."""

    flag: U8
    size: U32
    guid: Guid


def test_a_union_of_plain_structures_gives_the_structure() -> None:
    kind = Union("kind", "H", {1: nested(Plain)})
    value = Plain(1, 2, UUID(int=3))
    data = write(kind, value, {"kind": 1})
    assert data == "01000000" + "01000000" + "02000000" + UUID(int=3).bytes_le.hex()
    assert read(kind, data, {"kind": 1}) == value
