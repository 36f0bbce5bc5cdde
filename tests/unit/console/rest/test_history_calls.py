"""Messages by label and time over REST."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from tests.unit.console.harness import Desk, at_desk

from openmsmq import Message
from openmsmq.console.rest import history_calls


@at_desk
async def test_messages_are_found_wherever_they_are(desk: Desk) -> None:
    queue = await desk.manager.create_queue("orders", journal=True)
    other = await desk.manager.create_queue("other")
    ids = await queue.send_many([Message("x", label=f"order {n}") for n in range(3)])
    await queue.receive(timeout=0)  # a copy is in the journal
    await other.send(Message("x", label='a "quoted" \\ label'))
    found = await desk.ask("GET", "/history?label=ORDER*&from=-1h")
    assert {one["id"] for one in found["messages"]} == set(map(str, ids))
    places = {one["id"]: one["queue"] for one in found["messages"]}
    assert places[str(ids[0])].endswith("Journal$")
    assert places[str(ids[2])] == r".\private$\orders"
    assert (found["complete"], found["looked_at"], found["asked"]) == (True, 4, {"here": "ok"})
    odd = await desk.ask("GET", "/history?label=" + quote('a "quoted" \\ label'))
    assert len(odd["messages"]) == 1
    assert (await desk.ask("GET", "/history?label=order*&to=2000-01-01"))["messages"] == []
    few = await desk.ask("GET", "/history?label=order*&limit=1")
    assert (len(few["messages"]), few["complete"]) == (1, False)
    await desk.ask("GET", "/history", status=400)
    await desk.ask("GET", "/history?label=x&from=yesterday", status=400)
    await desk.ask("GET", "/history?label=x&limit=0", status=400)


def test_a_search_ends_at_its_limit_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_calls, "HISTORY_MAX", 60)

    @at_desk
    async def search(desk: Desk) -> None:
        queue = await desk.manager.create_queue("orders")
        await queue.send_many([Message("x", label=f"order {n}") for n in range(300)])
        found = await desk.ask("GET", "/history?label=order*&limit=1000")
        assert found["complete"] is False
        assert 60 <= found["looked_at"] < 200

    search()
