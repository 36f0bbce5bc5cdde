"""Variant types and their names."""

from __future__ import annotations

import pytest

from openmsmq.properties.vartype import VECTOR, VarType, vartype_name


def test_types_have_the_numbers_of_the_specification() -> None:
    """MQQB-363."""
    expected = {
        "EMPTY": 0,
        "NULL": 1,
        "I2": 2,
        "I4": 3,
        "BOOL": 11,
        "VARIANT": 12,
        "I1": 16,
        "UI1": 17,
        "UI2": 18,
        "UI4": 19,
        "I8": 20,
        "UI8": 21,
        "LPWSTR": 31,
        "BLOB": 65,
        "CLSID": 72,
    }
    assert {name: VarType[f"VT_{name}"] for name in expected} == expected
    assert VECTOR == 0x1000


def test_types_of_bodies_have_the_numbers_programs_use() -> None:
    bodies = ("R4", "R8", "CY", "DATE", "BSTR", "LPSTR", "STREAMED_OBJECT", "STORED_OBJECT")
    assert [VarType[f"VT_{name}"] for name in bodies] == [4, 5, 6, 7, 8, 30, 68, 69]
    assert len(VarType) == 15 + 8


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (0, "VT_EMPTY"),
        (8, "VT_BSTR"),
        (17, "VT_UI1"),
        (0x1011, "VT_UI1|VT_VECTOR"),
        (0x300, "VT_0x300"),
        (0x1300, "VT_0x300|VT_VECTOR"),
        (0x2011, "VT_0x2011"),
        (0xFFFFFFFF, "VT_0xFFFFEFFF|VT_VECTOR"),
    ],
)
def test_every_code_has_a_name(code: int, name: str) -> None:
    """MQQB-363."""
    assert vartype_name(code) == name
