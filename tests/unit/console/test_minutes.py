"""Numbers over a day."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest
from tests.unit.console.harness import Desk, at_desk

from openmsmq.client._async.manager import Manager
from openmsmq.console.limits import MINUTE_QUEUES_MAX, MINUTES
from openmsmq.console.minutes import MinuteKeeper, Minutes, PointColumns
from openmsmq.errors import AccessDenied


def test_a_day_is_kept_and_no_more() -> None:
    columns = PointColumns(("messages",))
    for minute in range(3 * MINUTES):
        columns.add(60.0 * minute, float(minute))
    found = columns.since(0)
    assert len(found["time"]) == MINUTES
    assert found["messages"][-1] == 3 * MINUTES - 1
    assert columns.since(60.0 * (3 * MINUTES - 2))["messages"] == [3 * MINUTES - 2, 3 * MINUTES - 1]
    assert columns.since(1e9) == {"time": [], "messages": []}


@at_desk
async def test_queues_and_totals_with_rates(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    minutes, now = Minutes(), [60.0]

    async def connect() -> Manager:
        return desk.manager

    keeper = MinuteKeeper(minutes, connect, lambda: now[0])
    await keeper.keep()
    await queue.send_many(["a"] * 120)
    await queue.receive_many(60)
    now[0] = 120.0
    await keeper.keep()
    name = r".\private$\orders"
    assert minutes.queue(name, 0) == {
        "time": [120.0],
        "messages": [60.0],
        "arrived": [2.0],
        "received": [1.0],
    }
    totals = minutes.totals(0)
    assert (totals["messages"], totals["arrived"], totals["dead_letters"]) == ([60.0], [2.0], [0.0])
    assert minutes.queue("nothing", 0) == {}
    await desk.manager.delete_queue("orders")
    await keeper.keep()
    assert minutes.queue(name, 0) == {}


@at_desk
async def test_the_busiest_queues_have_series(desk: Desk) -> None:
    await desk.manager.create_queue("orders")
    (info,) = await desk.manager.queues()
    many = [replace(info, name=f"q{n}", arrived=n) for n in range(MINUTE_QUEUES_MAX + 3)]
    minutes = Minutes()
    minutes.add(0.0, many, Counter())
    minutes.add(60.0, many, Counter())
    kept = [one.name for one in many if minutes.queue(one.name, 0)]
    assert kept == [one.name for one in many[3:]]


def test_a_manager_that_lets_no_one_in_is_not_asked_again() -> None:
    asked = 0

    async def connect() -> Manager:
        nonlocal asked
        asked += 1
        raise AccessDenied("no")

    asyncio.run(MinuteKeeper(Minutes(), connect, lambda: 0.0).run())
    assert asked == 1


@at_desk
async def test_series_of_a_day_are_for_those_who_see_the_queue(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")

    async def connect() -> Manager:
        return desk.manager

    minutes = desk.state.minutes["here"] = Minutes()
    now = desk.state.wall()
    await MinuteKeeper(minutes, connect, lambda: now - 7000).keep()
    await queue.send("a")
    await MinuteKeeper(minutes, connect, lambda: now - 60).keep()
    await MinuteKeeper(minutes, connect, lambda: now).keep()
    name = "queue=.%5Cprivate%24%5Corders"
    day = await desk.ask("GET", f"/managers/here/series?span=24h&{name}")
    assert day["messages"] == [1, 1]
    hour = await desk.ask("GET", f"/managers/here/series?span=1h&{name}")
    assert hour["messages"] == [1]
    total = await desk.ask("GET", "/managers/here/series?span=24h")
    assert total["messages"] == [1, 1]
    gone = await desk.ask("GET", "/managers/here/series?span=24h&queue=secret")
    assert gone == {"time": [], "messages": []}
    await desk.ask("GET", "/managers/here/series?span=1y", status=400)
    page = await desk.ask("GET", "/managers/here/queues?trend=true")
    assert page["queues"][0]["trend"] == [0] or page["queues"][0]["trend"] == []


@pytest.mark.parametrize("address", ["unix:/x", "127.0.0.1:1811"])
def test_numbers_of_managers_here_are_kept(address: str) -> None:
    from openmsmq.console.managers import ManagerPlace
    from openmsmq.console.process import is_kept

    assert is_kept(ManagerPlace(address))
    assert not is_kept(ManagerPlace("10.0.0.1:1811"))
    assert is_kept(ManagerPlace("10.0.0.1:1811", "token"))
