"""Messages over HTTP as a part of a running service: one listener, one sender."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ssl import SSLContext

from openmsmq.clock import Clock
from openmsmq.engine.manager import QueueManager
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.transports.srmp.client import SrmpClient
from openmsmq.transports.srmp.exchange import PostResult, Request
from openmsmq.transports.srmp.listener import SrmpListener
from openmsmq.transports.srmp.reception import SrmpReception
from openmsmq.transports.srmp.transport import SrmpTransport
from openmsmq.transports.timer import Timer


class SrmpService:
    """Listens for messages over HTTP, and sends those of outgoing queues."""

    def __init__(
        self,
        local: QueueManager,
        driver: LoopDriver,
        clock: Clock,
        *,
        host: str,
        port: int,
        tls: SSLContext | None = None,
    ) -> None:
        """With `tls` the listener is one for HTTPS."""
        self._local = local
        self._driver = driver
        self._clock = clock
        self._reception = SrmpReception(local, driver, clock)
        self.listener = SrmpListener(self._reception.take, clock, host=host, port=port, tls=tls)
        self._client: SrmpClient | None = None
        self._posting: set[asyncio.Task[None]] = set()
        self.transport: SrmpTransport | None = None

    async def start(self) -> tuple[str, int]:
        """Listen, then send; where the listener is."""
        address = await self.listener.start()
        self._client = SrmpClient()

        def begin() -> SrmpTransport:
            self._local.resolver.http_port = address[1]
            identity, dispatcher = self._local.identity, self._local.dispatcher
            return SrmpTransport(dispatcher, self._clock, self, manager=identity)

        self.transport = self._driver.call(begin)
        return address

    async def stop(self, reason: str) -> None:
        """Take and send nothing more."""
        if self.transport is not None and not self._driver.is_closed:
            self._driver.call(self.transport.stop)
        await self.listener.stop(reason)
        for task in self._posting:
            task.cancel()
        await asyncio.gather(*self._posting, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    # What the transport needs

    def post(
        self, request: Request, done: Callable[[PostResult], None], *, is_secure: bool
    ) -> None:
        """Post a request: `done` is called once, later."""
        task = asyncio.get_running_loop().create_task(self._post(request, done, is_secure))
        self._posting.add(task)
        task.add_done_callback(self._posting.discard)

    async def _post(
        self, request: Request, done: Callable[[PostResult], None], is_secure: bool
    ) -> None:
        assert self._client is not None, "it was started"
        result = await self._client.post(request, is_secure=is_secure)
        self._call(lambda: done(result))

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Have something done later."""
        return asyncio.get_running_loop().call_later(seconds, self._call, call)

    def _call(self, call: Callable[[], None]) -> None:
        if not self._driver.is_closed:
            self._driver.call(call)
