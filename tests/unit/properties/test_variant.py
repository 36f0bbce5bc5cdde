"""Typed property values."""

from __future__ import annotations

from enum import IntEnum
from uuid import UUID

import pytest

from openmsmq.errors import IllegalPropertyValue, IllegalPropertyVt
from openmsmq.limits import VARIANT_DEPTH_MAX
from openmsmq.properties.variant import PropVariant, Value, from_variant_bool, to_variant_bool
from openmsmq.properties.vartype import VECTOR, VarType

GUID = UUID(int=7)
BITS = {
    VarType.VT_I1: (-(2**7), 2**7 - 1),
    VarType.VT_UI1: (0, 2**8 - 1),
    VarType.VT_I2: (-(2**15), 2**15 - 1),
    VarType.VT_UI2: (0, 2**16 - 1),
    VarType.VT_I4: (-(2**31), 2**31 - 1),
    VarType.VT_UI4: (0, 2**32 - 1),
    VarType.VT_I8: (-(2**63), 2**63 - 1),
    VarType.VT_UI8: (0, 2**64 - 1),
}


@pytest.mark.parametrize(
    ("vartype", "value"),
    [
        (VarType.VT_EMPTY, None),
        (VarType.VT_NULL, None),
        (VarType.VT_BOOL, True),
        (VarType.VT_LPWSTR, "orders"),
        (VarType.VT_BLOB, b"\x00\x01"),
        (VarType.VT_CLSID, GUID),
        (VECTOR | VarType.VT_UI1, b"body"),
        (VECTOR | VarType.VT_UI2, (1, 2)),
        (VECTOR | VarType.VT_I4, (-1,)),
        (VECTOR | VarType.VT_UI4, ()),
        (VECTOR | VarType.VT_UI8, (2**63,)),
        (VECTOR | VarType.VT_CLSID, (GUID,)),
        (VECTOR | VarType.VT_LPWSTR, ("a", "")),
        (VECTOR | VarType.VT_VARIANT, (PropVariant(VarType.VT_NULL, None),)),
    ],
)
def test_every_type_takes_its_own_values(vartype: int, value: Value) -> None:
    assert PropVariant(vartype, value).value == value


@pytest.mark.parametrize("vartype", BITS, ids=lambda vartype: vartype.name)
def test_integers_are_held_to_the_range_of_their_type(vartype: VarType) -> None:
    low, high = BITS[vartype]
    assert PropVariant(vartype, low).value == low
    assert PropVariant(vartype, high).value == high
    for outside in (low - 1, high + 1):
        with pytest.raises(IllegalPropertyValue, match=vartype.name):
            PropVariant(vartype, outside)


@pytest.mark.parametrize(
    ("vartype", "value"),
    [
        (VarType.VT_UI1, "1"),
        (VarType.VT_UI1, True),
        (VarType.VT_BOOL, 1),
        (VarType.VT_EMPTY, 0),
        (VarType.VT_LPWSTR, b"text"),
        (VarType.VT_BLOB, "text"),
        (VarType.VT_CLSID, GUID.bytes),
        (VECTOR | VarType.VT_UI1, (1, 2)),
        (VECTOR | VarType.VT_UI2, b"\x01"),
        (VECTOR | VarType.VT_UI2, 1),
        (VECTOR | VarType.VT_UI2, ("1",)),
        (VECTOR | VarType.VT_VARIANT, (1,)),
    ],
)
def test_values_of_another_type_are_refused(vartype: int, value: Value) -> None:
    with pytest.raises(IllegalPropertyVt):
        PropVariant(vartype, value)


@pytest.mark.parametrize(
    "vartype",
    [
        VarType.VT_VARIANT,
        VarType.VT_BSTR,
        VarType.VT_R8,
        0x300,
        VECTOR,
        VECTOR | VarType.VT_BLOB,
        VECTOR | VarType.VT_I2,
        VECTOR | VarType.VT_BOOL,
        VECTOR | 0x300,
    ],
)
def test_types_no_property_can_have_are_refused(vartype: int) -> None:
    """MQQB-363."""
    for value in (None, 0, (), b""):
        with pytest.raises(IllegalPropertyVt):
            PropVariant(vartype, value)


def test_an_element_out_of_range_spoils_the_vector() -> None:
    with pytest.raises(IllegalPropertyValue):
        PropVariant(VECTOR | VarType.VT_UI2, (1, 2**16))


def test_text_ends_at_its_null_so_it_cannot_have_one() -> None:
    with pytest.raises(IllegalPropertyValue):
        PropVariant(VarType.VT_LPWSTR, "a\0b")


def test_enumeration_members_are_integers() -> None:
    kind = IntEnum("kind", {"ONE": 1})
    assert PropVariant(VarType.VT_UI1, kind(1)).value == 1


def test_variants_lie_in_each_other_only_so_deep() -> None:
    nested = PropVariant(VarType.VT_NULL, None)
    for depth in range(2, VARIANT_DEPTH_MAX + 1):
        nested = PropVariant(VECTOR | VarType.VT_VARIANT, (nested,))
        assert nested.depth == depth
    with pytest.raises(IllegalPropertyValue):
        PropVariant(VECTOR | VarType.VT_VARIANT, (nested,))


def test_an_empty_vector_of_variants_is_flat() -> None:
    assert PropVariant(VECTOR | VarType.VT_VARIANT, ()).depth == 1


def test_a_variant_knows_the_name_of_its_type() -> None:
    assert PropVariant(VECTOR | VarType.VT_UI1, b"").type_name == "VT_UI1|VT_VECTOR"


def test_truth_is_all_ones() -> None:
    """MQQB-371."""
    assert to_variant_bool(True) == 0xFFFF
    assert to_variant_bool(False) == 0


@pytest.mark.parametrize(("code", "truth"), [(0xFFFF, True), (-1, True), (1, True), (0, False)])
def test_whatever_is_not_false_is_true(code: int, truth: bool) -> None:
    """MQQB-371."""
    assert from_variant_bool(code) is truth
