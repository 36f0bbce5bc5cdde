"""Dead letters in groups, on all managers."""

from __future__ import annotations

import asyncio

from tests.unit.console.harness import Desk, at_desk

from openmsmq import Message
from openmsmq.bodies.headers import encode_nservicebus
from openmsmq.console.desk.letters import FAILED_IN, FAILED_WITH, TYPED_BY, quoted
from openmsmq.console.desk.trash import TRASH
from openmsmq.console.filters import parse_filter

FAILED = encode_nservicebus({FAILED_IN: "billing@shop02", FAILED_WITH[0]: "System.Timeout"})


@at_desk
async def test_messages_of_an_error_queue_say_where_and_why_they_failed(desk: Desk) -> None:
    queue = await desk.manager.create_queue("acme.error")
    await queue.send_many([Message("x", label=f"bill {n}", extension=FAILED) for n in range(3)])
    await queue.send(Message("x", label="other"))
    found = await desk.ask("GET", "/deadletters")
    assert [(one["manager"], one["error"]) for one in found] == [("here", "")]
    group, other = found[0]["letters"]["groups"]
    assert (group["count"], group["recent"]) == (3, 3)
    assert group["destination"] == r"DIRECT=OS:shop02\private$\billing"
    assert group["reason"] == "its handler failed: System.Timeout"
    assert other["reason"] == "its handler failed"
    asked = {"manager": "here", "queue": "acme.error", "act": "return", "filter": group["filter"]}
    plan = await desk.ask("POST", "/plans", asked, status=201)
    assert plan["targets"] == [{"queue": r"DIRECT=OS:shop02\private$\billing", "count": 3}]


LONG = "System.Exception: " + "deep in the stack " * 100


@at_desk
async def test_each_group_is_what_its_filter_finds(desk: Desk) -> None:
    """A plan for a group is about its messages, and about no others."""
    other = encode_nservicebus({FAILED_IN: "billing@shop02", FAILED_WITH[0]: LONG})
    typed = encode_nservicebus({FAILED_IN: "billing@shop02", TYPED_BY[0]: "Shop.Order"})
    queue = await desk.manager.create_queue("acme.error")
    for label, extension in (
        *(("bill 1", FAILED), ("bill 2", FAILED), ("sum 1", FAILED), ("bill 3", other)),
        *(("", b""), ("bill 4", b""), ('what "is" this\\', b""), ("bill 5", typed)),
    ):
        await queue.send(Message("x", label=label, extension=extension))
    letters = await desk.manager.create_queue("orders")
    for name in ("a 1", "a 2", "b 1"):
        await letters.send(Message("x", label=name, time_to_be_received=0, dead_letter=True))
    while (await desk.ask("GET", "/managers/here/deadletters"))["total"] < 11:
        pass  # they expire
    for then, many in (("labels", 9), ("sender", 5), ("type", 5)):
        (found,) = await desk.ask("GET", f"/deadletters?then={then}&since=-1h")
        groups = found["letters"]["groups"]
        assert (len(groups), found["letters"]["total"]) == (many, 11), then
        for group in groups:
            asked = {"manager": "here", "queue": group["queue"], "act": "delete"}
            plan = await desk.ask("POST", "/plans", asked | {"filter": group["filter"]}, status=201)
            assert plan["count"] == group["count"] == group["trend"][-1] == group["recent"], group
    assert (await desk.ask("GET", "/deadletters?since=2100-01-01"))[0]["letters"]["total"] == 0
    await desk.ask("GET", "/deadletters?then=colour", status=400)


@at_desk
async def test_poison_messages_are_letters(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    await queue.send("x")
    await queue.move((await queue.peek(0)).lookup_id, "poison")
    await queue.send("y")
    await queue.move((await queue.peek(0)).lookup_id, TRASH)
    (found,) = await desk.ask("GET", "/deadletters")
    (group,) = found["letters"]["groups"]
    assert (group["reason"], group["count"]) == ("aborted too often", 1)


@at_desk
async def test_a_manager_that_cannot_tell_says_why(desk: Desk) -> None:
    entry = desk.state.entries["here"]

    async def away(token: str) -> object:
        await asyncio.sleep(0)
        raise ConnectionRefusedError("it is away")

    desk.state.entries["far"] = type(entry)("far", away)  # type: ignore[arg-type]
    found = await desk.ask("GET", "/deadletters")
    assert [(one["manager"], one["error"]) for one in found] == [
        ("here", ""),
        ("far", "it is away"),
    ]
    assert found[1]["letters"] is None


def test_a_value_of_a_filter_is_quoted() -> None:
    parse_filter(f"label:{quoted(chr(34) + chr(92) + ' x')}")
