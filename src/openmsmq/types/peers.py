"""Other queue managers, and sessions of multicast, as programs and people see them."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """Another queue manager: where it answered, and the sessions that say they are of it."""

    id: UUID
    names: tuple[str, ...]
    "The computers at which it answered when it was dialled."
    address: str
    "Where it answered, as an IP address; empty if it was never dialled."
    port: int
    pinned: bool
    "The configuration names it by its identity."
    relay: bool
    "It may bring messages of other managers."
    sessions: tuple[str, ...]
    "Where open sessions of it come from."
    claimed_from: tuple[str, ...]
    "The places from which sessions claimed its identity at the same time, if it was several."
    missing: int
    "Numbers of transactional messages that were passed over, since this store was restored."


@dataclass(frozen=True, slots=True)
class MulticastInfo:
    """A session of PGM: one that this manager sends, or the source of another one."""

    direction: str
    "`incoming` or `outgoing`."
    group: str
    "The address that is sent to, with its port."
    source: str
    "The IP address of the source."
    session: str
    "The transport session identifier, as packets have it."
    state: str
    packets: int
    "Data packets, sent or received."
    repairs: int
    "Data packets that were sent again, or came again for what was missing."
    requests: int
    "Requests for repairs, received or sent."
    lost: int
    "Packets that will never come."
