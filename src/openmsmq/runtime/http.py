"""An HTTP listener: an aiohttp application on a port, with a bound on its connections."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from ssl import SSLContext
from typing import Any, Final

from aiohttp import web

from openmsmq.runtime.listener import Listener, bind
from openmsmq.runtime.logs import log_event

_log: Final = logging.getLogger(__name__)


class HttpListener(ABC):
    """Start, stop and the bound on connections, which all HTTP listeners share."""

    name: str
    "What the log calls this listener."
    too_many: str
    "The reason that is counted when a connection has to give way to another."
    out_of_sockets: str
    "The reason that is counted when the system cannot accept a connection."

    def __init__(
        self,
        app: web.Application,
        address: tuple[str, int],
        *,
        connections_max: int,
        tls: SSLContext | None = None,
        **options: Any,
    ) -> None:
        """`options` are those of aiohttp's runner and of its protocol."""
        self._address = address
        self._connections_max = connections_max
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, **options)
        self._listener = Listener(self._accept, self, tls=tls)

    async def start(self) -> tuple[str, int]:
        """Start to listen; the address."""
        await self._runner.setup()
        try:
            bound = await bind(*self._address)
        except OSError:
            await self._runner.cleanup()
            raise
        return self._listener.start(bound)

    async def stop(self, reason: str) -> None:
        """Stop listening and end all connections; HTTP has no place for the reason."""
        await self._listener.close()
        await self._runner.cleanup()

    def _accept(self) -> asyncio.Protocol:
        return self._server()

    @property
    def _server(self) -> web.Server:
        server = self._runner.server
        assert server is not None, "it was set up"
        return server

    def has_room(self) -> bool:
        """Whether one more connection may be accepted.

        At the limit the first of `replaceable` is closed for it.
        """
        connections = self._server.connections
        if len(connections) + self._listener.arriving < self._connections_max:
            return True
        if self._listener.displace():
            return True
        self.refused(self.too_many)
        for one in self.replaceable(connections):
            transport = getattr(one, "transport", None)
            if transport is not None and not transport.is_closing():
                transport.abort()
                return True
        return False

    @abstractmethod
    def replaceable(
        self, connections: Collection[asyncio.BaseProtocol]
    ) -> Iterable[asyncio.BaseProtocol]:
        """The connections that may be closed for a new one, the first choice first."""

    @abstractmethod
    def refused(self, reason: str) -> None:
        """Count a connection or a request that was refused."""

    def exhausted(self, error: OSError) -> None:
        """Report that the system cannot accept a connection."""
        self.refused(self.out_of_sockets)
        level = logging.ERROR
        log_event(_log, "cannot accept connections", level=level, error=error, listener=self.name)
