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

    from openmsmq.client.cursor_sync import Cursor
    from openmsmq.client.inbox import Inbox
    from openmsmq.client.recovering_sync import Recovered, recover
    from openmsmq.client.stream_sync import Stream
    from openmsmq.client.subscription_sync import Subscription
    from openmsmq.client.sync import Manager, Queue
    from openmsmq.client.transaction_sync import Transaction, TwoPhase
    from openmsmq.client.unit_sync import Unit, distributed
    from openmsmq.errors import MQError, ReceiveTimeout
    from openmsmq.manager.deciding import UnitInfo
    from openmsmq.manager.explaining import HistoryEvent
    from openmsmq.manager.info import QueueInfo
    from openmsmq.manager.outgoing import OutgoingInfo
    from openmsmq.manager.peering import PeerInfo
    from openmsmq.manager.reserving import SubscriptionInfo
    from openmsmq.messages.ids import SentId
    from openmsmq.messages.message import Message
    from openmsmq.messages.received import ReceivedMessage
    from openmsmq.model.opening import Access, Share
    from openmsmq.model.receiving import Seek
    from openmsmq.model.settings import Settings
    from openmsmq.properties.message import Acknowledge

__all__ = [
    "Access",
    "Acknowledge",
    "Cursor",
    "HistoryEvent",
    "Inbox",
    "MQError",
    "Manager",
    "Message",
    "OutgoingInfo",
    "PeerInfo",
    "Queue",
    "QueueInfo",
    "ReceiveTimeout",
    "ReceivedMessage",
    "Recovered",
    "Seek",
    "SentId",
    "Settings",
    "Share",
    "Stream",
    "Subscription",
    "SubscriptionInfo",
    "Transaction",
    "TwoPhase",
    "Unit",
    "UnitInfo",
    "connect",
    "distributed",
    "open",
    "recover",
]

_HOMES: Final = {
    "Access": "model.opening",
    "Acknowledge": "properties.message",
    "Cursor": "client.cursor_sync",
    "HistoryEvent": "manager.explaining",
    "Inbox": "client.inbox",
    "MQError": "errors",
    "Manager": "client.sync",
    "Message": "messages.message",
    "OutgoingInfo": "manager.outgoing",
    "PeerInfo": "manager.peering",
    "Queue": "client.sync",
    "QueueInfo": "manager.info",
    "ReceiveTimeout": "errors",
    "ReceivedMessage": "messages.received",
    "Recovered": "client.recovering_sync",
    "Seek": "model.receiving",
    "SentId": "messages.ids",
    "Settings": "model.settings",
    "Share": "model.opening",
    "Stream": "client.stream_sync",
    "Subscription": "client.subscription_sync",
    "SubscriptionInfo": "manager.reserving",
    "Transaction": "client.transaction_sync",
    "TwoPhase": "client.transaction_sync",
    "Unit": "client.unit_sync",
    "UnitInfo": "manager.deciding",
    "distributed": "client.unit_sync",
    "recover": "client.recovering_sync",
}
"Where each name is; imported when it is asked for, so that a command's help comes at once."

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = found
        return found


def open(
    directory: str | os.PathLike[str], *, name: str | None = None, quota: int | None = None
) -> Manager:
    """Open a directory as a queue manager of this process, making it if it is not there.

    `name` is what other computers call this one; `quota` limits all its messages, in KiB.
    """
    from openmsmq.client.embedded_sync import Embedded
    from openmsmq.client.sync import Manager
    from openmsmq.manager.drivers import ThreadDriver
    from openmsmq.manager.opening import open_directory

    local = open_directory(directory, name, quota)
    return Manager(Embedded(local, ThreadDriver(local.core, local.tick)))


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
    from openmsmq.client.address import Address
    from openmsmq.client.remote_sync import Remote
    from openmsmq.client.sync import Manager

    found = Address.parse(address, token=token, tls=tls)
    remote = Remote(found, patience=timeout, reconnect=reconnect)
    remote.connect()
    return Manager(remote)
