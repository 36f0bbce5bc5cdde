"""OpenMSMQ for asyncio: the names of `openmsmq`, with `await`."""

from __future__ import annotations

import os
from collections.abc import Generator
from types import TracebackType

from openmsmq.client.aio import Cursor, Manager, Queue, Transaction
from openmsmq.manager.drivers import LoopDriver
from openmsmq.manager.opening import open_directory

__all__ = ["Cursor", "Manager", "Queue", "Transaction", "open"]


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
        self._manager = Manager(local, LoopDriver(local.core))
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
