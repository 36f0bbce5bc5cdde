"""Queue managers and queues, the front of the API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import Unpack
from uuid import UUID

from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.client._async.backend import Backend
from openmsmq.client._async.control import ServiceControl
from openmsmq.client._async.cursor import Closable, Cursor
from openmsmq.client._async.queue_control import QueueControl
from openmsmq.client._async.stream import Stream
from openmsmq.client._async.subscription import Subscription
from openmsmq.client._async.transaction import Transaction, TwoPhase, work_of
from openmsmq.client.backend import CursorHandle
from openmsmq.client.limits import AUDIT_PAGE
from openmsmq.client.partners import Partners
from openmsmq.errors import InvalidParameter, QueueExists, ReceiveTimeout
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.delivery import DeliveryOptions
from openmsmq.types.history import AuditEntry, HistoryEvent, QueueHistory
from openmsmq.types.ids import SentId
from openmsmq.types.message import Message, MessageFields
from openmsmq.types.outgoing import OutgoingInfo
from openmsmq.types.peers import MulticastInfo, PeerInfo
from openmsmq.types.queues import Poison, QueueInfo, queue_properties
from openmsmq.types.read import Read, Seek, behind
from openmsmq.types.received import ReceivedMessage
from openmsmq.types.settings import Settings
from openmsmq.types.subscriptions import SubscriptionInfo
from openmsmq.types.units import UnitInfo


class Manager(Closable):
    """A queue manager: a directory opened by this process, or a service. Threads may share it."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.partners = Partners()
        "Those with whom it has a part in units."
        self.control = ServiceControl(backend)
        "What administrators do with the service."

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {self.state}>"

    @property
    def backend(self) -> Backend:
        """Who keeps the queues, for other parts of this package."""
        return self._backend

    @property
    def name(self) -> str:
        """What other computers call the manager's."""
        return self._backend.name

    @property
    def id(self) -> str:
        """The GUID of this queue manager."""
        return self._backend.id

    @property
    def state(self) -> str:
        """`ready` while it can be used."""
        return self._backend.state

    async def create_queue(
        self,
        name: str,
        *,
        transactional: bool = False,
        journal: bool = False,
        quota: int | None = None,
        journal_quota: int | None = None,
        label: str = "",
        authenticate: bool = False,
        privacy: int = 1,
        base_priority: int = 0,
        type: UUID | str | None = None,
        abort_limit: int = 0,
        retry_delay: int = 0,
        poison: str = Poison.SUBQUEUE,
        multicast: str = "",
        exist_ok: bool = False,
    ) -> Queue:
        r"""Create a queue and open it; with `exist_ok`, open the one that exists as it is.

        `name` is a path name, or bare: `orders` is `.\private$\orders`. A transactional queue takes
        messages in transactions only. With `journal`, copies of what is received stay in the
        queue's journal. Quotas are in KiB. `authenticate`, `privacy` (0 clear messages only, 1
        both, 2 encrypted only), `base_priority` and `type` are kept for those who ask.

        A message that was aborted `abort_limit` times goes to `poison`: the `subqueue` `poison`, or
        the `dead-letter` queue. Before, it is invisible for `retry_delay` seconds each time.
        With `multicast`, an address such as `234.1.1.1:8001`, the queue gets what is sent to it.
        """
        properties = queue_properties(
            transactional=transactional,
            journal=journal,
            quota=quota,
            journal_quota=journal_quota,
            label=label,
            authenticate=authenticate,
            privacy=privacy,
            base_priority=base_priority,
            type=type,
            abort_limit=abort_limit,
            retry_delay=retry_delay,
            poison=poison,
            multicast=multicast or None,
        )
        try:
            await self._backend.create_queue(name, properties)
        except QueueExists:
            if not exist_ok:
                raise
            return await self._existing(name, transactional=transactional)
        return await self.open_queue(name)

    async def _existing(self, name: str, *, transactional: bool) -> Queue:
        queue = await self.open_queue(name)
        if (await queue.info()).transactional == transactional:
            return queue
        await queue.close()
        kind = "not transactional" if transactional else "transactional"
        raise QueueExists(f"{queue.name} is {kind}, which cannot be changed")

    async def open_queue(
        self, name: str, *, access: Access = Access.ALL, share: Share = Share.DENY_NONE
    ) -> Queue:
        r"""Open a queue that exists; `QueueNotFound` if it does not.

        Besides the queues people make there are their journals, `.\private$\orders\Journal$`,
        their subqueues, `.\private$\orders;retry`, which appear when they are opened, and the
        manager's own: `.\Journal$`, `.\DeadLetter$` and `.\XactDeadLetter$`. Those can be read,
        not sent to. A queue of another computer, `DIRECT=OS:other\private$\orders`, can be sent
        to; it can be read if `rpc.managers` of the service says how to log on there.
        """
        return Queue(self._backend, await self._backend.open_queue(name, Mode(access, share)))

    async def delete_queue(self, name: str) -> None:
        """Delete a queue with all its messages, its journal and its subqueues."""
        await self._backend.delete_queue(name)

    async def queues(self, *, everything: bool = False) -> list[QueueInfo]:
        """The queues that people made, by name.

        With `everything` also the manager's own, subqueues, outgoing queues, and journals with
        messages in them.
        """
        return await self._backend.queues(everything=everything)

    async def outgoing(self) -> list[OutgoingInfo]:
        """The queues of messages for other computers, by name: the backlog, and its cause."""
        return await self._backend.outgoing()

    async def peers(self) -> list[PeerInfo]:
        """Other queue managers: those that answered when dialled, and those with sessions here."""
        return await self._backend.peers()

    async def multicast(self) -> list[MulticastInfo]:
        """The multicast sessions: what is sent to groups, and the sources that are heard."""
        return await self._backend.multicast()

    async def subscriptions(self, name: str = "") -> list[SubscriptionInfo]:
        """The durable subscriptions by queue, all of them or those with a name."""
        return await self._backend.subscriptions(name)

    async def drop_subscription(self, name: str, queue: str, *, unread: bool = False) -> int:
        """End a subscription of a queue: what it was given and is not done with is back there.

        With `unread` it goes on, and only messages are back that its owner was done with and had
        not read. The answer is how many messages these are.
        """
        return await self._backend.drop_subscription(name, queue, unread=unread)

    def transaction(self, xid: str = "", *, stage: bool = False) -> Transaction:
        """A transaction: as a context manager it commits on success and aborts on an exception.

        With a name of its own it can also be prepared, to be committed or aborted later by that
        name, whatever happens to this process. With `stage` it also takes messages to queues that
        are not transactional: they wait until it commits, and are then like all others there.
        """
        return Transaction(self._backend, xid, stage=stage)

    def tpc(self, xid: str = "") -> TwoPhase:
        """A transaction in two phases, with the names of the DB-API's extension for them."""
        return TwoPhase(self._backend, xid)

    async def prepared(self) -> list[str]:
        """The names of transactions that are prepared and wait for their outcome."""
        return list(await self._backend.prepared())

    async def prepared_ages(self) -> dict[str, int]:
        """The same, and for how many seconds each of them waits."""
        return await self._backend.prepared()

    async def commit_prepared(self, xid: str) -> None:
        """Commit a prepared transaction; idempotent."""
        await self._backend.commit_prepared(xid)

    async def abort_prepared(self, xid: str) -> None:
        """Abort a prepared transaction; idempotent."""
        await self._backend.abort_prepared(xid)

    async def units(self) -> list[UnitInfo]:
        """The units that this manager has decided and that some have not confirmed."""
        return await self._backend.units()

    async def commit_epoch(
        self,
        writer: str,
        epoch: int,
        winners: Iterable[str],
        *,
        owner: str = "",
        final: bool = False,
    ) -> bool:
        """Commit many prepared transactions of one writer atomically; the call is idempotent.

        Their names are `WRITER/EPOCH/...`. The `winners` are committed, all others of the writer
        up to this epoch are aborted. Returns False if the epoch was committed before. A writer
        belongs to the `owner` of its first epoch; other owners get `TransactionSequence`, because
        their epoch numbers mean something else. `final` declares that the writer has no other
        epoch; it is forgotten after 10,000 such writers. Transactions of a committed epoch can no
        longer be prepared: `EpochDecided`.
        """
        return await self._backend.commit_epoch(writer, epoch, list(winners), owner, final=final)

    async def explain(self, message_id: str) -> list[HistoryEvent]:
        r"""What happened to a message, `guid\number`; nothing if no history of it is kept."""
        return await self._backend.explain(message_id)

    async def queue_history(self, name: str, *, before: int = 0, limit: int = 100) -> QueueHistory:
        """What happened in a queue, the newest first; `before` goes on behind another answer."""
        return await self._backend.queue_history(name, before, limit)

    async def audit(self, *, after: int = 0, limit: int = AUDIT_PAGE) -> list[AuditEntry]:
        """Entries of the audit log behind one with this number, the oldest first; some at a time.

        It is empty when there are no more.
        """
        return await self._backend.audit(after, min(limit, AUDIT_PAGE))

    async def statistics(self) -> dict[str, int]:
        """What happened how often since the store was made."""
        return await self._backend.statistics()

    async def settings(self) -> Settings:
        """What is set for the whole manager."""
        return await self._backend.settings()

    async def configure(self, **changes: int | bool | str | None) -> None:
        """Change settings, by the names they have in `Settings`; they last."""
        await self._backend.configure(changes)

    async def close(self) -> None:
        """Finish what was asked for and release the directory or the connection."""
        await self._backend.close()


