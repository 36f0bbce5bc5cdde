"""The sync API, written from `aio.py` by `make fix`: change that file, not this one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

from openmsmq.client.info import QueueInfo
from openmsmq.errors import (
    InvalidHandle,
    InvalidParameter,
    MQError,
    ReceiveTimeout,
    TransactionSequence,
)
from openmsmq.manager.drivers import ThreadDriver as Driver
from openmsmq.manager.local import LocalManager, received
from openmsmq.messages.message import Message
from openmsmq.messages.received import ReceivedMessage
from openmsmq.model import cursor as model_cursor
from openmsmq.model import queue as model_queue
from openmsmq.model import transaction as model_transaction
from openmsmq.model.opening import Access, Mode, Share
from openmsmq.model.pending import Pending
from openmsmq.model.reading import REMOVING, Entry
from openmsmq.model.receiving import Seek


class Manager:
    """A queue manager opened by this process. Threads may share it."""

    def __init__(self, local: LocalManager, driver: Driver) -> None:
        self._local = local
        self._driver = driver

    @property
    def name(self) -> str:
        """What other computers call this one."""
        return self._local.name

    @property
    def id(self) -> str:
        """The GUID of this queue manager."""
        return str(self._local.core.identity)

    def create_queue(
        self,
        name: str,
        *,
        transactional: bool = False,
        journal: bool = False,
        quota: int | None = None,
        label: str = "",
    ) -> Queue:
        r"""Create a queue and open it.

        `name` is a path name, or bare: `orders` is `.\private$\orders`. A transactional queue takes
        messages in transactions only. `quota` is in KiB.
        """
        properties: dict[str, Any] = {
            "transactional": transactional,
            "journal": journal,
            "label": label,
        }
        if quota is not None:
            properties["quota"] = quota
        queue = self._driver.wait(lambda: self._local.create_queue(name, **properties))
        return self._open(queue, Mode())

    def open_queue(
        self, name: str, *, access: Access = Access.ALL, share: Share = Share.DENY_NONE
    ) -> Queue:
        """Open a queue that exists; `QueueNotFound` if it does not."""
        queue = self._driver.call(lambda: self._local.find_queue(name))
        return self._open(queue, Mode(access, share))

    def _open(self, queue: model_queue.Queue, mode: Mode) -> Queue:
        self._driver.call(lambda: self._local.core.open(queue, mode))
        return Queue(self._local, self._driver, queue, mode)

    def delete_queue(self, name: str) -> None:
        """Delete a queue with all its messages."""
        queue = self._driver.call(lambda: self._local.find_queue(name))
        self._driver.wait(lambda: self._local.core.delete(queue))

    def queues(self) -> list[QueueInfo]:
        """All queues, by name."""
        return self._driver.call(lambda: [QueueInfo.of(q) for q in self._local.core.queues])

    def transaction(self, xid: str = "") -> Transaction:
        """A transaction: as a context manager it commits on success and aborts on an exception.

        With a name of its own it can also be prepared, to be committed or aborted later by that
        name, whatever happens to this process.
        """
        begun = self._driver.call(lambda: self._local.begin(xid))
        return Transaction(self._local, self._driver, begun)

    def prepared(self) -> list[str]:
        """The names of transactions that are prepared and wait for their outcome."""
        return self._driver.call(lambda: sorted(self._local.core.prepared))

    def commit_prepared(self, xid: str) -> None:
        """Commit a prepared transaction."""
        self._driver.wait(lambda: self._local.commit(self._local.prepared(xid)))

    def abort_prepared(self, xid: str) -> None:
        """Abort a prepared transaction."""
        self._driver.wait(lambda: self._local.abort(self._local.prepared(xid)))

    def close(self) -> None:
        """Finish what was asked for and let the directory go."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Queue:
    """An open queue."""

    def __init__(
        self, local: LocalManager, driver: Driver, queue: model_queue.Queue, mode: Mode
    ) -> None:
        self._local = local
        self._driver = driver
        self._queue = queue
        self._mode = mode
        self._closed = False

    @property
    def name(self) -> str:
        r"""The queue's path name: `.\private$\orders`."""
        return f".\\{self._queue.properties.name}"

    @property
    def info(self) -> QueueInfo:
        """Its properties and how much is in it."""
        return self._driver.call(lambda: QueueInfo.of(self._queue))

    def send(
        self, message: Message | bytes | str, *, transaction: Transaction | None = None
    ) -> None:
        """Send a message; when this returns it is on disk, unless it is an express one."""
        self.send_many((message,), transaction=transaction)

    def send_many(
        self,
        messages: Iterable[Message | bytes | str],
        *,
        transaction: Transaction | None = None,
    ) -> None:
        """Send messages in one go: all of them or none."""
        batch = [m if isinstance(m, Message) else Message(m) for m in messages]
        self._require(Access.SEND)
        begun = self._begun(transaction)
        self._driver.wait(lambda: self._local.send(self._queue, batch, begun))

    def receive(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Take the first message; `ReceiveTimeout` if none came within `timeout` seconds."""
        return self._receive(1, timeout, transaction)[0]

    def receive_many(
        self,
        count: int,
        timeout: float | None = None,
        *,
        transaction: Transaction | None = None,
    ) -> list[ReceivedMessage]:
        """Take up to `count` messages, waiting for the first only; none if it did not come."""
        try:
            return self._receive(count, timeout, transaction)
        except ReceiveTimeout:
            return []

    def _receive(
        self, count: int, timeout: float | None, transaction: Transaction | None
    ) -> list[ReceivedMessage]:
        self._require(Access.RECEIVE)
        _check(count, timeout)
        holder = self._begun(transaction) or REMOVING
        receiving = self._local.receiving
        return self._read(
            lambda: receiving.receive(self._queue, count, self, wait=timeout != 0, holder=holder),
            timeout,
            removes=transaction is None,
        )

    def peek(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Look at the first message and leave it there.

        A peek takes nothing, so that a transaction has no part in it but must be open.
        """
        return self._peek(1, timeout, transaction)[0]

    def peek_many(
        self,
        count: int,
        timeout: float | None = None,
        *,
        transaction: Transaction | None = None,
    ) -> list[ReceivedMessage]:
        """Look at up to `count` messages, waiting for the first only."""
        try:
            return self._peek(count, timeout, transaction)
        except ReceiveTimeout:
            return []

    def _peek(
        self, count: int, timeout: float | None, transaction: Transaction | None
    ) -> list[ReceivedMessage]:
        self._require(Access.PEEK, transaction)
        _check(count, timeout)
        receiving = self._local.receiving
        return self._read(
            lambda: receiving.peek(self._queue, count, self, wait=timeout != 0), timeout
        )

    def peek_by_lookup_id(
        self,
        lookup_id: int,
        seek: Seek = Seek.CURRENT,
        *,
        transaction: Transaction | None = None,
    ) -> ReceivedMessage:
        """Look at the message with this identifier, or at the one beside it."""
        self._require(Access.PEEK, transaction)
        receiving = self._local.receiving
        found = self._read(
            lambda: receiving.by_lookup(self._queue, lookup_id, seek, peek=True), None
        )
        return found[0]

    def receive_by_lookup_id(
        self,
        lookup_id: int,
        seek: Seek = Seek.CURRENT,
        *,
        transaction: Transaction | None = None,
    ) -> ReceivedMessage:
        """Take the message with this identifier, or the one beside it."""
        self._require(Access.RECEIVE)
        holder = self._begun(transaction) or REMOVING
        receiving = self._local.receiving
        found = self._read(
            lambda: receiving.by_lookup(self._queue, lookup_id, seek, peek=False, holder=holder),
            None,
            removes=transaction is None,
        )
        return found[0]

    def cursor(self) -> Cursor:
        """A place of one's own to walk along the queue."""
        self._require(Access.PEEK)
        return Cursor(self)

    def purge(self) -> int:
        """Remove all messages; how many there were."""
        self._require(Access.RECEIVE)
        return self._driver.wait(lambda: self._local.core.purge(self._queue))

    def set(
        self,
        *,
        journal: bool | None = None,
        quota: int | None = None,
        label: str | None = None,
    ) -> None:
        """Change properties; those not given stay."""
        self._require_open()
        given = {"journal": journal, "quota": quota, "label": label}
        changes = {name: value for name, value in given.items() if value is not None}
        self._driver.wait(lambda: self._local.change_queue(self._queue, **changes))

    def close(self) -> None:
        """Close this handle; reads that wait on it are cancelled."""
        if not self._closed:
            self._closed = True
            self._driver.call(lambda: self._local.core.close(self._queue, self._mode, self))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _require(self, access: Access, transaction: Transaction | None = None) -> None:
        self._require_open()
        self._mode.require(access)
        begun = self._begun(transaction)
        if begun is not None:
            begun.require_active()

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidHandle("the queue is closed")

    def _begun(self, transaction: Transaction | None) -> model_transaction.Transaction | None:
        if transaction is None:
            return None
        if transaction._local is not self._local:
            raise TransactionSequence("the transaction belongs to another queue manager")
        return transaction.begun

    def _read(
        self,
        make: Callable[[], Pending[list[Entry]]],
        timeout: float | None,
        *,
        removes: bool = False,
    ) -> list[ReceivedMessage]:
        def give_up(pending: Pending[list[Entry]], error: MQError) -> bool:
            return self._local.core.cancel(self._queue, pending, error)

        def undo(entries: list[Entry]) -> None:
            if removes:
                self._local.receiving.put_back(self._queue, entries)

        return received(self._driver.wait(make, timeout, give_up, undo))


class Cursor:
    """A place in a queue; reads with it go on from there."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._cursor = model_cursor.Cursor()

    def peek(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Look at the message the cursor is on, or at the first one after it."""
        return self._peek(timeout, transaction, following=False)

    def next(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Go on to the next message and look at it."""
        return self._peek(timeout, transaction, following=True)

    def _peek(
        self, timeout: float | None, transaction: Transaction | None, *, following: bool
    ) -> ReceivedMessage:
        queue = self._queue
        queue._require(Access.PEEK, transaction)
        _check(1, timeout)
        receiving = queue._local.receiving
        found = queue._read(
            lambda: receiving.peek_cursor(
                queue._queue, self._cursor, queue, wait=timeout != 0, following=following
            ),
            timeout,
        )
        return found[0]

    def receive(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Take the message the cursor is on, or the first one after it."""
        queue = self._queue
        queue._require(Access.RECEIVE)
        _check(1, timeout)
        holder = queue._begun(transaction) or REMOVING
        receiving = queue._local.receiving
        found = queue._read(
            lambda: receiving.receive_cursor(
                queue._queue, self._cursor, queue, wait=timeout != 0, holder=holder
            ),
            timeout,
            removes=transaction is None,
        )
        return found[0]

    def close(self) -> None:
        """Close the cursor; a read that waits with it is cancelled."""
        queue = self._queue
        queue._driver.call(lambda: queue._local.receiving.close_cursor(queue._queue, self._cursor))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Transaction:
    """Sends and receives that take effect together or not at all."""

    def __init__(
        self, local: LocalManager, driver: Driver, begun: model_transaction.Transaction
    ) -> None:
        self._local = local
        self._driver = driver
        self.begun = begun

    def prepare(self) -> None:
        """Write down all that was done, and wait to be told the outcome by name."""
        self._driver.wait(lambda: self._local.prepare(self.begun))

    def commit(self) -> None:
        """Let all of it take effect."""
        self._driver.wait(lambda: self._local.commit(self.begun))

    def abort(self) -> None:
        """Undo all of it: received messages are back in their places."""
        self._driver.wait(lambda: self._local.abort(self.begun))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self.begun.is_undecided:
            return
        if kind is not None:
            self.abort()
            return
        try:
            self.commit()
        except MQError:
            self.abort()
            raise


def _check(count: int, timeout: float | None) -> None:
    if count < 1:
        raise InvalidParameter(f"count {count}: at least 1 message can be asked for")
    if timeout is not None and not timeout >= 0:
        raise InvalidParameter(f"timeout {timeout}: seconds from 0, or None to wait for ever")
