"""Subscriptions with a name, frame by frame."""

from __future__ import annotations

from typing import Any

from tests.unit.app_server.programs import House, Program, bodies, lookups, packet, refused, served

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import Kind
from openmsmq.app_protocol.limits import BATCH_SIZE_MAX
from openmsmq.app_server.subscriptions import CLEAN_FROM
from openmsmq.errors import (
    InvalidHandle,
    InvalidParameter,
    QueueNotFound,
)


async def open_reader(program: Program, handle: int, name: str = "lake", **given: Any) -> int:
    found = await program.call("open_reader", handle=handle, name=name, **given)
    return int(found["reader"])


async def fetch(program: Program, reader: int, after: int, last: int) -> list[app.QueuedMessage]:
    found = await program.ask(Kind.FETCH, app.Fetch(reader, after, last).encode())
    assert len(found.payload) <= BATCH_SIZE_MAX or len(found.messages) == 1
    return found.messages


@served()
async def test_what_was_reserved_is_fetched_until_it_is_finished(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a", "b", "c")
    places = lookups(await program.read(handle, count=9, mode=app.PEEK))
    asked = {"handle": handle, "name": "lake"}
    opened = await program.call("open_reader", **asked)
    start = {"committed": 0, "reserved": 0, "owner": "", "marked": 0}
    assert opened == {"reader": opened["reader"]} | start
    reader = opened["reader"]
    assert await program.call("reserve", reader=reader, after=0, count=2) == {"reserved": 2}
    found = await fetch(program, reader, 0, 2)
    assert (bodies(found), lookups(found)) == (["a", "b"], places[:2])
    assert await program.call("commit_position", reader=reader, position=1) == {}
    await refused(fetch(program, reader, 0, 1), InvalidParameter)
    assert bodies(await fetch(program, reader, 1, 2)) == ["b"]
    other = await house.program()
    handle = await other.open("orders")
    opened = await other.call("open_reader", handle=handle, name="LAKE")
    assert (opened["committed"], opened["reserved"]) == (1, 2)


@served()
async def test_a_connection_has_one_number_for_a_subscription(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    first = await open_reader(program, handle)
    assert await open_reader(program, handle) == first
    assert await open_reader(program, handle, "other", copy=True) != first
    await program.call("drop_subscription", name="lake", queue="orders")
    await refused(program.call("reserve", reader=first, after=0, count=1), QueueNotFound)
    assert await open_reader(program, handle) != first


@served()
async def test_a_connection_forgets_subscriptions_that_were_dropped(house: House) -> None:
    """Not with the next one at once: to look at all of them each time would take long."""
    program = await house.program()
    handle = await program.create()
    first = await open_reader(program, handle)
    others = [await open_reader(program, handle, f"lake {n}") for n in range(CLEAN_FROM - 1)]
    await program.call("drop_subscription", name="lake", queue="orders")
    await refused(program.call("reserve", reader=first, after=0, count=1), QueueNotFound)
    again = await open_reader(program, handle)
    await refused(program.call("reserve", reader=first, after=0, count=1), InvalidHandle)
    for reader in (again, *others):
        assert await program.call("reserve", reader=reader, after=0, count=1) == {"reserved": 0}


@served()
async def test_what_is_fetched_fits_a_frame(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    large = packet(b"x" * 1_300_000)
    for _ in range(4):
        await program.answer(program.begin_send(handle, large))
    reader = await open_reader(program, handle)
    assert await program.call("reserve", reader=reader, after=0, count=9) == {"reserved": 4}
    assert len(await fetch(program, reader, 0, 4)) == 2
    assert len(await fetch(program, reader, 3, 4)) == 1


@served()
async def test_a_subscription_of_a_deleted_queue_is_opened_by_name(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a")
    reader = await open_reader(program, handle)
    await program.call("reserve", reader=reader, after=0, count=1)
    by_name = {"name": "lake", "queue": "orders"}
    await refused(program.call("open_reader", **by_name), InvalidParameter)
    await program.call("delete_queue", name="orders")
    other = await house.program()
    opened = await other.call("open_reader", **by_name)
    assert bodies(await fetch(other, opened["reader"], 0, 1)) == ["a"]
    assert await other.call("drop_subscription", **by_name) == {"count": 1}
    await refused(other.call("open_reader", **by_name), QueueNotFound)


@served()
async def test_a_number_that_nothing_is_open_under(house: House) -> None:
    program = await house.program()
    await refused(fetch(program, 1, 0, 0), InvalidHandle)
