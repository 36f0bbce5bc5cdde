"""What is known about messages on their way to other computers, as values."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from openmsmq.engine.messages.scan import oldest
from openmsmq.engine.outgoing.state import Attempt, ConnectionStatus, Transfer, TransferState
from openmsmq.engine.queues.queue import Kind, Queue
from openmsmq.transports.peers.ways import address_text

if TYPE_CHECKING:
    from openmsmq.engine.manager import LocalManager
    from openmsmq.transports.mqqb.link import Link
    from openmsmq.transports.mqqb.transport import Transfers

OFFLINE: Final = "offline"
"The state of a queue where nobody sends anything."
ONLY_A_SERVICE: Final = "only a service with a binary port sends (openmsmq serve)"
WAS_TAKEN: Final = "the queue manager was taken offline"
NO_PROTOCOL: Final = "messages for such a name cannot be sent yet"
STATUS_WORDS: Final = {
    ConnectionStatus.IN_PROCESS: "connecting",
    ConnectionStatus.ESTABLISH_PACKET_RECEIVED: "answered",
    ConnectionStatus.ESTABLISHED: "connected",
    ConnectionStatus.UNKNOWN_FAILURE: "failed",
    ConnectionStatus.PING_FAILURE: "no answer to a ping",
    ConnectionStatus.SOCKET_CREATE_FAILURE: "no socket to be had",
    ConnectionStatus.SOCKET_BIND_FAILURE: "no address to be had",
    ConnectionStatus.SOCKET_CONNECT_FAILURE: "cannot connect",
    ConnectionStatus.TCP_NOT_ENABLED: "no TCP here",
    ConnectionStatus.SOCKET_SEND_FAILURE: "cannot send",
    ConnectionStatus.CONNECTION_NOT_READY: "not ready",
    ConnectionStatus.DNS_FAILURE: "name not found",
    ConnectionStatus.CERTIFICATE_VALIDATION_FAILURE: "certificate not valid",
    ConnectionStatus.CONNECTION_LIMIT_REACHED: "too many connections",
    ConnectionStatus.CONNECTION_REFUSED: "refused",
    ConnectionStatus.ROUTING_DATA_NOT_AVAILABLE: "no way known",
    ConnectionStatus.LOW_RESOURCE: "too little memory",
}
_STEPS: Final = (ConnectionStatus.IN_PROCESS, ConnectionStatus.ESTABLISH_PACKET_RECEIVED)
"What is noted while an attempt is under way."


@dataclass(frozen=True, slots=True)
class OutgoingAttempt:
    """An attempt to connect, and how it went."""

    time: int
    "Seconds since 1970 UTC."
    status: str
    "In words: connecting, connected, or what went wrong."
    address: str


@dataclass(frozen=True, slots=True)
class OutgoingInfo:
    """An outgoing queue: what is in it, and how the way to its destination stands."""

    name: str
    "The format name it sends to."
    state: str
    "A word of `TransferState`, or `offline` where nobody sends."
    messages: int
    "Those that wait to be sent."
    unacknowledged: int
    "Those that were sent, but are not known to have arrived."
    unprocessed: int
    "Those that reached their queue, but are kept until it is known what became of them."
    bytes: int
    "All of these together."
    oldest_age: int | None
    "Seconds since the oldest message that has not arrived came here; None if there is none."
    next_hop: str
    "The address that messages go to, or that was tried last; empty if none was."
    connected_since: int | None
    "Seconds since 1970 UTC; None while there is no connection."
    failures: int
    "Attempts to connect that failed since one succeeded."
    next_retry: int | None
    "Seconds until the next attempt; None if none is to come."
    last_error: str
    "What is wrong, in words; empty if nothing is."
    resends: int
    "How often in a row transactional messages were sent again and nobody acknowledged them."
    attempts: tuple[OutgoingAttempt, ...]
    "The last attempts to connect, the newest last."


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
    found = [queue for queue in queues if queue.kind is Kind.OUTGOING and not queue.deleted]
    return [outgoing_info(local, queue) for queue in sorted(found, key=lambda queue: queue.name)]


def outgoing_info(local: LocalManager, queue: Queue) -> OutgoingInfo:
    """What is known about an outgoing queue now."""
    transfer, journal, core = queue.transfer, queue.journal, local.core
    assert transfer is not None, "an outgoing queue knows its way"
    arrived = oldest(core.snapshot, queue)
    size = queue.size + queue.express.size + (0 if journal is None else journal.size)
    return OutgoingInfo(
        name=queue.name,
        messages=max(0, queue.messages + len(queue.express) - len(queue.held)),
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
