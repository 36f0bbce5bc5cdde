"""A TCP connection for asyncio; threads have a module of their own with the same names."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, Self

from openmsmq.net.keep_alive import enable_keep_alive

SIZE: Final = 1 << 16


class TcpSocket:
    """Bytes both ways; every error is an `OSError`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, host: str, port: int, timeout: float) -> Self:
        """Connect within this many seconds."""
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(host, port)
        enable_keep_alive(writer.get_extra_info("socket"))  # a read may wait for ever
        return cls(reader, writer)

    async def send(self, data: bytes) -> None:
        """Send all of it."""
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self, timeout: float | None) -> bytes:
        """Some bytes, or none at the end of the connection; `TimeoutError`."""
        async with asyncio.timeout(timeout):
            return await self._reader.read(SIZE)

    def close(self) -> None:
        """Close it at once."""
        with suppress(OSError, RuntimeError):  # the event loop may be closed
            self._writer.transport.abort()
