"""Structures and arguments, declared once."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.rpc.ndr.kinds import ByteArray, Pointer
from openmsmq.rpc.ndr.structure import (
    NULL_HANDLE,
    ContextHandle,
    IntegerRange,
    Structure,
    nested,
    structure,
)
from openmsmq.wire.fixed import U8, U16, U32, U64, Bytes16

HANDLE = UUID("3d1c2b4a-5e6f-4708-9a0b-c1d2e3f40516")


@structure
class Arguments(Structure):
    """Fields of fixed size with gaps between them."""

    context: ContextHandle
    lookup_id: U64
    acknowledge: Annotated[int, "I", IntegerRange(1, 2)]
    unit: Bytes16


@structure
class Buffer(Structure):
    """A structure whose pointee's size is one of its fields."""

    kind: U16
    size: U32
    data: Annotated[bytes | None, Pointer(ByteArray(most=100, size_is="size"))]


@structure
class Nested(Structure):
    """Structures of both sorts inside of arguments."""

    first: U8
    fixed: Arguments
    buffer: Buffer
    result: U32


ARGUMENTS = Arguments(HANDLE, 0x123, 2, bytes(range(16)))


def test_arguments_are_aligned_and_a_handle_has_attributes_of_zero() -> None:
    data = ARGUMENTS.encode()
    assert data.hex() == (
        "00000000" + HANDLE.bytes_le.hex() + "00000000"
        "2301000000000000" + "02000000" + bytes(range(16)).hex()
    )
    assert Arguments.decode(data) == ARGUMENTS


def test_the_attributes_of_a_handle_mean_nothing() -> None:
    """MQRR-046"""
    assert Arguments.decode(b"\x09\x08\x07\x06" + ARGUMENTS.encode()[4:]) == ARGUMENTS
    assert Arguments(NULL_HANDLE, 0, 1, bytes(16)).encode()[:20] == bytes(20)


def test_big_endian_arguments_are_read() -> None:
    data = bytes(4) + HANDLE.bytes + bytes(4) + bytes(7) + b"\x05" + b"\0\0\0\x01" + bytes(16)
    assert Arguments.decode(data, ">") == Arguments(HANDLE, 5, 1, bytes(16))


@pytest.mark.parametrize(("value", "reason"), [(0, "less than 1"), (3, "more than 2")])
def test_an_integer_out_of_its_range_is_malformed(value: int, reason: str) -> None:
    data = ARGUMENTS.encode()
    with pytest.raises(Malformed, match=reason):
        Arguments.decode(data[:32] + value.to_bytes(4, "little") + data[36:])


def test_an_error_names_the_first_field_that_does_not_fit() -> None:
    """MQRR-022"""
    with pytest.raises(Malformed, match=r"^acknowledge at offset 32: needs 4 bytes, 1 are left"):
        Arguments.decode(ARGUMENTS.encode()[:33])


def test_structures_lie_in_arguments_and_pointees_follow_each() -> None:
    value = Nested(7, ARGUMENTS, Buffer(1, 3, b"abc"), 9)
    data = value.encode()
    assert data[:8] == b"\x07" + bytes(7)  # the structure is aligned to its widest member
    assert data[60:72].hex() == "01000000" + "03000000" + "00000200"
    assert data[72:80] == b"\x03\0\0\0abc\0"
    assert Nested.decode(data) == value
    assert Nested.decode(data + b"something behind it") == value


@structure
class SizeBehind(Structure):
    """A structure whose pointee's size follows it."""

    data: Annotated[bytes | None, Pointer(ByteArray(most=100, size_is="size"))]
    size: U32


@structure
class Around(Structure):
    """Arguments with such a structure."""

    inside: SizeBehind


def test_a_size_behind_its_array_is_checked_alone_and_inside_of_arguments() -> None:
    stub = Around(SizeBehind(b"abc", 3)).encode()
    assert Around.decode(stub).inside == SizeBehind(b"abc", 3)
    lying = stub[:4] + (4).to_bytes(4, "little") + stub[8:]
    for kind in (Around, SizeBehind):
        with pytest.raises(Malformed, match="max_count 3 is not 4"):
            kind.decode(lying)


def test_our_own_wrong_count_is_an_assertion() -> None:
    with pytest.raises(AssertionError):
        Nested(7, ARGUMENTS, Buffer(1, 4, b"abc"), 9).encode()


def test_an_array_cannot_lie_in_a_structure_without_a_pointer() -> None:
    @structure
    class Wrong(Structure):
        """Its count would stand before the structure."""

        data: Annotated[bytes, ByteArray(most=3)]

    with pytest.raises(AssertionError, match="an array lies inside"):
        nested(Wrong)
