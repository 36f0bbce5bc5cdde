"""What the network of this computer does: packets of 1.2 KiB from process to process, one a write.

The raw limit beside which `bench.transfer` is reported; no protocol, no disk, no acknowledgement.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import time
from typing import NamedTuple

PACKET = bytes(1228)
COUNT = 200_000


class Loopback(NamedTuple):
    """What a run has shown."""

    rate: float
    "Packets a second."
    sender: float
    "Microseconds of processor time for each, of who writes and of who reads."
    receiver: float


class _Counter(asyncio.Protocol):
    """Counts bytes until all have come."""

    def __init__(self, total: int, done: asyncio.Future[float]) -> None:
        self._left = total
        self._done = done

    def data_received(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left <= 0 and not self._done.done():
            self._done.set_result(time.perf_counter())


async def _write(port: int, count: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        writer.write(PACKET)
        await writer.drain()
    await reader.read(1)


def _send(port: int, count: int) -> None:
    asyncio.run(_write(port, count))


def _worked(whose: int) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


async def _receive(count: int) -> Loopback:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[float] = loop.create_future()
    server = await loop.create_server(lambda: _Counter(count * len(PACKET), done), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sender = multiprocessing.Process(target=_send, args=(port, count))
    own, others = _worked(resource.RUSAGE_SELF), _worked(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    sender.start()
    end = await done
    own = _worked(resource.RUSAGE_SELF) - own
    server.close()
    sender.terminate()
    sender.join()
    others = _worked(resource.RUSAGE_CHILDREN) - others
    return Loopback(count / (end - start), others / count * 1e6, own / count * 1e6)


def measure(count: int = COUNT) -> Loopback:
    """The best of three runs, in each respect."""
    runs = [asyncio.run(_receive(count)) for _ in range(3)]
    return Loopback(
        max(run.rate for run in runs),
        min(run.sender for run in runs),
        min(run.receiver for run in runs),
    )
