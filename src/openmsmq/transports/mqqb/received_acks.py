"""OrderAcks and FinalAcks that come: who may send them, and what they say ([MS-MQQB] 3.1.5.6).

Both count only from a manager that the messages were sent to (decision 22).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.arrivals.incoming import ADDRESSEE
from openmsmq.engine.arrivals.peers import Identity
from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.core import Core
from openmsmq.engine.outgoing.confirmations import Confirmations, SentMessage
from openmsmq.engine.outgoing.limits import PARKED_MAX
from openmsmq.engine.outgoing.parked import (
    PARKED,
    PARKED_END,
    Parked,
    parked_rows,
    parked_sequences,
    read_parked,
)
from openmsmq.engine.outgoing.sequences import OutgoingSequence
from openmsmq.engine.outgoing.transport import AddressKind, kind_of
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.tables import Table
from openmsmq.names.format import PrivateName, parse_format_name
from openmsmq.packet.acks import FinalAckBody, OrderAckBody, ack_body
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.headers.user import NO_GUID, UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, u32
from openmsmq.properties.message import MessageClass, describe_class

FORGED: Final = "acknowledgements from others than the receiver"
"What the statistics call those that are ignored."
_NO_FLAGS: Final = bytes(2)
"BaseHeader.Flags of an OrderAck or FinalAck."
_NO_SEQUENCE: Final = TxSequenceID(0, 0)


class Ack(NamedTuple):
    """An OrderAck or FinalAck."""

    body: OrderAckBody | FinalAckBody
    message_class: int


class ReceivedAcks:
    """Takes what receivers say of messages that were sent to them."""

    def __init__(
        self,
        core: Core,
        confirmations: Confirmations,
        progressed: Callable[[ManagedQueue], None],
        identify: Callable[[ManagedQueue], None],
    ) -> None:
        """`progressed` is called when messages of a queue have reached their destination, in order.

        `identify` is given a queue whose destination must be dialled to know who is there.
        """
        self._core = core
        self._confirmations = confirmations
        self._progressed = progressed
        self._identify = identify
        self._addressees = (NO_GUID.bytes_le, core.identity.bytes_le)
        live = core.numbers.sequences.live
        parked = parked_sequences(core.snapshot)
        self._parked = {live[known][0] for known in parked if known in live}
        "Queues with FinalAcks that wait until it is known who may send them."

    def read(self, packet: bytes) -> Ack | None:
        """What a packet says if it is an OrderAck or FinalAck for this manager."""
        if packet[2:4] != _NO_FLAGS or u32(packet, FLAGS)[0] & UserFlags.TH:
            return None
        if packet[ADDRESSEE] not in self._addressees:
            return None
        view = PacketView(packet)
        body = ack_body(view)
        return None if body is None else Ack(body, view.message_class)

    def split(self, packets: Sequence[bytes]) -> tuple[Sequence[bytes], list[Ack]]:
        """Messages, and OrderAcks and FinalAcks among them ([MS-MQQB] 3.1.5.1.1)."""
        read = [self.read(packet) for packet in packets]
        acks = [ack for ack in read if ack is not None]
        if not acks:
            return packets, []
        return [packet for packet, ack in zip(packets, read, strict=True) if ack is None], acks

    def _may_confirm(self, origin: Origin, queue: ManagedQueue, sequence: OutgoingSequence) -> bool:
        """Whether a session may acknowledge messages of a sequence.

        It is of the manager that they are addressed to, or of one that answered when they were
        sent, or of a relay; the identifier of the sequence, which cannot be guessed, is the proof.
        Where peers are pinned, it must also prove to be who it says.
        """
        if kind_of(queue.name) is not AddressKind.BINARY:
            return False
        if origin.is_relay:
            return True
        if not self._is_believed(origin):
            return False
        peer = UUID(bytes_le=origin.peer)
        return peer in sequence.peers or peer == _addressee(queue.name)

    def _is_believed(self, origin: Origin) -> bool:
        """Whether the GUID of a session counts as proof of who it is, as far as it goes."""
        return origin.is_proven or self._core.peers.identity is not Identity.PINNED

    def take_express(self, origin: Origin, ack: Ack) -> None:
        """An acknowledgement that need not be confirmed itself."""
        if isinstance(ack.body, OrderAckBody):
            self.ordered(origin, ack.body.tx_sequence_id, ack.body.tx_sequence_number)
        else:
            self.take(origin, [ack], lambda error: None)

    def take(
        self,
        origin: Origin,
        acks: Sequence[Ack],
        done: Callable[[BaseException | None], None],
    ) -> None:
        """Acknowledgements that their sender keeps until what they say is on disk here."""
        after: list[Callable[[], None]] = []

        def apply(batch: Batch) -> None:
            after.clear()
            for body, message_class in acks:
                if isinstance(body, FinalAckBody):
                    self._final(batch, origin, body, message_class, after)

        def committed() -> None:
            for body, _ in acks:
                if isinstance(body, OrderAckBody):
                    self.ordered(origin, body.tx_sequence_id, body.tx_sequence_number)
            for call in after:
                call()
            done(None)

        self._core.submit(apply, committed, done)

    # OrderAck

    def ordered(self, origin: Origin, identifier: TxSequenceID, number: int) -> None:
        """Messages up to a number are in their queue, or refused there ([MS-MQQB] 3.1.5.6)."""
        found = self._core.numbers.sequences.find(identifier)
        if found is None:
            self._core.statistics.count("order acknowledgements of unknown sequences")
            self._overtaken(origin, identifier)
            return
        queue, sequence = found
        has_progressed = self._confirm_before(origin, queue, sequence)
        if self._may_confirm(origin, queue, sequence):
            confirmed = self._confirmations.acknowledged(queue, sequence, number)
            has_progressed = confirmed or has_progressed
        elif not has_progressed:
            self._core.statistics.count(FORGED)
        if has_progressed:
            self._progressed(queue)

    def _confirm_before(
        self, origin: Origin, queue: ManagedQueue, sequence: OutgoingSequence
    ) -> bool:
        """After a restore, the receiver may have come to a later sequence of the backup.

        As in `_overtaken`, it was begun when all messages of those before it had arrived. Perhaps
        it had not been sent at the time of the backup, so that only they tell who may say so.
        """
        confirmed = [
            item
            for item in queue.sequences.all
            if item.is_restored
            and item.first < sequence.first
            and self._may_confirm(origin, queue, item)
        ]
        for item in confirmed:
            self._confirmations.all_acknowledged(queue, item)
        return bool(confirmed)

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
                self._confirmations.all_acknowledged(queue, sequence)
        self._progressed(queue)

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
        if ack.tx_sequence_id == _NO_SEQUENCE:
            self._refused(batch, origin, ack, message_class)
            return
        found = self._core.numbers.sequences.find(ack.tx_sequence_id)
        if found is not None and not self._may_confirm(origin, *found):
            is_early = not found[1].peers and self._is_believed(origin)
            if is_early and self._find(batch, *found, ack) is not None:
                self._park(batch, origin, found[0], ack, message_class, after)
            else:
                batch.count(FORGED)
            return
        sent = None if found is None else self._find(batch, *found, ack)
        if sent is None:
            batch.count("final acknowledgements of unknown messages")
            return
        self._confirmations.confirm(batch, sent, _reason(message_class), after)

    def _refused(self, batch: Batch, origin: Origin, ack: FinalAckBody, message_class: int) -> None:
        """A message outside a transaction was refused, says a manager that proves who it is.

        Its history shows that only if it was handed over to this manager (`explanation`).
        """
        if not origin.certified or ack.source_guid != self._core.identity:
            batch.count(FORGED)
            return
        identifier = ack.source_guid.bytes_le + ack.message_id.to_bytes(4, "little")
        words = describe_class(_reason(message_class))
        batch.note(Event.REFUSED_THERE, None, [0], identifier, origin.certified, words)
        batch.count(Event.REFUSED_THERE.word)

    def _find(
        self, batch: Batch, queue: ManagedQueue, sequence: OutgoingSequence, ack: FinalAckBody
    ) -> SentMessage | None:
        """The message that a FinalAck is about (AMB-37, AMB-39)."""
        if ack.source_guid != self._core.identity:
            return None
        number, message_id = ack.tx_sequence_number, ack.message_id
        return self._confirmations.find(batch, queue, sequence, number, message_id)

    # FinalAcks that come before it is known who may send them

    def _park(
        self,
        batch: Batch,
        origin: Origin,
        queue: ManagedQueue,
        ack: FinalAckBody,
        message_class: int,
        after: list[Callable[[], None]],
    ) -> None:
        """Keep a FinalAck until the destination was dialled: it may come from who answers there.

        It comes once only. The sequences of an older store do not know who answered.
        """
        known = batch.writer.rows(Table.TRANSFER, PARKED, PARKED_END, PARKED_MAX)
        if len(known) >= PARKED_MAX:
            batch.count(FORGED)
            return
        identifier = ack.tx_sequence_id
        parked = Parked(
            (identifier.time_stamp, identifier.ordinal),
            ack.tx_sequence_number,
            origin.peer,
            message_class,
            ack.pack(),
        )
        batch.writer.put(Table.TRANSFER, parked.key, parked.row)
        after.append(lambda: self._ask(queue))

    def _ask(self, queue: ManagedQueue) -> None:
        self._parked.add(queue)
        self._identify(queue)

    def unidentified(self) -> list[ManagedQueue]:
        """Outgoing queues with FinalAcks that wait until it is known who answers there."""
        return list(self._parked)

    def sent(self, queue: ManagedQueue, peer: UUID) -> None:
        """Messages of a queue were sent to a manager, which may acknowledge them from then on."""
        if queue in self._parked:
            self.identified(queue, peer)

    def identified(self, queue: ManagedQueue, peer: UUID) -> None:
        """It is known which manager answers at a destination: take what it said before."""
        unknown = [sequence for sequence in queue.sequences.all if not sequence.peers]

        def apply(batch: Batch) -> None:
            for sequence in unknown:
                if sequence in queue.sequences.all:
                    sequence.write(batch.writer)

        for sequence in unknown:
            sequence.peers = (peer,)
        if unknown:
            self._core.submit(apply, lambda: None, lambda error: None)
        parked = [item for item in queue.sequences.all if parked_rows(self._core.snapshot, item)]
        if not parked:
            self._parked.discard(queue)
        for sequence in parked:
            if peer in sequence.peers:
                self._take_parked(sequence, peer)

    def _take_parked(self, sequence: OutgoingSequence, peer: UUID) -> None:
        core = self._core
        after: list[Callable[[], None]] = []

        def apply(batch: Batch) -> None:
            after.clear()
            found = core.numbers.sequences.find(sequence.identifier)
            for key, row in parked_rows(batch.writer, sequence):
                parked = read_parked(key, row)
                if parked.peer != peer.bytes_le:
                    continue
                ack = FinalAckBody.unpack(parked.body)
                sent = None if found is None else self._find(batch, *found, ack)
                if sent is not None:
                    reason = _reason(parked.message_class)
                    self._confirmations.confirm(batch, sent, reason, after)
                batch.writer.delete(Table.TRANSFER, key)

        def committed() -> None:
            for call in after:
                call()

        core.submit(apply, committed, lambda error: None)


def _reason(message_class: int) -> MessageClass:
    try:
        return MessageClass(message_class)
    except ValueError:
        return MessageClass.NACK_RECEIVE_REJECTED


@lru_cache(maxsize=4096)
def _addressee(name: str) -> UUID | None:
    """The manager that a destination names by its identity, if it does."""
    parsed = parse_format_name(name)
    return parsed.guid if isinstance(parsed, PrivateName) else None
