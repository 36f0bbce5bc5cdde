"""An open queue: all that a program does with one goes through its handle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from openmsmq.engine.arrivals.given_protection import GivenProtection
from openmsmq.engine.authorization import authorize, authorize_queue, permitted_access
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.messages.cursor import QueueCursor
from openmsmq.engine.messages.receive import Receiver, same
from openmsmq.engine.messages.scan import NO_LIMIT, fetch, last_fitting
from openmsmq.engine.messages.send import Sender
from openmsmq.engine.queues.access import check_sharing, possible_access
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import REMOVING, Holder, SliceHolder
from openmsmq.engine.queues.info import path_name, queue_info
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import Parts as MessageParts
from openmsmq.engine.queues.subqueues import Moves
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import InvalidHandle, InvalidParameter, MessageNotFound, TransactionUsage
from openmsmq.security.access import QueueRights
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import Caller
from openmsmq.types.delivery import DeliveryOptions
from openmsmq.types.ids import SentId
from openmsmq.types.lookup import Range, overlap, ranges_of
from openmsmq.types.message import Message
from openmsmq.types.queues import VISIBLE, QueueInfo, QueueKind
from openmsmq.types.read import Seek

Entries = list[Entry]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a manager that open queues work with."""

    core: Core
    sender: Sender
    receiver: Receiver
    moves: Moves
    subqueue: Callable[[ManagedQueue, str], ManagedQueue]
    "Finds the subqueue of a queue with a name, its own or its full one."


