"""What is known about messages on their way to other computers, as values."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from openmsmq.engine.messages.scan import oldest
from openmsmq.engine.outgoing.state import Attempt, Transfer
from openmsmq.engine.queues.queue import Queue
from openmsmq.transports.peers.ways import address_text
from openmsmq.types.outgoing import (
    OFFLINE,
    STATUS_WORDS,
    ConnectionStatus,
    OutgoingAttempt,
    OutgoingInfo,
    TransferState,
)
from openmsmq.types.queues import QueueKind

if TYPE_CHECKING:
    from openmsmq.engine.manager import LocalManager
    from openmsmq.transports.mqqb.link import Link
    from openmsmq.transports.mqqb.transport import Transfers

ONLY_A_SERVICE: Final = "only a service with a binary port sends (openmsmq serve)"
WAS_TAKEN: Final = "the queue manager was taken offline"
NO_PROTOCOL: Final = "messages for such a name cannot be sent yet"
_STEPS: Final = (ConnectionStatus.IN_PROCESS, ConnectionStatus.ESTABLISH_PACKET_RECEIVED)
"What is noted while an attempt is under way."


class _Way(NamedTuple):
    """How the way of a queue stands."""

    state: str
    next_hop: str = ""
    connected_since: int | None = None
    failures: int = 0
    next_retry: int | None = None
    last_error: str = ""
    resends: int = 0


def outgoing_infos(local: LocalManager) -> list[OutgoingInfo]:
    """All outgoing queues, by name."""
    queues = local.core.queues.by_number.values()
    found = [queue for queue in queues if queue.kind is QueueKind.OUTGOING and not queue.deleted]
    return [outgoing_info(local, queue) for queue in sorted(found, key=lambda queue: queue.name)]


def outgoing_info(local: LocalManager, queue: Queue) -> OutgoingInfo:
    """What is known about an outgoing queue now."""
    transfer, journal, core = queue.transfer, queue.journal, local.core
    assert transfer is not None, "an outgoing queue knows its way"
    arrived = oldest(core.snapshot, queue)
    size = queue.size + queue.express.size + (0 if journal is None else journal.size)
    return OutgoingInfo(
        name=queue.name,
        messages=max(0, queue.messages + len(queue.express) - len(queue.holds)),
        unacknowledged=local.dispatching.in_transit(queue),
        unprocessed=unprocessed(queue),
        bytes=size,
        oldest_age=None if arrived is None else max(0, core.timeline.wall - arrived),
        attempts=_attempts(transfer),
        **_way(local, queue, transfer)._asdict(),
    )


def unprocessed(queue: Queue) -> int:
    """Messages that reached their queue and are not confirmed in full (`journal_of`)."""
    return 0 if queue.journal is None else queue.journal.messages


def _way(local: LocalManager, queue: Queue, transfer: Transfer) -> _Way:
    transfers = local.transfers
    if not transfer.is_open:
        return _Way(str(transfer.state))
    if transfers is None:
        return _Way(OFFLINE, last_error=ONLY_A_SERVICE)
    if not local.dispatching.is_online:
        return _Way(OFFLINE, last_error=WAS_TAKEN)
    if transfer.state is TransferState.NEED_VALIDATION and transfers.way_of(queue) is None:
        return _Way(str(transfer.state), last_error=NO_PROTOCOL)
    return _open_way(transfers, queue, transfer)


def _open_way(transfers: Transfers, queue: Queue, transfer: Transfer) -> _Way:
    state, resends = str(transfer.state), transfers.resends(queue)
    way = transfers.way_of(queue)
    if way is None:
        # There is nothing to send: nobody waits for a connection any longer.
        is_over = transfer.state is TransferState.WAITING
        return _Way(str(TransferState.INACTIVE) if is_over else state, resends=resends)
    link = transfers.link_of(way, queue)
    if link is not None:
        return _Way(state, _next_hop(link), link.open_since, resends=resends)
    retry_at = way.retry_at if queue in way.queues else None
    return _Way(
        state,
        next_hop=way.address,
        failures=way.failures,
        next_retry=None if retry_at is None else max(0, ceil(retry_at - transfers.now())),
        last_error=way.last_error,
        resends=resends,
    )


def _next_hop(link: Link) -> str:
    port = link.place[1]
    return address_text(link.address, port) if port else link.address


def _attempts(transfer: Transfer) -> tuple[OutgoingAttempt, ...]:
    """Those that came to an end, and the one that is under way."""
    noted = list(transfer.attempts)
    shown = [item for item in noted[:-1] if item.status not in _STEPS]
    return tuple(map(_attempt, shown + noted[-1:]))


def _attempt(attempt: Attempt) -> OutgoingAttempt:
    return OutgoingAttempt(attempt.time, STATUS_WORDS[attempt.status], ", ".join(attempt.addresses))
