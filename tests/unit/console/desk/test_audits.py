"""The newest entries of an audit log."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.console.harness import Desk, at_desk

from openmsmq.console.desk.audits import entries_about, newest_entries
from openmsmq.console.limits import AUDIT_LOOK_MAX


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


def test_entries_about_something_are_looked_for_in_a_bounded_part() -> None:
    async def find(log: Any, count: int) -> list[int]:
        found = await entries_about(log, lambda one: one.number % 7 == 0, count)
        return [one.number for one in found]

    assert asyncio.run(find(Log(1, 30), 9)) == [28, 21, 14, 7]
    assert asyncio.run(find(Log(1, 30), 2)) == [28, 21]
    assert asyncio.run(find(Log(40, 0), 2)) == []
    long = asyncio.run(find(Log(1, 10_000), 5000))
    assert (long[0], long[-1] > 10_000 - 2 * AUDIT_LOOK_MAX) == (9996, True)
    assert asyncio.run(find(Log(9_000, 500), 5000))[-1] == 9002


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
