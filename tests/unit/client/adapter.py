"""Both APIs behind one face, so that one suite holds them to the same contract."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, cast

import openmsmq
from openmsmq import aio
from openmsmq.client import aio as aio_client
from openmsmq.manager.drivers import LoopDriver, ThreadDriver
from openmsmq.manager.local import LocalManager

T = TypeVar("T")
PATIENCE: Final = 20.0
"Seconds after which a test has failed."
_WRAPPED = (aio_client.Manager, aio_client.Queue, aio_client.Cursor, aio_client.Transaction)


def start(call: Callable[[], T]) -> Future[T]:
    """Make a call in a thread of its own, which nobody has to wait for."""
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

    def over(self, local: LocalManager) -> openmsmq.Manager:
        """A manager over rules and a store that the test has made."""
        ...

    def close(self) -> None:
        """Close every manager that is still open."""
        ...


class SyncApi:
    """The sync API as it is."""

    def __init__(self) -> None:
        self._opened: list[openmsmq.Manager] = []

    def open(
        self, directory: Path, *, name: str | None = None, quota: int | None = None
    ) -> openmsmq.Manager:
        return self._kept(openmsmq.open(directory, name=name, quota=quota))

    def over(self, local: LocalManager) -> openmsmq.Manager:
        return self._kept(openmsmq.Manager(local, ThreadDriver(local.core)))

    def _kept(self, manager: openmsmq.Manager) -> openmsmq.Manager:
        self._opened.append(manager)
        return manager

    def close(self) -> None:
        for manager in self._opened:
            manager.close()


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

    def over(self, local: LocalManager) -> openmsmq.Manager:
        return self._kept(aio.Manager(local, LoopDriver(local.core)))

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
