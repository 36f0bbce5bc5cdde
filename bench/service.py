"""The service: sender, manager and receiver as processes of their own, 1 KiB bodies.

`python -m bench.service [MESSAGES]`, 200,000 unless told otherwise. Durable end to end: every
message is on disk before its sender is told, and removed before the receiver goes on.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import openmsmq
from openmsmq import Message, aio

BATCH = 1000
BODY = bytes(range(256)) * 4
PREFETCH = 4000
CLIENTS = (1, 16, 64)
RATE = 1000
"Messages a second whose latency is measured."


class Service:
    """A manager in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.address = f"unix:{folder / 'app'}"
        ready = folder / "ready.json"
        options = ("--data", str(folder / "data"), "--app-socket", str(folder / "app"))
        off = ("--app-port", "off", "--console-port", "off", "--log-level", "error")
        command = (sys.executable, "-m", "openmsmq", "serve", *options, *off)
        self._process = subprocess.Popen((*command, "--ready-file", str(ready)))
        while not ready.exists():
            assert self._process.poll() is None, "the service ended"
            time.sleep(0.02)
        assert json.loads(ready.read_text())["pid"] == self._process.pid

    def stop(self) -> None:
        """End it in good order."""
        self._process.terminate()
        self._process.wait()


def send(address: str, count: int, *, recoverable: bool) -> None:
    """What the sender's process does."""
    batch = [Message(BODY, label="order", recoverable=recoverable)] * BATCH

    async def run() -> None:
        async with aio.connect(address) as manager:
            queue = await manager.open_queue("bench")
            ahead = asyncio.Semaphore(4)

            async def one() -> None:
                await queue.send_many(batch)
                ahead.release()

            tasks = []
            for _ in range(count // BATCH):
                await ahead.acquire()
                tasks.append(asyncio.create_task(one()))
            await asyncio.gather(*tasks)

    asyncio.run(run())


def receive(address: str, count: int) -> None:
    """What the receiver's process does."""
    with openmsmq.connect(address) as manager, manager.open_queue("bench") as queue:
        left = count
        with queue.stream(PREFETCH) as stream:
            for _ in stream:
                left -= 1
                if not left:
                    break


def child(what: str, *arguments: object) -> subprocess.Popen[bytes]:
    """One of these in a process of its own."""
    words = [str(argument) for argument in arguments]
    return subprocess.Popen([sys.executable, "-m", "bench.service", what, *words])


def end_to_end(address: str, count: int, *, recoverable: bool) -> float:
    """Messages a second from a sender to a receiver."""
    start = time.perf_counter()
    processes = [
        child("send", address, count, int(recoverable)),
        child("receive", address, count),
    ]
    for process in processes:
        assert process.wait() == 0
    return count / (time.perf_counter() - start)


async def one_at_a_time(address: str, clients: int) -> float:
    """Durable sends a second of so many connections, each waiting for its answer."""
    count = 300 if clients == 1 else 100

    async def client() -> None:
        async with aio.connect(address) as manager:
            queue = await manager.open_queue("bench")
            for _ in range(count):
                await queue.send(Message(BODY))

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return clients * count / (time.perf_counter() - start)


async def latencies(address: str) -> list[float]:
    """Milliseconds from sending to receiving, at a steady rate."""
    count = 3 * RATE
    sent: dict[int, float] = {}
    found: list[float] = []
    async with aio.connect(address) as sender, aio.connect(address) as receiver:
        queue = await sender.open_queue("bench")

        async def listen() -> None:
            async with (await receiver.open_queue("bench")).stream(PREFETCH) as stream:
                async for message in stream:
                    found.append((time.perf_counter() - sent[message.app_specific]) * 1000)
                    if len(found) == count:
                        return

        listening = asyncio.create_task(listen())
        await asyncio.sleep(0.2)
        begin = time.perf_counter()
        tasks = []
        for number in range(count):
            await asyncio.sleep(max(0, begin + number / RATE - time.perf_counter()))
            sent[number] = time.perf_counter()
            message = Message(BODY, app_specific=number)
            tasks.append(asyncio.create_task(queue.send(message)))
        await asyncio.gather(*tasks, listening)
    return sorted(found)


def main(count: int = 200_000) -> None:
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    try:
        service = Service(folder)
        with openmsmq.connect(service.address) as manager:
            queue = manager.create_queue("bench")
            for recoverable in (True, False):
                rate = end_to_end(service.address, count, recoverable=recoverable)
                kind = "durable" if recoverable else "express"
                print(f"  {kind} end to end, {BATCH} a call{'':17s}{rate:12,.0f}/s", flush=True)
            for clients in CLIENTS:
                rate = asyncio.run(one_at_a_time(service.address, clients))
                print(
                    f"  durable send, one at a time, {clients:2d} clients{rate:14,.0f}/s",
                    flush=True,
                )
            queue.purge()
            found = asyncio.run(latencies(service.address))
            median, p99 = statistics.median(found), found[int(len(found) * 0.99)]
            print(f"  latency at {RATE}/s: median {median:.2f} ms, p99 {p99:.2f} ms", flush=True)
        service.stop()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["send", address, count, recoverable]:
            send(address, int(count), recoverable=recoverable == "1")
        case ["receive", address, count]:
            receive(address, int(count))
        case [count]:
            main(int(count))
        case _:
            main()
