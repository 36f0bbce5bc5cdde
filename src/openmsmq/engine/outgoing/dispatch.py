"""From outgoing queues to transports: which message goes next, and what becomes of it.

A transport is notified of queues with messages and takes them when it can. They stay in their
queues until it is known that they have reached the next hop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.messages.scan import (
    fetch,
    fetch_parts,
    first_fitting,
    first_sendable,
    hold,
    up_to,
)
from openmsmq.engine.outgoing.limits import PEERS_MAX
from openmsmq.engine.outgoing.sent import flags_in, hold_sent, hold_taken_back
from openmsmq.engine.outgoing.sequences import (
    LOOKUP_BASE,
    SENT_STEP,
    OutgoingSequence,
    forget_sequence,
)
from openmsmq.engine.outgoing.state import Attempt, Transfer
from openmsmq.engine.outgoing.transport import AddressKind, Transport
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import IN_TRANSIT
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import Part, Parts, RunSlice, expanded
from openmsmq.engine.storage.layout import Owed, any_flags, different_flags, flags_of
from openmsmq.engine.storage.runs import Found, has_runs, record_of, stored_between
from openmsmq.errors import ComputerDoesNotSupportEncryption, MQError, UnsupportedOperation
from openmsmq.limits import U32_MAX
from openmsmq.packet.columns import numbered_run
from openmsmq.packet.headers.trailer import split_stored
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.walk import numbered
from openmsmq.properties.message import PRIORITY_MAX, MessageClass
from openmsmq.types.lookup import ARRIVAL_BITS, ARRIVAL_MASK
from openmsmq.types.outgoing import ConnectionStatus
from openmsmq.types.queues import QueueKind

_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
_PRIVATE: Final = Owed.PRIVATE.value
_OWN_LETTERS: Final = Owed.OWN_LETTERS.value
_SPECIAL: Final = _OWN_LETTERS | _PRIVATE


class Urgency(NamedTuple):
    """What is sent first: the least of these ([MS-MQDMPR] 3.1.7.3.9)."""

    rank: int
    age: int


class Dispatcher:
    """Hands messages of outgoing queues to transports (DispatchCollection, [MS-MQDMPR] 3.1.1.1)."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def register(self, kinds: Iterable[AddressKind], transport: Transport) -> None:
        """Let a transport serve addresses of some kinds, also for messages from before."""
        self._core.transports.add(kinds, transport)
        self.offer_all()

    def offer_all(self) -> None:
        """Let transports look at all that waits, since more can be reached than before."""
        for queue in list(self._core.queues.by_number.values()):
            if queue.kind is QueueKind.OUTGOING:
                self._core.transports.ready(queue)

    @property
    def is_online(self) -> bool:
        """ConnectionActive ([MS-MQDMPR] 3.1.1.1): there is a network to send to."""
        return self._core.transports.is_online

    # What can be sent

    def can_send(self, queue: ManagedQueue) -> bool:
        """Whether messages of a queue may be sent at all."""
        return self._core.transports.can_send(queue)

    def first(self, queue: ManagedQueue) -> Urgency | None:
        """How urgent the next message of a queue is; None if there is none to be sent."""
        found = self._find(queue, 1)
        if not found:
            return None
        lookup = found[0][0]
        return Urgency(-dispatch_priority(queue, lookup), lookup & ARRIVAL_MASK)

    def take(
        self, queue: ManagedQueue, count: int, size_max: int, peer: UUID | None
    ) -> list[Entry]:
        """Dispatch Send Message ([MS-MQDMPR] 3.1.7.3.9): the next messages of a queue, in order.

        All of them have the same priority. Transactional ones come with their numbers; `peer` is
        the manager that they go to, which may acknowledge them, or `NO_GUID` where the protocol has
        no such identity. Without it none are given, nor what has to be sent after them.
        """
        return expanded(self.take_parts(queue, count, size_max, peer))

    def take_parts(
        self, queue: ManagedQueue, count: int, size_max: int, peer: UUID | None
    ) -> list[Part]:
        """The same, with those of runs that follow each other as slices."""
        if peer is not None and self._may_take_slices(queue):
            return self._take_slices(queue, count, size_max, peer)
        return [*self._take(queue, count, size_max, peer)]

    def _may_take_slices(self, queue: ManagedQueue) -> bool:
        """Whether nothing is unusual: none is express, leaves, or waits for another sequence."""
        core = self._core
        return (
            self.can_send(queue)
            and not queue.express
            and not queue.has_purged
            and not core.expiry.overdue
            and len(queue.sequences.all) <= 1
            and has_runs(core.snapshot, queue.number)
        )

    def _take_slices(
        self, queue: ManagedQueue, count: int, size_max: int, peer: UUID
    ) -> list[Part]:
        """Take messages up to the first with a dead-letter queue of its own.

        If that is the first of all, or if one cannot be encrypted, they are taken one by one.
        """
        snapshot = self._core.snapshot
        found = first_fitting(snapshot, queue, count, 0, 0, size_max)
        rank, alike = next(groupby(found, key=_usual_rank), (None, ()))
        if rank is None:
            return [*self._take(queue, count, size_max, peer)]
        parts = fetch_parts(snapshot, queue, list(alike))
        try:
            parts = [
                self._encrypted_part(part) if flags_in(part) & _PRIVATE else part for part in parts
            ]
        except MQError:
            return [*self._take(queue, count, size_max, peer)]
        hold(queue, parts, IN_TRANSIT, from_start=True)
        sent: list[Part] = []
        for is_slice, group in groupby(parts, key=_is_slice):
            if is_slice:
                slices = [part for part in group if isinstance(part, RunSlice)]
                sent += [self._numbered_slice(queue, part, peer) for part in slices]
            else:
                sent += self._in_order(queue, expanded(list(group)), peer)
        return sent

    def _numbered_slice(self, queue: ManagedQueue, part: RunSlice, peer: UUID) -> RunSlice:
        """Messages of a run, those of transactions with their places in a sequence."""
        if not part.run.record.flags & _TRANSACTIONAL:
            return part
        sequence = queue.sequences.of(part.first)
        assert sequence is not None, "a transactional message on its way has a sequence"
        first = sequence.number(part.first)
        numbers = range(first, first + len(part))
        previous = self._follow(queue, sequence, numbers, peer)
        place = sequence.ordinal, sequence.time_stamp
        return part.with_packets(numbered_run(part.packets, part.sizes, *place, numbers, previous))

    def _take(
        self, queue: ManagedQueue, count: int, size_max: int, peer: UUID | None
    ) -> list[Entry]:
        found = self._find(queue, count)
        if peer is None:
            is_plain = [not flags_of(raw) & _TRANSACTIONAL for _, raw, _ in found]
            found = found[: (*is_plain, False).index(False)]
        if not found:
            return []
        rank = found[0][0] >> ARRIVAL_BITS
        if found[-1][0] >> ARRIVAL_BITS != rank:
            found = [item for item in found if item[0] >> ARRIVAL_BITS == rank]
        entries = fetch(self._core.snapshot, queue, up_to(found, size_max))
        lookups = [entry.lookup for entry in entries]
        queue.holds.hold(lookups, IN_TRANSIT)
        queue.start = lookups[-1]
        if any_flags([entry.record for entry in entries]) & _SPECIAL:
            entries = self._encrypted(queue, entries)
            if not entries:
                return self._take(queue, count, size_max, peer)  # what follows them
        return entries if peer is None else self._in_order(queue, entries, peer)

    def _in_order(self, queue: ManagedQueue, entries: list[Entry], peer: UUID) -> list[Entry]:
        """Messages as they leave: those of transactions have their numbers."""
        kinds = different_flags([entry.record for entry in entries])
        is_ordered = [bool(flags & _TRANSACTIONAL) for flags in kinds]
        if entries[0].lookup < LOOKUP_BASE or not any(is_ordered):
            return entries
        if all(is_ordered):
            return self._numbered(queue, entries, peer)
        found_entries: list[Entry] = []
        for is_transactional, alike in groupby(entries, key=_is_transactional):
            some = list(alike)
            found_entries += self._numbered(queue, some, peer) if is_transactional else some
        return found_entries

    def _encrypted(self, queue: ManagedQueue, entries: list[Entry]) -> list[Entry]:
        """Messages as they leave; those that cannot be encrypted fail ([MS-MQQB] 3.1.7.1.5.1).

        This comes before they get their numbers, so that none is missing in a sequence. Over HTTP
        there is no encryption of messages. What the store keeps behind a packet does not leave.
        """
        core, transfer = self._core, _transfer(queue)
        found: list[Entry] = []
        failed: list[Entry] = []
        for lookup, record, stored, is_express in entries:
            packet = split_stored(stored)[0]
            if flags_of(record) & _PRIVATE:
                try:
                    if transfer.is_http:
                        raise ComputerDoesNotSupportEncryption("HTTP carries no encrypted messages")
                    packet = core.encryptor.encrypt(packet, core.timeline.now)
                except MQError as error:
                    status, code = ConnectionStatus.CERTIFICATE_VALIDATION_FAILURE, error.hresult
                    transfer.attempts.append(Attempt(status, core.timeline.wall, int(code), ()))
                    failed.append(Entry(lookup, record, packet, is_express))
                    continue
            found.append(Entry(lookup, record, packet, is_express))
        if failed:
            self._remove(queue, failed, MessageClass.NACK_COULD_NOT_ENCRYPT)
        return found

    def _encrypted_part(self, part: Part) -> Part:
        """Messages as they leave; `MQError` if one cannot be encrypted."""
        encrypt, now = self._core.encryptor.encrypt, self._core.timeline.now
        if not isinstance(part, RunSlice):
            return part._replace(packet=encrypt(part.packet, now))
        packets = [encrypt(packet, now) for packet in part.split()]
        return part.with_packets(b"".join(packets), list(map(len, packets)))

    def _find(self, queue: ManagedQueue, count: int) -> list[Found]:
        if not self.can_send(queue):
            return []
        core = self._core
        found = first_sendable(core.snapshot, queue, count, core.expiry.overdue)
        if len(queue.sequences.all) <= 1:
            return found
        for place, (lookup, raw, _) in enumerate(found):
            if flags_of(raw) & _TRANSACTIONAL and self._must_wait(queue, lookup):
                return found[:place]
        return found

    def _must_wait(self, queue: ManagedQueue, lookup: int) -> bool:
        """A sequence is not begun while one before it is not acknowledged in full."""
        sequence = queue.sequences.of(lookup)
        if sequence is None or sequence is queue.sequences.all[0]:
            return False
        return self._has_transactional(queue, LOOKUP_BASE, sequence.lookup(1))

    def _has_transactional(self, queue: ManagedQueue, first: int, end: int) -> bool:
        """Whether a transactional message from one lookup identifier to another is in a queue."""
        found = stored_between(self._core.snapshot, queue.number, first, end)
        return any(flags_of(raw) & _TRANSACTIONAL for _, raw, _ in found)

    def _numbered(self, queue: ManagedQueue, entries: list[Entry], peer: UUID) -> list[Entry]:
        """Transactional messages with their places in sequences ([MS-MQQB] 3.1.7.1.3)."""
        found: list[Entry] = []
        while entries:
            lookup = entries[0].lookup
            sequence = queue.sequences.of(lookup)
            assert sequence is not None, "a transactional message on its way has a sequence"
            end = queue.sequences.range_of(sequence)[1]
            own, entries = entries, []
            if own[-1].lookup >= end:
                entries = [entry for entry in own if entry.lookup >= end]
                own = own[: -len(entries)]
            lookups, records, packets, express = zip(*own, strict=True)
            before = lookup - sequence.number(lookup)
            numbers = [lookup - before for lookup in lookups]
            previous = self._follow(queue, sequence, numbers, peer)
            queue.sequences.starts.keep(lookups, packets)
            identifier = sequence.ordinal, sequence.time_stamp
            sent = numbered(packets, *identifier, numbers, previous)
            new = tuple.__new__  # saves 0.2 µs
            items = zip(lookups, records, sent, express, strict=True)
            found += [new(Entry, item) for item in items]
        return found

    def _follow(
        self, queue: ManagedQueue, sequence: OutgoingSequence, numbers: Sequence[int], peer: UUID
    ) -> list[int]:
        """Messages of a sequence are sent to a manager; the number of the one before each."""
        previous = queue.sequences.follow(sequence, numbers)
        if queue.sequences.is_set_back(sequence, previous[0], numbers[0]):
            self._core.statistics.count("receivers set back")
        last = numbers[-1]
        if last > sequence.sent or (peer != NO_GUID and peer not in sequence.peers):
            self._note_sent(queue, sequence, last, peer)
        return previous

    def _note_sent(
        self, queue: ManagedQueue, sequence: OutgoingSequence, number: int, peer: UUID
    ) -> None:
        """Write down how far a sequence was sent, in large steps, and who answered.

        Nothing waits for it: what is forgotten in a crash is sent, and noted, again.
        """
        if number > sequence.sent:
            sequence.sent = min(number + SENT_STEP - 1, U32_MAX)
        if peer != NO_GUID and peer not in sequence.peers:
            sequence.peers = (*sequence.peers, peer)[-PEERS_MAX:]

        def apply(batch: Batch) -> None:
            if sequence in queue.sequences.all:
                sequence.write(batch.writer)

        self._core.submit(apply, lambda: None, lambda error: None)

    # Streams whose first message must be answered before others follow

    def establish(
        self, queue: ManagedQueue, sequence: OutgoingSequence, done: Callable[[], None]
    ) -> None:
        """The first message of a sequence was answered; `done` is called when that is on disk."""

        def apply(batch: Batch) -> None:
            sequence.is_established = True
            if sequence in queue.sequences.all:
                sequence.write(batch.writer)

        def failed(error: BaseException) -> None:
            sequence.is_established = False
            done()

        self._core.submit(apply, done, failed)

    def begin_again(self, queue: ManagedQueue, lookup: int, done: Callable[[], None]) -> None:
        """Let a message begin a new sequence, since the first of its own left unanswered.

        Nothing else of its sequence was sent, nor of later ones (`_must_wait`). These are begun
        again, too, since identifiers only grow. If the first waits to be confirmed, it has arrived,
        and its sequence goes on: the last word about it names that.
        """
        core = self._core
        series = core.numbers.sequences
        arrival = lookup & ARRIVAL_MASK
        begun: list[OutgoingSequence] = []
        over: list[OutgoingSequence] = []
        kept: list[OutgoingSequence] = []

        def apply(batch: Batch) -> None:
            begun.clear()
            own = queue.sequences.of(lookup)
            is_begun = own is None or own.first == arrival or own.is_established
            if own is None or is_begun or queue in batch.inserted:
                return  # the transport looks again
            if self._has_transactional(queue, own.lookup(1), lookup):
                return  # the first could not be removed: it is sent again
            if queue.journal is not None and self._has_transactional(
                queue.journal, own.lookup(1), lookup
            ):
                kept[:] = [own]
                own.is_established = True
                own.write(batch.writer)
                return
            over[:] = [item for item in queue.sequences.all if item.first >= own.first]
            for sequence in over:
                first = max(sequence.first, arrival)
                begun.append(series.begin(batch.writer, queue, first, batch.now))
                forget_sequence(batch.writer, sequence)

        def committed() -> None:
            if begun:
                queue.sequences.replace(over, begun)
                series.live |= {sequence.id: (queue, sequence) for sequence in begun}
                series.ended(over)
            done()

        def failed(error: BaseException) -> None:
            for sequence in kept:
                sequence.is_established = False
            done()

        core.submit(apply, committed, failed)

    # What became of it

    def delivered(self, queue: ManagedQueue, parts: Parts, by: str = "") -> Future[None]:
        """Messages have reached the next hop: they leave, copies stay if they were asked for.

        (Remove Message From Dispatch Collection, [MS-MQDMPR] 3.1.7.1.29.) Transactional ones stay
        until they are acknowledged in order. `by` is the manager that has them, where it is proven.
        """
        return self._remove(queue, parts, MessageClass.ACK_REACH_QUEUE, by)

    def refused(self, queue: ManagedQueue, parts: Parts) -> Future[None]:
        """The next hop will never take these messages: they leave as failed."""
        return self._remove(queue, parts, MessageClass.NACK_BAD_DST_Q)

    def _remove(
        self, queue: ManagedQueue, parts: Parts, reason: MessageClass, by: str = ""
    ) -> Future[None]:
        pending: Future[None] = Future()
        # What is not in transit is known, or was taken back; one that was sent again on the same
        # session is acknowledged twice.
        gone = hold_sent(queue, parts)
        remove = self._core.removal.remove
        # Transactional ones expire while they are in transit; they are not removed by delivery.
        expire = reason is not MessageClass.ACK_REACH_QUEUE
        if queue.is_paused and not expire:
            gone += hold_taken_back(queue, parts)
            expire = True
        succeed, fail = lambda: pending.succeed(None), pending.fail
        remove(queue, gone, reason, succeed, fail, by, may_expire=expire)
        return pending

    def release(self, queue: ManagedQueue, entry: Entry) -> None:
        """One message waits in its place again; of a stream, the one that was sent last."""
        if queue.holds.holder_of(entry.lookup) is IN_TRANSIT:
            self._core.removal.release(queue, [entry.lookup])
            self._core.readers.notify()

    def take_back(self, queue: ManagedQueue) -> None:
        """What was taken of a queue waits in its place again, and is sent again."""
        self._release(queue, queue.holds.all_of(IN_TRANSIT))

    def take_back_transactional(self, queue: ManagedQueue) -> None:
        """The same for those that were not acknowledged in order ([MS-MQQB] 3.1.6.5)."""
        self._release(queue, self.transactional_in_transit(queue))

    def _release(self, queue: ManagedQueue, held: list[int]) -> None:
        queue.sequences.start_over()
        if held:
            self._core.removal.release(queue, held)
            self._core.readers.notify()

    def _is_transactional(self, queue: ManagedQueue, lookup: int) -> bool:
        raw = record_of(self._core.snapshot, queue.number, lookup)
        return raw is not None and bool(flags_of(raw) & _TRANSACTIONAL)

    def in_transit(self, queue: ManagedQueue) -> int:
        """How many messages of a queue were sent and are not acknowledged in full."""
        return len(queue.holds.all_of(IN_TRANSIT))

    def transactional_in_transit(self, queue: ManagedQueue) -> list[int]:
        """The lookup identifiers of those that wait for an order acknowledgement, in order."""
        sent = sorted(item for item in queue.holds.all_of(IN_TRANSIT) if item >= LOOKUP_BASE)
        return [lookup for lookup in sent if self._is_transactional(queue, lookup)]

    def is_awaited(self, queue: ManagedQueue, first: int, end: int) -> bool:
        """Whether a transactional message between two lookup identifiers waits for a receipt."""
        sent = queue.holds.all_of(IN_TRANSIT)
        between = [lookup for lookup in sent if first <= lookup < end]
        return any(self._is_transactional(queue, lookup) for lookup in between)

    # Administration

    def pause(self, queue: ManagedQueue) -> None:
        """Pause Queue: all of it is taken back from its transport ([MS-MQDMPR] 3.1.7.1.34)."""
        _transfer(queue).pause()
        self._withdraw(queue)

    def resume(self, queue: ManagedQueue) -> None:
        """Resume Queue, and go on sending."""
        _transfer(queue).resume()
        self._core.transports.ready(queue)

    def take_offline(self) -> None:
        """Take Offline ([MS-MQDMPR] 3.1.4.12): send nothing, accept nothing from elsewhere.

        Sessions that are open end, too ([MS-MQSO] 5.1.1.1).
        """
        self._core.transports.is_online = False
        for queue in list(self._core.queues.by_number.values()):
            if queue.holds.all_of(IN_TRANSIT):
                self._withdraw(queue)
        for transport in self._core.transports:
            transport.offline()

    def bring_online(self) -> None:
        """Bring Online ([MS-MQDMPR] 3.1.4.13)."""
        self._core.transports.is_online = True
        self.offer_all()

    def _withdraw(self, queue: ManagedQueue) -> None:
        transport = self._core.transports.get(queue)
        if transport is not None:
            transport.withdrawn(queue)
        self.take_back(queue)


def _is_slice(part: Part) -> bool:
    return isinstance(part, RunSlice)


def _usual_rank(item: Found | RunSlice) -> int | None:
    """By what messages go together; None for special ones."""
    if isinstance(item, RunSlice):
        lookup, flags = item.first, item.run.record.flags
    else:
        lookup, flags = item[0], flags_of(item[1])
    return None if flags & _OWN_LETTERS else lookup >> ARRIVAL_BITS


def _is_transactional(entry: Entry) -> bool:
    """Whether a message is of a transaction."""
    return bool(flags_of(entry.record) & _TRANSACTIONAL)


def dispatch_priority(queue: ManagedQueue, lookup: int) -> int:
    """How urgent a message is among those of all queues ([MS-MQDMPR] 3.1.7.1.28)."""
    return queue.properties.base_priority + PRIORITY_MAX - (lookup >> ARRIVAL_BITS)


def _transfer(queue: ManagedQueue) -> Transfer:
    if queue.transfer is None:
        raise UnsupportedOperation(f"{queue.name}: only messages on their way can be held back")
    return queue.transfer
