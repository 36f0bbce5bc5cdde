"""NATS JetStream, a work queue in files; it confirms before the disk has synced."""

from __future__ import annotations

import asyncio
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

from bench import race, servers

STREAM, SUBJECT = "BENCH", "bench.messages"


class Nats:
    """A NATS server."""

    title = "NATS JetStream"
    module = "bench.peer_nats"
    count = 80_000

    def is_installed(self) -> bool:
        """Whether it can be started here."""
        return servers.is_installed("nats-server", "nats")

    def start(self, folder: Path) -> str:
        """Start it; its address."""
        port = servers.free_port()
        place = ("--addr", "127.0.0.1", "--port", str(port), "--store_dir", str(folder))
        self.process = subprocess.Popen(
            ("nats-server", "--jetstream", *place), stderr=subprocess.DEVNULL
        )
        servers.wait_for_port(port, self.process)
        address = f"nats://127.0.0.1:{port}"
        asyncio.run(_add_stream(address))
        return address

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


async def _connect(address: str) -> Any:
    return await import_module("nats").connect(address)


async def _add_stream(address: str) -> None:
    client = await _connect(address)
    await client.jetstream().add_stream(
        name=STREAM, subjects=[SUBJECT], storage="file", retention="workqueue"
    )
    await client.close()


def send(address: str, count: int) -> None:
    """Publish, with so many unconfirmed."""

    async def run() -> None:
        client = await _connect(address)
        stream = client.jetstream(publish_async_max_pending=race.BATCH)
        race.wait_for_start()
        for _ in range(count):
            await stream.publish_async(SUBJECT, race.BODY)
        await stream.publish_async_completed()
        await client.close()

    asyncio.run(run())


def receive(address: str, count: int) -> None:
    """Fetch many at a time, and acknowledge each."""

    async def run() -> None:
        client = await _connect(address)
        late = import_module("nats.errors").TimeoutError
        subscription = await client.jetstream().pull_subscribe(SUBJECT, "me", stream=STREAM)
        race.wait_for_start()
        left = count
        while left:
            try:
                found = await subscription.fetch(min(500, left), timeout=5)
            except late:
                continue
            for message in found:
                await message.ack()
            left -= len(found)
        await client.flush()
        await client.close()

    asyncio.run(run())


if __name__ == "__main__":
    race.take_part({"send": send, "receive": receive})
