"""What the service is measured against: the least that can be called a durable queue in Python.

One queue in memory, a file that is only ever added to, one sync for all that came meanwhile. No
priorities, transactions, limits, names or checks, and nobody could start again from its file: an
upper bound for what a manager in Python can do.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from struct import Struct

from bench import race

COUNT = Struct("<I")
PACKET = Struct("<I44xI4xII16s")
"Size, time to live, number, flags and destination of a message, packed anew for each."
HEAD = 150
UNACKNOWLEDGED = 2000
SENDER, RECEIVER = 1, 2


class Frames(asyncio.BufferedProtocol):
    """Finds frames, each with its size before it, in a buffer that is used again and again."""

    def __init__(self, take: Callable[[Frames, list[bytes]], None]) -> None:
        self._take = take
        self._buffer = bytearray(1 << 20)
        self._view = memoryview(self._buffer)
        self._filled = 0
        self.role = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=4 << 20)
        self.write = transport.write
        self.close = transport.close

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        end, start, found = self._filled + nbytes, 0, []
        while end - start >= COUNT.size:
            size = COUNT.unpack_from(self._buffer, start)[0]
            if start + size > end:
                break
            found.append(bytes(self._view[start : start + size]))
            start += size
        self._buffer[: end - start] = self._buffer[start:end]
        self._filled = end - start
        if found:
            self._take(self, found)


class Manager:
    """One sender, one receiver, one queue."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_CREAT | os.O_WRONLY)
        self._thread = ThreadPoolExecutor(1)
        self._queue: deque[bytes] = deque()
        self._came: list[bytes] = []
        self._ends: list[bytes] = []
        self._is_busy = False
        self._sender: Frames | None = None
        self._receiver: Frames | None = None
        self._unacknowledged = 0

    def take(self, peer: Frames, frames: list[bytes]) -> None:
        """The first frame says who it is; then a sender sends, and a receiver acknowledges."""
        if not peer.role:
            peer.role = frames.pop(0)[4]
            if peer.role == SENDER:
                self._sender = peer
            else:
                self._receiver = peer
        if peer.role == SENDER:
            self._came += frames
        elif frames:
            self._ends += frames
            self._unacknowledged -= sum(COUNT.unpack_from(frame, 4)[0] for frame in frames)
            self._deliver()
        self._commit()

    def _commit(self) -> None:
        if self._is_busy or not (self._came or self._ends):
            return
        self._is_busy = True
        came, self._came = self._came, []
        ends, self._ends = self._ends, []
        done = asyncio.get_running_loop().run_in_executor(self._thread, self._write, came + ends)
        done.add_done_callback(lambda _: self._committed(came))

    def _write(self, parts: list[bytes]) -> None:
        for start in range(0, len(parts), 1000):
            os.writev(self._file, parts[start : start + 1000])
        os.fdatasync(self._file)

    def _committed(self, came: list[bytes]) -> None:
        self._is_busy = False
        if came:
            assert self._sender is not None
            self._sender.write(COUNT.pack(8) + COUNT.pack(len(came)))
            self._queue.extend(came)
            self._deliver()
        self._commit()

    def _deliver(self) -> None:
        count = min(len(self._queue), UNACKNOWLEDGED - self._unacknowledged)
        if self._receiver is not None and count:
            self._unacknowledged += count
            self._receiver.write(b"".join([self._queue.popleft() for _ in range(count)]))


async def serve(folder: str) -> None:
    """Run until somebody ends the process."""
    manager = Manager(Path(folder) / "log")
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(lambda: Frames(manager.take), f"{folder}/app")
    await server.serve_forever()


class Prototype:
    """It in a process of its own."""

    title = "prototype (upper bound)"
    module = "bench.prototype_service"
    count = 800_000

    def is_installed(self) -> bool:
        """Always."""
        return True

    def start(self, folder: Path) -> str:
        """Start it; its socket."""
        command = (sys.executable, "-m", self.module, "serve", str(folder))
        self.process = subprocess.Popen(command)
        socket = folder / "app"
        race.wait_until(socket.exists, self.process)
        return str(socket)

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


async def _connect(address: str, role: int, take: Callable[[Frames, list[bytes]], None]) -> Frames:
    loop = asyncio.get_running_loop()
    _, peer = await loop.create_unix_connection(lambda: Frames(take), address)
    peer.write(COUNT.pack(5) + bytes([role]))
    return peer


def send(address: str, count: int) -> None:
    """Send, with so many unconfirmed."""

    async def run() -> None:
        done = asyncio.get_running_loop().create_future()
        rest = bytes(HEAD - PACKET.size) + race.BODY
        size, number, unconfirmed = HEAD + len(race.BODY), 0, 0

        def fill(peer: Frames) -> None:
            nonlocal number, unconfirmed
            more = min(UNACKNOWLEDGED - unconfirmed, count - number)
            numbers = range(number, number + more)
            packets = [PACKET.pack(size, 86400, at, 3, b"d" * 16) + rest for at in numbers]
            peer.write(b"".join(packets))
            number, unconfirmed = number + more, unconfirmed + more

        def take(peer: Frames, frames: list[bytes]) -> None:
            nonlocal unconfirmed
            unconfirmed -= sum(COUNT.unpack_from(frame, 4)[0] for frame in frames)
            if number == count and not unconfirmed:
                done.set_result(None)
            elif unconfirmed <= UNACKNOWLEDGED // 2:
                fill(peer)

        peer = await _connect(address, SENDER, take)
        race.wait_for_start()
        fill(peer)
        await done

    asyncio.run(run())


def receive(address: str, count: int) -> None:
    """Take the number and the body of each, and acknowledge what came together."""

    async def run() -> None:
        done = asyncio.get_running_loop().create_future()
        left = count

        def take(peer: Frames, frames: list[bytes]) -> None:
            nonlocal left
            for frame in frames:
                PACKET.unpack_from(frame)
                assert len(frame[HEAD:]) == len(race.BODY)
            left -= len(frames)
            peer.write(COUNT.pack(8) + COUNT.pack(len(frames)))
            if not left:
                done.set_result(None)

        await _connect(address, RECEIVER, take)
        race.wait_for_start()
        await done

    asyncio.run(run())


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(sys.argv[2]))
    else:
        race.take_part({"send": send, "receive": receive})
