"""Security descriptors as bytes, and the rights they may speak of."""

from __future__ import annotations

from contextlib import suppress
from enum import IntFlag
from struct import pack

import pytest
from tests.samples import patch

from openmsmq.errors import IllegalSecurityDescriptor, Malformed
from openmsmq.security.access import (
    EnterpriseRights,
    ManagerRights,
    NetworkRights,
    QueueRights,
    SiteRights,
)
from openmsmq.security.descriptor import (
    Ace,
    AceType,
    Acl,
    Control,
    SecurityDescriptor,
    check_rights,
)
from openmsmq.security.sid import ADMINISTRATORS, ANONYMOUS, EVERYONE

ADMIN_BYTES = "0102000000000005 20000000 20020000"
WORKED = bytes.fromhex(
    "0100 0480 14000000 24000000 00000000 34000000"
    + ADMIN_BYTES * 2
    + "0200 2000 0100 0000"
    + "0000 1800 ff011f00"
    + ADMIN_BYTES
)
"`O:BAG:BAD:(A;;FA;;;BA)`, worked out by hand from [MS-DTYP] 2.4.6."
FULL_ACCESS = Ace(AceType.ALLOWED, 0x1F01FF, ADMINISTRATORS)
OBJECT_ALLOWED = 5
DESCRIPTOR = SecurityDescriptor(
    EVERYONE,
    ADMINISTRATORS,
    Acl((Ace(AceType.AUDIT, 4, EVERYONE, 0xC0), Ace(AceType.LABEL, 1, ANONYMOUS))),
    Acl(
        (
            Ace(AceType.DENIED, 4, ANONYMOUS),
            Ace(OBJECT_ALLOWED, 4, flags=2, rest=bytes(range(32))),
            Ace(AceType.ALLOWED_CALLBACK, 4, EVERYONE, rest=b"artx"),
        ),
        revision=4,
    ),
    Control.DACL_PROTECTED | Control.OWNER_DEFAULTED,
)


def refusal(data: bytes) -> tuple[str, int]:
    with pytest.raises(Malformed) as caught:
        SecurityDescriptor.decode(data)
    return caught.value.field.removeprefix("SECURITY_DESCRIPTOR."), caught.value.offset


def test_the_worked_descriptor_is_read_and_written() -> None:
    """DMPR-148: self-relative, which SR says."""
    found = SecurityDescriptor.decode(WORKED)
    assert found == SecurityDescriptor(
        ADMINISTRATORS, ADMINISTRATORS, None, Acl((FULL_ACCESS,)), Control.NONE
    )
    assert found.encode() == WORKED


@pytest.mark.parametrize(
    "descriptor",
    [
        SecurityDescriptor(),
        SecurityDescriptor(owner=EVERYONE),
        SecurityDescriptor(group=EVERYONE, control=Control.OWNER_DEFAULTED),
        SecurityDescriptor(sacl=Acl()),
        SecurityDescriptor(dacl=Acl()),
        DESCRIPTOR,
    ],
)
def test_what_is_written_is_read_again(descriptor: SecurityDescriptor) -> None:
    data = descriptor.encode()
    assert SecurityDescriptor.decode(data) == descriptor
    flags = Control(int.from_bytes(data[2:4], "little"))
    assert Control.SELF_RELATIVE in flags
    assert (Control.SACL_PRESENT in flags) == (descriptor.sacl is not None)
    assert (Control.DACL_PRESENT in flags) == (descriptor.dacl is not None)


def test_parts_may_lie_in_any_order_and_share_their_bytes() -> None:
    sid = EVERYONE.encode()
    dacl = Acl((FULL_ACCESS,)).encode()
    at_sid = 20 + len(dacl)
    data = pack("<BBHIIII", 1, 0, 0x8004, at_sid, at_sid, 0, 20) + dacl + sid
    assert SecurityDescriptor.decode(data) == SecurityDescriptor(
        EVERYONE, EVERYONE, None, Acl((FULL_ACCESS,))
    )


@pytest.mark.parametrize(("control", "offset"), [(0x8000, 20), (0x8004, 0)])
def test_a_list_is_there_if_it_is_announced_and_has_a_place(control: int, offset: int) -> None:
    data = pack("<BBHIIII", 1, 0, control, 0, 0, 0, offset) + Acl((FULL_ACCESS,)).encode()
    assert SecurityDescriptor.decode(data) == SecurityDescriptor()


def test_bytes_behind_the_last_entry_mean_nothing() -> None:
    entry = FULL_ACCESS.encode()
    acl = pack("<BBHHH", 2, 0, 8 + len(entry) + 4, 1, 0) + entry + b"rest"
    data = pack("<BBHIIII", 1, 0, 0x8004, 0, 0, 0, 20) + acl
    assert SecurityDescriptor.decode(data).dacl == Acl((FULL_ACCESS,))


