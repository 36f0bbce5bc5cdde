"""Where the time of the manager goes while messages pass through it, in microseconds for each.

`python -m bench.hot_path`. The manager runs in this process and looks again and again at what it is
doing; sender and receiver are processes of their own, as in `bench.service`.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final

import openmsmq
from bench import race
from bench.service import Ours
from openmsmq.cli.main import main as command

EVERY = 0.002
"Seconds of processor time between two looks."
STEPS: Final = {
    "frames: cut and read": ("app_protocol.frames", "app_protocol.payloads", "app_server.session"),
    "messages: checked, stamped": (
        "engine.messages.stamp",
        "engine.messages.send",
        "engine.messages.enqueue",
    ),
    "rows of arrivals and removals": (
        "engine.commit.batch",
        "engine.messages.disposition",
        "engine.core",
    ),
    "finding what is readable, deliveries": (
        "engine.messages.scan",
        "app_server.",
        "engine.messages.receive",
    ),
    "history": ("engine.storage.history",),
    "LMDB: gets, puts, deletes": ("store.",),
    "sockets": ("net.", "asyncio.selector_events"),
}
"What is done, and the modules that do it."
DISK: Final = "commits on the disk's thread, event loop"
_Samples = Counter[str]


def step_of(frame: FrameType | None) -> str:
    """What the manager is doing."""
    while frame is not None:
        name = frame.f_globals.get("__name__", "").removeprefix("openmsmq.")
        for step, modules in STEPS.items():
            if name.startswith(modules):
                return step
        frame = frame.f_back
    return DISK


def serve(folder: Path, samples: _Samples) -> None:
    """Run the manager in this thread, looking at it, until it is told to stop."""

    def look(_: int, frame: FrameType | None) -> None:
        samples[step_of(frame)] += 1

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    options = ("--data", str(folder / "data"), "--app-socket", str(folder / "app"))
    off = (
        "--app-port",
        "off",
        "--console-port",
        "off",
        "--binary-port",
        "off",
        "--log-level",
        "error",
    )
    ready = ("--ready-file", str(folder / "ready"))
    try:
        command(["serve", *options, *off, *ready], standalone_mode=False)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def lines(samples: _Samples, seconds: float, count: int) -> Iterator[str]:
    """The table, line by line."""
    total = sum(samples.values())
    yield f"{'the manager, microseconds a message':46s}{1e6 * seconds / count:8.1f}"
    for step in (*STEPS, DISK):
        yield f"  {step:44s}{1e6 * seconds / count * samples[step] / total:8.1f}"


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    samples: _Samples = Counter()
    table: list[str] = []

    def drive() -> None:
        while not (folder / "ready").exists():
            time.sleep(0.02)
        address = f"unix:{folder / 'app'}"
        with openmsmq.connect(address) as manager:
            manager.create_queue("bench")
        samples.clear()
        begun = time.process_time()
        race.run(Ours.module, address, Ours.count)
        table.extend(lines(samples.copy(), time.process_time() - begun, Ours.count))
        os.kill(os.getpid(), signal.SIGTERM)

    driver = threading.Thread(target=drive)
    driver.start()
    try:
        serve(folder, samples)
    except SystemExit as end:
        sys.exit(end.code)
    finally:
        driver.join()
        shutil.rmtree(folder)
    for line in table:
        print(line, flush=True)


if __name__ == "__main__":
    main()
