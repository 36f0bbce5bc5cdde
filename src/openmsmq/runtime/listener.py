"""Accepts connections, within bounds.

The servers of asyncio have none: they do not count connections during the TLS handshake, and
without a free file descriptor they log a line for every attempt to accept one.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable
from traceback import clear_frames
from typing import Final, Protocol

from openmsmq.runtime.limits import BACKLOG, HANDSHAKE_WITHIN_S, HANDSHAKES_MAX

RETRY_DELAY_S: Final = 1.0
"Before connections are accepted again after the system was out of file descriptors."
UNFINISHED: Final = "unfinished TLS handshake"
FAILED: Final = "failed TLS handshake"


class Host(Protocol):
    """The server that the connections are for."""

    def has_room(self) -> bool:
        """Whether one more connection may be accepted; makes room for it if possible."""
        ...

    def refused(self, reason: str) -> None:
        """A connection was not accepted, or closed before it was established."""
        ...

    def exhausted(self, error: OSError) -> None:
        """The system cannot accept a connection, mostly for lack of file descriptors."""
        ...


class Listener:
    """Listening sockets; each connection becomes an asyncio protocol."""

    def __init__(
        self,
        make: Callable[[], asyncio.BaseProtocol],
        host: Host,
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`make` gives the asyncio protocol of a connection."""
        self._make = make
        self._host = host
        self._tls = tls
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._arriving: dict[asyncio.Task[None], None] = {}
        "Connections that are accepted and not established, the oldest first."

    @property
    def arriving(self) -> int:
        """Connections that are accepted and not established: their TLS handshake is under way."""
        return len(self._arriving)

    def start(self, sockets: Iterable[socket.socket]) -> tuple[str, int]:
        """Accept connections at bound sockets; the address of the first one."""
        self._sockets = list(sockets)
        loop = asyncio.get_running_loop()
        for bound in self._sockets:
            bound.setblocking(False)
            bound.listen(BACKLOG)
            self._accepting.append(loop.create_task(self._accept(bound)))
        name = self._sockets[0].getsockname()
        return (name[0], name[1]) if isinstance(name, tuple) else (name, 0)

    async def close(self) -> None:
        """Accept no more connections; handshakes that are under way are aborted."""
        for task in self._accepting:
            task.cancel()
        await asyncio.sleep(0)  # so that all have begun: only then are they closed when cancelled
        arriving = list(self._arriving)
        while self.displace():
            pass
        # The event loop watches a socket until its task has ended: it is not closed before.
        await asyncio.gather(*self._accepting, *arriving, return_exceptions=True)
        for bound in self._sockets:
            bound.close()

    def displace(self) -> bool:
        """Close the connection whose TLS handshake takes longest; whether there was one."""
        if self._tls is None or not self._arriving:
            return False
        task = next(iter(self._arriving))
        del self._arriving[task]
        task.cancel()  # which closes the connection, whatever has become of it meanwhile
        self._host.refused(UNFINISHED)
        return True

    async def _accept(self, bound: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connected, _ = await loop.sock_accept(bound)
            except ConnectionAbortedError:
                continue  # it is gone already
            except OSError as error:
                self._host.exhausted(error)
                await asyncio.sleep(RETRY_DELAY_S)
                continue
            if self._has_room():
                task = loop.create_task(self._connect(connected))
                self._arriving[task] = None
                task.add_done_callback(self._arrived)
            else:
                connected.close()
            await asyncio.sleep(0)  # the next one may be there already, and others want a turn

    def _has_room(self) -> bool:
        if len(self._arriving) >= HANDSHAKES_MAX:
            self.displace()
        return self._host.has_room()

    async def _connect(self, connected: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        timeout = None if self._tls is None else HANDSHAKE_WITHIN_S
        try:
            await loop.connect_accepted_socket(
                self._make, connected, ssl=self._tls, ssl_handshake_timeout=timeout
            )
        except OSError as error:  # a timeout or a lost connection, if it is no error of TLS
            self._host.refused(FAILED if isinstance(error, ssl.SSLError) else UNFINISHED)
            # The error and its frames refer to each other, and keep the buffers of TLS.
            clear_frames(error.__traceback__)

    def _arrived(self, task: asyncio.Task[None]) -> None:
        self._arriving.pop(task, None)


async def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets at all addresses of a host, as the servers of asyncio bind them.

    An error names the address, as theirs do.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
    )
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            bound = socket.socket(family, kind, protocol)
            sockets.append(bound)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            bound.bind(address)
    except OSError as error:
        for bound in sockets:
            bound.close()
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raise OSError(error.errno, f"cannot listen at {where}: {error.strerror}") from error
    return sockets
