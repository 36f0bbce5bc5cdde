"""The HTTP door for those who watch a queue manager: `/metrics` and `/healthz`.

It is open before the manager is ready, so that health checks can tell. More pages can be added to
`app` before it starts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from ipaddress import ip_address
from ssl import SSLContext
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from openmsmq.errors import InvalidParameter
from openmsmq.manager.exposition import CONTENT_TYPE
from openmsmq.manager.local import LocalManager, ManagerState
from openmsmq.manager.metrics import ServiceMetrics, render

CONNECTIONS_MAX: Final = 256
"Connections at a time; more are closed at once, so that the other doors still have some."
SHUTDOWN_SECONDS: Final = 2.0
"How long answers under way may take when the door closes."
COMPRESS_BESIDE: Final = 64 * 1024
"Bytes of an answer from which on a thread compresses it."
HEADERS: Final = {
    "Server": "OpenMSMQ",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


class ConsoleDoor:
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
    ) -> None:
        """`admits` says whether a token is good; without it everybody is let in.

        From other computers nobody is, unless there are tokens and TLS or `allow_insecure`.
        """
        is_secure = tls is not None and admits is not None
        if not (is_loopback(host) or is_secure or allow_insecure):
            raise InvalidParameter(
                f"console on {host}: other computers can reach it, so it needs TLS and a token"
            )
        self.manager: LocalManager | None = None
        "The queue manager, as soon as there is one."
        self._metrics = metrics
        self._address = host, port
        self._tls = tls
        self._admits = admits
        self.app = web.Application(middlewares=[self._guard])
        self.app.router.add_get("/metrics", self._show_metrics)
        self.app.router.add_get("/healthz", self._show_health)
        self.app.on_response_prepare.append(_add_headers)
        self._runner = web.AppRunner(
            self.app, access_log=None, handle_signals=False, shutdown_timeout=SHUTDOWN_SECONDS
        )
        self._listener: asyncio.Server | None = None
        self._rendering: asyncio.Task[bytes] | None = None

    async def start(self) -> tuple[str, int]:
        """Open the door; where it is."""
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        try:
            listener = await loop.create_server(self._accept, *self._address, ssl=self._tls)
        except OSError:
            await self._runner.cleanup()
            raise
        self._listener = listener
        host, port = listener.sockets[0].getsockname()[:2]
        return host, port

    async def stop(self, reason: str) -> None:
        """Close the door; HTTP has no way to tell the reason."""
        if self._listener is not None:
            self._listener.close()
        await self._runner.cleanup()
        if self._rendering is not None:
            self._rendering.cancel()
            await asyncio.wait([self._rendering])

    def _accept(self) -> asyncio.Protocol:
        server = self._runner.server
        assert server is not None, "it was set up"
        if len(server.connections) >= CONNECTIONS_MAX:
            self._metrics.refused("too many console connections")
            return _Refusal()
        return server()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let nobody in without a token but those who ask for the health only."""
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


class _Refusal(asyncio.Protocol):
    """A connection that is one too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def is_loopback(host: str) -> bool:
    """Whether only programs of this computer can reach what listens there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
