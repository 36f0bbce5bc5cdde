"""Queues of other computers that are read for dependent clients, by older remote read.

A client has opened such a queue with its own login; this manager reads it with the login that it
has for that computer ([MS-MQQP] 3.2.4).
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from openmsmq.client.remote_read._async.backend import RpcCursor, RpcHandle
from openmsmq.client.remote_read._async.session_backend import SessionBackend
from openmsmq.engine.commit.future import Future
from openmsmq.errors import InvalidHandle, MQError, RemoteMachineNotAvailable
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.stubs import INFINITE_MS
from openmsmq.interfaces.supporting_server.queue_proxies import (
    QueueElsewhere,
    RemoteMessage,
    RemoteNumbers,
)
from openmsmq.names.path import PathName
from openmsmq.service.read_proxy import ManagersElsewhere, ProxiedReads
from openmsmq.types.access import Mode
from openmsmq.types.read import Read

PEEKS: Final = {ReadAction.PEEK_CURRENT: False, ReadAction.PEEK_NEXT: True}
"Whether a peek goes on to the following message."


class SupportedQueues:
    """Takes over queues that clients have opened (`QueuesElsewhere`)."""

    def __init__(self, managers: ManagersElsewhere, identity: UUID) -> None:
        """`identity` is that of this manager, by which others know it."""
        self._managers = managers
        self._identity = identity

    def open(self, path: PathName, mode: Mode, numbers: RemoteNumbers) -> Future[QueueElsewhere]:
        """RemoteQMOpenQueue at the computer of a queue, if it is configured."""
        if not self._managers.knows(path.computer):
            raise RemoteMachineNotAvailable(
                f"{path.computer}: no login for it is configured (rpc.managers)"
            )
        calls = self._managers.session()
        backend = calls.connect_session(path.computer, self._identity)

        async def take() -> QueueElsewhere:
            try:
                handle = await backend.take(path.to_direct(), mode, numbers)
            except BaseException:
                calls.close()
                raise
            return SupportedQueue(calls, backend, handle)

        return calls.run(take)


class SupportedQueue:
    """One of them, with connections of its own (`QueueElsewhere`)."""

    def __init__(self, calls: ProxiedReads, backend: SessionBackend, handle: RpcHandle) -> None:
        self._calls = calls
        self._backend = backend
        self._handle = handle
        self._cursors: dict[int, RpcCursor] = {}

    def read(self, action: ReadAction, timeout_ms: int, cursor: int) -> Future[RemoteMessage]:
        """RemoteQMStartReceive or its newer form; it waits there."""
        timeout = None if timeout_ms == INFINITE_MS else timeout_ms / 1000
        asked = Read(take=action.is_receive, timeout=timeout, following=PEEKS.get(action, False))
        place, held = self._cursors.get(cursor), []

        async def read() -> RemoteMessage:
            request, message = await self._backend.start_held(self._handle, asked, place)
            held.append(request)
            return RemoteMessage(request, message.packet, int(message.arrived_time.timestamp()))

        def undo() -> None:
            for request in held:
                if action.is_receive:
                    self.end(request, remove=False)

        return self._calls.run(read, undo)

    def end(self, request: int, *, remove: bool) -> Future[None]:
        """RemoteQMEndReceive."""

        async def end() -> None:
            await self._backend.end_held(self._handle, request, remove=remove)

        return self._calls.run(end)

    def cancel(self, read: Future[RemoteMessage], error: MQError) -> bool:
        """RemoteQMCancelReceive; who waits for the message learns of it at once."""
        return self._calls.cancel(read, error)

    def open_cursor(self) -> Future[int]:
        """R_QMCreateRemoteCursor."""

        async def make() -> int:
            made = await self._backend.open_cursor(self._handle)
            self._cursors[made.number] = made
            return made.number

        return self._calls.run(make)

    def close_cursor(self, cursor: int) -> Future[None]:
        """RemoteQMCloseCursor."""
        found = self._cursors.pop(cursor, None)

        async def close() -> None:
            if found is None:
                raise InvalidHandle(f"cursor {cursor} is not open")
            await self._backend.close_cursor(found)

        return self._calls.run(close)

    def purge(self) -> Future[int]:
        """RemoteQMPurgeQueue."""

        async def purge() -> int:
            return await self._backend.purge(self._handle)

        return self._calls.run(purge)

    def close(self) -> None:
        """RemoteQMCloseQueue, then the connections are closed in any case."""

        async def close() -> None:
            await self._backend.close_queue(self._handle)

        closing = self._calls.run(close)
        closing.on_done = self._calls.close
