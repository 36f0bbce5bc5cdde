"""The newest entries of an audit log."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.console.harness import Desk, at_desk

from openmsmq.console.desk.audits import newest_entries


@dataclass(frozen=True)
class Entry:
    number: int


class Log:
    """An audit log of which the oldest entries are dropped."""

    def __init__(self, first: int, count: int) -> None:
        self.numbers = range(first, first + count)
        self.asked = 0

    async def audit(self, *, after: int = 0, limit: int) -> list[Entry]:
        """Entries behind one."""
        self.asked += 1
        start = max(after + 1, self.numbers.start)
        return [Entry(n) for n in range(start, min(start + limit, self.numbers.stop))]


@given(
    st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 300), st.none() | st.integers(1)
)
def test_they_are_found_without_reading_the_log(
    first: int, count: int, most: int, before: int | None
) -> None:
    log: Any = Log(first, count)
    found = asyncio.run(newest_entries(log, before, most))
    end = first + count if before is None else min(before, first + count)
    wanted = range(max(first, (first + count if before is None else before) - most), end)
    assert [one.number for one in found] == list(wanted)
    assert log.asked <= 45


@at_desk
async def test_pages_go_back_to_the_first_entry(desk: Desk) -> None:
    for n in range(7):
        await desk.manager.create_queue(f"q{n}")
    path = "/managers/here/audit"
    every = await desk.ask("GET", path)
    newest = await desk.ask("GET", f"{path}?newest=true&limit=3")
    assert newest == every[-3:]
    older = await desk.ask("GET", f"{path}?before={newest[0]['number']}&limit=3")
    assert older == every[-6:-3]
    assert await desk.ask("GET", f"{path}?after=2&limit=2") == every[2:4]
    assert await desk.ask("GET", f"{path}?before=1") == []
