"""A large backlog and many queues must cost neither memory nor time.

`python -m bench.backlog [MESSAGES [QUEUES]]`, 5,000,000 and 10,000 unless told otherwise.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

import openmsmq
from openmsmq import Manager, Message, Queue, aio

BATCH = 1000
BODY = bytes(200)


def anonymous_mb() -> float:
    """Memory of this process that no file stands behind."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    return 0.0


def rates(queue: Queue, batches: int = 20) -> tuple[float, float]:
    """Sends and receives a second, a thousand at a time."""
    batch = [Message(BODY) for _ in range(BATCH)]
    start = time.perf_counter()
    for _ in range(batches):
        queue.send_many(batch)
    sent = time.perf_counter()
    for _ in range(batches):
        assert len(queue.receive_many(BATCH, timeout=0)) == BATCH
    done = time.perf_counter()
    return batches * BATCH / (sent - start), batches * BATCH / (done - sent)


def fill(queue: Queue, count: int) -> float:
    """Send `count` messages; how many a second."""
    batch = [Message(BODY) for _ in range(BATCH)]
    start = time.perf_counter()
    for _ in range(0, count, BATCH):
        queue.send_many(batch)
    return count / (time.perf_counter() - start)


def reopened(folder: Path) -> tuple[Manager, float]:
    """The manager of a folder, and how long opening it took."""
    start = time.perf_counter()
    manager = openmsmq.open(folder)
    return manager, time.perf_counter() - start


def backlog(folder: Path, count: int) -> None:
    """One queue with many messages."""
    with openmsmq.open(folder) as manager:
        queue = manager.create_queue("bench")
        empty = [max(pair) for pair in zip(*(rates(queue) for _ in range(3)), strict=True)]
        before = anonymous_mb()
        filled = fill(queue, count)
        grown = anonymous_mb() - before
        full = [max(pair) for pair in zip(*(rates(queue) for _ in range(3)), strict=True)]
    manager, seconds = reopened(folder)
    with manager:
        messages = manager.open_queue("bench").info().messages
    print(f"backlog of {messages:,} messages of {len(BODY)} bytes, sent at {filled:,.0f}/s")
    print(f"  anonymous memory grew by {grown:.0f} MB; reopened in {seconds:.2f} s")
    print(
        f"  send     {full[0]:10,.0f}/s, {empty[0] / full[0]:.2f} times the cost of an empty queue"
    )
    print(
        f"  receive  {full[1]:10,.0f}/s, {empty[1] / full[1]:.2f} times the cost of an empty queue"
    )


def many_queues(folder: Path, count: int) -> None:
    """Many queues with a message each."""

    async def create() -> None:
        async with aio.open(folder) as manager:

            async def one(number: int) -> None:
                queue = await manager.create_queue(f"queue{number}")
                await queue.send(Message(BODY))

            for start in range(0, count, BATCH):
                await asyncio.gather(*(one(n) for n in range(start, min(start + BATCH, count))))

    with openmsmq.open(folder) as manager:
        empty = [
            max(pair)
            for pair in zip(
                *(rates(manager.create_queue(f"empty{i}")) for i in range(3)), strict=True
            )
        ]
    before = anonymous_mb()
    asyncio.run(create())
    manager, seconds = reopened(folder)
    with manager:
        grown = anonymous_mb() - before
        queue = manager.create_queue("bench")
        full = [max(pair) for pair in zip(*(rates(queue) for _ in range(3)), strict=True)]
    print(f"{count:,} queues")
    print(f"  anonymous memory grew by {grown:.0f} MB; reopened in {seconds:.2f} s")
    print(f"  send     {full[0]:10,.0f}/s, {empty[0] / full[0]:.2f} times the cost beside none")
    print(f"  receive  {full[1]:10,.0f}/s, {empty[1] / full[1]:.2f} times the cost beside none")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    work = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    try:
        backlog(work / "backlog", numbers[0] if numbers else 5_000_000)
        many_queues(work / "queues", numbers[1] if len(numbers) > 1 else 10_000)
    finally:
        shutil.rmtree(work)
