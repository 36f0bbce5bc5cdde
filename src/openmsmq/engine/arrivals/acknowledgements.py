"""Acknowledgements of messages that came from other managers, and where they go.

Any peer that reaches the binary port can have us acknowledge messages, to any queue it names. What
peers outside the peer table make us create is bounded, so that they cannot fill memory or disk,
or have us dial the world. What local programs send is never counted here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final
from uuid import UUID

from openmsmq.engine.arrivals.incoming import SOURCE, IncomingSequences
from openmsmq.engine.arrivals.limits import (
    ANSWERS_MAX,
    ANSWERS_SIZE_MAX,
    FORGED_MAX,
    MESSAGES_MAX,
    SIZE_MAX,
    UNSOLICITED_MAX,
    UNSOLICITED_SIZE_MAX,
)
from openmsmq.engine.arrivals.peers import PeerTable, network_of
from openmsmq.engine.arrivals.receipts import ReceiptContext, ReceiptWriters
from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.messages.express import ExpressStore
from openmsmq.engine.outgoing.transport import Transports
from openmsmq.engine.queues.queue import ManagedQueue, Purpose
from openmsmq.engine.queues.registry import Queues
from openmsmq.engine.queues.waiting_readers import WaitingReaders
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import NEVER, TRANSPORT, Owed
from openmsmq.errors import MQError, QueueNotFound
from openmsmq.names.base import FormatName
from openmsmq.names.format import PrivateName
from openmsmq.packet.admin import build_admin_ack
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import PRIORITY_DEFAULT, MessageClass

DROPPED: Final = "acknowledgements dropped"
"What the statistics call acknowledgements that are not sent."


INSECURE: Final = frozenset(
    {
        MessageClass.NACK_BAD_DST_Q,
        MessageClass.NACK_BAD_ENCRYPTION,
        MessageClass.NACK_BAD_SIGNATURE,
        MessageClass.NACK_ACCESS_DENIED,
        MessageClass.NACK_UNSUPPORTED_CRYPTO_PROVIDER,
    }
)
"What would tell a stranger about this manager ([MS-MQQB] 5.1): not sent (SendInsecureNacks)."
_STRANGER: Final = Owed.STRANGER.value


class Acknowledgements:
    """Sends acknowledgements, as far as the senders of messages may ask for them."""

    def __init__(
        self,
        state: EngineState,
        queues: Queues,
        readers: WaitingReaders,
        express: ExpressStore,
        *,
        transports: Transports,
        peers: PeerTable,
        incoming: IncomingSequences,
        receipts: ReceiptWriters,
        purge: Callable[[ManagedQueue], object],
    ) -> None:
        """`purge` empties a queue, whose messages have acknowledgements of their own."""
        self._state = state
        self._queues = queues
        self._readers = readers
        self._express = express
        self._transports = transports
        self._peers = peers
        self._incoming = incoming
        self.receipts = receipts
        self._purge = purge
        self._by_purpose: dict[Purpose, dict[ManagedQueue, None]] = {
            Purpose.UNSOLICITED: {},
            Purpose.ANSWER: {},
        }
        "Those that are bounded, the oldest first."
        for queue in queues.by_number.values():
            if queue.properties.purpose in self._by_purpose:
                self._by_purpose[queue.properties.purpose][queue] = None

    def queues(self, purpose: Purpose) -> list[ManagedQueue]:
        """The queues of a purpose that is bounded."""
        found = self._by_purpose[purpose]
        for queue in [queue for queue in found if not _is_for(queue, purpose)]:
            del found[queue]
        return list(found)

    def queue_for(
        self, name: FormatName, source: UUID, *, of_stranger: bool
    ) -> ManagedQueue | None:
        """The queue for acknowledgements of a message of `source`; None if there are too many.

        `of_stranger` says that a peer outside the peer table brought the message.
        """
        queue = self._queues.find_outgoing(name)
        if queue is None:
            purpose = self._purpose(name, source, of_stranger=of_stranger)
            if purpose is Purpose.UNSOLICITED and self._is_full():
                return None
            if purpose is Purpose.ANSWER:
                self._make_room()
            queue = self._queues.outgoing(name, purpose)
            if purpose in self._by_purpose:
                self._by_purpose[purpose][queue] = None
            return queue
        if not of_stranger:
            queue = self._queues.outgoing(name, Purpose.ACKNOWLEDGE)
            is_bounded = queue.properties.purpose is not Purpose.SEND
            is_large = is_bounded and queue.total_size >= SIZE_MAX
        else:
            is_bounded, is_large = True, self._is_large(queue)
        return None if is_large or (is_bounded and _is_full_for_absent(queue)) else queue

    def _is_large(self, queue: ManagedQueue) -> bool:
        """Whether strangers may put nothing more into a queue, be it one that programs use."""
        match queue.properties.purpose:
            case Purpose.UNSOLICITED:
                return self._size(Purpose.UNSOLICITED) >= UNSOLICITED_SIZE_MAX
            case Purpose.ANSWER:
                return (
                    self._size(Purpose.ANSWER) >= ANSWERS_SIZE_MAX
                    and queue.total_size >= ANSWERS_SIZE_MAX // ANSWERS_MAX
                )
        return queue.total_size >= UNSOLICITED_SIZE_MAX

    def _purpose(self, name: FormatName, source: UUID, *, of_stranger: bool) -> Purpose:
        if not of_stranger:
            return Purpose.ACKNOWLEDGE
        is_own = isinstance(name, PrivateName) and name.guid == source
        return Purpose.ANSWER if is_own else Purpose.UNSOLICITED

    def _is_full(self) -> bool:
        has_many = len(self._by_purpose[Purpose.UNSOLICITED]) >= UNSOLICITED_MAX
        if has_many and len(self.queues(Purpose.UNSOLICITED)) >= UNSOLICITED_MAX:
            return True
        return self._size(Purpose.UNSOLICITED) >= UNSOLICITED_SIZE_MAX

    def _size(self, purpose: Purpose) -> int:
        return sum([one.total_size for one in self._by_purpose[purpose] if _is_for(one, purpose)])

    def _make_room(self) -> None:
        """The network with the most queues that wait for strangers loses the oldest of them."""
        queues = self.queues(Purpose.ANSWER)
        if len(queues) < ANSWERS_MAX:
            return
        by_network: dict[str, list[ManagedQueue]] = {}
        for queue in queues:
            by_network.setdefault(self._network(queue), []).append(queue)
        most = max(by_network.values(), key=len)
        self.drop(most[0])

    def _network(self, queue: ManagedQueue) -> str:
        """Where the manager that a queue is for was last seen."""
        guid = queue.name.partition("=")[2].partition("\\")[0]
        addresses = self._incoming.addresses(UUID(guid))
        return network_of(addresses[0]) if addresses else ""

    def drop(self, queue: ManagedQueue) -> None:
        """Give up acknowledgements that could not be sent."""
        self._state.statistics.count(DROPPED, queue.messages + len(queue.express))
        self._purge(queue)
        self._by_purpose.get(queue.properties.purpose, {}).pop(queue, None)

    # Acknowledgements

    def acknowledge(
        self, batch: Batch | None, packet: bytes, reason: MessageClass, flags: int
    ) -> None:
        """Send what the sender asked for to the administration queue ([MS-MQQB] 3.1.7.2.1).

        `flags` are those of the message's record. To a queue that cannot be opened nothing is sent
        ([MS-MQQB] 3.1.7.15).
        """
        state = self._state
        if reason in INSECURE and not self._may_tell(packet, flags):
            return
        count = state.statistics.count if batch is None else batch.count
        try:
            owed = self._acknowledgement(packet, reason, flags)
            if owed is None:
                return
            name, write = owed
            target = self._queues.for_sending(name)
            is_served = flags & TRANSPORT or self._transports.is_reachable(name)
            if target is None and not is_served:
                raise QueueNotFound(str(name))
        except MQError:
            count("acknowledgements without a queue")
            return
        if target is None:
            source, of_stranger = UUID(bytes_le=packet[SOURCE]), bool(flags & _STRANGER)
            target = self.queue_for(name, source, of_stranger=of_stranger)
        if target is None:
            count(DROPPED)
            return
        if target.properties.transactional:
            count("acknowledgements without a queue")
            return
        is_express = not PacketView(packet).recoverable
        message = NewMessage(write(), PRIORITY_DEFAULT, NEVER, express=is_express)
        if batch is None:
            self._insert_express(target, message)
        elif message.express:
            batch.after.append(partial(self._insert_express, target, message))
        else:
            batch.insert_many(target, [message], "")
        count(Event.ACKNOWLEDGED.word)

    def _may_tell(self, packet: bytes, flags: int) -> bool:
        """Whether the sender of a message hears that a queue does not exist or is closed to it.

        A manager that has shown the certificate which is pinned for it is no stranger.
        """
        if self._state.settings.insecure_nacks:
            return True
        source = UUID(bytes_le=packet[SOURCE])
        return not flags & _STRANGER and bool(self._peers.certificate_of(source))

    def _insert_express(self, target: ManagedQueue, message: NewMessage) -> None:
        if not target.deleted:
            self._readers.wake(target, self._express.insert(target, [message]))

    def send_receipt(
        self, batch: Batch, packet: bytes, reason: MessageClass, flags: int, address: str = ""
    ) -> None:
        """Tell the sender of a message in a stream what became of it ([MS-MQQB] 3.1.7.17).

        `flags` name the transport that brought it and writes the receipt; `address` is where it
        came from just now. The receipt waits on disk for the manager that sent the message first
        (AMB-33). Those about messages that a stranger brought in the name of a known manager leave
        room for the others.
        """
        source = UUID(bytes_le=packet[SOURCE])
        transport = flags & TRANSPORT
        is_known = not flags & _STRANGER if transport else self._peers.is_known(source)
        writer, context = self.receipts[transport], self._context(packet, address)
        receipt = writer.final(packet, reason, context)
        if receipt is None:
            return
        target = self.queue_for(receipt.destination, source, of_stranger=not is_known)
        is_forged = is_known and flags & _STRANGER
        if target is None or (is_forged and _waiting(target) >= FORGED_MAX):
            batch.count(DROPPED)
            return
        batch.insert_many(target, [NewMessage(receipt.packet, 0, NEVER, express=False)], "")
        batch.count(Event.ACKNOWLEDGED.word)

    def _acknowledgement(
        self, packet: bytes, reason: MessageClass, flags: int
    ) -> tuple[FormatName, Callable[[], bytes]] | None:
        """Where an acknowledgement goes, and what writes it once there is a queue for it.

        The transport that brought the message writes it its own way.
        """
        if transport := flags & TRANSPORT:
            writer, context = self.receipts[transport], self._context(packet)
            owed = writer.acknowledgement(packet, reason, context)
            return None if owed is None else (owed.destination, lambda: owed.packet)
        view = PacketView(packet)
        name = view.admin_queue
        return None if name is None else (name, partial(self._write, view, name, reason))

    def _write(self, view: PacketView, name: FormatName, reason: MessageClass) -> bytes:
        state = self._state
        return build_admin_ack(
            view,
            name,
            reason,
            source=state.identity,
            message_id=state.next_message_id(),
            sent_time=state.timeline.wall,
        )

    def _context(self, packet: bytes, address: str = "") -> ReceiptContext:
        """What a receipt needs; its message identifier is used up."""
        state = self._state
        return ReceiptContext(
            state.identity,
            state.next_message_id(),
            state.timeline.wall,
            address or self._incoming.address_of(packet),
            self._incoming.receipts_to,
        )


def _waiting(queue: ManagedQueue) -> int:
    return queue.messages + len(queue.express)


def _is_full_for_absent(queue: ManagedQueue) -> bool:
    """Whether nothing more waits for a manager that could not be reached.

    While it can, a burst of receives is confirmed to the last one: only its size is bounded.
    """
    if _waiting(queue) < MESSAGES_MAX:
        return False
    return queue.transfer is not None and queue.transfer.is_away


def _is_for(queue: ManagedQueue, purpose: Purpose) -> bool:
    return not queue.deleted and queue.properties.purpose is purpose
