"""The dead-letter desk over REST."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.console.harness import Desk, at_desk

from openmsmq.console.desk.models import LetterGroup, LettersView
from openmsmq.console.rest import letter_calls

NOW = datetime(2026, 7, 1, tzinfo=UTC)


def lost(destination: str, message_class: int = 0x8000) -> LetterGroup:
    """Messages for a queue that is not there."""
    return LetterGroup(
        r".\Refused$", "lost", message_class, destination, "order #", 1, NOW, NOW, "7", "class:1"
    )


def test_a_queue_with_nearly_the_name_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages for `ordres` may have been for `orders`."""
    groups = [
        lost(r"DIRECT=OS:HERE\private$\ordres"),
        lost(r"DIRECT=OS:here\private$\invoices"),
        lost(r"DIRECT=OS:elsewhere\private$\ordres"),
        lost(r"DIRECT=TCP:10.0.0.1\private$\ordres"),
        lost(r"DIRECT=OS:here\private$\ordres", 0xC002),
    ]

    async def known(*_: Any) -> LettersView:
        return LettersView(groups, len(groups), complete=True)

    monkeypatch.setattr(letter_calls, "letters_of", known)

    @at_desk
    async def ask(desk: Desk) -> None:
        await desk.manager.create_queue("orders")
        await desk.manager.create_queue("payments")
        found = await desk.ask("GET", "/managers/here/deadletters")
        assert [one["hint"] for one in found["groups"]] == ["orders", "", "", "", ""]

    ask()
