"""Numbers over time."""

from __future__ import annotations

import asyncio

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
        sampler._tell(b"event: change\n\n")
    assert queue.qsize() < BACKLOG
    assert b"event: all" in queue.get_nowait()


@at_desk
async def test_a_manager_that_is_away_is_reported(desk: Desk) -> None:
    async def connect() -> object:
        raise ConnectionRefusedError("away")

    sampler = Sampler(connect)  # type: ignore[arg-type]
    queue = sampler.listen()
    await queue.get()
    assert b"event: away" in await asyncio.wait_for(queue.get(), 10)
    await sampler.stop()
