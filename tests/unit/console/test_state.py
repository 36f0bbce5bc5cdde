"""What requests share."""

from __future__ import annotations

from openmsmq.console.limits import KEYS_MAX
from openmsmq.console.sessions import BrowserSession
from openmsmq.console.state import ConsoleSettings, ConsoleState


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
        ConsoleSettings(frozenset()), {}, role_of=lambda token: "read" if token in good else None
    )
    login = state.sessions.begin("t", "me", "read")
    assert state.is_current(login)
    good.clear()
    assert not state.is_current(login)
