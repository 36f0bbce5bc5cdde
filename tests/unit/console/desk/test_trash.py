"""The trash: what is deleted can be restored for a day."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from tests.unit.console.harness import Desk, at_desk

from openmsmq import Message
from openmsmq.console.desk.trash import TrashKeeper
from openmsmq.console.limits import TRASH_S

ORDERS = r".\private$\orders"


async def carry_out(desk: Desk, plan: dict[str, Any]) -> dict[str, Any]:
    """Run a plan, and wait for its end."""
    await desk.ask("POST", f"/plans/{plan['id']}/run", {}, status=202)
    while True:
        found: dict[str, Any] = await desk.ask("GET", f"/plans/{plan['id']}")
        if found["state"] != "running":
            return found
        await asyncio.sleep(0.01)


async def run(desk: Desk, asked: dict[str, Any]) -> dict[str, Any]:
    """Make a plan, and run it."""
    plan = await desk.ask("POST", "/plans", {"manager": "here", **asked}, status=201)
    return await carry_out(desk, plan)


async def labels(desk: Desk, name: str) -> list[str]:
    queue = await desk.manager.open_queue(name)
    return [one.label for one in await queue.peek_many(20, timeout=0)]


@at_desk
async def test_what_is_deleted_waits_in_the_trash_and_comes_back_to_its_place(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send_many([Message("x", label=str(n)) for n in range(5)])
    done = await run(desk, {"queue": "orders", "act": "delete", "filter": "label:1 OR label:3"})
    assert (done["done"], done["trash"]) == (2, f"{ORDERS};console-trash")
    assert "message move orders" in done["command"]
    assert await labels(desk, "orders") == ["0", "2", "4"]
    assert await labels(desk, "orders;console-trash") == ["1", "3"]
    undo = await desk.ask("POST", f"/plans/{done['id']}/undo", status=201)
    assert (undo["act"], undo["count"]) == ("restore", 2)
    assert (await carry_out(desk, undo))["state"] == "done"
    assert await labels(desk, "orders") == ["0", "1", "2", "3", "4"]
    await desk.ask("POST", f"/plans/{undo['id']}/undo", status=409)


@at_desk
async def test_a_message_of_a_subqueue_comes_back_to_it(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send(Message("x", label="bad"))
    await queue.move((await queue.peek(0)).lookup_id, "poison")
    done = await run(desk, {"queue": "orders;poison", "act": "delete"})
    assert done["trash"] == f"{ORDERS};console-trash"
    undo = await desk.ask("POST", f"/plans/{done['id']}/undo", status=201)
    assert (await carry_out(desk, undo))["state"] == "done"
    assert await labels(desk, "orders;poison") == ["bad"]


@at_desk
async def test_what_is_deleted_for_good_or_from_the_trash_is_gone(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send_many(["a", "b"])
    one = str((await queue.peek(0)).lookup_id)
    gone = {"queue": "orders", "act": "delete", "ids": [one], "for_good": True}
    done = await run(desk, gone)
    assert (done["done"], done["trash"]) == (1, "")
    await desk.ask("POST", f"/plans/{done['id']}/undo", status=409)
    await run(desk, {"queue": "orders", "act": "delete"})
    emptied = await run(desk, {"queue": "orders;console-trash", "act": "delete"})
    assert (emptied["done"], emptied["trash"]) == (1, "")
    assert sum(one.messages for one in await desk.manager.queues(everything=True)) == 0


@at_desk
async def test_the_trash_is_emptied_after_a_day(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send_many(["a", "b"])
    await run(desk, {"queue": "orders", "act": "delete"})
    now = time.time()
    keeper = TrashKeeper(desk.manager, lambda: now)
    assert await keeper.empty() == 0
    now += TRASH_S - 60
    assert await TrashKeeper(desk.manager, lambda: now).empty() == 0, "a restart changes nothing"
    now += 61
    assert await keeper.empty() == 2
    assert await keeper.empty() == 0


@at_desk
async def test_a_subqueue_of_a_program_is_never_emptied(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send("kept")
    await queue.move((await queue.peek(0)).lookup_id, "trash")
    keeper = TrashKeeper(desk.manager, lambda: time.time() + 10 * TRASH_S)
    assert await keeper.empty() == 0
    assert await labels(desk, "orders;trash") == [""]
