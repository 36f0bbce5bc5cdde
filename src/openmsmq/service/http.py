"""The HTTP listener for monitoring: `/metrics` and `/healthz`.

It is open before the manager is ready, so that health checks can tell. More pages can be added to
`app` before it starts.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from ipaddress import ip_address
from ssl import SSLContext
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from openmsmq.engine.manager import QueueManager
from openmsmq.errors import InvalidParameter
from openmsmq.runtime.listener import Listener, bind
from openmsmq.runtime.logs import log_event
from openmsmq.service.limits import CONSOLE_MAX, HTTP_DRAIN_S
from openmsmq.service.metrics.exposition import CONTENT_TYPE
from openmsmq.service.metrics.samples import EXHAUSTED, TOO_MANY_CONSOLE, ServiceMetrics, render
from openmsmq.types.manager_state import ManagerState

COMPRESS_BESIDE: Final = 64 * 1024
"Bytes of an answer from which on a thread compresses it."
_log: Final = logging.getLogger(__name__)
HEADERS: Final = {
    "Server": "OpenMSMQ",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


class ConsoleListener:
    """An HTTP server on the console port; on this computer anybody may look."""

    def __init__(
        self,
        metrics: ServiceMetrics,
        *,
        host: str = "127.0.0.1",
        port: int = 1810,
        tls: SSLContext | None = None,
        admits: Callable[[str], bool] | None = None,
        allow_insecure: bool = False,
        connections_max: int = CONSOLE_MAX,
    ) -> None:
        """`admits` says whether a token is good; without it everybody is let in.

        From other computers nobody is, unless there are tokens and TLS or `allow_insecure`.
        """
        is_secure = tls is not None and admits is not None
        if not (is_loopback(host) or is_secure or allow_insecure):
            raise InvalidParameter(
                f"console on {host}: other computers can reach it, so it needs TLS and a token"
            )
        self.manager: QueueManager | None = None
        "The queue manager, as soon as there is one."
        self._metrics = metrics
        self._address = host, port
        self._admits = admits
        self.app = web.Application(middlewares=[self._guard])
        self.app.router.add_get("/metrics", self._show_metrics)
        self.app.router.add_get("/healthz", self._show_health)
        self.app.on_response_prepare.append(_add_headers)
        self._runner = web.AppRunner(
            self.app, access_log=None, handle_signals=False, shutdown_timeout=HTTP_DRAIN_S
        )
        self._connections_max = connections_max
        self._busy: Counter[asyncio.BaseProtocol] = Counter()
        "Connections whose requests are being answered."
        self._listener = Listener(self._accept, self, tls=tls)
        self._rendering: asyncio.Task[bytes] | None = None

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
        """Stop listening; HTTP has no way to tell the reason."""
        await self._listener.close()
        await self._runner.cleanup()
        if self._rendering is not None:
            self._rendering.cancel()
            await asyncio.wait([self._rendering])

    def _accept(self) -> asyncio.Protocol:
        return self._server()

    @property
    def _server(self) -> web.Server:
        server = self._runner.server
        assert server is not None, "it was set up"
        return server

    def has_room(self) -> bool:
        """Whether one more connection may come.

        The oldest on which nothing is asked for gives way to it: silent connections do not keep a
        health check out.
        """
        connections = self._server.connections
        if len(connections) + self._listener.arriving < self._connections_max:
            return True
        if self._listener.displace():
            return True
        self.refused(TOO_MANY_CONSOLE)
        for one in connections:
            transport = None if one in self._busy else one.transport
            if transport is not None and not transport.is_closing():
                transport.abort()
                return True
        return False

    def refused(self, reason: str) -> None:
        """A connection was not made, or cut off."""
        self._metrics.refused(reason)

    def exhausted(self, error: OSError) -> None:
        """The system has no connection to give."""
        self.refused(EXHAUSTED)
        level = logging.ERROR
        log_event(_log, "cannot accept connections", level=level, error=error, listener="console")

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let nobody in without a token but those who ask for the health only."""
        self._busy[request.protocol] += 1
        try:
            return await self._answer(request, handler)
        finally:
            self._busy[request.protocol] -= 1
            if not self._busy[request.protocol]:
                del self._busy[request.protocol]

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._admits is not None and request.path != "/healthz":
            scheme, _, token = request.headers.get("Authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not self._admits(token.strip()):
                self._metrics.login_refused()
                raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Bearer"})
        return await handler(request)

    async def _show_health(self, request: web.Request) -> web.Response:
        """Whether the manager does its work, 200 or 503, and its state."""
        state = ManagerState.INITIALIZING if self.manager is None else self.manager.state
        status = 200 if state is ManagerState.READY else 503
        return web.json_response({"state": str(state)}, status=status)

    async def _show_metrics(self, request: web.Request) -> web.Response:
        """The metrics; who asks while they are gathered for another gets the same."""
        if self._rendering is None or self._rendering.done():
            gathering = render(self.manager, self._metrics, time.time())
            self._rendering = asyncio.create_task(gathering)
        body = await self._rendering
        response = web.Response(
            body=body, headers={"Content-Type": CONTENT_TYPE}, zlib_executor_size=COMPRESS_BESIDE
        )
        response.enable_compression()
        return response


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def is_loopback(host: str) -> bool:
    """Whether only programs of this computer can reach what listens there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
