"""Callers: a name for the history, and what they are entitled to."""

from __future__ import annotations

import pytest
from tests.unit.app_server.programs import House, served

from openmsmq.types.caller import EVERYTHING, INTERNAL, ROLES, Grant, Role


def test_the_manager_itself_has_no_name_and_may_do_everything() -> None:
    assert (INTERNAL.name, INTERNAL.grant) == ("", EVERYTHING)


@pytest.mark.parametrize("role", ROLES)
def test_a_grant_has_the_rights_of_its_role(role: Role) -> None:
    grant = Grant(role, ("private$\\a",))
    assert grant.has("read") is (role in ("read", "read+send", "admin"))
    assert grant.has("send") is (role in ("send", "read+send", "admin"))
    assert grant.has("admin") is (role == "admin")


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
