"""OpenMSMQ for asyncio: the names of `openmsmq`, with `await`."""

from __future__ import annotations

import os
import ssl
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING

from openmsmq.client._async.cursor import Cursor
from openmsmq.client._async.manager import Manager, Queue
from openmsmq.client._async.recovery import Recovered, recover
from openmsmq.client._async.remote import Remote
from openmsmq.client._async.stream import Stream
from openmsmq.client._async.subscription import Subscription
from openmsmq.client._async.transaction import Transaction, TwoPhase
from openmsmq.client._async.unit import Unit, distributed
from openmsmq.client.address import Address
from openmsmq.client.embedded.platform import require_platform

if TYPE_CHECKING:
    from openmsmq.client.management._async.management import RemoteManagement

__all__ = [
    "Cursor",
    "Manager",
    "Queue",
    "Recovered",
    "Stream",
    "Subscription",
    "Transaction",
    "TwoPhase",
    "Unit",
    "connect",
    "connect_dependent",
    "connect_management",
    "connect_remote",
    "distributed",
    "open",
    "recover",
]


class Opening:
    """A manager about to be opened: `await` it, or use it with `async with`."""

    def __init__(self, open: Callable[[], Awaitable[Manager]]) -> None:
        self._open = open
        self._manager: Manager | None = None

    def __await__(self) -> Generator[object, None, Manager]:
        return self._open().__await__()

    async def __aenter__(self) -> Manager:
        self._manager = await self._open()
        return self._manager

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
    `UnsupportedOperation` where the platform cannot do it; `connect` works everywhere.
    """

    async def opened() -> Manager:
        require_platform()
        from openmsmq.client.embedded._async.embedded import open_embedded

        return Manager(open_embedded(directory, name, quota))

    return Opening(opened)


def connect(
    address: str = "127.0.0.1:1811",
    *,
    token: str = "",
    tls: ssl.SSLContext | str | bool | None = None,
    timeout: float = 30.0,
    reconnect: float = 30.0,
) -> Opening:
    """Connect to a service: `async with aio.connect(ADDRESS) as manager`, or `await` it."""
    found = Address.parse(address, token=token, tls=tls)

    async def connected() -> Manager:
        remote = Remote(found, patience=timeout, reconnect=reconnect)
        await remote.connect()
        return Manager(remote)

    return Opening(connected)


def connect_remote(
    host: str,
    *,
    port: int = 2103,
    user: str = "",
    password: str = "",
    auth: str = "ntlm",
    level: str = "privacy",
    computer: str = "",
    mapper_port: int = 135,
    timeout: float = 30.0,
) -> Opening:
    """Read the queues of a manager elsewhere, with the options of `openmsmq.connect_remote`."""
    from openmsmq.client.remote_read._async.backend import RpcBackend
    from openmsmq.client.remote_read.place import RemotePlace

    place = RemotePlace.of(
        host,
        port=port,
        computer=computer,
        user=user,
        password=password,
        auth=auth,
        level=level,
        mapper_port=mapper_port,
        timeout=timeout,
    )

    async def connected() -> Manager:
        backend = RpcBackend(place)
        await backend.connect()
        return Manager(backend)

    return Opening(connected)


def connect_dependent(
    host: str,
    *,
    port: int = 2103,
    user: str = "",
    password: str = "",
    auth: str = "ntlm",
    level: str = "privacy",
    computer: str = "",
    mapper_port: int = 135,
    timeout: float = 30.0,
) -> Opening:
    """Use the queues of a supporting server, with the options of `openmsmq.connect_dependent`."""
    from openmsmq.client.dependent._async.backend import DependentBackend
    from openmsmq.client.remote_read.place import RemotePlace

    place = RemotePlace.of(
        host,
        port=port,
        computer=computer,
        user=user,
        password=password,
        auth=auth,
        level=level,
        mapper_port=mapper_port,
        timeout=timeout,
    )

    async def connected() -> Manager:
        backend = DependentBackend(place)
        await backend.connect()
        return Manager(backend)

    return Opening(connected)


async def connect_management(
    host: str,
    *,
    port: int = 0,
    user: str = "",
    password: str = "",
    auth: str = "ntlm",
    level: str = "privacy",
    computer: str = "",
    mapper_port: int = 135,
    timeout: float = 30.0,
) -> RemoteManagement:
    """Manage a manager elsewhere, with the options of `openmsmq.connect_management`."""
    from openmsmq.client.management._async.management import RemoteManagement
    from openmsmq.client.remote_read.place import RemotePlace

    place = RemotePlace.of(
        host,
        port=port,
        computer=computer,
        user=user,
        password=password,
        auth=auth,
        level=level,
        mapper_port=mapper_port,
        timeout=timeout,
    )
    management = RemoteManagement(place)
    await management.connect()
    return management
