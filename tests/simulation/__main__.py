"""Run seeds: `python -m tests.simulation --seeds 1000`, or one with all that happens in it."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from functools import partial
from multiprocessing import Pool
from typing import Final

from tests.simulation.world import Failed, simulate

SHOWN: Final = 100
"Progress is reported after so many seeds."


def attempt(seed: int, http: float = 0.0) -> str:
    """What is wrong with a seed; empty if nothing is."""
    logging.disable(logging.CRITICAL)
    try:
        simulate(seed, http=http)
    except Failed as failed:
        return str(failed.args[0])
    return ""


def main() -> int:
    """How many seeds failed, at most 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--trace", action="store_true", help="show all that happens")
    parser.add_argument("--http", type=float, default=0.0, help="the share of links over HTTP")
    parser.add_argument("--jobs", type=int, help="processes at once; by default one per core")
    given = parser.parse_args()
    if given.seed is not None:
        return replay(given.seed, trace=given.trace, http=given.http)
    begun = time.perf_counter()
    failed = 0
    seeds = range(given.first, given.first + given.seeds)
    with Pool(given.jobs) as pool:
        tried = pool.imap_unordered(partial(attempt, http=given.http), seeds, chunksize=4)
        for done, problem in enumerate(tried, 1):
            if problem:
                failed += 1
                print(problem, flush=True)  # noqa: T201
            if done % SHOWN == 0:
                spent = time.perf_counter() - begun
                print(f"{done} seeds, {failed} failed, {spent:.0f} s", flush=True)  # noqa: T201
    return min(failed, 1)


def replay(seed: int, *, trace: bool, http: float = 0.0) -> int:
    """Run one seed and show what happened."""
    logging.disable(logging.CRITICAL)
    try:
        world = simulate(seed, trace=trace, http=http)
    except Failed as failed:
        for line in failed.args[1].trace.lines:
            print(line)  # noqa: T201
        raise
    for line in world.trace.lines:
        print(line)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
