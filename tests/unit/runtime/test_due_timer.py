"""The timer for what will be due."""

import asyncio

from openmsmq.runtime.due_timer import DueTimer


class Plan:
    """What is due next, and what was done."""

    def __init__(self, *left: float | None) -> None:
        self.left = list(left)
        self.is_rescheduled = True
        self.done = 0
        self.timer = DueTimer(self, self.do)

    @property
    def next_deadline(self) -> float | None:
        return self.left[0]

    def do(self) -> None:
        self.done += 1
        self.left.pop(0)


async def ended(plan: Plan) -> None:
    while len(plan.left) > 1:  # noqa: ASYNC110
        await asyncio.sleep(0)


def test_what_is_due_is_done_and_the_next_deadline_asked_for() -> None:
    async def test() -> None:
        plan = Plan(0.0, 0.001, None)
        plan.timer.set()
        assert not plan.is_rescheduled
        await ended(plan)
        assert plan.done == 2
        plan.left = [0.0, None]
        plan.timer.set()
        await ended(plan)
        assert plan.done == 3

    asyncio.run(test())


def test_time_that_has_passed_counts() -> None:
    async def test() -> None:
        plan = Plan(1000.0, None)
        plan.timer.set(1000.0)
        await ended(plan)
        assert plan.done == 1

    asyncio.run(asyncio.wait_for(test(), 20))


def test_only_what_is_due_sooner_sets_it_anew() -> None:
    async def test() -> None:
        plan = Plan(1000.0, None)
        plan.timer.set()
        handle = plan.timer._handle
        plan.left[0] = 2000.0
        plan.timer.set()
        assert plan.timer._handle is handle
        plan.left[0] = 0.0
        plan.timer.set()
        await ended(plan)
        assert plan.done == 1

    asyncio.run(test())


def test_a_cancelled_one_does_nothing_until_it_is_set_again() -> None:
    async def test() -> None:
        plan = Plan(0.0, None)
        plan.timer.set()
        plan.timer.cancel()
        plan.timer.cancel()
        await asyncio.sleep(0.01)
        assert plan.done == 0
        plan.timer.set()
        await ended(plan)
        assert plan.done == 1

    asyncio.run(test())
