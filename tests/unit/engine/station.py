"""A manager that takes what another one sends: what the tests of transfers use."""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from uuid import UUID

from tests.unit.engine.world import HERE, ME, NOW, PARTNER, World, commit_all

from openmsmq.engine.arrivals.arrival import ArrivalOutcome, Origin
from openmsmq.engine.arrivals.arrivals import Arrivals
from openmsmq.engine.arrivals.incoming import SOURCE, IncomingSequence, destination_key
from openmsmq.engine.outgoing.confirmations import Confirmations
from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.tables import Table
from openmsmq.limits import U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.format import PrivateName, parse_format_name
from openmsmq.packet.acks import FinalAckBody, OrderAckBody, ack_body, order_queue
from openmsmq.packet.builder import NO_HEADERS, OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeader, TxSequenceID
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge, MessageClass
from openmsmq.transports.mqqb.receipts import arrival_of
from openmsmq.transports.mqqb.received_acks import Ack, ReceivedAcks

ADDRESS: Final = "192.0.2.9"
"Where the other manager is."
ADMIN: Final = HERE + "admin"
STAMP: Final = 1_600_000_000
"TimeStamp of the sequences of the other manager."
THERE: Final = parse_format_name("DIRECT=OS:there\\t")
"A queue of the other manager."


def parcel(
    body: str = "",
    *,
    number: int = 1,
    to: str | FormatName = HERE + "q",
    manager: UUID | None = None,
    source: UUID = PARTNER,
    express: bool = False,
    priority: int = 3,
    place: tuple[int, int, int] | None = None,
    wants_final: bool = False,
    dead_letter: bool = False,
    journal: bool = False,
    acknowledge: Acknowledge = Acknowledge.NONE,
    admin: str | None = ADMIN,
    sent: int = NOW,
    reach: int = INFINITE,
    receive: int = INFINITE,
    hops: int = 0,
    headers: OptionalHeaders = NO_HEADERS,
) -> bytes:
    """A packet of the other manager; `place` is its sequence, number and previous number."""
    name = parse_format_name(to) if isinstance(to, str) else to
    if manager is None:
        manager = name.guid if isinstance(name, PrivateName) else NO_GUID
    if place is not None:
        flags = TransactionFlags.FA if wants_final else 0
        where = TransactionHeader(flags, TxSequenceID(place[0], STAMP), place[1], place[2])
        headers = replace(headers, transaction=where)
    builder = PacketBuilder(
        source,
        name,
        destination_manager=manager,
        admin=None if admin is None else parse_format_name(admin),
    )
    packet = bytearray(
        builder.build(
            body.encode(),
            recoverable=not express,
            priority=priority,
            dead_letter=dead_letter,
            journal=journal,
            message_id=number,
            acknowledge=acknowledge,
            sent_time=sent,
            time_to_reach_queue=reach,
            time_to_be_received=receive,
            headers=headers,
        )
    )
    packet[60] |= hops  # RC, the lowest bits of UserHeader.Flags
    assert PacketView(bytes(packet)).hop_count == hops
    return bytes(packet)


def in_order(*numbers: int, sequence: int = 1, to: str = HERE + "q") -> list[bytes]:
    """Transactional messages of one sequence, each behind the one before it."""
    return [parcel(str(n), number=n, place=(sequence, n, n - 1), to=to) for n in numbers]


