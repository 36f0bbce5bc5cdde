"""Who may do what, decided in one place."""

from __future__ import annotations

from typing import get_args
from uuid import UUID

import pytest

from openmsmq.access.tokens import normal_pattern
from openmsmq.engine.authorization import (
    authorize,
    authorize_access,
    authorize_any,
    authorize_manager,
    authorize_manager_permissions,
    authorize_permissions,
    is_allowed,
    may_end,
)
from openmsmq.engine.queues.queue import ManagedQueue, QueueProperties
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import AccessDenied
from openmsmq.security.access import ManagerRights, QueueRights
from openmsmq.types.access import Access
from openmsmq.types.caller import EVERYTHING, INTERNAL, Caller, Grant, Right, Role

ROLES: tuple[Role, ...] = ("read", "send", "read+send", "admin")
ORDERS = r".\private$\orders"
OTHER = r".\private$\other"
ATOMS = (
    ManagerRights.GET_MACHINE_PERMISSIONS,
    ManagerRights.CHANGE_MACHINE_PERMISSIONS,
    ManagerRights.TAKE_MACHINE_OWNERSHIP,
)


def grant(role: Role, *patterns: str) -> Grant:
    """What a token with these patterns gives."""
    return Grant(role, tuple(map(normal_pattern, patterns)))


@pytest.mark.parametrize("operation", get_args(Right))
@pytest.mark.parametrize("role", ROLES)
def test_a_role_allows_its_operations_and_admin_all(role: Role, operation: Right) -> None:
    included = {"watch", "peek"} if "read" in role else set()
    expected = role == "admin" or operation in {*role.split("+"), *included}
    assert is_allowed(Caller("me", grant(role)), operation, ORDERS) is expected
    assert is_allowed(Caller("me", grant(role, "orders")), operation, ORDERS) is expected
    assert is_allowed(Caller("me", grant(role)), operation) is expected


@pytest.mark.parametrize(
    ("pattern", "queue", "allowed"),
    [
        ("orders", ORDERS, True),
        ("ORDERS", r".\PRIVATE$\Orders", True),
        ("orders", r".\private$\orders2", False),
        ("orders*", r".\private$\orders2", True),
        ("*", r".\private$\anything", True),
        ("*", r".\DeadLetter$", False),
        (r".\private$\orders", ORDERS, True),
        (r"private$\o?ders", ORDERS, True),
        ("orders", r".\private$\orders;retry", True),
        ("orders;retry", r".\private$\orders;retry", True),
        ("orders;retry", ORDERS, False),
        ("orders", r".\private$\orders\Journal$", False),
        (r"orders\Journal$", r".\private$\orders\Journal$", False),
        (r"private$\orders\Journal$", r".\private$\orders\Journal$", True),
        (r".\DeadLetter$", r".\DeadLetter$", True),
        (r"DIRECT=OS:shop\*", r"DIRECT=OS:shop\private$\orders", True),
        ("DIRECT=*", r"DIRECT=OS:other\private$\orders", True),
    ],
)
def test_a_pattern_names_queues(pattern: str, queue: str, *, allowed: bool) -> None:
    assert is_allowed(Caller("me", grant("read", pattern)), "read", queue) is allowed


@pytest.mark.parametrize("role", ROLES)
def test_what_was_refused_is_for_administrators(role: Role) -> None:
    for name in (r".\Refused$", r".\refused$"):
        for right in ("read", "send"):
            assert is_allowed(Caller("me", Grant(role)), right, name) is (role == "admin")
        assert not is_allowed(Caller("me", Grant(role, (r"private$\*",))), "read", name)
    assert is_allowed(Caller("me", Grant(role)), "read", r".\private$\refused$") is (
        role not in ("send",)
    )


def test_the_manager_itself_is_for_those_who_are_not_limited() -> None:
    assert is_allowed(Caller("me", EVERYTHING), "admin")
    assert not is_allowed(Caller("me", grant("admin", "*")), "admin")
    assert not is_allowed(Caller("me", grant("read", "*")), "read")


def test_several_patterns_name_more_queues() -> None:
    both = grant("send", "a", "b*")
    assert is_allowed(Caller("me", both), "send", r".\private$\a")
    assert is_allowed(Caller("me", both), "send", r".\private$\bc")
    assert not is_allowed(Caller("me", both), "send", r".\private$\c")


def test_a_right_on_several_queues_is_one_on_each() -> None:
    caller = Caller("me", grant("read", "orders"))
    assert is_allowed(caller, "read", ORDERS, ORDERS)
    assert not is_allowed(caller, "read", ORDERS, OTHER)


def test_the_error_names_role_right_and_queue() -> None:
    caller = Caller("me", grant("read", "orders"))
    authorize(caller, "read", ORDERS)
    with pytest.raises(AccessDenied, match=r"the role read does not allow 'read' on .*other"):
        authorize(caller, "read", ORDERS, OTHER)
    with pytest.raises(AccessDenied, match="the role read does not allow 'read' on the manager"):
        authorize(caller, "read")
    with pytest.raises(AccessDenied, match="the role read does not allow 'send' on any queue"):
        authorize_any(caller, "send")
    authorize_any(caller, "read")


def test_the_manager_itself_may_do_everything() -> None:
    for right in get_args(Right):
        authorize(INTERNAL, right)
        authorize(INTERNAL, right, ORDERS)


