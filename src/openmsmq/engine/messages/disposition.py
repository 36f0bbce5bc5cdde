"""What follows when messages arrive in a queue or leave it: copies, acknowledgements, history.

All of it is part of the commit that lets the messages arrive or leave. What an express message
leaves behind is as volatile as the message was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from openmsmq.engine.arrivals.acknowledgements import Acknowledgements
from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.messages.dead_letters import place_of
from openmsmq.engine.messages.express import ExpressStore
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.engine.queues.quota import within_quota
from openmsmq.engine.queues.registry import Queues
from openmsmq.engine.queues.slices import Part, Parts, RunSlice, expanded, has_slices
from openmsmq.engine.queues.waiting_readers import WaitingReaders
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import (
    NEVER,
    Owed,
    Record,
    Total,
    any_flags,
    flags_of,
    lookup_id,
    packet_place,
)
from openmsmq.engine.storage.record_columns import columns_of
from openmsmq.properties.message import (
    PRIORITY_MAX,
    MessageClass,
    describe_class,
)
from openmsmq.types.lookup import ARRIVAL_BITS, ARRIVAL_MASK
from openmsmq.types.queues import QueueKind

Gone = Sequence[tuple[int, bytes]]
"Lookup identifiers and records of messages."
Kept = tuple[int, bytes, bytes]
"The same with the start of the packet, if the history is kept."

_COUNTED: Final = {
    Event.RECEIVED: Total.RECEIVED,
    Event.DELIVERED: Total.RECEIVED,
    Event.EXPIRED: Total.EXPIRED,
    Event.REJECTED: Total.REJECTED,
}
EVENTS: Final[Mapping[MessageClass, Event]] = {
    MessageClass.ACK_RECEIVE: Event.RECEIVED,
    MessageClass.ACK_REACH_QUEUE: Event.DELIVERED,
    MessageClass.NACK_RECEIVE_TIMEOUT: Event.EXPIRED,
    MessageClass.NACK_RECEIVE_TIMEOUT_AT_SENDER: Event.EXPIRED,
    MessageClass.NACK_REACH_QUEUE_TIMEOUT: Event.EXPIRED,
    MessageClass.NACK_Q_PURGED: Event.PURGED,
    MessageClass.NACK_PURGED: Event.PURGED,
    MessageClass.NACK_Q_DELETED: Event.QUEUE_DELETED,
    MessageClass.NACK_BAD_DST_Q: Event.REJECTED,
    MessageClass.NACK_COULD_NOT_ENCRYPT: Event.REJECTED,
    MessageClass.NACK_RECEIVE_REJECTED: Event.REJECTED,
}
"What the history calls the reasons for which messages leave."
TOTALS: Final[Mapping[MessageClass, Total]] = {
    reason: _COUNTED[event] for reason, event in EVENTS.items() if event in _COUNTED
}
"What queues count of these."

OWED: Final[Mapping[MessageClass, int]] = {
    MessageClass.ACK_RECEIVE: Owed.ACK_RECEIVE.value,
    MessageClass.ACK_REACH_QUEUE: Owed.JOURNAL.value,
    MessageClass.NACK_RECEIVE_TIMEOUT: (Owed.DEAD_LETTER | Owed.NACK_RECEIVE).value,
    MessageClass.NACK_RECEIVE_TIMEOUT_AT_SENDER: Owed.DEAD_LETTER.value,
    MessageClass.NACK_REACH_QUEUE_TIMEOUT: (Owed.DEAD_LETTER | Owed.NACK_ARRIVAL).value,
    MessageClass.NACK_Q_PURGED: Owed.NACK_RECEIVE.value,
    MessageClass.NACK_PURGED: (Owed.DEAD_LETTER | Owed.NACK_ARRIVAL).value,
    MessageClass.NACK_Q_DELETED: Owed.NACK_RECEIVE.value,
    MessageClass.NACK_BAD_DST_Q: (Owed.DEAD_LETTER | Owed.NACK_ARRIVAL).value,
    MessageClass.NACK_COULD_NOT_ENCRYPT: (Owed.DEAD_LETTER | Owed.NACK_ARRIVAL).value,
    MessageClass.NACK_RECEIVE_REJECTED: (Owed.DEAD_LETTER | Owed.NACK_RECEIVE).value,
}
"What senders can ask for in each case ([MS-MQQB] 3.1.7.2.1)."
_ACKNOWLEDGED: Final = (Owed.ACK_RECEIVE | Owed.NACK_RECEIVE | Owed.NACK_ARRIVAL).value
# Plain numbers, since to combine flags with a number makes an object each time.
_JOURNAL: Final = Owed.JOURNAL.value
_ACK_ARRIVAL: Final = Owed.ACK_ARRIVAL.value
_DEAD_LETTER: Final = Owed.DEAD_LETTER.value
_NACK_RECEIVE: Final = Owed.NACK_RECEIVE.value
_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
_OWN_LETTERS: Final = Owed.OWN_LETTERS.value
_FINAL_ACK: Final = Owed.FINAL_ACK.value
_ON_ARRIVAL: Final = _ACK_ARRIVAL | _JOURNAL
_REJECTED: Final = MessageClass.NACK_RECEIVE_REJECTED


class Dispositions:
    """Deals with messages that have arrived or are leaving."""

    def __init__(
        self,
        state: EngineState,
        queues: Queues,
        readers: WaitingReaders,
        express: ExpressStore,
        acknowledgements: Acknowledgements,
    ) -> None:
        self._state = state
        self._queues = queues
        self._readers = readers
        self._express = express
        self._acknowledgements = acknowledgements

    # Arriving

    def arrived(self, batch: Batch, queue: ManagedQueue, messages: Sequence[NewMessage]) -> None:
        """Messages were put into a local queue: that is their delivery ([MS-MQDMPR] 3.1.1.12)."""
        if queue.kind is QueueKind.OUTGOING:
            return
        for message in [message for message in messages if message.flags & _ON_ARRIVAL]:
            if message.flags & _JOURNAL:
                self._copy_new(batch, message)
            if message.flags & _ACK_ARRIVAL:
                reason = MessageClass.ACK_REACH_QUEUE
                acknowledge = self._acknowledgements.acknowledge
                acknowledge(batch, message.packet, reason, message.flags)

    def _copy_new(self, batch: Batch, message: NewMessage) -> None:
        """A copy for the journal of sent messages; without room for it, none."""
        journal = self._queues.system_journal
        size = len(message.packet)
        if _fits(journal, size, batch.size_of(journal)) and self._has_room(size):
            number = batch.store_packet(message.packet)
            record = Record(number, size, batch.now, NEVER)
            lookup = batch.insert_stored(journal, message.priority, record)
            ids = identifiers([message.packet])
            batch.note(Event.JOURNALED, journal, [lookup], ids, "")
            batch.count(Event.JOURNALED.word)
        else:
            self._discard(batch, journal, [message.packet], is_dead=False)

    def insert_express(
        self,
        queue: ManagedQueue,
        messages: Sequence[NewMessage],
        arrivals: Sequence[int] = (),
        *,
        by: str = "",
    ) -> list[int]:
        """Express messages arrive in a queue; their lookup identifiers."""
        lookups = self._express.insert(queue, messages, arrivals, by=by)
        if queue.kind is QueueKind.OUTGOING or not any([message.flags for message in messages]):
            return lookups
        for lookup, message in zip(lookups, messages, strict=True):
            flags = message.flags
            if flags & _JOURNAL:
                entry = queue.express[lookup]
                self._copy_express(self._queues.system_journal, entry, 0, Event.JOURNALED)
            if flags & _ACK_ARRIVAL:
                reason = MessageClass.ACK_REACH_QUEUE
                self._acknowledgements.acknowledge(None, message.packet, reason, flags)
        return lookups

    # Leaving

    def removed(
        self,
        batch: Batch,
        queue: ManagedQueue,
        gone: Gone,
        reason: MessageClass,
        by: str,
        packets: Sequence[bytes] | None = None,
        *,
        words: str = "",
    ) -> None:
        """Message Position Deleted ([MS-MQDMPR] 3.1.7.2.1), for messages in the store.

        `packets` are theirs, if they are at hand; `words` are for the history.
        """
        gone, packets = batch.resolve(queue, gone, packets)
        wanted = OWED[reason] | _FINAL_ACK
        owed = any_flags([raw for _, raw in gone]) & wanted
        if not owed and not self.is_journaled(queue, reason):
            self._note(batch, queue, gone, reason, by, packets, words)
            batch.remove_many(queue, gone)
            return
        taken: list[tuple[int, bytes]] = []
        starts: list[bytes] = []
        for place, (lookup, raw) in enumerate(gone):
            plain = batch.explode(queue, lookup, raw)
            if plain is not None and batch.take_out(queue, lookup, plain):
                taken.append((lookup, plain))
                starts += packets[place : place + 1] if packets else ()
        self.finalize(batch, queue, taken, reason, by, starts or None, words=words)

    def removed_parts(
        self, batch: Batch, queue: ManagedQueue, parts: Parts, reason: MessageClass, by: str
    ) -> None:
        """The same for messages that are in the store, of which those of runs may be slices.

        Of these a whole run can become dead letters. If they go to a journal, or some have rows of
        their own since they were read, they are removed one by one, in their order among the
        others.
        """
        left: list[Part] = []
        if not has_slices(parts):
            left, parts = list(parts), ()
        is_journaled = self.is_journaled(queue, reason)
        for part in parts:
            if is_journaled or isinstance(part, Entry):
                left.append(part)
            elif part.run.record.flags & OWED[reason]:
                if not self._dead_letters(batch, queue, part, reason, by):
                    left.append(part)
            elif batch.remove_slice(queue, part):
                self.removed_slice(batch, queue, part, reason, by)
            else:
                left.append(part)
        if left:
            entries = expanded(left)
            gone = [(entry[0], entry[1]) for entry in entries]
            packets = [entry[2] for entry in entries]
            self.removed(batch, queue, gone, reason, by, packets if all(packets) else None)

    def removed_slice(
        self, batch: Batch, queue: ManagedQueue, part: RunSlice, reason: MessageClass, by: str
    ) -> None:
        """The same for messages of a run that are out of the store, and go to no journal."""
        batch.count(EVENTS[reason].word, len(part))
        if reason in TOTALS:
            batch.total(queue, TOTALS[reason], len(part))
        event = _event(reason, part.run.record.flags)
        batch.note_slice(event, queue, part, by, _words(reason, queue))

    def _dead_letters(
        self, batch: Batch, queue: ManagedQueue, part: RunSlice, reason: MessageClass, by: str
    ) -> bool:
        """A whole run becomes dead letters; False, and nothing is done, if it is none."""
        run, start = part.run, batch.start_of(part)
        flags, size = run.record.flags, run.record.size
        target = place_of(self._queues, self._state.identity, start, flags & OWED[reason], flags)
        if target is None or len(part) != run.count:
            return False
        if not _fits(target, size, batch.size_of(target)) or batch.runs.whole(run) is None:
            return False
        self.removed_slice(batch, queue, part, reason, by)
        first = run.first & ~ARRIVAL_MASK | batch.numbers.arrivals(run.count)[0]
        record = Record(run.record.packet_number, size, batch.now, NEVER, message_class=reason)
        moved = run.placed(target.number, first, record)
        batch.runs.replace(run, moved)
        batch.count_in(queue, -run.count, -size)
        batch.count_in(target, run.count, size)
        batch.inserted[target] += range(first, moved.end)
        batch.total(target, Total.ARRIVED, run.count)
        kept = RunSlice(moved, first, moved.end).with_packets(start)
        batch.count(Event.DEAD_LETTERED.word, len(kept))
        batch.note_slice(Event.DEAD_LETTERED, target, kept, "", _words(reason))
        return True

    def finalize(
        self,
        batch: Batch,
        queue: ManagedQueue,
        gone: Gone,
        reason: MessageClass,
        by: str,
        packets: Sequence[bytes] | None = None,
        *,
        words: str = "",
    ) -> None:
        """The same for messages taken out of their queue already."""
        journal = self._journal(queue, reason)
        wanted = OWED[reason] | _FINAL_ACK
        starts = self._note(batch, queue, gone, reason, by, packets, words)
        kept: dict[ManagedQueue, list[Kept]] = {}
        if journal is None and not any_flags([raw for _, raw in gone]) & wanted:
            batch.drop_packets(columns_of([raw for _, raw in gone]))
            return
        for place, (lookup, raw) in enumerate(gone):
            flags = flags_of(raw)
            target = journal
            start = starts[place] if starts else b""
            if flags & wanted:
                start = start or batch.first_chunks([raw])[0]
                if flags & wanted & _ACKNOWLEDGED:
                    self._acknowledgements.acknowledge(batch, batch.packet(raw), reason, flags)
                if flags & _FINAL_ACK:
                    self._acknowledgements.send_receipt(batch, batch.packet(raw), reason, flags)
                if flags & wanted & _DEAD_LETTER and flags & _OWN_LETTERS:
                    start = batch.packet(raw)
                target = journal or place_of(
                    self._queues, self._state.identity, start, flags & wanted, flags
                )
            if target is None:
                batch.drop_packet(*packet_place(raw))
            else:
                kept.setdefault(target, []).append((lookup, raw, start))
        for target, messages in kept.items():
            self._keep(batch, target, messages, reason)

    def removed_express(
        self, queue: ManagedQueue, entries: Sequence[Entry], reason: MessageClass, by: str
    ) -> None:
        """The same for messages that were in memory only."""
        state = self._state
        event = EVENTS[reason]
        state.statistics.count(event.word, len(entries))
        if reason in TOTALS:
            queue.totals[TOTALS[reason]] += len(entries)
        if state.history.limit:
            ids = identifiers([entry.packet for entry in entries])
            lookups = [entry.lookup for entry in entries]
            known = Event.HANDED_OVER if event is Event.DELIVERED else event
            state.note(known, queue, lookups, ids, by, _words(reason, queue))
        journal = self._journal(queue, reason)
        wanted = OWED[reason]
        for entry in entries:
            all_flags = flags_of(entry.record)
            if all_flags & wanted & _ACKNOWLEDGED:
                self._acknowledgements.acknowledge(None, entry.packet, reason, all_flags)
        for entry in entries:
            all_flags = flags_of(entry.record)
            flags = all_flags & wanted
            target = journal or (
                place_of(self._queues, state.identity, entry.packet, flags, all_flags)
                if flags
                else None
            )
            if target is not None:
                kept = 0 if target is journal or flags & _JOURNAL else reason
                event = Event.DEAD_LETTERED if kept else Event.JOURNALED
                self._copy_express(target, entry, kept, event)

    def _note(
        self,
        batch: Batch,
        queue: ManagedQueue,
        gone: Gone,
        reason: MessageClass,
        by: str,
        packets: Sequence[bytes] | None = None,
        words: str = "",
    ) -> Sequence[bytes]:
        """Count messages that leave and keep it in their history; the starts of their packets."""
        batch.count(EVENTS[reason].word, len(gone))
        if reason in TOTALS:
            batch.total(queue, TOTALS[reason], len(gone))
        if not batch.keeps_history or not gone:
            return ()
        event = _event(reason, flags_of(gone[0][1]))
        starts = batch.first_chunks([raw for _, raw in gone]) if packets is None else packets
        batch.note_many(event, queue, gone, starts, by, words or _words(reason, queue))
        return starts

    # Copies

    def is_journaled(self, queue: ManagedQueue, reason: MessageClass) -> bool:
        """Whether what was received goes to the journal ([MS-MQDMPR] 3.1.1.2, A-38)."""
        kinds = (QueueKind.PRIVATE, QueueKind.PUBLIC, QueueKind.SUBQUEUE)
        is_received = reason is MessageClass.ACK_RECEIVE
        return is_received and queue.properties.journal and queue.kind in kinds

    def _journal(self, queue: ManagedQueue, reason: MessageClass) -> ManagedQueue | None:
        return journal_of(queue.main) if self.is_journaled(queue, reason) else None

    def _keep(
        self, batch: Batch, target: ManagedQueue, messages: list[Kept], reason: MessageClass
    ) -> None:
        """Let messages live on in a journal or as dead letters; without room they are gone."""
        is_dead = target is not self._queues.system_journal and target.kind is not QueueKind.JOURNAL
        places, starts = [], []
        for lookup, raw, start in messages:
            number, size = packet_place(raw)
            if not _fits(target, size, batch.size_of(target)):
                batch.drop_packet(number, size)
                self._discard(batch, target, [start], is_dead=is_dead)
                continue
            copy = Record(number, size, batch.now, NEVER, message_class=reason if is_dead else 0)
            priority = PRIORITY_MAX - (lookup >> ARRIVAL_BITS)
            places.append(batch.insert_stored(target, priority, copy))
            starts.append(start)
        event = Event.DEAD_LETTERED if is_dead else Event.JOURNALED
        batch.count(event.word, len(places))
        words = _words(reason) if is_dead else ""
        batch.note(event, target, places, identifiers(starts), "", words)

    def _copy_express(self, target: ManagedQueue, entry: Entry, kept: int, event: Event) -> None:
        state = self._state
        size = len(entry.packet)
        if not (_fits(target, size, target.total_size) and self._has_room(size)):
            state.statistics.count(Event.DISCARDED.word)
            ids = identifiers([entry.packet])
            state.note(Event.DISCARDED, target, [0], ids, "", _full(is_dead=bool(kept)))
            return
        priority = PRIORITY_MAX - (entry.lookup >> ARRIVAL_BITS)
        message = NewMessage(entry.packet, priority, NEVER, express=True)
        lookups = self._express.insert(target, [message], message_class=kept, event=event)
        self._readers.wake(target, lookups)
        state.statistics.count(event.word)

    def _has_room(self, size: int) -> bool:
        """Whether the quota of the machine allows a copy of a message that stays."""
        machine = self._state.settings.quota
        return within_quota(machine, self._state.total_size, size)

    def _discard(
        self, batch: Batch, queue: ManagedQueue, packets: Sequence[bytes], *, is_dead: bool
    ) -> None:
        batch.count(Event.DISCARDED.word)
        ids = identifiers(packets)
        batch.note(Event.DISCARDED, queue, [0] * len(packets), ids, "", _full(is_dead=is_dead))

    def dead_letter(
        self, batch: Batch | None, packet: bytes, priority: int, reason: MessageClass
    ) -> None:
        """A message of another manager that there is no room for becomes a dead letter here.

        (Only the queue is full; [MS-MQQB] 3.1.5.8.8.)
        """
        state, target, size = self._state, self._queues.dead_letter, len(packet)
        if batch is None:
            raw = Record(0, size, state.timeline.wall, NEVER).pack()
            entry = Entry(lookup_id(priority, 0), raw, packet, True)
            self._copy_express(target, entry, reason, Event.DEAD_LETTERED)
        elif _fits(target, size, batch.size_of(target)) and self._has_room(size):
            record = Record(batch.store_packet(packet), size, batch.now, NEVER)
            lookup = batch.insert_stored(target, priority, record._replace(message_class=reason))
            words = _words(reason)
            batch.note(Event.DEAD_LETTERED, target, [lookup], identifiers([packet]), "", words)
            batch.count(Event.DEAD_LETTERED.word)
        else:
            self._discard(batch, target, [packet], is_dead=True)

    def reject(self, batch: Batch, queue: ManagedQueue, lookup: int, raw: bytes) -> bool:
        """A message becomes a dead letter here, although it could be received.

        Its sender is notified, if that was asked for. False if there is no room for it.
        """
        target, reason = self._queues.transactional_dead_letter, _REJECTED
        if not _fits(target, packet_place(raw)[1], batch.size_of(target)):
            return False
        batch.take_out(queue, lookup, raw)
        batch.total(queue, Total.REJECTED)
        flags, packet = flags_of(raw), batch.packet(raw)
        if flags & _NACK_RECEIVE:
            self._acknowledgements.acknowledge(batch, packet, reason, flags)
        if flags & _FINAL_ACK:
            self._acknowledgements.send_receipt(batch, packet, reason, flags)
        self._keep(batch, target, [(lookup, raw, packet)], reason)
        return True

    def confirmed(
        self, batch: Batch, queue: ManagedQueue, lookup: int, raw: bytes, reason: MessageClass
    ) -> None:
        """The last word about a transactional message sent elsewhere ([MS-MQQB] 3.1.5.7)."""
        if not batch.take_out(queue, lookup, raw):
            return
        is_received = reason is MessageClass.ACK_RECEIVE
        start = batch.first_chunks([raw])[0]
        event = Event.DELIVERED if is_received else Event.REJECTED
        batch.count(event.word)
        batch.note(event, queue, [lookup], identifiers([start]), "", _words(reason, queue.main))
        flags = flags_of(raw)
        wanted = flags & (_JOURNAL if is_received else _DEAD_LETTER)
        packet = batch.packet(raw) if wanted and flags & _OWN_LETTERS else start
        target = place_of(self._queues, self._state.identity, packet, wanted, flags)
        if target is None:
            batch.drop_packet(*packet_place(raw))
        else:
            self._keep(batch, target, [(lookup, raw, start)], reason)


def _event(reason: MessageClass, flags: int) -> Event:
    """What the history calls it; a message outside transactions was handed over, no more."""
    event = EVENTS[reason]
    is_vague = event is Event.DELIVERED and not flags & _TRANSACTIONAL
    return Event.HANDED_OVER if is_vague else event


def _fits(target: ManagedQueue, size: int, used: int) -> bool:
    """Whether a journal or dead-letter queue has room; if not, the copy is discarded."""
    return within_quota(target.properties.quota, used, size)


def _full(*, is_dead: bool) -> str:
    """Why a copy is discarded."""
    return "the dead-letter queue is full" if is_dead else "the journal is full"


def _words(reason: MessageClass, queue: ManagedQueue | None = None) -> str:
    """The reason as the history keeps it; an outgoing queue is soon forgotten, so its name."""
    if reason & 0x8000:
        return describe_class(reason)
    return queue.main.name if queue is not None and queue.is_outgoing else ""
