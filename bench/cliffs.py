"""What must not become slow when there is much of it: processor time beside that of little of it.

`python -m bench.cliffs [BACKLOG [NAME...]]`: BACKLOG messages lie in the deep queues, 5,000,000
unless it says otherwise; names choose some of the cliffs. The manager is embedded, bodies have 200
bytes, and processor time of the whole process counts, since it does not depend on what else this
computer does.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import openmsmq
from openmsmq import Message, Queue, aio

BATCH = 1000
SINGLES = 300
"How often something is done whose cost is measured one at a time."
BACKLOG = 5_000_000
READERS, SENDERS, QUEUES, HELD = 1_000, 100, 10_000, 100_000
BODY = bytes(200)


class Cliff(NamedTuple):
    """A cost with little and with much."""

    title: str
    little: float
    "Microseconds of processor time for each message."
    much: float
    bar: float
    "How many times as dear it may be."


def filled(queue: Queue, count: int, **given: Any) -> None:
    """Send many messages."""
    batch = [Message(BODY, **given) for _ in range(BATCH)]
    for _ in range(0, count, BATCH):
        queue.send_many(batch)


def cost(count: int, work: Callable[[], object]) -> float:
    """Microseconds of processor time of something that is done `count` times."""
    start = time.process_time()
    work()
    return (time.process_time() - start) / count * 1e6


def anonymous_mb() -> float:
    """Memory of this process that no file stands behind."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("RssAnon"))


def batches(queue: Queue, rounds: int = 20) -> float:
    """The cost of a message that is sent and received in batches."""

    def work() -> None:
        for _ in range(rounds):
            filled(queue, BATCH)
            assert len(queue.receive_many(BATCH, timeout=0)) == BATCH

    return cost(rounds * BATCH, work)


def singles(send: Callable[[], object], receive: Callable[[], object]) -> float:
    """The cost of a message that is sent and received alone."""

    def work() -> None:
        for _ in range(SINGLES):
            send()
            receive()

    work()
    return cost(SINGLES, work)


def backlog(folder: Path, count: int) -> Iterator[Cliff]:
    """A deep queue: batches, memory, cursors, lookup identifiers, purge."""
    with openmsmq.open(folder) as manager:
        queue = manager.create_queue("deep")
        batches(queue, 2)
        little, memory = batches(queue), anonymous_mb()
        filled(queue, count)
        yield Cliff(f"batches, {count:,} messages in the queue", little, batches(queue), 1.2)
        yield Cliff("  memory of the process, MiB", memory, anonymous_mb(), 1.2)
        other = manager.create_queue("shallow")
        filled(other, BATCH)
        yield Cliff("a cursor over the first 1,000", _walk(other), _walk(queue), 1.2)
        little, much = _selective(other), _selective(queue)
        yield Cliff("receives by lookup identifier, at random", little, much, 1.5)
        filled(other, 10 * BATCH)
        few, many = other.info().messages, queue.info().messages
        little, much = cost(few, other.purge), cost(many, queue.purge)
        yield Cliff("purge, for each message", little, much, 1.2)


def _walk(queue: Queue) -> float:
    with queue.cursor() as cursor:
        cursor.peek(timeout=0)

        def work() -> None:
            for _ in range(BATCH - 1):
                cursor.next(timeout=0)

        return cost(BATCH - 1, work)


def _selective(queue: Queue) -> float:
    last = queue.peek_by_lookup_id(0, "last").lookup_id
    first = queue.peek(timeout=0).lookup_id
    chosen = random.Random(7).sample(range(first, last + 1), SINGLES)  # noqa: S311

    def work() -> None:
        for lookup in chosen:
            queue.receive_by_lookup_id(lookup)

    return cost(SINGLES, work)


def journaling(folder: Path, count: int) -> Iterator[Cliff]:
    """A journal that grows."""
    with openmsmq.open(folder) as manager:
        queue = manager.create_queue("journaled", journal=True)
        batches(queue, 2)
        little = batches(queue, 10)
        for _ in range(0, min(count, 200_000), BATCH):
            filled(queue, BATCH)
            queue.receive_many(BATCH, timeout=0)
        yield Cliff("batches with a deep journal", little, batches(queue, 10), 1.2)


