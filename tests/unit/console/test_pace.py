"""How many messages a search looks at before others have their turn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from openmsmq.console.limits import SCAN_BATCH, TURN_BYTES
from openmsmq.console.pace import FIRST, Pace
from openmsmq.runtime.turns import TURN_S


class Work:
    """A search whose messages take some seconds of the processor each, and have some bytes."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pace = Pace(lambda: self.now)

    def turn(self, seconds: float, size: int = 100, most: int = 1000) -> int:
        """A turn with as many as there are; how many the next has."""
        batch: list[Any] = [SimpleNamespace(packet=bytes(size))] * min(self.pace.size, most)
        with self.pace.turn(batch):
            self.now += seconds * len(batch)
        return self.pace.size


def test_cheap_messages_go_by_the_dozen() -> None:
    work = Work()
    assert [work.turn(TURN_S / 1000) for _ in range(4)] == [20, 40, SCAN_BATCH, SCAN_BATCH]


def test_a_turn_takes_about_as_long_as_it_may() -> None:
    work = Work()
    sizes = [work.turn(TURN_S / 4) for _ in range(8)]
    assert sizes[0] == FIRST // 2
    assert set(sizes[2:]) <= {2, 3, 4}
    assert [work.turn(TURN_S * 9) for _ in range(3)][-1] == 1
    assert [work.turn(TURN_S / 1000) for _ in range(6)][-1] == SCAN_BATCH


def test_long_messages_are_fewer_however_cheap() -> None:
    work = Work()
    work.turn(0.0, size=TURN_BYTES // 4)
    assert work.pace.size == 4
    work.turn(0.0, size=10 * TURN_BYTES)
    assert work.pace.size == 1
    assert [work.turn(0.0) for _ in range(6)][-1] == SCAN_BATCH


def test_the_end_of_a_queue_says_nothing_about_the_cost() -> None:
    work = Work()
    assert work.turn(0.0, most=3) == FIRST
    with work.pace.turn([]):
        pass
    assert work.pace.size == FIRST
