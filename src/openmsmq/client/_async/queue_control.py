"""What administrators do with an open queue: state, permissions, transfer, messages sent again."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from openmsmq.client._async.backend import Backend
from openmsmq.client._async.cursor import Closable
from openmsmq.client.backend import Handle
from openmsmq.errors import InvalidHandle, MessageNotFound
from openmsmq.types.access import Access
from openmsmq.types.delivery import RedirectOptions
from openmsmq.types.ids import SentId
from openmsmq.types.queues import QueueInfo
from openmsmq.types.read import Read, Seek
from openmsmq.types.received import ReceivedMessage


class QueueControl(Closable):
    """The part of an open queue that controls it."""

    def __init__(self, backend: Backend, handle: Handle) -> None:
        self._backend = backend
        self._handle = handle
        self._closed = False

    async def info(self) -> QueueInfo:
        """Its properties and how much is in it."""
        return await self._backend.queue_info(self._handle)

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

    async def purge(self) -> int:
        """Remove all messages; how many there were."""
        self._require_open()
        return await self._backend.purge(self._handle)

    async def permissions(self) -> str:
        """Who may do what with the queue: its security descriptor in SDDL."""
        self._require_open()
        return await self._backend.permissions(self._handle)

    async def set_permissions(self, sddl: str) -> None:
        """Give the queue other permissions; without an owner in them the owner stays."""
        self._require_open()
        await self._backend.set_permissions(self._handle, sddl)

    async def peek_back(self, count: int, *, before: int | None = None) -> list[ReceivedMessage]:
        """Look at up to `count` messages from the end of the queue on, the last one first.

        With `before`, only at those whose lookup identifier is less. It never waits.
        """
        self._require(Access.PEEK)
        seek = Seek.LAST if before is None else Seek.AHEAD
        read = Read(take=False, count=count, timeout=0, lookup_id=before or 0, seek=seek)
        try:
            return await self._backend.read(self._handle, read, None, None)
        except MessageNotFound:
            return []

    async def redirect(
        self,
        lookup_ids: Iterable[int],
        target: QueueControl,
        *,
        copy: bool = False,
        lifetime: float | None = None,
    ) -> dict[int, SentId]:
        """Send messages of this queue again to another one, and remove them here; or `copy` them.

        One commit does both, so that no message is lost or doubled; the histories of old and new
        name each other. Any two queues will do; `move` keeps the identity of a message, but only
        knows the subqueues of its queue. `lifetime` is what the new ones have: seconds, `math.inf`
        for ever, `None` the old one. The answer has the new ids by old lookup identifiers; messages
        that are gone or held by readers are left out.
        """
        self._require_redirect(Access.PEEK if copy else Access.RECEIVE)
        target._require_redirect(Access.SEND)
        seconds = None if lifetime is None or lifetime == inf else int(lifetime)
        options = RedirectOptions(copy, lifetime is None, seconds)
        return await self._backend.redirect(self._handle, list(lookup_ids), target._handle, options)

    def _require_redirect(self, access: Access) -> None:
        """Refuse what the queue is not open for; who operates may move what the manager lets."""
        self._require(Access.OPERATE if Access.OPERATE in self.access else access)

    @property
    def access(self) -> Access:
        """What the queue is open for, which may be less than was asked for."""
        return self._handle.mode.access

    def _require(self, access: Access) -> None:
        self._require_open()
        self._handle.require(access)

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidHandle("the queue is closed")