class Queue(QueueControl):
    """An open queue."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}{' (closed)' if self._closed else ''}>"

    async def __aiter__(self) -> AsyncIterator[ReceivedMessage]:
        """Receive one message after the other, without end; `stream` is faster and can end."""
        while True:
            yield await self.receive()

    @property
    def name(self) -> str:
        r"""The queue's path name: `.\private$\orders`."""
        return self._handle.name

    async def send(
        self,
        message: Message | bytes | str,
        *,
        transaction: Transaction | None = None,
        dedup_id: str | None = None,
        deliver_at: datetime | float | None = None,
        **fields: Unpack[MessageFields],
    ) -> SentId:
        """Send a message; when this returns it is on disk, unless it is an express one.

        `fields` are those of `Message`: `send("hello", label="greeting", priority=5)`. Returns the
        id of the message, for `explain` and for matching acknowledgements. See `send_many` for
        `dedup_id` and `deliver_at`.
        """
        if fields:
            if isinstance(message, Message):
                raise InvalidParameter(f"{', '.join(fields)}: a Message has its own; set it there")
            message = Message(message, **fields)
        ids = None if dedup_id is None else (dedup_id,)
        sent = await self.send_many(
            (message,), transaction=transaction, dedup_ids=ids, deliver_at=deliver_at
        )
        return sent[0]

    async def send_many(
        self,
        messages: Iterable[Message | bytes | str],
        *,
        transaction: Transaction | None = None,
        dedup_ids: Sequence[str] | None = None,
        deliver_at: datetime | float | None = None,
    ) -> Sequence[SentId]:
        """Send messages atomically, all or none; returns their ids.

        `dedup_ids` makes the send idempotent: a message whose deduplication id was used for this
        queue before is discarded, and the id of the first one is returned, marked `duplicate`. A
        client repeats such a send after a lost connection, for up to `reconnect` seconds.
        With `deliver_at`, a time or seconds from now, the messages cannot be read before that.
        """
        batch = [m if isinstance(m, Message) else Message(m) for m in messages]
        self._require(Access.SEND)
        delivery = None
        if dedup_ids is not None or deliver_at is not None:
            delivery = DeliveryOptions.of(deliver_at, dedup_ids, len(batch))
        return await self._backend.send(self._handle, batch, await work_of(transaction), delivery)

    async def send_packets(
        self, packets: Sequence[bytes], *, transaction: Transaction | None = None
    ) -> Sequence[SentId]:
        """The same with packets, UserMessages of [MS-MQMQ]; what is none ends the connection."""
        self._require(Access.SEND)
        return await self._backend.send_packets(self._handle, packets, await work_of(transaction))

    async def receive(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Take the first message; `ReceiveTimeout` if none came within `timeout` seconds."""
        return (await self._read(Read(take=True, timeout=timeout), transaction))[0]

    async def receive_many(
        self,
        count: int,
        timeout: float | None = None,
        *,
        transaction: Transaction | None = None,
    ) -> list[ReceivedMessage]:
        """Take up to `count` messages, waiting for the first only; none if it did not come."""
        try:
            return await self._read(Read(take=True, count=count, timeout=timeout), transaction)
        except ReceiveTimeout:
            return []

    async def peek(
        self, timeout: float | None = None, *, transaction: Transaction | None = None
    ) -> ReceivedMessage:
        """Look at the first message and leave it there.

        A peek takes nothing, so that a transaction has no part in it but must be open.
        """
        return (await self._read(Read(take=False, timeout=timeout), transaction))[0]

    async def peek_many(
        self,
        count: int,
        timeout: float | None = None,
        *,
        after: int = 0,
        transaction: Transaction | None = None,
    ) -> list[ReceivedMessage]:
        """Look at up to `count` messages, waiting for the first only.

        With `after`, only at those whose lookup identifier is greater.
        """
        try:
            return await self._read(behind(after, count, timeout), transaction)
        except ReceiveTimeout:
            return []

    async def peek_slices(
        self, count: int, timeout: float | None = None, *, after: int = 0
    ) -> tuple[QueuedSlice, ...]:
        """The same for those who decode many at once: messages as they lie together.

        See SLICES in `docs/app-protocol.md`.
        """
        self._require(Access.PEEK)
        try:
            return await self._backend.peek_slices(self._handle, behind(after, count, timeout))
        except ReceiveTimeout:
            return ()

    async def peek_by_lookup_id(
        self,
        lookup_id: int,
        seek: Seek | str = Seek.CURRENT,
        *,
        transaction: Transaction | None = None,
    ) -> ReceivedMessage:
        """Look at the message with this identifier, or at the one beside it."""
        read = Read(take=False, lookup_id=lookup_id, seek=seek)
        return (await self._read(read, transaction))[0]

    async def receive_by_lookup_id(
        self,
        lookup_id: int,
        seek: Seek | str = Seek.CURRENT,
        *,
        transaction: Transaction | None = None,
    ) -> ReceivedMessage:
        """Take the message with this identifier, or the one beside it."""
        read = Read(take=True, lookup_id=lookup_id, seek=seek)
        return (await self._read(read, transaction))[0]

    def cursor(self) -> Cursor:
        """A place of one's own to walk along the queue."""
        self._require(Access.PEEK)
        return Cursor(self._backend, self._handle, self._read)

    def stream(
        self,
        prefetch: int = 1000,
        *,
        timeout: float | None = None,
        explicit: bool = False,
        pipelined: bool = False,
    ) -> Stream:
        """The messages of the queue as they come, for a loop that takes them one after the other.

        Up to `prefetch` messages are taken ahead and held; those that the loop has not come to
        are back in their places when it ends. A message is removed when the loop asks for the
        next but some; with `explicit`, when `Stream.acknowledge` says so. The loop ends when no
        message came for `timeout` seconds.

        With `pipelined` it gets the next ones while those before are being removed; what comes
        within 5 ms is removed together, and would come again together after a crash.
        """
        self._require(Access.RECEIVE)
        how = {"explicit": explicit, "pipelined": pipelined}
        return Stream(self._backend, self._handle, prefetch, timeout, **how)

    async def subscription(self, name: str, *, copy: bool = False, owner: str = "") -> Subscription:
        """The subscription with this name, begun if it is not there yet.

        It lasts until `Manager.drop_subscription`. Messages that it is given are out of the
        queue, or with `copy` stay there for others; then it is given each of them once. With an
        `owner`, it can be bound to that one alone.
        """
        self._require(Access.RECEIVE)
        opened = await self._backend.open_subscription(self._handle, name, copy=copy, owner=owner)
        return Subscription(opened, name)

    async def move(
        self, lookup_id: int, target: str, *, transaction: Transaction | None = None
    ) -> None:
        """Move a message to a subqueue by its name, `retry`, or back to the queue: to `""`.

        It keeps its lookup identifier, and moved back it is in its old place.
        """
        self._require(Access.RECEIVE)
        await self._backend.move(self._handle, lookup_id, target, await work_of(transaction))

    async def reject(self, lookup_id: int, *, transaction: Transaction) -> None:
        """Say that a message which was received in a transaction is not wanted.

        With the commit it is removed as one that was rejected: its sender gets a negative
        acknowledgement (NACK_RECEIVE_REJECTED) or a dead letter, if it asked for that.
        """
        self._require(Access.RECEIVE)
        await self._backend.reject(self._handle, lookup_id, await work_of(transaction))

    async def set(
        self,
        *,
        journal: bool | None = None,
        quota: int | float | None = None,
        journal_quota: int | float | None = None,
        label: str | None = None,
        authenticate: bool | None = None,
        privacy: int | None = None,
        base_priority: int | None = None,
        type: UUID | str | None = None,
        abort_limit: int | None = None,
        retry_delay: int | None = None,
        poison: str | None = None,
        multicast: str | None = None,
    ) -> None:
        """Change properties; those not given stay.

        A quota of `math.inf` is none; so is an empty `multicast` address.
        """
        self._require_open()
        changes = queue_properties(
            journal=journal,
            quota=quota,
            journal_quota=journal_quota,
            label=label,
            authenticate=authenticate,
            privacy=privacy,
            base_priority=base_priority,
            type=type,
            abort_limit=abort_limit,
            retry_delay=retry_delay,
            poison=poison,
            multicast=multicast,
        )
        await self._backend.change_queue(self._handle, changes)

    async def close(self) -> None:
        """Close this handle; reads that wait on it are cancelled."""
        if not self._closed:
            self._closed = True
            await self._backend.close_queue(self._handle)

    async def _read(
        self, read: Read, transaction: Transaction | None, cursor: CursorHandle | None = None
    ) -> list[ReceivedMessage]:
        self._require(Access.RECEIVE if read.take else Access.PEEK)
        work = await work_of(transaction)
        return await self._backend.read(self._handle, read, work, cursor)
