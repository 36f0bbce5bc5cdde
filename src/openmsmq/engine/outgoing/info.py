"""What is known about messages on their way to other computers, as values."""

from __future__ import annotations

from typing import Final

from openmsmq.engine.core import Core
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.messages.scan import oldest
from openmsmq.engine.outgoing.state import Attempt, Transfer
from openmsmq.engine.outgoing.transport import RouteStatus
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.types.outgoing import (
    OFFLINE,
    STATUS_WORDS,
    ConnectionStatus,
    OutgoingAttempt,
    OutgoingInfo,
)
from openmsmq.types.queues import QueueKind

ONLY_A_SERVICE: Final = "only a service with a binary port sends (openmsmq serve)"
WAS_TAKEN: Final = "the queue manager was taken offline"
NO_PROTOCOL: Final = "messages for such a name cannot be sent yet"
_STEPS: Final = (ConnectionStatus.IN_PROCESS, ConnectionStatus.ESTABLISH_PACKET_RECEIVED)
"What is noted while an attempt is under way."


def outgoing_infos(local: QueueManager) -> list[OutgoingInfo]:
    """All outgoing queues, by name."""
    queues = local.queues.by_number.values()
    found = [queue for queue in queues if queue.kind is QueueKind.OUTGOING and not queue.deleted]
    return [outgoing_info(local, queue) for queue in sorted(found, key=lambda queue: queue.name)]


def outgoing_info(local: QueueManager, queue: ManagedQueue) -> OutgoingInfo:
    """What is known about an outgoing queue now."""
    transfer, journal, core = queue.transfer, queue.journal, local
    assert transfer is not None, "an outgoing queue knows its way"
    arrived = oldest(core.snapshot, queue)
    size = queue.size + queue.express.size + (0 if journal is None else journal.size)
    return OutgoingInfo(
        name=queue.name,
        messages=max(0, queue.messages + len(queue.express) - len(queue.holds)),
        unacknowledged=local.dispatcher.in_transit(queue),
        unprocessed=unprocessed(queue),
        bytes=size,
        oldest_age=None if arrived is None else max(0, core.timeline.wall - arrived),
        attempts=_attempts(transfer),
        **_route(core, queue, transfer)._asdict(),
    )


def unprocessed(queue: ManagedQueue) -> int:
    """Messages that reached their queue and are not confirmed in full (`journal_of`)."""
    return 0 if queue.journal is None else queue.journal.messages


def _route(core: Core, queue: ManagedQueue, transfer: Transfer) -> RouteStatus:
    transports = core.transports
    if not transfer.is_open:
        return RouteStatus(str(transfer.state))
    if not transports:
        return RouteStatus(OFFLINE, last_error=ONLY_A_SERVICE)
    if not transports.is_online:
        return RouteStatus(OFFLINE, last_error=WAS_TAKEN)
    transport = transports.get(queue)
    if transport is None:
        return RouteStatus(str(transfer.state), last_error=NO_PROTOCOL)
    return transport.route(queue)


def _attempts(transfer: Transfer) -> tuple[OutgoingAttempt, ...]:
    """Those that came to an end, and the one that is under way."""
    noted = list(transfer.attempts)
    shown = [item for item in noted[:-1] if item.status not in _STEPS]
    return tuple(map(_attempt, shown + noted[-1:]))


def _attempt(attempt: Attempt) -> OutgoingAttempt:
    return OutgoingAttempt(attempt.time, STATUS_WORDS[attempt.status], ", ".join(attempt.addresses))
