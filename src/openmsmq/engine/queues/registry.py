"""The queues of a manager: found by name or number, opened and closed.

Subqueues and outgoing queues are made here when they are needed and go when they are not;
`lifecycle` creates and deletes the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import UUID, uuid5

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.outgoing.sequences import forget_sequence
from openmsmq.engine.outgoing.state import Transfer
from openmsmq.engine.queues.access import check_sharing
from openmsmq.engine.queues.queue import (
    FORWARDED,
    JOURNAL_SUFFIX,
    ManagedQueue,
    Purpose,
    QueueProperties,
    delayed_of,
    derive,
    journal_of,
)
from openmsmq.engine.queues.resolver import Resolver
from openmsmq.engine.queues.system import (
    DEAD_LETTER,
    HIDDEN,
    JOURNAL,
    REFUSED,
    TRANSACTIONAL_DEAD_LETTER,
)
from openmsmq.engine.queues.waiting_readers import WaitingReaders
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.layout import (
    COUNTERS_ROW,
    DELAYED_BIT,
    JOURNAL_BIT,
    PROPERTIES_ROW,
    PURGED_ROW,
    READ_ROW,
    SUBSCRIPTION_ROW,
    queue_key,
)
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import (
    IllegalQueuePathName,
    OperationCancelled,
    QueueDeleted,
    QueueExists,
    QueueNotFound,
    TransactionUsage,
    UnsupportedFormatNameOperation,
)
from openmsmq.limits import QUEUE_LABEL_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.format import ConnectorName, parse_format_name
from openmsmq.names.parts import Suffix, fold
from openmsmq.names.path import parse_path_name
from openmsmq.types.access import Mode
from openmsmq.types.outgoing import TransferState
from openmsmq.types.queues import COME_AND_GO, VISIBLE, QueueKind

_RANKS: Final = tuple(Purpose)
"Purposes, the one that counts most first."


class Queues:
    """All queues of a manager (QueueCollection, [MS-MQDMPR] 3.1.1.1)."""

    def __init__(
        self, state: EngineState, readers: WaitingReaders, loaded: dict[int, ManagedQueue]
    ) -> None:
        self._state = state
        self._readers = readers
        self.by_number = loaded
        "All but the journals of queues, which are found through their queue."
        self._by_name = {_key(queue): queue for queue in loaded.values()}
        self._idle: set[ManagedQueue] = set()
        "Queues that may have become needless."
        self._connectors: list[ManagedQueue] = []
        "The connector queues of the foreign sites that are served here."
        for queue in loaded.values():
            self.touch(queue)
            if queue.kind is QueueKind.OUTGOING:
                destination = parse_format_name(queue.name)
                queue.transfer = Transfer.to(destination, hardened=state.is_hardened)
                queue.transfer.set_state(TransferState.WAITING)
        self.dead_letter = loaded[DEAD_LETTER]
        self.transactional_dead_letter = loaded[TRANSACTIONAL_DEAD_LETTER]
        self.system_journal = loaded[JOURNAL]
        self.refused = loaded[REFUSED]
        "What other managers sent and was not accepted."
        self.on_multicast: list[Callable[[], None]] = []
        "Called when other group addresses have queues."
        self.resolver = Resolver(state.identity, self, lambda: state.settings.inherited_names)

    # Finding

    def __iter__(self) -> Iterator[ManagedQueue]:
        """The queues that people made, by name."""
        for name in sorted(self._by_name):
            queue = self._by_name[name]
            if queue.kind in VISIBLE and not queue.deleted:
                yield queue

    @property
    def everything(self) -> list[ManagedQueue]:
        """All queues, also those that the manager made."""
        found = list(self.by_number.values())
        found += [queue.journal for queue in found if queue.journal is not None]
        return found + [queue.delayed for queue in found if queue.delayed is not None]

    @property
    def stored_size(self) -> int:
        """Bytes of the messages that the store holds of all queues."""
        return sum(queue.size for queue in self.everything)

    def get(self, number: int) -> ManagedQueue | None:
        """The queue with this number."""
        if number & JOURNAL_BIT:
            owner = self.by_number.get(number ^ JOURNAL_BIT)
            return None if owner is None else journal_of(owner)
        if number & DELAYED_BIT:
            owner = self.by_number.get(number ^ DELAYED_BIT)
            return None if owner is None else delayed_of(owner)
        return self.by_number.get(number)

    def find(self, name: str) -> ManagedQueue:
        """The queue with this path below the computer; `QueueNotFound` ([MS-MQDMPR] 3.1.7.1.5)."""
        folded = fold(name)
        queue = self._by_name.get(folded)
        if queue is None and folded.endswith(JOURNAL_SUFFIX):
            owner = self._by_name.get(folded.removesuffix(JOURNAL_SUFFIX))
            if owner is not None and owner.kind in VISIBLE:
                queue = journal_of(owner)
        if queue is None or queue.deleted or queue.number in HIDDEN:
            raise QueueNotFound(name)
        return queue

    def for_sending(self, name: FormatName) -> ManagedQueue | None:
        """The queue of this manager that takes messages for `name`; None if it is elsewhere."""
        local = self.resolver.local(name)
        if local is None:
            return None
        queue = self.find(local)
        if queue.kind not in VISIBLE:
            raise UnsupportedFormatNameOperation(f"{name}: cannot send to a {queue.kind} queue")
        return queue

    def for_letters(self, path: str, *, transactional: bool) -> ManagedQueue:
        """The queue that takes dead letters of a message that names it ([MS-MQDMPR] 3.1.1.12).

        It is one of this manager, and transactional exactly if the message is (A-73).
        """
        local = self.resolver.local(parse_path_name(path))
        if local is None:
            raise IllegalQueuePathName(
                f"dead_letter_queue {path}: a queue of the sending manager is needed, since a dead"
                " letter stays where the message was sent"
            )
        queue = self.find(local)
        if queue.kind not in VISIBLE:
            raise UnsupportedFormatNameOperation(f"dead_letter_queue {path}: a {queue.kind} queue")
        if queue.properties.transactional is not transactional:
            needed = (
                "a transactional queue" if transactional else "a queue that is not transactional"
            )
            raise TransactionUsage(
                f"dead_letter_queue {path}: {needed} is needed, as the message is"
            )
        return queue

    def find_outgoing(self, name: FormatName) -> ManagedQueue | None:
        """The outgoing queue for a destination, if there is one."""
        return self._by_name.get(name.key)

    def has_outgoing(self, name: FormatName) -> bool:
        """Whether there is one for messages of programs here or of other managers."""
        return any(_outgoing_key(name, purpose) in self._by_name for purpose in Purpose)

    def outgoing(self, name: FormatName, purpose: Purpose = Purpose.SEND) -> ManagedQueue:
        """The outgoing queue for a destination, one for each ([MS-MQDMPR] 3.1.7.1.5, A-24).

        One that a program sends to is a program's from then on, and one that is for known peers,
        too, is not bounded as those for strangers are.
        """
        queue = self._by_name.get(name.key)
        if queue is None:
            queue = self._make(str(name), QueueKind.OUTGOING, None)
            label = str(name)[:QUEUE_LABEL_MAX]
            queue.properties = replace(queue.properties, label=label, purpose=purpose)
            queue.transfer = Transfer.to(name, hardened=self._state.is_hardened)
        elif _RANKS.index(purpose) < _RANKS.index(queue.properties.purpose):
            queue.properties = replace(queue.properties, purpose=purpose)
            if queue.is_stored:
                self._keep_properties(queue)
        return queue

    def prefer(self, queue: ManagedQueue, base_priority: int) -> None:
        """Give an outgoing queue the base priority of its destination ([MS-MQDMPR] 3.1.7.1.5)."""
        if queue.properties.base_priority != base_priority:
            queue.properties = replace(queue.properties, base_priority=base_priority)
            if queue.is_stored:
                self._keep_properties(queue)

    def forwarding(self, name: FormatName, *, is_sideways: bool) -> ManagedQueue:
        """The outgoing queue for messages of others to a destination ([MS-MQQB] 3.1.5.8.5).

        It needs no directory ([MS-MQDMPR] 3.1.7.1.5, A-27). They have queues of their own, since
        only what is sent here is numbered here.
        """
        purpose = Purpose.FORWARD_NEARER if is_sideways else Purpose.FORWARD
        queue = self._by_name.get(_outgoing_key(name, purpose))
        if queue is None:
            queue = self._make(str(name), QueueKind.OUTGOING, None, purpose)
            queue.transfer = Transfer.to(name, hardened=self._state.is_hardened)
        return queue

    def connector(self, site: UUID, *, transactional: bool) -> ManagedQueue:
        """The queue of messages for the systems of a foreign site ([MS-MQMQ] 2.1.6; RT-22)."""
        name = ConnectorName(site, Suffix.XACTONLY if transactional else Suffix.NONE)
        queue = self._by_name.get(name.key)
        if queue is None:
            queue = self._make(str(name), QueueKind.CONNECTOR, None)
            queue.properties = replace(queue.properties, transactional=transactional)
        return queue

    def serve_sites(self, sites: Mapping[UUID, str]) -> None:
        """Have the two connector queues of each of these foreign sites ([MS-MQMQ] 1.1).

        With each site goes who may open them. Those of other sites stay until they are empty
        (RT-22).
        """
        before = self._connectors
        self._connectors = []
        for site, permissions in sites.items():
            for transactional in (False, True):
                queue = self.connector(site, transactional=transactional)
                self._connectors.append(queue)
                queue.pins += 1
                if queue.properties.permissions != permissions:
                    queue.properties = replace(queue.properties, permissions=permissions)
                    if queue.is_stored:
                        self._keep_properties(queue)
        for queue in before:
            queue.pins -= 1
            self.touch(queue)

    def find_connector(self, name: ConnectorName) -> ManagedQueue:
        """The connector queue with a name; `QueueNotFound` if there is none here."""
        queue = self._by_name.get(name.key)
        if queue is None or queue.deleted:
            raise QueueNotFound(
                f"{name}: this manager is no connector server of that site (openmsmq topology show)"
            )
        return queue

    def _keep_properties(self, queue: ManagedQueue) -> None:
        def apply(batch: Batch) -> None:
            if not queue.deleted:
                batch.set_properties(queue, queue.properties)

        self._state.submit(apply, lambda: None, lambda error: None)

    def subqueue(self, parent: ManagedQueue, name: str) -> ManagedQueue:
        """The subqueue of a queue, made if it is not there (A-05)."""
        if parent.kind not in VISIBLE:
            raise UnsupportedFormatNameOperation(f"a {parent.kind} queue has no subqueues")
        folded = fold(name)
        if folded not in parent.subqueues:
            queue = self._make(f"{parent.name};{name}", QueueKind.SUBQUEUE, parent)
            parent.subqueues[folded] = queue
            derive(parent)
        return parent.subqueues[folded]

    def make_reserved(self, name: str) -> ManagedQueue:
        """A place for what a subscription is given; it stays until `forget_reserved`."""
        store = self._make(name, QueueKind.RESERVED, None)
        self._idle.discard(store)
        return store

    def forget_reserved(self, store: ManagedQueue) -> None:
        """A subscription has ended, and nothing is left of what it was given."""
        self.forget(store)
        store.deleted = True

    def _make(
        self,
        name: str,
        kind: QueueKind,
        parent: ManagedQueue | None,
        purpose: Purpose = Purpose.SEND,
    ) -> ManagedQueue:
        """A queue that comes and goes by itself; the store knows it while it has messages."""
        number = self._take_number()
        now = self._state.timeline.wall
        identifier = uuid5(self._state.identity, f"{number}")
        properties = QueueProperties(name, identifier, now, now, kind=kind, purpose=purpose)
        queue = ManagedQueue(number, properties, parent=parent, is_stored=False)
        self.by_number[number] = self._by_name[_key(queue)] = queue
        self._idle.add(queue)
        return queue

    def _take_number(self) -> int:
        numbers = self._state.numbers
        number = numbers.queue
        numbers.queue += 1
        return number

    def add(self, properties: QueueProperties) -> ManagedQueue:
        """A new queue; `QueueExists` if its name is taken (A-28)."""
        name = fold(properties.name)
        if name in self._by_name:
            raise QueueExists(properties.name)
        queue = ManagedQueue(self._take_number(), properties)
        self.by_number[queue.number] = self._by_name[name] = queue
        return queue

    def has(self, queue: ManagedQueue) -> bool:
        """Whether the name of a queue still means this one."""
        return self._by_name.get(_key(queue)) is queue

    def hide(self, queue: ManagedQueue) -> None:
        """A queue is as good as gone: readers that wait fail (A-29)."""
        self.by_number.pop(queue.number, None)
        queue.deleted = True
        self._readers.cancel_all(queue, QueueDeleted(queue.name))

    def revive(self, queue: ManagedQueue) -> None:
        """A queue that could not be deleted is there again."""
        queue.deleted = False
        if queue.kind not in (QueueKind.JOURNAL, QueueKind.DELAYED):
            self.by_number[queue.number] = queue
        self.touch(queue)

    def touch(self, queue: ManagedQueue) -> None:
        """A queue that comes and goes may have become needless."""
        if queue.kind is QueueKind.DELAYED:
            queue = queue.main
        if queue.kind in COME_AND_GO:
            self._idle.add(queue)

    def tidy(self) -> None:
        """Forget subqueues and outgoing queues that are empty and not in use (A-05).

        Not during a commit, which may put something into them.
        """
        if self._state.is_committing:
            return
        for queue in list(self._idle):
            if queue.is_in_use:
                continue
            self._idle.discard(queue)
            if not queue.deleted:
                self.forget(queue)
                queue.deleted = True
                self._state.numbers.sequences.ended(queue.sequences.all)
                if queue.is_stored:
                    apply = partial(delete_queue_rows, queue=queue)
                    self._state.submit(apply, lambda: None, lambda error: None)

    def forget(self, queue: ManagedQueue) -> None:
        """A queue is gone, and its name is free."""
        if self.by_number.get(queue.number) is queue:
            del self.by_number[queue.number]
        name = _key(queue)
        if self._by_name.get(name) is queue:
            del self._by_name[name]
        if queue.parent is not None and queue.kind is QueueKind.SUBQUEUE:
            name = fold(queue.name.rpartition(";")[2])
            if queue.parent.subqueues.get(name) is queue:
                del queue.parent.subqueues[name]

    # Handles

    def open(self, queue: ManagedQueue, mode: Mode) -> None:
        """Open Queue ([MS-MQDMPR] 3.1.7.1.5), where the queue is known."""
        check_sharing(queue.modes, mode)
        queue.modes.append(mode)

    def close(self, queue: ManagedQueue, mode: Mode, owner: object) -> None:
        """Close Queue ([MS-MQDMPR] 3.1.7.1.6): reads that wait on this handle are cancelled."""
        for member in queue.members:
            self.close(member, mode, owner)
        queue.modes.remove(mode)
        for waiter in list(queue.waiters):
            if waiter.owner is owner:
                error = OperationCancelled("the queue was closed")
                self._readers.cancel(queue, waiter.pending, error)
        self.touch(queue)
        self.tidy()


def delete_queue_rows(batch: Batch, queue: ManagedQueue) -> None:
    """Take a queue itself out of the store, with its sequences."""
    delete_rows(batch, queue)
    if queue.kind is QueueKind.OUTGOING:  # others go with their journals as a family
        for bit in (JOURNAL_BIT, DELAYED_BIT):
            batch.writer.delete(Table.QUEUES, queue_key(queue.number | bit, COUNTERS_ROW))
    for sequence in queue.sequences.all:
        forget_sequence(batch.writer, sequence)


def delete_rows(batch: Batch, queue: ManagedQueue) -> None:
    """Take what there is to know of a queue out of the store."""
    for row in (PROPERTIES_ROW, COUNTERS_ROW, PURGED_ROW, SUBSCRIPTION_ROW, READ_ROW):
        batch.writer.delete(Table.QUEUES, queue_key(queue.number, row))


def _key(queue: ManagedQueue) -> str:
    """By what a queue is found: names that mean the same have the same key."""
    if queue.kind is QueueKind.RESERVED:
        return f"\0{queue.number}"  # which is no name
    if queue.kind is QueueKind.OUTGOING:
        return _outgoing_key(parse_format_name(queue.name), queue.properties.purpose)
    if queue.kind is QueueKind.CONNECTOR:
        return parse_format_name(queue.name).key
    return fold(queue.name)


def _outgoing_key(name: FormatName, purpose: Purpose) -> str:
    return f"{name.key}\0{purpose}" if purpose in FORWARDED else name.key
