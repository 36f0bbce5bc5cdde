"""What others notice of a million messages that are purged or expire at one instant.

`python -m bench.stall [MESSAGES]`, 1,000,000 unless told otherwise. Beside it one task sends
durable messages to another queue, one at a time, and the longest of its waits is what counts.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable

from openmsmq import Message, aio

BATCH = 1000
BODY = bytes(200)
FILL_RATE = 20_000
"Messages a second that even a slow machine can send, to know when all of them shall expire."


async def beside(queue: aio.Queue, work: Callable[[], Awaitable[None]]) -> list[float]:
    """How long each send to a queue took, in milliseconds, while something else went on."""
    waits: list[float] = []
    task = asyncio.ensure_future(work())
    while not task.done():
        start = time.perf_counter()
        await queue.send(Message(BODY))
        waits.append((time.perf_counter() - start) * 1000)
        await asyncio.sleep(0.001)
    await task
    return sorted(waits)


async def expire(queue: aio.Queue, count: int) -> Callable[[], Awaitable[None]]:
    """Fill a queue with messages that expire together; the wait until they are gone."""
    end = int(time.time()) + count // FILL_RATE + 5
    for _ in range(count // BATCH):
        left = max(end - int(time.time()), 1)
        message = Message(BODY, time_to_be_received=left, dead_letter=True)
        await queue.send_many([message] * BATCH)
    await asyncio.sleep(max(0, end - time.time()))

    async def gone() -> None:
        while (await queue.info()).messages:  # noqa: ASYNC110  # nobody tells when it is empty
            await asyncio.sleep(0.05)

    return gone


async def run(folder: str, count: int) -> None:
    async with aio.open(folder) as manager:
        big = await manager.create_queue("big")
        other = await manager.create_queue("other")
        report("nothing", await beside(other, lambda: asyncio.sleep(3)))
        for _ in range(count // BATCH):
            await big.send_many([Message(BODY)] * BATCH)

        async def purge() -> None:
            await big.purge()

        start = time.perf_counter()
        report(f"purge of {count:,}", await beside(other, purge), start)
        gone = await expire(big, count)
        start = time.perf_counter()
        report(f"expiry of {count:,}", await beside(other, gone), start)


def report(title: str, waits: list[float], start: float | None = None) -> None:
    """One line of the table."""
    took = "" if start is None else f"{time.perf_counter() - start:8.1f} s"
    figures = (waits[len(waits) // 2], waits[int(len(waits) * 0.99)], waits[-1])
    print(f"{title:24s}{took:>10s}" + "".join(f"{figure:10.1f}" for figure in figures), flush=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    folder = tempfile.mkdtemp(prefix="openmsmq-bench-")
    print(f"{'send beside':24s}{'took':>10s}{'median':>10s}{'p99':>10s}{'max':>10s}   (ms)")
    try:
        asyncio.run(run(folder, count))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
