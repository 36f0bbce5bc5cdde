"""Many programs and many queues at once: what they cost a manager that has nothing else to do.

`python -m bench.crowd`: 2,000 connections, 200 of them waiting on empty queues, 10,000 queues.
Reports memory and processor time while nothing happens, and how long a receive takes on a queue
that is alone, and on one among all the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from bench import race
from bench.service import Ours
from openmsmq import Message, aio
from openmsmq.errors import OperationCancelled

CONNECTIONS, WAITING, QUEUES = 2_000, 200, 10_000
TOGETHER = 50
"Connections and queues that are made at the same time."
READS = 300
IDLE = 5.0
"Seconds for which nothing happens."
FILES = 2 * CONNECTIONS + 500
_TICKS = os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """The memory that a process has, in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def processor(pid: int) -> float:
    """Seconds that a process has worked."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


async def median_read(address: str, name: str) -> float:
    """Milliseconds that a receive takes, once the message is there."""
    async with aio.connect(address) as manager:
        queue = await manager.open_queue(name)
        await queue.send_many([Message(race.BODY, recoverable=False)] * READS)
        found = []
        for _ in range(READS):
            start = time.perf_counter()
            await queue.receive(timeout=0)
            found.append((time.perf_counter() - start) * 1000)
    return statistics.median(found)


async def connect_all(address: str) -> list[aio.Manager]:
    """The connections; a queue is open on each."""
    gate = asyncio.Semaphore(TOGETHER)

    async def one(number: int) -> aio.Manager:
        async with gate:
            manager = await aio.connect(address)
            await manager.open_queue(f"crowd-{number}")
            return manager

    return list(await asyncio.gather(*(one(number) for number in range(CONNECTIONS))))


async def wait_on(manager: aio.Manager, number: int) -> None:
    """A receive that waits until the connection is closed."""
    queue = await manager.open_queue(f"crowd-{number}")
    with contextlib.suppress(OperationCancelled):
        await queue.receive()


async def run(address: str, pid: int) -> None:
    def report(title: str, figure: str) -> None:
        print(f"  {title:48s}{figure:>14s}", flush=True)

    report("memory at the start", f"{memory(pid):.0f} MiB")
    report("receive, one queue, one connection", f"{await median_read(address, 'bench'):.2f} ms")
    async with aio.connect(address) as manager:
        start = time.perf_counter()
        for first in range(0, QUEUES, TOGETHER):
            numbers = range(first, first + TOGETHER)
            await asyncio.gather(*(manager.create_queue(f"crowd-{at}") for at in numbers))
        rate = QUEUES / (time.perf_counter() - start)
    report(f"creating {QUEUES:,} queues", f"{rate:,.0f}/s")
    report(f"memory with {QUEUES:,} queues", f"{memory(pid):.0f} MiB")
    managers = await connect_all(address)
    waiting = [
        asyncio.create_task(wait_on(manager, number))
        for number, manager in enumerate(managers[:WAITING])
    ]
    await asyncio.sleep(1)
    report(f"memory with {CONNECTIONS:,} connections as well", f"{memory(pid):.0f} MiB")
    before = processor(pid)
    await asyncio.sleep(IDLE)
    report("processor time while nothing happens", f"{(processor(pid) - before) / IDLE:.1%}")
    report("receive beside all of them", f"{await median_read(address, 'bench'):.2f} ms")
    await asyncio.gather(*(manager.close() for manager in managers))
    await asyncio.gather(*waiting)


def main() -> None:
    print(f"{CONNECTIONS:,} connections, {WAITING} of them waiting, {QUEUES:,} queues")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, most), most))
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    ours = Ours()
    try:
        address = ours.start(folder)
        asyncio.run(run(address, ours.process.pid))
        ours.stop()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
