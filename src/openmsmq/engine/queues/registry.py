"""The queues of a manager: found by name or number, created and deleted, opened and closed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid5

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.outgoing.sequences import forget_sequence
from openmsmq.engine.outgoing.state import Transfer
from openmsmq.engine.queues.access import check_sharing
from openmsmq.engine.queues.purge import drop_messages, purge
from openmsmq.engine.queues.queue import (
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
from openmsmq.engine.storage.layout import (
    COUNTERS_ROW,
    DELAYED_BIT,
    DELETED_ROW,
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
    QueueNotAvailable,
    QueueNotFound,
    TransactionUsage,
    UnsupportedFormatNameOperation,
)
from openmsmq.names.base import FormatName
from openmsmq.names.format import parse_format_name
from openmsmq.names.parts import fold
from openmsmq.names.path import parse_path_name
from openmsmq.properties.message import MessageClass
from openmsmq.types.access import Mode
from openmsmq.types.caller import INTERNAL, Caller
from openmsmq.types.outgoing import TransferState
from openmsmq.types.queues import LABEL_MAX, VISIBLE, QueueKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from openmsmq.engine.core import Core


_RANKS: Final = tuple(Purpose)
"Purposes, the one that counts most first."


class Queues:
    """All queues of a manager (QueueCollection, [MS-MQDMPR] 3.1.1.1)."""

    def __init__(self, core: Core, loaded: dict[int, ManagedQueue]) -> None:
        self._core = core
        self.by_number = loaded
        "All but the journals of queues, which are found through their queue."
        self._by_name = {_key(queue): queue for queue in loaded.values()}
        self._idle: set[ManagedQueue] = set()
        "Queues that may have become needless."
        for queue in loaded.values():
            self.touch(queue)
            if queue.kind is QueueKind.OUTGOING:
                destination = parse_format_name(queue.name)
                queue.transfer = Transfer.to(destination, hardened=core.settings.hardened)
                queue.transfer.set_state(TransferState.WAITING)
        self.dead_letter = loaded[DEAD_LETTER]
        self.transactional_dead_letter = loaded[TRANSACTIONAL_DEAD_LETTER]
        self.system_journal = loaded[JOURNAL]
        self.refused = loaded[REFUSED]
        "What other managers sent and was not accepted."
        self.resolver = Resolver(core.identity, self, lambda: core.settings.inherited_names)

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
        """The queue with this path below the computer; `QueueNotFound` if there is none."""
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
            raise UnsupportedFormatNameOperation(f"{name}: nobody sends to a {queue.kind} queue")
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

    def outgoing(self, name: FormatName, purpose: Purpose = Purpose.SEND) -> ManagedQueue:
        """The outgoing queue for a destination, one for each ([MS-MQDMPR] 3.1.7.1.5, A-24).

        One that a program sends to is a program's from then on, and one that is for known peers,
        too, is not bounded as those for strangers are.
        """
        queue = self._by_name.get(name.key)
        if queue is None:
            queue = self._make(str(name), QueueKind.OUTGOING, None)
            label = str(name)[:LABEL_MAX]
            queue.properties = replace(queue.properties, label=label, purpose=purpose)
            queue.transfer = Transfer.to(name, hardened=self._core.settings.hardened)
        elif _RANKS.index(purpose) < _RANKS.index(queue.properties.purpose):
            queue.properties = replace(queue.properties, purpose=purpose)
            if queue.is_stored:
                self._keep_properties(queue)
        return queue

    def _keep_properties(self, queue: ManagedQueue) -> None:
        def apply(batch: Batch) -> None:
            if not queue.deleted:
                batch.set_properties(queue, queue.properties)

        self._core.submit(apply, lambda: None, lambda error: None)

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
        self._forget(store)
        store.deleted = True

    def _make(self, name: str, kind: QueueKind, parent: ManagedQueue | None) -> ManagedQueue:
        """A queue that comes and goes by itself; the store knows it while it has messages."""
        number = self._take_number()
        now = self._core.timeline.wall
        identifier = uuid5(self._core.identity, f"{number}")
        properties = QueueProperties(name, identifier, now, now, kind=kind)
        queue = ManagedQueue(number, properties, parent=parent, is_stored=False)
        self.by_number[number] = self._by_name[_key(queue)] = queue
        self._idle.add(queue)
        return queue

    def _take_number(self) -> int:
        numbers = self._core.numbers
        number = numbers.queue
        numbers.queue += 1
        return number

    def touch(self, queue: ManagedQueue) -> None:
        """A queue that comes and goes may have become needless."""
        if queue.kind is QueueKind.DELAYED:
            queue = queue.main
        if queue.kind in (QueueKind.SUBQUEUE, QueueKind.OUTGOING):
            self._idle.add(queue)

    def tidy(self) -> None:
        """Let go of subqueues and outgoing queues that nobody uses and nothing is in (A-05).

        Not during a commit, which may put something into them.
        """
        if self._core.is_committing:
            return
        for queue in list(self._idle):
            if queue.is_in_use:
                continue
            self._idle.discard(queue)
            if not queue.deleted:
                self._forget(queue)
                queue.deleted = True
                self._core.numbers.sequences.ended(queue.sequences.all)
                if queue.is_stored:
                    self._core.submit(_delete_rows(queue), lambda: None, lambda error: None)

    # Creating, changing, deleting

    def create(self, properties: QueueProperties) -> Future[ManagedQueue]:
        """Create Queue ([MS-MQDMPR] 3.1.7.1.3); a name taken is refused (A-28)."""
        name = fold(properties.name)
        if name in self._by_name:
            raise QueueExists(properties.name)
        number = self._take_number()
        queue = ManagedQueue(number, properties)
        self.by_number[number] = self._by_name[name] = queue
        pending: Future[ManagedQueue] = Future()

        def failed(error: BaseException) -> None:
            self._withdraw(_family(queue), "")
            pending.fail(error)

        def apply(batch: Batch) -> None:
            batch.set_properties(queue, properties)
            batch.write_queue_number()

        self._core.submit(apply, lambda: pending.succeed(queue), failed, grows=True)
        return pending

    def change(self, queue: ManagedQueue, now: int, changes: Mapping[str, Any]) -> Future[None]:
        """Give a queue other properties; its name and kind stay.

        Changes under way together are made one after the other.
        """
        if queue.deleted:
            raise QueueNotAvailable(queue.name)
        if queue.kind not in (*VISIBLE, QueueKind.SYSTEM):
            raise UnsupportedFormatNameOperation(f"a {queue.kind} queue has no properties")
        pending: Future[None] = Future()
        changed = queue.properties.changed(now, **changes)  # refused now, if ever

        def apply(batch: Batch) -> None:
            nonlocal changed
            if queue.kind in VISIBLE and self._by_name.get(_key(queue)) is not queue:
                raise QueueNotAvailable(queue.name)  # it could not be created
            changed = batch.properties(queue).changed(now, **changes)
            batch.set_properties(queue, changed)

        def committed() -> None:
            queue.properties = changed
            derive(queue)
            pending.succeed(None)

        self._core.submit(apply, committed, pending.fail, grows=True)
        return pending

    def delete(self, queue: ManagedQueue, caller: Caller = INTERNAL) -> Future[None]:
        """Delete Queue ([MS-MQDMPR] 3.1.7.1.4): gone at once, its messages step by step.

        Its journal and subqueues go with it. Readers that wait are told (A-29); messages held by
        transactions go with the rest, and the later outcome finds nothing to do. The name is free
        again when this is answered.
        """
        _check_deletable(queue)
        pending: Future[None] = Future()
        family = _family(queue)
        self._hide(family)

        def apply(batch: Batch) -> None:
            for member in family:
                _delete_rows(member)(batch)
                row = member.properties.to_row()
                batch.writer.put(Table.QUEUES, queue_key(member.number, DELETED_ROW), row)
            batch.write_queue_number()  # that of a subqueue may be known to nobody else

        def committed() -> None:
            self._withdraw(family, caller.name)
            pending.succeed(None)
            for member in family:
                drop_messages(self._core, member, caller.name)

        def failed(error: BaseException) -> None:
            if self._by_name.get(fold(queue.name)) is queue:  # else it never was
                self._revive(family)
            pending.fail(error)

        self._core.submit(apply, committed, failed)
        return pending

    def _hide(self, family: list[ManagedQueue]) -> None:
        """Queues are as good as gone: readers that wait are told (A-29)."""
        for queue in family:
            self.by_number.pop(queue.number, None)
            queue.deleted = True
            self._core.cancel_all(queue, QueueDeleted(queue.name))

    def _withdraw(self, family: list[ManagedQueue], by: str) -> None:
        """Queues are gone, and their express messages with them."""
        self._hide(family)
        for queue in family:
            self._forget(queue)
            self._drop_express(queue, by)
        self._core.recount()

    def _drop_express(self, queue: ManagedQueue, by: str) -> None:
        entries = [queue.express[lookup] for lookup in queue.express.lookups()]
        self._core.drop_express(queue, queue.express.lookups())
        self._core.dispositions.removed_express(queue, entries, MessageClass.NACK_Q_DELETED, by)

    def _revive(self, family: list[ManagedQueue]) -> None:
        """Queues that could not be deleted are there again."""
        for queue in family:
            queue.deleted = False
            if queue.kind not in (QueueKind.JOURNAL, QueueKind.DELAYED):
                self.by_number[queue.number] = queue
            self.touch(queue)
            self._core.expiry.released(queue, queue.express.lookups())
        self._core.recount()

    def _forget(self, queue: ManagedQueue) -> None:
        if self.by_number.get(queue.number) is queue:
            del self.by_number[queue.number]
        name = _key(queue)
        if self._by_name.get(name) is queue:
            del self._by_name[name]
        if queue.parent is not None and queue.kind is QueueKind.SUBQUEUE:
            name = fold(queue.name.rpartition(";")[2])
            if queue.parent.subqueues.get(name) is queue:
                del queue.parent.subqueues[name]

    def purge(self, queue: ManagedQueue, caller: Caller = INTERNAL) -> Future[int]:
        """Purge Queue ([MS-MQDMPR] 3.1.7.1.7); the answer is the number of messages removed."""
        if queue.deleted:
            raise QueueNotAvailable(queue.name)
        return purge(self._core, queue, caller.name)

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
                self._core.cancel(queue, waiter.pending, error)
        self.touch(queue)
        self.tidy()


def _family(queue: ManagedQueue) -> list[ManagedQueue]:
    """A queue and what goes with it."""
    waiting = () if queue.delayed is None else (queue.delayed,)
    return [queue, journal_of(queue), *waiting, *queue.subqueues.values()]


def _check_deletable(queue: ManagedQueue) -> None:
    if queue.deleted:
        raise QueueNotFound(queue.name)
    if queue.kind not in VISIBLE:
        raise UnsupportedFormatNameOperation(f"a {queue.kind} queue cannot be deleted")


def _delete_rows(queue: ManagedQueue) -> Callable[[Batch], None]:
    """Take a queue itself out of the store."""

    def apply(batch: Batch) -> None:
        delete_rows(batch, queue)
        if queue.kind is QueueKind.OUTGOING:  # others go with their journals as a family
            for bit in (JOURNAL_BIT, DELAYED_BIT):
                batch.writer.delete(Table.QUEUES, queue_key(queue.number | bit, COUNTERS_ROW))
        for sequence in queue.sequences.all:
            forget_sequence(batch.writer, sequence)

    return apply


def delete_rows(batch: Batch, queue: ManagedQueue) -> None:
    """Take what there is to know of a queue out of the store."""
    for row in (PROPERTIES_ROW, COUNTERS_ROW, PURGED_ROW, SUBSCRIPTION_ROW, READ_ROW):
        batch.writer.delete(Table.QUEUES, queue_key(queue.number, row))


def _key(queue: ManagedQueue) -> str:
    """By what a queue is found: names that mean the same have the same key."""
    if queue.kind is QueueKind.RESERVED:
        return f"\0{queue.number}"  # which is no name
    if queue.kind is QueueKind.OUTGOING:
        return parse_format_name(queue.name).key
    return fold(queue.name)
