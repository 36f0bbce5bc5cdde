"""Messages that other managers send: what becomes of each, in the order of [MS-MQQB] 3.1.5.8.

Whether a message is new is decided when it is written, with all that the same commit has written
before, and what makes it known the next time is written with it (AMB-64). Express messages need no
commit and are dealt with at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Final

from openmsmq import limits
from openmsmq.errors import MQError
from openmsmq.model.arrival import Origin, Refused, Rejected, Work, run_of
from openmsmq.model.committing import Batch, NewMessage
from openmsmq.model.confirming import Confirming
from openmsmq.model.core import Core
from openmsmq.model.history import Event, identifiers
from openmsmq.model.incoming import (
    Head,
    IncomingSequence,
    destination_text,
    head_of,
    transaction_of,
)
from openmsmq.model.layout import NEVER, Owed, owed_for
from openmsmq.model.queue import NO_QUOTA, Kind, Queue
from openmsmq.model.reporting import Reporting
from openmsmq.model.sending import EXPRESS_SIZE_MAX, KIB
from openmsmq.model.statistics import Statistics
from openmsmq.model.timeline import expiry
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.parts import join_queue
from openmsmq.packet.acks import ack_body
from openmsmq.packet.base import BaseFlags
from openmsmq.packet.transaction import TransactionFlags
from openmsmq.packet.user import NO_GUID, UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge, MessageClass, describe_class

REJECTED: Final = "rejected: "
"What the words of statistics begin with that count rejected messages by reason."
REASONS: Final = (
    MessageClass.NACK_BAD_DST_Q,
    MessageClass.NACK_HOP_COUNT_EXCEEDED,
    MessageClass.NACK_NOT_TRANSACTIONAL_MSG,
    MessageClass.NACK_NOT_TRANSACTIONAL_Q,
    MessageClass.NACK_Q_EXCEED_QUOTA,
    MessageClass.NACK_REACH_QUEUE_TIMEOUT,
)
"Why messages are rejected."
VISIBLE: Final = (Kind.PRIVATE, Kind.PUBLIC)
_WANTS_FINAL: Final = UserFlags.JN | UserFlags.JP
_NOT_ALIKE: Final = UserFlags.TH | UserFlags.SH
"Headers between the names and the properties, which differ from message to message."
_NOT_JOURNAL: Final = ~Owed.JOURNAL.value
_FINAL_ACK: Final = Owed.FINAL_ACK.value
_NONE_YET: Final = IncomingSequence(0, 0, 0, 0, "", "")


class Arriving:
    """Takes messages of other managers."""

    def __init__(self, core: Core, confirming: Confirming) -> None:
        self._core = core
        self._confirming = confirming
        self.reporting = Reporting(core)
        self.on_order: Callable[[bytes, bytes, int], None] = lambda key, packet, count: None
        "Told how many messages of a sequence came, and the last: its sender is owed an OrderAck."
        self._addressees = (NO_GUID.bytes_le, core.identity.bytes_le)
        "Messages with these are for queues here; a direct name says nothing else (AMB-51)."
        self.tolerance = 0
        "Seconds that the clocks of senders may be behind ours (AMB-41)."
        self._staged: set[bytes] = set()
        "Messages that the commit being written brings."
        self._staged_size = 0
        "The bytes of messages that it brings."
        self._refused: list[Origin] = []
        "Sessions with a message that it does not take."
        core.on_given_up.append(self._given_up)

    # Recoverable and transactional messages

    def take(
        self, origin: Origin, packets: Sequence[bytes], done: Callable[[BaseException | None], None]
    ) -> None:
        """Take messages that must not be lost; `done` is told when the sender may forget them.

        With an error if it may not: then the session is to be closed, and they come again.
        """
        core = self._core
        work: Work | None = None
        row = now = 0

        def apply(batch: Batch) -> None:
            nonlocal work, row, now
            now = core.timeline.now
            work = Work(batch, origin)
            core.watch_resources()
            for packet in packets:
                if origin.is_refused:
                    break
                try:
                    self._take(work, packet)
                except Refused:
                    origin.is_refused = True
                    self._refused.append(origin)
            row = self._write(work, now)
            self._staged_size += work.size

        def committed() -> None:
            assert work is not None
            core.incoming.committed(work.sequences)
            self._staged.difference_update(work.keys)
            self._staged_size -= work.size
            self._refused.clear()
            if work.keys:
                core.duplicates.committed(row, work.keys, now)
            for key, (packet, count) in work.orders.items():
                self.on_order(key, packet, count)
            for call in work.after:
                call()
            done(Refused("no room") if origin.is_refused else None)

        def failed(error: BaseException) -> None:
            origin.is_refused = True
            done(error)

        core.submit(apply, committed, failed, grows=True)

    def _given_up(self) -> None:
        """The commit came to nothing: what it was to take has not come."""
        self._staged.clear()
        self._staged_size = 0
        for origin in self._refused:
            origin.is_refused = False
        self._refused.clear()

    def _write(self, work: Work, now: int) -> int:
        """Write what was decided, in one go for each queue."""
        core, batch = self._core, work.batch
        assert batch is not None, "only express messages need none"
        for queue, messages in work.new.items():
            batch.insert_many(queue, messages, work.origin.name)
            core.outcomes.arrived(batch, queue, messages)
        core.incoming.write(batch.writer, work.sequences)
        surplus = core.incoming.surplus()
        if surplus:
            core.incoming.forget(batch.writer, surplus)
        return core.duplicates.write(batch.writer, work.keys, now) if work.keys else 0

    def _take(self, work: Work, packet: bytes) -> None:
        """One message ([MS-MQQB] 3.1.5.8, in the order of AMB-38)."""
        run = work.run
        if run is not None and run.fits(packet):
            self._take_plain(work, packet, run.key(packet))
            return
        head = head_of(packet)
        is_mine = head.addressee in self._addressees
        if is_mine and head.flags & UserFlags.TH:
            self._take_next(work, packet, head)
            return
        if is_mine and (ack := ack_body(view := PacketView(packet))) is not None:
            self._confirming.take(work, ack, view.message_class)
            return
        self._take_plain(work, packet, head.message_key, head)

    def _take_plain(self, work: Work, packet: bytes, key: bytes, head: Head | None = None) -> None:
        """A message outside a transaction, unless it has come before ([MS-MQQB] 3.1.5.8.1)."""
        duplicates = self._core.duplicates
        if key in self._staged or key in duplicates:
            self._counter(work).count("duplicates")
            if key in duplicates:
                duplicates.note([key], self._core.timeline.now)
            return
        self._put(work, packet, head)
        self._staged.add(key)
        work.keys.append(key)

    def _take_next(self, work: Work, packet: bytes, head: Head) -> None:
        """A transactional message, if it is the next of its sequence ([MS-MQQB] 3.1.5.8.6).

        What is not in order is dropped without a word, and the sender told how far it came. A
        message in order consumes its number, whether it is accepted or not (AMB-40).
        """
        core = self._core
        marks, identifier, number, previous = transaction_of(packet)
        key = head.sequence_key
        last = core.incoming.get(key) or _NONE_YET
        if not last.takes(identifier, number, previous):
            self._counter(work).count("out of order")
            if last is not _NONE_YET:
                core.incoming.stage(key, last._replace(rejects=last.rejects + 1))
                work.sequences.add(key)
        else:
            self._accept(work, packet, head, marks)
            name = last.name or destination_text(packet)
            now = core.timeline.wall
            found = IncomingSequence(identifier, number, now, 0, work.origin.address, name)
            core.incoming.stage(key, found)
            work.sequences.add(key)
        before = work.orders.get(key)
        work.orders[key] = packet, 1 if before is None else before[1] + 1

    def _put(self, work: Work, packet: bytes, head: Head | None) -> None:
        """A message that is new; without a `head` it is like the one before."""
        if head is not None:
            self._accept(work, packet, head)
            return
        run, size = work.run, len(packet)
        assert run is not None
        self._require_room(work, size)
        is_express = work.batch is None
        work.add(run.queue, NewMessage(packet, run.priority, NEVER, is_express, run.owed), size)

    def _accept(self, work: Work, packet: bytes, head: Head, marks: int = 0) -> None:
        """Put a message into its queue, or say why not; `marks` are its TransactionHeader.Flags."""
        found = self._find(work, packet, head)
        if isinstance(found, Rejected):
            self._reject(work.batch, work.origin, packet, found.reason, head)
            return
        size = len(packet)
        self._require_room(work, size)
        quota = found.properties.quota
        if quota != NO_QUOTA and work.used(found) + size > quota * KIB:
            reason = MessageClass.NACK_Q_EXCEED_QUOTA
            self._reject(work.batch, work.origin, packet, reason, head, found)
            return
        new = self._new(packet, head, marks)
        work.add(found, new, size)
        if self.reporting.wants(packet):
            work.after.append(partial(self.reporting.send, packet))
        elif quota == NO_QUOTA and not head.flags & _NOT_ALIKE and new.expires == NEVER:
            oldest = self._core.timeline.wall - head.time_to_reach_queue - self.tolerance
            work.run = run_of(packet, found, head.destination, new, oldest)

    def _require_room(self, work: Work, size: int) -> None:
        """Let a message that this machine cannot take come again (AMB-64)."""
        if not self._has_room(work, size):
            self._counter(work).count("refused for lack of room")
            raise Refused

    def _counter(self, work: Work) -> Statistics | Batch:
        """What counts: the commit, if there is one."""
        return self._core.statistics if work.batch is None else work.batch

    def _has_room(self, work: Work, size: int) -> bool:
        """Whether this machine can take a message."""
        core = self._core
        machine = core.settings.quota
        size += work.size
        if core.is_throttled:
            return False
        if work.batch is None and core.express_size + size > EXPRESS_SIZE_MAX:
            return False
        return machine is None or core.total_size + self._staged_size + size <= machine * KIB

    def _new(self, packet: bytes, head: Head, marks: int) -> NewMessage:
        """A message as it is put into its queue; its sender's journal is not ours."""
        flags, receive = head.flags, head.time_to_be_received
        expires = NEVER
        if receive != INFINITE:
            expires = expiry(head.sent_time - self._core.timeline.shift, receive, NEVER)
        owed = owed_for(flags, PacketView(packet).acknowledge) & _NOT_JOURNAL
        if not flags & UserFlags.TH:
            priority = head.base_flags & BaseFlags.PR
            return NewMessage(packet, priority, expires, not flags & UserFlags.DM, owed)
        if flags & _WANTS_FINAL or marks & TransactionFlags.FA:
            owed |= _FINAL_ACK
        return NewMessage(packet, 0, expires, False, owed)

    # Express messages

    def take_express(self, origin: Origin, packets: Sequence[bytes]) -> bool:
        """Take messages that may be lost; False if there is no room, and the session closes."""
        core = self._core
        work = Work(None, origin)
        is_taken = True
        try:
            for packet in packets:
                self._take_express(work, packet)
        except Refused:
            is_taken = False
        core.duplicates.note(list(work.seen), core.timeline.now)
        for queue, messages in work.new.items():
            core.after_inserts(queue, partial(self._insert, queue, messages, origin))
        for call in work.after:
            call()
        core.settle()  # there may be an acknowledgement to be sent
        return is_taken

    def _take_express(self, work: Work, packet: bytes) -> None:
        core = self._core
        run = work.run
        if run is not None and run.fits(packet):
            self._take_fresh(work, packet, run.key(packet))
            return
        head = head_of(packet)
        is_mine = head.addressee in self._addressees
        if is_mine and (ack := ack_body(view := PacketView(packet))) is not None:
            self._confirming.take_express(ack, view.message_class)
            return
        if head.flags & UserFlags.TH:  # nobody sends one so: what has a place must not be lost
            core.statistics.count("out of order")
            return
        self._take_fresh(work, packet, head.message_key, head)

    def _take_fresh(self, work: Work, packet: bytes, key: bytes, head: Head | None = None) -> None:
        """An express message, unless it has come before."""
        core = self._core
        if key in core.duplicates or key in work.seen:
            core.statistics.count("duplicates")
        else:
            self._put(work, packet, head)
        work.seen[key] = None

    def _insert(self, queue: Queue, messages: list[NewMessage], origin: Origin) -> None:
        core = self._core
        by, core.by = core.by, origin.name
        core.wake(queue, core.insert_express(queue, messages))
        core.by = by

    # Checks

    def _find(self, work: Work, packet: bytes, head: Head) -> Queue | Rejected:
        """The queue a message goes to, or why it goes to none."""
        lifetime = min(head.time_to_reach_queue, head.time_to_be_received)
        if lifetime != INFINITE:
            age = self._core.timeline.wall - head.sent_time
            if age > lifetime + self.tolerance:
                return Rejected(MessageClass.NACK_REACH_QUEUE_TIMEOUT)
        if head.addressee not in self._addressees:
            if head.flags & UserFlags.RC >= limits.HOP_COUNT_MAX:
                return Rejected(MessageClass.NACK_HOP_COUNT_EXCEEDED)
            return Rejected(MessageClass.NACK_BAD_DST_Q)  # nobody routes here yet
        key = head.destination, head.flags & UserFlags.TH
        found = work.found.get(key)
        if found is None:
            found = work.found[key] = self._target(PacketView(packet), head.flags)
        return found

    def _target(self, view: PacketView, flags: int) -> Queue | Rejected:
        """The same for all messages to a destination that come together."""
        try:
            name = view.destination
            queue = None if name is None else self._local(name)
        except MQError:
            queue = None
        if queue is None or queue.deleted or queue.kind not in VISIBLE:
            return Rejected(MessageClass.NACK_BAD_DST_Q)
        transactional = bool(flags & UserFlags.TH)
        if transactional and not queue.properties.transactional:
            return Rejected(MessageClass.NACK_NOT_TRANSACTIONAL_Q)
        if queue.properties.transactional and not transactional:
            return Rejected(MessageClass.NACK_NOT_TRANSACTIONAL_MSG)
        return queue

    def _local(self, name: FormatName) -> Queue | None:
        """The queue that a name means here; the computer in a direct name does not matter."""
        queues = self._core.queues
        if isinstance(name, DirectName):
            return queues.find(_path(name))
        local = queues.resolve(name)
        return None if local is None else queues.find(local)

    def _reject(
        self,
        batch: Batch | None,
        origin: Origin,
        packet: bytes,
        reason: MessageClass,
        head: Head,
        queue: Queue | None = None,
    ) -> None:
        """Drop a message, and tell who wants to know ([MS-MQQB] 3.1.5.8.2 and others)."""
        core = self._core
        count = core.statistics.count if batch is None else batch.count
        count(Event.REJECTED.word)
        count(REJECTED + describe_class(reason))
        view = PacketView(packet)
        if batch is not None:
            ids, words = identifiers([packet]), describe_class(reason)
            batch.note(Event.REJECTED, queue, [0], ids, origin.name, words)
        if view.acknowledge & Acknowledge.NEG_ARRIVAL:
            core.outcomes.acknowledge(batch, packet, reason)
        if head.flags & UserFlags.TH:
            if batch is not None and head.addressee in self._addressees:
                core.outcomes.final_ack(batch, packet, reason, origin.address)
        elif reason is MessageClass.NACK_Q_EXCEED_QUOTA and head.flags & UserFlags.JN:
            core.outcomes.bury(batch, packet, view.priority, reason)


@lru_cache(maxsize=4096)
def _path(name: DirectName) -> str:
    return join_queue(name.queue_parts)
