"""A queue that a remote client has open, and its reads that are not ended ([MS-MQRR] 3.1.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from openmsmq.engine.commit.future import Future
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.messages.cursor import QueueCursor
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import InsufficientResources, InvalidParameter
from openmsmq.interfaces.limits import CURSORS_MAX, REQUESTS_MAX
from openmsmq.rpc.association import Association


@dataclass(slots=True)
class PendingRead:
    """PendingRequestEntry: a read that waits, or whose message is not ended ([MS-MQRR] 3.1.1.3)."""

    read: Future[list[Entry]] | None = None
    "As long as it waits."
    transaction: ManagedTransaction | None = None
    "That the message is for, if it is for one."
    lookup_id: int = 0
    "Of the message that it holds."
    due: tuple[float, int] | None = None
    "When the wait is over, or the message returns to its place: its place among all."


@dataclass(slots=True, eq=False)
class QueueContext:
    """What a context handle of RemoteRead stands for."""

    handle: QueueHandle
    association: Association
    principal: str
    "Who opened it; other users of the association cannot use it."
    least_level: int
    "The authentication level that calls with it need."
    close: Callable[[QueueContext], None]
    "Closes it; the server's."
    subqueue: str = ""
    "The name of the subqueue that is open; empty for a queue."
    move_context: int = 0
    "The number that stands for it in moves; 0 for a queue that is not opened to move to."
    cursors: dict[int, QueueCursor] = field(default_factory=dict)
    requests: dict[int, PendingRead] = field(default_factory=dict)

    def run_down(self) -> None:
        """The client is gone ([MS-MQRR] 3.1.6.2)."""
        self.close(self)

    def add_request(self, request_id: int) -> PendingRead:
        """A new entry; the number must not be in use ([MS-MQRR] 3.1.4.7)."""
        if request_id in self.requests:
            raise InvalidParameter(f"request {request_id} is not ended")
        if len(self.requests) >= REQUESTS_MAX:
            raise InsufficientResources(f"{REQUESTS_MAX} reads wait or are not ended")
        request = self.requests[request_id] = PendingRead()
        return request

    def require_room_for_cursor(self) -> None:
        """Refuse more cursors than a handle may have."""
        if len(self.cursors) >= CURSORS_MAX:
            raise InsufficientResources(f"{CURSORS_MAX} cursors are open")
