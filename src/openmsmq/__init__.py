"""OpenMSMQ: Microsoft Message Queuing for everyone who is not on Windows.

with openmsmq.open("data/") as manager:
    orders = manager.create_queue("orders")
    orders.send(Message(b"...", label="order 1"))
    message = orders.receive(timeout=5.0)
"""

from __future__ import annotations

import os

from openmsmq.client.sync import Cursor, Manager, Queue, Transaction
from openmsmq.errors import MQError, ReceiveTimeout
from openmsmq.manager.drivers import ThreadDriver
from openmsmq.manager.opening import open_directory
from openmsmq.messages.message import Message
from openmsmq.messages.received import ReceivedMessage
from openmsmq.model.opening import Access, Share
from openmsmq.model.receiving import Seek
from openmsmq.properties.message import Acknowledge

__all__ = [
    "Access",
    "Acknowledge",
    "Cursor",
    "MQError",
    "Manager",
    "Message",
    "Queue",
    "ReceiveTimeout",
    "ReceivedMessage",
    "Seek",
    "Share",
    "Transaction",
    "open",
]


def open(
    directory: str | os.PathLike[str], *, name: str | None = None, quota: int | None = None
) -> Manager:
    """Open a directory as a queue manager of this process, making it if it is not there.

    `name` is what other computers call this one; `quota` limits all its messages, in KiB.
    """
    local = open_directory(directory, name, quota)
    return Manager(local, ThreadDriver(local.core))
