from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from openmsmq.directory import rights
from openmsmq.directory.rights import (
    MANAGER_EXTENDED,
    QUEUE_EXTENDED,
    SITE_EXTENDED,
    from_directory,
    local_permissions,
    manager_descriptor,
    object_ace,
    published_permissions,
    queue_descriptor,
    site_permissions,
    to_directory,
    with_kept,
)
from openmsmq.errors import Malformed
from openmsmq.security.access import ManagerRights, NetworkRights, QueueRights
from openmsmq.security.descriptor import Ace, AceType, Acl, SecurityDescriptor
from openmsmq.security.permissions import normal_permissions
from openmsmq.security.sid import AUTHENTICATED_USERS, EVERYONE, Sid

MACHINE = Sid(5, (21, 1, 2, 3, 1104))


def allowed(mask: int, sid: Sid = EVERYONE) -> SecurityDescriptor:
    return SecurityDescriptor(dacl=Acl((Ace(AceType.ALLOWED, mask, sid),)))


def masks(descriptor: SecurityDescriptor) -> dict[Sid | None, int]:
    assert descriptor.dacl is not None
    found: dict[Sid | None, int] = {}
    for ace in descriptor.dacl.aces:
        found[ace.sid] = found.get(ace.sid, 0) | ace.mask
    return found


def test_the_nine_extended_rights() -> None:
    """MQDS-159"""
    rows = {**QUEUE_EXTENDED, **MANAGER_EXTENDED, **SITE_EXTENDED}
    assert {str(guid)[:8]: int(mask) for guid, mask in rows.items()} == {
        "06bd3200": 0x3,
        "06bd3201": 0x2,
        "06bd3202": 0x4,
        "06bd3203": 0xA,
        "4b6e08c0": 0x3,
        "4b6e08c1": 0x2,
        "4b6e08c2": 0xC0,
        "4b6e08c3": 0x80,
        "b4e60130": int(NetworkRights.OPEN_CONNECTOR),
    }


@pytest.mark.parametrize(
    "mask",
    [
        QueueRights.RECEIVE_MESSAGE,
        QueueRights.PEEK_MESSAGE,
        QueueRights.WRITE_MESSAGE,
        QueueRights.RECEIVE_JOURNAL_MESSAGE,
        QueueRights.GET_QUEUE_PROPERTIES,
        QueueRights.SET_QUEUE_PROPERTIES,
        QueueRights.DELETE_QUEUE | QueueRights.CHANGE_QUEUE_PERMISSIONS,
        QueueRights.GENERIC_ALL,
        QueueRights.GENERIC_WRITE,
    ],
)
def test_rights_of_queues_come_back(mask: QueueRights) -> None:
    """MQDS-159"""
    written = SecurityDescriptor.decode(to_directory(allowed(mask)).encode())
    assert masks(from_directory(written)) == {EVERYONE: mask}


@pytest.mark.parametrize(
    "mask",
    [
        ManagerRights.RECEIVE_DEADLETTER_MESSAGE,
        ManagerRights.PEEK_JOURNAL_QUEUE_MESSAGE,
        ManagerRights.CREATE_QUEUE,
        ManagerRights.GENERIC_ALL,
    ],
)
def test_rights_of_managers_come_back(mask: ManagerRights) -> None:
    """MQDS-159"""
    written = to_directory(allowed(mask), MANAGER_EXTENDED)
    assert masks(from_directory(written, MANAGER_EXTENDED)) == {EVERYONE: mask}


def test_no_mask_of_queues_is_written() -> None:
    """MQDS-154: to get properties of a queue is to read properties, not to write them."""
    written = to_directory(allowed(QueueRights.GET_QUEUE_PROPERTIES))
    assert masks(written)[EVERYONE] & rights.WRITE_PROPERTY == 0
    assert masks(written)[EVERYONE] & rights.READ_PROPERTY
    written = to_directory(allowed(QueueRights.WRITE_MESSAGE))
    assert masks(written) == {None: rights.CONTROL_ACCESS}  # one object entry, nothing else


def test_denials_stay_denials() -> None:
    denied = SecurityDescriptor(
        dacl=Acl((Ace(AceType.DENIED, int(QueueRights.WRITE_MESSAGE), EVERYONE),))
    )
    back = from_directory(to_directory(denied))
    assert back.dacl is not None
    assert [ace.type for ace in back.dacl.aces] == [AceType.DENIED]


def test_control_access_without_a_right_grants_all_of_them() -> None:
    """MQDS-160"""
    found = from_directory(allowed(rights.CONTROL_ACCESS))
    everything = (
        QueueRights.RECEIVE_MESSAGE
        | QueueRights.WRITE_MESSAGE
        | QueueRights.RECEIVE_JOURNAL_MESSAGE
    )
    assert masks(found) == {EVERYONE: everything}


