"""What receivers say of our transactional messages: OrderAcks and FinalAcks ([MS-MQQB] 3.1.5.6).

An OrderAck says that messages have reached their queue; those whose sender wants to know more then
wait for a FinalAck (AwaitingFinalACKTable), apart from those that are still to be sent. Both count
only from a manager that the messages were sent to (decision 22).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import islice
from struct import Struct
from typing import Final
from uuid import UUID

from openmsmq.engine.arrivals.arrival import Origin, Work
from openmsmq.engine.arrivals.peers import Identity
from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.timeline import expiry
from openmsmq.engine.core import Core
from openmsmq.engine.outgoing.sequence_numbers import is_finished
from openmsmq.engine.outgoing.sequences import OutgoingSequence, forget_sequence
from openmsmq.engine.queues.holds import IN_TRANSIT
from openmsmq.engine.queues.queue import Queue, journal_of
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import (
    NEVER,
    Owed,
    Record,
    flags_of,
    index_key,
    place_and_expiry,
)
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.names.format import PrivateName, parse_format_name
from openmsmq.packet.acks import FinalAckBody, OrderAckBody
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, MessageClass

STEP: Final = 1000
"Messages that leave with one commit."
_WAITS: Final = (Owed.DEAD_LETTER | Owed.JOURNAL).value
_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
FORGED: Final = "acknowledgements from others than the receiver"
"What the statistics call those that are ignored."
PARKED: Final = b"F"
"What the keys of FinalAcks begin with that wait until it is known who may send them."
PARKED_END: Final = PARKED + b"\xff" * 28
PARKED_MAX: Final = 10_000
_parked: Final = Struct(">cIII16s")


class Confirmations:
    """Takes what is said of messages that were sent."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.on_progress: Callable[[Queue], None] = lambda queue: None
        "Told when messages of a queue have reached their destination, in order."
        self.on_unknown: Callable[[Queue], None] = lambda queue: None
        "Given an outgoing queue whose destination must be dialled to know who is there."

    def _may_confirm(self, origin: Origin, queue: Queue, sequence: OutgoingSequence) -> bool:
        """Whether a session may acknowledge messages of a sequence.

        It is of the manager that they are addressed to, or of one that answered when they were
        sent, or of a relay; the identifier of the sequence, which cannot be guessed, is the proof.
        Where peers are pinned, it must also prove to be who it says.
        """
        if origin.is_relay:
            return True
        if self._core.peers.identity is Identity.PINNED and not origin.is_proven:
            return False
        peer = UUID(bytes_le=origin.peer)
        return peer in sequence.peers or peer == _addressee(queue.name)

    def take_express(
        self, origin: Origin, ack: OrderAckBody | FinalAckBody, message_class: int
    ) -> None:
        """An acknowledgement that need not be confirmed itself."""
        if isinstance(ack, OrderAckBody):
            self.ordered(origin, ack.tx_sequence_id, ack.tx_sequence_number)
        else:
            core = self._core
            work: list[Callable[[], None]] = []

            def apply(batch: Batch) -> None:
                work.clear()
                self._final(batch, origin, ack, message_class, work)

            core.submit(apply, lambda: _call(work), lambda error: None)

    def take(self, work: Work, ack: OrderAckBody | FinalAckBody, message_class: int) -> None:
        """An acknowledgement that its sender keeps until what it says is on disk here."""
        if isinstance(ack, OrderAckBody):
            call = partial(self.ordered, work.origin, ack.tx_sequence_id, ack.tx_sequence_number)
            work.after.append(call)
        else:
            assert work.batch is not None, "it must last"
            self._final(work.batch, work.origin, ack, message_class, work.after)

    # OrderAck

    def ordered(self, origin: Origin, identifier: TxSequenceID, number: int) -> None:
        """Messages up to a number are in their queue, or refused there ([MS-MQQB] 3.1.5.6)."""
        found = self._core.numbers.sequences.find(identifier)
        if found is None:
            self._core.statistics.count("order acknowledgements of unknown sequences")
            self._overtaken(origin, identifier)
            return
        queue, sequence = found
        if not self._may_confirm(origin, queue, sequence):
            self._core.statistics.count(FORGED)
            return
        number = min(number, queue.sequences.limit(sequence))
        if number:
            begin = queue.sequences.acknowledged(sequence, number)
            last = min(sequence.lookup(number), queue.sequences.range_of(sequence)[1] - 1)
            first, end = sequence.lookup(begin), last + 1
            self._leave(queue, index_key(queue.number, first), index_key(queue.number, end))
            self.on_progress(queue)

    def _overtaken(self, origin: Origin, identifier: TxSequenceID) -> None:
        """After a restore, the receiver may be ahead of what the backup knows.

        A sequence is begun only when all messages of those before it were acknowledged
        (`Dispatcher`): so these have arrived. Here no unguessable identifier proves who says so,
        hence the session must.
        """
        overtaken = self._core.numbers.sequences.overtaken_by(identifier)
        if overtaken is None or not origin.is_proven:
            return
        queue, sequences = overtaken
        for sequence in sequences:
            if self._may_confirm(origin, queue, sequence):
                first, end = queue.sequences.range_of(sequence)
                self._leave(queue, index_key(queue.number, first), index_key(queue.number, end))
        self.on_progress(queue)

    def _leave(self, queue: Queue, first: bytes, end: bytes) -> None:
        """Messages between two keys have reached their queue; some with each commit."""
        core = self._core
        lookups: list[int] = []
        keys: list[bytes] = []

        def apply(batch: Batch) -> None:
            gone: list[tuple[int, bytes]] = []
            keys.clear()
            for key, raw in islice(batch.writer.scan(Table.INDEX, first, end), STEP):
                keys.append(key)
                lookup = int.from_bytes(key[4:], "big")
                if self._is_under_way(queue, lookup, raw) and batch.take_out(queue, lookup, raw):
                    gone.append((lookup, raw))
            lookups[:] = [lookup for lookup, _ in gone]
            self._reached(batch, queue, gone)

        def committed() -> None:
            # What was taken back meanwhile to be purged is forgotten by the purge.
            held = [lookup for lookup in lookups if queue.holds.holder_of(lookup) is IN_TRANSIT]
            core.forget(queue, held)
            if len(keys) >= STEP:
                self._leave(queue, keys[-1] + b"\0", end)
            else:
                self.finish(queue)

        core.submit(apply, committed, lambda error: queue.sequences.look_again())

    def _is_under_way(self, queue: Queue, lookup: int, raw: bytes) -> bool:
        """Whether a message may have been sent; one that expired before was passed over."""
        if not flags_of(raw) & _TRANSACTIONAL:
            return False
        holder = queue.holds.holder_of(lookup)
        if holder is None:
            _, _, expires = place_and_expiry(raw)
            return bool(expires >= self._core.expiry.overdue)
        return holder is IN_TRANSIT

    def _reached(self, batch: Batch, queue: Queue, gone: list[tuple[int, bytes]]) -> None:
        """Messages are where they should be; some wait to hear that they were consumed."""
        done = [item for item in gone if not flags_of(item[1]) & _WAITS]
        if done:
            reason = MessageClass.ACK_REACH_QUEUE
            self._core.dispositions.finalize(batch, queue, done, reason, "")
        waiting = [item for item in gone if flags_of(item[1]) & _WAITS]
        if not waiting:
            return
        target = journal_of(queue)
        starts = batch.first_chunks([raw for _, raw in waiting])
        for (lookup, raw), start in zip(waiting, starts, strict=True):
            record = Record.unpack(raw)
            batch.place(target, lookup, record._replace(expires=self._last_word(record, start)))
        batch.count(Event.REACHED.word, len(waiting))
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

    def finish(self, queue: Queue) -> None:
        """A sequence of which nothing is left ends; the next message begins another."""
        core = self._core
        sequences = queue.sequences
        over = [item for item in sequences.all if is_finished(core.snapshot, queue, item)]
        if not over or core.is_stopping:
            return
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
                forget_sequence(batch.writer, sequence)
                for key, _ in parked_rows(batch.writer, sequence):
                    batch.writer.delete(Table.TRANSFER, key)

        def take_back() -> None:
            for sequence in ended:
                sequences.restore(sequence)
            ended.clear()

        core.submit(apply, lambda: core.numbers.sequences.ended(ended), lambda error: take_back())

    # FinalAck

    def _final(
        self,
        batch: Batch,
        origin: Origin,
        ack: FinalAckBody,
        message_class: int,
        after: list[Callable[[], None]],
    ) -> None:
        """A message was consumed, or failed for good ([MS-MQQB] 3.1.5.7)."""
        found = self._core.numbers.sequences.find(ack.tx_sequence_id)
        if found is not None and not self._may_confirm(origin, *found):
            if found[1].peers or self._place(batch, *found, ack) is None:
                batch.count(FORGED)
            else:
                self._park(batch, origin, found[0], ack, message_class, after)
            return
        place = None if found is None else self._place(batch, *found, ack)
        if place is None:
            batch.count("final acknowledgements of unknown messages")
            return
        self._confirm(batch, place, message_class, after)

    def _confirm(
        self,
        batch: Batch,
        place: tuple[Queue, int, bytes],
        message_class: int,
        after: list[Callable[[], None]],
    ) -> None:
        queue, lookup, raw = place
        try:
            reason = MessageClass(message_class)
        except ValueError:
            reason = MessageClass.NACK_RECEIVE_REJECTED
        self._core.dispositions.confirmed(batch, queue, lookup, raw, reason)

        def committed() -> None:
            if queue.holds.holder_of(lookup) is IN_TRANSIT:
                self._core.forget(queue, [lookup])
            self.finish(queue.main)

        after.append(committed)

    # What comes before it is known who may say it

    def _park(
        self,
        batch: Batch,
        origin: Origin,
        queue: Queue,
        ack: FinalAckBody,
        message_class: int,
        after: list[Callable[[], None]],
    ) -> None:
        """Keep a FinalAck until the destination was dialled: it may come from who answers there.

        It comes once only. The sequences of an older store do not know who answered.
        """
        known = list(islice(batch.writer.scan(Table.TRANSFER, PARKED, PARKED_END), PARKED_MAX))
        if len(known) >= PARKED_MAX:
            batch.count(FORGED)
            return
        identifier = ack.tx_sequence_id
        key = _parked.pack(
            PARKED,
            identifier.time_stamp,
            identifier.ordinal,
            ack.tx_sequence_number,
            origin.peer,
        )
        batch.writer.put(Table.TRANSFER, key, message_class.to_bytes(2, "little") + ack.pack())
        after.append(partial(self.on_unknown, queue))

    def unknown(self) -> list[Queue]:
        """Outgoing queues with FinalAcks that wait until it is known who answers there."""
        rows = self._core.snapshot.scan(Table.TRANSFER, PARKED, PARKED_END)
        parked = {_parked.unpack(key)[1:3] for key, _ in rows}
        live = self._core.numbers.sequences.live
        return list({live[known][0] for known in parked if known in live})

    def found(self, queue: Queue, peer: UUID) -> None:
        """A manager answered at a destination, though nothing was sent: take what it said."""
        unknown = [sequence for sequence in queue.sequences.all if not sequence.peers]

        def apply(batch: Batch) -> None:
            for sequence in unknown:
                if sequence in queue.sequences.all:
                    sequence.write(batch.writer)

        for sequence in unknown:
            sequence.peers = (peer,)
        self._core.submit(apply, lambda: None, lambda error: None)
        for sequence in unknown:
            self.answered(sequence, peer)

    def answered(self, sequence: OutgoingSequence, peer: UUID) -> None:
        """It is known now who answers at a destination: take what that manager said before."""
        core = self._core
        if not parked_rows(core.snapshot, sequence):
            return
        after: list[Callable[[], None]] = []

        def apply(batch: Batch) -> None:
            after.clear()
            found = core.numbers.sequences.find(sequence.identifier)
            for key, row in parked_rows(batch.writer, sequence):
                if key[-16:] != peer.bytes_le:
                    continue
                ack = FinalAckBody.unpack(row[2:])
                place = None if found is None else self._place(batch, *found, ack)
                if place is not None:
                    self._confirm(batch, place, int.from_bytes(row[:2], "little"), after)
                batch.writer.delete(Table.TRANSFER, key)

        core.submit(apply, lambda: _call(after), lambda error: None)

    def _place(
        self, batch: Batch, queue: Queue, sequence: OutgoingSequence, ack: FinalAckBody
    ) -> tuple[Queue, int, bytes] | None:
        """Where the message is that a FinalAck is about (AMB-37, AMB-39)."""
        if ack.source_guid != self._core.identity or not ack.tx_sequence_number:
            return None
        lookup = sequence.lookup(ack.tx_sequence_number)
        first, end = queue.sequences.range_of(sequence)
        if not first <= lookup < end:
            return None
        for member in (journal_of(queue), queue):
            raw = batch.record(member, lookup)
            if raw is None:
                continue
            is_free = member.holds.holder_of(lookup) in (None, IN_TRANSIT)
            start = batch.first_chunks([raw])[0]
            if is_free and int.from_bytes(start[56:60], "little") == ack.message_id:
                return member, lookup, raw
        return None


@lru_cache(maxsize=4096)
def _addressee(name: str) -> UUID | None:
    """The manager that a destination names by its identity, if it does."""
    parsed = parse_format_name(name)
    return parsed.guid if isinstance(parsed, PrivateName) else None


def parked_rows(snapshot: Snapshot, sequence: OutgoingSequence) -> list[tuple[bytes, bytes]]:
    """The FinalAcks about messages of a sequence that wait."""
    prefix = _parked.pack(PARKED, *sequence.id, 0, bytes(16))[:9]
    return list(snapshot.scan(Table.TRANSFER, prefix, prefix + b"\xff" * 21))


def read_parked(key: bytes, row: bytes) -> FinalAckBody:
    """A FinalAck that waits, as a row tells."""
    _parked.unpack(key)
    return FinalAckBody.unpack(row[2:])


def _call(calls: list[Callable[[], None]]) -> None:
    for call in calls:
        call()
