"""Plans, dead letters and stories over REST."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from tests.unit.console.harness import Desk, at_desk
from tests.unit.console.harness import desk as make_desk

from openmsmq import Message
from openmsmq.console.limits import NEWER_MAX
from openmsmq.console.links import ManagerEntry
from openmsmq.types.history import AuditEntry, HistoryEvent

LETTERS = r".\DeadLetter$"


async def run(desk: Desk, plan: dict[str, Any], body: Any = None) -> dict[str, Any]:
    """Run a plan and wait until it stands still."""
    await desk.ask("POST", f"/plans/{plan['id']}/run", body or {}, status=202)
    while True:
        found: dict[str, Any] = await desk.ask("GET", f"/plans/{plan['id']}")
        if found["state"] != "running":
            return found
        await asyncio.sleep(0.01)


async def with_letters(desk: Desk, count: int = 12) -> Any:
    queue = await desk.manager.create_queue("orders")
    late = [
        Message(str(n), label=f"order {n}", time_to_be_received=0, dead_letter=True)
        for n in range(count)
    ]
    await queue.send_many(late)
    while True:
        letters = await desk.ask("GET", "/managers/here/deadletters")
        if letters["total"] == count:
            return letters
        await asyncio.sleep(0.2)


@at_desk
async def test_dead_letters_are_grouped_and_return_in_order_and_once(desk: Desk) -> None:
    letters = await with_letters(desk)
    (group,) = letters["groups"]
    assert (group["count"], group["labels"], group["queue"]) == (12, "order #", LETTERS)
    asked = {"manager": "here", "queue": LETTERS, "act": "return", "filter": group["filter"]}
    plan = await desk.ask("POST", "/plans", asked, status=201)
    assert (plan["count"], plan["state"]) == (12, "ready")
    assert plan["command"].startswith("openmsmq message return")
    tried = await run(desk, plan, {"first": 2})
    assert (tried["done"], tried["state"]) == (2, "stopped")
    done = await run(desk, plan)
    assert (done["done"], done["gone"], done["state"]) == (12, 0, "done")
    await desk.ask("POST", f"/plans/{plan['id']}/run", {}, status=409)
    queue = await desk.manager.open_queue("orders")
    found = await queue.peek_many(20, timeout=0)
    assert [one.label for one in found] == [f"order {n}" for n in range(12)]
    assert {one.time_to_be_received for one in found} == {None}
    assert (await desk.ask("GET", "/managers/here/deadletters"))["total"] == 0
    story = await desk.ask("GET", "/explain?id=" + found[0].id)
    assert any("in place of" in event["text"] for event in story["events"])
    assert story["asked"] == {"here": "ok"}
    await desk.ask("GET", "/explain?id=nonsense", status=400)
    await desk.ask("DELETE", f"/plans/{plan['id']}", status=204)
    await desk.ask("GET", f"/plans/{plan['id']}", status=404)
    assert [act[1] for act in desk.acts].count("return messages") == 4


@at_desk
async def test_a_plan_does_what_it_showed_and_no_more(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    target = await desk.manager.create_queue("target")
    await queue.send_many(["a", "b", "c"])
    move = {"manager": "here", "queue": "orders", "act": "move", "target": "target"}
    plan = await desk.ask("POST", "/plans", move, status=201)
    await queue.send("late")
    await queue.receive(timeout=0)
    done = await run(desk, plan)
    assert (done["count"], done["done"], done["gone"]) == (3, 2, 1)
    assert (await target.info()).messages == 2
    assert (await queue.info()).messages == 1
    await desk.ask("POST", "/plans", {**move, "target": ""}, status=400)
    await desk.ask("POST", "/plans", {**move, "act": "explode"}, status=400)
    await desk.ask("POST", "/plans", {**move, "ids": ["x"]}, status=400)
    lookup = str((await queue.peek(0)).lookup_id)
    copied = await desk.ask("POST", "/plans", {**move, "act": "copy", "ids": [lookup]}, status=201)
    assert (await run(desk, copied))["done"] == 1
    purge = {"manager": "here", "queue": "target", "act": "purge"}
    purged = await run(desk, await desk.ask("POST", "/plans", purge, status=201))
    assert purged["done"] == 3
    assert len(await desk.ask("GET", "/plans")) == 3


@at_desk
async def test_what_matches_and_came_since_is_counted(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    every = [Message("x", label=f"order {n}", priority=n % 8) for n in range(40)]
    await queue.send_many(every)
    asked = {"manager": "here", "queue": "orders", "act": "delete", "filter": "label:order*"}
    plan = await desk.ask("POST", "/plans", asked, status=201)
    assert plan["newer"] is None
    place = f"/plans/{plan['id']}?newer=true"
    assert (await desk.ask("GET", place))["newer"] == 0
    await queue.send_many([Message("x", label="bill"), *every[:9]])
    found = await desk.ask("GET", place)
    assert (found["newer"], found["newer_complete"], found["count"]) == (9, True, 40)
    assert (await desk.ask("GET", place))["newer"] == 9
    await queue.send_many([Message("x", label="order")] * NEWER_MAX)
    some = await desk.ask("GET", place)
    assert (some["newer"], some["newer_complete"]) == (9 + NEWER_MAX, False)
    assert (await desk.ask("GET", place))["newer_complete"]
    assert (await desk.ask("GET", f"/plans/{plan['id']}"))["newer"] is None
    lookup = str((await queue.peek(0)).lookup_id)
    chosen = await desk.ask("POST", "/plans", {**asked, "filter": "", "ids": [lookup]}, status=201)
    assert (await desk.ask("GET", f"/plans/{chosen['id']}?newer=true"))["newer"] is None
    everything = await desk.ask("POST", "/plans", {**asked, "act": "purge", "filter": ""}, 201)
    await queue.send("y")
    assert (await desk.ask("GET", f"/plans/{everything['id']}?newer=true"))["newer"] == 1


def test_who_read_a_message_is_part_of_its_life() -> None:
    async def inside() -> None:
        async with make_desk(audit_reads=True) as desk:
            queue = await desk.manager.create_queue("orders")
            sent = str(await queue.send("x"))
            lookup = (await queue.peek(0)).lookup_id
            await desk.ask("GET", f"/managers/here/queues/orders/messages/{lookup}")
            (act,) = desk.acts
            time = datetime.now(UTC)
            entry = AuditEntry(1, time, "token:aa", act[1], act[2], True, act[3], "")

            async def audit(after: int, limit: int) -> list[AuditEntry]:
                return [entry] if after < 1 else []

            desk.manager.backend.audit = audit  # type: ignore[method-assign]
            await queue.receive(timeout=0)
            story = await desk.ask("GET", f"/explain?id={quote(sent)}")
            hows = {one["how"]: (one["who"], one["queue"]) for one in story["readers"]}
            assert hows["looked at it"] == ("token:aa", r".\private$\orders")
            assert "process" in hows["received it"][0]

    asyncio.run(inside())


@at_desk
async def test_a_note_is_on_a_group_for_everyone(desk: Desk) -> None:
    (group,) = (await with_letters(desk, 2))["groups"]
    assert group["note"] is None
    about = {name: group[name] for name in ("queue", "reason", "destination", "labels")}
    path = "/managers/here/deadletters/note"
    await desk.ask("POST", path, {**about, "text": "Ann looks after it"}, 204)
    (one,) = (await desk.ask("GET", "/deadletters"))[0]["letters"]["groups"]
    assert (one["note"]["text"], one["note"]["who"]) == ("Ann looks after it", "token aa")
    assert desk.acts[-1][1:] == ("note on dead letters", r".\DeadLetter$", "Ann looks after it")
    await desk.ask("POST", path, {**about, "text": "x" * 501}, 400)
    await desk.ask("POST", path, {**about, "queue": "nothing"}, 404)


@at_desk
async def test_a_life_says_which_clocks_cannot_be_right(desk: Desk) -> None:
    """A second manager tells that it had the message before it was sent."""
    queue = await desk.manager.create_queue("orders")
    sent = await queue.send("x")
    own = desk.manager

    class Early:
        """Another manager, whose clock is two minutes behind."""

        id = "another"

        async def explain(self, message: str) -> list[HistoryEvent]:
            events = await own.explain(message)
            return [replace(one, time=one.time - timedelta(minutes=2)) for one in events]

    async def connect(token: str) -> Any:
        return Early()

    desk.state.entries["early"] = ManagerEntry("early", connect)
    story = await desk.ask("GET", f"/explain?id={quote(str(sent))}")
    assert story["clocks"] == {"early": -120.0}
    assert story["asked"] == {"here": "ok", "early": "ok"}
    del desk.state.entries["early"]
    assert (await desk.ask("GET", f"/explain?id={quote(str(sent))}"))["clocks"] == {}


@at_desk
async def test_the_audit_log_says_which_messages_a_plan_is_about(desk: Desk) -> None:
    """A fingerprint of their lookup identifiers, since there may be a hundred thousand."""
    queue = await desk.manager.create_queue("orders")
    await queue.send_many(["a", "b", "c"])
    rows = (await desk.ask("GET", "/managers/here/queues/orders/messages"))["messages"]
    ids = [row["lookup_id"] for row in rows]
    asked = {"manager": "here", "queue": "orders", "act": "purge", "reason": "old"}
    plan = await desk.ask("POST", "/plans", asked, 201)
    await desk.ask("POST", f"/plans/{plan['id']}/run", {}, 202)
    print_ = sha256(",".join(ids).encode()).hexdigest()[:16]
    acts = [act for act in desk.acts if act[1] == "purge messages"]
    assert acts[0][3].startswith(f"begun: 0 done, 0 gone, 3 left of here ({print_})")
