"""Callers: a name for the history, and what they are entitled to."""

from __future__ import annotations

import pytest
from tests.unit.app_server.programs import House, served

from openmsmq.security.principals import ADMIN_TOKEN, ANONYMOUS_TOKEN, parse_principal
from openmsmq.security.sid import ADMINISTRATORS, AUTHENTICATED_USERS, EVERYONE
from openmsmq.types.caller import (
    ANONYMOUS,
    EVERYTHING,
    INTERNAL,
    RIGHTS,
    Caller,
    Grant,
    Right,
    Role,
    rights_of,
    role_of,
)
from openmsmq.types.queues import REFUSED_QUEUE


def test_a_user_of_this_computer_has_its_groups() -> None:
    """MSEC-150: S-1-22-1-uid and S-1-22-2-gid; root and the service's own user administer."""
    user = Grant("read+send", unix=(1000, 4, 1000))
    assert user.sids == frozenset(
        map(parse_principal, ("unix:1000", "unix-group:4", "unix-group:1000"))
    ) | {EVERYONE, AUTHENTICATED_USERS}
    assert ADMINISTRATORS in Grant("admin", unix=(0, 0)).sids
    assert (user.holder, Caller("x", user).principal) == ("unix:1000", "unix:1000")
    assert Caller().principal == "administrators"
    assert Caller("x", ANONYMOUS).principal == "anonymous"


def test_the_manager_itself_has_no_name_and_may_do_everything() -> None:
    assert (INTERNAL.name, INTERNAL.grant) == ("", EVERYTHING)


@pytest.mark.parametrize("role", ["read", "send", "read+send", "admin"])
def test_a_grant_has_the_rights_of_its_role(role: Role) -> None:
    grant = Grant(role, ("private$\\a",))
    assert grant.has("read") is (role in ("read", "read+send", "admin"))
    assert grant.has("send") is (role in ("send", "read+send", "admin"))
    assert grant.has("admin") is (role == "admin")


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        ("watch", {"watch"}),
        ("peek", {"watch", "peek"}),
        ("read", {"watch", "peek", "read"}),
        ("send", {"send"}),
        ("operate", {"watch", "operate"}),
        ("peek+send", {"watch", "peek", "send"}),
        ("admin", set(RIGHTS)),
        ("fly", set()),
        ("read+fly", set()),
        ("", set()),
    ],
)
def test_what_a_right_includes(role: Role, rights: set[str]) -> None:
    assert rights_of(role) == rights


def test_who_a_grant_is_to_permissions() -> None:
    "MSEC-149, MSEC-150"
    assert EVERYTHING.sids == ADMIN_TOKEN
    assert ANONYMOUS.sids == ANONYMOUS_TOKEN
    assert Grant("admin", user="Anonymous").sids == ANONYMOUS_TOKEN
    reader = Grant("read", token="ab12").sids
    assert parse_principal("token:ab12") in reader
    assert AUTHENTICATED_USERS in reader
    assert ADMINISTRATORS not in reader
    assert ADMINISTRATORS in Grant("admin", user="anna").sids
    assert parse_principal("user:ANNA") in Grant("read", user="anna").sids
    assert parse_principal("certificate:CN=x") in Grant("read", certificate="CN=x").sids


def test_a_grant_is_held_by_a_token_or_a_certificate() -> None:
    assert Grant("read", token="ab12").holder == "ab12"
    assert Grant("read", certificate="shop").holder == "shop"
    assert EVERYTHING.holder == ""


@served()
async def test_a_reader_that_waited_is_the_one_who_receives(house: House) -> None:
    """Not the sender whose message it waited for."""
    reader, sender = await house.program(client="reader"), await house.program(client="sender")
    handle = await reader.create()
    waiting = reader.begin_read(handle, timeout=60_000)
    await sender.call("open_queue", name="orders")
    sent = await sender.send(1, "a")
    (found,) = (await reader.answer(waiting)).messages
    await reader.end(handle, found.lookup_id)
    message_id = f"{house.local.identity}\\{sent.first_id}"
    events = (await sender.call("explain", message_id=message_id))["events"]
    assert [event["by"].partition(" ")[0] for event in events] == ["sender", "reader"]


@served()
async def test_what_the_manager_does_itself_has_no_caller(house: House) -> None:
    program = await house.program(client="me")
    handle = await program.create()
    sent = await program.send(handle, "a")
    queue = house.local.queues.find("private$\\orders")
    await house.driver.wait(lambda: house.local.queue_lifecycle.purge(queue))
    message_id = f"{house.local.identity}\\{sent.first_id}"
    events = (await program.call("explain", message_id=message_id))["events"]
    assert [event["event"] for event in events] == ["arrived", "purged"]
    assert [event["by"].partition(" ")[0] for event in events] == ["me", ""]


@pytest.mark.parametrize(
    "rights", [{"send"}, {"read", "send"}, {"peek", "read"}, {"admin", "send"}]
)
def test_a_role_has_the_rights_that_it_was_made_of(rights: set[Right]) -> None:
    role = role_of(rights)
    assert rights <= rights_of(role)
    for word in role.split("+"):
        rest = {right for right in rights if right != word}
        assert not rest or word not in rights_of(role_of(rest)), "it is needed"


def test_a_role_covers_its_queues_and_no_others() -> None:
    grant = Grant("read", ("private$\\orders*",))
    assert grant.has("read")
    assert grant.allows("read", ".\\private$\\orders", ".\\private$\\ORDERS2;retry")
    assert not grant.allows("read", ".\\private$\\orders", ".\\private$\\other")
    assert not grant.allows("admin", ".\\private$\\orders")
    assert not grant.allows("read"), "the manager itself is not one of its queues"
    assert Grant("read").allows("read")
    assert Grant("read").allows("read", ".\\private$\\other")


def test_what_was_refused_is_for_administrators() -> None:
    assert not Grant("read").allows("read", f".\\{REFUSED_QUEUE}")
    assert Grant("admin").allows("read", f".\\{REFUSED_QUEUE}")
