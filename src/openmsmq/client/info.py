"""What is known about a queue, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from openmsmq.model.queue import NO_QUOTA, Queue


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """The properties of a queue and how much is in it, at one moment."""

    name: str
    r"Its path name: `.\private$\orders`."
    id: UUID
    transactional: bool
    journal: bool
    messages: int
    "How many can be read or are held by readers; not those of open transactions."
    bytes: int
    quota: int | None
    "KiB; None for no limit."
    label: str
    created: int
    "Seconds since 1970 UTC."
    modified: int

    @classmethod
    def of(cls, queue: Queue) -> QueueInfo:
        """What is known about `queue` now."""
        properties = queue.properties
        return cls(
            name=f".\\{properties.name}",
            id=properties.id,
            transactional=properties.transactional,
            journal=properties.journal,
            messages=queue.messages + len(queue.express),
            bytes=queue.size + queue.express.size,
            quota=None if properties.quota == NO_QUOTA else properties.quota,
            label=properties.label,
            created=properties.created,
            modified=properties.modified,
        )
