"""Run seeds: `python -m tests.simulation --seeds 1000`, or one with all that happens in it."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import partial
from multiprocessing import Pool
from typing import Final, NamedTuple

from tests.simulation.routes import travel
from tests.simulation.world import ALSO, PARTICIPANTS, Failed, World, simulate

SHOWN: Final = 100
"Progress is reported after this many seeds."
EXAMPLES: Final = """\
examples:
  python -m tests.simulation --seeds 10000 --keep-going    the bar
  python -m tests.simulation --with dependents --seeds 500 worlds with clients without a manager
  python -m tests.simulation --http 0.7 --seeds 3000       most links over HTTP
  python -m tests.simulation --routes --seeds 5000         random topologies
  python -m tests.simulation --seed 336 --trace            all that happens in one
"""


class Tried(NamedTuple):
    """What came of a seed."""

    seed: int
    problem: str
    "What is wrong; empty if nothing is."
    participants: frozenset[str]
    cpu: float
    "Seconds."


def attempt(
    seed: int,
    http: float = 0.0,
    also: Collection[str] = ALSO,
    wanted: Collection[str] = (),
) -> Tried | None:
    """Try a seed; None for a world that has not all that is wanted."""
    if not World(seed, also=() if http else also, http=http).participants.issuperset(wanted):
        return None
    return _timed(seed, partial(simulate, http=http, also=also))


def attempt_routes(seed: int) -> Tried | None:
    """Try a seed of random topologies."""
    return _timed(seed, travel)


def _timed(seed: int, run: Callable[[int], object]) -> Tried:
    logging.disable(logging.CRITICAL)
    begun, problem, world = time.process_time(), "", None
    try:
        world = run(seed)
    except Failed as failed:
        problem, world = failed.args
    except Exception as error:
        problem = f"seed {seed}: {error!r}"
    present = world.participants if isinstance(world, World) else frozenset()
    return Tried(seed, problem, present, time.process_time() - begun)


def problems(tried: Iterable[Tried | None]) -> list[str]:
    """What is wrong with seeds that were tried."""
    return [item.problem for item in tried if item is not None and item.problem]


def main() -> int:
    """1 if a seed failed."""
    given = _parser().parse_args()
    if given.seed is not None:
        return replay(given)
    begun, counts, cpu, failed, done = time.perf_counter(), Counter[str](), 0.0, list[int](), 0
    last = given.first + given.seeds - 1
    seeds = range(given.first, last + 1)
    also = ALSO - set(given.without)
    usual = partial(attempt, http=given.http, also=also, wanted=given.wanted)
    with Pool(given.jobs) as pool:
        tries = pool.imap_unordered(attempt_routes if given.routes else usual, seeds, chunksize=1)
        for count, tried in enumerate(tries, 1):
            if tried is not None:
                done, cpu = done + 1, cpu + tried.cpu
                counts.update(tried.participants)
                if tried.problem:
                    failed.append(tried.seed)
                    _say(tried.problem)
                    if not given.keep_going:
                        break
            if count % SHOWN == 0:
                spent = time.perf_counter() - begun
                _say(f"{count} of {given.seeds} seeds, {len(failed)} failed, {spent:.0f} s")
    there = ", ".join(f"{name} {counts[name]}" for name in PARTICIPANTS if counts[name])
    _say(
        f"seeds {given.first} to {last}: {done} tried, {len(failed)} failed {sorted(failed) or ''}"
        f"; with {there or 'routers alone'}; {cpu / max(done, 1):.2f} s of CPU each,"
        f" {time.perf_counter() - begun:.0f} s in all"
    )
    return min(len(failed), 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation",
        description="Run managers in virtual time, on disks and wires that fail.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--trace", action="store_true", help="show all that happens in it")
    parser.add_argument(
        "--keep-going", action="store_true", help="do not stop at the first failure"
    )
    parser.add_argument("--jobs", type=int, help="processes at once; by default one per core")
    parser.add_argument("--http", type=float, default=0.0, help="the share of links over HTTP")
    parser.add_argument("--routes", action="store_true", help="random topologies instead")
    parser.add_argument(
        "--with",
        dest="wanted",
        action="append",
        choices=PARTICIPANTS,
        default=[],
        help="only worlds that have this; can be repeated",
    )
    parser.add_argument(
        "--without",
        action="append",
        choices=sorted(ALSO),
        default=[],
        help="leave this out of all worlds; can be repeated",
    )
    return parser


def replay(given: argparse.Namespace) -> int:
    """Run one seed and show what happened."""
    logging.disable(logging.CRITICAL)
    if given.routes:
        travel(given.seed)
        return 0
    also = ALSO - set(given.without)
    try:
        world = simulate(given.seed, trace=given.trace, http=given.http, also=also)
    except Failed as failed:
        for line in failed.args[1].trace.lines:
            _say(line)
        raise
    for line in world.trace.lines:
        _say(line)
    return 0


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
