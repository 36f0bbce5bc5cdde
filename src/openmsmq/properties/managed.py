"""What a manager elsewhere tells its administrators about itself and its queues."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ManagedMachine:
    """A manager, as management over remote calls shows it ([MS-MQMR] 2.2.3.1)."""

    active_queues: tuple[str, ...] = ()
    "Format names of queues that are open, have messages, or are outgoing."
    private_queues: tuple[str, ...] = ()
    "Path names."
    directory_server: str | None = None
    connected: bool = True
    "It is on the network: messages are sent and taken."
    type: str = ""
    "What it says of its system, often nothing."
    bytes: int | None = None
    "Of all queues; None where a manager is too old to tell."


@dataclass(frozen=True, slots=True)
class SequencePosition:
    """A transactional message on its way (SEQUENCE_INFO, [MS-MQMQ] 2.2.5.1)."""

    sequence: int
    number: int
    previous: int
    "The number of the message before it."


@dataclass(frozen=True, slots=True)
class ConnectionAttempt:
    """An attempt to connect to the next hop ([MS-MQMQ] 2.3.12.25)."""

    time: int
    "Seconds since 1970 UTC."
    status: int
    "0, 1 and 2 are steps of success; all others have bit 0x80000000."
    error: int
    "An HRESULT, or 0."
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IncomingStream:
    """Transactional messages of a sender to a queue ([MS-MQMQ] 2.3.12.24)."""

    format_name: str
    "The queue as the sender names it."
    sender: str
    "The identity of the sending manager."
    sequence: int
    number: int
    "Of the last message that came."
    time: int
    "Seconds since 1970 UTC."
    rejects: int
    "Messages out of order since then."


@dataclass(frozen=True, slots=True)
class ManagedQueueInfo:
    """A queue, as management over remote calls shows it ([MS-MQMR] 2.2.3.2).

    None stands for what there is no value of: most of it is about outgoing queues.
    """

    path_name: str | None = None
    format_name: str | None = None
    type: str | None = None
    "PUBLIC, PRIVATE, MACHINE, CONNECTOR or MULTICAST."
    location: str | None = None
    "LOCAL, or REMOTE for an outgoing queue."
    transactional: str | None = None
    "YES, NO or UNKNOWN."
    foreign: str | None = None
    messages: int | None = None
    bytes: int | None = None
    journal_messages: int | None = None
    journal_bytes: int | None = None
    state: str | None = None
    "LOCAL CONNECTION, or how the way to the destination stands."
    next_hops: tuple[str, ...] | None = None
    last_ack: SequencePosition | None = None
    "The last message that an order acknowledgement was about."
    last_ack_time: int | None = None
    last_ack_count: int | None = None
    first_unacknowledged: SequencePosition | None = None
    last_unacknowledged: SequencePosition | None = None
    next: SequencePosition | None = None
    "The next transactional message to be sent."
    unread: int | None = None
    "Reached their queue, and were not received."
    unacknowledged: int | None = None
    resend_time: int | None = None
    resend_interval: int | None = None
    sends: int | None = None
    "How often the last message was sent."
    incoming: tuple[IncomingStream, ...] | None = None
    attempts: tuple[ConnectionAttempt, ...] | None = None
    subqueue_count: int | None = None
    subqueues: tuple[str, ...] | None = field(default=None)
