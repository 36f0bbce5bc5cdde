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
    """A connection of another queue manager, of a program, or of a dependent client."""

    id: str
    "What it is ended by: `m7` of a manager, `p12` of a program, `d3` of a dependent client."
    kind: str
    "`manager`, `program` or `dependent`."
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
class SessionPacket:
    """A packet of a session, without what is in it."""

    millis: int
    "Milliseconds since 1970 UTC."
    is_sent: bool
    kind: str
    "What it is, in words."
    size: int


@dataclass(frozen=True, slots=True)
class SessionDetails:
    """All that is known of a session; windows and packets are those of managers."""

    session: SessionInfo
    state: str
    window: int | None = None
    "Messages that may be under way to the other side."
    own_window: int | None = None
    "Messages that it may have under way."
    room: int | None = None
    "Messages that could be sent now."
    unacknowledged: int | None = None
    "Messages that were sent, and that the other side has not acknowledged in full."
    to_acknowledge: int | None = None
    "Messages that came since the last acknowledgement."
    ack_wait: int | None = None
    "Seconds without an acknowledgement after which a session is given up."
    packets: tuple[SessionPacket, ...] = ()
    "The last ones, the newest first."
    queues: tuple[str, ...] = ()
    "What a program or a dependent client has open; of very many, some."


@dataclass(frozen=True, slots=True)
class DependentQueueInfo:
    """A queue that a dependent client has open."""

    name: str
    "As the client has given it."
    access: str
    "`receive`, `send` or `peek`."
    waiting: int
    "Receives and peeks that wait for a message."
    longest: int | None
    "Seconds that the oldest of them has waited."


@dataclass(frozen=True, slots=True)
class DependentInfo:
    """A client without a queue manager, whose supporting server this manager is."""

    id: str
    "That of its session, `d3`."
    peer: str
    "Its IP address."
    who: str
    "The user who has logged on."
    age: int
    "Seconds since it opened something first."
    connections: int
    received: int
    sent: int
    "Bytes, both."
    transactions: int
    "Those that have begun and not ended."
    waiting: int
    "Receives and peeks that wait for a message, of all its queues."
    open_queues: int
    queues: tuple[DependentQueueInfo, ...]
    "Those that it has open; of very many, the first."

    def session(self) -> SessionInfo:
        """The same client among all sessions."""
        rest = self.age, self.received, self.sent
        return SessionInfo(self.id, "dependent", self.peer, "", self.who, True, True, *rest)


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
