"""Services that come and go, lines to them that break, and clients of both kinds."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import ssl
import tempfile
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tests.unit.client.adapter import PATIENCE, AsyncApi

import openmsmq
from openmsmq import aio
from openmsmq.access.tokens import Tokens
from openmsmq.app_server.listener import AppListener
from openmsmq.app_server.server import AppServer
from openmsmq.engine.manager import QueueManager
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.startup import open_directory
from openmsmq.service.configuration import Config
from openmsmq.service.metrics.samples import ServiceMetrics
from openmsmq.service.read_proxy import ManagersElsewhere
from openmsmq.service.values import RemoteManagerEntry
from openmsmq.transports.receipts import RECEIPTS

T = TypeVar("T")


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What a coroutine returns."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def close(self) -> None:
        """End it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()


class Service:
    """A service on a store, which can be stopped and started again in the same place."""

    def __init__(
        self,
        data: Path,
        *,
        tls: ssl.SSLContext | None = None,
        managers: dict[str, RemoteManagerEntry] | None = None,
    ) -> None:
        """With `managers`, programs read the queues of these through it."""
        self.data = data
        self.reads = ManagersElsewhere(managers, data) if managers else None
        self.folder = Path(tempfile.mkdtemp())  # short: the name of a Unix socket must be
        self.path = self.folder / "app"
        self.address = f"unix:{self.path}"
        self._tls = tls
        self._loop = Loop()
        self._open: tuple[LoopDriver, AppListener] | None = None
        self.start()

    def start(self) -> None:
        """Open the store and let programs in."""
        self._open = self._loop.run(self._start())

    async def _start(self) -> tuple[LoopDriver, AppListener]:
        local = open_directory(self.data, "server1", receipts=RECEIPTS)
        driver = LoopDriver(local, local.clock)
        place: dict[str, Any] = {"app_port": None, "app_socket": self.path}
        if self._tls is not None:
            place = {"app_port": 0, "app_socket": None}
        config = Config(data=self.data, **place)
        tokens, metrics = Tokens.load(self.data), ServiceMetrics()
        server = AppServer(
            *(local, driver, config, tokens),
            metrics=metrics,
            refusal_delay_s=0,
            read_proxy=self.reads,
        )
        listener = AppListener(server, self._tls)
        found = await listener.start()
        if isinstance(found, tuple):
            self.address = f"{found[0]}:{found[1]}"
        return driver, listener

    @property
    def server(self) -> AppServer:
        """What serves programs, while the service runs."""
        assert self._open is not None
        return self._open[1].server

    def call(self, work: Callable[[QueueManager], T]) -> T:
        """Do something with its manager."""
        assert self._open is not None
        driver = self._open[0]

        async def run() -> T:
            return driver.call(lambda: work(self.server.local))

        return self._loop.run(run())

    def stop(self) -> None:
        """See programs out and close the store."""
        if self._open is not None:
            driver, listener = self._open
            self._open = None
            self._loop.run(listener.stop("the service stops"))
            self._loop.run(driver.close())

    def close(self) -> None:
        """End it for good."""
        self.stop()
        self._loop.close()
        shutil.rmtree(self.folder)


class Relay:
    """A line to a service, which can be cut, and on which answers can be lost."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.path = service.folder / "relay"
        self.address = f"unix:{self.path}"
        self._writers: list[asyncio.StreamWriter] = []
        self._is_mute = False
        self._loop = Loop()
        self._server = self._loop.run(asyncio.start_unix_server(self._connected, self.path))

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            to = await asyncio.open_unix_connection(self._service.path)
        except OSError:
            writer.close()
            return
        self._writers += (writer, to[1])
        await asyncio.gather(
            self._carry(reader, to[1], answers=False), self._carry(to[0], writer, answers=True)
        )

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                if not (answers and self._is_mute):
                    writer.write(data)
                    await writer.drain()
        writer.close()

    def mute(self) -> None:
        """Let what is asked for get through, and no answer come back, until the line is cut."""
        self._is_mute = True

    def cut(self) -> None:
        """End all connections, without a word; on new ones no answer is lost."""
        self._loop.run(self._cut())

    async def _cut(self) -> None:
        writers, self._writers = self._writers, []
        for writer in writers:
            writer.transport.abort()
        self._is_mute = False

    def close(self) -> None:
        """End it for good."""
        self._loop.run(self._close())
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        await self._cut()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.wait(tasks, timeout=PATIENCE) if tasks else None


class Clients(Protocol):
    """How a program connects, whichever API it uses."""

    def connect(self, address: str, **options: Any) -> openmsmq.Manager:
        """Connect to a service."""
        ...

    def close(self) -> None:
        """Close every manager that is still open."""
        ...


class SyncClients:
    """Programs with the sync API."""

    def __init__(self) -> None:
        self._opened: list[openmsmq.Manager] = []

    def connect(self, address: str, **options: Any) -> openmsmq.Manager:
        made = openmsmq.connect(address, **options)
        self._opened.append(made)
        return made

    def close(self) -> None:
        for manager in self._opened:
            manager.close()


class AsyncClients(AsyncApi):
    """Programs with the async API."""

    def connect(self, address: str, **options: Any) -> openmsmq.Manager:
        async def connected() -> aio.Manager:
            return await aio.connect(address, **options)

        return self._kept(self.run(connected()))
