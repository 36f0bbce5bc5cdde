"""Both APIs behind one face, so that one suite holds them to the same contract."""

from __future__ import annotations

import asyncio
import inspect
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from types import MethodType
from typing import Any, Final, Protocol, TypeVar, cast

import openmsmq
from openmsmq import aio
from openmsmq.access.tokens import Tokens
from openmsmq.app_server.listener import AppListener
from openmsmq.app_server.server import AppServer
from openmsmq.client.embedded._async import embedded as embedded_aio
from openmsmq.client.embedded._sync import embedded as embedded_sync
from openmsmq.engine.manager import QueueManager
from openmsmq.runtime.drivers import LoopDriver, ThreadDriver
from openmsmq.runtime.startup import open_directory
from openmsmq.service.configuration import Config
from openmsmq.service.metrics.samples import ServiceMetrics
from openmsmq.transports.receipts import RECEIPTS

T = TypeVar("T")
Kept = TypeVar("Kept", openmsmq.Manager, openmsmq.RemoteManagement)
PATIENCE: Final = 20.0
"Seconds after which a test has failed."
_WRAPPED = (
    aio.Manager,
    aio.Queue,
    aio.Cursor,
    aio.Stream,
    aio.Subscription,
    aio.Transaction,
)


def start(call: Callable[[], T]) -> Future[T]:
    """Make a call in a thread of its own, which no one has to wait for."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return answer


class Api(Protocol):
    """What the suite needs: managers that look like those of the sync API."""

    def open(
        self, directory: Path, *, name: str | None = None, quota: int | None = None
    ) -> openmsmq.Manager:
        """Open a directory."""
        ...

    def over(self, local: QueueManager) -> openmsmq.Manager:
        """A manager over rules and a store that the test has made."""
        ...

    def connect_remote(self, host: str, **options: Any) -> openmsmq.Manager:
        """A manager elsewhere, over RPC."""
        ...

    def connect_dependent(self, host: str, **options: Any) -> openmsmq.Manager:
        """A supporting server, used without a manager of one's own."""
        ...

    def connect_management(self, host: str, **options: Any) -> openmsmq.RemoteManagement:
        """The client that manages a manager elsewhere, over RPC."""
        ...

    def distributed(
        self, manager: openmsmq.Manager, *others: Any, patience: float = 0
    ) -> openmsmq.Unit:
        """A unit over managers and connections of `tests.strategies.databases`."""
        ...

    def recover(self, manager: openmsmq.Manager, *others: Any) -> list[tuple[str, str]]:
        """Participants that were found, and their outcomes."""
        ...

    def close(self) -> None:
        """Close every manager that is still open."""
        ...


class SyncApi:
    """The sync API as it is."""

    def __init__(self) -> None:
        self._opened: list[openmsmq.Manager | openmsmq.RemoteManagement] = []

    def open(
        self, directory: Path, *, name: str | None = None, quota: int | None = None
    ) -> openmsmq.Manager:
        return self._kept(openmsmq.open(directory, name=name, quota=quota))

    def over(self, local: QueueManager) -> openmsmq.Manager:
        driver = ThreadDriver(local, local.clock)
        return self._kept(openmsmq.Manager(embedded_sync.Embedded(local, driver)))

    def connect_remote(self, host: str, **options: Any) -> openmsmq.Manager:
        return self._kept(openmsmq.connect_remote(host, **options))

    def connect_dependent(self, host: str, **options: Any) -> openmsmq.Manager:
        return self._kept(openmsmq.connect_dependent(host, **options))

    def connect_management(self, host: str, **options: Any) -> openmsmq.RemoteManagement:
        return self._kept(openmsmq.connect_management(host, **options))

    def distributed(
        self, manager: openmsmq.Manager, *others: Any, patience: float = 0
    ) -> openmsmq.Unit:
        return openmsmq.distributed(manager, *others, patience=patience)

    def recover(self, manager: openmsmq.Manager, *others: Any) -> list[tuple[str, str]]:
        found = openmsmq.recover(manager, *others)
        return [(one.participant, one.outcome) for one in found]

    def _kept(self, made: Kept) -> Kept:
        self._opened.append(made)
        return made

    def close(self) -> None:
        for manager in self._opened:
            manager.close()