class Station:
    """A world that messages come to and that tells their sender what became of them."""

    def __init__(self, world: World | None = None) -> None:
        self.world = world or World()
        self.core = self.world.core
        self.dispatcher = Dispatcher(self.core)
        self.confirmations = Confirmations(self.core)
        self.arrivals = Arrivals(self.core)
        self.origin = Origin(ADDRESS, "partner", PARTNER.bytes_le)
        self.orders: list[tuple[str, int]] = []
        "Streams of which messages came: the body of the last, and how many."
        self.gaps: list[IncomingSequence] = []
        self.traced: list[bytes] = []
        self.progress: list[ManagedQueue] = []
        self.asked: list[ManagedQueue] = []
        "Queues whose destinations are to be identified."
        self.received_acks = ReceivedAcks(
            self.core, self.confirmations, self.progress.append, self.asked.append
        )

    def _note(self, origin: Origin, outcome: ArrivalOutcome) -> BaseException | None:
        for key, packet, count in outcome.progress:
            assert key == origin.scopes(packet[SOURCE])[0] + destination_key(packet)
            self.orders.append((PacketView(packet).body.decode(), count))
        self.gaps += outcome.gaps
        self.traced += outcome.traced
        return outcome.error

    def restart(self, seconds: float = 0) -> Station:
        """The next process on what this one had committed."""
        return Station(self.world.restart(seconds))

    # As a receiver

    def begin(self, *packets: bytes, origin: Origin | None = None) -> list[BaseException | None]:
        """Begin to take packets; the answer is in the list when the commit is over."""
        answers: list[BaseException | None] = []
        origin = origin or self.origin
        messages, acks = self.received_acks.split(packets)
        with self.core.together():
            if acks:
                done = (lambda error: None) if messages else answers.append
                self.received_acks.take(origin, acks, done)
            if messages or not acks:
                self.arrivals.take(
                    origin,
                    [arrival_of(packet) for packet in messages],
                    lambda outcome: answers.append(self._note(origin, outcome)),
                )
        return answers

    def take(self, *packets: bytes, origin: Origin | None = None) -> BaseException | None:
        """Take packets that must not be lost, and all that follows."""
        answers = self.begin(*packets, origin=origin)
        commit_all(self.core)
        (answer,) = answers
        return answer

    def begin_express(self, *packets: bytes, origin: Origin | None = None) -> bool:
        """Take packets that may be lost, without what follows."""
        messages, acks = self.received_acks.split(packets)
        for ack in acks:
            self.received_acks.take_express(origin or self.origin, ack)
        outcome = self.arrivals.take_express(origin or self.origin, messages)
        return self._note(origin or self.origin, outcome) is None

    def take_express(self, packet: bytes) -> bool:
        """Take a packet that may be lost."""
        taken = self.begin_express(packet)
        commit_all(self.core)
        return taken

    def bodies(self, name: str = "q") -> list[str]:
        """The bodies of the messages in a queue."""
        return self.world.bodies(self.world.find(name))

    def finals(self, source: UUID = PARTNER) -> list[tuple[MessageClass, int]]:
        """The FinalAcks on their way to a sender: class and number of each."""
        found = []
        queue = self.core.queues.find_outgoing(order_queue(source))
        for view in [] if queue is None else self.world.views(queue):
            body = ack_body(view)
            assert isinstance(body, FinalAckBody)
            assert body.source_guid == source
            found.append((MessageClass(view.message_class), body.tx_sequence_number))
        return found

    def admin(self) -> list[MessageClass]:
        """The classes of the administration acknowledgements that came."""
        views = self.world.views(self.world.find("admin"))
        return [MessageClass(view.message_class) for view in views]

    def rows(self, kind: bytes) -> dict[bytes, bytes]:
        """The rows of one kind about transfers."""
        return {
            key: row for key, row in self.world.rows(Table.TRANSFER).items() if key.startswith(kind)
        }

    # As a sender

    @property
    def out(self) -> ManagedQueue:
        """The outgoing queue."""
        return self.core.queues.outgoing(THERE)

    def pump(self, count: int = 100) -> list[Entry]:
        """What a port takes of the outgoing queue."""
        entries = self.dispatcher.take(self.out, count, 1 << 22, PARTNER)
        if entries:
            self.received_acks.sent(self.out, PARTNER)
        return entries

    def was_under_way(self, queue: ManagedQueue) -> None:
        """All that is in a queue was sent once, and is to be sent again."""
        sequence = queue.sequences.all[-1]
        sequence.peers = (PARTNER,)
        queue.sequences.follow(sequence, [U32_MAX])
        queue.sequences.start_over()
        self.core.submit(
            lambda batch: sequence.write(batch.writer), lambda: None, lambda error: None
        )
        commit_all(self.core)

    def order(self, ordinal: int, number: int, origin: Origin | None = None) -> None:
        """An OrderAck comes."""
        ack = self.order_ack(ordinal, number)
        self.received_acks.take_express(origin or self.origin, Ack(ack, MessageClass.ORDER_ACK))
        commit_all(self.core)

    def order_ack(self, ordinal: int, number: int) -> OrderAckBody:
        """What an OrderAck says."""
        return OrderAckBody(self.identifier(ordinal), number, number - 1)

    def final(
        self,
        ordinal: int,
        number: int,
        message_id: int,
        message_class: int,
        source: UUID = ME,
        origin: Origin | None = None,
    ) -> None:
        """A FinalAck comes."""
        body = FinalAckBody(self.identifier(ordinal), number, number - 1, source, message_id)
        self.received_acks.take_express(origin or self.origin, Ack(body, message_class))
        commit_all(self.core)

    def identifier(self, ordinal: int) -> TxSequenceID:
        """The identifier of a sequence of ours."""
        return TxSequenceID(ordinal, NOW)

    @property
    def unconfirmed(self) -> int:
        """Messages that wait for a FinalAck."""
        journal = self.out.journal
        return 0 if journal is None else journal.messages


def places(entries: list[Entry]) -> list[tuple[int, int, int]]:
    """Sequence, number and previous number of messages as they are sent."""
    found = []
    for entry in entries:
        header = PacketView(entry.packet).transaction
        assert header is not None
        sequence = header.tx_sequence_id.ordinal
        found.append((sequence, header.tx_sequence_number, header.previous_tx_sequence_number))
    return found


def events(station: Station, packet: bytes) -> list[Event]:
    """What the history says of a message."""
    happened = station.core.history.of(station.core.snapshot, PacketView(packet).identifier)
    return [Event(item.event) for item in happened]
