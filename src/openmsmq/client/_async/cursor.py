"""A place in a queue."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from openmsmq.client._async.backend import Backend
from openmsmq.client._async.transaction import Transaction
from openmsmq.client.backend import CursorHandle, Handle
from openmsmq.types.read import Read
from openmsmq.types.received import ReceivedMessage


class CursorRead(Protocol):
    """How a queue reads, with its own checks."""

    async def __call__(
        self, read: Read, transaction: Transaction | None, cursor: CursorHandle, /
    ) -> list[ReceivedMessage]:
        """Read with a cursor."""
        ...


class Closable:
    """What `async with` closes at the end."""

    async def close(self) -> None:
        """Release it."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


class Cursor(Closable):
    """A place in a queue; reads with it go on from there."""

    def __init__(self, backend: Backend, handle: Handle, read: CursorRead) -> None:
        self._backend = backend
        self._handle = handle
        self._read_with = read
        self._cursor: CursorHandle | None = None

    async def peek(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Look at the message the cursor is on, or at the first one after it."""
        return await self._read(Read(take=False, timeout=timeout), transaction)

    async def next(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Go on to the next message and look at it."""
        return await self._read(Read(take=False, timeout=timeout, following=True), transaction)

    async def receive(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Take the message the cursor is on, or the first one after it."""
        return await self._read(Read(take=True, timeout=timeout), transaction)

    async def _read(self, read: Read, transaction: Transaction | None) -> ReceivedMessage:
        return (await self._read_with(read, transaction, await self._opened()))[0]

    async def _opened(self) -> CursorHandle:
        if self._cursor is None:
            self._cursor = await self._backend.open_cursor(self._handle)
        return self._cursor

    async def close(self) -> None:
        """Close the cursor; a read that waits with it is cancelled."""
        await self._backend.close_cursor(await self._opened())
