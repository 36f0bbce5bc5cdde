"""A queue: its properties, and what is in memory about its messages."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Protocol
from uuid import UUID

from openmsmq.engine.outgoing.sequences import Sequences
from openmsmq.engine.outgoing.state import Transfer
from openmsmq.engine.queues.express import ExpressMessages
from openmsmq.engine.queues.holds import Holds
from openmsmq.engine.queues.waiter import Waiter
from openmsmq.engine.storage.layout import DELAYED_BIT, JOURNAL_BIT, NO_TOTALS
from openmsmq.errors import IllegalFormatName, IllegalPropertyValue
from openmsmq.limits import NO_QUOTA, QUEUE_LABEL_MAX, U32_MAX
from openmsmq.names.format import parse_format_name
from openmsmq.types.access import Mode
from openmsmq.types.lookup import ARRIVAL_MASK, LOOKUP_MAX
from openmsmq.types.outgoing import TransferState
from openmsmq.types.queues import Poison, QueueKind

NO_TYPE: Final = UUID(int=0)
JOURNAL_SUFFIX: Final = ";JOURNAL"


class Purpose(StrEnum):
    """Why there is an outgoing queue."""

    SEND = "send"
    "A program of this manager sends to it."
    ACKNOWLEDGE = "acknowledge"
    "Acknowledgements of what known peers brought, or for them."
    ANSWER = "answer"
    "Acknowledgements for a peer outside the peer table, of what it brought itself."
    UNSOLICITED = "unsolicited"
    "Acknowledgements that a peer outside the peer table directs at a third machine."
    FORWARD = "forward"
    "Messages of other managers for a third one, since this manager is a router."
    FORWARD_NEARER = "forward nearer"
    "The same for those that came from a site as far from their destination as this one (RT-02)."


FORWARDED: Final = (Purpose.FORWARD, Purpose.FORWARD_NEARER)
"Of outgoing queues that hold nothing of this manager's own."


@dataclass(frozen=True, slots=True)
class QueueProperties:
    """The attributes of a queue that last ([MS-MQDMPR] 3.1.1.2)."""

    name: str
    r"Its path below the computer: `private$\orders`; for an outgoing queue the format name."
    id: UUID
    created: int
    "Seconds since 1970 UTC."
    modified: int
    transactional: bool = False
    journal: bool = False
    quota: int = NO_QUOTA
    "KiB its messages may take."
    journal_quota: int = NO_QUOTA
    label: str = ""
    authenticate: bool = False
    privacy: int = 1
    "0 clear messages only, 1 both, 2 encrypted only."
    base_priority: int = 0
    type: UUID = NO_TYPE
    kind: QueueKind = QueueKind.PRIVATE
    abort_limit: int = 0
    "A message is poison when it was aborted so often; 0 for never."
    retry_delay: int = 0
    "Seconds for which a message cannot be read after it was aborted."
    poison: Poison = Poison.SUBQUEUE
    "Where poison goes."
    purpose: Purpose = Purpose.SEND
    "Of an outgoing queue: why there is one."
    permissions: str = ""
    "Its security descriptor in SDDL; nothing for one that belongs to administrators and is open."
    multicast: str = ""
    "The group address whose messages it gets, `234.1.1.1:8001` ([MS-MQMQ] 2.3.1.23)."

    def __post_init__(self) -> None:
        """Refuse values outside their sets ([MS-MQMQ] 2.3.1, 2.3.1.8)."""
        if len(self.label) > QUEUE_LABEL_MAX:
            raise IllegalPropertyValue(f"a queue label has at most {QUEUE_LABEL_MAX} characters")
        if not _is_storable(self.label):
            raise IllegalPropertyValue(f"label {self.label!r} has half of a surrogate pair")
        for name in ("quota", "journal_quota"):
            value = getattr(self, name)
            if not isinstance(value, int) or not 0 <= value <= NO_QUOTA:
                raise IllegalPropertyValue(f"{name} {value}: 0 to {NO_QUOTA} KiB are possible")
        if self.privacy not in (0, 1, 2):
            raise IllegalPropertyValue(f"privacy {self.privacy}: 0, 1 or 2 are possible")
        if not -32768 <= self.base_priority <= 32767:
            raise IllegalPropertyValue(f"base_priority {self.base_priority} does not fit 16 bits")
        self._check_poison()
        self._check_multicast()

    def _check_multicast(self) -> None:
        if not self.multicast:
            return
        try:
            name = parse_format_name(f"MULTICAST={self.multicast}")
        except IllegalFormatName:
            raise IllegalPropertyValue(
                f"multicast {self.multicast!r}: a group address with a port is needed, such as"
                " 234.1.1.1:8001"
            ) from None
        if f"MULTICAST={self.multicast}" != str(name):
            raise IllegalPropertyValue(f"multicast {self.multicast!r}: write {str(name)[10:]}")
        if self.transactional:
            raise IllegalPropertyValue("multicast: a transactional queue gets no such messages")

    def _check_poison(self) -> None:
        for name in ("abort_limit", "retry_delay"):
            value = getattr(self, name)
            if not isinstance(value, int) or not 0 <= value < U32_MAX:
                raise IllegalPropertyValue(f"{name} {value}: 0 to {U32_MAX - 1} are possible")
            if value and not self.transactional:
                raise IllegalPropertyValue(f"{name}: nothing is aborted in a plain queue")
        if self.poison not in tuple(Poison):
            words = " or ".join(Poison)
            raise IllegalPropertyValue(f"poison {self.poison!r}: {words} is possible")

    @property
    def is_guarded(self) -> bool:
        """Whether it does not take every message that other managers send."""
        return bool(self.permissions) or self.authenticate or self.privacy != 1

    def changed(self, now: int, **changes: Any) -> QueueProperties:
        """The same with some values changed."""
        return replace(self, modified=now, **changes)

    def to_row(self) -> bytes:
        """The bytes to store; readable, since there are few of them."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps(values, default=str, ensure_ascii=False).encode()

    @classmethod
    def from_row(cls, raw: bytes) -> QueueProperties:
        """The reverse of `to_row`; what a newer version added is left out."""
        values = json.loads(raw)
        known = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        known |= {name: UUID(known[name]) for name in ("id", "type")}
        known["kind"] = QueueKind(known["kind"])
        known["poison"] = Poison(known.get("poison", Poison.SUBQUEUE))
        known["purpose"] = Purpose(known.get("purpose", Purpose.SEND))
        return cls(**known)


