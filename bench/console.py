"""The console under load: a large queue, many open pages, and searches beside durable sends.

`python -m bench.console [MESSAGES]`, 1,000,000 unless another number is given. The service runs in
a process of its own; CPU and memory are those of that process.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp

import openmsmq
from openmsmq import Message, aio
from openmsmq.access.tokens import Tokens

BATCH = 1000
BODY = bytes(200)
PAGES = 50
"Consoles that are open."
WATCHED_S = 20
"Seconds for which they are watched."
PLACES = 40
"Positions of the large queue that are opened."
SENDS, ROUNDS = 1500, 10
"Sends of each kind, in turns with the other kind: a machine is not equally busy all the time."
OPEN_BAR, PLACE_BAR, CPU_BAR, MEMORY_BAR, DELAY_BAR = 1.0, 0.150, 5.0, 100.0, 10.0
TICKS = os.sysconf("SC_CLK_TCK")


class Service:
    """A service with a console, in a process of its own."""

    def __init__(self, folder: Path, count: int) -> None:
        self.data = folder / "data"
        with openmsmq.open(self.data) as manager:
            manager.create_queue("other")
            queue = manager.create_queue("big")
            for start in range(0, count, BATCH):
                queue.send_many([Message(BODY, label=f"order {start + n}") for n in range(BATCH)])
        self.token = Tokens.load(self.data).create("admin")[1]
        ready = folder / "ready.json"
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "openmsmq", "serve", "--data", str(self.data)),
                *("--app-port", "0", "--console-port", "0", "--binary-port", "off"),
                *("--name", "shop01", "--log-level", "error", "--ready-file", str(ready)),
            ]
        )
        while not ready.exists():
            assert self.process.poll() is None, "the service ended"
            time.sleep(0.05)
        found = json.loads(ready.read_text())
        self.app = "{}:{}".format(*found["app"])
        self.api = "http://{}:{}/api/v1".format(*found["console"])

    def cpu(self) -> float:
        """Seconds of CPU that it took so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> float:
        """MiB of its own memory, without pages of files."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        lines = dict(line.split(":", 1) for line in text.splitlines())
        return int(lines["RssAnon"].split()[0]) / 1024

    def browser(self) -> aiohttp.ClientSession:
        """Someone who is logged in."""
        return aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self.token}"},
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
        )


async def timed(browser: aiohttp.ClientSession, url: str) -> tuple[float, Any]:
    """How long an answer took, in seconds."""
    start = time.perf_counter()
    async with browser.get(url) as answer:
        found = await answer.json()
        assert answer.status == 200, found
    return time.perf_counter() - start, found


async def large_queue(service: Service, count: int) -> None:
    """How long it takes to open a large queue, and any place in it."""
    place = f"{service.api}/managers/shop01/queues/big"
    async with service.browser() as browser:
        await timed(browser, f"{service.api}/managers/shop01")  # logged in
        shown, _ = await timed(browser, place)
        rows, page = await timed(browser, f"{place}/messages?limit=100&preview=true")
        first = int(page["messages"][0]["lookup_id"])
        report(f"open a queue of {count:,}", (shown + rows) * 1000, OPEN_BAR * 1000, "ms")
        took = []
        for number in range(PLACES):
            after = first + count * number // PLACES
            for query in (f"after={after}", f"before={after + 200}"):
                url = f"{place}/messages?limit=100&preview=true&{query}"
                took.append((await timed(browser, url))[0])
        report("any place in it (slowest)", max(took) * 1000, PLACE_BAR * 1000, "ms")


async def open_pages(service: Service) -> None:
    """What open pages cost while a queue changes all the time."""

    async def follow(browser: aiohttp.ClientSession) -> int:
        events = 0
        async with browser.get(f"{service.api}/events?manager=shop01") as answer:
            async for line in answer.content:
                events += line.startswith(b"event:")
        return events

    before = service.memory()
    async with service.browser() as browser, aio.connect(service.app) as manager:
        queue = await manager.open_queue("other")
        pages = [asyncio.create_task(follow(browser)) for _ in range(PAGES)]
        await asyncio.sleep(3)
        start, at = service.cpu(), time.perf_counter()
        while time.perf_counter() < at + WATCHED_S:
            await queue.send(Message(BODY))
            await asyncio.sleep(0.5)
        share = (service.cpu() - start) / (time.perf_counter() - at) * 100
        report(f"{PAGES} pages open: CPU of one core", share, CPU_BAR, "%")
        report(f"{PAGES} pages open: memory", service.memory() - before, MEMORY_BAR, "MiB")
        for page in pages:
            page.cancel()
        await asyncio.wait(pages)


async def waits(service: Service, searching: int) -> tuple[list[float], int]:
    """How long some sends took, in ms, and how many messages searches looked at beside them."""
    place = f"{service.api}/managers/shop01/queues/big/messages?limit=1000"
    looked = 0

    async def search(browser: aiohttp.ClientSession) -> None:
        nonlocal looked
        after = "0"
        while True:
            url = f"{place}&filter=body:nothing-has-this&after={after}"
            _, page = await timed(browser, url)
            looked += page["looked_at"]
            after = page["next"] or "0"

    found = []
    async with service.browser() as browser, aio.connect(service.app) as manager:
        queue = await manager.open_queue("other")
        searches = [asyncio.create_task(search(browser)) for _ in range(searching)]
        await asyncio.sleep(0.5)
        for _ in range(SENDS // ROUNDS):
            start = time.perf_counter()
            await queue.send(Message(BODY))
            found.append((time.perf_counter() - start) * 1000)
            await asyncio.sleep(0.002)
        for task in searches:
            task.cancel()
        if searches:
            await asyncio.wait(searches)
    return found, looked


async def searches(service: Service) -> None:
    """How much later sends are answered while someone searches."""
    alone: list[float] = []
    beside: list[float] = []
    looked = 0
    for _ in range(ROUNDS):
        alone += (await waits(service, 0))[0]
        some, seen = await waits(service, 2)
        beside += some
        looked += seen
    alone.sort()
    beside.sort()
    at = int(SENDS * 0.99)
    print(f"  messages looked at meanwhile: {looked:,}")
    print(f"  durable send, p50 and p99 alone {alone[SENDS // 2]:6.1f} {alone[at]:6.1f} ms")
    print(f"  beside two searches             {beside[SENDS // 2]:6.1f} {beside[at]:6.1f} ms")
    report("p99 of a send is later by", beside[at] - alone[at], DELAY_BAR, "ms")


def report(title: str, value: float, bar: float, unit: str) -> None:
    """One line of the table."""
    verdict = "" if value <= bar else f"  above {bar:g}"
    print(f"  {title:44s}{value:10.1f} {unit}{verdict}", flush=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    print(f"console, {count:,} messages")
    service = None
    try:
        service = Service(folder, count)
        asyncio.run(large_queue(service, count))
        asyncio.run(open_pages(service))
        asyncio.run(searches(service))
    finally:
        if service is not None:
            service.process.terminate()
            service.process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
