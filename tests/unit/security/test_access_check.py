"""The access check: entries in order, the owner, lists that are empty or not there."""

from __future__ import annotations

import pytest

from openmsmq.security.access import QueueRights
from openmsmq.security.access_check import Decision, check_access, is_granted
from openmsmq.security.sddl import parse_sddl
from openmsmq.security.sid import ADMINISTRATORS, ANONYMOUS, EVERYONE, Sid

ALICE = Sid.from_text("S-1-5-21-1-2-3-1104")
WRITE = QueueRights.WRITE_MESSAGE
RECEIVE = QueueRights.RECEIVE_MESSAGE
CHANGE = QueueRights.CHANGE_QUEUE_PERMISSIONS


def check(sddl: str, who: set[Sid], wanted: int = WRITE) -> Decision:
    return check_access(parse_sddl(sddl), frozenset(who), wanted)


@pytest.mark.parametrize(
    ("sddl", "wanted", "expected"),
    [
        ("O:BA", WRITE, Decision(is_granted=True, reason="no list")),
        ("O:BAD:NO_ACCESS_CONTROL", WRITE, Decision(is_granted=True, reason="no list")),
        ("O:BAD:", WRITE, Decision(is_granted=False, reason="no entry", missing=4)),
        (f"O:{ALICE}D:", CHANGE, Decision(is_granted=True, reason="owner")),
        (f"O:{ALICE}D:", WRITE, Decision(is_granted=False, reason="no entry", missing=4)),
        ("O:BAD:(A;;LC;;;WD)", WRITE, Decision(is_granted=True, reason="allowed", place=0)),
        ("O:BAD:(A;;CC;;;WD)(A;;DC;;;WD)", RECEIVE, Decision(True, "allowed", 1)),
        ("O:BAD:(A;;CC;;;WD)", RECEIVE, Decision(is_granted=False, reason="no entry", missing=2)),
        (f"O:BAD:(D;;LC;;;{ALICE})(A;;LC;;;WD)", WRITE, Decision(False, "denied", 0, 4)),
        (f"O:BAD:(A;;LC;;;WD)(D;;LC;;;{ALICE})", WRITE, Decision(True, "allowed", 0)),
        (f"O:BAD:(D;;RC;;;{ALICE})(A;;LC;;;WD)", WRITE, Decision(True, "allowed", 1)),
        ("O:BAD:(A;IO;LC;;;WD)", WRITE, Decision(is_granted=False, reason="no entry", missing=4)),
        ("O:BAD:(A;;LC;;;AN)", WRITE, Decision(is_granted=False, reason="no entry", missing=4)),
    ],
)
def test_entries_decide_in_their_order(sddl: str, wanted: int, expected: Decision) -> None:
    "MSEC-158, MSEC-159, MSEC-160"
    assert check(sddl, {ALICE, EVERYONE}, wanted) == expected


@pytest.mark.parametrize("owner", [ANONYMOUS, EVERYONE])
def test_an_owner_who_is_everybody_has_no_rights_of_an_owner(owner: Sid) -> None:
    "MSEC-161"
    assert not check(f"O:{owner}D:", {owner}, CHANGE).is_granted


def test_no_words_are_no_list() -> None:
    assert is_granted("", frozenset(), QueueRights.GENERIC_ALL)
    assert not is_granted("O:BAD:", frozenset({ADMINISTRATORS}), WRITE)
    assert is_granted("O:BAD:(A;;LC;;;BA)", frozenset({ADMINISTRATORS}), WRITE)