@pytest.mark.parametrize(
    ("offset", "replacement", "field", "place"),
    [
        (0, b"\x02", "Revision", 0),
        (3, b"\x00", "Control", 2),
        (4, b"\x13", "OffsetOwner", 4),
        (8, b"\xff\xff\xff\xff", "OffsetGroup", 8),
        (16, b"\x01", "OffsetDacl", 16),
        (4, b"\x54", "SID.Revision", 84),
        (20, b"\x02", "SID.Revision", 20),
        (52, b"\x03", "ACL.AclRevision", 52),
        (54, b"\x07", "ACL.AclSize", 54),
        (54, b"\x24", "ACL.AclSize", 54),
        (54, b"\x1c", "ACL.ACE.AceSize", 62),
        (56, b"\x04", "ACL.AceCount", 56),
        (56, b"\x02", "ACL.ACE.AceType", 84),
        (62, b"\x16", "ACL.ACE.AceSize", 62),
        (62, b"\x04", "ACL.ACE.AceSize", 62),
        (62, b"\x10", "ACL.ACE.SID.SubAuthority", 76),
    ],
)
def test_what_does_not_fit_is_refused(
    offset: int, replacement: bytes, field: str, place: int
) -> None:
    assert refusal(patch(WORKED, offset, replacement)) == (field, place)


def test_a_descriptor_cut_short_is_refused() -> None:
    for size in range(len(WORKED)):
        refusal(WORKED[:size])


def test_any_changed_byte_gives_a_descriptor_or_the_documented_error() -> None:
    data = DESCRIPTOR.encode()
    for offset in range(len(data)):
        for value in (0x00, 0x01, 0x7F, 0xFF):
            with suppress(Malformed):
                SecurityDescriptor.decode(patch(data, offset, bytes([value])))


def test_a_list_too_long_for_its_size_field_is_refused() -> None:
    longest = Acl((Ace(AceType.ALLOWED, 0, EVERYONE),) * 3276)
    assert len(longest.encode()) == 8 + 3276 * 20 == 65528
    with pytest.raises(IllegalSecurityDescriptor, match="65548 bytes"):
        Acl((*longest.aces, longest.aces[0])).encode()


def test_an_impossible_entry_is_our_own_mistake() -> None:
    for kind, sid, rest in (
        (AceType.ALLOWED, None, b""),
        (OBJECT_ALLOWED, EVERYONE, b""),
        (AceType.ALLOWED, EVERYONE, b"odd"),
    ):
        with pytest.raises(AssertionError):
            Ace(kind, 0, sid, rest=rest)


@pytest.mark.parametrize(
    ("rights", "foreign"),
    [
        pytest.param(QueueRights, 0x00000040, id="queue"),
        pytest.param(ManagerRights, 0x00000008, id="manager"),
        pytest.param(EnterpriseRights, 0x00000008, id="enterprise"),
        pytest.param(SiteRights, 0x00000040, id="site"),
        pytest.param(NetworkRights, 0x00000002, id="network"),
    ],
)
@pytest.mark.parametrize("part", ["dacl", "sacl"])
def test_entries_speak_only_of_rights_the_object_has(
    rights: type[IntFlag], foreign: int, part: str
) -> None:
    """DMPR-017, DMPR-038, DMPR-098, DMPR-100, DMPR-103."""

    def check(mask: int) -> None:
        entries = Acl((Ace(AceType.ALLOWED, mask, EVERYONE),))
        dacl, sacl = (entries, None) if part == "dacl" else (None, entries)
        check_rights(SecurityDescriptor(sacl=sacl, dacl=dacl), rights)

    check(rights["GENERIC_ALL"])
    check(0)
    for bit in (foreign, 0x00100000, 0x10000000):
        with pytest.raises(IllegalSecurityDescriptor, match=f"0x{bit:08X}, no {rights.__name__}"):
            check(rights["GENERIC_ALL"] | bit)


def test_rights_of_every_entry_are_looked_at_but_only_rights() -> None:
    check_rights(SecurityDescriptor(), QueueRights)
    check_rights(DESCRIPTOR, QueueRights)
    check_rights(SecurityDescriptor(sacl=Acl((Ace(AceType.LABEL, 1 << 30, EVERYONE),))), SiteRights)
    last = Acl((Ace(AceType.ALLOWED, 1, EVERYONE), Ace(OBJECT_ALLOWED, 0x100, rest=bytes(8))))
    with pytest.raises(IllegalSecurityDescriptor):
        check_rights(SecurityDescriptor(dacl=last), QueueRights)
