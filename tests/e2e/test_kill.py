"""A process that sends, receives and works in transactions, killed at any instant."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tools.generate_docs import ROOT

import openmsmq
from tests.e2e.worker import QUEUES

pytestmark = pytest.mark.slow

LIVES = 10
SEEDS = (0, 1, *(pytest.param(seed, marks=pytest.mark.acceptance) for seed in (2, 3, 4)))
LONGEST_LIFE = 0.15


def live_and_die(directory: Path, seed: int, number: int, seconds: float) -> list[list[str]]:
    """Run the worker, kill it after `seconds` of work; what it said."""
    command = [sys.executable, "-m", "tests.e2e.worker", str(directory), str(seed), str(number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        threading.Timer(seconds, process.kill).start()
        said = [line.split() for line in process.stdout if line.endswith("\n")]
    assert process.returncode == -signal.SIGKILL
    return said


class Ledger:
    """What must be true of the queues, from what was acknowledged so far."""

    def __init__(self) -> None:
        self.sent: set[int] = set()
        self.got: set[int] = set()
        self.pairs: set[int] = set()
        self.moved: set[int] = set()
        self.prepared: set[int] = set()

    def note(self, said: list[list[str]]) -> None:
        """Take down what a life acknowledged."""
        books = {"sent": self.sent, "got": self.got, "pair": self.pairs, "moved": self.moved}
        for word, number in said:
            if word == "prepared":
                self.prepared.add(int(number))
            elif word != "aborted":
                books[word].add(int(number))

    def check(self, found: dict[str, list[int]], waiting: list[int]) -> None:
        """Compare with what is in the queues; what was under way may have happened or not."""
        for name, numbers in found.items():
            assert len(set(numbers)) == len(numbers), f"a message is twice in {name}"
        assert found["plain"] == sorted(found["plain"])
        assert found["right"] == sorted(found["right"])
        assert found["left"] == sorted(found["left"])

        plain, left, right, done = (set(found[name]) for name in ("plain", "left", "right", "done"))
        assert not plain & self.got, "a received message came back"
        lost = self.sent - self.got - plain
        assert len(lost) <= 1, "an acknowledged message is gone"  # one may be received unsaid
        self.got |= lost
        self.sent |= plain

        assert self.pairs <= right, "a committed message is gone"
        assert right == left | done, "a transaction was applied by half"
        assert not left & done, "a message was moved by half"
        assert self.moved <= done, "a committed receive came back"
        assert self.prepared - self.pairs <= right | set(waiting), "a prepared transaction is gone"
        self.pairs, self.moved = right, done


def contents(manager: openmsmq.Manager) -> dict[str, list[int]]:
    """The numbers in every queue, in their order."""
    return {
        name: [int(m.body) for m in manager.open_queue(name).peek_many(100_000, timeout=0)]
        for name in QUEUES
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_acknowledged_is_lost_by_kill(seed: int, tmp_path: Path) -> None:
    """DMPR-001, DMPR-028: fifty lives in all, ten on each directory."""
    directory = tmp_path / "data"
    chance = random.Random(seed)
    with openmsmq.open(directory) as manager:
        for name, transactional in QUEUES.items():
            manager.create_queue(name, transactional=transactional)
    ledger = Ledger()
    number = 0
    for life in range(LIVES):
        said = live_and_die(
            directory, chance.randrange(1 << 30), number, chance.random() * LONGEST_LIFE
        )
        ledger.note(said)
        number = max([number, *(int(n) for _, n in said)]) + 10
        with openmsmq.open(directory) as manager:
            waiting = [int(xid.removeprefix("pair-")) for xid in manager.prepared()]
            assert len(waiting) <= 1
            ledger.check(contents(manager), waiting)
            for xid in manager.prepared():
                if life % 2:
                    manager.commit_prepared(xid)
                else:
                    manager.abort_prepared(xid)
                    ledger.prepared.discard(int(xid.removeprefix("pair-")))
            ledger.check(contents(manager), [])
    assert ledger.sent
    assert ledger.pairs
