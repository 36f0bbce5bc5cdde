"""OpenMSMQ for asyncio: the names of `openmsmq`, with `await`."""

from __future__ import annotations

import os
import ssl
from collections.abc import Generator
from types import TracebackType

from openmsmq.client.address import Address
from openmsmq.client.aio import Cursor, Manager, Queue
from openmsmq.client.embedded_aio import Embedded
from openmsmq.client.remote_aio import Remote
from openmsmq.client.stream_aio import Stream
from openmsmq.client.transaction_aio import Transaction, TwoPhase
from openmsmq.manager.drivers import LoopDriver
from openmsmq.manager.opening import open_directory

__all__ = ["Cursor", "Manager", "Queue", "Stream", "Transaction", "TwoPhase", "connect", "open"]


class Opening:
    """A manager about to be opened: `await` it, or use it with `async with`."""

    def __init__(
        self, directory: str | os.PathLike[str], name: str | None, quota: int | None
    ) -> None:
        self._directory = directory
        self._name = name
        self._quota = quota
        self._manager: Manager | None = None

    async def _open(self) -> Manager:
        local = open_directory(self._directory, self._name, self._quota)
        self._manager = Manager(Embedded(local, LoopDriver(local.core, local.tick)))
        return self._manager

    def __await__(self) -> Generator[object, None, Manager]:
        return self._open().__await__()

    async def __aenter__(self) -> Manager:
        return await self._open()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._manager is not None
        await self._manager.close()


def open(
    directory: str | os.PathLike[str], *, name: str | None = None, quota: int | None = None
) -> Opening:
    """Open a directory as a queue manager of this process, making it if it is not there.

    `name` is what other computers call this one; `quota` limits all its messages, in KiB.
    """
    return Opening(directory, name, quota)


class Connecting:
    """A service about to be connected to: `await` it, or use it with `async with`."""

    def __init__(self, address: Address, timeout: float, reconnect: float) -> None:
        self._remote = Remote(address, patience=timeout, reconnect=reconnect)

    async def _connect(self) -> Manager:
        await self._remote.connect()
        return Manager(self._remote)

    def __await__(self) -> Generator[object, None, Manager]:
        return self._connect().__await__()

    async def __aenter__(self) -> Manager:
        return await self._connect()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._remote.close()


def connect(
    address: str = "127.0.0.1:1811",
    *,
    token: str = "",
    tls: ssl.SSLContext | str | bool | None = None,
    timeout: float = 30.0,
    reconnect: float = 30.0,
) -> Connecting:
    """Connect to a service: `async with aio.connect(ADDRESS) as manager`, or `await` it."""
    return Connecting(Address.parse(address, token=token, tls=tls), timeout, reconnect)
