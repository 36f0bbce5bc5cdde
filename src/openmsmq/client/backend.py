"""What the API asks of whoever keeps the queues: this process itself, or a service elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from openmsmq.engine.messages.receive import Seek
from openmsmq.engine.queues.access import Access, Mode
from openmsmq.errors import InvalidParameter


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
    def sought(self) -> Seek:
        """Which message `lookup_id` leads to, whether it was given by name or not."""
        return Seek(self.seek)


class Handle:
    """An open queue, as a backend knows it."""

    __slots__ = ("mode", "name")

    def __init__(self, name: str, mode: Mode) -> None:
        self.name = name
        r"Its path name, `.\private$\orders`, or the format name it sends to."
        self.mode = mode

    def require(self, access: Access) -> None:
        """Refuse what the handle was not opened for."""
        self.mode.require(access)


class CursorHandle:
    """A cursor, as a backend knows it."""

    __slots__ = ()


class Work:
    """A transaction, as a backend knows it."""

    __slots__ = ()
