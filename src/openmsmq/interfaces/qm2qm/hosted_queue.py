"""A queue that is open for older remote read, and its reads ([MS-MQQP] 3.1.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.messages.cursor import QueueCursor
from openmsmq.errors import InsufficientResources
from openmsmq.interfaces.limits import CURSORS_MAX, REQUESTS_MAX
from openmsmq.interfaces.waits import WaitingRead
from openmsmq.rpc.association import Association


@dataclass(slots=True, eq=False)
class HostedQueue:
    """An open queue with its RemoteReadState ([MS-MQDMPR] 3.1.1.16; SS-07).

    It is Opened until a session takes it, and ReadyForRead from then on.
    """

    number: int
    handle: QueueHandle
    least_level: int
    "The authentication level that it was opened with, which its readers need as well."
    opener: Association
    reader: Association | None = None
    "Whose session reads it; calls of others with its number are refused (SS-03)."
    is_closed: bool = False
    cursors: dict[int, QueueCursor] = field(default_factory=dict)
    waiting: dict[int, WaitingRead] = field(default_factory=dict)
    "By dwRequestID."

    def require_room(self) -> None:
        """Refuse more reads than may wait for one queue."""
        if len(self.waiting) >= REQUESTS_MAX:
            raise InsufficientResources(f"{REQUESTS_MAX} reads wait")

    def require_room_for_cursor(self) -> None:
        """Refuse more cursors than a queue may have."""
        if len(self.cursors) >= CURSORS_MAX:
            raise InsufficientResources(f"{CURSORS_MAX} cursors are open")


@dataclass(slots=True, eq=False)
class OpenedContext:
    """PCTX_OPENREMOTE_HANDLE_TYPE: who opened the queue ([MS-MQMP] 2.2.1.1)."""

    queue: HostedQueue
    close: Callable[[HostedQueue], None]

    def run_down(self) -> None:
        """The opener is gone: a queue that no session has taken is closed ([MS-MQMP] 3.1.7)."""
        if self.queue.reader is None:
            self.close(self.queue)


@dataclass(slots=True, eq=False)
class ReadSession:
    """PCTX_RRSESSION_HANDLE_TYPE: who reads the queue ([MS-MQQP] 2.2.1.1)."""

    queue: HostedQueue
    close: Callable[[HostedQueue], None]

    def run_down(self) -> None:
        """The reader is gone, as if it had closed the queue ([MS-MQQP] 3.1.6.1)."""
        self.close(self.queue)


@dataclass(slots=True, eq=False)
class HeldRead:
    """PCTX_REMOTEREAD_HANDLE_TYPE: a message that was read and is not ended ([MS-MQQP] 2.2.1.2)."""

    queue: HostedQueue
    lookup_id: int
    release: Callable[[HeldRead], None]

    def run_down(self) -> None:
        """The reader is gone: the message is back in its place ([MS-MQQP] 3.1.6.2)."""
        self.release(self)
