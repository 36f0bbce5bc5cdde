"""Managers over REST."""

from __future__ import annotations

import asyncio
from urllib.parse import quote
from uuid import UUID

from tests.unit.console.harness import AS_PROGRAM, Desk, at_desk

from openmsmq.console.minutes import Minutes
from openmsmq.types.units import unit_name

ELSEWHERE = r"DIRECT=OS:elsewhere\private$\x"
HERE = "/managers/here"


@at_desk
async def test_a_manager_tells_how_it_is(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send_many(["a", "b"])
    (shown,) = await desk.ask("GET", "/managers")
    assert (shown["name"], shown["queues"], shown["messages"]) == ("here", 1, 2)
    assert (await desk.ask("GET", HERE))["state"] == "ready"
    assert await desk.ask("GET", f"{HERE}/findings") == []
    assert "history" in (await desk.ask("GET", f"{HERE}/settings"))["settings"]
    changed = await desk.ask("PATCH", f"{HERE}/settings", {"history": 5})
    assert changed["settings"]["history"] == 5
    await desk.ask("PATCH", f"{HERE}/settings", {"nothing": 5}, status=400)
    await desk.ask("PATCH", f"{HERE}/settings", {}, status=400)
    entries = await desk.ask("GET", f"{HERE}/audit")
    assert "configure" in [entry["act"] for entry in entries]
    assert await desk.ask("GET", f"{HERE}/audit?after={entries[-1]['number']}") == []
    assert await desk.ask("GET", f"{HERE}/peers") == []
    assert await desk.ask("GET", f"{HERE}/multicast") == []
    assert await desk.ask("GET", f"{HERE}/subscriptions") == []


@at_desk
async def test_outgoing_queues_are_paused_and_resumed(desk: Desk) -> None:
    await (await desk.manager.open_queue(ELSEWHERE)).send("x")
    name = "DIRECT=OS:elsewhere%5Cprivate$%5Cx"
    await desk.ask("POST", f"{HERE}/outgoing/{name}/pause", status=204)
    (shown,) = await desk.ask("GET", f"{HERE}/outgoing")
    assert (shown["state"], shown["messages"]) == ("on hold", 1)
    (finding,) = await desk.ask("GET", f"{HERE}/findings")
    assert finding["kind"] == "paused"
    await desk.ask("POST", f"{HERE}/outgoing/{name}/resume", status=204)
    await desk.ask("POST", f"{HERE}/outgoing/{name}/explode", status=404)


@at_desk
async def test_the_outcome_of_a_transaction_is_confirmed_by_its_name(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders", transactional=True)
    work = desk.manager.transaction("tx1")
    await queue.send("x", transaction=work)
    await work.prepare()
    assert (await desk.ask("GET", f"{HERE}/transactions"))["prepared"].keys() == {"tx1"}
    await desk.ask("POST", f"{HERE}/transactions/tx1/commit", status=409)
    await desk.ask("POST", f"{HERE}/transactions/tx1/commit?confirm=tx1", status=204)
    assert (await queue.info()).messages == 1
    await desk.ask("POST", f"{HERE}/transactions/tx1/explode?confirm=tx1", status=404)


@at_desk
async def test_a_unit_that_no_one_confirms_is_forgotten(desk: Desk) -> None:
    backend = desk.manager.backend
    name = unit_name(UUID(desk.manager.id), "a" * 24)
    work = await backend.begin(name, stage=False)
    await backend.commit(work, ["gone database"])
    (unit,) = (await desk.ask("GET", f"{HERE}/transactions"))["units"]
    assert (unit["name"], unit["waiting"]) == (name, ["gone database"])
    place = f"{HERE}/transactions/{quote(name)}/forget"
    await desk.ask("POST", place, status=409)
    await desk.ask("POST", f"{place}?confirm={quote(name)}", status=204)
    assert (await desk.ask("GET", f"{HERE}/transactions"))["units"] == []
    await desk.ask("POST", f"{place}?confirm={quote(name)}", status=404)


@at_desk
async def test_changes_come_as_events(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    async with desk.client.get("/api/v1/events?manager=here", headers=AS_PROGRAM) as stream:
        assert stream.content_type == "text/event-stream"

        async def until(word: bytes) -> None:
            async for line in stream.content:
                if word in line:
                    return

        await asyncio.wait_for(until(b"event: all"), 30)
        await queue.send("x")
        await asyncio.wait_for(until(b'orders":[1,'), 30)
    series = await desk.ask("GET", f"{HERE}/series")
    assert series["messages"][-1] == 1
    assert (await desk.ask("GET", f"{HERE}/series?queue=.%5Cprivate$%5Corders"))["messages"]


@at_desk
async def test_a_finding_is_silenced_and_heard_again(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders", quota=1)
    await queue.send("x" * 400)
    (found,) = await desk.ask("GET", "/managers/here/findings")
    assert found["silenced"] is None
    asked = {"kind": found["kind"], "queue": found["queue"], "hours": 2, "reason": "known"}
    (silent,) = await desk.ask("POST", "/managers/here/findings/silence", asked)
    assert silent["silenced"] is not None
    await desk.ask("POST", "/managers/here/findings/silence", {**asked, "hours": 0})
    assert (await desk.ask("GET", "/managers/here/findings"))[0]["silenced"] is None
    assert [act[1] for act in desk.acts] == ["silence quota"] * 2


@at_desk
async def test_topics_that_there_are_not_are_refused(desk: Desk) -> None:
    for wrong in ("nothing", "queue", "overview," * 3 + "x", "queue:a," * 201):
        await desk.ask("GET", f"/events?topics={wrong}", status=400)


@at_desk
async def test_a_subscription_is_dropped(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send_many(["x", "y"])
    reader = await queue.subscription("lake")
    await reader.reserve(0)
    (found,) = await desk.ask("GET", "/managers/here/subscriptions")
    assert (found["name"], found["uncommitted"]) == ("lake", 2)
    place = f"/managers/here/subscriptions/lake?queue={quote(found['queue'])}"
    await desk.ask("DELETE", place, status=409)
    await desk.ask("DELETE", f"{place}&uncommitted=1", status=409)
    await desk.ask("DELETE", "/managers/here/subscriptions/lake?queue=jobs", status=404)
    await desk.ask("DELETE", f"{place}&uncommitted=2", status=204)
    assert await desk.ask("GET", "/managers/here/subscriptions") == []
    assert (await queue.info()).messages == 2
    assert [act[1:3] for act in desk.acts] == [("drop subscription", found["queue"])]


@at_desk
async def test_a_manager_tells_how_much_room_its_disk_has(desk: Desk) -> None:
    (shown,) = await desk.ask("GET", HERE.rpartition("/")[0])
    assert shown["free"] is None
    desk.state.minutes["here"] = Minutes()
    for free in (7_000, 5_000):
        desk.state.minutes["here"].add_free(desk.state.wall(), free)
    assert (await desk.ask("GET", HERE))["free"] == 5_000
