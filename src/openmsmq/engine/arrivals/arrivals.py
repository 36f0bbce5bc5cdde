"""Messages that other managers send: what becomes of each, in the order of [MS-MQQB] 3.1.5.8.

Whether a message is new is decided when it is written, with all that the same commit has written
before, and what makes it known the next time is written with it (AMB-64). Express messages need no
commit and are dealt with at once; only if others of their session are still to be written to the
same queue do they get their places with these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NoReturn

from openmsmq.engine.arrivals.acknowledgements import DROPPED
from openmsmq.engine.arrivals.arrival import (
    Arrival,
    ArrivalGroup,
    ArrivalOutcome,
    ArrivalPosition,
    ArrivalWork,
    Origin,
    Refused,
    RefusedArrival,
    Rejected,
    StreamProgress,
    run_of,
)
from openmsmq.engine.arrivals.connectors import for_connector
from openmsmq.engine.arrivals.destinations import NO_ROUTER, WENT_ROUND, Destinations
from openmsmq.engine.arrivals.examination import PROTECTED, ExaminedGroup
from openmsmq.engine.arrivals.groups import NOT_JOURNAL, NOT_TRANSACTIONAL, Groups, insert_new
from openmsmq.engine.arrivals.incoming import (
    Head,
    IncomingSequence,
    destination_text,
    head_of,
)
from openmsmq.engine.arrivals.protection import Guard
from openmsmq.engine.arrivals.refusal import REJECTED, Refusals
from openmsmq.engine.arrivals.transit import TRACED, forward
from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.statistics import Statistics
from openmsmq.engine.commit.timeline import expiry
from openmsmq.engine.core import Core
from openmsmq.engine.messages.limits import EXPRESS_SIZE_MAX
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.quota import within_quota
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import NEVER, Owed, Total, owed_for
from openmsmq.limits import NO_QUOTA, U32_MAX
from openmsmq.packet.group import PacketGroup
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge, MessageClass, describe_class
from openmsmq.types.queues import QueueKind

_NOT_ALIKE: Final = UserFlags.TH | PROTECTED
"Headers that differ from message to message and are looked at each time."
_STRANGER: Final = Owed.STRANGER.value
_FINAL_ACK: Final = Owed.FINAL_ACK.value
_ACKNOWLEDGED: Final = Owed.ACK_RECEIVE | Owed.NACK_RECEIVE | Owed.ACK_ARRIVAL | Owed.NACK_ARRIVAL


class Arrivals:
    """Takes messages of other managers, whatever transport brings them."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._refusals = Refusals(core)
        self._destinations = Destinations(core)
        self._guard = Guard(core, self._destinations)
        self._staged: set[bytes] = set()
        "Messages that the commit being written brings."
        self._staged_size = 0
        "The bytes of messages that it brings."
        self._behind_size = 0
        "The bytes of express messages that get their places with a commit."
        self._refused: list[Origin] = []
        "Sessions with a message that it does not take."
        self._groups = Groups(core, self._destinations, self._guard, self._staged, self._has_room)
        core.on_given_up.append(self._given_up)

    def examined(self, packets: list[bytes]) -> list[bytes]:
        """Packets that came, protected ones with what was found out about them (`Guard`)."""
        return self._guard.examined(packets)

    def examined_group(self, group: PacketGroup) -> PacketGroup | ExaminedGroup | Sequence[bytes]:
        """Packets that differ in little; protected ones all together, or one by one."""
        return self._guard.examined_group(group)

    # Recoverable and transactional messages

    def take(
        self,
        origin: Origin,
        arrivals: Sequence[Arrival | ArrivalGroup],
        done: Callable[[ArrivalOutcome], None],
    ) -> None:
        """Take messages that must not be lost; `done` gets the outcome when it is on disk.

        With an error their sender must not forget them: the session is to be closed, and they come
        again.
        """
        core = self._core
        work: ArrivalWork | None = None
        row = now = 0
        owner = origin.owner

        def apply(batch: Batch) -> None:
            nonlocal work, row, now, owner
            origin.applied()
            now, owner = core.timeline.now, origin.owner
            work = ArrivalWork(batch, origin)
            core.watch_resources()
            for packet, position in self._groups.singles(work, arrivals):
                if origin.is_refused:
                    break
                try:
                    self._take(work, packet, position)
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
                core.duplicates.committed(row, owner, work.keys, now)
            outcome = work.outcome
            outcome.progress = [StreamProgress(key, *last) for key, last in work.orders.items()]
            if origin.is_refused:
                outcome.error = Refused("no room")
            done(outcome)

        def failed(error: BaseException) -> None:
            origin.is_refused = True
            outcome = ArrivalOutcome()
            outcome.error = error
            done(outcome)

        origin.waiting.append(arrivals)
        core.submit(apply, committed, failed, grows=True)

    def _given_up(self) -> None:
        """The commit came to nothing: what it was to take has not come."""
        self._staged.clear()
        self._staged_size = 0
        for origin in self._refused:
            origin.is_refused = False
        self._refused.clear()

    def _write(self, work: ArrivalWork, now: int) -> int:
        """Write what was decided, in one go for each queue."""
        core, batch = self._core, work.batch
        assert batch is not None, "only express messages need none"
        for queue, new in work.new.items():
            messages = insert_new(batch, queue, new, work.origin.name)
            core.dispositions.arrived(batch, queue, messages)
        core.incoming.write(batch.writer, work.sequences)
        surplus = core.incoming.surplus()
        if surplus:
            core.incoming.forget(batch.writer, surplus)
        if not work.keys:
            return 0
        return core.duplicates.write(batch.writer, work.origin.owner, work.keys, now)

    def _take(self, work: ArrivalWork, packet: bytes, position: ArrivalPosition | None) -> None:
        """One message ([MS-MQQB] 3.1.5.8, in the order of AMB-38)."""
        run = work.run
        if run is not None and run.fits(packet):
            self._take_plain(work, packet, run.scopes, run.key(packet))
            return
        head = head_of(packet)
        if position is not None and self._destinations.ends_here(head):
            self._take_next(work, packet, head, position)
            return
        if position is not None and self._core.routes.is_router:
            self._accept(work, packet, head)  # its receiver drops what comes twice
            return
        scopes = work.origin.scopes(head.source)
        self._take_plain(
            work, packet, scopes, self._destinations.message_key(head, scopes[0]), head
        )

    def _take_plain(
        self,
        work: ArrivalWork,
        packet: bytes,
        scopes: tuple[bytes, ...],
        key: bytes,
        head: Head | None = None,
    ) -> None:
        """A message outside a transaction, unless it has come before ([MS-MQQB] 3.1.5.8.1)."""
        if self._has_come(scopes, key):
            self._counter(work).count("duplicates")
            now = self._core.timeline.now
            if key in self._staged or not self._core.duplicates.is_aged(key, now):
                return
        else:
            self._put(work, packet, head)
        self._staged.add(key)
        work.keys.append(key)

    def _has_come(self, scopes: tuple[bytes, ...], key: bytes) -> bool:
        """Whether a message has come before, or with this commit (see `Origin.scopes`)."""
        duplicates, staged = self._core.duplicates, self._staged
        if key in duplicates or key in staged:
            return True
        others = [scope + key[16:] for scope in scopes[1:]]
        return any(other in duplicates or other in staged for other in others)

    def _take_next(
        self, work: ArrivalWork, packet: bytes, head: Head, position: ArrivalPosition
    ) -> None:
        """A transactional message, if it is the next of its sequence ([MS-MQQB] 3.1.5.8.6).

        A message that is not in order is dropped, and an order acknowledgement sent. A
        message in order consumes its number, whether it is accepted or not (AMB-40).
        """
        core, origin = self._core, work.origin
        identifier, number, previous = position[:3]
        scopes = origin.scopes(head.source)
        key = head.sequence_key(scopes[0])
        last = core.incoming.furthest(map(head.sequence_key, scopes))
        before_it = last or core.incoming.unknown
        missing = before_it.gap_before(identifier, number, previous)
        if origin.is_isolated:
            missing = missing if last is not None or number == 1 else None
        elif missing is None and (identifier, number) > before_it.place:
            stream = head.source, head.destination, identifier
            missing = 0 if core.incoming.continues(*stream, number, previous) else None
        if missing is None:
            self._counter(work).count("out of order")
            if (own := core.incoming.get(key)) is not None:
                core.incoming.stage(key, own._replace(rejects=own.rejects + 1))
                work.sequences.add(key)
        else:
            self._accept(work, packet, head, position)
            found = IncomingSequence(
                identifier,
                number,
                core.timeline.wall,
                0,
                origin.address,
                before_it.name or destination_text(packet),
                position.source or head.source,
                missing=min(before_it.missing + missing, U32_MAX),
                receipts_to=position.receipts_to or before_it.receipts_to,
            )
            core.incoming.stage(key, found)
            work.sequences.add(key)
            if missing:
                self._counter(work).count("gaps after a restore")
                work.outcome.gaps.append(found._replace(missing=missing))
        waiting = work.orders.get(key)
        work.orders[key] = packet, 1 if waiting is None else waiting[1] + 1

    def _put(self, work: ArrivalWork, packet: bytes, head: Head | None) -> None:
        """A message that is new; without a `head` it is like the one before."""
        if head is not None:
            self._accept(work, packet, head)
            return
        run, size = work.run, len(packet)
        assert run is not None
        self._require_room(work, size)
        is_express = work.batch is None
        kept = work.origin.kept(packet)
        work.add(run.queue, [NewMessage(kept, run.priority, NEVER, is_express, run.owed)], size)

    def _accept(
        self, work: ArrivalWork, packet: bytes, head: Head, position: ArrivalPosition | None = None
    ) -> None:
        """Put a message into its queue, or say why not."""
        origin = work.origin
        found = self._destinations.find(work.found, packet, head, origin.peer, origin.target)
        if isinstance(found, Rejected):
            self._destinations.check_awaited(found, packet, head, origin)
            self._reject(work, packet, found, head)
            return
        if found.kind in (QueueKind.OUTGOING, QueueKind.CONNECTOR):
            self._require_room(work, len(packet))
            is_foreign = found.kind is QueueKind.CONNECTOR
            new = for_connector(self._new(work, packet, head, position)) if is_foreign else None
            forward(self._core, work, packet, head, found, new)
            return
        clear = packet
        if head.flags & PROTECTED or found.properties.is_guarded:
            clear, fault = self._guard.check(work.origin, found, packet, head.flags)
            if fault is not None:
                self._refusals.record(work, fault, found)
                self._reject(work, packet, Rejected(fault), head, found)
                return
        size = len(clear)
        self._require_room(work, size)
        quota = found.properties.quota
        if not within_quota(quota, work.used(found), size):
            if position is not None and work.origin.is_isolated:
                self._refuse(work)
            self._reject(work, packet, Rejected(MessageClass.NACK_Q_EXCEED_QUOTA), head, found)
            return
        new = self._new(work, origin.kept(clear), head, position)
        work.add(found, [new], size)
        if packet[3] & TRACED and self._core.settings.reports:
            work.outcome.traced.append(packet)
        elif quota == NO_QUOTA and not head.flags & _NOT_ALIKE and new.expires == NEVER:
            core = self._core
            latest = head.time_to_reach_queue + core.settings.clock_tolerance
            oldest = core.timeline.wall - latest
            scopes = work.origin.scopes(head.source)
            work.run = run_of(packet, found, scopes, head.destination, new, oldest)

    def _require_room(self, work: ArrivalWork, size: int) -> None:
        """Let a message that this machine cannot take come again (AMB-64)."""
        if not self._has_room(work, size):
            self._refuse(work)

    def _refuse(self, work: ArrivalWork) -> NoReturn:
        self._counter(work).count("refused for lack of room")
        raise Refused

    def _counter(self, work: ArrivalWork) -> Statistics | Batch:
        """What counts: the commit, if there is one."""
        return self._core.statistics if work.batch is None else work.batch

    def _has_room(self, work: ArrivalWork, size: int) -> bool:
        """Whether this machine can take a message."""
        core = self._core
        size += work.size
        if core.is_throttled:
            return False
        if work.batch is None and core.express_size + self._behind_size + size > EXPRESS_SIZE_MAX:
            return False
        return within_quota(core.settings.quota, core.total_size + self._staged_size, size)

    def _may_answer(self, batch: Batch | None, origin: Origin, head: Head) -> bool:
        """Whether the source of a message is to hear of it: it is at the other end, or known.

        Otherwise there is no way to it, and no reason to believe that it sent the message. Nor is
        there one to this manager itself, if another one claims its identity.
        """
        core, source = self._core, head.source
        if origin.is_isolated:
            return True  # the address for receipts came with the stream
        is_own = source == core.identity.bytes_le
        if not is_own and (origin.peer == source or core.peers.knows(source)):
            return True
        (core.statistics if batch is None else batch).count(DROPPED)
        return False

    def _new(
        self, work: ArrivalWork, packet: bytes, head: Head, position: ArrivalPosition | None
    ) -> NewMessage:
        """A message as it is put into its queue; its sender's journal is not ours.

        It is noted whether its sender is owed a FinalAck (FinalAckRequired, [MS-MQDMPR] 3.1.1.12).
        """
        flags, receive = head.flags, head.time_to_be_received
        expires = NEVER
        if receive != INFINITE:
            expires = expiry(head.sent_time - self._core.timeline.shift, receive, NEVER)
        owed = owed_for(flags, PacketView(packet).acknowledge) & NOT_JOURNAL
        is_transactional = bool(flags & UserFlags.TH)
        wants_receipt = is_transactional and position is not None and position.wants_receipt
        if wants_receipt and self._may_answer(work.batch, work.origin, head):
            owed |= _FINAL_ACK
        if owed & NOT_TRANSACTIONAL and not work.origin.is_known:
            owed |= _STRANGER
            if owed & _ACKNOWLEDGED:
                self._note_place(work, head)
        owed |= work.origin.transport
        if is_transactional:
            return NewMessage(packet, 0, expires, False, owed)
        priority = head.base_flags & BaseFlags.PR
        return NewMessage(packet, priority, expires, not flags & UserFlags.DM, owed)

    def _note_place(self, work: ArrivalWork, head: Head) -> None:
        """Acknowledgements find the source of a message when its session is over (AMB-33)."""
        origin, core = work.origin, self._core
        if work.batch is None or origin.peer != head.source:
            return
        scope = origin.scopes(head.source)[0]
        key = core.incoming.note_place(scope, head.source, origin.address, core.timeline.wall)
        if key is not None:
            work.sequences.add(key)

    # Express messages

    def take_express(
        self, origin: Origin, packets: Sequence[bytes | ArrivalGroup]
    ) -> ArrivalOutcome:
        """Take messages that may be lost; an error says that there is no room for some."""
        core = self._core
        work = ArrivalWork(None, origin)
        try:
            for packet in self._groups.express_singles(work, packets):
                self._take_express(work, packet)
        except Refused as error:
            work.outcome.error = error
        core.duplicates.note(origin.owner, list(work.seen), core.timeline.now)
        for queue, new in work.new.items():
            messages = [item for item in new if isinstance(item, NewMessage)]
            if self._is_behind(origin, queue):
                self._insert_behind(queue, messages, origin)
            else:
                core.after_inserts(queue, partial(self._insert, queue, messages, origin))
        core.readers.notify()  # there may be an acknowledgement to be sent
        return work.outcome

    def _take_express(self, work: ArrivalWork, packet: bytes) -> None:
        core = self._core
        run = work.run
        if run is not None and run.fits(packet):
            self._take_fresh(work, packet, run.scopes, run.key(packet))
            return
        head = head_of(packet)
        if head.flags & UserFlags.TH:  # never sent so: what has a place must not be lost
            core.statistics.count("out of order")
            return
        scopes = work.origin.scopes(head.source)
        self._take_fresh(
            work, packet, scopes, self._destinations.message_key(head, scopes[0]), head
        )

    def _take_fresh(
        self,
        work: ArrivalWork,
        packet: bytes,
        scopes: tuple[bytes, ...],
        key: bytes,
        head: Head | None = None,
    ) -> None:
        """An express message, unless it has come before."""
        core = self._core
        if key in work.seen or self._has_come(scopes, key):
            core.statistics.count("duplicates")
        else:
            self._put(work, packet, head)
        work.seen[key] = None

    def _is_behind(self, origin: Origin, queue: ManagedQueue) -> bool:
        """Whether the next commit puts messages of the same session into a queue."""
        found: dict[tuple[bytes, int], ManagedQueue | Rejected] = {}
        while origin.waiting:
            for item in origin.waiting.pop():
                packet = item.group.first if isinstance(item, ArrivalGroup) else item[0]
                head = head_of(packet)
                target = self._destinations.queue_of(found, packet, head, origin.peer)
                if isinstance(target, ManagedQueue):
                    origin.ahead.add(target)
        return queue in origin.ahead

    def _insert_behind(
        self, queue: ManagedQueue, messages: list[NewMessage], origin: Origin
    ) -> None:
        """Put messages into a queue behind those of the same session that are to be written.

        They may have been acknowledged when the commit fails, and are put there all the same.
        """
        core = self._core
        size = sum([len(message.packet) for message in messages])
        places: list[int] = []
        core.reserve(queue, size)
        self._behind_size += size

        def apply(batch: Batch) -> None:
            places[:] = batch.numbers.arrivals(len(messages))
            batch.inserted.setdefault(queue, [])  # what comes meanwhile goes behind these

        def done(_: BaseException | None = None) -> None:
            core.reserve(queue, -size)
            self._behind_size -= size
            self._insert(queue, messages, origin, places)

        core.submit(apply, done, done, grows=True)

    def _insert(
        self,
        queue: ManagedQueue,
        messages: list[NewMessage],
        origin: Origin,
        places: Sequence[int] = (),
    ) -> None:
        core = self._core
        if queue.deleted:
            gone, work = Rejected(MessageClass.NACK_BAD_DST_Q), ArrivalWork(None, origin)
            for message in messages:
                packet = message.packet
                self._reject(work, packet, gone, head_of(packet))
            return
        core.readers.wake(
            queue, core.dispositions.insert_express(queue, messages, places, by=origin.name)
        )

    # What is not accepted

    def _reject(
        self,
        work: ArrivalWork,
        packet: bytes,
        rejected: Rejected,
        head: Head,
        queue: ManagedQueue | None = None,
    ) -> None:
        """Drop a message, and tell who wants to know ([MS-MQQB] 3.1.5.8.2 and others)."""
        core, batch, origin, reason = self._core, work.batch, work.origin, rejected.reason
        for word in (Event.REJECTED.word, REJECTED + describe_class(reason)):
            self._counter(work).count(word)
        self._refusals.notify(batch, packet, reason, origin)
        view = PacketView(packet)
        if batch is not None:
            ids, words = identifiers([packet]), rejected.words or describe_class(reason)
            batch.note(Event.REJECTED, queue, [0], ids, origin.name, words)
            if queue is not None:
                batch.total(queue, Total.REJECTED)
        elif queue is not None:
            queue.totals[Total.REJECTED] += 1
        flags = origin.transport | (0 if origin.is_known else _STRANGER)
        work.outcome.rejected.append((packet, reason))
        if view.acknowledge & Acknowledge.NEG_ARRIVAL:
            core.acknowledgements.acknowledge(batch, packet, reason, flags)
        if head.flags & UserFlags.TH:
            is_final = reason is WENT_ROUND or rejected.words == NO_ROUTER  # (RT-11)
            is_owed = is_final or self._destinations.ends_here(head)
            if batch is not None and is_owed and self._may_answer(batch, origin, head):
                core.acknowledgements.send_receipt(batch, packet, reason, flags, origin.address)
        elif reason is MessageClass.NACK_Q_EXCEED_QUOTA and head.flags & UserFlags.JN:
            core.dispositions.dead_letter(batch, packet, view.priority, reason)
        else:
            is_kept = self._refusals.keep(batch, packet, view.priority, reason)
            work.outcome.refusals.append(RefusedArrival(packet, reason, is_kept))