class Served:
    """A service in a thread of its own, over rules and a store that the test has made."""

    def __init__(self, local: QueueManager) -> None:
        self.directory = Path(tempfile.mkdtemp())
        self.address = f"unix:{self.directory / 'app'}"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._driver, self._listener = self._run(self._start(local))

    async def _start(self, local: QueueManager) -> tuple[LoopDriver, AppListener]:
        driver = LoopDriver(local, local.clock)
        config = Config(data=self.directory, app_port=None, app_socket=self.directory / "app")
        tokens, metrics = Tokens(self.directory), ServiceMetrics()
        listener = AppListener(AppServer(local, driver, config, tokens, metrics=metrics))
        await listener.start()
        return driver, listener

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._run(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(PATIENCE)
            self._loop.close()
            shutil.rmtree(self.directory)

    async def _stop(self) -> None:
        await self._listener.stop("the test is over")
        await self._driver.close()


class ServiceApi(SyncApi):
    """The sync API over a socket; to close a manager ends its service."""

    def open(
        self, directory: Path, *, name: str | None = None, quota: int | None = None
    ) -> openmsmq.Manager:
        return self.over(open_directory(directory, name, quota, receipts=RECEIPTS))

    def over(self, local: QueueManager) -> openmsmq.Manager:
        served = Served(local)
        manager = openmsmq.connect(served.address, reconnect=0)
        close = manager.close

        def close_both() -> None:
            close()
            served.stop()

        manager.close = close_both  # type: ignore[method-assign]
        return self._kept(manager)


class AsyncApi:
    """The async API; its event loop runs in a thread, so that any thread may call and wait."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._opened: list[Any] = []

    def open(
        self, directory: Path, *, name: str | None = None, quota: int | None = None
    ) -> openmsmq.Manager:
        async def opened() -> aio.Manager:
            return await aio.open(directory, name=name, quota=quota)

        return self._kept(self.run(opened()))

    def over(self, local: QueueManager) -> openmsmq.Manager:
        driver = LoopDriver(local, local.clock)
        return self._kept(aio.Manager(embedded_aio.Embedded(local, driver)))

    def connect_remote(self, host: str, **options: Any) -> openmsmq.Manager:
        async def connected() -> aio.Manager:
            return await aio.connect_remote(host, **options)

        return self._kept(self.run(connected()))

    def connect_dependent(self, host: str, **options: Any) -> openmsmq.Manager:
        async def connected() -> aio.Manager:
            return await aio.connect_dependent(host, **options)

        return self._kept(self.run(connected()))

    def connect_management(self, host: str, **options: Any) -> openmsmq.RemoteManagement:
        made = self.run(aio.connect_management(host, **options))
        self._opened.append(made)
        return cast(openmsmq.RemoteManagement, _Proxy(made, self))

    def distributed(
        self, manager: openmsmq.Manager, *others: Any, patience: float = 0
    ) -> openmsmq.Unit:
        plain = [_asynchronous(one) for one in (manager, *others)]
        return cast(openmsmq.Unit, _Proxy(aio.distributed(*plain, patience=patience), self))

    def recover(self, manager: openmsmq.Manager, *others: Any) -> list[tuple[str, str]]:
        plain = [_asynchronous(one) for one in (manager, *others)]
        return [(one.participant, one.outcome) for one in self.run(aio.recover(*plain))]

    def _kept(self, manager: aio.Manager) -> openmsmq.Manager:
        self._opened.append(manager)
        return cast(openmsmq.Manager, _Proxy(manager, self))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What a coroutine returns, run by the loop."""
        answer: Future[T] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return answer.result(PATIENCE)

    def close(self) -> None:
        for manager in self._opened:
            self.run(manager.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()


class _Proxy:
    """An object of the async API whose calls are made by its loop and waited for."""

    def __init__(self, target: object, api: AsyncApi) -> None:
        self._target = target
        self._api = api

    def __getattr__(self, name: str) -> Any:
        async def get() -> Any:
            return getattr(self._target, name)

        found = self._api.run(get())
        return self._caller(found) if inspect.ismethod(found) else found

    def __enter__(self) -> Any:
        self._caller(getattr(self._target, "__aenter__"))()  # noqa: B009  # no such static name
        return self

    def __exit__(self, *details: object) -> None:
        self._caller(getattr(self._target, "__aexit__"))(*details)  # noqa: B009

    def __getitem__(self, key: object) -> Any:
        return self._caller(getattr(self._target, "__getitem__"))(key)  # noqa: B009

    def __iter__(self) -> Any:
        self._caller(getattr(self._target, "__aiter__"))()  # noqa: B009
        return self

    def __next__(self) -> Any:
        try:
            return self._caller(getattr(self._target, "__anext__"))()  # noqa: B009
        except StopAsyncIteration:
            raise StopIteration from None

    def _caller(self, method: Any) -> Any:
        async def call(*values: Any, **named: Any) -> Any:
            found = method(*values, **named)
            return await found if inspect.isawaitable(found) else found

        def wait(*values: Any, **named: Any) -> Any:
            plain = [_unwrapped(value) for value in values]
            given = {name: _unwrapped(value) for name, value in named.items()}
            found = self._api.run(call(*plain, **given))
            return _Proxy(found, self._api) if isinstance(found, _WRAPPED) else found

        return wait


def _unwrapped(value: object) -> object:
    return value._target if isinstance(value, _Proxy) else value


def _asynchronous(value: object) -> Any:
    return getattr(_unwrapped(value), "asynchronous", _unwrapped(value))


class AsyncServiceApi(AsyncApi):
    """The async API over a socket; to close a manager ends its service."""

    def open(
        self, directory: Path, *, name: str | None = None, quota: int | None = None
    ) -> openmsmq.Manager:
        return self.over(open_directory(directory, name, quota, receipts=RECEIPTS))

    def over(self, local: QueueManager) -> openmsmq.Manager:
        served = Served(local)

        async def connected() -> aio.Manager:
            return await aio.connect(served.address, reconnect=0)

        manager = self.run(connected())
        close = manager.close

        async def close_both(_: aio.Manager) -> None:
            await close()
            await asyncio.get_running_loop().run_in_executor(None, served.stop)

        manager.close = MethodType(close_both, manager)  # type: ignore[method-assign]
        return self._kept(manager)
