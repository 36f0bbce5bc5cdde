"""Routing over REST."""

from __future__ import annotations

from typing import Any

from tests.unit.app_server.test_topology_calls import shown_as_json
from tests.unit.console.harness import Desk, at_desk
from tests.unit.console.rest.test_service_calls import HERE, answering

from openmsmq.types.outgoing import OutgoingInfo


@at_desk
async def test_sites_links_and_managers(desk: Desk) -> None:
    answering(desk, topology={"topology": shown_as_json()})
    found = await desk.ask("GET", f"{HERE}/topology")
    assert (found["source"], found["directory"]) == ("file", "none")
    assert [site["name"] for site in found["sites"]] == ["west", "east", "mainframe"]
    assert found["links"][0]["cost"] == 7


@at_desk
async def test_the_way_of_a_message(desk: Desk) -> None:
    answering(desk, topology={"topology": shown_as_json()})
    found = await desk.ask("GET", f"{HERE}/topology/route?from=till&to=E")
    assert (found["result"], found["path"]) == ("delivered", ["till", "w", "e"])
    assert found["routers"] == 1
    assert found["steps"][0]["rule"] == "out-routing"
    found = await desk.ask("GET", f"{HERE}/topology/route?from=till&to=e&down=w")
    assert (found["result"], found["path"]) == ("waits", ["till"])
    await desk.ask("GET", f"{HERE}/topology/route?from=till&to=stranger", status=404)
    await desk.ask("GET", f"{HERE}/topology/route", status=404)


@at_desk
async def test_hops_that_messages_wait_for(desk: Desk) -> None:
    def info(name: str, hop: str, messages: int, failures: int) -> OutgoingInfo:
        return OutgoingInfo(
            name, "waiting", messages, 0, 0, 9, 1, hop, None, failures, 5, "refused", 0, ()
        )

    async def outgoing() -> list[Any]:
        return [info("a", "10.0.0.2:1801", 3, 2), info("b", "10.0.0.2:1801", 4, 5),
                info("c", "10.0.0.3:1801", 1, 0)]  # fmt: skip

    desk.manager.backend.outgoing = outgoing  # type: ignore[method-assign]
    assert await desk.ask("GET", f"{HERE}/topology/failing") == [
        {"address": "10.0.0.2:1801", "queues": 2, "messages": 7, "failures": 5,
         "last_error": "refused"}
    ]  # fmt: skip
