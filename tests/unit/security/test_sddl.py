"""Security descriptors in words."""

from __future__ import annotations

import pytest

from openmsmq.errors import IllegalSecurityDescriptor
from openmsmq.security.descriptor import Ace, AceType, Acl, Control, SecurityDescriptor
from openmsmq.security.limits import SDDL_SIZE_MAX
from openmsmq.security.sddl import (
    format_mask,
    format_sddl,
    format_trustee,
    parse_mask,
    parse_sddl,
    parse_trustee,
)
from openmsmq.security.sid import ADMINISTRATORS, EVERYONE, Sid

ALICE = "S-1-5-21-1111111111-2222222222-3333333333-1104"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "O:BA",
        "O:BAG:SYD:",
        f"O:{ALICE}G:{ALICE}D:(A;;LC;;;{ALICE})",
        "O:BAD:PAI(A;OICI;CCDCLC;;;WD)(D;IO;0xc0000000;;;AN)S:(AU;SAFA;WD;;;WD)",
        "D:PARAI(A;;0x200;;;CO)",
    ],
)
def test_words_come_back(text: str) -> None:
    parsed = parse_sddl(text)
    assert parse_sddl(format_sddl(parsed)) == parsed
    assert SecurityDescriptor.decode(parsed.encode()) == parsed


def test_parts_of_a_descriptor() -> None:
    found = parse_sddl("O:BAG:S-1-1-0D:P(A;OI;LCWP;;;WD)S:AI(AU;FA;GA;;;AN)")
    assert (found.owner, found.group) == (ADMINISTRATORS, EVERYONE)
    assert found.dacl == Acl((Ace(AceType.ALLOWED, 0x24, EVERYONE, 1),))
    assert found.sacl is not None
    assert found.sacl.aces[0].mask == 0x10000000
    assert found.control == Control.DACL_PROTECTED | Control.SACL_INHERITED
    assert parse_sddl("D:NO_ACCESS_CONTROL").dacl is None


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "O:",
        "O:XX",
        "O:S-1-",
        "O:S-1-5-99999999999",
        "D:Q",
        "D:(A;;LC;;WD)",
        "D:(A;;LC;;;;WD)",
        "D:(OA;;LC;guid;;WD)",
        "D:(A;;LC;00000000-0000-0000-0000-000000000001;;WD)",
        "D:(XA;;LC;;;WD;(a))",
        "D:(A;ZZ;LC;;;WD)",
        "D:(A;;ZZ;;;WD)",
        "D:(A;;L;;;WD)",
        "D:(A;;0xg;;;WD)",
        "D:(A;;0x1ffffffff;;;WD)",
        "D:(A;;0x-1;;;WD)",
        "D:(A;;LC;;;WD)O:BA",
        "D:(A;;LC;;;WD",
        "O:BA\n",
        "O:BA" + " " * SDDL_SIZE_MAX,
    ],
)
def test_what_describes_nothing_is_refused(text: str) -> None:
    with pytest.raises(IllegalSecurityDescriptor):
        parse_sddl(text)


def test_who_and_what() -> None:
    assert parse_trustee("WD") == EVERYONE
    assert format_trustee(EVERYONE) == "WD"
    assert format_trustee(parse_trustee(ALICE)) == ALICE
    assert parse_mask("LCWD") == 0x40004
    assert format_mask(0xF003F) == "CCDCLCSWRPWPSDRCWDWO"
    assert format_mask(0x201) == "0x201"
    assert parse_mask("0x201") == 0x201


def test_entries_without_words_are_refused() -> None:
    odd = Acl((Ace(AceType.ALLOWED_CALLBACK, 1, Sid(1, (0,)), rest=b"abcd"),))
    with pytest.raises(IllegalSecurityDescriptor):
        format_sddl(SecurityDescriptor(dacl=odd))
