"""Calls about a manager as a whole; the suites of the clients use them over real sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from openmsmq.app_protocol.members import Members
from openmsmq.client._async.remote_calls import RemoteCalls


class Calls(RemoteCalls):
    """Answers as asked, and remembers what was asked."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer
        self.asked: dict[str, Any] = {}

    async def _call(self, call: str, wait: float | None = 0, /, **arguments: Any) -> Members:
        self.asked = {"call": call, **arguments}
        return Members(self.answer)


def test_what_is_left_out_is_not_asked_for() -> None:
    calls = Calls(applied=True)
    assert asyncio.run(calls.commit_epoch("w", 3, ["w/3/a"], "", final=False))
    asked = {"call": "commit_epoch", "query": "w", "epoch": 3, "winners": ["w/3/a"]}
    assert calls.asked == asked
    asyncio.run(calls.commit_epoch("w", 3, ["w/3/a"], "q", final=True))
    assert calls.asked == asked | {"owner": "q", "final": True}


def test_ages_come_by_name() -> None:
    assert asyncio.run(Calls(ages={"tx": 4}).prepared()) == {"tx": 4}


def test_someone_has_to_make_the_calls() -> None:
    with pytest.raises(NotImplementedError):
        asyncio.run(RemoteCalls().prepared())
