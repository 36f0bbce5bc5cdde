"""Written from `_async/backend.py` by `make fix`: change that file, not this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from openmsmq.client.backend import CursorHandle, Handle, Work
from openmsmq.types.access import Mode
from openmsmq.types.delivery import Delivery
from openmsmq.types.history import HistoryEvent
from openmsmq.types.ids import SentId
from openmsmq.types.message import Message
from openmsmq.types.outgoing import OutgoingInfo
from openmsmq.types.peers import PeerInfo
from openmsmq.types.queues import QueueInfo
from openmsmq.types.read import Read
from openmsmq.types.received import ReceivedMessage
from openmsmq.types.settings import Settings
from openmsmq.types.subscriptions import Binding, SubscriptionInfo
from openmsmq.types.units import UnitInfo, UnitState


class Subscription(Protocol):
    """Messages that come by themselves and are held until they are ended."""

    def next(self, timeout: float | None) -> list[ReceivedMessage]:
        """The next messages, as soon as there is one."""
        ...

    def end(self, lookups: list[int], work: Work | None, *, remove: bool) -> None:
        """Remove messages that are held, perhaps as part of a transaction, or return them."""
        ...

    def close(self) -> None:
        """No more are wanted; those that are held stay so until they are ended."""
        ...


class Reader(Protocol):
    """A subscription with a name: what it was given it is given again, until it is done with it."""

    @property
    def done(self) -> int:
        """It is done with all up to this position."""
        ...

    @property
    def end(self) -> int:
        """It was given all up to this position."""
        ...

    @property
    def owner(self) -> str:
        """Who it belonged to when that was last asked for."""
        ...

    def bind(self, binding: Binding) -> None:
        """Let it belong to the owner that it was opened for."""
        ...

    def mark_read(self, after: int, last: int) -> None:
        """Its owner has read all behind one position up to another."""
        ...

    def reserve(self, after: int, count: int, size_max: int) -> int:
        """Up to which position there is something to read."""
        ...

    def read(self, after: int, last: int) -> list[ReceivedMessage]:
        """Messages that it was given behind a position; as many as fit a frame."""
        ...

    def read_packed(self, after: int, last: int) -> bytes:
        """The same as the payload of MESSAGES."""
        ...

    def finish(self, position: int, move_to: str) -> None:
        """It is done with all up to a position."""
        ...


class Backend(Protocol):
    """Whoever keeps the queues."""

    @property
    def name(self) -> str:
        """What other computers call the manager's computer."""
        ...

    @property
    def id(self) -> str:
        """The GUID of the queue manager."""
        ...

    @property
    def state(self) -> str:
        """Where the manager stands: `ready`, ..."""
        ...

    def create_queue(self, name: str, properties: dict[str, Any]) -> None:
        """Create a queue."""
        ...

    def delete_queue(self, name: str) -> None:
        """Delete a queue with all its messages."""
        ...

    def open_queue(self, name: str, mode: Mode) -> Handle:
        """Open a queue."""
        ...

    def close_queue(self, handle: Handle) -> None:
        """Close a queue; reads that wait on it are cancelled."""
        ...

    def queues(self, *, everything: bool) -> list[QueueInfo]:
        """All queues."""
        ...

    def outgoing(self) -> list[OutgoingInfo]:
        """All outgoing queues."""
        ...

    def peers(self) -> list[PeerInfo]:
        """Other queue managers, as far as they are known."""
        ...

    def queue_info(self, handle: Handle) -> QueueInfo:
        """What is known of a queue."""
        ...

    def change_queue(self, handle: Handle, changes: dict[str, Any]) -> None:
        """Give a queue other properties."""
        ...

    def purge(self, handle: Handle) -> int:
        """Remove all messages of a queue; how many there were."""
        ...

    def pause(self, handle: Handle) -> None:
        """Send nothing from an outgoing queue."""
        ...

    def resume(self, handle: Handle) -> None:
        """Undo `pause`."""
        ...

    def retry(self, handle: Handle) -> None:
        """Try now to send from an outgoing queue."""
        ...

    def send(
        self,
        handle: Handle,
        messages: list[Message],
        work: Work | None,
        delivery: Delivery | None,
    ) -> Sequence[SentId]:
        """Send messages, all or none; their ids."""
        ...

    def read(
        self, handle: Handle, read: Read, work: Work | None, cursor: CursorHandle | None
    ) -> list[ReceivedMessage]:
        """Receive or peek."""
        ...

    def read_packed(self, handle: Handle, read: Read) -> bytes:
        """Peek, for those who read many: the payload of MESSAGES."""
        ...

    def subscribe(self, handle: Handle, prefetch: int) -> Subscription:
        """Let messages come, up to `prefetch` that are not ended."""
        ...

    def open_reader(self, handle: Handle, name: str, *, copy: bool, owner: str) -> Reader:
        """The subscription with this name, begun if it is not there yet."""
        ...

    def subscriptions(self) -> list[SubscriptionInfo]:
        """All subscriptions with a name."""
        ...

    def drop_subscription(self, name: str, queue: str, *, unread: bool) -> int:
        """End a subscription, or only give back what it has skipped; how many messages it gives."""
        ...

    def move(self, handle: Handle, lookup_id: int, target: str, work: Work | None) -> None:
        """Move a message between a queue and its subqueues."""
        ...

    def open_cursor(self, handle: Handle) -> CursorHandle:
        """A cursor before the first message."""
        ...

    def close_cursor(self, cursor: CursorHandle) -> None:
        """Close a cursor; a read that waits with it is cancelled."""
        ...

    def begin(self, xid: str, *, stage: bool) -> Work:
        """Begin a transaction."""
        ...

    def prepare(self, work: Work) -> None:
        """Write down what a transaction did."""
        ...

    def commit(self, work: Work, participants: Sequence[str] = ()) -> None:
        """Let what a transaction did take effect, and a unit whose participants are prepared."""
        ...

    def abort(self, work: Work) -> None:
        """Undo what a transaction did."""
        ...

    def prepared(self) -> dict[str, int]:
        """The names of prepared transactions, and for how many seconds each is."""
        ...

    def commit_prepared(self, xid: str) -> None:
        """Commit a prepared transaction; again, if that was lost."""
        ...

    def abort_prepared(self, xid: str) -> None:
        """Abort a prepared transaction; again, if that was lost."""
        ...

    def is_open(self, work: Work) -> bool:
        """Whether a transaction is still there, as far as one can tell."""
        ...

    def unit_states(self, xids: list[str]) -> dict[str, UnitState]:
        """Where units stand that this manager decides."""
        ...

    def finish_unit(self, xid: str, confirmed: list[str]) -> None:
        """Some participants have confirmed a unit; again, if that was lost."""
        ...

    def units(self) -> list[UnitInfo]:
        """The units that are decided and not confirmed by all."""
        ...

    def commit_epoch(
        self, writer: str, epoch: int, winners: list[str], owner: str, *, once: bool
    ) -> bool:
        """Decide an epoch; False if it was decided before."""
        ...

    def explain(self, message_id: str) -> list[HistoryEvent]:
        """The life of a message."""
        ...

    def statistics(self) -> dict[str, int]:
        """What happened how often."""
        ...

    def settings(self) -> Settings:
        """What is set."""
        ...

    def configure(self, changes: dict[str, Any]) -> None:
        """Change settings."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...
