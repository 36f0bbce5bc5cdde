"""Where time and new identifiers come from."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import openmsmq
from openmsmq.clock import LATEST, Clock, SystemClock
from openmsmq.types.message import Message


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


@pytest.mark.parametrize("shown", [0x1_0000_0000, 10.0**12, -5.0])
def test_a_clock_that_is_far_off_stops_no_one(
    shown: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packets and rows have 32 bits for the time; what counts goes on counting."""
    monkeypatch.setattr(time, "time", lambda: shown)
    for _ in range(2):
        with openmsmq.open(tmp_path / "data") as manager:
            queue = manager.create_queue("q") if not manager.queues() else manager.open_queue("q")
            queue.send(Message(b"x", time_to_be_received=3600))
            assert queue.receive(0).body == b"x"


def test_time_goes_on_beyond_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    here = SystemClock()
    monkeypatch.setattr(time, "time", lambda: float(LATEST) + 1e6)
    monkeypatch.setattr(here, "elapsed", iter([100.0, 160.0]).__next__)
    assert (here.now(), here.now()) == (LATEST, LATEST + 60)
    monkeypatch.setattr(time, "time", lambda: 5.5)
    assert here.now() == 5.5
