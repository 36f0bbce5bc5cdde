"""A local program beside an attacker: how long durable sends take, without and with the attack.

`python -m bench.attack [COUNT]`: 1,000 durable sends a second to a service, each a call of its own;
then the same while an attacker without a login sends so many packets (10,000 unless told otherwise)
of all shapes of `bench.attacker` to the binary port. The bar: a p99 of at most 100 ms, and at most
5 times that without the attack.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import race
from bench.crowd import processor
from openmsmq import Message, aio

RATE = 1000
"Durable sends a second."
SECONDS = 5
"At least."
COUNT = 10_000
BAR_MS, BAR_RATIO = 100.0, 5.0


class Target:
    """A manager in a process of its own, with a binary port."""

    def __init__(self, folder: Path) -> None:
        ready = folder / "ready.json"
        options = ("--data", str(folder / "data"), "--app-socket", str(folder / "app"))
        ports = ("--app-port", "off", "--console-port", "off", "--binary-port", "0")
        log = ("--log-level", "warning", "--ready-file", str(ready))
        command = (sys.executable, "-m", "openmsmq", "serve", *options, *ports, *log)
        self.log = folder / "log"
        with self.log.open("wb") as file:
            self.process = subprocess.Popen(command, stderr=file)
        race.wait_until(ready.exists, self.process)
        host, port = json.loads(ready.read_text())["binary"]
        self.place: tuple[str, int] = host, port
        self.address = f"unix:{folder / 'app'}"

    def stop(self) -> None:
        """End it in good order."""
        self.process.terminate()
        self.process.wait()


async def sends(address: str, is_over: asyncio.Event) -> list[float]:
    """Milliseconds that each durable send takes at a steady rate, the shortest first."""
    found: list[float] = []

    async def send(queue: aio.Queue) -> None:
        start = time.perf_counter()
        await queue.send(Message(race.BODY))
        found.append((time.perf_counter() - start) * 1000)

    async with aio.connect(address) as manager:
        queue = await manager.open_queue("bench")
        begin = time.perf_counter()
        tasks: set[asyncio.Task[None]] = set()
        number = 0
        while number < SECONDS * RATE or not is_over.is_set():
            await asyncio.sleep(max(0, begin + number / RATE - time.perf_counter()))
            task = asyncio.create_task(send(queue))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            number += 1
        await asyncio.gather(*tasks)
    return sorted(found)


async def beside(target: Target, count: int) -> tuple[list[float], float]:
    """The same while an attacker, in a process of its own, is at work; seconds that it took.

    It would be another computer: here it gets what the manager and its program leave of two cores.
    """
    is_over = asyncio.Event()
    command = ("-m", "bench.attacker", target.place[0], str(target.place[1]), str(count))
    attacker = await asyncio.create_subprocess_exec(
        *("nice", "-n", "19", sys.executable, *command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert attacker.stdin is not None
    assert attacker.stdout is not None
    assert await attacker.stdout.readline() == b"ready\n"
    sending = asyncio.create_task(sends(target.address, is_over))
    start = time.perf_counter()
    attacker.stdin.write(b"go\n")
    assert await attacker.stdout.readline() == b"done\n"
    took = time.perf_counter() - start
    is_over.set()
    found = await sending
    await attacker.wait()
    return found, took


async def run(target: Target, count: int) -> None:
    async with aio.connect(target.address) as manager:
        await manager.create_queue("bench")
        await manager.create_queue("victim", transactional=True)
    over = asyncio.Event()
    over.set()
    before = await sends(target.address, over)
    alone = report("without an attack", before)
    pid = target.process.pid
    size, work = memory(pid), processor(pid)
    found, took = await beside(target, count)
    attacked = report(f"beside {count:,} packets of an attacker", found)
    grown, work = memory(pid) - size, processor(pid) - work
    ratio = attacked / alone
    verdict = "met" if attacked <= BAR_MS and ratio <= BAR_RATIO else "missed"
    print(f"  p99 {ratio:.1f} times that without; {BAR_MS:.0f} ms and {BAR_RATIO:.0f}x: {verdict}")
    print(
        f"  it took {took:.1f} s; the manager worked {work:.1f} s, grew by {grown:.0f} MiB,"
        f" and wrote {target.log.stat().st_size:,} bytes of log",
        flush=True,
    )


def memory(pid: int) -> float:
    """What a process has allocated, in MiB, without the pages of the store."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(line.split()[1]) / 1024


def report(title: str, found: list[float]) -> float:
    """One line; its p99."""
    median, late = found[len(found) // 2], found[int(len(found) * 0.99)]
    print(f"  {title:42s}p50 {median:7.2f} ms  p99 {late:7.2f} ms  of {len(found):,}", flush=True)
    return late


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    print(f"{RATE:,} durable sends a second of a local program")
    folder = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    target = Target(folder)
    try:
        asyncio.run(run(target, count))
        target.stop()
    finally:
        target.process.kill()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
