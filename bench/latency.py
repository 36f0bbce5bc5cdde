"""How long a message takes from send to receive at 1,000 a second: ours, Redis, RabbitMQ in turns.

`python -m bench.latency [ROUNDS]`. Durable, 1 KiB; one process sends without waiting for the answer
to the message before, and receives over a connection of its own. The medians of the rounds count.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from bench import race
from bench.peer_rabbitmq import QUEUE, RabbitMQ
from bench.peer_redis import GROUP, STREAM, Redis
from bench.service import PREFETCH, Ours
from openmsmq import Message, aio

ROUNDS = 5
RATE = 1000
SECONDS = 5
NUMBER = 4
"Bytes of a message that say which one it is."
REST = race.BODY[NUMBER:]
BARS = {"median": 2.0, "p99": 1.5}
"How many times as long as with Redis ours may take."


class Clock:
    """Sends at a steady rate, and knows how long each message took."""

    def __init__(self) -> None:
        self._sent: list[float] = []
        self.took: list[float] = []
        "In milliseconds, in the order of arrival."
        self.is_over = asyncio.Event()

    async def send(self, send: Callable[[bytes], Awaitable[object]]) -> None:
        """Until all have been sent and have come."""
        begin, sends = time.perf_counter(), []
        for number in range(RATE * SECONDS):
            await asyncio.sleep(max(0, begin + number / RATE - time.perf_counter()))
            self._sent.append(time.perf_counter())
            body = number.to_bytes(NUMBER, "big") + REST
            sends.append(asyncio.ensure_future(send(body)))
        await asyncio.gather(*sends)
        await self.is_over.wait()

    def came(self, body: bytes) -> None:
        """A message is here."""
        number = int.from_bytes(body[:NUMBER], "big")
        self.took.append((time.perf_counter() - self._sent[number]) * 1000)
        if len(self.took) == RATE * SECONDS:
            self.is_over.set()


Client = Callable[[str, Clock], Awaitable[None]]


class Pipelined(Ours):
    """Ours, whose receiver goes on while what it has seen is removed."""

    title = "OpenMSMQ, pipelined"


async def ours(address: str, clock: Clock, *, pipelined: bool = False) -> None:
    """A stream, which acknowledges by itself."""
    async with aio.connect(address) as sender, aio.connect(address) as receiver:
        queue = await sender.open_queue("bench")

        async def listen() -> None:
            own = await receiver.open_queue("bench")
            async with own.stream(PREFETCH, pipelined=pipelined) as stream:
                async for message in stream:
                    clock.came(message.body)

        listening = asyncio.ensure_future(listen())
        await asyncio.sleep(0.2)
        await clock.send(lambda body: queue.send(Message(body)))
        listening.cancel()
        await asyncio.wait([listening])


async def redis(port: str, clock: Clock) -> None:
    """Members of a group; what came at once is acknowledged and removed at once."""
    connect = import_module("redis.asyncio").Redis
    async with connect(port=int(port)) as sender, connect(port=int(port)) as receiver:

        async def listen() -> None:
            while not clock.is_over.is_set():
                streams = {STREAM: ">"}
                for _, found in await receiver.xreadgroup(
                    GROUP, "me", streams, count=1000, block=200
                ):
                    for _, fields in found:
                        clock.came(fields[b"body"])
                    ids = [identifier for identifier, _ in found]
                    async with receiver.pipeline(transaction=False) as pipeline:
                        pipeline.xack(STREAM, GROUP, *ids).xdel(STREAM, *ids)
                        await pipeline.execute()

        listening = asyncio.ensure_future(listen())
        await asyncio.sleep(0.2)
        await clock.send(lambda body: sender.xadd(STREAM, {"body": body}))
        await listening


async def rabbitmq(port: str, clock: Clock) -> None:
    """A consumer that acknowledges each; the publisher's messages are persistent, and confirmed."""
    pika = import_module("pika")
    adapter = import_module("pika.adapters.asyncio_connection")
    kept = pika.BasicProperties(delivery_mode=2)

    async def channel() -> Any:
        opened = asyncio.get_running_loop().create_future()
        adapter.AsyncioConnection(
            pika.ConnectionParameters("127.0.0.1", int(port)),
            on_open_callback=lambda found: found.channel(on_open_callback=opened.set_result),
        )
        return await opened

    sender, receiver = await channel(), await channel()
    sender.confirm_delivery(lambda _: None)

    def came(_channel: Any, method: Any, _properties: Any, body: bytes) -> None:
        receiver.basic_ack(method.delivery_tag)
        clock.came(body)

    receiver.basic_consume(QUEUE, came)
    await asyncio.sleep(0.2)

    async def send(body: bytes) -> None:
        sender.basic_publish("", QUEUE, body, kept)

    await clock.send(send)
    sender.connection.close()
    receiver.connection.close()
    await asyncio.sleep(0.2)


def measure(contestant: race.Contestant, client: Client) -> Clock:
    """One run of one of them, started for this."""

    async def run(address: str) -> Clock:
        clock = Clock()
        await client(address, clock)
        return clock

    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    try:
        address = contestant.start(folder)
        try:
            return asyncio.run(run(address))
        finally:
            contestant.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


OWN = (Ours.title, Pipelined.title)


def main(rounds: int = ROUNDS) -> None:
    print(f"from send to receive, 1 KiB, {RATE:,} a second; load {os.getloadavg()[0]:.1f}")
    everyone: list[tuple[race.Contestant, Client]] = [
        (Ours(), ours),
        (Pipelined(), partial(ours, pipelined=True)),
        (Redis(), redis),
        (RabbitMQ(), rabbitmq),
    ]
    installed = [one for one in everyone if one[0].is_installed()]
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        for contestant, client in installed:
            took = sorted(measure(contestant, client).took)
            row = found.setdefault(contestant.title, {"median": [], "p99": []})
            row["median"].append(statistics.median(took))
            row["p99"].append(took[int(len(took) * 0.99)])
    for title, row in found.items():
        parts = [f"{name} {statistics.median(row[name]):6.2f} ms" for name in BARS]
        print(f"  {title:32s}{'  '.join(parts)}", end="")
        if title not in OWN:
            for kind in OWN:
                for name in BARS:
                    pairs = zip(found[kind][name], row[name], strict=True)
                    ratio = statistics.median(mine / other for mine, other in pairs)
                    print(f"  {kind}: {name} {ratio:.2f}x ({BARS[name]}x)", end="")
        print(flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
