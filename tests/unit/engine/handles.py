"""Calls on queues for tests that have the queue and no handle."""

from __future__ import annotations

from collections.abc import Sequence

from openmsmq.engine.commit.future import Future
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.types.access import Mode
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.delivery import DeliveryOptions
from openmsmq.types.ids import SentId
from openmsmq.types.message import Message


def handle(local: QueueManager, queue: ManagedQueue, caller: Caller = INTERNAL) -> QueueHandle:
    """A handle on a queue that does not count as one."""
    return QueueHandle(local.parts, queue, Mode(), caller)


def send(
    local: QueueManager,
    queue: ManagedQueue,
    messages: Sequence[Message],
    transaction: ManagedTransaction | None,
    delivery: DeliveryOptions | None = None,
    caller: Caller = INTERNAL,
) -> Future[Sequence[SentId]]:
    """Send messages to a queue."""
    return handle(local, queue, caller).send(messages, transaction, delivery)


def send_packets(
    local: QueueManager,
    queue: ManagedQueue,
    packets: Sequence[bytes],
    transaction: ManagedTransaction | None,
) -> Future[Sequence[SentId]]:
    """Send messages that are packed."""
    return handle(local, queue).send_packets(packets, transaction)


def move(
    local: QueueManager,
    queue: ManagedQueue,
    lookup: int,
    target: str,
    transaction: ManagedTransaction | None,
) -> Future[None]:
    """Move a message."""
    return handle(local, queue).move(lookup, target, transaction)
