"""The properties of a queue that management asks for ([MS-MQMR] 2.2.3.2, 3.1.4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final
from uuid import UUID

from openmsmq.engine.arrivals.destinations import streams_to
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.outgoing.info import outgoing_info
from openmsmq.engine.outgoing.state import Attempt, Transfer
from openmsmq.engine.outgoing.streams import StreamPlace, StreamStatus, stream_status
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.limits import U32_MAX
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.format import PrivateName, PublicName, parse_format_name
from openmsmq.names.parts import fold, split_queue
from openmsmq.names.path import PathName
from openmsmq.properties.propid import MGMT_QUEUE
from openmsmq.properties.structures import SequenceInfo
from openmsmq.properties.values import (
    Answer,
    ConnectionStatusCode,
    QueueLocation,
    QueueState,
    QueueType,
)
from openmsmq.properties.variant import PropVariant, Value
from openmsmq.properties.vartype import VECTOR, VarType
from openmsmq.routing.topology import RoutedManager
from openmsmq.types.outgoing import OFFLINE, TransferState
from openmsmq.types.queues import QueueKind

_LATEST: Final = U32_MAX >> 1
"The latest time that VT_I4 can tell."
_TEXTS: Final = VECTOR | VarType.VT_LPWSTR
_STATES: Final[Mapping[str, QueueState]] = {
    **{str(state): QueueState[state.name] for state in TransferState},
    OFFLINE: QueueState.DISCONNECTED,  # no state of the protocol (MG-32)
}


def path_of(manager: QueueManager, queue: ManagedQueue) -> str:
    """The path name of a queue here, with the name of the computer ([MS-MQMQ] 2.3.12.1)."""
    return str(PathName(manager.name, *split_queue(queue.name)))


def qualified_path_of(manager: QueueManager, queue: ManagedQueue) -> str:
    """The same with the name of the computer in DNS, where a directory has one.

    (QualifiedPathname, [MS-MQDMPR] 3.1.1.2, 3.1.7.1.3.)
    """
    computer = manager.directory.host or manager.name
    return str(PathName(computer, *split_queue(queue.name)))


def format_name_of(manager: QueueManager, queue: ManagedQueue) -> str:
    """A format name by which any computer finds a queue (MG-20)."""
    if queue.kind in (QueueKind.OUTGOING, QueueKind.CONNECTOR):
        return queue.name
    return str(DirectName(Protocol.OS, manager.name, *split_queue(queue.name)))


class QueueFacts:
    """What is known of one queue, read when it is asked for."""

    def __init__(self, manager: QueueManager, queue: ManagedQueue) -> None:
        self.manager = manager
        self.queue = queue

    @property
    def transfer(self) -> Transfer | None:
        """The way to the destination of an outgoing queue."""
        return self.queue.transfer

    @cached_property
    def stream(self) -> StreamStatus | None:
        """How its transactional messages stand, for an outgoing queue."""
        return None if self.transfer is None else stream_status(self.manager, self.queue)

    @cached_property
    def state(self) -> QueueState:
        """How the way to its destination stands ([MS-MQMR] 3.1.4.1)."""
        if self.transfer is None:
            return QueueState.LOCAL
        return _STATES[outgoing_info(self.manager, self.queue).state]


def path_name(facts: QueueFacts) -> Value:
    """Pathname; of an outgoing queue what a direct name says of it (MG-19)."""
    if facts.queue.kind is QueueKind.CONNECTOR:
        return None
    if facts.transfer is None:
        return path_of(facts.manager, facts.queue)
    name = parse_format_name(facts.queue.name)
    if not isinstance(name, DirectName) or name.protocol not in (Protocol.OS, Protocol.TCP):
        return None
    return str(PathName(name.address, *name.queue_parts))


def queue_type(facts: QueueFacts) -> Value:
    """The first that fits ([MS-MQMR] 3.1.4.1); of an outgoing queue as its name says (MG-21)."""
    queue, transfer = facts.queue, facts.transfer
    if transfer is None:
        kind = queue.main.kind
        if kind is QueueKind.PUBLIC:
            return QueueType.PUBLIC
        if kind is QueueKind.CONNECTOR:
            return QueueType.CONNECTOR
        return QueueType.PRIVATE if kind is QueueKind.PRIVATE else QueueType.MACHINE
    if transfer.is_multicast:
        return QueueType.MULTICAST
    name = parse_format_name(queue.name)
    is_private = isinstance(name, PrivateName) or (isinstance(name, DirectName) and name.private)
    return QueueType.PRIVATE if is_private else QueueType.PUBLIC


def is_transactional(facts: QueueFacts) -> Value:
    """Of an outgoing queue only what its messages tell is known (MG-22)."""
    queue = facts.queue
    if facts.transfer is None:
        return Answer.YES if queue.main.properties.transactional else Answer.NO
    if not queue.messages and not queue.express:
        return Answer.UNKNOWN
    return Answer.YES if queue.sequences.all else Answer.NO


def is_foreign(facts: QueueFacts) -> Value:
    """Whether messages are for a foreign system ([MS-MQMR] 3.1.4.1; [MS-MQMQ] 2.3.12.6).

    Of a destination that neither the topology nor the directory has, that is not known, and of none
    elsewhere while the directory is offline (MG-23).
    """
    if facts.transfer is None:
        return Answer.YES if facts.queue.kind is QueueKind.CONNECTOR else Answer.NO
    directory = facts.manager.directory
    if directory.is_used and directory.is_offline:
        return Answer.UNKNOWN
    goal = _goal(facts) or _namesake(facts)
    if goal is None:
        return Answer.UNKNOWN
    return Answer.YES if goal.foreign else Answer.NO


def _goal(facts: QueueFacts) -> RoutedManager | None:
    """The manager that messages of an outgoing queue are for, as far as it is known."""
    manager, name = facts.manager, parse_format_name(facts.queue.name)
    owner = None
    if isinstance(name, PublicName):
        owner = manager.directory.owners.get(name.guid)
    elif isinstance(name, PrivateName):
        owner = name.guid
    return None if owner is None else manager.routes.topology.managers.get(owner)


def _namesake(facts: QueueFacts) -> RoutedManager | None:
    """The manager of the computer that a direct name has, which messages go to without routing."""
    name = parse_format_name(facts.queue.name)
    if not isinstance(name, DirectName) or name.protocol is not Protocol.OS:
        return None
    computer = fold(name.address)
    for known in facts.manager.routes.topology.managers.values():
        if computer in (fold(known.name), fold(known.address)):
            return known
    return None


def message_count(facts: QueueFacts) -> Value:
    """Messages that are there, also those that readers hold (MG-24)."""
    return _u32(facts.queue.messages + len(facts.queue.express))


def byte_count(facts: QueueFacts) -> Value:
    """TotalBytes, as far as 32 bits go ([MS-MQMR] 3.1.4.1; MG-25)."""
    return _u32(facts.queue.size + facts.queue.express.size)


def _journal(facts: QueueFacts) -> ManagedQueue | None:
    """Its journal; what an outgoing queue keeps until it is confirmed is none."""
    return facts.queue.journal if facts.transfer is None else None


def journal_count(facts: QueueFacts) -> Value:
    """Messages in the journal, 0 without one (MG-26)."""
    journal = _journal(facts)
    return 0 if journal is None else _u32(journal.messages + len(journal.express))


def journal_bytes(facts: QueueFacts) -> Value:
    """Their bytes, whether the queue has a journal now or had one (MG-26)."""
    journal = _journal(facts)
    return 0 if journal is None else _u32(journal.size + journal.express.size)


def next_hops(facts: QueueFacts) -> Value:
    """Where messages go, while that is known ([MS-MQMQ] 2.3.12.12; MG-28)."""
    transfer = facts.transfer
    if transfer is not None and (goal := _goal(facts)) is not None:
        site = facts.manager.routes.connected.get(goal.id.bytes_le)
        if site is not None:
            return (f"FOREIGN={site}",)  # it is here already ([MS-MQMQ] 2.3.12.12; RT-22)
    if transfer is None or facts.state not in (QueueState.CONNECTED, QueueState.WAITING):
        return None
    if transfer.is_multicast:
        return (facts.queue.name,)
    return transfer.next_hops or None


def _place(choose: Callable[[StreamStatus], StreamPlace]) -> Callable[[QueueFacts], Value]:
    """SEQUENCE_INFO of a message ([MS-MQMQ] 2.2.5.1)."""

    def value(facts: QueueFacts) -> Value:
        if facts.stream is None:
            return None
        sequence, number, previous = choose(facts.stream)
        return SequenceInfo(_signed(sequence, 64), number, previous).pack()

    return value


def _figure(choose: Callable[[StreamStatus], int]) -> Callable[[QueueFacts], Value]:
    def value(facts: QueueFacts) -> Value:
        return None if facts.stream is None else _u32(choose(facts.stream))

    return value


def _time(choose: Callable[[StreamStatus], int]) -> Callable[[QueueFacts], Value]:
    def value(facts: QueueFacts) -> Value:
        return None if facts.stream is None else min(choose(facts.stream), _LATEST)

    return value


def source_info(facts: QueueFacts) -> Value:
    """The streams that end in a queue ([MS-MQMQ] 2.3.12.24): six vectors, by sender and name."""
    if facts.transfer is not None:
        return None
    rows = streams_to(facts.manager, facts.queue)
    return (
        PropVariant(_TEXTS, tuple(row.name for row in rows)),
        PropVariant(VECTOR | VarType.VT_CLSID, tuple(UUID(bytes_le=row.source) for row in rows)),
        PropVariant(VECTOR | VarType.VT_UI8, tuple(row.id for row in rows)),
        PropVariant(VECTOR | VarType.VT_UI4, tuple(row.number for row in rows)),
        PropVariant(VECTOR | VarType.VT_I4, tuple(min(row.time, _LATEST) for row in rows)),
        PropVariant(VECTOR | VarType.VT_UI4, tuple(_u32(row.rejects) for row in rows)),
    )


def connection_history(facts: QueueFacts) -> Value:
    """The last attempts to connect ([MS-MQMQ] 2.3.12.25), the oldest first (MG-34)."""
    if facts.transfer is None:
        return None
    attempts: list[Attempt] = list(facts.transfer.attempts)
    statuses = tuple(ConnectionStatusCode[attempt.status.name].value for attempt in attempts)
    addresses = tuple(PropVariant(_TEXTS, tuple(map(_bare, a.addresses))) for a in attempts)
    return (
        PropVariant(VECTOR | VarType.VT_UI4, statuses),
        PropVariant(VECTOR | VarType.VT_I4, tuple(min(a.time, _LATEST) for a in attempts)),
        PropVariant(VECTOR | VarType.VT_I4, tuple(_signed(a.error, 32) for a in attempts)),
        PropVariant(VECTOR | VarType.VT_VARIANT, addresses),
    )


def _bare(address: str) -> str:
    """An address without its port: `192.0.2.17`."""
    host, _, port = address.rpartition(":")
    is_with_port = port.isdigit() and (":" not in host or host.startswith("["))
    return host.strip("[]") if is_with_port else address


def subqueue_names(facts: QueueFacts) -> Value:
    """The names of subqueues that are open or have messages."""
    return tuple(split_queue(sub.name).subqueue for sub in facts.queue.subqueues.values())


def _u32(number: int) -> int:
    return min(number, U32_MAX)


def _signed(number: int, bits: int) -> int:
    return number - (1 << bits) if number >> (bits - 1) else number


QUEUE_PROPERTIES: Final[Mapping[MGMT_QUEUE, Callable[[QueueFacts], Value]]] = {
    MGMT_QUEUE.PATHNAME: path_name,
    MGMT_QUEUE.FORMATNAME: lambda facts: format_name_of(facts.manager, facts.queue),
    MGMT_QUEUE.TYPE: queue_type,
    MGMT_QUEUE.LOCATION: lambda facts: (
        QueueLocation.LOCAL if facts.transfer is None else QueueLocation.REMOTE
    ),
    MGMT_QUEUE.XACT: is_transactional,
    MGMT_QUEUE.FOREIGN: is_foreign,
    MGMT_QUEUE.MESSAGE_COUNT: message_count,
    MGMT_QUEUE.BYTES_IN_QUEUE: byte_count,
    MGMT_QUEUE.JOURNAL_MESSAGE_COUNT: journal_count,
    MGMT_QUEUE.BYTES_IN_JOURNAL: journal_bytes,
    MGMT_QUEUE.STATE: lambda facts: facts.state,
    MGMT_QUEUE.NEXTHOPS: next_hops,
    MGMT_QUEUE.EOD_LAST_ACK: _place(lambda stream: stream.last_ack),
    MGMT_QUEUE.EOD_LAST_ACK_TIME: _time(lambda stream: stream.last_ack_time),
    MGMT_QUEUE.EOD_LAST_ACK_COUNT: _figure(lambda stream: stream.last_ack_count),
    MGMT_QUEUE.EOD_FIRST_NON_ACK: _place(lambda stream: stream.first_unacknowledged),
    MGMT_QUEUE.EOD_LAST_NON_ACK: _place(lambda stream: stream.last_unacknowledged),
    MGMT_QUEUE.EOD_NEXT_SEQ: _place(lambda stream: stream.next),
    MGMT_QUEUE.EOD_NO_READ_COUNT: _figure(lambda stream: stream.unread),
    MGMT_QUEUE.EOD_NO_ACK_COUNT: _figure(lambda stream: stream.unacknowledged),
    MGMT_QUEUE.EOD_RESEND_TIME: _time(lambda stream: stream.resend_time),
    MGMT_QUEUE.EOD_RESEND_INTERVAL: _figure(lambda stream: stream.resend_interval),
    MGMT_QUEUE.EOD_RESEND_COUNT: _figure(lambda stream: stream.sends),
    MGMT_QUEUE.EOD_SOURCE_INFO: source_info,
    MGMT_QUEUE.CONNECTION_HISTORY: connection_history,
    MGMT_QUEUE.SUBQUEUE_COUNT: lambda facts: len(facts.queue.subqueues),
    MGMT_QUEUE.SUBQUEUE_NAMES: subqueue_names,
}
"How the value of each property is found; None is VT_NULL (MG-18)."
