"""A TCP connection for threads; the half for asyncio has a module of its own with the same names.

Sockets that block have no counterpart of the streams of asyncio.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Final, Self

from openmsmq.net.keep_alive import enable_keep_alive

SIZE: Final = 1 << 16


class TcpSocket:
    """Bytes both ways; every error is an `OSError`."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    @classmethod
    def open(cls, host: str, port: int, timeout: float) -> Self:
        """Connect within this many seconds."""
        connected = socket.create_connection((host, port), timeout)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        enable_keep_alive(connected)  # a read may wait for ever
        return cls(connected)

    def send(self, data: bytes) -> None:
        """Send all of it."""
        self._socket.settimeout(None)
        self._socket.sendall(data)

    def receive(self, timeout: float | None) -> bytes:
        """Some bytes, or none at the end of the connection; `TimeoutError`."""
        self._socket.settimeout(None if timeout is None else max(timeout, 0.001))
        return self._socket.recv(SIZE)

    def close(self) -> None:
        """Close it at once; a thread that waits for bytes gets none."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