@pytest.mark.parametrize("right", ManagerRights)
def test_a_manager_is_open_until_its_permissions_are_set(right: ManagerRights) -> None:
    "MSEC-166: roles guard it until then; an empty list refuses all but what administrators keep."
    anna = Caller(grant=Grant("read+send", user="anna"))
    authorize_manager(anna, right, "")
    with pytest.raises(AccessDenied, match="the permissions of the manager do not allow"):
        authorize_manager(anna, right, "O:BAD:")


@pytest.mark.parametrize(
    ("after", "needed"),
    [
        ("O:BAD:", ManagerRights(0)),
        ("O:AUD:", ManagerRights.TAKE_MACHINE_OWNERSHIP),
        ("O:BAD:(A;;GA;;;WD)", ManagerRights.CHANGE_MACHINE_PERMISSIONS),
        ("", ManagerRights.CHANGE_MACHINE_PERMISSIONS),
        (
            "O:AU",
            ManagerRights.CHANGE_MACHINE_PERMISSIONS | ManagerRights.TAKE_MACHINE_OWNERSHIP,
        ),
    ],
)
def test_permissions_of_the_manager_and_its_owner_have_rights_of_their_own(
    after: str, needed: ManagerRights
) -> None:
    anna, boss = Caller("a", Grant("read", user="anna")), Caller("b", EVERYTHING)
    authorize_manager_permissions(boss, "O:BAD:", after)
    for mask in range(1 << len(ATOMS)):
        given = sum(int(right) for bit, right in enumerate(ATOMS) if mask >> bit & 1)
        entry = f"(A;;0x{given:x};;;{anna.grant.sid})" if given else ""
        before, wanted = f"O:BAD:{entry}", after.replace("D:", f"D:{entry}", 1)
        if not after:
            wanted = ""
        try:
            authorize_manager_permissions(anna, before, wanted)
            is_done = True
        except AccessDenied:
            is_done = False
        assert is_done is not bool(needed & ~given), (before, wanted)


@pytest.mark.parametrize(
    ("after", "needed"),
    [
        ("O:BAD:", 0),
        ("O:SYD:", QueueRights.TAKE_QUEUE_OWNERSHIP),
        ("O:BAD:(A;;GA;;;WD)", QueueRights.CHANGE_QUEUE_PERMISSIONS),
        (
            "O:SYD:(A;;GA;;;WD)",
            QueueRights.TAKE_QUEUE_OWNERSHIP | QueueRights.CHANGE_QUEUE_PERMISSIONS,
        ),
    ],
)
def test_another_owner_of_a_queue_and_other_permissions_each_take_a_right(
    after: str, needed: int
) -> None:
    anna, boss = Caller("a", Grant("read", user="anna")), Caller("b", EVERYTHING)
    rights = (QueueRights.TAKE_QUEUE_OWNERSHIP, QueueRights.CHANGE_QUEUE_PERMISSIONS)
    for given in (0, *rights, rights[0] | rights[1]):
        entry = f"(A;;0x{int(given):x};;;{anna.grant.sid})" if given else ""
        made = QueueProperties(ORDERS, UUID(int=1), 0, 0, permissions=f"O:BAD:{entry}")
        queue = ManagedQueue(1, made)
        wanted = after.replace("D:", f"D:{entry}", 1)
        authorize_permissions(boss, queue, wanted)
        if needed & ~given:
            with pytest.raises(AccessDenied):
                authorize_permissions(anna, queue, wanted)
        else:
            authorize_permissions(anna, queue, wanted)


def test_to_open_a_queue_with_all_access_gives_what_the_role_has() -> None:
    reader, sender = Caller("r", Grant("read")), Caller("s", Grant("send"))
    assert authorize_access(reader, Access.ALL, ORDERS) == Access.RECEIVE | Access.PEEK
    assert authorize_access(sender, Access.ALL, ORDERS) == Access.SEND
    assert authorize_access(sender, Access.SEND, ORDERS) == Access.SEND
    operator = Caller("o", Grant("operate"))
    assert authorize_access(operator, Access.ALL | Access.OPERATE, ORDERS) == Access.OPERATE
    for role in ("watch", "operate"):
        assert authorize_access(Caller("w", Grant(role)), Access.ALL, ORDERS) == Access(0)
    with pytest.raises(AccessDenied, match="does not allow 'read'"):
        authorize_access(Caller("w", grant("watch", "other")), Access.ALL, ORDERS)


@pytest.mark.parametrize(
    ("role", "asked", "right"),
    [
        ("read", Access.SEND, "send"),
        ("send", Access.RECEIVE, "read"),
        ("send", Access.PEEK | Access.SEND, "peek"),
        ("read", Access.RECEIVE | Access.SEND, "send"),
        ("read+send", Access.OPERATE, "operate"),
        ("operate", Access.OPERATE | Access.PEEK, "peek"),
    ],
)
def test_to_open_a_queue_with_more_than_the_role_has_is_refused(
    role: Role, asked: Access, right: Right
) -> None:
    with pytest.raises(AccessDenied, match=f"does not allow '{right}'"):
        authorize_access(Caller("me", Grant(role)), asked, ORDERS)


def test_a_prepared_transaction_is_ended_by_its_owner_or_an_administrator() -> None:
    transaction = ManagedTransaction(1, "x")
    transaction.token = "ab12"
    assert may_end(Caller("me", Grant("send", token="ab12")), transaction)
    assert not may_end(Caller("me", Grant("send", token="cd34")), transaction)
    assert may_end(Caller("me", EVERYTHING), transaction)
