"""What administrators do with an open queue: its permissions, and the transfer of its messages."""

from __future__ import annotations

from openmsmq.client._async.backend import Backend
from openmsmq.client._async.cursor import Closable
from openmsmq.client.backend import Handle
from openmsmq.errors import InvalidHandle


class QueueControl(Closable):
    """The part of an open queue that controls it."""

    def __init__(self, backend: Backend, handle: Handle) -> None:
        self._backend = backend
        self._handle = handle
        self._closed = False

    async def pause(self) -> None:
        """Let nothing be sent from this outgoing queue until it is resumed."""
        self._require_open()
        await self._backend.pause(self._handle)

    async def resume(self) -> None:
        """Undo `pause`."""
        self._require_open()
        await self._backend.resume(self._handle)

    async def retry(self) -> None:
        """Let the next attempt to send from this outgoing queue be now."""
        self._require_open()
        await self._backend.retry(self._handle)

    async def permissions(self) -> str:
        """Who may do what with the queue: its security descriptor in SDDL."""
        self._require_open()
        return await self._backend.permissions(self._handle)

    async def set_permissions(self, sddl: str) -> None:
        """Give the queue other permissions; without an owner in them the owner stays."""
        self._require_open()
        await self._backend.set_permissions(self._handle, sddl)

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidHandle("the queue is closed")
