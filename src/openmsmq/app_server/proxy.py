"""Queues of other managers that programs read through this one, as a session knows them.

The service gives a server its `ReadProxy`; where there is none, such queues can only be sent to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from openmsmq.engine.commit.future import Future
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import Parts
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.types.access import Mode
from openmsmq.types.caller import Caller
from openmsmq.types.delivery import DeliveryOptions
from openmsmq.types.ids import SentId
from openmsmq.types.lookup import Range
from openmsmq.types.queues import QueueInfo
from openmsmq.types.read import Seek

Entries = list[Entry]


class OpenQueue(Protocol):
    """What a session does with an open queue: a `QueueHandle`, or a queue of another manager."""

    @property
    def answers_at_once(self) -> bool:
        """Whether a read that does not wait has its answer when the call returns."""
        ...

    @property
    def name(self) -> str:
        """Its path name, or its format name."""
        ...

    @property
    def mode(self) -> Mode:
        """How it was opened."""
        ...

    @property
    def queue(self) -> ManagedQueue:
        """The queue of this manager, which may be the outgoing one."""
        ...

    def send_packets(
        self,
        packets: Sequence[bytes],
        transaction: ManagedTransaction | None = None,
        delivery: DeliveryOptions | None = None,
    ) -> Future[Sequence[SentId]]:
        """Send messages that a program has packed."""
        ...

    def send_run(
        self, packets: bytes, count: int, transaction: ManagedTransaction | None = None
    ) -> Future[Sequence[SentId]]:
        """The same with packets one after the other."""
        ...

    def peek_parts(
        self, count: int, *, wait: bool, after: int = 0, size_max: int = ...
    ) -> Future[Parts]:
        """Look at the first messages, or at those behind a lookup identifier; runs as slices."""
        ...

    def receive_parts(
        self,
        count: int,
        *,
        wait: bool,
        transaction: ManagedTransaction | None = None,
        hold: bool = False,
        size_max: int = ...,
    ) -> Future[Parts]:
        """Take the first messages, those of runs as slices."""
        ...

    def peek_at(self, lookup: int, seek: Seek) -> Future[Entries]:
        """Look at the message that a lookup identifier leads to."""
        ...

    def peek_back(self, count: int, before: int, *, size_max: int = ...) -> Future[Entries]:
        """Look at messages before a lookup identifier, the last first."""
        ...

    def receive_at(
        self,
        lookup: int,
        seek: Seek,
        *,
        transaction: ManagedTransaction | None = None,
        hold: bool = False,
    ) -> Future[Entries]:
        """Take the message that a lookup identifier leads to."""
        ...

    def peek_cursor(self, cursor: Any, *, wait: bool, following: bool) -> Future[Entries]:
        """Look at the message under a cursor, or go on to the following one."""
        ...

    def receive_cursor(
        self,
        cursor: Any,
        *,
        wait: bool,
        transaction: ManagedTransaction | None = None,
        hold: bool = False,
    ) -> Future[Entries]:
        """Take the message under a cursor."""
        ...

    def cancel(self, read: Future[Any], error: BaseException) -> bool:
        """Cancel a read that waits."""
        ...

    def end(
        self, lookups: Sequence[int], *, remove: bool, transaction: ManagedTransaction | None = None
    ) -> Future[None]:
        """Remove messages that this handle holds, or return them."""
        ...

    def end_ranges(
        self,
        ranges: Sequence[Range],
        *,
        remove: bool,
        transaction: ManagedTransaction | None = None,
    ) -> Future[None]:
        """The same for messages with consecutive lookup identifiers."""
        ...

    def open_cursor(self) -> Any:
        """A new cursor, before the first message."""
        ...

    def close_cursor(self, cursor: Any) -> None:
        """Close a cursor."""
        ...

    def move(
        self, lookup: int, target: str, transaction: ManagedTransaction | None
    ) -> Future[None]:
        """Move a message between a queue and its subqueues."""
        ...

    def reject(self, lookup: int, transaction: ManagedTransaction | None) -> Future[None]:
        """Say that a message of a transaction is not wanted."""
        ...

    def purge(self) -> Future[int]:
        """Remove all messages."""
        ...

    def info(self) -> QueueInfo:
        """What is known about the queue now."""
        ...

    def close(self) -> None:
        """Close it: reads are cancelled, held messages return."""
        ...


class EnterpriseDirectory(Protocol):
    """The directory of a service (`openmsmq.directory.service`)."""

    def needs_lookup(self, name: str) -> bool:
        """Whether it has to be asked before a queue of this name is opened."""
        ...

    def look_up(self, name: str) -> Future[None]:
        """Ask it for all that a name needs."""
        ...

    def is_public(self, name: str) -> bool:
        """Whether a name is one of a public queue, of this manager or another of the domain."""
        ...

    def create_queue(
        self, name: str, caller: Caller, properties: Mapping[str, Any]
    ) -> Future[None]:
        """Create a public queue, there and here if it is one of this manager."""
        ...

    def delete_queue(self, name: str, caller: Caller) -> Future[None]:
        """Delete a public queue."""
        ...

    def change_queue(
        self, queue: ManagedQueue, caller: Caller, properties: Mapping[str, Any]
    ) -> Future[None]:
        """Give a public queue other properties."""
        ...

    def set_permissions(self, queue: ManagedQueue, sddl: str, caller: Caller) -> Future[None]:
        """Give a public queue of this manager other permissions, there and here."""
        ...


class SessionProxy(Protocol):
    """What one program reads of other managers."""

    def serves(self, name: str) -> bool:
        """Whether the queue with this name, which is not one of ours, can be read."""
        ...

    def connect(self, name: str) -> None:
        """Have what is needed to read a queue; fails if there is too much, or no password."""
        ...

    def open_queue(self, name: str, mode: Mode, sender: QueueHandle | None) -> OpenQueue:
        """A queue of another manager; what is sent goes through `sender`."""
        ...

    def has_part(self, transaction: ManagedTransaction) -> bool:
        """Whether messages of another manager were received in a transaction."""
        ...

    def commit(self, transaction: ManagedTransaction) -> Future[None]:
        """Commit such a transaction."""
        ...

    def abort(self, transaction: ManagedTransaction) -> Future[None]:
        """Abort it; never fails, since a manager that cannot be reached aborts it, too."""
        ...

    def close(self) -> None:
        """The program is gone: messages that it held return to their places."""
        ...


class ReadProxy(Protocol):
    """Which other managers can be read, and with whose credentials."""

    def session(self) -> SessionProxy:
        """For a program that has connected."""
        ...
