"""Written from `_async/cursor.py` by `make fix`: change that file, not this one."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from openmsmq.client._sync.transaction import Transaction
from openmsmq.client.backend import CursorHandle
from openmsmq.types.read import Read
from openmsmq.types.received import ReceivedMessage

if TYPE_CHECKING:
    from openmsmq.client._sync.manager import Queue


class Closable:
    """What `with` closes at the end."""

    def close(self) -> None:
        """Let go of it."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Cursor(Closable):
    """A place in a queue; reads with it go on from there."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._cursor: CursorHandle | None = None

    def peek(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Look at the message the cursor is on, or at the first one after it."""
        return self._read(Read(take=False, timeout=timeout), transaction)

    def next(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Go on to the next message and look at it."""
        return self._read(Read(take=False, timeout=timeout, following=True), transaction)

    def receive(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Take the message the cursor is on, or the first one after it."""
        return self._read(Read(take=True, timeout=timeout), transaction)

    def _read(self, read: Read, transaction: Transaction | None) -> ReceivedMessage:
        queue = self._queue
        return (queue._read(read, transaction, self._opened()))[0]

    def _opened(self) -> CursorHandle:
        if self._cursor is None:
            self._cursor = self._queue._backend.open_cursor(self._queue._handle)
        return self._cursor

    def close(self) -> None:
        """Close the cursor; a read that waits with it is cancelled."""
        self._queue._backend.close_cursor(self._opened())
