"""OpenMSMQ: Microsoft Message Queuing for everyone who is not on Windows.

with openmsmq.open("data/") as manager:
    orders = manager.create_queue("orders")
    orders.send(Message(b"...", label="order 1"))
    message = orders.receive(timeout=5.0)
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import ssl

    from openmsmq.client._sync.cursor import Cursor
    from openmsmq.client._sync.manager import Manager, Queue
    from openmsmq.client._sync.recovery import Recovered, recover
    from openmsmq.client._sync.stream import Stream
    from openmsmq.client._sync.subscription import Subscription
    from openmsmq.client._sync.transaction import Transaction, TwoPhase
    from openmsmq.client._sync.unit import Unit, distributed
    from openmsmq.client.inbox import Inbox
    from openmsmq.client.management._sync.management import RemoteManagement
    from openmsmq.errors import (
        AccessDenied,
        ConnectionLost,
        MQError,
        QueueExists,
        QueueNotFound,
        ReceiveTimeout,
        ServiceNotAvailable,
        TokenRefused,
    )
    from openmsmq.packet.signer import MessageSigner
    from openmsmq.properties.message import Acknowledge
    from openmsmq.types.access import Access, Share
    from openmsmq.types.history import HistoryEvent
    from openmsmq.types.ids import SentId
    from openmsmq.types.message import Message
    from openmsmq.types.outgoing import OutgoingInfo
    from openmsmq.types.peers import MulticastInfo, PeerInfo
    from openmsmq.types.queues import QueueInfo
    from openmsmq.types.read import Seek
    from openmsmq.types.received import ReceivedMessage
    from openmsmq.types.settings import Settings
    from openmsmq.types.subscriptions import SubscriptionInfo
    from openmsmq.types.units import UnitInfo

__version__ = "0.1.0"

__all__ = [
    "Access",
    "AccessDenied",
    "Acknowledge",
    "ConnectionLost",
    "Cursor",
    "HistoryEvent",
    "Inbox",
    "MQError",
    "Manager",
    "Message",
    "MessageSigner",
    "MulticastInfo",
    "OutgoingInfo",
    "PeerInfo",
    "Queue",
    "QueueExists",
    "QueueInfo",
    "QueueNotFound",
    "ReceiveTimeout",
    "ReceivedMessage",
    "Recovered",
    "RemoteManagement",
    "Seek",
    "SentId",
    "ServiceNotAvailable",
    "Settings",
    "Share",
    "Stream",
    "Subscription",
    "SubscriptionInfo",
    "TokenRefused",
    "Transaction",
    "TwoPhase",
    "Unit",
    "UnitInfo",
    "__version__",
    "connect",
    "connect_dependent",
    "connect_management",
    "connect_remote",
    "distributed",
    "open",
    "recover",
]

_HOMES: Final = {
    "Access": "types.access",
    "AccessDenied": "errors",
    "Acknowledge": "properties.message",
    "ConnectionLost": "errors",
    "Cursor": "client._sync.cursor",
    "HistoryEvent": "types.history",
    "Inbox": "client.inbox",
    "MQError": "errors",
    "Manager": "client._sync.manager",
    "Message": "types.message",
    "MessageSigner": "packet.signer",
    "MulticastInfo": "types.peers",
    "OutgoingInfo": "types.outgoing",
    "PeerInfo": "types.peers",
    "Queue": "client._sync.manager",
    "QueueExists": "errors",
    "QueueInfo": "types.queues",
    "QueueNotFound": "errors",
    "ReceiveTimeout": "errors",
    "ReceivedMessage": "types.received",
    "Recovered": "client._sync.recovery",
    "RemoteManagement": "client.management._sync.management",
    "Seek": "types.read",
    "SentId": "types.ids",
    "ServiceNotAvailable": "errors",
    "Settings": "types.settings",
    "Share": "types.access",
    "Stream": "client._sync.stream",
    "Subscription": "client._sync.subscription",
    "SubscriptionInfo": "types.subscriptions",
    "TokenRefused": "errors",
    "Transaction": "client._sync.transaction",
    "TwoPhase": "client._sync.transaction",
    "Unit": "client._sync.unit",
    "UnitInfo": "types.units",
    "distributed": "client._sync.unit",
    "recover": "client._sync.recovery",
}
"Where each name is; imported when it is asked for, so that a command's help comes at once."

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted(__all__)


def open(
    directory: str | os.PathLike[str], *, name: str | None = None, quota: int | None = None
) -> Manager:
    """Open a directory as a queue manager of this process, making it if it is not there.

    `name` is what other computers call this one; `quota` limits all its messages, in KiB.
    `UnsupportedOperation` where the platform cannot do it; `connect` works everywhere.
    """
    from openmsmq.client._sync.manager import Manager
    from openmsmq.client.embedded.platform import require_platform

    require_platform()
    from openmsmq.client.embedded._sync.embedded import open_embedded

    return Manager(open_embedded(directory, name, quota))


def connect(
    address: str = "127.0.0.1:1811",
    *,
    token: str = "",
    tls: ssl.SSLContext | str | bool | None = None,
    timeout: float = 30.0,
    reconnect: float = 30.0,
) -> Manager:
    """Connect to a queue manager that runs as a service, `HOST:PORT` or `unix:PATH`.

    `tls` is the file of the CA that the server's certificate is checked with, a context, or True
    for the system's own. An answer may take `timeout` seconds; a lost connection is tried for
    `reconnect` seconds before a call fails.
    """
    from openmsmq.client._sync.manager import Manager
    from openmsmq.client._sync.remote import Remote
    from openmsmq.client.address import Address

    found = Address.parse(address, token=token, tls=tls)
    remote = Remote(found, patience=timeout, reconnect=reconnect)
    remote.connect()
    return Manager(remote)


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
) -> Manager:
    """Read the queues of a manager elsewhere through MS-MQRR, one of Windows or of OpenMSMQ.

    `user` may be `DOMAIN\\user`; with `auth="kerberos"` the ticket of `kinit` is used instead.
    Calls are encrypted unless `level` is `integrity`, `connect` or `none`. `computer` is what the
    manager is called in names of queues and in tickets, if that is not `host`. With `port=0` the
    endpoint mapper of the computer is asked for the port, at `mapper_port`.
    Queues can be peeked, received from, moved in and purged; everything else needs `connect`.
    Transactions work with managers of OpenMSMQ. Needs the extra `rpc`.
    """
    from openmsmq.client._sync.manager import Manager
    from openmsmq.client.remote_read._sync.backend import RpcBackend
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
    backend = RpcBackend(place)
    backend.connect()
    return Manager(backend)


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
) -> Manager:
    """Use the queues of a supporting server elsewhere, one of Windows or of OpenMSMQ (MS-MQMP).

    For a computer without a queue manager: queues are created, sent to and received from there.
    The options are those of `connect_remote`. Needs the extra `rpc`.
    """
    from openmsmq.client._sync.manager import Manager
    from openmsmq.client.dependent._sync.backend import DependentBackend
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
    backend = DependentBackend(place)
    backend.connect()
    return Manager(backend)


def connect_management(
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
    """Manage a manager elsewhere through MS-MQMR, one of Windows or of OpenMSMQ.

    For its administrators: statistics of the manager and of its queues, and outgoing queues that
    are paused and resumed. Without a `port` the endpoint mapper of the computer is asked for it,
    at `mapper_port`; all else is as for `connect_remote`. Needs the extra `rpc`.
    """
    from openmsmq.client.management._sync.management import RemoteManagement
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
    management.connect()
    return management
