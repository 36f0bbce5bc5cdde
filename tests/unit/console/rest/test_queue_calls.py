"""Queues over REST."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.console.harness import Desk, at_desk

from openmsmq.console.links import QueueTally

QUEUES = "/managers/here/queues"


@at_desk
async def test_queues_are_created_listed_changed_and_deleted(desk: Desk) -> None:
    made = await desk.ask("POST", QUEUES, {"name": "orders", "label": "a"}, status=201)
    assert made["name"] == r".\private$\orders"
    await desk.ask("POST", QUEUES, {"name": "orders"}, status=409)
    await desk.ask("POST", QUEUES, {"name": "orders", "colour": "red"}, status=400)
    await desk.ask("POST", QUEUES, {"name": "jobs", "transactional": True}, status=201)
    page = await desk.ask("GET", QUEUES)
    assert [one["name"] for one in page["queues"]] == [r".\private$\jobs", r".\private$\orders"]
    await desk.ask("GET", f"{QUEUES}/orders")
    tag = desk.headers["ETag"]
    await desk.ask("PATCH", f"{QUEUES}/orders", {"label": "b"}, status=428)
    changed = await desk.ask("PATCH", f"{QUEUES}/orders", {"label": "b", "quota": 9}, If_Match=tag)
    assert (changed["label"], changed["quota"]) == ("b", 9)
    await desk.ask("PATCH", f"{QUEUES}/orders", {"label": "c"}, status=412, If_Match=tag)
    unlimited = await desk.ask("PATCH", f"{QUEUES}/orders", {"quota": None}, If_Match="*")
    assert unlimited["quota"] is None
    await desk.ask("DELETE", f"{QUEUES}/orders", status=409)
    await desk.ask("DELETE", f"{QUEUES}/orders?messages=0", status=204)
    await desk.ask("GET", f"{QUEUES}/orders", status=404)
    entries = [entry["act"] for entry in await desk.ask("GET", "/managers/here/audit")]
    assert entries.count("delete queue") == 1
    assert desk.acts == []  # what the manager writes down itself is not written down twice


@at_desk
async def test_lists_have_pages_patterns_and_an_order(desk: Desk) -> None:
    for number in range(5):
        queue = await desk.manager.create_queue(f"q{number}")
        await queue.send_many(["x"] * number or ["y", "y", "y", "y", "y", "y"])
    first = await desk.ask("GET", f"{QUEUES}?limit=2&sort=-messages")
    assert [one["messages"] for one in first["queues"]] == [6, 4]
    rest = await desk.ask("GET", f"{QUEUES}?limit=9&sort=-messages&cursor={first['next']}")
    assert [one["messages"] for one in rest["queues"]] == [3, 2, 1]
    assert (first["total"], rest["next"]) == (5, None)
    assert len((await desk.ask("GET", f"{QUEUES}?name=q?3"))["queues"]) == 0
    assert len((await desk.ask("GET", f"{QUEUES}?name=*q3"))["queues"]) == 1
    assert len((await desk.ask("GET", f"{QUEUES}?everything=true"))["queues"]) == 9
    await desk.ask("GET", f"{QUEUES}?sort=colour", status=400)
    await desk.ask("GET", f"{QUEUES}?limit=0", status=400)
    await desk.ask("GET", "/managers/there/queues", status=404)


@at_desk
async def test_queues_of_the_manager_stay(desk: Desk) -> None:
    await desk.ask("DELETE", f"{QUEUES}/.%5CDeadLetter$?messages=0", status=422)


@at_desk
async def test_readers_and_held_messages_are_shown_where_they_are_known(desk: Desk) -> None:
    await desk.manager.create_queue("orders")
    await desk.manager.create_queue("jobs")
    entry = desk.state.entries["here"]
    desk.state.entries["elsewhere"] = replace(entry, name="elsewhere")
    (jobs, orders) = (await desk.ask("GET", "/managers/elsewhere/queues"))["queues"]
    assert (orders["readers"], orders["held"]) == (None, None)
    tally = {r".\private$\orders": QueueTally(2, 5)}
    desk.state.entries["here"] = replace(entry, tallies=lambda: tally)
    (jobs, orders) = (await desk.ask("GET", "/managers/here/queues"))["queues"]
    assert (orders["readers"], orders["held"]) == (2, 5)
    assert (jobs["readers"], jobs["held"]) == (0, 0)


@at_desk
async def test_journals_and_subqueues_stand_below_their_queues(desk: Desk) -> None:
    orders = await desk.manager.create_queue("orders", journal=True)
    await desk.manager.create_queue("orders.more")
    await desk.manager.create_queue("Bills")
    await orders.send_many(["x", "y"])
    await orders.receive(0)
    await orders.move((await orders.peek(0)).lookup_id, "late")
    found = await desk.ask("GET", f"{QUEUES}?everything=true")
    names = [one["name"].rpartition("private$\\")[2] for one in found["queues"]]
    assert names[:5] == ["Bills", "orders", "orders;late", r"orders\Journal$", "orders.more"]
    assert {one["kind"] for one in found["queues"][5:]} == {"system"}


@at_desk
async def test_a_queue_is_found_by_its_id(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send("x")
    known = (await desk.ask("GET", "/managers/here/queues/orders"))["id"]
    place = f"/managers/here/queues/{known.upper()}"
    assert (await desk.ask("GET", place))["name"] == ".\\private$\\orders"
    assert len((await desk.ask("GET", f"{place}/messages"))["messages"]) == 1
    assert (await desk.ask("GET", f"{place}/history"))["events"]
    await desk.ask("DELETE", f"{place}?messages=1", status=204)
    await desk.ask("GET", place, status=404)
