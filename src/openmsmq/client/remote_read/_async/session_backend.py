"""A queue that someone else has opened, read for them as a supporting server does.

([MS-MQMP] 3.1.4.17, [MS-MQQP] 3.2.4)
"""

from __future__ import annotations

from uuid import UUID

from openmsmq.client.backend import CursorHandle
from openmsmq.client.remote_read._async.backend import RpcBackend, RpcCursor, RpcHandle
from openmsmq.client.remote_read._async.old_association import OldAssociation
from openmsmq.client.remote_read.messages import check_result
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import ServiceNotAvailable
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.stubs import ReadOpnum
from openmsmq.names.base import FormatName
from openmsmq.types.access import Mode


class SessionBackend(RpcBackend):
    """Reads one queue by older remote read; it cannot be opened again."""

    def __init__(self, place: RemotePlace, identity: UUID, *, connections_max: int) -> None:
        """`identity` is that of the queue manager which reads."""
        super().__init__(place, connections_max=connections_max)
        self._sessions = OldAssociation(place, connections_max, identity)
        self._calls = self._sessions

    async def take(self, name: FormatName, mode: Mode, numbers: tuple[int, int, int]) -> RpcHandle:
        """RemoteQMOpenQueue ([MS-MQQP] 3.2.4.1) with the numbers of the one who opened it."""
        handle = RpcHandle(str(name), mode, name)
        handle.context = await self._sessions.open_session(*numbers)
        handle.generation = self._sessions.generation
        return handle

    async def _open(self, handle: RpcHandle) -> None:
        """Only the one who has opened the queue has the right to: it is lost."""
        raise ServiceNotAvailable("the connection was lost, and with it the queue")

    async def close_cursor(self, cursor: CursorHandle) -> None:
        """RemoteQMCloseCursor, whose result counts ([MS-MQMP] 3.1.4.19)."""
        assert isinstance(cursor, RpcCursor)
        found = await self._context(cursor.handle)
        arguments = stubs.CursorContext(found.context, cursor.number)
        done = await self._calls.call(ReadOpnum.CLOSE_CURSOR, arguments, stubs.Status32)
        check_result(done.result)