class Follower(Protocol):
    """Who looks at the messages of a queue without taking them."""

    def came(self, lookups: Iterable[int]) -> None:
        """Messages have become readable."""

    def look_again(self) -> None:
        """Any message may have become readable."""


@dataclass(slots=True, eq=False)
class ManagedQueue:
    """A queue of this manager while it runs."""

    number: int
    "PrivateQueueNumber; also its place in the index."
    properties: QueueProperties
    kind: QueueKind = field(init=False)
    "What it is for, which never changes."
    messages: int = 0
    "How many lie in the store, those of open transactions not counted."
    size: int = 0
    "Their bytes; see `reserved` for what is on its way."
    reserved: int = 0
    "Bytes of messages that were accepted but are not in the store yet."
    express: ExpressMessages = field(default_factory=ExpressMessages)
    "Those that need not outlive the process."
    holds: Holds = field(default_factory=Holds)
    "Messages that were taken and are not yet removed or returned."
    waiters: deque[Waiter] = field(default_factory=deque)
    modes: list[Mode] = field(default_factory=list)
    "How the open handles were opened."
    start: int = 0
    "No message at or below this lookup identifier is readable."
    gap: tuple[int, int] = (0, 0)
    "Nothing above the first and up to the second of these lookup identifiers is readable."
    purge_mark: int = 0
    "While a purge is under way: messages that arrived up to this number are not there any more."
    purges: list[int] = field(default_factory=list)
    "The marks of the purges under way."
    spared: set[int] = field(default_factory=set)
    "Messages that have come since, with numbers from before: those are not about them."
    purge_pending: set[int] = field(default_factory=set)
    "Messages that were held when the queue was purged, and go when they are given back."
    totals: list[int] = field(default_factory=lambda: list(NO_TOTALS))
    "What it counts since it was made (`Total`)."
    deleted: bool = False
    is_stored: bool = True
    "The store knows it: queues that come and go by themselves are written with their messages."
    pins: int = 0
    "What is under way that will put messages into it, although it may be empty now."
    transfer: Transfer | None = None
    "For an outgoing queue: what is known of the way to its destination."
    sequences: Sequences = field(default_factory=Sequences)
    "For an outgoing queue: the numbers of its transactional messages."
    parent: ManagedQueue | None = None
    "The queue whose journal or subqueue this is."
    journal: ManagedQueue | None = None
    delayed: ManagedQueue | None = None
    "Where its messages wait that cannot be read yet."
    members: tuple[ManagedQueue, ...] = ()
    "What is sent goes to all of these."
    followers: list[Follower] = field(default_factory=list)
    "Who wants to know which messages become readable."
    subqueues: dict[str, ManagedQueue] = field(default_factory=dict)
    "By folded name, those that are open or have messages."

    @property
    def name(self) -> str:
        """Its path below the computer, or the format name of an outgoing queue's destination."""
        return self.properties.name

    def __post_init__(self) -> None:
        self.kind = self.properties.kind

    @property
    def main(self) -> ManagedQueue:
        """The queue itself, for a journal or subqueue the one it belongs to."""
        return self.parent or self

    @property
    def is_outgoing(self) -> bool:
        """Its messages are for another manager, now or later."""
        kind = self.properties.kind
        return kind is QueueKind.OUTGOING or (kind is QueueKind.DELAYED and self.main.is_outgoing)

    @property
    def is_paused(self) -> bool:
        """Nothing is sent from it until it is resumed."""
        return self.transfer is not None and self.transfer.state is TransferState.ON_HOLD

    @property
    def is_in_use(self) -> bool:
        """It holds messages, or must be found when it is empty."""
        return bool(
            self.messages
            or self.express
            or self.reserved
            or self.modes
            or self.holds
            or self.pins
            or self.is_paused
            or (self.delayed is not None and self.delayed.messages)
            or (
                self.kind is QueueKind.OUTGOING
                and self.journal is not None
                and self.journal.messages
            )
        )

    @property
    def total_size(self) -> int:
        """All bytes that count against the quota, from acceptance to removal (A-04)."""
        return self.size + self.reserved + self.express.size

    @property
    def quota_size(self) -> int:
        """The same with subqueues and delayed messages, which count for its quota, too (A-05)."""
        waiting = 0 if self.delayed is None else self.delayed.size
        return self.total_size + waiting + sum(sub.total_size for sub in self.subqueues.values())

    @property
    def has_purged(self) -> bool:
        """There may be messages for which `is_purged` holds."""
        return bool(self.purge_pending) or self.purge_mark > 0

    def is_purged(self, lookup: int) -> bool:
        """Whether a message is removed as soon as it is released (PurgePending)."""
        if lookup in self.purge_pending:
            return True
        return lookup & ARRIVAL_MASK <= self.purge_mark and lookup not in self.spared

    def came(self, lookups: Iterable[int]) -> None:
        """Messages have come into the queue, which purges under way do not take."""
        if self.purges:
            self.spared.update(lookups)

    def readable_again(self, lookups: Sequence[int]) -> None:
        """Take note that messages, in their order, can be read again, or are new.

        If they are in front of others that are held, the `gap` between is not walked again.
        """
        first, end = self.gap
        if self.start >= end:
            if lookups[0] > self.start:
                return
            first, end = 0, self.start
        back = bisect_right(lookups, end)
        if back:
            self.gap = max(first, lookups[back - 1]), end
            self.start = min(self.start, lookups[0] - 1)

    def parts_after(self, after: int) -> list[tuple[int, int]]:
        """Ranges of lookup identifiers above `after` in which messages may be readable.

        Each begins above its first number and ends with its second.
        """
        after = max(after, self.start)
        first, end = self.gap
        if after >= end:
            return [(after, LOOKUP_MAX)]
        if after >= first:
            return [(end, LOOKUP_MAX)]
        return [(after, first), (end, LOOKUP_MAX)]


