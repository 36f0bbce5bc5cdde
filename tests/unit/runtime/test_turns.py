"""Fair shares of an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from openmsmq.runtime.turns import COMMIT_SHARES_S, HELD_MAX_S, SHARE_S, Turns


@dataclass
class Bench:
    """Commits and a clock as a test wants them, and a list of what was done."""

    time: float = 0.0
    is_busy: bool = False
    commits: int = 0
    held_time: float = 0.0
    done: list[str] = field(default_factory=list)

    def work(self, name: str, pieces: int, cost: float = SHARE_S) -> Callable[[], bool]:
        left = pieces

        def do() -> bool:
            nonlocal left
            left -= 1
            self.time += cost
            self.done.append(name)
            return left > 0

        return do

    def turns(self) -> Turns:
        return Turns(self, clock=lambda: self.time)

    def commit(self, held_time: float = 0.0) -> None:
        self.commits += 1
        self.held_time = held_time

    def take(self) -> str:
        done, self.done = self.done, []
        return "".join(done)


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def round_of_the_loop() -> None:
    await asyncio.sleep(0)


def test_work_is_done_at_once_while_there_is_time(bench: Bench) -> None:
    async def run() -> None:
        turns = bench.turns()
        for name in "abc":
            turns.add(bench.work(name, 1, SHARE_S / 4))
        assert bench.take() == "abc"

    asyncio.run(run())


def test_what_exceeds_the_share_of_a_round_waits_for_the_next(bench: Bench) -> None:
    async def run() -> None:
        turns = bench.turns()
        for name in "abc":
            turns.add(bench.work(name, 1))
        assert bench.take() == "a"
        await round_of_the_loop()
        assert bench.take() == "b"
        await round_of_the_loop()
        assert bench.take() == "c"

    asyncio.run(run())


def test_work_of_many_pieces_takes_turns_with_others(bench: Bench) -> None:
    async def run() -> None:
        turns = bench.turns()
        turns.add(bench.work("a", 4, SHARE_S / 2))
        turns.add(bench.work("b", 2, SHARE_S / 2))
        for _ in range(5):
            await round_of_the_loop()
        assert bench.take() == "aaabab"

    asyncio.run(run())


def test_a_share_begins_anew_after_a_time_without_work(bench: Bench) -> None:
    async def run() -> None:
        turns = bench.turns()
        for _ in range(3):
            turns.add(bench.work("a", 1))
            assert bench.take() == "a"
            for _ in range(3):
                await round_of_the_loop()

    asyncio.run(run())


def test_work_for_the_next_commit_is_bounded(bench: Bench) -> None:
    async def run() -> None:
        turns = bench.turns()
        bench.is_busy = True
        turns.add(bench.work("a", 100))
        await asyncio.sleep(0.02)
        assert bench.take() == "a"
        bench.commit()
        await asyncio.sleep(0.02)
        assert bench.take() == "aa"  # and a quarter, which the last piece exceeds
        bench.is_busy = False
        await asyncio.sleep(0.02)
        for _ in range(200):
            await round_of_the_loop()
        assert len(bench.take()) == 97

    asyncio.run(run())


def test_what_a_commit_will_take_counts_as_work_for_it(bench: Bench) -> None:
    async def run() -> None:
        turns = bench.turns()
        bench.is_busy = True
        cheap = bench.work("a", 100, SHARE_S / 100)

        def dear() -> bool:
            turns.charge(SHARE_S)
            return cheap()

        turns.add(dear)
        await asyncio.sleep(0.02)
        assert bench.take() == "a"
        bench.commit()
        await asyncio.sleep(0.02)
        assert bench.take() == "aa"  # and a quarter, which the last piece exceeds

    asyncio.run(run())


def test_what_the_loop_will_take_counts_as_work_of_the_round(bench: Bench) -> None:
    async def run() -> None:
        turns = bench.turns()
        cheap = bench.work("a", 100, 0.0)

        def closes() -> bool:
            turns.spend(SHARE_S / 4)
            return cheap()

        turns.add(closes)
        assert bench.take() == "aaaa"
        await round_of_the_loop()
        assert bench.take() == "aaaa"

    asyncio.run(run())


def test_the_bound_follows_the_time_that_commits_take_to_be_written(bench: Bench) -> None:
    async def run() -> list[int]:
        turns = bench.turns()
        bench.is_busy = True
        turns.add(bench.work("a", 10**6, COMMIT_SHARES_S[0] / 4))
        found = []
        for held_time in [0.0] * 20 + [2 * HELD_MAX_S] * 10:
            bench.commit(held_time)
            for _ in range(100):
                await round_of_the_loop()
            await asyncio.sleep(0.003)
            for _ in range(100):
                await round_of_the_loop()
            found.append(len(bench.take()))
        return found

    found = asyncio.run(run())
    piece = COMMIT_SHARES_S[0] / 4
    most, least = (round(share / piece) for share in reversed(COMMIT_SHARES_S))
    assert abs(found[19] - most) <= 2
    assert abs(found[-1] - least) <= 2
    assert found[20] <= most / 2 + 2


def test_work_that_fails_does_not_end_the_turns_of_others(bench: Bench) -> None:
    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)

        def fails() -> bool:
            bench.time += SHARE_S
            raise LookupError

        turns = bench.turns()
        turns.add(bench.work("a", 1))
        turns.add(fails)
        turns.add(bench.work("b", 1))
        for _ in range(4):
            await asyncio.sleep(0.002)
        assert bench.take() == "ab"

    asyncio.run(run())
