"""What is known of messages in streams that were sent: they reached their queue, or were consumed.

Messages that reached their queue leave; those whose sender wants to know more then wait for the
last word (AwaitingFinalACKTable, [MS-MQQB] 3.1.5.6), apart from those that are still to be sent.
Who may say so is for the transport to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import islice, takewhile
from typing import Final, NamedTuple

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.timeline import expiry
from openmsmq.engine.core import Core
from openmsmq.engine.messages.disposition import Gone
from openmsmq.engine.outgoing.parked import parked_rows
from openmsmq.engine.outgoing.sequence_numbers import is_finished
from openmsmq.engine.outgoing.sequences import LOOKUP_BASE, OutgoingSequence, forget_sequence
from openmsmq.engine.outgoing.transport import AddressKind, kind_of
from openmsmq.engine.queues.holds import IN_TRANSIT
from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import (
    NEVER,
    Owed,
    Record,
    Total,
    any_flags,
    different_flags,
    flags_of,
    place_and_expiry,
)
from openmsmq.engine.storage.runs import (
    Found,
    is_member,
    plain_after,
    runs_after,
    split_members,
    stored_between,
)
from openmsmq.engine.storage.tables import Table
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, MessageClass

STEP: Final = 1000
"Messages that leave with one commit."
_WAITS: Final = (Owed.DEAD_LETTER | Owed.JOURNAL).value
"Those wait for a FinalAck ([MS-MQQB] 3.1.5.6)."
_WAITS_HTTP: Final = Owed.DEAD_LETTER.value
"Those wait for a final stream receipt ([MC-MQSRM] 3.1.7.2.3)."
_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value


class SentMessage(NamedTuple):
    """A message that was sent, where it waits to be confirmed."""

    queue: ManagedQueue
    lookup: int
    record: bytes


class Confirmations:
    """Lets messages leave that are known to have arrived."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._over: set[OutgoingSequence] = set()
        "Sequences that the next commit, or the one under way, ends."

    # They reached their queue

    def acknowledged(self, queue: ManagedQueue, sequence: OutgoingSequence, number: int) -> bool:
        """Messages of a sequence up to a number are in their queue, or refused there.

        False if none of them was sent.
        """
        number = min(number, queue.sequences.limit(sequence))
        if not number:
            return False
        begin = queue.sequences.acknowledged(sequence, number)
        queue.sequences.note_ack(sequence, number, self._core.timeline.wall)
        if begin > number:  # they leave already, or have left
            self.finish(queue)
            return True
        last = min(sequence.lookup(number), queue.sequences.range_of(sequence)[1] - 1)
        self._leave(queue, sequence.lookup(begin), last + 1)
        return True

    def all_acknowledged(self, queue: ManagedQueue, sequence: OutgoingSequence) -> None:
        """All messages of a sequence of the past are in their queue, whatever is known here.

        New messages begin another one, which may not be known yet while they are being committed.
        """
        first, end = queue.sequences.range_of(sequence)
        end = min(end, (LOOKUP_BASE | self._core.numbers.arrival_loaded) + 1)
        if next(stored_between(self._core.snapshot, queue.number, first, end), None) is None:
            self.finish(queue)  # they have left, and wait to be consumed at most
        else:
            self._leave(queue, first, end)

    def _leave(self, queue: ManagedQueue, first: int, end: int) -> None:
        """Messages between two places have reached their queue; some with each commit."""
        core = self._core
        lookups: list[int] = []
        slices: list[RunSlice] = []
        behind = end

        def apply(batch: Batch) -> None:
            nonlocal behind
            slices[:], behind = _sent_slices(queue, first, end)
            others = _others(batch, queue.number, first, behind, slices)
            found = [(lookup, raw) for lookup, raw, _ in islice(others, STEP)]
            if len(found) == STEP:
                behind = found[-1][0] + 1
                slices[:] = [
                    part.part(part.first, min(part.end, behind))
                    for part in slices
                    if part.first < behind
                ]
            there = batch.resolve(queue, self._under_way(queue, found), None)[0]
            gone = [item for item in there if not batch.is_taken(queue, item[0])]
            lookups[:] = [lookup for lookup, _ in gone]
            _note_previous(queue, lookups, slices)
            dispositions, reason = core.dispositions, MessageClass.ACK_REACH_QUEUE
            dispositions.removed_parts(batch, queue, slices, reason, "")
            self._reached(batch, queue, gone)

        def committed() -> None:
            # What was taken back meanwhile to be purged is forgotten by the purge.
            holds, removal = queue.holds, core.removal
            removal.forget(queue, holds.those_of(lookups, IN_TRANSIT))
            for part in slices:
                removal.forget(queue, holds.singles_of(part.first, part.end, IN_TRANSIT))
                for piece in holds.parts_of(part.first, part.end, IN_TRANSIT):
                    removal.forget_slice(queue, piece)
            if behind < end:
                self._leave(queue, behind, end)
            else:
                self.finish(queue)

        core.submit(apply, committed, lambda error: queue.sequences.look_again())

    def _under_way(
        self, queue: ManagedQueue, found: list[tuple[int, bytes]]
    ) -> list[tuple[int, bytes]]:
        """The messages that may have been sent; one that expired before was passed over."""
        sent = set(queue.holds.those_of([lookup for lookup, _ in found], IN_TRANSIT))
        if len(sent) < len(found):
            holder_of, overdue = queue.holds.holder_of, self._core.expiry.overdue
            sent.update(
                lookup
                for lookup, raw in found
                if holder_of(lookup) is None and place_and_expiry(raw)[2] >= overdue
            )
            found = [item for item in found if item[0] in sent]
        if all(flags & _TRANSACTIONAL for flags in different_flags([raw for _, raw in found])):
            return found
        return [item for item in found if flags_of(item[1]) & _TRANSACTIONAL]

    def _reached(self, batch: Batch, queue: ManagedQueue, gone: Gone) -> None:
        """Messages are where they should be; some wait to hear that they were consumed.

        Of those in runs none does.
        """
        reason = MessageClass.ACK_REACH_QUEUE
        members, singles = split_members(gone)
        if members:
            together = [item for item in gone if is_member(item[1])] if singles else gone
            starts = queue.sequences.starts.take(members)
            self._core.dispositions.removed(batch, queue, together, reason, "", starts)
        gone = batch.take_out_many(queue, singles)
        waits = _WAITS_HTTP if kind_of(queue.name) is AddressKind.HTTP else _WAITS
        waiting: Gone = ()
        done = gone
        if any_flags([raw for _, raw in gone]) & waits:
            waiting = [item for item in gone if flags_of(item[1]) & waits]
            done = [item for item in gone if not flags_of(item[1]) & waits]
        if done:
            starts = queue.sequences.starts.take([lookup for lookup, _ in done])
            self._core.dispositions.finalize(batch, queue, done, reason, "", starts)
        if not waiting:
            return
        target = journal_of(queue)
        starts = batch.first_chunks([raw for _, raw in waiting])
        for (lookup, raw), start in zip(waiting, starts, strict=True):
            record = Record.unpack(raw)
            batch.place(target, lookup, record._replace(expires=self._last_word(record, start)))
        batch.count(Event.REACHED.word, len(waiting))
        batch.total(queue, Total.RECEIVED, len(waiting))
        if batch.keeps_history:
            lookups = [lookup for lookup, _ in waiting]
            batch.note(Event.REACHED, target, lookups, identifiers(starts), "", queue.name)

    def _last_word(self, record: Record, packet: bytes) -> int:
        """Until when a FinalAck is waited for ([MS-MQQB] 3.1.5.7, AMB-50).

        Where the time to be received is over, the receiver says so; some time is left for that.
        """
        view = PacketView(packet)
        receive = view.time_to_be_received
        if receive == INFINITE or record.expires == NEVER:
            return NEVER
        # It was sent when the first of its lifetimes began, whatever the clock has shown since.
        sent = record.expires - min(receive, view.time_to_reach_queue)
        return expiry(sent, receive + self._core.settings.confirmation_grace, NEVER)

    def finish(self, queue: ManagedQueue) -> None:
        """A sequence of which nothing is left ends; the next message begins another."""
        core = self._core
        sequences = queue.sequences
        over = self._finished(queue)
        if not over or core.is_stopping:
            return
        self._over.update(over)
        ended: list[OutgoingSequence] = []

        def apply(batch: Batch) -> None:
            take_back()
            # A message may have been put into the newest meanwhile: look again.
            newest = sequences.all[-1:] if queue in batch.inserted else []
            for sequence in over:
                is_there = sequence in sequences.all and sequence not in newest
                if is_there and is_finished(batch.writer, queue, sequence):
                    sequences.end(sequence)
                    ended.append(sequence)
            for sequence in ended:
                _forget(batch, sequence)

        def take_back() -> None:
            for sequence in ended:
                sequences.restore(sequence)
            ended.clear()

        def committed() -> None:
            self._over.difference_update(over)
            core.numbers.sequences.ended(ended)

        def failed(error: BaseException) -> None:
            self._over.difference_update(over)
            take_back()

        core.submit(apply, committed, failed)

    def _finished(self, queue: ManagedQueue) -> list[OutgoingSequence]:
        """The sequences of which nothing is left, but for those that end already."""
        return [
            sequence
            for sequence in queue.sequences.all
            if sequence not in self._over and is_finished(self._core.snapshot, queue, sequence)
        ]

    # They were consumed, or failed for good

    def find(
        self,
        batch: Batch,
        queue: ManagedQueue,
        sequence: OutgoingSequence,
        number: int,
        message_id: int,
    ) -> SentMessage | None:
        """Where the message with a number is, if it is the one with this identifier (AMB-39)."""
        lookup = sequence.lookup(number)
        first, end = queue.sequences.range_of(sequence)
        if not number or not first <= lookup < end:
            return None
        for member in (journal_of(queue), queue):
            raw = batch.record(member, lookup) or batch.runs.member(member.number, lookup)
            if raw is None:
                continue
            is_free = member.holds.holder_of(lookup) in (None, IN_TRANSIT)
            start = batch.first_chunks([raw])[0]
            if is_free and int.from_bytes(start[56:60], "little") == message_id:
                return SentMessage(member, lookup, raw)
        return None

    def confirm(
        self, batch: Batch, sent: SentMessage, reason: MessageClass, after: list[Callable[[], None]]
    ) -> None:
        """The last word about a message; `after` is called when it is on disk."""
        queue, lookup, raw = sent
        plain = batch.explode(queue, lookup, raw)
        assert plain is not None, "it was found in this commit"
        self._core.dispositions.confirmed(batch, queue, lookup, plain, reason)

        def committed() -> None:
            if queue.holds.holder_of(lookup) is IN_TRANSIT:
                self._core.removal.forget(queue, [lookup])
            self.finish(queue.main)

        after.append(committed)