class QueueHandle(SliceHolder):
    """An open queue (OpenQueueDescriptor, [MS-MQDMPR] 3.1.1.16).

    It knows who opened it and for what, and it holds the messages that were read through it and
    are neither removed nor returned yet. Calls return at once, some with an answer to wait for.
    """

    __slots__ = (
        "_can_send",
        "_cursors",
        "_parts",
        "_permissions",
        "_permitted",
        "is_closed",
        "mode",
        "name",
        "owner",
        "queue",
    )

    keeps_entries = True
    answers_at_once = True
    "A read that does not wait has its answer when the call returns."

    def __init__(self, parts: Parts, queue: ManagedQueue, mode: Mode, owner: Caller) -> None:
        self._parts: Final = parts
        self.queue: Final = queue
        self.mode: Final = mode
        self.name: Final = path_name(queue)
        r"Its path name, `.\private$\orders`, or the format name it sends to."
        self.owner: Final = owner
        self._permitted = mode
        "What of it the permissions allow now."
        self._can_send = Access.SEND in mode.access
        self._permissions = queue.properties.permissions
        "Those that were looked at last: the decision holds until they change."
        self._cursors: set[QueueCursor] = set()
        self.is_closed = False

    def _require(self, access: Access) -> None:
        """Refuse what the handle was not opened for, or what permissions do not allow any more."""
        if self._permissions is not self.queue.properties.permissions:
            self._permissions = self.queue.properties.permissions
            manager = self._parts.core.settings.permissions
            allowed = permitted_access(self.owner, self.queue, manager) & self.mode.access
            self._permitted = replace(self.mode, access=allowed)
            self._can_send = Access.SEND in allowed
        self._permitted.require(access, self.name)

    def require_redirect(self, access: Access) -> None:
        """Refuse to take messages out of the queue, or to put them in, that are sent again.

        Who may operate needs no more than what permissions and the kind of the queue allow.
        """
        if Access.OPERATE not in self.mode.access:
            self._require(access)
            return
        queue = self.queue
        permitted = permitted_access(self.owner, queue, self._parts.core.settings.permissions)
        Mode(permitted & possible_access(queue.kind)).require(access, self.name)
        if access is not Access.SEND:
            check_sharing(queue.modes, Mode(access))

    # Sending

    def send(
        self,
        messages: Sequence[Message],
        transaction: ManagedTransaction | None = None,
        delivery: DeliveryOptions | None = None,
    ) -> Future[Sequence[SentId]]:
        """Send messages to the queue, or to each of several: all of them or none."""
        if not self._can_send or self._permissions is not self.queue.properties.permissions:
            self._require(Access.SEND)
        return self._parts.sender.send(self.queue, messages, transaction, delivery, self.owner)

    def send_protected(
        self,
        message: Message,
        given: GivenProtection,
        transaction: ManagedTransaction | None = None,
    ) -> Future[Sequence[SentId]]:
        """The same with a message that a client elsewhere has signed or encrypted."""
        self._require(Access.SEND)
        sender = self._parts.sender
        return sender.send_protected(self.queue, message, given, transaction, self.owner)

    def send_packets(
        self,
        packets: Sequence[bytes],
        transaction: ManagedTransaction | None = None,
        delivery: DeliveryOptions | None = None,
    ) -> Future[Sequence[SentId]]:
        """The same with messages that a program has packed."""
        if not self._can_send or self._permissions is not self.queue.properties.permissions:
            self._require(Access.SEND)
        return self._parts.sender.send_packets(
            self.queue, packets, transaction, delivery, self.owner
        )

    def send_run(
        self, packets: bytes, count: int, transaction: ManagedTransaction | None = None
    ) -> Future[Sequence[SentId]]:
        """The same with packets one after the other."""
        if not self._can_send or self._permissions is not self.queue.properties.permissions:
            self._require(Access.SEND)
        return self._parts.sender.send_run(self.queue, packets, count, transaction, self.owner)

    # Reading

    def peek(
        self, count: int, *, wait: bool, after: int = 0, size_max: int = NO_LIMIT
    ) -> Future[Entries]:
        """Look at the first messages, or at those behind a lookup identifier."""
        self._require(Access.PEEK)
        return self._parts.receiver.peek(
            self.queue, count, self, wait=wait, after=after, size_max=size_max
        )

    def peek_parts(
        self, count: int, *, wait: bool, after: int = 0, size_max: int = NO_LIMIT
    ) -> Future[MessageParts]:
        """The same with messages of runs as slices."""
        self._require(Access.PEEK)
        return self._parts.receiver.peek(
            self.queue, count, self, wait=wait, after=after, size_max=size_max, shape=same
        )

    def receive(
        self,
        count: int,
        *,
        wait: bool,
        transaction: ManagedTransaction | None = None,
        hold: bool = False,
        size_max: int = NO_LIMIT,
    ) -> Future[Entries]:
        """Take the first messages: out of the queue, for a transaction, or to `hold` them.

        What is held is removed or returned by `end`.
        """
        self._require(Access.RECEIVE)
        return self._parts.receiver.receive(
            self.queue,
            count,
            self,
            wait=wait,
            holder=self._holder(transaction, hold=hold),
            size_max=size_max,
            caller=self.owner,
        )

    def receive_parts(
        self,
        count: int,
        *,
        wait: bool,
        transaction: ManagedTransaction | None = None,
        hold: bool = False,
        size_max: int = NO_LIMIT,
    ) -> Future[MessageParts]:
        """Take the first messages like `receive`, those of runs as slices."""
        self._require(Access.RECEIVE)
        return self._parts.receiver.receive_parts(
            self.queue,
            count,
            self,
            wait=wait,
            holder=self._holder(transaction, hold=hold),
            size_max=size_max,
            caller=self.owner,
        )

    def peek_at(self, lookup: int, seek: Seek) -> Future[Entries]:
        """Look at the message that a lookup identifier leads to."""
        self._require(Access.PEEK)
        return self._parts.receiver.by_lookup(self.queue, lookup, seek, peek=True)

    def peek_back(self, count: int, before: int, *, size_max: int = NO_LIMIT) -> Future[Entries]:
        """Look at messages before a lookup identifier, the last first."""
        self._require(Access.PEEK)
        core, queue = self._parts.core, self.queue
        found = last_fitting(core.snapshot, queue, count, before, core.expiry.overdue, size_max)
        if not found:
            raise MessageNotFound(f"there is no message before {before}")
        pending: Future[Entries] = Future()
        entries = fetch(core.snapshot, queue, found[::-1])  # which reads runs in their order
        pending.succeed(entries[::-1])
        return pending

    def receive_at(
        self,
        lookup: int,
        seek: Seek,
        *,
        transaction: ManagedTransaction | None = None,
        hold: bool = False,
    ) -> Future[Entries]:
        """Take the message that a lookup identifier leads to."""
        self._require(Access.RECEIVE)
        return self._parts.receiver.by_lookup(
            self.queue,
            lookup,
            seek,
            peek=False,
            holder=self._holder(transaction, hold=hold),
            caller=self.owner,
        )

    def peek_cursor(self, cursor: QueueCursor, *, wait: bool, following: bool) -> Future[Entries]:
        """Look at the message under a cursor, or go on to the following one."""
        self._require(Access.PEEK)
        self._require_cursor(cursor)
        return self._parts.receiver.peek_cursor(
            self.queue, cursor, self, wait=wait, following=following
        )

    def receive_cursor(
        self,
        cursor: QueueCursor,
        *,
        wait: bool,
        transaction: ManagedTransaction | None = None,
        hold: bool = False,
    ) -> Future[Entries]:
        """Take the message under a cursor."""
        self._require(Access.RECEIVE)
        self._require_cursor(cursor)
        return self._parts.receiver.receive_cursor(
            self.queue,
            cursor,
            self,
            wait=wait,
            holder=self._holder(transaction, hold=hold),
            caller=self.owner,
        )

    def cancel(self, read: Future[Any], error: BaseException) -> bool:
        """Cancel a read that waits; False if it does not wait any longer."""
        return self._parts.core.readers.cancel(self.queue, read, error)

    def put_back(self, entries: Entries) -> None:
        """Undo a receive that removed messages, since its caller is gone."""
        self._parts.receiver.put_back(self.queue, entries, self.owner)

    def _holder(self, transaction: ManagedTransaction | None, *, hold: bool) -> Holder:
        if transaction is not None:
            return transaction
        return self if hold else REMOVING

    # What it holds

    def end(
        self, lookups: Sequence[int], *, remove: bool, transaction: ManagedTransaction | None = None
    ) -> Future[None]:
        """Remove messages that this handle holds, now or with a transaction, or return them."""
        return self.end_ranges(ranges_of(lookups), remove=remove, transaction=transaction)

    def end_ranges(
        self,
        ranges: Sequence[Range],
        *,
        remove: bool,
        transaction: ManagedTransaction | None = None,
    ) -> Future[None]:
        """The same for messages with consecutive lookup identifiers."""
        if len(ranges) > 1 and overlap(ranges):
            raise InvalidParameter("a message can be ended only once")
        receiver = self._parts.receiver
        if transaction is None or not remove:
            return receiver.end(self.queue, ranges, self, delete=remove, caller=self.owner)
        receiver.enlist(self.queue, ranges, self, transaction)
        pending: Future[None] = Future()
        pending.succeed(None)
        return pending

    # Cursors

    def open_cursor(self) -> QueueCursor:
        """A new cursor, before the first message."""
        self._require(Access.PEEK)
        cursor = self._parts.receiver.open_cursor(self.queue)
        self._cursors.add(cursor)
        return cursor

    def close_cursor(self, cursor: QueueCursor) -> None:
        """Close a cursor; a read that waits with it is cancelled."""
        self._cursors.discard(cursor)
        self._parts.receiver.close_cursor(self.queue, cursor)

    def _require_cursor(self, cursor: QueueCursor) -> None:
        if cursor not in self._cursors:
            raise InvalidHandle("the cursor is closed or belongs to another handle")

    # The queue itself

    def move(
        self, lookup: int, target: str, transaction: ManagedTransaction | None
    ) -> Future[None]:
        """Move a message to a subqueue, by its own or its full name, or back: to no name at all."""
        self._require(Access.RECEIVE)
        main = self.queue.main
        found = self._parts.subqueue(main, target) if target else main
        return self._parts.moves.move(self.queue, lookup, found, transaction, self.owner)

    def reject(self, lookup: int, transaction: ManagedTransaction | None) -> Future[None]:
        """Say that a message of a transaction is not wanted: its sender hears so with the commit.

        ([MS-MQDMPR] 3.1.4.4: DequeueReason.) A transaction in two phases would forget it.
        """
        self._require(Access.RECEIVE)
        if transaction is None or transaction.xid:
            raise TransactionUsage("only a message of a transaction in one phase can be rejected")
        transaction.require_active()
        if (self.queue, lookup) not in transaction.received:
            raise MessageNotFound(f"message {lookup} was not received in this transaction")
        transaction.rejected.add((self.queue, lookup))
        done = Future[None]()
        done.succeed(None)
        return done

    def purge(self) -> Future[int]:
        """Remove all messages; those of an outgoing queue are for administrators to remove."""
        if self.queue.kind is QueueKind.OUTGOING:
            authorize(self.owner, "admin", self.name)
        else:
            self._require(Access.RECEIVE)
        self._parts.core.audit.acted(self.owner, "purge", self.name)
        return self._parts.core.queue_lifecycle.purge(self.queue, self.owner)

    def info(self) -> QueueInfo:
        """What is known about the queue now."""
        if self.queue.kind in VISIBLE:
            authorize_queue(self.owner, QueueRights.GET_QUEUE_PROPERTIES, self.queue)
        return queue_info(self.queue, self._parts.core)

    def close(self) -> None:
        """Close Queue ([MS-MQDMPR] 3.1.7.1.6): reads are cancelled, held messages return."""
        if self.is_closed:
            return
        self.is_closed = True
        core = self._parts.core
        core.queues.close(self.queue, self.mode, self)
        core.removal.release(self.queue, self.queue.holds.held_by(self))
        core.readers.notify()
