"""The timer of a machine."""

from __future__ import annotations

import asyncio

from openmsmq.interfaces.deadlines import Deadlines


class Machine:
    """Wants to be called at its deadlines."""

    def __init__(self) -> None:
        self.deadlines: list[float] = []
        self.called = asyncio.Event()

    @property
    def next_deadline(self) -> float | None:
        return min(self.deadlines, default=None)

    def tick(self, now: float) -> None:
        assert now >= min(self.deadlines)
        self.deadlines = [one for one in self.deadlines if one > now]
        if not self.deadlines:
            self.called.set()


def test_a_machine_is_called_at_each_deadline_the_earliest_first() -> None:
    async def run() -> None:
        machine = Machine()
        timer = Deadlines(machine)
        timer.changed()  # there is none
        now = asyncio.get_running_loop().time()
        for delay in (0.02, 0.001, 0.01):
            machine.deadlines.append(now + delay)
            timer.changed()
        await asyncio.wait_for(machine.called.wait(), 10)

    asyncio.run(run())


def test_a_stopped_timer_calls_nothing() -> None:
    async def run() -> None:
        machine = Machine()
        timer = Deadlines(machine)
        machine.deadlines = [asyncio.get_running_loop().time()]
        timer.changed()
        timer.stop()
        await asyncio.sleep(0.01)
        assert not machine.called.is_set()

    asyncio.run(run())
