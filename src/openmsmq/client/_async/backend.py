"""What the API needs of a queue manager: one of this process, or a service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from openmsmq.app_protocol.members import Members
from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.client.backend import CursorHandle, Handle, Work
from openmsmq.types.access import Mode
from openmsmq.types.delivery import DeliveryOptions, RedirectOptions
from openmsmq.types.history import AuditEntry, HistoryEvent, QueueHistory
from openmsmq.types.ids import SentId
from openmsmq.types.message import Message
from openmsmq.types.outgoing import OutgoingInfo
from openmsmq.types.peers import MulticastInfo, PeerInfo
from openmsmq.types.queues import QueueInfo
from openmsmq.types.read import Read
from openmsmq.types.received import ReceivedMessage
from openmsmq.types.settings import Settings
from openmsmq.types.subscriptions import Binding, SubscriptionInfo
from openmsmq.types.units import UnitInfo, UnitState

Completion = Callable[[], Awaitable[None]]
"Waits for the outcome of something that was begun, and raises if it failed."


async def completed() -> None:
    """There is nothing to wait for."""


class StreamBackend(Protocol):
    """Messages that come by themselves and are held until they are ended."""

    async def next(self, timeout: float | None) -> list[ReceivedMessage]:
        """The next messages, as soon as there is one."""
        ...

    async def end(self, lookups: list[int], work: Work | None, *, remove: bool) -> None:
        """Remove messages that are held, perhaps as part of a transaction, or return them."""
        ...

    async def come_within(self, seconds: float) -> list[ReceivedMessage]:
        """Messages that come within a time; perhaps none."""
        ...

    async def begin_removal(self, lookups: list[int]) -> Completion:
        """Let messages that are held be removed; what this returns waits until they are."""
        ...

    async def close(self) -> None:
        """No more are wanted; those that are held stay so until they are ended."""
        ...


class SubscriptionBackend(Protocol):
    """A durable subscription: reserved messages can be read again until they are committed."""

    @property
    def committed(self) -> int:
        """The last committed position."""
        ...

    @property
    def reserved(self) -> int:
        """The last reserved position."""
        ...

    @property
    def owner(self) -> str:
        """The owner when it was last queried."""
        ...

    @property
    def marked(self) -> int:
        """The last position that was marked as read when it was opened."""
        ...

    async def bind(self, binding: Binding) -> None:
        """Let it belong to the owner that it was opened for."""
        ...

    async def mark_read(self, after: int, last: int) -> None:
        """Its owner has read all behind one position up to another."""
        ...

    async def reserve(self, after: int, count: int, size_max: int) -> int:
        """Up to which position there is something to read."""
        ...

    async def size(self, after: int, last: int) -> int:
        """The bytes of reserved messages behind one position up to another."""
        ...

    async def read(self, after: int, last: int) -> list[ReceivedMessage]:
        """Messages that it was given behind a position; as many as fit a frame."""
        ...

    async def read_slices(self, after: int, last: int) -> tuple[QueuedSlice, ...]:
        """The same for those who read many: messages as they lie together."""
        ...

    async def commit(self, position: int, move_to: str) -> None:
        """Commit all messages up to a position."""
        ...


class Backend(Protocol):
    """Where the queues are kept: in this process, by a service, or on another computer."""

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

    async def create_queue(self, name: str, properties: dict[str, Any]) -> None:
        """Create a queue."""
        ...

    async def delete_queue(self, name: str) -> None:
        """Delete a queue with all its messages."""
        ...

    async def open_queue(self, name: str, mode: Mode) -> Handle:
        """Open a queue."""
        ...

    async def close_queue(self, handle: Handle) -> None:
        """Close a queue; reads that wait on it are cancelled."""
        ...

    async def queues(self, *, everything: bool) -> list[QueueInfo]:
        """All queues."""
        ...

    async def outgoing(self) -> list[OutgoingInfo]:
        """All outgoing queues."""
        ...

    async def peers(self) -> list[PeerInfo]:
        """Other queue managers, as far as they are known."""
        ...

    async def multicast(self) -> list[MulticastInfo]:
        """The sessions of groups."""
        ...

    async def control(self, call: str, /, **arguments: Any) -> Members:
        """Make a call about the service itself, once."""
        ...

    async def queue_info(self, handle: Handle) -> QueueInfo:
        """What is known of a queue."""
        ...

    async def change_queue(self, handle: Handle, changes: dict[str, Any]) -> None:
        """Give a queue other properties."""
        ...

    async def permissions(self, handle: Handle) -> str:
        """The permissions of a queue, in SDDL."""
        ...

    async def set_permissions(self, handle: Handle, sddl: str) -> None:
        """Give a queue other permissions."""
        ...

    async def purge(self, handle: Handle) -> int:
        """Remove all messages of a queue; how many there were."""
        ...

    async def pause(self, handle: Handle) -> None:
        """Send nothing from an outgoing queue."""
        ...

    async def resume(self, handle: Handle) -> None:
        """Undo `pause`."""
        ...

    async def retry(self, handle: Handle) -> None:
        """Try now to send from an outgoing queue."""
        ...

    async def send(
        self,
        handle: Handle,
        messages: list[Message],
        work: Work | None,
        delivery: DeliveryOptions | None,
    ) -> Sequence[SentId]:
        """Send messages, all or none; their ids."""
        ...

    async def send_packets(
        self, handle: Handle, packets: Sequence[bytes], work: Work | None
    ) -> Sequence[SentId]:
        """The same for messages that are packets already."""
        ...

    async def read(
        self, handle: Handle, read: Read, work: Work | None, cursor: CursorHandle | None
    ) -> list[ReceivedMessage]:
        """Receive or peek."""
        ...

    async def peek_slices(self, handle: Handle, read: Read) -> tuple[QueuedSlice, ...]:
        """Peek, for those who read many: messages as they lie together."""
        ...

    async def open_stream(self, handle: Handle, prefetch: int) -> StreamBackend:
        """Let messages come, up to `prefetch` that are not ended."""
        ...

    async def open_subscription(
        self, handle: Handle, name: str, *, copy: bool, owner: str
    ) -> SubscriptionBackend:
        """The subscription with this name, begun if it is not there yet."""
        ...

    async def subscriptions(self, name: str) -> list[SubscriptionInfo]:
        """All durable subscriptions, or those with this name."""
        ...

    async def drop_subscription(self, name: str, queue: str, *, unread: bool) -> int:
        """End a subscription, or only give back what it has skipped; how many messages it gives."""
        ...

    async def move(self, handle: Handle, lookup_id: int, target: str, work: Work | None) -> None:
        """Move a message between a queue and its subqueues."""
        ...

    async def reject(self, handle: Handle, lookup_id: int, work: Work | None) -> None:
        """Say that a message which was received in a transaction is not wanted."""
        ...

    async def redirect(
        self, handle: Handle, lookups: list[int], target: Handle, options: RedirectOptions
    ) -> dict[int, SentId]:
        """Send messages again to another queue; the ids of the new ones, by lookup identifier."""
        ...

    async def open_cursor(self, handle: Handle) -> CursorHandle:
        """A cursor before the first message."""
        ...

    async def close_cursor(self, cursor: CursorHandle) -> None:
        """Close a cursor; a read that waits with it is cancelled."""
        ...

    async def begin(self, xid: str, *, stage: bool) -> Work:
        """Begin a transaction."""
        ...

    async def prepare(self, work: Work) -> None:
        """Write down what a transaction did."""
        ...

    async def commit(self, work: Work, participants: Sequence[str] = ()) -> None:
        """Let what a transaction did take effect, and a unit whose participants are prepared."""
        ...

    async def abort(self, work: Work) -> None:
        """Undo what a transaction did."""
        ...

    async def prepared(self) -> dict[str, int]:
        """The names of prepared transactions, and for how many seconds each is."""
        ...

    async def commit_prepared(self, xid: str) -> None:
        """Commit a prepared transaction; again, if that was lost."""
        ...

    async def abort_prepared(self, xid: str) -> None:
        """Abort a prepared transaction; again, if that was lost."""
        ...

    async def is_open(self, work: Work) -> bool:
        """Whether a transaction is still there, as far as one can tell."""
        ...

    async def unit_states(self, xids: list[str]) -> dict[str, UnitState]:
        """Where units stand that this manager decides."""
        ...

    async def finish_unit(self, xid: str, confirmed: list[str]) -> None:
        """Some participants have confirmed a unit; again, if that was lost."""
        ...

    async def units(self) -> list[UnitInfo]:
        """The units that are decided and not confirmed by all."""
        ...

    async def commit_epoch(
        self, writer: str, epoch: int, winners: list[str], owner: str, *, final: bool
    ) -> bool:
        """Decide an epoch; False if it was decided before."""
        ...

    async def explain(self, message_id: str) -> list[HistoryEvent]:
        """The life of a message."""
        ...

    async def queue_history(self, name: str, before: int, limit: int) -> QueueHistory:
        """What happened in a queue before a place, the newest first."""
        ...

    async def audit(self, after: int, limit: int) -> list[AuditEntry]:
        """Entries of the audit log behind a number, up to `limit`."""
        ...

    async def statistics(self) -> dict[str, int]:
        """What happened how often."""
        ...

    async def settings(self) -> Settings:
        """What is set."""
        ...

    async def configure(self, changes: dict[str, Any]) -> None:
        """Change settings."""
        ...

    async def close(self) -> None:
        """Release everything."""
        ...
