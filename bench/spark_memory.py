"""Memory of a manager while Spark reads all of a large queue, beside that of the idle manager.

`python -m bench.spark_memory [MESSAGES] [BYTES]`: ten million bodies of 1 KiB, which need 13 GB of
disk, unless told otherwise. Pages of the store that are mapped are not the manager's own: the
kernel takes them back when it likes. They are shown apart.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread
from typing import Final

from bench.spark import AHEAD, BATCH, Queues, noop, session
from openmsmq import Message, aio

COUNT: Final = 10_000_000
BYTES: Final = 1024
OFTEN: Final = 0.05
"Seconds between two looks."


def memory(process: int) -> dict[str, int]:
    """KiB of a process: its own, and mapped from files."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines)
    return {name: int(found[name].split()[0]) for name in ("RssAnon", "RssFile")}


class Peak:
    """The most that a process has while something is done."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._over = Event()
        self._thread = Thread(target=self._look)
        self.most = 0

    def _look(self) -> None:
        while not self._over.wait(OFTEN):
            self.most = max(self.most, memory(self._process)["RssAnon"])

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def fill(address: str, count: int, size: int) -> None:
    """Send the messages that are read."""
    batch = [Message(bytes(size), label=f"order {number:08}") for number in range(BATCH)]

    async def run() -> None:
        async with aio.connect(address) as manager:
            queue = await manager.open_queue("bench")
            firsts = iter(range(0, count, BATCH))

            async def one_after_the_other() -> None:
                for _ in firsts:
                    await queue.send_many(batch)

            await asyncio.gather(*(one_after_the_other() for _ in range(AHEAD)))

    asyncio.run(run())


def main(count: int = COUNT, size: int = BYTES) -> None:
    """Print what it has at rest, and at most."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        queues = Queues(folder)
        process = queues.process
        print(f"manager, empty: {memory(process)} KiB", flush=True)
        spark = session(folder)
        try:
            fill(queues.address, count, size)
            idle = memory(process)
            print(f"with {count:,} messages of {size} bytes, idle: {idle} KiB", flush=True)
            rows = spark.read.format("msmq").option("manager", queues.address)
            rows = rows.option("queue", "bench").schema("label string, body binary")
            start = time.perf_counter()
            with Peak(process) as peak:
                noop(rows.load())
            ratio = peak.most / idle["RssAnon"]
            seconds = time.perf_counter() - start
            print(f"while it is read: {peak.most} KiB at most, {ratio:.2f} of that at rest")
            print(f"{count / seconds:,.0f} rows/s; then {memory(process)} KiB", flush=True)
        finally:
            spark.stop()
            queues.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
