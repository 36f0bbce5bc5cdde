"""Other queue managers, sessions and recordings of them, as programs and people see them."""

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


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A connection of another queue manager, or of a program."""

    id: str
    "What it is ended by: `m7` of a manager, `p12` of a program."
    kind: str
    "`manager` or `program`."
    peer: str
    "The address of the other side."
    name: str
    "The identity of the manager, or what the program calls itself."
    who: str
    "Whom the program is to permissions: `token:3f9a01c7`; of a manager, names of its computer."
    incoming: bool
    "The other side has connected."
    is_open: bool
    "It is established."
    age: int
    "Seconds since it began."
    received: int
    sent: int
    "Bytes, both."


@dataclass(frozen=True, slots=True)
class RecordingFile:
    """A file of a recording."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class RecordingInfo:
    """A recording that someone asked for."""

    id: str
    state: str
    "`running` or `done`."
    peer: str
    "The address whose sessions are recorded; empty for all."
    began: int
    until: int
    "Seconds since 1970 UTC, both."
    by: str
    "Who asked for it."
    files: tuple[RecordingFile, ...] = ()
