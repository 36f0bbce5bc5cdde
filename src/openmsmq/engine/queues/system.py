"""The queues that every manager has ([MS-MQDMPR] 3.1.3)."""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid5

from openmsmq import limits
from openmsmq.engine.queues.queue import QueueProperties
from openmsmq.limits import KIB, NO_QUOTA
from openmsmq.types.queues import REFUSED_QUEUE, QueueKind

NOTIFICATION: Final = 3
"[MS-MQCN] 1.9."
ORDER: Final = 4
"[MS-MQQB] 2.2.4."
JOURNAL: Final = 5
DEAD_LETTER: Final = 6
TRANSACTIONAL_DEAD_LETTER: Final = 7
REFUSED: Final = 8
FIRST_QUEUE_NUMBER: Final = 0x10
"The first number for queues that people make."

NAMES: Final = {
    NOTIFICATION: r"private$\notify_queue$",
    ORDER: r"private$\order_queue$",
    JOURNAL: "SYSTEM$;JOURNAL",
    DEAD_LETTER: "SYSTEM$;DEADLETTER",
    TRANSACTIONAL_DEAD_LETTER: "SYSTEM$;DEADXACT",
    REFUSED: REFUSED_QUEUE,
}
HIDDEN: Final = frozenset({NOTIFICATION, ORDER})
"Those that applications do not get to see."


def system_queues(identity: UUID, now: int) -> dict[int, QueueProperties]:
    """The properties of these queues when they are made."""
    return {
        number: QueueProperties(
            name,
            uuid5(identity, name),
            now,
            now,
            transactional=number == TRANSACTIONAL_DEAD_LETTER,
            kind=QueueKind.SYSTEM,
            quota=limits.REFUSED_SIZE_MAX // KIB if number == REFUSED else NO_QUOTA,
        )
        for number, name in NAMES.items()
    }
