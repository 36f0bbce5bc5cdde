"""One queue, looked at closely, over REST."""

from __future__ import annotations

from typing import Any

from tests.unit.console.harness import Desk, at_desk
from tests.unit.console.rest.test_service_calls import answering

from openmsmq.security.access import QueueRights
from openmsmq.security.descriptor import AceType, Acl, SecurityDescriptor
from openmsmq.security.permissions import parse_entry
from openmsmq.security.sddl import format_sddl

ORDERS = "/managers/here/queues/orders"
TOKEN = {"id": "t1", "role": "send", "queues": ["jobs*"], "label": "shop", "created": 5}


def answers(view: dict[str, Any], who: str) -> dict[str, tuple[bool, int | None]]:
    """What someone may, and which entry decides."""
    (found,) = [one for one in view["who"] if one["who"] == who]
    return {one["right"]: (one["allowed"], one["entry"]) for one in found["rights"]}


@at_desk
async def test_an_open_queue_has_no_list(desk: Desk) -> None:
    await desk.manager.create_queue("orders")
    found = await desk.ask("GET", f"{ORDERS}/permissions")
    assert (found["queue"], found["entries"]) == (r".\private$\orders", None)
    assert answers(found, "anonymous")["send"] == (True, None)


@at_desk
async def test_who_may_what_is_shown_with_the_entry_that_decides(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    entries = (
        parse_entry("anonymous=peek", QueueRights, AceType.DENIED),
        parse_entry("everyone=full", QueueRights, AceType.ALLOWED),
    )
    await queue.set_permissions(format_sddl(SecurityDescriptor(dacl=Acl(entries))))
    answering(desk, tokens={"tokens": [TOKEN]})
    found = await desk.ask("GET", f"{ORDERS}/permissions")
    assert [(one["number"], one["type"], one["who"]) for one in found["entries"]] == [
        (1, "deny", "anonymous"),
        (2, "allow", "everyone"),
    ]
    assert answers(found, "anonymous")["peek"] == (False, 1)
    assert answers(found, "everyone")["receive"] == (True, 2)
    (token,) = [one for one in found["who"] if one["who"] == "token:t1"]
    assert (token["role"], token["label"]) == ("send", "shop")
    assert "does not allow it here" in token["rights"][0]["reason"]
    (anna,) = (await desk.ask("GET", f"{ORDERS}/permissions?who=user:Anna"))["who"]
    assert (anna["who"], anna["rights"][1]["right"], anna["rights"][1]["entry"]) == (
        "user:anna",
        "peek",
        2,
    )
    await desk.ask("GET", f"{ORDERS}/permissions?who=someone", status=422)
    await desk.ask("GET", "/managers/here/queues/nothing/permissions", status=404)


@at_desk
async def test_what_happened_in_a_queue_comes_in_pages(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders")
    sent = [str(await queue.send("x")) for _ in range(5)]
    await queue.receive(timeout=0)
    first = await desk.ask("GET", f"{ORDERS}/history?limit=2")
    assert [one["event"] for one in first["events"]] == ["received", "arrived"]
    assert (first["events"][0]["message_id"], first["events"][0]["count"]) == (sent[0], 1)
    rest = await desk.ask("GET", f"{ORDERS}/history?before={first['next']}")
    assert [one["message_id"] for one in rest["events"]] == sent[3::-1]
    assert rest["next"] is None
    (only,) = (await desk.ask("GET", f"{ORDERS}/history?event=received&limit=3"))["events"]
    assert "process" in only["by"]
    assert (await desk.ask("GET", f"{ORDERS}/history?event=expired"))["events"] == []
    await desk.ask("GET", f"{ORDERS}/history?limit=0", status=400)
    await desk.ask("GET", "/managers/here/queues/nothing/history", status=404)


@at_desk
async def test_what_people_did_with_a_queue_is_in_its_part_of_the_audit_log(desk: Desk) -> None:
    for name in ("orders", "jobs"):
        await desk.manager.create_queue(name)
    await desk.manager.delete_queue("jobs")
    target = r".%5Cprivate$%5CJobs"
    found = await desk.ask("GET", f"/managers/here/audit?target={target}")
    assert [one["act"] for one in found] == ["delete queue", "create queue"]
    assert len(await desk.ask("GET", f"/managers/here/audit?target={target}&limit=1")) == 1
