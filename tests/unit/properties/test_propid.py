"""Property identifiers of messages, queues and queue managers."""

from __future__ import annotations

import pickle

import pytest

from openmsmq.errors import IllegalPropid
from openmsmq.properties.directory import CN, COM, MQU, SET, D, E, L, S, U
from openmsmq.properties.propid import MGMT_MSMQ, MGMT_QUEUE, QM, M, Property, Q
from openmsmq.properties.vartype import VECTOR, VarType

QUEUEING: tuple[type[Property], ...] = (Q, QM, MGMT_MSMQ, MGMT_QUEUE)
SPECIFIED: tuple[type[Property], ...] = (*QUEUEING, S, CN, E, U, L, SET, MQU, COM, D)
ALL: tuple[type[Property], ...] = (M, *SPECIFIED)


def test_all_properties_of_the_specification_are_there() -> None:
    """MQQB-362."""
    assert sum(len(family) for family in SPECIFIED) == 186


@pytest.mark.parametrize("family", ALL, ids=lambda family: family.__name__)
def test_no_number_is_given_twice_in_a_family(family: type[Property]) -> None:
    assert len(family) == len(family.__members__)


@pytest.mark.parametrize(
    ("family", "numbers"),
    [
        (M, {*range(1, 56), *range(58, 71), 75}),
        (Q, {*range(101, 127), *range(1101, 1104)} - {120, 122}),
        (QM, {*range(201, 243), *range(1201, 1206)} - {204, 225, 226, 230, 235, 236, 240, 1204}),
        (MGMT_MSMQ, {*range(1, 7)}),
        (MGMT_QUEUE, {*range(1, 28)}),
    ],
)
def test_a_family_has_exactly_its_numbers(family: type[Property], numbers: set[int]) -> None:
    """MQQB-362."""
    assert {item.value for item in family} == numbers


@pytest.mark.parametrize("family", SPECIFIED, ids=lambda family: family.__name__)
def test_every_property_of_a_family_has_a_section_of_its_own(family: type[Property]) -> None:
    sections = [item.section for item in family]
    parents = {section.rsplit(".", 1)[0] for section in sections}
    assert len(set(sections)) == len(sections)
    assert len(parents) == 1
    assert parents.pop() in (family.__doc__ or "")
    assert {int(section.rsplit(".", 1)[1]) for section in sections} == {
        *range(1, len(sections) + 1)
    }


@pytest.mark.parametrize(
    ("item", "number", "vartype"),
    [
        (M.CLASS, 1, VarType.VT_UI2),
        (M.BODY, 9, VarType.VT_UI1 | VECTOR),
        (M.LOOKUPID, 60, VarType.VT_UI8),
        (M.LAST_MOVE_TIME, 75, VarType.VT_UI4),
        (Q.INSTANCE, 101, VarType.VT_CLSID),
        (Q.PATHNAME, 103, VarType.VT_LPWSTR),
        (Q.BASEPRIORITY, 106, VarType.VT_I2),
        (Q.CREATE_TIME, 109, VarType.VT_I4),
        (Q.SECURITY, 1101, VarType.VT_BLOB),
        (QM.ENCRYPTION_PK, 205, VarType.VT_UI1 | VECTOR),
        (QM.QUOTA, 214, VarType.VT_UI4),
        (QM.UPGRADE_DACL, 1205, VarType.VT_BLOB),
        (MGMT_MSMQ.BYTES_IN_ALL_QUEUES, 6, VarType.VT_I8),
        (MGMT_QUEUE.CONNECTION_HISTORY, 25, VarType.VT_VARIANT | VECTOR),
    ],
    ids=lambda value: str(value),
)
def test_properties_have_their_numbers_and_types(item: Property, number: int, vartype: int) -> None:
    """MQQB-362."""
    assert (item.value, item.vartype) == (number, vartype)


def test_the_same_number_means_different_things_to_different_families() -> None:
    assert MGMT_MSMQ.from_number(1) is MGMT_MSMQ.ACTIVEQUEUES
    assert MGMT_QUEUE.from_number(1) is MGMT_QUEUE.PATHNAME
    assert len({MGMT_MSMQ.ACTIVEQUEUES, MGMT_QUEUE.PATHNAME}) == 2


def test_an_unknown_number_is_refused_by_name() -> None:
    with pytest.raises(IllegalPropid, match="PROPID_Q_ 120"):
        Q.from_number(120)


def test_a_property_knows_the_name_specifications_use() -> None:
    assert Q.PATHNAME.propid == "PROPID_Q_PATHNAME"
    assert MGMT_QUEUE.STATE.propid == "PROPID_MGMT_QUEUE_STATE"


def test_versions_and_reservations_are_recorded() -> None:
    assert (Q.INSTANCE.since, Q.FULL_PATH.since, Q.MULTICAST_ADDRESS.since) == ("1.0", "2.0", "3.0")
    reserved = {item for family in ALL for item in family if item.reserved}
    assert {Q.HASHKEY, Q.LABEL_HASHKEY, QM.HASHKEY} < reserved
    assert len(reserved) == 11


def test_properties_survive_pickling() -> None:
    assert pickle.loads(pickle.dumps(Q.LABEL)) is Q.LABEL
