"""What single durable sends are measured against: the least server in Python over LMDB.

It speaks the frames of our clients and has one queue that is only ever added to: all that has come
in a round of the event loop is one row and one commit. No names, rights, numbers, checks, history
or counters, and nobody could receive from it: an upper bound for a manager in Python over LMDB.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from uuid import UUID

import lmdb
import uvloop

from bench import race
from openmsmq.app_protocol.calls import Welcome
from openmsmq.app_protocol.frames import FROM_CLIENT, Frame, Framer, Kind, encode_frame
from openmsmq.app_protocol.limits import FRAME_SIZE_MAX
from openmsmq.app_protocol.members import Members
from openmsmq.app_protocol.payloads import Sent

MAP_SIZE = 1 << 34
WELCOME = Welcome("least", UUID(int=1), "HERE", FRAME_SIZE_MAX, 1000, FRAME_SIZE_MAX, "admin")
OPENED = Members({"handle": 1, "access": ["send"], "name": "bench"})


class Least:
    """The server in a process of its own."""

    def start(self, folder: Path) -> str:
        """Start it; its address."""
        self.process = subprocess.Popen((sys.executable, "-m", "bench.least_service", str(folder)))
        race.wait_until((folder / "app").exists, self.process)
        return f"unix:{folder / 'app'}"

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


class Queue:
    """What has come since the last commit, and who waits for it."""

    def __init__(self, folder: Path) -> None:
        self._rows = lmdb.open(str(folder), map_size=MAP_SIZE)
        self._numbers: Iterator[int] = count()
        self._came: list[bytes] = []
        self._waiting: dict[Program, list[bytes]] = {}

    def add(self, program: Program, frame: Frame) -> None:
        """Keep a message until the next commit, after which its program is answered."""
        if not self._came:
            asyncio.get_running_loop().call_soon(self._commit)
        self._came.append(frame.payload)
        answer = encode_frame(Kind.SENT, frame.id, Sent.LAYOUT.pack(1, 1))
        self._waiting.setdefault(program, []).append(answer)

    def _commit(self) -> None:
        came, self._came = self._came, []
        waiting, self._waiting = self._waiting, {}
        with self._rows.begin(write=True) as transaction:
            transaction.put(next(self._numbers).to_bytes(8), b"".join(came), append=True)
        for program, answers in waiting.items():
            program.write(b"".join(answers))


class Program(asyncio.Protocol):
    """The connection of one program."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._framer = Framer(FROM_CLIENT, limit=FRAME_SIZE_MAX)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.write = transport.write  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._framer.receive_data(data)
        while (frame := self._framer.next_frame()) is not None:
            if frame.kind is Kind.SEND:
                self._queue.add(self, frame)
            elif frame.kind is Kind.HELLO:
                self.write(encode_frame(Kind.WELCOME, frame.id, WELCOME.encode()))
            else:
                self.write(encode_frame(Kind.ANSWER, frame.id, OPENED.encode()))


async def serve(folder: Path) -> None:
    """Answer programs until the process is killed."""
    queue = Queue(folder)
    address = folder / "app"
    server = await asyncio.get_running_loop().create_unix_server(lambda: Program(queue), address)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1])))
