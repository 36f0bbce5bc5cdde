"""Sender and receiver as processes of their own: both get ready first, then the clock starts.

A module that takes part says at its end `race.take_part(SIDES)`, where each side gets ready, calls
`race.wait_for_start` and returns when it is done.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter, sleep
from typing import Protocol

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

    def wait(self) -> None:
        """Wait until it is done."""
        self._expect("done")
        self._process.wait()

    def _expect(self, word: str) -> None:
        assert self._process.stdout is not None
        heard = self._process.stdout.readline().strip()
        assert heard == word, f"{self._process.args!r} said {heard!r}, not {word!r}"


def run(module: str, address: str, count: int) -> float:
    """Messages a second from a sender to a receiver."""
    runners = [Runner(module, side, address, count) for side in ("receive", "send")]
    start = perf_counter()
    for runner in runners:
        runner.go()
    for runner in runners:
        runner.wait()
    return count / (perf_counter() - start)


def wait_for_start() -> None:
    """Say that this side is ready, and wait until all are."""
    print("ready", flush=True)
    sys.stdin.readline()


def take_part(sides: Mapping[str, Side]) -> None:
    """Be the side that the command line names."""
    name, address, count = sys.argv[1:]
    sides[name](address, int(count))
    print("done", flush=True)


def wait_until(is_there: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait for a server that starts."""
    while not is_there():
        assert process.poll() is None, f"{process.args!r} ended"
        sleep(0.05)
