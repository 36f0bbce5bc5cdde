"""PROPVARIANT in remote calls: every type, both ways."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.interfaces.variants import ARMS, NULL, VariantArgument
from openmsmq.properties.variant import PropVariant, Value
from openmsmq.properties.vartype import VECTOR, VarType

TEXTS = PropVariant(VECTOR | VarType.VT_LPWSTR, ("a", ""))
VALUES: list[tuple[int, Value]] = [
    (VarType.VT_EMPTY, None),
    (VarType.VT_NULL, None),
    (VarType.VT_I1, -1),
    (VarType.VT_I2, -2),
    (VarType.VT_I4, -3),
    (VarType.VT_BOOL, True),
    (VarType.VT_UI1, 255),
    (VarType.VT_UI2, 65535),
    (VarType.VT_UI4, 1 << 31),
    (VarType.VT_I8, -(1 << 62)),
    (VarType.VT_UI8, 1 << 63),
    (VarType.VT_LPWSTR, "text"),
    (VarType.VT_BLOB, b"blob"),
    (VarType.VT_BLOB, b""),
    (VarType.VT_CLSID, UUID(int=7)),
    (VECTOR | VarType.VT_UI1, b"abc"),
    (VECTOR | VarType.VT_UI2, (1, 2)),
    (VECTOR | VarType.VT_I4, (-1, 2)),
    (VECTOR | VarType.VT_UI4, (1, 2)),
    (VECTOR | VarType.VT_UI4, ()),
    (VECTOR | VarType.VT_UI8, (1, 1 << 63)),
    (VECTOR | VarType.VT_CLSID, (UUID(int=1), UUID(int=2))),
    (VECTOR | VarType.VT_LPWSTR, ("a", "b")),
    (VECTOR | VarType.VT_VARIANT, (TEXTS, PropVariant(VarType.VT_UI4, 1))),
]


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_a_value_of_any_type_is_written_and_read(kind: int, value: Value) -> None:
    """MQMR-030, MQMR-031, MQMR-032, MQMR-033"""
    variant = PropVariant(kind, value)
    stub = VariantArgument.of(variant).encode()
    assert VariantArgument.decode(stub).variant() == variant
    assert stub[:2] == stub[8:10] == kind.to_bytes(2, "little")


def test_there_is_an_arm_for_every_type_that_was_tried() -> None:
    assert {kind for kind, _ in VALUES} == ARMS.keys()


def test_the_tag_stands_behind_the_reserved_fields_and_the_arm_at_its_own_place() -> None:
    """MQMR-031, MQMR-033"""
    for kind, value, start in (
        (VarType.VT_UI1, 9, 10),
        (VarType.VT_UI2, 9, 10),
        (VarType.VT_UI4, 9, 12),
        (VarType.VT_UI8, 9, 16),
    ):
        stub = VariantArgument.of(PropVariant(kind, value)).encode()
        assert stub[start] == 9
        assert len(stub) > start >= len(stub) - 8


def test_arms_that_are_aligned_to_8_are_not_guessed() -> None:
    """MQMR-034: there is no second try, by which one stub could mean two things."""
    stub = VariantArgument.of(PropVariant(VarType.VT_UI4, 9)).encode()
    assert VariantArgument.decode(stub).variant().value == 9
    wide = stub[:12] + bytes(4) + stub[12:]
    assert VariantArgument.decode(wide).variant().value == 0


def test_an_empty_vector_may_have_a_pointer() -> None:
    """MQMR-028: but a pointer that is missing goes with no elements only."""
    start = bytes.fromhex("1310 0000 00000000 1310 0000")
    empty = VariantArgument.decode(start + bytes.fromhex("00000000 00000200 00000000"))
    assert empty.variant().value == ()
    with pytest.raises(Malformed):
        VariantArgument.decode(start + bytes.fromhex("03000000 00000000"))


def test_variants_lie_at_most_four_deep() -> None:
    """MQMR-035"""
    inner = VariantArgument.of(PropVariant(VECTOR | VarType.VT_VARIANT, ()))
    value = NULL
    for _ in range(3):
        value = VariantArgument(inner.vartype, 0, 0, 0, type(inner.value)(1, (value,)))
    value.check_depth()
    assert value.variant().depth == 4
    value = VariantArgument(inner.vartype, 0, 0, 0, type(inner.value)(1, (value,)))
    for refuse in (value.check_depth, value.variant):
        with pytest.raises(Malformed):
            refuse()


def test_a_value_that_no_property_can_have_is_malformed() -> None:
    text = VariantArgument.of(PropVariant(VarType.VT_LPWSTR, "ab"))
    object.__setattr__(text, "value", "a\0b")
    with pytest.raises(Malformed):
        text.variant()
