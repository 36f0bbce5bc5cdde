"""Where time and new identifiers come from."""

from __future__ import annotations

import time

from openmsmq.clock import Clock, SystemClock


def test_the_clock_of_the_system_tells_the_time() -> None:
    clock: Clock = SystemClock()
    before = time.time()
    assert before <= clock.now() <= time.time()


def test_it_counts_the_seconds_that_pass() -> None:
    clock: Clock = SystemClock()
    start, before = time.monotonic(), clock.elapsed()
    time.sleep(0.02)
    passed, real = clock.elapsed() - before, time.monotonic() - start
    assert 0.019 <= passed <= real + 0.01


def test_new_identifiers_are_random() -> None:
    clock: Clock = SystemClock()
    made = {clock.new_guid() for _ in range(100)}
    assert len(made) == 100
    assert {guid.version for guid in made} == {4}
