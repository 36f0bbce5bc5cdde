"""Access masks."""

from __future__ import annotations

from enum import IntFlag

import pytest

from openmsmq.security.access import (
    EnterpriseRights,
    ManagerRights,
    NetworkRights,
    QueueRights,
    SecurityInformation,
    SiteRights,
)


@pytest.mark.parametrize(
    ("mask", "single_bits"),
    [
        (QueueRights, 0xF003F),
        (ManagerRights, 0xF00F7),
        (SiteRights, 0xF0037),
        (EnterpriseRights, 0xF0037),
        (NetworkRights, 0xF0031),
    ],
)
def test_all_rights_together_are_all_single_rights(mask: type[IntFlag], single_bits: int) -> None:
    """MQQB-373."""
    assert sum(mask) == mask["GENERIC_ALL"] == single_bits


@pytest.mark.parametrize(
    ("right", "number"),
    [
        (QueueRights.RECEIVE_MESSAGE, 0x3),
        (QueueRights.RECEIVE_JOURNAL_MESSAGE, 0xA),
        (QueueRights.GENERIC_READ, 0x2002B),
        (QueueRights.GENERIC_WRITE, 0x20024),
        (ManagerRights.RECEIVE_DEADLETTER_MESSAGE, 0x3),
        (ManagerRights.RECEIVE_JOURNAL_QUEUE_MESSAGE, 0xC0),
        (ManagerRights.GENERIC_READ, 0x200E3),
        (ManagerRights.GENERIC_WRITE, 0x20024),
        (ManagerRights.WORLD_RIGHTS, 0x20020),
        (SiteRights.GENERIC_READ, 0x20020),
        (SiteRights.GENERIC_WRITE, 0x20024),
        (EnterpriseRights.GENERIC_READ, 0x20021),
        (EnterpriseRights.GENERIC_WRITE, 0x20027),
        (NetworkRights.GENERIC_READ, 0x20020),
    ],
)
def test_sums_have_the_numbers_of_the_specification(right: IntFlag, number: int) -> None:
    """MQQB-373."""
    assert right == number


@pytest.mark.parametrize(
    ("mask", "names"),
    [
        (
            QueueRights,
            {
                "DELETE_MESSAGE": 0x1,
                "PEEK_MESSAGE": 0x2,
                "WRITE_MESSAGE": 0x4,
                "DELETE_JOURNAL_MESSAGE": 0x8,
                "SET_QUEUE_PROPERTIES": 0x10,
                "GET_QUEUE_PROPERTIES": 0x20,
                "DELETE_QUEUE": 0x10000,
                "GET_QUEUE_PERMISSIONS": 0x20000,
                "CHANGE_QUEUE_PERMISSIONS": 0x40000,
                "TAKE_QUEUE_OWNERSHIP": 0x80000,
            },
        ),
        (
            ManagerRights,
            {
                "DELETE_DEADLETTER_MESSAGE": 0x1,
                "PEEK_DEADLETTER_MESSAGE": 0x2,
                "CREATE_QUEUE": 0x4,
                "SET_MACHINE_PROPERTIES": 0x10,
                "GET_MACHINE_PROPERTIES": 0x20,
                "DELETE_JOURNAL_QUEUE_MESSAGE": 0x40,
                "PEEK_JOURNAL_QUEUE_MESSAGE": 0x80,
                "DELETE_MACHINE": 0x10000,
            },
        ),
        (SiteRights, {"CREATE_FRS": 1, "CREATE_BSC": 2, "CREATE_MACHINE": 4}),
        (EnterpriseRights, {"CREATE_USER": 1, "CREATE_SITE": 2, "CREATE_CN": 4}),
        (NetworkRights, {"OPEN_CONNECTOR": 1, "SET_CN_PROPERTIES": 0x10}),
        (SecurityInformation, {"OWNER": 1, "GROUP": 2, "DACL": 4, "SACL": 8}),
    ],
)
def test_rights_have_the_numbers_of_the_specification(
    mask: type[IntFlag], names: dict[str, int]
) -> None:
    """MQQB-373."""
    assert {name: mask[name] for name in names} == names


def test_rights_keep_unknown_bits() -> None:
    assert int(QueueRights(0x00100001)) == 0x00100001
