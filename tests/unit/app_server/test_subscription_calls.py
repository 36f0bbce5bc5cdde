"""The CALLs that open, read and drop subscriptions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.app_server.programs import House, Program, bodies, refused, served

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import Kind
from openmsmq.app_protocol.limits import BATCH_SIZE_MAX
from openmsmq.errors import (
    AccessDenied,
    InvalidParameter,
    SubscriptionTaken,
)


async def open_reader(program: Program, handle: int, name: str = "lake", **given: Any) -> int:
    found = await program.call("open_reader", handle=handle, name=name, **given)
    return int(found["reader"])


async def fetch(program: Program, reader: int, after: int, last: int) -> list[app.QueuedMessage]:
    found = await program.ask(Kind.FETCH, app.Fetch(reader, after, last).encode())
    assert len(found.payload) <= BATCH_SIZE_MAX or len(found.messages) == 1
    return found.messages


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("open_reader", {"name": "lake"}),
        ("open_reader", {"name": "lake", "handle": 1, "queue": "orders"}),
        ("open_reader", {"handle": 1}),
        ("open_reader", {"handle": 1, "name": "lake", "copy": 1}),
        ("reserve", {"reader": 2, "after": 0}),
        ("reserve", {"reader": 2, "after": 0, "count": 0}),
        ("reserve", {"reader": 2, "after": 0, "count": 1, "bytes": 0}),
        ("reserve", {"reader": 2, "after": -1, "count": 1}),
        ("commit_position", {"reader": 2}),
        ("commit_position", {"reader": 2, "position": 1 << 64}),
        ("commit_position", {"reader": 2, "position": 1}),
        ("bind", {"reader": 2}),
        ("bind", {"reader": 2, "take_over": 1}),
        ("bind", {"reader": 2, "read": -1}),
        ("mark_read", {"reader": 2, "after": 0}),
        ("mark_read", {"reader": 2, "after": 0, "last": 1}),
        ("subscriptions", {"queue": "orders"}),
        ("drop_subscription", {"name": "lake"}),
    ],
)
def test_arguments_that_make_no_sense(tmp_path: Any, call: str, given: dict[str, Any]) -> None:
    @served()
    async def test(house: House) -> None:
        program = await house.program()
        assert await open_reader(program, await program.create()) == 2
        await refused(program.call(call, **given), InvalidParameter)

    test(tmp_path)


@served()
async def test_to_read_needs_the_role_read_and_to_drop_needs_admin(house: House) -> None:
    admin = await house.program(house.token("admin"))
    handle = await admin.create()
    await admin.send(handle, "a")
    await open_reader(admin, handle)
    await admin.create("others")
    reader = await house.program(house.token("read", "orders"))
    theirs = await open_reader(reader, await reader.open("orders"))
    assert await reader.call("reserve", reader=theirs, after=0, count=1) == {"reserved": 1}
    (seen,) = (await reader.call("subscriptions"))["subscriptions"]
    assert (seen["queue"], seen["uncommitted"]) == (r".\private$\orders", 1)
    by_name = {"name": "lake", "queue": "orders"}
    await refused(reader.call("drop_subscription", **by_name), AccessDenied)
    sender = await house.program(house.token("send"))
    await refused(open_reader(sender, await sender.open("orders")), AccessDenied)
    await refused(sender.call("open_reader", **by_name), AccessDenied)
    assert (await sender.call("subscriptions"))["subscriptions"] == []
    assert await admin.call("drop_subscription", **by_name) == {"count": 1}


@served()
async def test_a_subscription_belongs_to_the_owner_that_it_is_bound_to(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a", "b", "c")
    old = await open_reader(program, handle)  # as programs do that know no owners
    mine = await open_reader(program, handle, owner="me")
    yours = await open_reader(program, handle, owner="you")
    assert len({old, mine, yours}) == 3
    assert await open_reader(program, handle, owner="me") == mine
    await program.call("reserve", reader=old, after=0, count=3)
    assert bodies(await fetch(program, old, 0, 1)) == ["a"]
    await refused(fetch(program, mine, 0, 1), SubscriptionTaken)
    assert await program.call("bind", reader=mine) == {}
    assert bodies(await fetch(program, mine, 0, 3)) == ["a", "b", "c"]
    for other in (old, yours):
        await refused(fetch(program, other, 0, 1), SubscriptionTaken)
        await refused(program.call("commit_position", reader=other, position=1), SubscriptionTaken)
    await refused(program.call("bind", reader=yours), SubscriptionTaken)
    assert await program.call("mark_read", reader=mine, after=1, last=3) == {}
    assert await program.call("commit_position", reader=mine, position=3) == {}
    (seen,) = (await program.call("subscriptions"))["subscriptions"]
    assert (seen["owner"], seen["unread"], seen["uncommitted"]) == ("me", 1, 0)
    assert await program.call("bind", reader=yours, take_over=True) == {}
    opened = await program.call("open_reader", handle=handle, name="lake", owner="me")
    assert opened["owner"] == "you"
    back = await program.call("drop_subscription", name="lake", queue="orders", unread=True)
    assert back == {"count": 1}
    assert bodies(await program.read(handle, count=9, mode=app.PEEK)) == ["a"]
