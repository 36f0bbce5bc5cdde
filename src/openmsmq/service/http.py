"""The HTTP listener for monitoring: `/metrics` and `/healthz`.

It is open before the manager is ready, so that health checks can tell. More pages can be added to
`app` before it starts.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from ipaddress import ip_address
from ssl import SSLContext
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from openmsmq.engine.manager import QueueManager
from openmsmq.errors import InvalidParameter
from openmsmq.runtime.http import HttpListener
from openmsmq.service.limits import CONSOLE_MAX, HTTP_DRAIN_S
from openmsmq.service.metrics.exposition import CONTENT_TYPE
from openmsmq.service.metrics.samples import EXHAUSTED, TOO_MANY_CONSOLE, ServiceMetrics, render
from openmsmq.types.manager_state import ManagerState

COMPRESS_BESIDE: Final = 64 * 1024
"Bytes of an answer from which on a thread compresses it."
HEADERS: Final = {
    "Server": "OpenMSMQ",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


class ConsoleListener(HttpListener):
    """An HTTP server on the console port; on this computer it needs no token."""

    name = "console"
    too_many = TOO_MANY_CONSOLE
    out_of_sockets = EXHAUSTED

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
        """`admits` says whether a token is good; without it no token is asked for.

        An address that other computers can reach needs tokens and TLS, or `allow_insecure`.
        """
        is_secure = tls is not None and admits is not None
        if not (is_loopback(host) or is_secure or allow_insecure):
            raise InvalidParameter(
                f"console on {host}: other computers can reach it, so it needs TLS and a token"
            )
        self.manager: QueueManager | None = None
        "The queue manager, as soon as there is one."
        self.address = (host, port)
        self._metrics = metrics
        self._admits = admits
        self.app = web.Application(middlewares=[self._guard])
        self.app.router.add_get("/metrics", self._show_metrics)
        self.app.router.add_get("/healthz", self._show_health)
        self.app.on_response_prepare.append(_add_headers)
        super().__init__(
            self.app,
            (host, port),
            connections_max=connections_max,
            tls=tls,
            shutdown_timeout=HTTP_DRAIN_S,
        )
        self._busy: Counter[asyncio.BaseProtocol] = Counter()
        "Connections whose requests are being answered."
        self._rendering: asyncio.Task[bytes] | None = None

    async def start(self) -> tuple[str, int]:
        """Start to listen; the address."""
        self.address = await super().start()
        return self.address

    async def stop(self, reason: str) -> None:
        """Stop listening, and gathering metrics."""
        await super().stop(reason)
        if self._rendering is not None:
            self._rendering.cancel()
            await asyncio.wait([self._rendering])

    def replaceable(
        self, connections: Collection[asyncio.BaseProtocol]
    ) -> Iterator[asyncio.BaseProtocol]:
        """Idle connections, so that they do not keep a health check out."""
        return (one for one in connections if one not in self._busy)

    def refused(self, reason: str) -> None:
        """Count a connection that was refused or closed."""
        self._metrics.refused(reason)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Ask for a token where metrics are asked for; other pages have logins of their own."""
        self._busy[request.protocol] += 1
        try:
            return await self._answer(request, handler)
        finally:
            self._busy[request.protocol] -= 1
            if not self._busy[request.protocol]:
                del self._busy[request.protocol]

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._admits is not None and request.path == "/metrics":
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
        """The metrics; requests that come while they are gathered share the result."""
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
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["Server"] = HEADERS["Server"]


def is_loopback(host: str) -> bool:
    """Whether only programs of this computer can reach what listens there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
