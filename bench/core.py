"""The embedded queue manager beside raw LMDB: the same rows, tables and commits, 1 KiB bodies."""

from __future__ import annotations

import asyncio
import shutil
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lmdb

import openmsmq
from openmsmq import Message, aio

BATCH = 1000
BATCHES = 30
BODY = bytes(range(256)) * 4
RECORD = bytes(36)
CHUNK_SIZE = 4000
TASKS = 64


def messages(*, recoverable: bool = True) -> list[Message]:
    """A batch of messages."""
    return [Message(BODY, label="order", recoverable=recoverable) for _ in range(BATCH)]


def timed(work: Callable[[], int]) -> float:
    """Times a second, `work` saying how often it did it."""
    start = time.perf_counter()
    count = work()
    return count / (time.perf_counter() - start)


def raw_rates(folder: Path, packet: bytes) -> tuple[float, float]:
    """Writes and removals a second of raw LMDB: what no store on LMDB can beat."""
    environment = lmdb.open(str(folder), map_size=1 << 34, max_dbs=2)
    packets, index = environment.open_db(b"packets"), environment.open_db(b"index")
    packet_key, index_key = struct.Struct(">QH").pack, struct.Struct(">IQ").pack

    def write() -> int:
        for batch in range(BATCHES):
            with environment.begin(write=True) as transaction:
                for number in range(batch * BATCH, (batch + 1) * BATCH):
                    transaction.put(packet_key(number, 0), packet, db=packets, append=True)
                    transaction.put(index_key(16, number), RECORD, db=index)
        return BATCH * BATCHES

    def remove() -> int:
        for batch in range(BATCHES):
            with environment.begin(write=True) as transaction:
                for number in range(batch * BATCH, (batch + 1) * BATCH):
                    transaction.get(index_key(16, number), db=index)
                    transaction.get(packet_key(number, 0), db=packets)
                    transaction.delete(packet_key(number, 0), db=packets)
                    transaction.delete(index_key(16, number), db=index)
        return BATCH * BATCHES

    rates = timed(write), timed(remove)
    environment.close()
    return rates


def raw_run_rates(folder: Path, packet: bytes) -> tuple[float, float]:
    """The same if a batch is one row and one blob in chunks, as our store has it."""
    environment = lmdb.open(str(folder), map_size=1 << 34, max_dbs=2)
    packets, runs = environment.open_db(b"packets"), environment.open_db(b"runs")
    packet_key, run_key = struct.Struct(">QH").pack, struct.Struct(">IQ").pack
    size = BATCH * len(packet)
    starts = range(0, size, CHUNK_SIZE)

    def write() -> int:
        for batch in range(BATCHES):
            blob = b"".join([packet] * BATCH)
            with environment.begin(write=True) as transaction:
                for chunk, start in enumerate(starts):
                    key, part = packet_key(batch, chunk), blob[start : start + CHUNK_SIZE]
                    transaction.put(key, part, db=packets, append=True)
                transaction.put(run_key(16, batch), RECORD, db=runs)
        return BATCH * BATCHES

    def remove() -> int:
        for batch in range(BATCHES):
            keys = [packet_key(batch, chunk) for chunk in range(len(starts))]
            with environment.begin(write=True) as transaction:
                transaction.get(run_key(16, batch), db=runs)
                blob = b"".join([transaction.get(key, b"", db=packets) for key in keys])
                assert len(blob) == size, "a chunk is not there"
                for key in keys:
                    transaction.delete(key, db=packets)
                transaction.delete(run_key(16, batch), db=runs)
        return BATCH * BATCHES

    rates = timed(write), timed(remove)
    environment.close()
    return rates


def our_rates(
    folder: Path, *, recoverable: bool = True, history: bool = True
) -> tuple[float, float]:
    """Sends and receives a second of the embedded manager, a thousand at a time."""
    batch = messages(recoverable=recoverable)
    with openmsmq.open(folder) as manager:
        if not history:
            manager.configure(history=0)
        queue = manager.create_queue("bench")

        def send() -> int:
            for _ in range(BATCHES):
                queue.send_many(batch)
            return BATCH * BATCHES

        def receive() -> int:
            count = 0
            while found := queue.receive_many(BATCH, timeout=0):
                count += len(found)
            return count

        return timed(send), timed(receive)


def task_rates(folder: Path) -> tuple[float, float]:
    """Durable sends a second of one task, and of many at once."""

    async def run() -> tuple[float, float]:
        async with aio.open(folder) as manager:
            queue = await manager.create_queue("bench")

            async def sender(count: int) -> None:
                for _ in range(count):
                    await queue.send(Message(BODY))

            start = time.perf_counter()
            await sender(300)
            one = 300 / (time.perf_counter() - start)
            start = time.perf_counter()
            await asyncio.gather(*(sender(100) for _ in range(TASKS)))
            return one, TASKS * 100 / (time.perf_counter() - start)

    return asyncio.run(run())


def lines() -> list[str]:
    """The table, line by line."""
    work = Path(tempfile.mkdtemp(prefix="openmsmq-bench-"))
    try:
        packet = bytes(len(BODY) + 172)
        best_raw = best_runs = best_durable = best_express = best_silent = (0.0, 0.0)
        for attempt in range(5):
            raw = raw_rates(work / f"raw{attempt}", packet)
            durable = our_rates(work / f"durable{attempt}")
            silent = our_rates(work / f"silent{attempt}", history=False)
            express = our_rates(work / f"express{attempt}", recoverable=False)
            runs = raw_run_rates(work / f"runs{attempt}", packet)
            best_raw = (max(best_raw[0], raw[0]), max(best_raw[1], raw[1]))
            best_runs = (max(best_runs[0], runs[0]), max(best_runs[1], runs[1]))
            best_durable = tuple(map(max, best_durable, durable))  # type: ignore[assignment]
            best_silent = tuple(map(max, best_silent, silent))  # type: ignore[assignment]
            best_express = tuple(map(max, best_express, express))  # type: ignore[assignment]
        one, many = task_rates(work / "tasks")
    finally:
        shutil.rmtree(work)
    return [
        f"{'embedded, 1 KiB bodies, 1000 a call':42s}{'ours':>14s}{'raw LMDB':>14s}{'ratio':>8s}",
        _line("durable send_many", best_durable[0], best_raw[0]),
        _line("durable receive_many", best_durable[1], best_raw[1]),
        _line("durable send_many, beside raw runs", best_durable[0], best_runs[0]),
        _line("durable receive_many, beside raw runs", best_durable[1], best_runs[1]),
        _line("durable send_many, beside no history", best_durable[0], best_silent[0]),
        _line("durable receive_many, beside no history", best_durable[1], best_silent[1]),
        _line("express send_many, beside durable", best_express[0], best_durable[0]),
        _line("express receive_many, beside durable", best_express[1], best_durable[1]),
        _line(f"durable send, {TASKS} tasks beside one", many, one),
    ]


def _line(title: str, ours: float, other: float) -> str:
    return f"  {title:40s}{ours:12,.0f}/s{other:12,.0f}/s{ours / other:7.2f}"
