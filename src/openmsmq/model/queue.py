"""A queue: its properties, and what is in memory about its messages."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from openmsmq.errors import IllegalPropertyValue
from openmsmq.model.express import ExpressMessages
from openmsmq.model.layout import ARRIVAL_MASK

if TYPE_CHECKING:
    from openmsmq.model.opening import Mode
    from openmsmq.model.reading import Holder, Waiter

NO_QUOTA: Final = 0xFFFFFFFF
LABEL_MAX: Final = 124
NO_TYPE: Final = UUID(int=0)


@dataclass(frozen=True, slots=True)
class QueueProperties:
    """The attributes of a queue that last ([MS-MQDMPR] 3.1.1.2)."""

    name: str
    r"Its path below the computer: `private$\orders`, or `orders` for a public queue."
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

    def __post_init__(self) -> None:
        """Refuse values outside their sets ([MS-MQMQ] 2.3.1)."""
        if len(self.label) > LABEL_MAX:
            raise IllegalPropertyValue(f"a queue label has at most {LABEL_MAX} characters")
        for name in ("quota", "journal_quota"):
            value = getattr(self, name)
            if not 0 <= value <= NO_QUOTA:
                raise IllegalPropertyValue(f"{name} {value}: 0 to {NO_QUOTA} KiB are possible")
        if self.privacy not in (0, 1, 2):
            raise IllegalPropertyValue(f"privacy {self.privacy}: 0, 1 or 2 are possible")
        if not -32768 <= self.base_priority <= 32767:
            raise IllegalPropertyValue(f"base_priority {self.base_priority} does not fit 16 bits")

    def changed(self, now: int, **changes: Any) -> QueueProperties:
        """The same with some values changed."""
        return replace(self, modified=now, **changes)

    def to_row(self) -> bytes:
        """The bytes to store; readable, since there are few of them."""
        return json.dumps(asdict(self), default=str, ensure_ascii=False).encode()

    @classmethod
    def from_row(cls, raw: bytes) -> QueueProperties:
        """The reverse of `to_row`; what a newer version added is left out."""
        values = json.loads(raw)
        known = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        known |= {name: UUID(known[name]) for name in ("id", "type")}
        return cls(**known)


@dataclass(slots=True, eq=False)
class Queue:
    """A queue of this manager while it runs."""

    number: int
    "PrivateQueueNumber; also its place in the index."
    properties: QueueProperties
    messages: int = 0
    "How many lie in the store, those of open transactions not counted."
    size: int = 0
    "Their bytes; see `reserved` for what is on its way."
    reserved: int = 0
    "Bytes of messages that were accepted but are not in the store yet."
    express: ExpressMessages = field(default_factory=ExpressMessages)
    "Those that need not outlive the process."
    held: dict[int, Holder] = field(default_factory=dict)
    "Messages somebody has taken and not yet removed or given back."
    waiters: deque[Waiter] = field(default_factory=deque)
    modes: list[Mode] = field(default_factory=list)
    "How the open handles were opened."
    start: int = 0
    "No message at or below this lookup identifier is readable."
    purge_mark: int = 0
    "Messages that arrived up to this number are purged, though not all may be removed yet."
    purged_to: int = 0
    "The same, without the purges that are under way."
    purges: list[int] = field(default_factory=list)
    "The marks of those."
    deleted: bool = False

    @property
    def total_size(self) -> int:
        """All bytes that count against the quota, from acceptance to removal (A-04)."""
        return self.size + self.reserved + self.express.size

    def is_purged(self, lookup: int) -> bool:
        """Whether a message goes as soon as nobody holds it (PurgePending)."""
        return lookup & ARRIVAL_MASK <= self.purge_mark

    def readable_from(self, lookup: int) -> None:
        """Take note that a message above `lookup` - 1 can be read again, or is new."""
        if lookup <= self.start:
            self.start = lookup - 1
