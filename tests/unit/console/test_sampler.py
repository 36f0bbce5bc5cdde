"""Numbers over time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.unit.console.harness import Desk, at_desk

from openmsmq.console.sampler import BACKLOG, Sampler


@at_desk
async def test_changes_are_reported_to_all_and_series_are_kept(desk: Desk) -> None:
    async def connect() -> object:
        return desk.manager

    queue = await desk.manager.create_queue("orders")
    sampler = Sampler(connect)  # type: ignore[arg-type]
    first, second = sampler.listen(), sampler.listen()
    assert b"event: all" in await asyncio.wait_for(first.get(), 10)
    await queue.send_many(["a", "b"])
    seen = b""
    while b'orders":[2,' not in seen:
        seen = await asyncio.wait_for(first.get(), 10)
    assert second.qsize() >= 2
    sampler.forget(second)
    while not sampler.rates_of(r".\private$\orders").is_moving:
        await asyncio.wait_for(first.get(), 10)
    change, arriving, leaving = sampler.rates_of(r".\private$\orders")
    assert change == arriving
    assert (arriving or 0) > 0
    assert leaving == 0
    assert sampler.queues[r".\private$\orders"][-1].messages == 2
    assert sampler.rates_of("nothing") == (None, None, None)
    await sampler.stop()


@at_desk
async def test_a_page_that_does_not_keep_up_begins_anew(desk: Desk) -> None:
    sampler = Sampler(lambda: desk.state.links.find("here", "").manager())
    queue = sampler.listen()
    await sampler.stop()
    for _ in range(BACKLOG + 5):
        sampler._tell("change", {}, [])
    assert queue.qsize() < BACKLOG
    assert b"event: all" in queue.get_nowait()


def parts(event: bytes) -> tuple[str, str, dict[str, Any]]:
    """The identifier of an event, its kind, and what it says."""
    name, kind, data = event.decode().strip().split("\n")
    return name.removeprefix("id: "), kind.removeprefix("event: "), json.loads(data[6:])


@at_desk
async def test_a_page_hears_of_its_topics_and_goes_on_where_it_was(desk: Desk) -> None:
    orders = await desk.manager.create_queue("orders")
    await desk.manager.create_queue("jobs")
    sampler = Sampler(lambda: desk.state.links.find("here", "").manager())
    await sampler._sample(1.0)
    name = r".\private$\orders"
    one, few = sampler.listen(frozenset({name})), sampler.listen(frozenset())
    await sampler.stop()
    first, kind, said = parts(one.get_nowait())
    assert (kind, set(said["queues"])) == ("all", {name})
    assert parts(few.get_nowait())[2]["queues"] == {}
    await orders.send("x")
    await sampler._sample(2.0)
    await desk.manager.delete_queue("jobs")
    await sampler._sample(3.0)
    changes = [parts(one.get_nowait())[2]["queues"] for _ in range(2)]
    assert changes[0][name][0] == 1
    again = parts(sampler.listen(None, first).get_nowait())
    assert (again[1], again[2]["queues"][name][0]) == ("change", 1)
    assert again[2]["gone"] == [r".\private$\jobs"]
    newest = parts(sampler.listen(None, again[0]).get_nowait())
    assert (newest[1], newest[2]["queues"]) == ("change", {})
    for strange in ("", "x-1", "no number", f"{first.partition('-')[0]}-99"):
        assert parts(sampler.listen(None, strange).get_nowait())[1] == "all"
    await sampler.stop()


@at_desk
async def test_a_manager_that_is_away_is_reported(desk: Desk) -> None:
    async def connect() -> object:
        raise ConnectionRefusedError("away")

    sampler = Sampler(connect)  # type: ignore[arg-type]
    queue = sampler.listen()
    await queue.get()
    assert b"event: away" in await asyncio.wait_for(queue.get(), 10)
    await sampler.stop()
