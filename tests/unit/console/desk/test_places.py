"""Walks through a queue from a time on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from openmsmq.console.desk.places import LANES, Walk, lane_of, place_since
from openmsmq.types.lookup import ARRIVAL_BITS

START = datetime(2026, 7, 1, 10, 0, tzinfo=UTC)


class Stood:
    """A message that stands in a queue."""

    def __init__(self, lane: int, arrival: int, second: int) -> None:
        self.lookup_id = lane << ARRIVAL_BITS | arrival
        self.arrived_time = START + timedelta(seconds=second)


class Row:
    """A queue of which only places and times matter, and how often it is looked at."""

    def __init__(self, messages: list[Stood]) -> None:
        self.messages = sorted(messages, key=lambda one: one.lookup_id)
        self.looks = 0

    async def peek_many(self, count: int, timeout: float, after: int) -> list[Stood]:
        self.looks += 1
        return [one for one in self.messages if one.lookup_id > after][:count]

    async def peek_back(self, count: int, before: int | None) -> list[Stood]:
        self.looks += 1
        found = [one for one in self.messages if before is None or one.lookup_id < before]
        return found[::-1][:count]


def row_of(lanes: list[list[int]]) -> Row:
    """In each lane, messages after these numbers of seconds; arrivals have gaps."""
    messages, arrival = [], 0
    for lane, gaps in enumerate(lanes):
        second = 0
        for gap in gaps:
            second += gap
            arrival += 1 + 3 * gap
            messages.append(Stood(lane, arrival, second))
    return Row(messages)


async def walked(walk: Walk, count: int) -> list[Any]:
    found: list[Any] = []
    while batch := await walk.next(count):
        found += batch
        assert walk.at == batch[-1].lookup_id
    return found


def run(work: Any) -> Any:
    """What a coroutine returns that never waits."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


@given(
    some.lists(some.lists(some.integers(0, 3), max_size=8), max_size=LANES),
    some.integers(-1, 20),
    some.integers(1, 5),
    some.booleans(),
    some.integers(0, 60),
)
def test_a_walk_from_a_time_is_what_a_filter_finds(
    lanes: list[list[int]], second: int, count: int, backwards: bool, skipped: int
) -> None:
    row: Any = row_of(lanes)
    time = START + timedelta(seconds=second)
    order = row.messages[::-1] if backwards else row.messages
    wanted = [
        one
        for one in order
        if (one.arrived_time <= time if backwards else one.arrived_time >= time)
    ]
    assert run(walked(Walk(row, backwards=backwards, time=time), count)) == wanted
    # It can be left, and gone on with from the place of any message.
    start = order[skipped % len(order)].lookup_id if order else 5
    rest = [one for one in wanted if one.lookup_id != start]
    rest = [one for one in rest if (one.lookup_id < start) == backwards]
    assert run(walked(Walk(row, start, backwards=backwards, time=time), count)) == rest


def test_without_a_time_all_are_walked() -> None:
    row: Any = row_of([[1, 1], [], [2]])
    assert run(walked(Walk(row), 2)) == row.messages
    assert run(walked(Walk(row, backwards=True), 2)) == row.messages[::-1]


@pytest.mark.parametrize("second", [0, 1, 50_000, 99_998, 200_000])
def test_a_time_among_many_is_found_with_few_looks(second: int) -> None:
    row: Any = Row([Stood(4, 1000 + n, n) for n in range(0, 100_000, 50)])
    place = run(place_since(row, 4, START + timedelta(seconds=second)))
    assert lane_of(place) == (4 if second < 99_951 else 5)
    assert row.looks < 25
