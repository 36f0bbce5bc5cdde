"""Searches that run by themselves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.console.harness import Desk, at_desk

from openmsmq import Message
from openmsmq.console.desk import searches
from openmsmq.console.limits import LOGIN_SEARCHES_MAX


async def ended(desk: Desk, name: str) -> dict[str, Any]:
    """A search when it is over."""
    while True:
        found: dict[str, Any] = await desk.ask("GET", f"/searches/{name}")
        if found["state"] != "running":
            return found
        await asyncio.sleep(0.01)


@at_desk
async def test_a_search_looks_everywhere_and_tells_how_far_it_is(desk: Desk) -> None:
    for name in ("orders", "jobs"):
        queue = await desk.manager.create_queue(name)
        await queue.send_many([Message("x", label=f"{name} {n}") for n in range(120)])
    asked = {"filter": "label:*7"}
    begun = await desk.ask("POST", "/searches", asked, status=201)
    found = await ended(desk, begun["id"])
    assert (found["state"], found["found"], found["asked"]) == ("done", 24, {"here": "ok"})
    assert (found["looked_at"], found["total"]) == (240, 240)
    assert {one["queue"] for one in found["hits"]} == {r".\private$\orders", r".\private$\jobs"}
    later = await desk.ask("GET", f"/searches/{begun['id']}?after=20")
    assert len(later["hits"]) == 4
    some = await desk.ask("POST", "/searches", {**asked, "queues": "jobs", "limit": 5}, status=201)
    few = await ended(desk, some["id"])
    assert (few["state"], few["found"]) == ("full", 5)
    more = await desk.ask("POST", f"/searches/{few['id']}/more", status=202)
    assert more["hits"] == []
    more = await ended(desk, few["id"])
    assert (more["state"], more["found"]) == ("full", 10)
    await desk.ask("POST", f"/searches/{few['id']}/more", status=202)
    all_of_them = await ended(desk, few["id"])
    assert (all_of_them["state"], all_of_them["looked_at"]) == ("done", 120)
    labels = [one["label"] for one in all_of_them["hits"]]
    assert labels == [f"jobs {n}" for n in range(7, 120, 10)], "each once, in order"
    await desk.ask("POST", "/searches", {"filter": " "}, status=400)
    await desk.ask("POST", "/searches", {"filter": "size:x"}, status=400)
    await desk.ask("POST", "/searches", {"filter": "x", "managers": ["no"]}, status=404)
    await desk.ask("GET", "/searches/nothing", status=404)


@at_desk
async def test_a_search_can_be_stopped_and_a_login_has_few(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send_many([Message("x", label=f"{n}") for n in range(3000)])
    begun = [
        (await desk.ask("POST", "/searches", {"filter": f"label:{n}"}, status=201))["id"]
        for n in range(LOGIN_SEARCHES_MAX + 1)
    ]
    assert (await ended(desk, begun[0]))["state"] == "stopped"
    await desk.ask("DELETE", f"/searches/{begun[-1]}", status=204)
    assert (await ended(desk, begun[-1]))["state"] == "stopped"


def test_a_search_that_no_one_asks_for_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "SEARCH_SILENCE_S", 0.01)

    @at_desk
    async def forgotten(desk: Desk) -> None:
        queue = await desk.manager.create_queue("orders")
        await queue.send_many([Message("x", label=f"{n}") for n in range(3000)])
        begun = await desk.ask("POST", "/searches", {"filter": "label:1"}, status=201)
        task = desk.state.searches._searches[begun["id"]].task
        assert task is not None
        await asyncio.wait([task])
        assert (await desk.ask("GET", f"/searches/{begun['id']}"))["state"] == "stopped"

    forgotten()
