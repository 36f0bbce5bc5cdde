"""A socket that threads share: one reads while others write, also with TLS."""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import threading
from typing import Final

from openmsmq.client.address import Address
from openmsmq.net.keep_alive import enable_keep_alive

_CHUNK: Final = 1 << 18
_NOT_NOW: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_Selector: Final[type[selectors.BaseSelector]] = getattr(
    selectors, "PollSelector", selectors.SelectSelector
)
"As good as any for one socket, and without a file of its own."


class SharedSocket:
    """An open connection. Only the two calls that say so wait."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._turn = threading.Lock()
        "TLS bears one call at a time."
        self._incoming = _selector(connection, selectors.EVENT_READ)
        self._outgoing = _selector(connection, selectors.EVENT_WRITE)
        self._either = _selector(connection, selectors.EVENT_READ | selectors.EVENT_WRITE)

    @classmethod
    def connect(cls, address: Address, patience: float) -> SharedSocket:
        """Connect within this many seconds; `OSError` if that does not work."""
        if not address.socket:
            return cls(_connect(address, patience))
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(patience)
            connection.connect(address.socket)
        except BaseException:
            connection.close()
            raise
        return cls(connection)

    def wait_to_receive(self, seconds: float, *, or_to_send: bool = False) -> bool:
        """Wait until something comes, for the thread that reads; False if nothing did."""
        if self._has_decrypted():
            return True
        return bool((self._either if or_to_send else self._incoming).select(seconds))

    def wait_to_send(self, seconds: float) -> bool:
        """Wait until more can be sent, for the thread that writes; False if it cannot."""
        return bool(self._outgoing.select(seconds))

    def _has_decrypted(self) -> bool:
        """TLS has bytes that were not read yet."""
        if not isinstance(self._socket, ssl.SSLSocket):
            return False
        with self._turn:
            return self._socket.fileno() >= 0 and self._socket.pending() > 0

    def receive(self) -> bytes | None:
        """What has come; None if nothing has, nothing if no more will come."""
        with self._turn:
            try:
                return self._socket.recv(_CHUNK)
            except _NOT_NOW:
                return None

    def send(self, data: memoryview) -> int:
        """Send as much as goes now; how many bytes."""
        with self._turn:
            try:
                return self._socket.send(data[:_CHUNK])
            except _NOT_NOW:
                return 0

    def shut_down(self) -> None:
        """Wake the reader, which finds that it is over."""
        with self._turn, contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it; no call may wait any longer."""
        with self._turn:
            self._socket.close()


def _connect(address: Address, patience: float) -> socket.socket:
    connection = socket.create_connection((address.host, address.port), patience)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        enable_keep_alive(connection)
        if address.tls is not None:
            return address.tls.wrap_socket(connection, server_hostname=address.host)
    except BaseException:
        connection.close()
        raise
    return connection


def _selector(connection: socket.socket, events: int) -> selectors.BaseSelector:
    made = _Selector()
    made.register(connection, events)
    return made
