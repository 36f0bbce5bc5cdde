"""A peer while messages go to it: its outgoing queues, its connection, and the next attempt.

Every transport that dials has one for each computer or manager. Who is known to be where is on disk
(`engine.arrivals.peers`).
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from math import ceil
from typing import Final, Generic, NamedTuple, TypeVar
from uuid import UUID

from openmsmq.engine.outgoing.state import Attempt
from openmsmq.engine.outgoing.transport import RouteStatus
from openmsmq.engine.queues.queue import ManagedQueue, Purpose
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.format import (
    ConnectorName,
    MachineName,
    PrivateName,
    PublicName,
    parse_format_name,
)
from openmsmq.names.parts import host_key
from openmsmq.transports.limits import RETRY_MAX
from openmsmq.transports.timer import Timer
from openmsmq.types.outgoing import ConnectionStatus, TransferState

RETRY_FIRST: Final = 0.25
"Seconds until a lost connection is tried again; twice that the next time, and so on."
RETRY_MAX_STRANGERS: Final = 600.0
"The same where only acknowledgements for strangers wait: whole networks can be named by one."
BOUNDED: Final = (Purpose.ANSWER, Purpose.UNSOLICITED)

PeerKey = str | UUID
"A computer by name or address, or a manager by its identity."
LinkT = TypeVar("LinkT")


class Peer(Generic[LinkT]):
    """A computer or manager that messages go to."""

    def __init__(self, key: PeerKey) -> None:
        self.key = key
        self.id: UUID | None = key if isinstance(key, UUID) else None
        "Which manager is there, as far as it is known."
        self.found_at = ""
        "The IP address where it answered."
        self.link: LinkT | None = None
        "The connection that was made for it, established or not."
        self.queues: dict[ManagedQueue, LinkT | None] = {}
        "Its outgoing queues, each with the one link that carries it, so that order is kept."
        self.is_connecting = False
        self.failures = 0
        "Attempts in a row that failed."
        self.was_open = False
        "The last attempt made a session, which is over."
        self.retry: Timer | None = None
        self.retry_at: float | None = None
        self.last_error = ""
        self.candidates: list[tuple[str, int]] = []
        "Addresses still to be tried."
        self.address = ""
        "The one that was tried last."

    @property
    def name(self) -> str:
        """For people."""
        return str(self.key)

    @property
    def is_wanted(self) -> bool:
        """It is not for the sake of strangers only that it is dialled."""
        return any(
            queue.properties.purpose not in BOUNDED
            for queue, carrier in self.queues.items()
            if carrier is None or has_messages(queue)
        )

    @property
    def delay(self) -> float:
        """Seconds until the next attempt; it grows with every one that fails."""
        most = RETRY_MAX if self.is_wanted else RETRY_MAX_STRANGERS
        return float(min(RETRY_FIRST * 2 ** min(self.failures, 12), most))

    @property
    def is_idle(self) -> bool:
        """It is neither connected nor dialled, now or soon."""
        return self.link is None and not self.is_connecting and self.retry is None

    # Queues and links

    def carried_by(self, link: LinkT) -> list[ManagedQueue]:
        """The queues whose messages travel on a link."""
        return [queue for queue, carrier in self.queues.items() if carrier is link]

    def forget_idle(self, unidentified: Collection[ManagedQueue]) -> None:
        """Drop queues that no link carries and that have nothing to send.

        A link that carries a queue may have sent messages of it that are gone meanwhile: when it
        ends, the queue must know. `unidentified` are queues whose destination is to be dialled
        although they may be empty.
        """
        self.queues = {
            queue: carrier
            for queue, carrier in self.queues.items()
            if carrier is not None or has_messages(queue) or queue in unidentified
        }

    def wants_link(self, unidentified: Collection[ManagedQueue]) -> bool:
        """Whether it is to be dialled."""
        return any(has_messages(queue) or queue in unidentified for queue in self.queues)

    # What the outgoing queues show

    def route(self, queue: ManagedQueue, state: str, resends: int, now: float) -> RouteStatus:
        """How the way of a queue stands that no link can carry."""
        retry_at = self.retry_at if queue in self.queues else None
        return RouteStatus(
            state,
            next_hop=self.address,
            failures=self.failures,
            next_retry=None if retry_at is None else max(0, ceil(retry_at - now)),
            last_error=self.last_error,
            resends=resends,
        )

    def set_state(self, state: TransferState) -> None:
        """The state of all its outgoing queues."""
        for queue in self.queues:
            if queue.transfer is not None:
                queue.transfer.set_state(state)

    def note(self, status: ConnectionStatus, now: int, address: str, error: int = 0) -> None:
        """Remember an attempt (ConnectionHistory, [MS-MQDMPR] 3.1.1.3, [MS-MQQB] 3.1.5.2)."""
        for queue in self.queues:
            if queue.transfer is not None:
                queue.transfer.attempts.append(Attempt(status, now, error, (address,)))

    def note_end(self, now: int, *, is_refused: bool) -> None:
        """It answered, but no session came about ([MS-MQQB] 3.1.5.2)."""
        refused, unknown = ConnectionStatus.CONNECTION_REFUSED, ConnectionStatus.UNKNOWN_FAILURE
        self.note(refused if is_refused else unknown, now, self.address)


def has_messages(queue: ManagedQueue) -> bool:
    """Whether there is something to send, or sent and not acknowledged."""
    return bool(queue.messages or queue.express)


class PublicQueue(NamedTuple):
    """A queue whose manager only the directory knows."""

    id: UUID


def peer_key(name: FormatName) -> PeerKey | PublicQueue | None:
    """Which peer messages for a name go to; None if none from here ([MS-MQQB] 3.1.7.4)."""
    match name:
        case DirectName() if name.protocol in (Protocol.OS, Protocol.TCP):
            return host_key(name.address)
        case PrivateName() | MachineName() | ConnectorName():
            return name.guid
        case PublicName():
            return PublicQueue(name.guid)
    return None


@lru_cache(maxsize=4096)
def peer_key_of(name: str) -> PeerKey | PublicQueue | None:
    """The same for the name of an outgoing queue, which is asked for with every commit of it."""
    return peer_key(parse_format_name(name))
