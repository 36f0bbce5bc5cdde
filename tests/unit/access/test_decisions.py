"""Who may do what with a queue, and why; `tests/unit/cli/security/test_permissions.py` has more."""

from __future__ import annotations

import pytest

from openmsmq.access.decisions import AccessVerdict, PermissionLine, decide, entries_of
from openmsmq.security.access import QueueRights
from openmsmq.security.descriptor import Ace, AceType, Acl, SecurityDescriptor
from openmsmq.security.principals import parse_principal
from openmsmq.types.caller import Grant

QUEUE = r".\private$\orders"
ANNA = parse_principal("user:anna")
LISTED = SecurityDescriptor(
    owner=ANNA,
    dacl=Acl(
        (
            Ace(AceType.DENIED, int(QueueRights.WRITE_MESSAGE), parse_principal("user:bob")),
            Ace(AceType.ALLOWED, int(QueueRights.WRITE_MESSAGE), parse_principal("everyone")),
        )
    ),
)
SEND = QueueRights.WRITE_MESSAGE


def test_entries_are_in_words_and_their_order() -> None:
    assert entries_of(LISTED) == [
        PermissionLine("deny", "user:bob", "send"),
        PermissionLine("allow", "everyone", "send"),
    ]
    assert entries_of(SecurityDescriptor()) is None


@pytest.mark.parametrize(
    ("who", "wanted", "verdict"),
    [
        ("user:bob", SEND, AccessVerdict(False, 1, "entry 1 decides: deny user:bob send")),
        ("user:eve", SEND, AccessVerdict(True, 2, "entry 2 decides: allow everyone send")),
        ("anonymous", SEND, AccessVerdict(False, None, "no entry allows send")),
        (
            "user:anna",
            QueueRights.CHANGE_QUEUE_PERMISSIONS,
            AccessVerdict(True, None, "the owner of a queue may read and change its permissions"),
        ),
    ],
)
def test_the_entry_that_decides_is_named(
    who: str, wanted: QueueRights, verdict: AccessVerdict
) -> None:
    assert decide(LISTED, who, wanted, QUEUE, None) == verdict


def test_the_role_of_a_token_must_allow_it_too() -> None:
    open_queue = SecurityDescriptor()
    for role, allowed in (("send", True), ("peek", False), ("admin", True)):
        grant = Grant(role, token="t1")
        assert decide(open_queue, "token:t1", SEND, QUEUE, grant).allowed is allowed
    limited = Grant("send", ("jobs*",), token="t1")
    verdict = decide(LISTED, "token:t1", SEND, QUEUE, limited)
    assert verdict == (False, 2, "the role send of token:t1 does not allow it here")
    delete = QueueRights.DELETE_QUEUE
    assert not decide(open_queue, "token:t1", delete, QUEUE, Grant("send", token="t1")).allowed
