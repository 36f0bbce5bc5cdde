"""Which messages are read, and how long a read waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, auto

from openmsmq.errors import InvalidParameter


class Seek(StrEnum):
    """Which message a lookup identifier leads to (MessageSeekAction, [MS-MQDMPR] 3.1.1.17)."""

    CURRENT = auto()
    NEXT = auto()
    PREVIOUS = auto()
    FIRST = auto()
    LAST = auto()
    BEHIND = auto()
    "The next one, whether or not there is a message with the identifier; not of the protocol."
    AHEAD = auto()
    "Likewise the previous one."


@dataclass(frozen=True, slots=True)
class Read:
    """What is to be read, and how long to wait for it."""

    take: bool
    "Take the messages; else only look at them."
    count: int = 1
    timeout: float | None = None
    "Seconds to wait for the first message; None waits for ever."
    lookup_id: int | None = None
    seek: Seek | str = Seek.CURRENT
    "Which message `lookup_id` leads to."
    following: bool = False
    "With a cursor: go on to the next message first."

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InvalidParameter(f"count {self.count}: at least 1 message can be asked for")
        if self.timeout is not None and not self.timeout >= 0:
            raise InvalidParameter(
                f"timeout {self.timeout}: seconds from 0, or None to wait for ever"
            )
        if self.seek not in tuple(Seek):
            raise InvalidParameter(f"seek {self.seek!r}: one of {', '.join(Seek)}")

    @property
    def is_back(self) -> bool:
        """Whether it looks at several messages, the last first: before a place, or of all."""
        return not self.take and self.count > 1 and self.seek in (Seek.AHEAD, Seek.LAST)

    @property
    def sought(self) -> Seek:
        """Which message `lookup_id` leads to, whether it was given by name or not."""
        return Seek(self.seek)


def behind(after: int, count: int, timeout: float | None) -> Read:
    """A peek at messages behind a place in the queue, or from its head."""
    if not after:
        return Read(take=False, count=count, timeout=timeout)
    return Read(take=False, count=count, timeout=timeout, lookup_id=after, seek=Seek.BEHIND)
