"""Fair shares of an event loop: work for unknown peers leaves time for everything else.

An event loop handles all that is ready before it looks for more. A flood of packets would keep the
requests of programs waiting, once for each step of a durable send; here such work gets a share of
each round of the loop, and the rest of it waits for the next rounds, in its order. What it adds to
the next commit is bounded, too, for the loop waits while a commit is written and answered: as soon
as that takes long there is less of it, and more again when it does not.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

SHARE_S: Final = 0.0005
"""Seconds of each round of the event loop; the last piece of work may exceed it. A durable send of
a program waits for two or three rounds.
"""
TURN_S: Final = SHARE_S
"Seconds of the processor that a turn may take; the next one is shorter if it took more."
COMMIT_SHARES_S: Final = (0.0005, 0.002)
"Seconds of work between two commits, at least and at most."
HELD_MAX_S: Final = 0.001
"Seconds that a commit may hold up the loop before the next one is given less to do."
LESS: Final = 0.5
"By how much a share changes after a commit that took longer than that."
MORE: Final = 1.25
"And after one that did not."
POLL_INTERVAL_S: Final = 0.001
"Between two looks whether a commit is finished."


def next_count(count: int, done: int, took: float, most: int) -> int:
    """How much to do in the next turn, after one that took some seconds for `done` of `count`."""
    if took > TURN_S:
        return max(1, done // 2)
    return min(2 * count, most) if took < TURN_S / 2 and done == count else count


class Commits(Protocol):
    """The progress of commits (`LoopDriver`)."""

    @property
    def is_busy(self) -> bool:
        """One is wanted or under way."""
        ...

    @property
    def commits(self) -> int:
        """How many are finished."""
        ...

    @property
    def held_time(self) -> float:
        """Seconds for which the last one held up the event loop."""
        ...


class Turns:
    """A queue of work that gets a bounded share of each round of the event loop."""

    def __init__(self, commits: Commits, clock: Callable[[], float] = time.perf_counter) -> None:
        self._commits = commits
        self._clock = clock
        self._waiting: deque[Callable[[], bool]] = deque()
        self._left = SHARE_S
        "Seconds of this round's share."
        self._commit = 0
        self._commit_share = self._commit_left = SHARE_S
        "Seconds of work that may be in the next commit, and how many are left of them."
        self.charged = 0.0
        "Seconds that commits will take for what was done so far, as those who did it expect."
        self._is_scheduled = False
        "The next round begins a new share."

    def add(self, work: Callable[[], bool]) -> None:
        """Have work done: at once, if there is time in this round and nothing else waits.

        `work` does a piece, and returns whether there is more of it: then it gets another turn.
        """
        self._waiting.append(work)
        if not self._is_scheduled:
            self._left = SHARE_S
            self._schedule()
        self._work()

    def charge(self, seconds: float) -> None:
        """What is done at present takes the next commit this long, which counts as work, too."""
        self.charged += seconds

    def spend(self, seconds: float) -> None:
        """What is done at present takes the event loop this long later, as work of this round."""
        self._left -= seconds

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        self._is_scheduled = True
        if self._has_commit_share():
            loop.call_soon(self._begin_round)
        else:
            loop.call_later(POLL_INTERVAL_S, self._begin_round)

    def _begin_round(self) -> None:
        self._left = SHARE_S
        self._is_scheduled = False
        if self._waiting:
            try:
                self._work()
            finally:
                self._schedule()

    def _work(self) -> None:
        clock, waiting = self._clock, self._waiting
        while waiting and self._left > 0 and self._has_commit_share():
            work = waiting.popleft()
            start, charged = clock(), self.charged
            if work():
                waiting.append(work)
            took = clock() - start
            self._left -= took
            self._commit_left -= took + self.charged - charged

    def _has_commit_share(self) -> bool:
        commits = self._commits
        if commits.commits != self._commit:
            self._commit = commits.commits
            least, most = COMMIT_SHARES_S
            change = LESS if commits.held_time > HELD_MAX_S else MORE
            self._commit_share = min(max(least, self._commit_share * change), most)
            self._commit_left = self._commit_share
        return self._commit_left > 0 or not commits.is_busy
