"""A queue manager of this process: the rules, given the time and messages.

Nothing here waits: a driver serialises the calls and brings the answers (`drivers.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any
from uuid import UUID

from openmsmq.clock import Clock
from openmsmq.engine.arrivals.arrivals import Arrivals
from openmsmq.engine.arrivals.receipts import ReceiptWriters
from openmsmq.engine.authorization import (
    authorize_manager,
    authorize_manager_permissions,
    authorize_permissions,
    authorize_queue,
    may_control,
    may_end,
    permitted_access,
)
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.explanation import explain
from openmsmq.engine.handle import Parts, QueueHandle
from openmsmq.engine.messages.receive import Receiver
from openmsmq.engine.messages.send import Sender
from openmsmq.engine.outgoing.confirmations import Confirmations
from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.queues.access import possible_access
from openmsmq.engine.queues.info import path_name
from openmsmq.engine.queues.ownership import (
    OPEN_TO_ALL,
    owned_by,
    with_owner,
)
from openmsmq.engine.queues.queue import ManagedQueue, QueueProperties
from openmsmq.engine.queues.resolver import is_private
from openmsmq.engine.queues.slices import Parts as MessageParts
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.queues.subqueues import Moves
from openmsmq.engine.storage.layout import local_facts
from openmsmq.engine.storage.tables import Store
from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.transactions.distributed import Units
from openmsmq.engine.transactions.epochs import Epochs
from openmsmq.engine.transactions.lifecycle import Transactions
from openmsmq.engine.transactions.redirect import Redirected, Redirects
from openmsmq.engine.transactions.transaction import ManagedTransaction, TransactionState
from openmsmq.errors import (
    AccessDenied,
    IllegalQueuePathName,
    InvalidParameter,
    MQError,
    PropertyNotAllowed,
    QueueNotFound,
    UnsupportedFormatNameOperation,
    UnsupportedOperation,
)
from openmsmq.limits import NO_QUOTA
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.format import (
    ConnectorName,
    MulticastName,
    MultipleName,
    PrivateName,
    PublicName,
)
from openmsmq.names.parse import parse_name
from openmsmq.names.parts import join_queue, split_queue
from openmsmq.names.path import PathName, shown
from openmsmq.names.usage import check_use, expand_name
from openmsmq.security.access import ManagerRights, QueueRights
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.delivery import RedirectOptions
from openmsmq.types.history import AuditEntry, HistoryEvent
from openmsmq.types.manager_state import ManagerState
from openmsmq.types.queues import VISIBLE, QueueKind
from openmsmq.types.received import ReceivedMessage, received_alone, received_together
from openmsmq.types.settings import Settings
from openmsmq.types.units import decider_of


class QueueManager(Core):
    """The queues of one directory, and all that can be asked of them."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        name: str,
        restored: bool = False,
        receipts: ReceiptWriters = MappingProxyType({}),
    ) -> None:
        """Start on a store.

        `restored` says that the store is older than what other managers know of this one.
        `receipts` write what the senders of messages from other managers are owed.
        """
        self.state = ManagerState.INITIALIZING
        self.name = name
        "What other computers call this one."
        self.clock = clock
        super().__init__(
            store,
            new_identity=clock.new_guid(),
            now=clock.now(),
            elapsed=clock.elapsed(),
            entropy=clock.new_guid().bytes,
            restored=restored,
            receipts=receipts,
        )
        self.receiver = Receiver(self)
        self.moves = Moves(self)
        self.dispatcher = Dispatcher(self)
        self.confirmations = Confirmations(self)
        self.arrivals = Arrivals(self)
        self.reservations = Reservations(self)
        self.resolver = self.queues.resolver
        self.resolver.configure([name])
        self._transactions = Transactions(self)
        self._epochs = Epochs(self, self._transactions)
        self.units = Units(self, self._transactions)
        sender = Sender(self, computer=name)
        self.parts = Parts(self, sender, self.receiver, self.moves, self.subqueue)
        self._redirects = Redirects(self, self._transactions, self.receiver, sender)
        self.state = ManagerState.READY

    # Queues

    def create_queue(
        self,
        name: str,
        caller: Caller = INTERNAL,
        *,
        identifier: UUID | None = None,
        **properties: Any,
    ) -> Future[ManagedQueue]:
        """Create a queue with properties of `QueueProperties`; its creator owns it.

        A public queue has the `identifier` of its object in the directory
        ([MS-MQDMPR] 3.1.7.1.3).
        """
        path = self.check_creation(name, caller)
        kind = QueueKind.PRIVATE if is_private(path) else QueueKind.PUBLIC
        now = self.timeline.wall
        given, kind_of_list = properties.pop("permissions", ""), self.settings.new_queues
        owned = owned_by(caller, given, kind_of_list, self.directory.domain)
        guid = identifier or self.clock.new_guid()
        with self._recorded(caller, "create queue", shown(path)):
            return self.queue_lifecycle.create(
                QueueProperties(path, guid, now, now, kind=kind, permissions=owned, **properties)
            )

    def check_creation(self, name: str, caller: Caller = INTERNAL) -> str:
        """The path below the computer of a queue that a caller may create."""
        path = self.resolver.local(parse_name(name))
        if path is None:
            raise IllegalQueuePathName(f"{name}: not a queue of this manager")
        with self._refusals_recorded(caller, "create queue", shown(path)):
            authorize_manager(caller, ManagerRights.CREATE_QUEUE, self.settings.permissions)
        parts = split_queue(path)
        if parts.suffix or parts.subqueue:
            raise IllegalQueuePathName(f"{name}: a queue that the manager itself makes")
        return path

    def find_queue(self, name: str) -> ManagedQueue:
        """The queue of this manager with this name; `QueueNotFound` if there is none."""
        local = self.resolver.local(parse_name(name))
        if local is None:
            raise UnsupportedFormatNameOperation(f"{name}: not a queue of this manager")
        return self.queues.find(local)

    def takes_letters(self, path: str, *, transactional: bool) -> bool:
        """Whether a queue is there to take dead letters of a message that names it."""
        try:
            self.queues.for_letters(path, transactional=transactional)
        except MQError:
            return False
        return True

    def delete_queue(self, name: str, caller: Caller = INTERNAL) -> Future[None]:
        """Delete the queue with this name."""
        queue = self.check_deletion(name, caller)
        with self._recorded(caller, "delete queue", path_name(queue)):
            return self.queue_lifecycle.delete(queue, caller)

    def check_deletion(self, name: str, caller: Caller = INTERNAL) -> ManagedQueue:
        """The queue with this name, which a caller may delete."""
        queue = self.find_queue(name)
        with self._refusals_recorded(caller, "delete queue", path_name(queue)):
            authorize_queue(caller, QueueRights.DELETE_QUEUE, queue)
        return queue

    def open_queue(self, name: str, mode: Mode, caller: Caller = INTERNAL) -> QueueHandle:
        """Open Queue ([MS-MQDMPR] 3.1.7.1.5): a handle of the caller.

        To ask for everything is to ask for what can be had: a queue elsewhere can only be sent
        to, what the manager itself keeps can only be read. Nothing is asked for to see properties.
        """
        parsed = parse_name(name)
        if not isinstance(parsed, PathName):
            parsed = expand_name(parsed, self.directory.members)
            exclusive = mode.share is Share.DENY_RECEIVE
            sends = bool(mode.access & (Access.SEND | Access.OPERATE)) and not parsed.is_read_only
            if sends or mode.access == Access.SEND:
                check_use(parsed, sends=True, exclusive=exclusive)
            else:
                check_use(parsed, sends=False)
        with self._refusals_recorded(caller, "open", str(parsed)):
            queue, mode = self._open(parsed, mode, caller)
        if self.settings.audit_opens:
            words = ", ".join(str(access.name).lower() for access in mode.access)
            self.audit.acted(caller, "open", path_name(queue), words)
        return QueueHandle(self.parts, queue, mode, caller)

    def _open(
        self, name: PathName | FormatName, mode: Mode, caller: Caller
    ) -> tuple[ManagedQueue, Mode]:
        if isinstance(name, MultipleName):
            return self._open_several(name, mode, caller)
        if isinstance(name, ConnectorName):
            if mode.access == Access.SEND:  # whether there is such a queue is not said
                raise UnsupportedFormatNameOperation(f"{name}: only the queue manager writes to it")
            queue = self.queues.find_connector(name)
        elif (local := self.resolver.local(name)) is None:
            queue = self._open_remote(name, mode)
        else:
            queue = self._open_local(local, mode)
        possible = possible_access(queue.kind)
        if mode.access and not mode.access & possible:
            raise UnsupportedFormatNameOperation(f"{name}: cannot send to a {queue.kind} queue")
        permitted = permitted_access(caller, queue, self.settings.permissions)
        is_for_control = may_control(caller, queue, mode.access)
        if not mode.access & possible & permitted and not is_for_control:
            raise AccessDenied(
                f"the permissions of {queue.name} do not allow to open it so; openmsmq queue"
                " permissions show prints them"
            )
        mode = Mode(mode.access & possible & permitted, mode.share)
        self.queues.open(queue, mode)
        return queue, mode

    def _open_several(
        self, name: MultipleName, mode: Mode, caller: Caller
    ) -> tuple[ManagedQueue, Mode]:
        """Every one of them, or none ([MS-MQDMPR] 3.1.7.1.5, step 2)."""
        if Access.SEND not in mode.access:
            raise UnsupportedFormatNameOperation(f"{name}: such a name is for sending only")
        only_send = Mode(Access.SEND, mode.share)
        opened: list[ManagedQueue] = []
        try:
            for element in name.elements:
                opened.append(self._open(element, only_send, caller)[0])
        except MQError:
            for queue in opened:
                self.queues.close(queue, only_send, self)
            raise
        properties = QueueProperties(
            str(name), self.clock.new_guid(), 0, 0, kind=QueueKind.MULTIPLE
        )
        several = ManagedQueue(0, properties, members=tuple(opened), modes=[only_send])
        return several, only_send

    def _open_local(self, local: str, mode: Mode) -> ManagedQueue:
        parts = split_queue(local)
        if not parts.subqueue:
            return self.queues.find(local)
        parent = self.queues.find(join_queue(parts._replace(subqueue="")))
        if mode.access is Access.SEND:
            raise UnsupportedFormatNameOperation(f"{local}: cannot send to a subqueue")
        return self.queues.subqueue(parent, parts.subqueue)

    def _open_remote(self, name: PathName | FormatName, mode: Mode) -> ManagedQueue:
        """An outgoing queue; only sending goes through one."""
        destination = self.directory.format_name(name) if isinstance(name, PathName) else name
        if not mode.access & (Access.SEND | Access.OPERATE):
            raise QueueNotFound(
                f"{name}: queues elsewhere are only sent to, unless a service knows how to log on"
                " there (rpc.managers in its configuration)"
            )
        owner = self.directory.owner(destination) if isinstance(destination, PublicName) else None
        if owner == self.identity:
            raise QueueNotFound(f"{name}: the directory has it for this manager, which has not yet")
        is_sendable = isinstance(destination, DirectName | PrivateName | PublicName) or (
            isinstance(destination, MulticastName) and self.transports.serves(destination)
        )
        if not is_sendable or destination.is_read_only:
            raise UnsupportedFormatNameOperation(f"{name}: cannot be sent to from here")
        queue = self.queues.outgoing(destination)
        if isinstance(destination, PublicName):
            self.queues.prefer(queue, self.directory.base_priority(destination))
        return queue

    def change_queue(
        self, queue: ManagedQueue, caller: Caller = INTERNAL, **changes: Any
    ) -> Future[None]:
        """Give a queue other properties."""
        with self._recorded(caller, "change queue", path_name(queue), _said(changes)):
            authorize_queue(caller, QueueRights.SET_QUEUE_PROPERTIES, queue)
            return self.queue_lifecycle.change(queue, self.timeline.wall, changes)

    def permissions(self, queue: ManagedQueue, caller: Caller = INTERNAL) -> str:
        """The permissions of a queue, in SDDL."""
        with self._refusals_recorded(caller, "get permissions", path_name(queue)):
            authorize_queue(caller, QueueRights.GET_QUEUE_PERMISSIONS, queue.main)
        return queue.main.properties.permissions or OPEN_TO_ALL

    def set_permissions(
        self, queue: ManagedQueue, sddl: str, caller: Caller = INTERNAL
    ) -> Future[None]:
        """Give a queue other permissions, and perhaps another owner."""
        if queue.kind not in VISIBLE:
            raise UnsupportedFormatNameOperation(
                f"a {queue.kind} queue has no permissions of its own"
            )
        after = with_owner(sddl, queue.properties.permissions or OPEN_TO_ALL)
        with self._recorded(caller, "set permissions", path_name(queue), after):
            authorize_permissions(caller, queue, after)
            now = self.timeline.wall
            return self.queue_lifecycle.change(queue, now, {"permissions": after})

    def pause(self, queue: ManagedQueue, caller: Caller = INTERNAL) -> None:
        """Send nothing more from an outgoing queue."""
        with self._recorded(caller, "pause", queue.name):
            self.dispatcher.pause(queue)

    def resume(self, queue: ManagedQueue, caller: Caller = INTERNAL) -> None:
        """Send from an outgoing queue again."""
        with self._recorded(caller, "resume", queue.name):
            self.dispatcher.resume(queue)

    def retry(self, queue: ManagedQueue, caller: Caller = INTERNAL) -> None:
        """Let the next attempt to send what is in an outgoing queue be now."""
        if queue.transfer is None:
            raise UnsupportedOperation(f"{queue.name}: only messages on their way are sent")
        transports = self.transports
        if not transports:
            raise UnsupportedOperation(f"{queue.name}: only a service sends (openmsmq serve)")
        if not self.dispatcher.can_send(queue):
            raise UnsupportedOperation(f"{queue.name} is {queue.transfer.state}: resume it first")
        self.audit.acted(caller, "retry", queue.name)
        transport = transports.get(queue)
        if transport is None:
            transports.ready(queue)
        else:
            transport.retry(queue)

    def resend(self, queue: ManagedQueue, caller: Caller = INTERNAL) -> None:
        """Send transactional messages of an outgoing queue again that are not acknowledged.

        (Resend Transactional Sequence, [MS-MQMR] 3.1.4.2; MG-39.) Nothing is done while nothing may
        be sent: it is when sending goes on.
        """
        self.audit.acted(caller, "resend", queue.name)
        transport = self.transports.get(queue)
        if transport is not None and self.dispatcher.can_send(queue):
            transport.resend(queue)

    def take_offline(self, caller: Caller = INTERNAL) -> None:
        """Take Offline ([MS-MQDMPR] 3.1.4.12), until the next start at most."""
        self.audit.acted(caller, "take offline", "")
        self.dispatcher.take_offline()

    def bring_online(self, caller: Caller = INTERNAL) -> None:
        """Bring Online ([MS-MQDMPR] 3.1.4.13)."""
        self.audit.acted(caller, "bring online", "")
        self.dispatcher.bring_online()

    def tidy(self, caller: Caller = INTERNAL) -> None:
        """Forget what is kept for queues that are empty and not in use; no message is touched.

        (TIDY, [MS-MQMR] 3.1.4.2, whose text would purge every queue: MG-38.) The space of removed
        messages is used again without it.
        """
        self.audit.acted(caller, "tidy", "")
        self.queues.tidy()

    def visible_settings(self, caller: Caller = INTERNAL) -> Settings:
        """The settings of the manager, as far as a caller may see them."""
        permissions = self.settings.permissions
        with self._refusals_recorded(caller, "get settings", ""):
            authorize_manager(caller, ManagerRights.GET_MACHINE_PROPERTIES, permissions)
        try:
            authorize_manager(caller, ManagerRights.GET_MACHINE_PERMISSIONS, permissions)
        except AccessDenied:
            return self.settings.changed(permissions="")
        return self.settings

    def configure(self, caller: Caller = INTERNAL, /, **changes: Any) -> Future[None]:
        """Change settings of the manager; its permissions need a right of their own."""
        permissions = self.settings.permissions
        with self._recorded(caller, "configure", "", _said(changes)):
            if changes.keys() - {"permissions"}:
                authorize_manager(caller, ManagerRights.SET_MACHINE_PROPERTIES, permissions)
            if "permissions" in changes:
                authorize_manager_permissions(caller, permissions, changes["permissions"])
            known = set(Settings.__dataclass_fields__)
            for name in changes.keys() - known:
                there_are = ", ".join(sorted(known))
                raise PropertyNotAllowed(f"there is no setting {name}; there are {there_are}")
            pending = super().configure(**changes)
        if "journal_quota" in changes:
            quota = changes["journal_quota"]
            journal = self.queues.system_journal
            self.change_queue(journal, quota=NO_QUOTA if quota is None else quota)
        return pending

    # The audit log

    @contextmanager
    def _refusals_recorded(self, caller: Caller, act: str, target: str) -> Iterator[None]:
        """Record that a caller was denied something."""
        try:
            yield
        except AccessDenied as error:
            self.audit.denied(caller, act, target, error.detail)
            raise

    @contextmanager
    def _recorded(self, caller: Caller, act: str, target: str, reason: str = "") -> Iterator[None]:
        """Record an administrative act that begins, or is denied; not one that cannot be done."""
        with self._refusals_recorded(caller, act, target):
            yield
        self.audit.acted(caller, act, target, reason)

    def audit_entries(self, after: int, count: int) -> list[AuditEntry]:
        """Entries of the audit log behind one with this number, the oldest first."""
        return list(islice(self.audit.entries(self.snapshot, after), count))

    # Messages

    def subqueue(self, parent: ManagedQueue, name: str) -> ManagedQueue:
        """The subqueue with this name, its own or its full one."""
        is_full = "\\" in name or "=" in name
        local = self.resolver.local(parse_name(name if is_full else f".\\{parent.name};{name}"))
        if local is None:
            raise UnsupportedFormatNameOperation(f"{name}: not a queue of this manager")
        return self._open_local(local, Mode())

    def redirect(
        self,
        source: QueueHandle,
        lookups: Sequence[int],
        target: QueueHandle,
        options: RedirectOptions,
    ) -> Future[Redirected]:
        """Send messages of a queue again to another one, and remove the old ones with that."""
        return self._redirects.redirect(source, lookups, target, options)

    def counts(self) -> dict[str, int]:
        """How often what happened, since the store was made."""
        return self.statistics.counts

    def explain(self, message_id: str) -> list[HistoryEvent]:
        """All that is known of a message, oldest first."""
        return explain(self, message_id)

    # Transactions

    def begin(self, xid: str = "", *, stages: bool = False) -> ManagedTransaction:
        """A new transaction; with a name it can be prepared."""
        return self._transactions.begin(xid, stages=stages)

    def prepare(self, transaction: ManagedTransaction) -> Future[None]:
        """Write all that the transaction did to the store, and wait for the outcome."""
        return self._epochs.prepare(transaction)

    def commit(
        self,
        transaction: ManagedTransaction,
        participants: Sequence[str] = (),
        caller: Caller = INTERNAL,
    ) -> Future[None]:
        """Let all that the transaction did take effect; a unit's others must be prepared."""
        if self.units.is_own(transaction):
            return self.units.commit(transaction, participants, caller)
        if participants:
            raise InvalidParameter("participants: only a unit that is decided here has some")
        return self._transactions.commit(transaction, caller=caller)

    def abort(self, transaction: ManagedTransaction, caller: Caller = INTERNAL) -> Future[None]:
        """Undo all that the transaction did."""
        return self._transactions.abort(transaction, caller)

    def abandon(self, transaction: ManagedTransaction, caller: Caller = INTERNAL) -> None:
        """Abort a transaction whose owner is gone, now or as soon as the disk lets it."""
        abort = partial(self._transactions.abort, transaction, caller)
        self.abandoned_transactions.add(transaction, abort)

    def prepared_ages(self, caller: Caller = INTERNAL) -> dict[str, int]:
        """The transactions of a caller that wait for their outcome, and for how many seconds."""
        found = self._transactions.prepared_ages()
        return {xid: age for xid, age in found.items() if may_end(caller, self.prepared[xid])}

    def abandoned(self, seconds: int) -> dict[str, int]:
        """Transactions prepared so long ago, and how long; parts of units elsewhere do not count.

        The manager that decides a unit knows its outcome.
        """
        return {
            xid: age
            for xid, age in self._transactions.prepared_ages().items()
            if age >= seconds
            and self.prepared[xid].state is TransactionState.PREPARED
            and decider_of(xid) is None
        }

    def is_prepared(self, transaction: ManagedTransaction) -> bool:
        """Whether a transaction waits for its outcome."""
        return self.prepared.get(transaction.xid) is transaction

    def may_end_prepared(self, xid: str, caller: Caller) -> bool:
        """Whether a caller has prepared the transaction with this name, or may end any."""
        found = self.prepared.get(xid)
        return found is not None and may_end(caller, found)

    def commit_prepared(self, xid: str, caller: Caller = INTERNAL) -> Future[None]:
        """Commit the prepared transaction with this name."""
        with self._recorded(caller, "commit prepared", xid):
            return self._transactions.commit_prepared(xid, caller)

    def commit_epoch(
        self,
        writer: str,
        epoch: int,
        winners: Sequence[str],
        owner: str = "",
        *,
        final: bool = False,
        caller: Caller = INTERNAL,
    ) -> Future[bool]:
        """Commit the prepared transactions of a writer that count, abort its others, once."""
        return self._epochs.commit(writer, epoch, winners, owner, final=final, caller=caller)

    def abort_prepared(self, xid: str, caller: Caller = INTERNAL) -> Future[None]:
        """Abort the prepared transaction with this name."""
        with self._recorded(caller, "abort prepared", xid):
            return self._transactions.abort_prepared(xid, caller)


def _said(changes: Mapping[str, Any]) -> str:
    """Changes in words, for the audit log."""
    return ", ".join(f"{name} = {value}" for name, value in changes.items())


def received(parts: MessageParts) -> list[ReceivedMessage]:
    """What a program gets of messages that were found."""
    found: list[ReceivedMessage] = []
    for part in parts:
        if isinstance(part, RunSlice):
            record = part.run.record
            facts = record.arrived_time, record.abort_count, record.move_count, record.message_class
            found += received_together(part.packets, part.bounds, part.first, *facts)
        else:
            found.append(received_alone(part.packet, part.lookup, *local_facts(part.record)))
    return found
