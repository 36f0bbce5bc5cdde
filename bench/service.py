"""The service: sender, manager and receiver as processes of their own, 1 KiB bodies.

`python -m bench.service`. Durable end to end: every message is on disk before its sender is told,
and removed before the receiver goes on.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import openmsmq
from bench import race
from openmsmq import Message, aio

PREFETCH = 4000
AHEAD = 4
"Batches that are sent without waiting for the answer to the first."
CLIENTS = ((1, 1000), (16, 200), (64, 100))
"How many send one at a time, and how much each."
RATE = 1000
"Messages a second whose latency is measured."
SECONDS = 3


class Ours:
    """A manager in a process of its own."""

    title = "OpenMSMQ"
    module = "bench.service"
    count = 200_000

    def is_installed(self) -> bool:
        """Always."""
        return True

    def start(self, folder: Path) -> str:
        """Start it; its address."""
        ready = folder / "ready.json"
        options = ("--data", str(folder / "data"), "--app-socket", str(folder / "app"))
        off = (
            *("--app-port", "off", "--console-port", "off", "--binary-port", "off"),
            *("--log-level", "error"),
        )
        command = (sys.executable, "-m", "openmsmq", "serve", *options, *off)
        self.process = subprocess.Popen((*command, "--ready-file", str(ready)))
        race.wait_until(ready.exists, self.process)
        address = f"unix:{folder / 'app'}"
        with openmsmq.connect(address) as manager:
            manager.create_queue("bench")
        return address

    def stop(self) -> None:
        """End it in good order."""
        self.process.terminate()
        self.process.wait()


def send(address: str, count: int, *, recoverable: bool = True) -> None:
    """Send batches, a few of them without waiting for the first."""
    batch = [Message(race.BODY, label="order", recoverable=recoverable)] * race.BATCH

    async def run() -> None:
        async with aio.connect(address) as manager:
            queue = await manager.open_queue("bench")
            batches = iter(range(count // race.BATCH))

            async def one_after_the_other() -> None:
                for _ in batches:
                    await queue.send_many(batch)

            race.wait_for_start()
            await asyncio.gather(*(one_after_the_other() for _ in range(AHEAD)))

    asyncio.run(run())


def send_express(address: str, count: int) -> None:
    """The same with messages that need not outlive the manager."""
    send(address, count, recoverable=False)


def receive(address: str, count: int) -> None:
    """Take the id and the body of each."""
    with openmsmq.connect(address) as manager, manager.open_queue("bench") as queue:
        race.wait_for_start()
        with queue.stream(PREFETCH) as stream:
            for left, message in enumerate(stream, 1 - count):
                assert len(message.body) == len(race.BODY)
                if not left:
                    break


async def one_at_a_time(address: str, clients: int, count: int) -> float:
    """Durable sends a second of so many connections, each waiting for its answer."""

    async def client() -> None:
        async with aio.connect(address) as manager:
            queue = await manager.open_queue("bench")
            for _ in range(count):
                await queue.send(Message(race.BODY))

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return clients * count / (time.perf_counter() - start)


async def latencies(address: str) -> list[float]:
    """Milliseconds from sending to receiving at a steady rate, the shortest first."""
    count = SECONDS * RATE
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
        sends = []
        for number in range(count):
            await asyncio.sleep(max(0, begin + number / RATE - time.perf_counter()))
            sent[number] = time.perf_counter()
            message = Message(race.BODY, app_specific=number)
            sends.append(asyncio.create_task(queue.send(message)))
        await asyncio.gather(*sends, listening)
    return sorted(found)


def main() -> None:
    print(f"{'the service, 1 KiB bodies':42s}")
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    ours = Ours()
    try:
        address = ours.start(folder)
        rate = race.run(ours.module, address, ours.count)
        print(f"  {'durable end to end, 1000 a call':42s}{rate:12,.0f}/s", flush=True)
        rate = race.run("bench.express", address, ours.count)
        print(f"  {'express end to end, 1000 a call':42s}{rate:12,.0f}/s", flush=True)
        for clients, count in CLIENTS:
            rate = asyncio.run(one_at_a_time(address, clients, count))
            title = f"durable send, one at a time, {clients} clients"
            print(f"  {title:42s}{rate:12,.0f}/s", flush=True)
        with openmsmq.connect(address) as manager, manager.open_queue("bench") as queue:
            queue.purge()
        found = asyncio.run(latencies(address))
        median, late = statistics.median(found), found[int(len(found) * 0.99)]
        print(f"  latency at {RATE}/s: median {median:.2f} ms, p99 {late:.2f} ms", flush=True)
        ours.stop()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        race.take_part({"send": send, "receive": receive})
    else:
        main()