def _forget(batch: Batch, sequence: OutgoingSequence) -> None:
    """Remove all rows of a sequence that ends."""
    forget_sequence(batch.writer, sequence)
    for key, _ in parked_rows(batch.writer, sequence):
        batch.writer.delete(Table.TRANSFER, key)


def _sent_slices(queue: ManagedQueue, first: int, end: int) -> tuple[list[RunSlice], int]:
    """Transactional messages of runs between two places that were sent together.

    They are about as many as may leave with one commit; the second value is where to go on.
    """
    found: list[RunSlice] = []
    count = 0
    for part in queue.holds.parts_of(first, end, IN_TRANSIT):
        if part.run.record.flags & _TRANSACTIONAL:
            found.append(part)
            count += len(part)
            if count >= STEP:
                return found, part.end
    return found, end


def _others(
    batch: Batch, queue: int, first: int, end: int, slices: list[RunSlice]
) -> Iterator[Found]:
    """The messages between two places that are in no slice, in order.

    One that was sent with a slice may have got a row of its own since.
    """
    singles = takewhile(lambda item: item[0] < end, plain_after(batch.writer, queue, first - 1))
    apart = (
        item for item in singles if not any(part.first <= item[0] < part.end for part in slices)
    )
    return merge(apart, _members(batch, queue, first, end, slices))


def _members(
    batch: Batch, queue: int, first: int, end: int, slices: list[RunSlice]
) -> Iterator[Found]:
    """Those in runs as this commit leaves these so far: others have rows of their own by now."""
    for stored in runs_after(batch.writer, queue, first - 1):
        if stored.first >= end:
            return
        run = batch.runs.find(queue, stored.first) or stored
        bits = 0
        for part in slices:
            low, high = max(part.first, run.first), min(part.end, run.end)
            bits |= (1 << max(high - low, 0)) - 1 << max(low - run.first, 0)
        for low, high in run.pieces(first - 1, bits):
            for lookup in range(low, min(high, end)):
                raw = run.member(lookup)
                assert raw is not None, "it is there"
                yield lookup, raw, False


def _note_previous(queue: ManagedQueue, lookups: list[int], slices: list[RunSlice]) -> None:
    """Some messages leave: note which one is before the last of them."""
    ends = [at for part in slices for at in range(max(part.first, part.end - 2), part.end)]
    last = sorted(lookups[-2:] + ends)[-2:]
    sequence = queue.sequences.of(last[-1]) if len(last) > 1 else None
    if sequence is not None:
        queue.sequences.note_previous(sequence, *map(sequence.number, reversed(last)))