def journal_of(queue: ManagedQueue) -> ManagedQueue:
    """The journal of a queue, which exists as soon as it is asked for (3.1.1.2, DMPR-117).

    That of an outgoing queue holds what is not confirmed yet (AwaitingFinalACKTable, [MS-MQQB]
    3.1.1.3.1).
    """
    if queue.journal is None:
        properties = replace(
            queue.properties,
            name=queue.name + JOURNAL_SUFFIX,
            kind=QueueKind.UNCONFIRMED if queue.kind is QueueKind.OUTGOING else QueueKind.JOURNAL,
            quota=queue.properties.journal_quota,
        )
        queue.journal = ManagedQueue(queue.number | JOURNAL_BIT, properties, parent=queue)
    return queue.journal


def delayed_of(queue: ManagedQueue) -> ManagedQueue:
    """Where the messages of a queue wait that cannot be read yet; it is there if need be."""
    if queue.delayed is None:
        properties = replace(
            queue.properties, name=f"{queue.name} (delayed)", kind=QueueKind.DELAYED
        )
        queue.delayed = ManagedQueue(queue.number | DELAYED_BIT, properties, parent=queue)
    return queue.delayed


def derive(queue: ManagedQueue) -> None:
    """Let journal and subqueues have the properties their queue has now (A-05)."""
    own = queue.properties
    for sub in queue.subqueues.values():
        sub.properties = replace(own, name=sub.name, kind=QueueKind.SUBQUEUE, id=sub.properties.id)
    if queue.journal is not None:
        queue.journal.properties = replace(
            own, name=queue.journal.name, kind=queue.journal.kind, quota=own.journal_quota
        )


def _is_storable(text: str) -> bool:
    """Whether a text can be written as UTF-8: halves of surrogate pairs cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def outgoing_name(queue: ManagedQueue) -> str:
    """The destination of an outgoing queue, which is forgotten when it is empty; else nothing."""
    return queue.name if queue.kind is QueueKind.OUTGOING else ""
