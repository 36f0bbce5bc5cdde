"""A service over REST; the roles and a real service are in `tests/e2e/test_rest_access.py`."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import asdict
from typing import Any

from tests.unit.app_server.test_control_calls import CLIENT, DETAILS, PEER, WAITS
from tests.unit.console.harness import Desk, at_desk

from openmsmq.app_protocol.members import Members

HERE = "/managers/here"
RECORDING: dict[str, Any] = {
    "id": "r-1", "state": "done", "peer": "", "began": 5, "until": 65, "by": "me",
    "files": [{"name": "a.pcap", "size": 5}],
}  # fmt: skip


def answering(desk: Desk, **answers: Any) -> list[dict[str, Any]]:
    """Let the manager answer as a service would; what it is asked."""
    asked: list[dict[str, Any]] = []

    async def control(call: str, /, **arguments: Any) -> Members:
        asked.append({"call": call, **arguments})
        return Members(answers[call])

    desk.manager.backend.control = control  # type: ignore[method-assign]
    return asked


@at_desk
async def test_a_directory_without_a_service_has_none_of_it(desk: Desk) -> None:
    for path in ("sessions", "dependents", "recordings", "tokens", "configuration"):
        await desk.ask("GET", f"{HERE}/{path}", status=422)


@at_desk
async def test_dependent_clients_and_their_receives_that_wait(desk: Desk) -> None:
    answering(desk, dependents={"dependents": [asdict(CLIENT)]})
    assert await desk.ask("GET", f"{HERE}/dependents") == [
        {**asdict(CLIENT), "queues": [asdict(WAITS)]}
    ]


@at_desk
async def test_a_session_is_shown_with_its_window_and_packets(desk: Desk) -> None:
    answering(desk, sessions={"sessions": [asdict(PEER)]}, session={"details": asdict(DETAILS)})
    found = await desk.ask("GET", f"{HERE}/sessions/m3")
    assert (found["session"]["peer"], found["window"]) == (PEER.peer, 64)
    assert found["packets"] == [asdict(DETAILS.packets[0])]
    await desk.ask("GET", f"{HERE}/sessions/m4", status=404)


@at_desk
async def test_files_of_recordings_are_downloads(desk: Desk) -> None:
    parts = iter([b"hello", b""])

    async def control(call: str, /, **arguments: Any) -> Members:
        if call == "recordings":
            return Members({"recordings": [RECORDING]})
        return Members({"data": b64encode(next(parts)).decode()})

    desk.manager.backend.control = control  # type: ignore[method-assign]
    assert await desk.ask("GET", f"{HERE}/recordings/r-1/a.pcap") == "hello"
    assert desk.headers["Content-Disposition"] == 'attachment; filename="a.pcap"'
    await desk.ask("GET", f"{HERE}/recordings/r-1/b.pcap", status=404)
    await desk.ask("GET", f"{HERE}/recordings/r-2/a.pcap", status=404)
    await desk.ask("DELETE", f"{HERE}/recordings/r-2", status=404)
    await desk.ask("POST", f"{HERE}/recordings/r-2/stop", status=404)


@at_desk
async def test_what_makes_no_sense_is_refused(desk: Desk) -> None:
    answering(desk, sessions={"sessions": []}, tokens={"tokens": []}, recordings={"recordings": []})
    await desk.ask("DELETE", f"{HERE}/sessions/m7", status=404)
    await desk.ask("DELETE", f"{HERE}/tokens/aa", status=404)
    await desk.ask("GET", f"{HERE}/access-check?token=aa&right=send", status=404)
    await desk.ask("GET", f"{HERE}/access-check?token=aa&right=king", status=400)
    for wrong in (
        {},
        {"role": "king"},
        {"role": "send+"},
        {"role": "send", "expires": "2000-01-01T00:00:00Z"},
        {"role": "send", "expires": "2999-01-01T00:00:00"},
        {"role": "send", "more": 1},
    ):
        await desk.ask("POST", f"{HERE}/tokens", wrong, status=400)
    await desk.ask("POST", f"{HERE}/recordings", {"seconds": 0}, status=400)


@at_desk
async def test_times_that_no_calendar_has_are_the_last_one(desk: Desk) -> None:
    token = {"id": "aa", "role": "send", "queues": [], "label": "", "created": 5}
    answering(desk, tokens={"tokens": [{**token, "expires": 1 << 60}]})
    (shown,) = await desk.ask("GET", f"{HERE}/tokens")
    assert (shown["created"], shown["expires"][:4], shown["used"]) == (
        "1970-01-01T00:00:05Z", "9999", None,
    )  # fmt: skip
