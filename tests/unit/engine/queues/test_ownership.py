"""Permissions of a queue and its owner."""

from __future__ import annotations

import pytest

from openmsmq.engine.queues.ownership import (
    creator_sid,
    is_restricted,
    owned_by,
    owner_of,
    with_owner,
    without_owner,
)
from openmsmq.errors import IllegalSecurityDescriptor
from openmsmq.security.access import QueueRights
from openmsmq.security.access_check import is_granted
from openmsmq.security.defaults import NewQueues, OwnDomain
from openmsmq.security.principals import (
    ADMIN_TOKEN,
    ANONYMOUS_TOKEN,
    EVERYONE_TOKEN,
    parse_principal,
)
from openmsmq.security.sid import ADMINISTRATORS, Sid
from openmsmq.types.caller import ANONYMOUS, EVERYTHING, INTERNAL, Caller, Grant

BITS = [int(right) for right in QueueRights if right.bit_count() == 1]
ANNA = Caller("anna", Grant("admin", user="anna"))


@pytest.mark.parametrize(
    ("caller", "owner"),
    [
        (INTERNAL, "administrators"),
        (Caller("x", EVERYTHING), "administrators"),
        (Caller("x", ANONYMOUS), "administrators"),
        (ANNA, "user:anna"),
        (Caller("x", Grant("admin", token="ab12")), "token:ab12"),
        (Caller("x", Grant("admin", certificate="CN=x")), "certificate:CN=x"),
        (Caller("x", Grant("admin", unix=(1000, 5))), "unix:1000"),
    ],
)
def test_who_creates_a_queue_owns_it(caller: Caller, owner: str) -> None:
    assert creator_sid(caller) == parse_principal(owner)


def test_permissions_of_a_new_queue() -> None:
    assert owned_by(INTERNAL, "") == ""
    assert owner_of(owned_by(ANNA, "")) == parse_principal("user:anna")
    assert owned_by(INTERNAL, "D:(A;;LC;;;WD)") == "O:BAD:(A;;LC;;;WD)"
    assert owned_by(ANNA, "O:BAD:") == "O:BAD:"


@pytest.mark.parametrize(
    ("kind", "anonymous", "everyone", "carl", "anna"),
    [
        ("open", 0xF003F, 0xF003F, 0xF003F, 0xF003F),
        ("spec", 0x4, 0xF003F, 0xF003F, 0xF003F),
        ("restricted", 0x4, 0x20024, 0x20024, 0xF003F),
        ("recommended", 0, 0, 0x20024, 0xF003F),
    ],
)
def test_what_a_new_queue_allows(
    kind: NewQueues, anonymous: int, everyone: int, carl: int, anna: int
) -> None:
    """MSEC-167, MSEC-168: acknowledgements reach a queue unless anonymous is left out."""
    sddl = owned_by(ANNA, "", kind)
    granted = {
        who: sum(bit for bit in BITS if is_granted(sddl, sids, bit))
        for who, sids in {
            "anonymous": ANONYMOUS_TOKEN,
            "everyone": EVERYONE_TOKEN,
            "carl": Grant("read", user="carl").sids,
            "anna": ANNA.grant.sids,
            "administrators": ADMIN_TOKEN,
        }.items()
    }
    assert granted == {
        "anonymous": anonymous,
        "everyone": everyone,
        "carl": carl,
        "anna": anna,
        "administrators": 0xF003F,
    }
    assert owned_by(INTERNAL, "", kind) == "", "the manager's own queues are open"


def test_what_a_new_queue_of_a_domain_allows() -> None:
    """DMPR-139, DMPR-140, DMPR-143, DMPR-144, DMPR-145, DMPR-147: in this order."""
    machine, anna = Sid(5, (21, 1, 2, 3, 1000)), ANNA.grant.sid
    sddl = owned_by(ANNA, "", "spec", OwnDomain(machine))
    unknown = owned_by(ANNA, "", "spec", OwnDomain(None))
    assert sddl == f"O:{anna}D:(A;;LCWPRC;;;WD)(A;;LC;;;AN)(A;;WPRC;;;{machine})" + _full(anna)
    assert unknown == f"O:{anna}D:(A;;LCWPRC;;;WD)(A;;LC;;;AN)" + _full(anna)
    given = "O:BAD:(A;;LC;;;WD)S:(AU;SA;LC;;;WD)"
    assert owned_by(ANNA, given, "spec", OwnDomain(machine)) == given
    without = given.removeprefix("O:BA")
    assert owned_by(ANNA, without, "spec", OwnDomain(machine)) == f"O:{anna}{without}"


def _full(sid: Sid) -> str:
    return f"(A;;CCDCLCSWRPWPSDRCWDWO;;;{sid})"


def test_an_owner_stays_and_the_rest_can_be_compared() -> None:
    assert with_owner("D:", "O:BAD:(A;;LC;;;WD)") == "O:BAD:"
    assert with_owner("O:WDD:", "O:BA") == "O:WDD:"
    assert owner_of("O:BA") == ADMINISTRATORS
    assert without_owner("O:BAD:(A;;LC;;;WD)") == "D:(A;;LC;;;WD)"
    with pytest.raises(IllegalSecurityDescriptor):
        with_owner("D:(A;;DT;;;WD)", "O:BA")


@pytest.mark.parametrize(("sddl", "restricted"), [("", False), ("O:BA", False), ("O:BAD:", True)])
def test_a_list_restricts(sddl: str, *, restricted: bool) -> None:
    assert is_restricted(sddl) is restricted
