"""The security descriptor of a new queue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openmsmq.errors import IllegalSecurityDescriptor
from openmsmq.security.access import QueueRights
from openmsmq.security.defaults import NewQueues, default_permissions, queue_descriptor
from openmsmq.security.descriptor import Ace, AceType, Acl, Control, SecurityDescriptor
from openmsmq.security.sddl import parse_sddl
from openmsmq.security.sid import ADMINISTRATORS, ANONYMOUS, AUTHENTICATED_USERS, EVERYONE, Sid

VECTORS = Path(__file__).parents[2] / "vectors" / "security" / "security-access.json"
DESCRIPTORS = json.loads(VECTORS.read_text())["descriptors"]
DOMAIN = "S-1-5-21-3623811015-3361044348-30300820"
USER = Sid.from_text(f"{DOMAIN}-1013")
OTHER_USER = Sid.from_text(f"{DOMAIN}-1014")
GUEST = Sid.from_text(f"{DOMAIN}-501")
MACHINE = Sid.from_text(f"{DOMAIN}-2001")
LOCAL_USER = Sid.from_text("S-1-5-21-1-2-3-1000")
FULL = 0xF003F
LOOK = 0x20020
WRITE = 0x4


def in_domain(sid: Sid) -> bool:
    return str(sid).startswith(DOMAIN)


def made(
    caller: Sid = USER,
    supplied: SecurityDescriptor | None = None,
    machine: Sid | None = None,
    *,
    over_http: bool = False,
) -> SecurityDescriptor:
    return queue_descriptor(
        caller=caller,
        is_domain_user=in_domain,
        supplied=supplied,
        machine=machine,
        over_http=over_http,
    )


def allowed(descriptor: SecurityDescriptor) -> list[tuple[Sid | None, int]]:
    assert descriptor.dacl is not None
    assert all(ace.type == AceType.ALLOWED for ace in descriptor.dacl.aces)
    return [(ace.sid, ace.mask) for ace in descriptor.dacl.aces]


def test_lists_that_are_supplied_are_kept() -> None:
    """DMPR-139: each alone, and the other is as it would be."""
    dacl = Acl((Ace(AceType.DENIED, QueueRights.WRITE_MESSAGE, ADMINISTRATORS),))
    sacl = Acl((Ace(AceType.AUDIT, QueueRights.DELETE_QUEUE, EVERYONE, 0x40),))
    both = made(supplied=SecurityDescriptor(sacl=sacl, dacl=dacl))
    assert (both.sacl, both.dacl) == (sacl, dacl)
    watched = made(supplied=SecurityDescriptor(sacl=sacl))
    assert (watched.sacl, watched.dacl) == (sacl, made().dacl)
    assert made(supplied=SecurityDescriptor(dacl=Acl())).dacl == Acl()
    assert made().sacl is None


def test_a_list_that_is_announced_but_missing_is_not_supplied() -> None:
    """DMPR-139, A-61: to Windows it would let everyone do everything."""
    announced = bytes.fromhex("0100 0480") + bytes(16)
    assert made(supplied=SecurityDescriptor.decode(announced)) == made()


def test_a_list_with_rights_no_queue_has_is_refused() -> None:
    """DMPR-038."""
    dacl = Acl((Ace(AceType.ALLOWED, 0x10000000, EVERYONE),))
    with pytest.raises(IllegalSecurityDescriptor):
        made(supplied=SecurityDescriptor(dacl=dacl))


def test_the_owner_is_the_supplied_one_or_else_the_caller() -> None:
    """DMPR-140."""
    assert made().owner == USER
    assert made(supplied=SecurityDescriptor()).owner == USER
    assert made(supplied=SecurityDescriptor(owner=OTHER_USER)).owner == OTHER_USER


@pytest.mark.parametrize("dacl", [None, Acl()], ids=["no list", "list"])
def test_an_owner_from_outside_the_domain_becomes_anonymous(dacl: Acl | None) -> None:
    """DMPR-141: whether caller or supplied."""
    assert made(LOCAL_USER, SecurityDescriptor(dacl=dacl)).owner == ANONYMOUS
    assert made(USER, SecurityDescriptor(owner=LOCAL_USER, dacl=dacl)).owner == ANONYMOUS
    assert made(LOCAL_USER, SecurityDescriptor(owner=USER, dacl=dacl)).owner == USER


@pytest.mark.parametrize("caller", [LOCAL_USER, GUEST, ANONYMOUS], ids=str)
def test_everyone_has_all_rights_on_a_queue_of_an_anonymous_owner(caller: Sid) -> None:
    """DMPR-142."""
    assert allowed(made(caller)) == [(EVERYONE, FULL)]


@pytest.mark.parametrize("text", ["S-1-5-32-501", "S-1-5-21-3623811015-3361044348-30300820-5010"])
def test_only_the_guest_of_a_domain_is_a_guest(text: str) -> None:
    """DMPR-142."""
    owner = Sid.from_text(text)
    found = queue_descriptor(caller=owner, is_domain_user=lambda _: True)
    assert (owner, FULL) in allowed(found)


def test_the_queue_of_a_user_of_the_domain_is_for_that_user() -> None:
    """DMPR-143, DMPR-145: and the unknown machine is not mentioned."""
    assert allowed(made()) == [(EVERYONE, LOOK), (USER, FULL)]


@pytest.mark.parametrize("caller", [USER, LOCAL_USER], ids=str)
def test_a_known_machine_may_look(caller: Sid) -> None:
    """DMPR-144."""
    assert (MACHINE, LOOK) in allowed(made(caller, machine=MACHINE))


def test_everyone_may_send_to_a_queue_that_http_reaches() -> None:
    """DMPR-146."""
    assert allowed(made(over_http=True))[:2] == [(EVERYONE, LOOK | WRITE), (ANONYMOUS, WRITE)]
    assert allowed(made(LOCAL_USER, over_http=True)) == [(EVERYONE, FULL), (ANONYMOUS, WRITE)]


def test_entries_stand_in_their_order_and_none_is_empty() -> None:
    """DMPR-147."""
    full = made(machine=MACHINE, over_http=True)
    assert [sid for sid, _ in allowed(full)] == [EVERYONE, ANONYMOUS, MACHINE, USER]
    for descriptor in (full, made(), made(LOCAL_USER), made(GUEST, machine=MACHINE)):
        assert allowed(descriptor)[0][0] == EVERYONE
        assert all(mask for _, mask in allowed(descriptor))


@pytest.mark.parametrize("over_http", [False, True], ids=["", "http"])
@pytest.mark.parametrize("kind", ["workgroup", "domain"])
def test_defaults_are_those_of_another_implementation(kind: str, *, over_http: bool) -> None:
    """MSEC-164."""
    name = f"{kind}-srmp" if over_http else kind
    expected = parse_sddl(next(one["sddl"] for one in DESCRIPTORS if one["name"] == name))
    is_domain = kind == "domain"
    assert expected.dacl is not None
    machine = expected.dacl.aces[-2].sid if is_domain else None
    found = queue_descriptor(
        caller=expected.owner or ANONYMOUS,
        is_domain_user=lambda _: is_domain,
        machine=machine,
        over_http=over_http,
    )
    assert (found.owner, found.dacl) == (expected.owner, expected.dacl)


def test_the_result_has_a_self_relative_form() -> None:
    """DMPR-148."""
    descriptor = made(machine=MACHINE, over_http=True)
    data = descriptor.encode()
    assert int.from_bytes(data[2:4], "little") & Control.SELF_RELATIVE
    assert SecurityDescriptor.decode(data) == descriptor


def granted(kind: NewQueues) -> dict[Sid, int]:
    """What a new queue allows to each."""
    acl = parse_sddl(default_permissions(kind, USER)).dacl
    assert acl is not None
    assert all(ace.type is AceType.ALLOWED for ace in acl.aces)
    return {ace.sid: int(ace.mask) for ace in acl.aces if ace.sid is not None}


def test_new_queues_are_open_or_limited_as_the_setting_says() -> None:
    assert default_permissions("open", USER) == ""
    spec = granted("spec")
    assert spec[EVERYONE] & WRITE
    assert USER not in spec
    restricted, recommended = granted("restricted"), granted("recommended")
    for found in (restricted, recommended):
        assert found[USER] == found[ADMINISTRATORS] > WRITE
    assert restricted.keys() == {EVERYONE, ANONYMOUS, USER, ADMINISTRATORS}
    assert recommended.keys() == {AUTHENTICATED_USERS, USER, ADMINISTRATORS}
    assert restricted[ANONYMOUS] == WRITE
    assert restricted[EVERYONE] == recommended[AUTHENTICATED_USERS] == LOOK | WRITE
