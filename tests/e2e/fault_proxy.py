"""An HTTP proxy that drops, delays, truncates and repeats requests, and can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl
import threading
from collections import Counter
from typing import Final, NamedTuple
from urllib.parse import urlsplit

HEAD_MAX: Final = 64 * 1024
DELAY_S: Final = 0.3


class Gate(NamedTuple):
    """A server that a proxy stands before: where it is, and TLS towards both sides."""

    host: str
    port: int
    shown: ssl.SSLContext
    "With the certificate that clients see."
    trusted: ssl.SSLContext
    "For the connection to the server."


class FaultProxy:
    """Runs in a thread of its own; requests for `http://` URLs are passed on, one by one.

    With a `gate` it is a reverse proxy for HTTPS: it opens the requests, and passes all of them on
    to one server.
    """

    def __init__(self, seed: int, *, fault_rate: float = 0.1, gate: Gate | None = None) -> None:
        self._gate = gate
        self._chance = random.Random(seed)
        self._fault_rate = fault_rate
        self.faults: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.port = 0

    def start(self) -> None:
        """Listen, at the same port as before."""
        if not self._thread.is_alive():
            self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)

    async def _start(self) -> None:
        tls = None if self._gate is None else self._gate.shown
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    def kill(self) -> None:
        """Cut all connections, and listen no more."""
        asyncio.run_coroutine_threadsafe(self._kill(), self._loop).result(10)

    async def _kill(self) -> None:
        if self._server is not None:
            self._server.close()
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def stop(self) -> None:
        """End it for good."""
        self.kill()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with contextlib.suppress(OSError, EOFError, asyncio.LimitOverrunError):
                while await self._pass_on(reader, writer):
                    pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._open.discard(task)
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; False if the connection is not to be used again."""
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(_length(head))
        fault = "none"
        if self._chance.random() < self._fault_rate:
            kinds = ("drop", "delay", "truncate", "repeat", "drop answer")
            fault = self._chance.choice(kinds)
        self.faults[fault] += 1
        if fault == "drop":
            return False
        if fault == "delay":
            await asyncio.sleep(DELAY_S)
        if fault == "truncate":
            await self._exchange(head, body[: len(body) // 2], is_whole=False)
            return False
        answer = await self._exchange(head, body)
        if fault == "repeat":
            answer = await self._exchange(head, body)
        if fault == "drop answer":
            return False
        writer.write(answer)
        await writer.drain()
        return True

    async def _exchange(self, head: bytes, body: bytes, *, is_whole: bool = True) -> bytes:
        line, _, rest = head.partition(b"\r\n")
        method, target, version = line.decode().split(" ")
        url = urlsplit(target)
        if (gate := self._gate) is None:
            reader, writer = await asyncio.open_connection(url.hostname, url.port or 80)
        else:
            way = asyncio.open_connection(gate.host, gate.port, ssl=gate.trusted)
            reader, writer = await way
        try:
            writer.write(f"{method} {url.path} {version}\r\n".encode() + rest + body)
            await writer.drain()
            if not is_whole:
                return b""
            answer = await reader.readuntil(b"\r\n\r\n")
            return answer + await reader.readexactly(_length(answer))
        finally:
            writer.close()


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