def test_entries_about_other_things_stay() -> None:
    """MQDS-161"""
    other = object_ace(EVERYONE, rights.WRITE_PROPERTY, UUID(int=7))
    old = object_ace(EVERYONE, rights.CONTROL_ACCESS, next(iter(QUEUE_EXTENDED)))
    kept = SecurityDescriptor(dacl=Acl((other, old), 4))
    written = to_directory(allowed(QueueRights.WRITE_MESSAGE), kept=kept)
    assert written.dacl is not None
    assert other in written.dacl.aces
    assert old not in written.dacl.aces
    assert from_directory(kept).dacl == Acl(
        (Ace(AceType.ALLOWED, int(QueueRights.RECEIVE_MESSAGE), EVERYONE),)
    )


def test_the_descriptor_of_a_manager() -> None:
    """MQDS-154, MQDS-166"""
    found = masks(manager_descriptor(MACHINE))
    assert found == {MACHINE: rights.ALL, AUTHENTICATED_USERS: 0x20094}
    foreign = from_directory(manager_descriptor(MACHINE, foreign=True), MANAGER_EXTENDED)
    assert masks(foreign)[EVERYONE] == ManagerRights.CREATE_QUEUE


def test_the_descriptor_of_a_queue() -> None:
    """MQDS-167: all may look and send, the computer may do everything."""
    made = queue_descriptor(MACHINE)
    assert masks(made)[MACHINE] == rights.ALL
    back = masks(from_directory(made))
    look = QueueRights.GET_QUEUE_PROPERTIES | QueueRights.GET_QUEUE_PERMISSIONS
    assert back[EVERYONE] == look | QueueRights.WRITE_MESSAGE
    given = queue_descriptor(MACHINE, allowed(QueueRights.PEEK_MESSAGE, AUTHENTICATED_USERS))
    assert masks(from_directory(given))[AUTHENTICATED_USERS] == QueueRights.PEEK_MESSAGE


@pytest.mark.parametrize(
    "sddl",
    [
        "",
        "O:S-1-5-21-1-2-3-1000",
        "O:BAD:(A;;0x4;;;WD)",
        "O:BAD:(D;;0x4;;;AN)(A;;0x3f;;;S-1-5-21-1-2-3-1000)(A;;0x20024;;;WD)",
    ],
)
def test_permissions_of_a_queue_come_back_from_its_object(sddl: str) -> None:
    """MQDS-164, MQQB-323: what is inherited there, and what its computer may do, does not count."""
    written = published_permissions(MACHINE, sddl)
    assert written.dacl is not None
    above = (
        Ace(AceType.ALLOWED, rights.ALL, Sid(5, (21, 1, 2, 3, 512)), 0x10),
        Ace(AceType.ALLOWED, rights.ALL, Sid(3, (0,)), 0x08),
    )
    raw = SecurityDescriptor(dacl=Acl((*written.dacl.aces, *above), 4)).encode()
    before = normal_permissions(sddl, QueueRights) if sddl else ""
    assert local_permissions(raw, MACHINE, before) == before


def test_a_queue_that_is_open_to_all_but_some_is_not_open() -> None:
    """MQDS-164"""
    written = published_permissions(MACHINE, "")
    assert written.dacl is not None
    denied = Ace(AceType.DENIED, rights.CONTROL_ACCESS, Sid(5, (21, 1, 2, 3, 1001)))
    raw = SecurityDescriptor(dacl=Acl((denied, *written.dacl.aces), 4)).encode()
    found = local_permissions(raw, MACHINE, "")
    assert found.startswith("O:BAD:(D;")
    with pytest.raises(Malformed):
        local_permissions(b"garbage", MACHINE, "")


def test_what_is_kept_of_a_descriptor() -> None:
    """MQDS-161: entries about other things, unless they are inherited anyway."""
    other = object_ace(EVERYONE, rights.WRITE_PROPERTY, UUID(int=7))
    inherited = replace(object_ace(EVERYONE, rights.WRITE_PROPERTY, UUID(int=8)), flags=0x10)
    old = object_ace(EVERYONE, rights.CONTROL_ACCESS, next(iter(QUEUE_EXTENDED)))
    before = SecurityDescriptor(dacl=Acl((other, inherited, old), 4))
    found = with_kept(queue_descriptor(MACHINE), before)
    assert found.dacl is not None
    assert found.dacl.aces[-1] == other
    assert not {inherited, old} & set(found.dacl.aces)


def test_who_may_open_connector_queues_is_said_by_the_site() -> None:
    """MQBR-161: msmq-Open-Connector, or all extended rights; nothing else of the object."""
    clerk, chief, guest = (Sid(5, (21, 1, 2, 3, number)) for number in (1001, 1002, 1003))
    right = next(iter(SITE_EXTENDED))
    raw = SecurityDescriptor(
        dacl=Acl(
            (
                object_ace(clerk, rights.CONTROL_ACCESS, right),
                Ace(AceType.ALLOWED, rights.ALL, chief),
                Ace(AceType.ALLOWED, rights.READ_PROPERTY, guest),
                Ace(AceType.ALLOWED, rights.ALL, guest, 0x08),
                object_ace(guest, rights.CONTROL_ACCESS, UUID(int=7)),
            ),
            4,
        )
    ).encode()
    assert site_permissions(raw) == f"O:BAD:(A;;CC;;;{clerk})(A;;CC;;;{chief})"
    assert site_permissions(b"") == rights.NO_ONE
    with pytest.raises(Malformed):
        site_permissions(b"garbage")
