"""Permissions of queues and of the manager: principals x operations, with roles that allow all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.engine.office import Manager
from tests.unit.engine.station import Station, in_order, parcel
from tests.unit.engine.world import HERE

from openmsmq.engine.handle import QueueHandle
from openmsmq.errors import AccessDenied, IllegalSecurityDescriptor, UnsupportedFormatNameOperation
from openmsmq.properties.message import MessageClass
from openmsmq.security.access import QueueRights
from openmsmq.security.descriptor import AceType, Acl, SecurityDescriptor
from openmsmq.security.permissions import parse_entry
from openmsmq.security.sddl import format_sddl
from openmsmq.security.sid import ADMINISTRATORS
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import ANONYMOUS, EVERYTHING, INTERNAL, Caller, Grant
from openmsmq.types.message import Message

PRINCIPALS = {
    "user:anna": Caller("a", Grant("read+send", user="anna")),
    "token:ab12": Caller("t", Grant("read+send", token="ab12")),
    "certificate:CN=shop": Caller("c", Grant("read+send", certificate="CN=shop")),
    "anonymous": Caller("l", ANONYMOUS),
    "administrators": Caller("d", EVERYTHING),
}
ROOT = Caller("root", EVERYTHING)


def sddl(*allowed: str) -> str:
    """Permissions with these entries only."""
    aces = tuple(parse_entry(text, QueueRights, AceType.ALLOWED) for text in allowed)
    return format_sddl(SecurityDescriptor(ADMINISTRATORS, dacl=Acl(aces)))


def opened(manager: Manager, caller: Caller, access: Access, name: str = "q") -> QueueHandle:
    return manager.local.open_queue(name, Mode(access), caller)


OPERATIONS: dict[str, Callable[[Manager, Caller], Any]] = {
    "send": lambda m, c: m.done(opened(m, c, Access.SEND).send([Message(b"x")])),
    "peek": lambda m, c: opened(m, c, Access.PEEK).peek(1, wait=False),
    "receive": lambda m, c: opened(m, c, Access.RECEIVE).receive(1, wait=False),
    "receive-journal": lambda m, c: opened(m, c, Access.RECEIVE, r".\private$\q\Journal$"),
    "get-properties": lambda m, c: opened(m, c, Access.SEND).info(),
    "set-properties": lambda m, c: m.local.change_queue(m.local.find_queue("q"), c, label="x"),
    "delete": lambda m, c: m.local.delete_queue("q", c),
    "get-permissions": lambda m, c: m.local.permissions(m.local.find_queue("q"), c),
    "set-permissions": lambda m, c: m.local.set_permissions(m.local.find_queue("q"), "D:", c),
    "take-ownership": lambda m, c: m.local.set_permissions(
        m.local.find_queue("q"), "O:WD" + m.local.find_queue("q").properties.permissions[4:], c
    ),
}
CARE = ("get-permissions", "set-permissions", "take-ownership")


@pytest.mark.parametrize("right", OPERATIONS)
@pytest.mark.parametrize("who", PRINCIPALS)
def test_a_right_allows_its_operation_and_no_other(who: str, right: str) -> None:
    "MSEC-152, MSEC-153, MSEC-155"
    granted = {right}
    granted |= {"peek"} if right in ("receive", "receive-journal") else set()
    granted |= set(CARE) if who == "administrators" else set()
    needed = f"{who}={right},send" if right == "get-properties" else f"{who}={right}"
    granted |= {"send"} if right == "get-properties" else set()
    for name, operation in OPERATIONS.items():
        manager = Manager()
        manager.create("q", permissions=sddl(needed))
        if name in granted:
            operation(manager, PRINCIPALS[who])
        else:
            with pytest.raises(AccessDenied):
                operation(manager, PRINCIPALS[who])


@pytest.mark.parametrize("who", PRINCIPALS)
def test_without_a_list_everything_is_open(who: str) -> None:
    for operation in OPERATIONS.values():
        manager = Manager()
        manager.create("q")
        if operation is not OPERATIONS["take-ownership"]:
            operation(manager, PRINCIPALS[who])


def test_the_manager_itself_is_not_asked() -> None:
    manager = Manager()
    queue = manager.create("q", permissions="O:BAD:")
    manager.done(manager.local.change_queue(queue, label="x"))
    assert opened(manager, INTERNAL, Access.ALL).mode.access == Access.ALL


def test_to_ask_for_all_is_to_ask_for_what_is_permitted() -> None:
    manager = Manager()
    manager.create("q", permissions=sddl("user:anna=peek"))
    found = opened(manager, PRINCIPALS["user:anna"], Access.ALL)
    assert found.mode.access == Access.PEEK
    with pytest.raises(AccessDenied):
        found.send([Message(b"x")])


def test_a_change_counts_for_handles_that_are_open() -> None:
    manager = Manager()
    queue = manager.create("q", permissions=sddl("user:anna=send,peek"))
    found = opened(manager, PRINCIPALS["user:anna"], Access.ALL)
    manager.done(found.send([Message(b"x")]))
    manager.done(manager.local.set_permissions(queue, sddl("user:anna=peek"), ROOT))
    with pytest.raises(AccessDenied):
        found.send([Message(b"x")])
    manager.done(found.peek(1, wait=False))
    manager.done(manager.local.set_permissions(queue, "O:BA", ROOT))
    manager.done(found.send([Message(b"x")]))
    with pytest.raises(AccessDenied):  # it was not opened for more than it could have then
        found.receive(1, wait=False)


def test_permissions_outlive_a_restart_and_subqueues_have_those_of_their_queue() -> None:
    manager = Manager()
    manager.create("q", permissions=sddl("user:anna=peek"))
    manager = manager.restart()
    anna = PRINCIPALS["user:anna"]
    assert opened(manager, anna, Access.PEEK, "q;late").mode.access == Access.PEEK
    with pytest.raises(AccessDenied):
        opened(manager, anna, Access.RECEIVE, "q;late")


def test_the_owner_may_change_permissions_and_gives_none_away() -> None:
    "MSEC-160"
    manager = Manager()
    anna = Caller("a", Grant("admin", user="anna"))
    queue = manager.done(manager.local.create_queue("q", anna))
    reader = Caller("a", Grant("read", user="anna"))
    manager.done(manager.local.set_permissions(queue, "D:", ROOT))
    assert manager.local.permissions(queue, reader).endswith("D:")
    manager.done(manager.local.set_permissions(queue, "D:(A;;LC;;;WD)", reader))
    with pytest.raises(AccessDenied):
        manager.local.set_permissions(queue, "O:BAD:(A;;LC;;;WD)", reader)


def test_what_permissions_cannot_be() -> None:
    "MSEC-162"
    manager = Manager()
    queue = manager.create("q")
    with pytest.raises(IllegalSecurityDescriptor):
        manager.local.set_permissions(queue, "D:(A;;DT;;;WD)", ROOT)
    journal = manager.local.find_queue(r".\private$\q\Journal$")
    with pytest.raises(UnsupportedFormatNameOperation):
        manager.local.set_permissions(journal, "D:", ROOT)


MANAGER: dict[str, tuple[str, Callable[[Manager, Caller], Any]]] = {
    "create-queue": ("LC", lambda m, c: m.local.create_queue("new", c)),
    "receive dead letters": (
        "CCDC",
        lambda m, c: opened(m, c, Access.RECEIVE, r".\DeadLetter$").purge(),
    ),
    "peek at dead letters": ("DC", lambda m, c: opened(m, c, Access.PEEK, r".\XactDeadLetter$")),
    "receive from the journal": (
        "DTLO",
        lambda m, c: opened(m, c, Access.RECEIVE, r".\Journal$").purge(),
    ),
    "peek at the journal": ("LO", lambda m, c: opened(m, c, Access.PEEK, r".\Journal$")),
}


@pytest.mark.parametrize("right", MANAGER)
def test_rights_to_the_manager(right: str) -> None:
    "MSEC-151, MSEC-154"
    letters, operation = MANAGER[right]
    anna = PRINCIPALS["user:anna"]
    for permissions, allowed in ((f"O:BAD:(A;;{letters};;;AU)", True), ("O:BAD:", False)):
        manager = Manager()
        manager.done(manager.local.configure(permissions=permissions))
        if allowed:
            operation(manager, anna)
        else:
            with pytest.raises(AccessDenied):
                operation(manager, anna)


def test_the_manager_refuses_permissions_that_make_no_sense() -> None:
    with pytest.raises(IllegalSecurityDescriptor):
        Manager().local.configure(permissions="D:(A;;SW;;;WD)")


# Messages of other managers


def station(**properties: Any) -> Station:
    found = Station()
    found.world.queue("q", **properties)
    found.world.queue("admin")
    return found


@pytest.mark.parametrize("express", [True, False])
@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({}, None),
        ({"permissions": "O:BAD:(A;;LC;;;AN)"}, None),
        ({"permissions": "O:BA"}, None),
        ({"permissions": "O:BAD:(A;;LC;;;WD)"}, MessageClass.NACK_ACCESS_DENIED),
        ({"permissions": "O:BAD:(A;;LC;;;AU)"}, MessageClass.NACK_ACCESS_DENIED),
        ({"permissions": "O:BAD:"}, MessageClass.NACK_ACCESS_DENIED),
        ({"authenticate": True}, MessageClass.NACK_BAD_SIGNATURE),
        ({"privacy": 2}, MessageClass.NACK_BAD_ENCRYPTION),
        ({"privacy": 0}, None),
    ],
)
def test_a_message_from_elsewhere_is_anonymous(
    properties: dict[str, Any], reason: MessageClass | None, *, express: bool
) -> None:
    "MSEC-079, MSEC-082, MSEC-138, MSEC-141, MSEC-145"
    found = station(**properties)
    sent = [parcel("x", number=n, to=HERE + "q", express=express) for n in (1, 2, 3)]
    if express:
        found.begin_express(*sent)  # those behind the first are like it
    else:
        found.take(*sent)
    refused = found.core.queues.refused
    queue = found.world.find("q")
    assert queue.messages + len(queue.express) == (0 if reason else 3)
    assert refused.messages + len(refused.express) == (3 if reason else 0)


def test_a_message_over_http_is_everyone() -> None:
    "MSEC-148"
    for permissions, count in (("O:BAD:(A;;LC;;;WD)", 1), ("O:BAD:(A;;LC;;;AN)", 0)):
        found = station(permissions=permissions)
        found.origin.isolate(b"s" * 16, is_known=False)
        found.take(parcel("x", to=HERE + "q"))
        assert found.world.find("q").messages == count


def test_a_transactional_message_is_refused_with_its_number_consumed() -> None:
    "MSEC-084, MSEC-086"
    found = station(transactional=True, permissions="O:BAD:")
    found.take(*in_order(1, 2))
    assert found.world.find("q").messages == 0
    denied = MessageClass.NACK_ACCESS_DENIED
    assert [reason for reason, _ in found.finals()] == [denied, denied]