def priorities(folder: Path, count: int) -> Iterator[Cliff]:
    """Messages of all priorities in one queue."""
    with openmsmq.open(folder) as manager:
        queue = manager.create_queue("mixed")
        urgent = Message(BODY, priority=7)
        little = singles(lambda: queue.send(urgent), lambda: queue.receive(timeout=0))
        for priority in range(7):
            filled(queue, min(count, 140_000) // 7, priority=priority)
        much = singles(lambda: queue.send(urgent), lambda: queue.receive(timeout=0))
        yield Cliff("urgent messages before a backlog of others", little, much, 1.2)


def held(folder: Path, count: int) -> Iterator[Cliff]:
    """Messages that a stream holds, while urgent ones come and go."""
    with openmsmq.open(folder) as manager:
        queue = manager.create_queue("held")
        urgent = Message(BODY, priority=7)
        little = singles(lambda: queue.send(urgent), lambda: queue.receive_many(10, timeout=0))
        filled(queue, HELD)
        with queue.stream(HELD, timeout=0, explicit=True) as stream:
            for _ in range(HELD):
                next(stream)
            much = singles(lambda: queue.send(urgent), lambda: queue.receive_many(10, timeout=0))
        yield Cliff(f"urgent messages before {HELD:,} that are held", little, much, 2.0)


def queues(folder: Path, count: int) -> Iterator[Cliff]:
    """Many queues."""

    async def run() -> tuple[float, float]:
        async with aio.open(folder) as manager:
            queue = await manager.create_queue("first")

            async def one() -> None:
                await queue.send(Message(BODY))
                await queue.receive(timeout=0)

            found = [await _cost(SINGLES, one)]
            for first in range(0, QUEUES, 500):
                numbers = range(first, first + 500)
                await asyncio.gather(*(manager.create_queue(f"queue-{at}") for at in numbers))
            found.append(await _cost(SINGLES, one))
        return found[0], found[1]

    yield Cliff(f"one at a time beside {QUEUES:,} queues", *asyncio.run(run()), 1.2)


async def _cost(count: int, one: Callable[[], Coroutine[Any, Any, None]]) -> float:
    await one()
    start = time.process_time()
    for _ in range(count):
        await one()
    return (time.process_time() - start) / count * 1e6


def readers(folder: Path, count: int) -> Iterator[Cliff]:
    """Many receivers that wait on one queue."""

    async def run(crowd: int) -> float:
        async with aio.open(folder) as manager:
            queue = await manager.create_queue(f"crowded-{crowd}")
            came = asyncio.Queue[None]()

            async def receive() -> None:
                while True:
                    await queue.receive()
                    came.put_nowait(None)

            waiting = [asyncio.create_task(receive()) for _ in range(crowd)]
            await asyncio.sleep(0.5)

            async def one() -> None:
                await queue.send(Message(BODY))
                await came.get()

            found = await _cost(SINGLES, one)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            return found

    yield Cliff(
        f"{READERS:,} receivers on one queue", asyncio.run(run(1)), asyncio.run(run(READERS)), 2.0
    )


def senders(folder: Path, count: int) -> Iterator[Cliff]:
    """Many that send to one queue, one message at a time."""

    async def run(crowd: int) -> float:
        async with aio.open(folder) as manager:
            queue = await manager.create_queue(f"to-{crowd}")
            total = SINGLES * 10

            async def send() -> None:
                for _ in range(total // crowd):
                    await queue.send(Message(BODY))

            start = time.process_time()
            await asyncio.gather(*(send() for _ in range(crowd)))
            return (time.process_time() - start) / total * 1e6

    yield Cliff(
        f"{SENDERS} senders to one queue", asyncio.run(run(1)), asyncio.run(run(SENDERS)), 1.0
    )


CLIFFS = {
    part.__name__: part
    for part in (backlog, journaling, priorities, held, queues, readers, senders)
}


def main(count: int = BACKLOG, *names: str) -> None:
    print(f"processor time for each message, us; load average {os.getloadavg()[0]:.1f}")
    print(f"  {'':48s}{'little':>10s}{'much':>10s}{'ratio':>8s}{'bar':>6s}", flush=True)
    for name in names or CLIFFS:
        folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
        try:
            for title, little, much, bar in CLIFFS[name](folder, count):
                line = f"{title:48s}{little:10.1f}{much:10.1f}{much / little:8.2f}{bar:6.1f}"
                print(f"  {line}", flush=True)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else BACKLOG, *sys.argv[2:])
