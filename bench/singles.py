"""Durable sends one at a time, ours beside Redis with `appendfsync always`, in turns.

`python -m bench.singles [ROUNDS]`: 1, 16 and 64 connections of one Python process, each waiting for
the answer to its message of 1 KiB before it sends the next. The median of the rounds' ratios
counts; the processor time of server and client says why. Between the two is the least server in
Python over LMDB (`bench.least_service`), with our client: what the bars can mean for us.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from bench import race
from bench.least_service import Least
from bench.peer_redis import STREAM, Redis
from bench.service import Ours
from openmsmq import Message, aio

ROUNDS = 5
CROWDS = ((1, 1500), (16, 500), (64, 200))
"How many connections, and how much each of them sends."
BARS = {1: 0.65, 16: 0.75, 64: 1.0}
"The share of the rate of Redis that ours is to reach."
Send = Callable[[], Awaitable[object]]


class Run(NamedTuple):
    """One run with so many connections."""

    rate: float
    late: float
    "Milliseconds within which 99 of 100 answers came."
    server: float
    "Processor time of the server for each message, in microseconds."
    client: float


async def _ours(address: str, clients: int) -> list[Send]:
    message = Message(race.BODY)

    async def one() -> Send:
        manager = await aio.connect(address)
        queue = await manager.open_queue("bench")
        return lambda: queue.send(message)

    return [await one() for _ in range(clients)]


async def _redis(port: str, clients: int) -> list[Send]:
    fields = {"body": race.BODY}
    connect = import_module("redis.asyncio").Redis

    async def one() -> Send:
        client = connect(host="127.0.0.1", port=int(port), single_connection_client=True)
        await client.ping()
        return lambda: client.xadd(STREAM, fields)

    return [await one() for _ in range(clients)]


async def _client(name: str, address: str, clients: int, count: int) -> None:
    """Be the process with the connections, and print what was measured."""
    sends = await {"ours": _ours, "least": _ours, "redis": _redis}[name](address, clients)
    took: list[float] = []

    async def one(send: Send, times: int) -> None:
        for _ in range(times):
            start = time.perf_counter()
            await send()
            took.append(time.perf_counter() - start)

    await asyncio.gather(*(one(send, 20) for send in sends))
    took.clear()
    print("ready", flush=True)
    sys.stdin.readline()
    worked, start = time.process_time(), time.perf_counter()
    await asyncio.gather(*(one(send, count) for send in sends))
    elapsed, total = time.perf_counter() - start, clients * count
    late = sorted(took)[int(total * 0.99)] * 1000
    print(total / elapsed, late, (time.process_time() - worked) / total * 1e6, flush=True)
    os._exit(0)  # the connections of Redis complain about their end


def _processor(pid: int) -> float:
    """Seconds that all threads of a process have worked."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def measure(name: str, address: str, pid: int, clients: int, count: int) -> Run:
    """One run against a server."""
    command = (sys.executable, "-m", "bench.singles", name, address, str(clients), str(count))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        assert client.stdout.readline().strip() == "ready", "the client did not start"
        before = _processor(pid)
        client.stdin.write("go\n")
        client.stdin.flush()
        rate, late, worked = map(float, client.stdout.readline().split())
        server = (_processor(pid) - before) / (clients * count) * 1e6
    return Run(rate, late, server, worked)


def main(rounds: int = ROUNDS) -> None:
    print(f"durable sends one at a time, 1 KiB; load average {os.getloadavg()[0]:.1f}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(7)[1]))
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    sides: dict[str, Ours | Least | Redis] = {"ours": Ours(), "least": Least()}
    redis = Redis()
    if redis.is_installed():
        sides["redis"] = redis
    found: dict[tuple[int, str], list[Run]] = defaultdict(list)
    try:
        addresses = {}
        for name, side in sides.items():
            (folder / name).mkdir()
            addresses[name] = side.start(folder / name)
        for _ in range(rounds):
            for clients, count in CROWDS:
                for name, side in sides.items():
                    run = measure(name, addresses[name], side.process.pid, clients, count)
                    found[clients, name].append(run)
        for side in sides.values():
            side.stop()
    finally:
        shutil.rmtree(folder)
    for clients, _ in CROWDS:
        ours, least, peer = (found[clients, name] for name in ("ours", "least", "redis"))
        _report(f"{clients} connections", ours)
        _report("  the least server", least)
        if peer:
            _report("  Redis, fsync always", peer)
            print(f"  {'of Redis':24s}{_ratio(ours, peer):12.2f}   (bar {BARS[clients]:.2f})")
            print(f"  {'the least server':24s}{_ratio(least, peer):12.2f}", flush=True)


def _ratio(runs: list[Run], peers: list[Run]) -> float:
    """The median of the ratios of rates, run by run."""
    return statistics.median(run.rate / peer.rate for run, peer in zip(runs, peers, strict=True))


def _report(title: str, runs: list[Run]) -> None:
    rate, late, server, client = (statistics.median(column) for column in zip(*runs, strict=True))
    print(
        f"{title:24s}{rate:12,.0f}/s  p99 {late:6.1f} ms  server {server:5.0f} us, client"
        f" {client:5.0f} us",
        flush=True,
    )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        asyncio.run(_client(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    else:
        main(*map(int, sys.argv[1:]))
