"""Property identifiers of directory objects."""

from __future__ import annotations

import pytest

from openmsmq.properties.directory import CN, COM, MQU, SET, D, E, L, S, U
from openmsmq.properties.propid import Property
from openmsmq.properties.vartype import VECTOR, VarType


@pytest.mark.parametrize(
    ("family", "numbers"),
    [
        (S, {*range(301, 313), 1301, 1302, 1303}),
        (CN, {*range(501, 506), 1501}),
        (E, {*range(601, 618), 1601}),
        (U, {*range(701, 707)}),
        (L, {*range(801, 814)}),
        (SET, {*range(5101, 5113)} - {5104}),
        (MQU, {5401, 5402, 5405, 5406, 5407}),
        (COM, {*range(5201, 5210)} - {5203}),
        (D, {*range(1401, 1406)}),
    ],
)
def test_a_family_has_exactly_its_numbers(family: type[Property], numbers: set[int]) -> None:
    """MQQB-362."""
    assert {item.value for item in family} == numbers


@pytest.mark.parametrize(
    ("item", "number", "vartype"),
    [
        (S.GATES, 303, VarType.VT_CLSID | VECTOR),
        (S.INTERVAL1, 305, VarType.VT_UI2),
        (CN.PROTOCOLID, 501, VarType.VT_UI1),
        (E.LONG_LIVE, 616, VarType.VT_UI4),
        (U.SIGN_CERT, 702, VarType.VT_BLOB),
        (L.GATES_DN, 807, VarType.VT_LPWSTR | VECTOR),
        (SET.QM_ID, 5103, VarType.VT_CLSID),
        (MQU.DIGEST, 5405, VarType.VT_CLSID | VECTOR),
        (COM.DNS_HOSTNAME, 5205, VarType.VT_LPWSTR),
        (D.OBJTYPE, 1404, VarType.VT_UI1),
    ],
    ids=lambda value: str(value),
)
def test_properties_have_their_numbers_and_types(item: Property, number: int, vartype: int) -> None:
    """MQQB-362."""
    assert (item.value, item.vartype) == (number, vartype)


def test_families_of_msmq_2_say_so() -> None:
    assert {item.since for family in (SET, MQU, COM) for item in family} == {"2.0"}
