"""The sockets of the application server, and its clock."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from openmsmq.app_server.limits import REFUSALS_MAX
from openmsmq.app_server.server import AppServer
from openmsmq.app_server.session import AppSession
from openmsmq.app_server.sweeper import SessionSweeper
from openmsmq.net.connection import Connection
from openmsmq.runtime.listener import Listener, bind
from openmsmq.runtime.logs import log_event
from openmsmq.service.metrics.samples import EXHAUSTED, TOO_MANY

DRAIN_TIMEOUT_S: Final = 2.0
"That programs have to read what was sent to them when the listener stops."
SOCKET_MODES: Final = {"owner": 0o600, "group": 0o660, "everyone": 0o666}
"The mode of the Unix socket, by who can open it."
_log: Final = logging.getLogger(__name__)


class AppListener:
    """Accepts the connections of programs, for an application server."""

    def __init__(self, server: AppServer, tls: ssl.SSLContext | None = None) -> None:
        self.server = server
        self.sweeper = SessionSweeper(server)
        self._tls = tls
        self._listeners: list[Listener] = []
        self._socket: Path | None = None
        "The Unix socket that is open."
        self._timer: asyncio.TimerHandle | None = None
        self.address: tuple[str, int] | str = ""
        "Where programs find it, once it has started."

    async def start(self) -> tuple[str, int] | str:
        """Accept connections; the address."""
        config = self.server.config
        address: tuple[str, int] | str = ""
        if config.app_socket is not None:
            bound = [self._bind(config.app_socket, SOCKET_MODES[config.app_socket_for])]
            self._listen(bound, None, is_trusted=self._trusts_user)
            address = str(config.app_socket)
        if config.app_port is not None:
            bound = await bind(config.bind, config.app_port)
            trusts = self._trusts_port
            address = self._listen(bound, self._tls, is_trusted=lambda _: trusts)
        self._tick()
        self.address = address
        return address

    def _listen(
        self,
        bound: list[socket.socket],
        tls: ssl.SSLContext | None,
        *,
        is_trusted: Callable[[Connection], bool],
    ) -> tuple[str, int]:
        listener = Listener(partial(self._connection, is_trusted=is_trusted), self, tls=tls)
        self._listeners.append(listener)
        return listener.start(bound)

    def _tick(self) -> None:
        """Check all sessions once in each interval."""
        loop = asyncio.get_running_loop()
        self.sweeper.tick(loop.time())
        self._timer = loop.call_at(self.sweeper.next_deadline, self._tick)

    def _bind(self, path: Path, mode: int) -> socket.socket:
        """A Unix socket that only those can reach who may, from its first moment on."""
        if path.is_socket():
            path.unlink()  # of a process that was killed: the store is ours
        bound = socket.socket(socket.AF_UNIX)
        try:
            bound.bind(str(path))
            self._socket = path
            path.chmod(mode)
        except OSError:
            bound.close()
            raise
        return bound

    def _trusts_user(self, wire: Connection) -> bool:
        """Whether the user at the other end of a Unix socket is root, or the one that serves.

        Where the system does not tell who that is, a socket for its owner is opened by that one.
        """
        if user := wire.unix:
            return user[0] in (0, os.geteuid())
        return self.server.config.app_socket_for == "owner"

    @property
    def _trusts_port(self) -> bool:
        """Whether programs need neither token nor certificate at the port.

        A service that asks for certificates wants to know who connects, from this computer, too.
        """
        config = self.server.config
        if config.tls_client_ca is not None or config.loopback == "anonymous":
            return False
        return config.is_local or config.allow_insecure

    def _connection(self, *, is_trusted: Callable[[Connection], bool]) -> Connection:
        now = asyncio.get_running_loop().time

        def accept(wire: Connection) -> AppSession:
            return self.server.accept(wire, now(), is_trusted=is_trusted(wire))

        return Connection(accept, now)

    # For the listeners

    def has_room(self) -> bool:
        """Whether one more connection may come: for a program, or to be refused with a reason.

        A TLS handshake gives way to it, or else a program that has not said hello yet, the one that
        takes longest: silent connections do not keep others out.
        """
        limit = self.server.config.clients_max
        used = self.server.clients + sum(listener.arriving for listener in self._listeners)
        if used < limit or any(listener.displace() for listener in self._listeners):
            return True
        if self.server.displace() or used < limit + REFUSALS_MAX:
            return True
        self.server.metrics.refused(TOO_MANY)
        return False

    def refused(self, reason: str) -> None:
        """A connection was not made."""
        self.server.metrics.refused(reason)

    def exhausted(self, error: OSError) -> None:
        """The system has no connection to give."""
        self.server.metrics.refused(EXHAUSTED)
        log_event(
            _log, "cannot accept connections", level=logging.ERROR, error=error, listener="app"
        )

    async def stop(self, reason: str) -> None:
        """Accept no more connections, and close those that there are."""
        if self._timer is not None:
            self._timer.cancel()
        for listener in self._listeners:
            await listener.close()
        self.server.close(reason)
        loop = asyncio.get_running_loop()
        end = loop.time() + DRAIN_TIMEOUT_S
        while self.server.clients and loop.time() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        self.server.abort()
        await asyncio.sleep(0)  # so that they learn of it
        if self._socket is not None:
            self._socket.unlink(missing_ok=True)
