"""How often a second something can be done."""

from __future__ import annotations

import time
from collections.abc import Callable

ROUNDS = 9


def rates(count: int, *works: Callable[[], object]) -> list[float]:
    """Times a second for each of `works`, which do it `count` times a call; the best of a few.

    They take turns, so that a change of the machine's mood hits all of them.
    """
    best = [0.0] * len(works)
    for _ in range(ROUNDS):
        for index, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[index] = max(best[index], count / (time.perf_counter() - start))
    return best
