"""The service: sender, manager and receiver as processes of their own, 1 KiB bodies.

`python -m bench.service`. Durable end to end: every message is on disk before its sender is told,
and removed before the receiver goes on.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import openmsmq
from bench import race
from openmsmq import Message, aio

PREFETCH = 4000
AHEAD = 4
"Batches that are sent without waiting for the answer to the first."
CLIENTS = ((1, 1000), (16, 200), (64, 100))
"How many send one at a time, and how much each."


class Ours:
    """A manager in a process of its own."""

    title = "OpenMSMQ"
    module = "bench.service"
    count = 800_000

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


def send(address: str, count: int) -> None:
    """Send batches, a few of them without waiting for the first."""
    _send(address, count, [Message(race.BODY, label="order")] * race.BATCH)


def _send(address: str, count: int, batch: list[Message]) -> None:
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
    _send(address, count, [Message(race.BODY, label="order", recoverable=False)] * race.BATCH)


def send_different(address: str, count: int) -> None:
    """The same with labels of their own, and bodies of 512 to 1,536 bytes, 1 KiB on average."""
    bodies = [bytes(512 + place * 1024 // (race.BATCH - 1)) for place in range(race.BATCH)]
    Random(1).shuffle(bodies)  # noqa: S311 - not a secret
    batch = [Message(body, label=f"order {place}") for place, body in enumerate(bodies)]
    _send(address, count, batch)


def receive(address: str, count: int, *, pipelined: bool = False) -> None:
    """Take the id and the body of each; what was taken is removed before this goes on."""
    with openmsmq.connect(address) as manager, manager.open_queue("bench") as queue:
        race.wait_for_start()
        with queue.stream(PREFETCH, pipelined=pipelined) as stream:
            for left, message in enumerate(stream, 1 - count):
                assert len(message.body) >= len(race.BODY) // 2
                if not left:
                    break


def receive_pipelined(address: str, count: int) -> None:
    """The same, going on while what was taken is removed, as with the acknowledgements of peers."""
    receive(address, count, pipelined=True)


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


def main() -> None:
    print(f"{'the service, 1 KiB bodies':42s}")
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    ours = Ours()
    try:
        address = ours.start(folder)
        rate = race.run(ours.module, address, ours.count).rate
        print(f"  {'durable end to end, 1000 a call':42s}{rate:12,.0f}/s", flush=True)
        rate = race.run("bench.express", address, ours.count).rate
        print(f"  {'express end to end, 1000 a call':42s}{rate:12,.0f}/s", flush=True)
        for clients, count in CLIENTS:
            rate = asyncio.run(one_at_a_time(address, clients, count))
            title = f"durable send, one at a time, {clients} clients"
            print(f"  {title:42s}{rate:12,.0f}/s", flush=True)
        ours.stop()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        race.take_part({"send": send, "receive": receive})
    else:
        main()
