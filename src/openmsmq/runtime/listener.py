"""Accepts connections, and never more than there is room for.

The servers of asyncio have no bound: connections whose TLS handshake is not over are in no count,
and where no file descriptor is left there is a line in the log for every attempt to accept one.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable
from traceback import clear_frames
from typing import Final, Protocol

BACKLOG: Final = 1024
HANDSHAKES_MAX: Final = 256
"TLS handshakes under way at a time; the oldest gives way to one more."
HANDSHAKE_WITHIN: Final = 10.0
"Seconds that a TLS handshake may take."
PAUSE: Final = 1.0
"Seconds until connections are accepted again after the system could not give one."
UNFINISHED: Final = "unfinished TLS handshake"
FAILED: Final = "failed TLS handshake"


class Host(Protocol):
    """Whom the connections are for."""

    def has_room(self) -> bool:
        """Whether one more connection may come; room is made for it if that is possible."""
        ...

    def refused(self, reason: str) -> None:
        """A connection was not accepted, or cut off before it was made."""
        ...

    def exhausted(self, error: OSError) -> None:
        """The system has no connection to give, mostly for lack of file descriptors."""
        ...


class Listener:
    """Sockets that connections come to; each becomes a protocol of asyncio."""

    def __init__(
        self,
        make: Callable[[], asyncio.BaseProtocol],
        host: Host,
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`make` gives the protocol of a connection."""
        self._make = make
        self._host = host
        self._tls = tls
        self._sockets: list[socket.socket] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._arriving: dict[asyncio.Task[None], None] = {}
        "Connections that are accepted and not made, the oldest first."

    @property
    def arriving(self) -> int:
        """Connections that are accepted and not made: TLS is not agreed upon."""
        return len(self._arriving)

    def start(self, sockets: Iterable[socket.socket]) -> tuple[str, int]:
        """Accept connections from now on, at sockets that are bound; where the first one is."""
        self._sockets = list(sockets)
        loop = asyncio.get_running_loop()
        for bound in self._sockets:
            bound.setblocking(False)
            bound.listen(BACKLOG)
            self._accepting.append(loop.create_task(self._accept(bound)))
        name = self._sockets[0].getsockname()
        return (name[0], name[1]) if isinstance(name, tuple) else (name, 0)

    async def close(self) -> None:
        """Accept no more; a handshake that is under way is given up."""
        for task in self._accepting:
            task.cancel()
        await asyncio.sleep(0)  # so that all have begun: only then are they closed when cancelled
        arriving = list(self._arriving)
        while self.displace():
            pass
        # The event loop lets go of a socket when the task is over: it is not closed before.
        await asyncio.gather(*self._accepting, *arriving, return_exceptions=True)
        for bound in self._sockets:
            bound.close()

    def displace(self) -> bool:
        """Cut off the connection whose TLS handshake takes longest; whether there is one."""
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
                await asyncio.sleep(PAUSE)
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
        within = None if self._tls is None else HANDSHAKE_WITHIN
        try:
            await loop.connect_accepted_socket(
                self._make, connected, ssl=self._tls, ssl_handshake_timeout=within
            )
        except OSError as error:  # it took too long, or the other side is gone, if it is not TLS
            self._host.refused(FAILED if isinstance(error, ssl.SSLError) else UNFINISHED)
            # The error and what it went through hold each other, with the buffers for TLS.
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
