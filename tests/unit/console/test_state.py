"""What requests share."""

from __future__ import annotations

import asyncio

import pytest

from openmsmq.console.limits import KEYS_MAX, SCAN_REST
from openmsmq.console.sessions import BrowserSession
from openmsmq.console.state import ConsoleSettings, ConsoleState
from openmsmq.types.caller import Grant


def test_what_is_remembered_is_bounded() -> None:
    state = ConsoleState(ConsoleSettings(frozenset()), {})
    login = BrowserSession("", "t", "me", "admin", 0, 0)
    for number in range(KEYS_MAX + 5):
        state.remember(str(number), 200, b"")
        state.remember_bearer(str(number), login)
    assert len(state.keys) == len(state.bearers) == KEYS_MAX
    assert "0" not in state.keys


def test_a_login_is_over_when_its_token_is_revoked() -> None:
    good = {"t"}
    state = ConsoleState(
        ConsoleSettings(frozenset()),
        {},
        grant_of=lambda token: Grant("read") if token in good else None,
    )
    login = state.sessions.begin("t", "me", "read")
    assert state.is_current(login)
    good.clear()
    assert not state.is_current(login)


def test_searches_take_turns_and_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time; after each turn all of them rest for some times of what it took."""
    clock, rests, inside = [0.0], [], [0]

    async def sleep(seconds: float) -> None:
        rests.append(seconds)

    async def search(state: ConsoleState, took: float) -> None:
        async with state.scanning():
            inside[0] += 1
            assert inside == [1]
            clock[0] += took
            await turn.wait()
            inside[0] -= 1

    async def both() -> None:
        state = ConsoleState(ConsoleSettings(frozenset()), {})
        tasks = [asyncio.ensure_future(search(state, took)) for took in (2.0, 5.0)]
        turn.set()
        await asyncio.gather(*tasks)

    turn = asyncio.Event()
    monkeypatch.setattr("openmsmq.console.state.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("openmsmq.console.state.asyncio.sleep", sleep)
    asyncio.run(both())
    assert rests == [2.0 * SCAN_REST, 5.0 * SCAN_REST]
