"""Sender and receiver as processes of their own: both get ready first, then the clock starts.

A module that takes part says at its end `race.take_part(SIDES)`, where each side gets ready, calls
`race.wait_for_start` and returns when it is done.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import NamedTuple, Protocol

BODY = bytes(range(256)) * 4
BATCH = 1000
"Messages that are sent without waiting for the answer to the first."
Side = Callable[[str, int], None]
"What one of the processes does, given an address and a number of messages."


class Contestant(Protocol):
    """A queue manager that can be started."""

    title: str
    module: str
    "Whose sides send and receive."
    count: int
    "Messages that take it a few seconds."
    process: subprocess.Popen[bytes]
    "Its server, once it is started."

    def is_installed(self) -> bool:
        """Whether it can be started here."""
        ...

    def start(self, folder: Path) -> str:
        """Start it with an empty queue in an empty folder; its address."""
        ...

    def stop(self) -> None:
        """End it."""
        ...


class Runner:
    """A side in a process of its own, which is ready."""

    def __init__(self, module: str, side: str, address: str, count: int) -> None:
        command = (sys.executable, "-m", module, side, address, str(count))
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._expect("ready")

    def go(self) -> None:
        """Let it begin."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def wait(self) -> float:
        """Wait until it is done; the seconds of processor time that it took."""
        worked = float(self._expect("done"))
        self._process.wait()
        return worked

    def _expect(self, word: str) -> str:
        assert self._process.stdout is not None
        heard, _, rest = self._process.stdout.readline().strip().partition(" ")
        assert heard == word, f"{self._process.args!r} said {heard!r}, not {word!r}"
        return rest


class Finish(NamedTuple):
    """How a race went."""

    rate: float
    "Messages a second from the sender to the receiver."
    sender: float
    "Processor time for each message in microseconds."
    receiver: float


def run(module: str, address: str, count: int) -> Finish:
    """Let a sender and a receiver run."""
    receiver, sender = (Runner(module, side, address, count) for side in ("receive", "send"))
    start = perf_counter()
    receiver.go()
    sender.go()
    received, sent = receiver.wait(), sender.wait()
    rate = count / (perf_counter() - start)
    return Finish(rate, sent / count * 1e6, received / count * 1e6)


_worked_before = 0.0


def wait_for_start() -> None:
    """Say that this side is ready, and wait until all are."""
    global _worked_before
    print("ready", flush=True)
    sys.stdin.readline()
    _worked_before = process_time()


def take_part(sides: Mapping[str, Side]) -> None:
    """Be the side that the command line names."""
    name, address, count = sys.argv[1:]
    sides[name](address, int(count))
    print("done", process_time() - _worked_before, flush=True)


def wait_until(is_there: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait for a server that starts."""
    while not is_there():
        assert process.poll() is None, f"{process.args!r} ended"
        sleep(0.05)
