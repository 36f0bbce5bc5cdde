"""A manager that lies: about who it is, who sent what, and what has arrived.

It has an identity of its own or claims that of another manager, but always its own address. It
knows names, identities and queues of all others, what the clock shows, and which numbers their
messages have. The identifiers of sequences it knows if they were sent to it; others it guesses, or
has overheard: those it uses only where it may not acknowledge, whatever it knows.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from types import ModuleType
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq.engine.arrivals import acknowledgements as answering
from openmsmq.engine.arrivals import duplicates, incoming
from openmsmq.engine.arrivals.incoming import transaction_of
from openmsmq.engine.arrivals.peers import Identity
from openmsmq.engine.outgoing.sequences import LOOKUP_BASE, OutgoingSequence
from openmsmq.engine.queues.queue import ManagedQueue, Purpose, journal_of
from openmsmq.engine.storage.layout import index_key, packet_key, packet_place, split_index_key
from openmsmq.engine.storage.tables import Table
from openmsmq.names.format import parse_format_name
from openmsmq.net.wire import Machine, Wire
from openmsmq.packet.acks import (
    FinalAckBody,
    OrderAckBody,
    build_final_ack,
    build_order_ack,
    order_queue_at,
)
from openmsmq.packet.builder import NO_HEADERS, OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.transaction import TransactionHeader, TxSequenceID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, MessageClass
from openmsmq.transports.mqqb.events import Arrived, Closed, Opened, Outgoing, SessionEnd
from openmsmq.transports.mqqb.session import Session
from openmsmq.transports.mqqb.timers import SessionTimers
from openmsmq.types.queues import QueueKind
from tests.samples import one_by_one
from tests.simulation.events import Scheduler
from tests.simulation.fates import uids
from tests.simulation.ledger import NORMAL, Ledger
from tests.simulation.network import Net
from tests.simulation.node import START, Node
from tests.simulation.programs import ADMIN, MISSING, PLAIN, TRANSACTIONAL

ADDRESS: Final = "10.0.0.66"
NAME: Final = "h"
OWN: Final = UUID(int=0x66 << 64)
AWAY: Final = f"OS:{NAME}\\"
"What names of its queues contain."
HIGHEST: Final = 0xFFFFFFFF
FLOOD: Final = 40
"Packets at a time."
LIVES: Final = 40.0
"Seconds for which a session is kept, at most."


class Stream(NamedTuple):
    """A message of a sequence that was overheard, or sent here."""

    identifier: TxSequenceID
    number: int
    message_id: int


class Speaker:
    """One connection of the hostile manager (`openmsmq.transports.mqqb.network.PeerMachine`)."""

    def __init__(self, hostile: Hostile, wire: Wire, claimed: UUID, victim: Node | None) -> None:
        """`victim` is the manager that was dialled; None if another one has dialled."""
        self.claimed = claimed
        self.victim = victim
        self._hostile = hostile
        self._wire = wire
        now = hostile.scheduler.now
        self._is_stingy = hostile.is_stingy
        "It takes one message and never acknowledges it, so that others wait to be sent."
        timing = SessionTimers(window=1) if self._is_stingy else SessionTimers()
        is_initiator = victim is not None
        self.session = Session(claimed, now=now, is_initiator=is_initiator, timing=timing)
        self._is_over = False
        self._flush()

    @property
    def is_full(self) -> bool:
        """It wants no more bytes for now."""
        return False

    @property
    def is_open(self) -> bool:
        """A session is established."""
        return self.session.is_open

    @property
    def is_known(self) -> bool:
        """The other side is one of the managers that this one knows."""
        return True

    @property
    def singles(self) -> int:
        """Nothing is stored here."""
        return 0

    @property
    def pending(self) -> int:
        """Bytes of a packet whose rest has not come."""
        return self.session.pending

    @property
    def next_deadline(self) -> float | None:
        """None: it is called when it pleases."""
        return None

    def receive_data(self, data: bytes, now: float) -> None:
        """Take what the other side sent."""
        self.session.receive_data(data, now)
        self._act()

    def resume(self, now: float) -> None:
        """Nothing: it never waits."""

    def lost(self) -> None:
        """The connection is over."""
        self._is_over = True
        self._hostile.speakers.pop(self, None)

    def tick(self, now: float) -> None:
        """Do what is due."""
        if not self._is_over:
            self.session.tick(now)
            self._act()

    def close(self, reason: SessionEnd = SessionEnd.STOPPED, detail: str = "") -> None:
        """End it."""
        if not self._is_over:
            self.session.close(reason, detail)
            self._act()

    def _act(self) -> None:
        for event in one_by_one(self.session.take_events()):
            match event:
                case Opened():
                    self._hostile.opened(self)
                case Arrived(packet, number):
                    self._hostile.got(packet)
                    if not self._is_stingy:
                        self.session.stored(number, self._hostile.scheduler.now)
                case Closed():
                    self._is_over = True
                    self._hostile.speakers.pop(self, None)
                    self._wire.close()
                    return
        self._flush()

    def say(self, packets: list[tuple[bytes, bool]]) -> None:
        """Send packets, and whether each is recoverable; as many as there is room for."""
        if self.session.is_open and not self._is_over:
            found = [Outgoing(packet, None, last) for packet, last in packets[: self.session.room]]
            self.session.send(found, self._hostile.scheduler.now)
            self._flush()

    def babble(self, data: bytes) -> None:
        """Send what is no packet."""
        if not self._is_over:
            self._wire.write(data)

    def _flush(self) -> None:
        data = self.session.data_to_send()
        if data and not self._is_over:
            self._wire.write(data)


class Hostile:
    """The manager that lies, with all its connections."""

    def __init__(
        self, nodes: list[Node], scheduler: Scheduler, net: Net, ledger: Ledger, chance: Random
    ) -> None:
        self.name = NAME
        self.address = ADDRESS
        self.generation = 0
        self.is_up = True
        "It answers when it is dialled."
        self.is_on = False
        self.is_stingy = False
        "See `Speaker`: what the next one is."
        self.claims = True
        "It says that it is one of the others, at times."
        self.scheduler = scheduler
        self.speakers: dict[Speaker, None] = {}
        self._streams: dict[TxSequenceID, Stream] = {}
        self._nodes = nodes
        self._net = net
        self._ledger = ledger
        self._chance = chance
        net.nodes[ADDRESS] = self
        net.names[NAME] = ADDRESS

    def begin(self, span: float) -> None:
        """Be a nuisance for this many seconds."""
        self.is_on = True
        for _ in range(self._chance.choice((5, 15, 30))):
            self.scheduler.after(self._chance.random() * span, self._attack)

    def end(self) -> None:
        """Go away."""
        self.is_on = self.is_up = False
        for speaker in list(self.speakers):
            speaker.close()

    def enter(self, generation: int, call: Callable[[], object]) -> None:
        """Let something happen here."""
        call()

    def elapsed(self) -> float:
        """The time."""
        return self.scheduler.now

    def accept(self, wire: Wire) -> Machine:
        """Another manager has connected: what is here has its own name, at least."""
        speaker = Speaker(self, wire, OWN, None)
        self._keep(speaker)
        return speaker

    def _keep(self, speaker: Speaker) -> None:
        self.speakers[speaker] = None
        self.scheduler.after(1.0, lambda: speaker.tick(self.elapsed()))
        self.scheduler.after(LIVES * self._chance.random(), speaker.close)

    def got(self, packet: bytes) -> None:
        """A message was sent here."""
        view = PacketView(packet)
        uid = view.app_specific
        if view.message_class != NORMAL:
            return
        assert uid not in self._ledger.letters, f"{self._ledger.letters[uid]} was given away"
        if view.transaction is not None:
            _, _, number, _ = transaction_of(packet)
            identifier = view.transaction.tx_sequence_id
            self._streams[identifier] = Stream(identifier, number, view.message_id)

    # What it does

    def _attack(self) -> None:
        if not self.is_on:
            return
        chance = self._chance
        self.is_up = chance.random() < 0.6
        self.is_stingy = chance.random() < 0.5
        open_ones = [speaker for speaker in self.speakers if speaker.victim is not None]
        if open_ones and chance.random() < 0.3:
            self.opened(chance.choice(open_ones))
            return
        victim = chance.choice(self._nodes)
        claimed = OWN if chance.random() < 0.4 else UUID(int=chance.getrandbits(128))
        if self.claims and chance.random() < 0.5:
            claimed = chance.choice(self._nodes).guid

        def made(wire: Wire) -> Speaker:
            speaker = Speaker(self, wire, claimed, victim)
            self._keep(speaker)
            return speaker

        self._net.connect(self, victim.address, made, lambda status, error: None)

    def opened(self, speaker: Speaker) -> None:
        """There is a session: use it."""
        victim = speaker.victim
        if victim is None or not victim.is_up or not self.is_on:
            return
        if speaker.claimed == OWN:
            speaker.say(self._lie(victim, OWN))
        ways = (self._poison, self._jump, self._order, self._final, self._flood, self._lie)
        for _ in range(self._chance.choice((1, 2, 4))):
            way = self._chance.choice(ways)
            speaker.say(way(victim, speaker.claimed))
        if self._chance.random() < 0.1:
            speaker.babble(self._chance.randbytes(200))

    def _source(self, victim: Node) -> Node:
        """In whose name it speaks."""
        others = [node for node in self._nodes if node is not victim and node.is_up]
        return self._chance.choice(others or [victim])

    def _poison(self, victim: Node, claimed: UUID) -> list[tuple[bytes, bool]]:
        """Messages with the next numbers of another manager, rejected and therefore unseen."""
        source, chance = self._source(victim), self._chance
        first = source.core.numbers.message_id + 1 if source.is_up else 1
        recoverable = chance.random() < 0.7
        queue = chance.choice((*PLAIN, *TRANSACTIONAL, MISSING))
        builder = self._builder(source.guid, victim, queue)
        reach = chance.choice((1, INFINITE))
        return [
            (
                builder.build(
                    message_id=first + place & HIGHEST,
                    recoverable=recoverable,
                    sent_time=self._wall(victim) - 100_000 * (reach == 1),
                    time_to_reach_queue=reach,
                ),
                recoverable,
            )
            for place in range(chance.choice((1, 10, 30)))
        ]

    def _jump(self, victim: Node, claimed: UUID) -> list[tuple[bytes, bool]]:
        """A place in a sequence of another manager behind which nothing comes any more.

        The identifier of a real one, if it were known, would be proof enough: the victim says to
        the source that so much has come.
        """
        source, chance = self._source(victim), self._chance
        queue = chance.choice((*TRANSACTIONAL, PLAIN[0]))
        stamp, ordinal = chance.choice((self._wall(source), HIGHEST)), HIGHEST
        number = chance.choice((0, 1, HIGHEST))
        previous = chance.choice((0, max(0, number - 1)))
        place = TransactionHeader(0, TxSequenceID(ordinal, stamp), number, previous)
        reach = chance.choice((1, INFINITE))
        packet = self._builder(source.guid, victim, queue).build(
            message_id=chance.getrandbits(32),
            sent_time=self._wall(victim) - 100_000 * (reach == 1),
            time_to_reach_queue=reach,
            headers=OptionalHeaders(transaction=place),
        )
        return [(packet, True)]

    def _order(self, victim: Node, claimed: UUID) -> list[tuple[bytes, bool]]:
        """OrderAcks for sequences that go elsewhere."""
        chance = self._chance
        found = []
        for _ in range(chance.choice((1, 20))):
            stream = self._guess(victim, claimed)
            number = chance.choice((stream.number, HIGHEST))
            body = OrderAckBody(stream.identifier, number, max(0, number - 1))
            ack = build_order_ack(
                order_queue_at(victim.address),
                body,
                source=claimed,
                message_id=chance.getrandbits(32),
                sent_time=self._wall(victim),
            )
            found.append((ack, False))
        return found

    def _final(self, victim: Node, claimed: UUID) -> list[tuple[bytes, bool]]:
        """A FinalAck for a message that goes elsewhere."""
        chance = self._chance
        stream = self._guess(victim, claimed)
        body = FinalAckBody(
            stream.identifier, stream.number, 0, victim.guid, stream.message_id & HIGHEST
        )
        classes = (MessageClass.NACK_Q_PURGED, MessageClass.ACK_RECEIVE)
        ack = build_final_ack(
            order_queue_at(victim.address),
            body,
            chance.choice(classes),
            source=claimed,
            message_id=chance.getrandbits(32),
            sent_time=self._wall(victim),
        )
        return [(ack, True)]

    def _guess(self, victim: Node, claimed: UUID) -> Stream:
        """A sequence of the victim: one that was overheard, if it does not help, or a guess."""
        chance = self._chance
        may_confirm = self._net.identity is not Identity.PINNED
        may_confirm &= claimed in [node.guid for node in self._nodes]
        found = None if may_confirm else self._overheard(victim)
        if found is not None and chance.random() < 0.8:
            return found
        stamp = int(START + victim.clock.offset) + chance.choice((0, 1, 2))
        last = victim.core.numbers.message_id if victim.is_up else 0
        identifier = TxSequenceID(chance.randrange(1, 8), stamp)
        return Stream(identifier, chance.randrange(1, 60), max(0, last - chance.randrange(10)))

    def _overheard(self, node: Node) -> Stream | None:
        """A message of a sequence that a manager sends to another one, as it is."""
        if not node.is_up:
            return None
        found = node.core.numbers.sequences.live.values()
        live = [item for item in found if AWAY not in item[0].name]
        if not live:
            return None
        queue, sequence = self._chance.choice(live)
        return self._message(node, queue, sequence)

    def _message(self, node: Node, queue: ManagedQueue, sequence: OutgoingSequence) -> Stream:
        snapshot = node.core.snapshot
        for member in (queue, journal_of(queue)):
            first, end = index_key(member.number, LOOKUP_BASE), index_key(member.number + 1, 0)
            for key, row in snapshot.scan(Table.INDEX, first, end):
                lookup = split_index_key(key)[1]
                packet = snapshot.get(Table.PACKETS, packet_key(packet_place(row)[0], 0))
                if packet is not None and queue.sequences.of(lookup) is sequence:
                    number = sequence.number(lookup)
                    return Stream(sequence.identifier, number, PacketView(packet).message_id)
        return Stream(sequence.identifier, 1, 0)

    def _flood(self, victim: Node, claimed: UUID) -> list[tuple[bytes, bool]]:
        """Small messages of sources that are not there, to be acknowledged to machines likewise."""
        chance = self._chance
        found = []
        for _ in range(chance.choice((3, FLOOD))):
            source = UUID(int=chance.getrandbits(128))
            where = chance.choice((f"TCP:10.9.{chance.randrange(256)}.1", "OS:nowhere", "OS:h"))
            if chance.random() < 0.2:
                where = f"OS:{self._source(victim).name}"
            admin = parse_format_name(f"DIRECT={where}\\{ADMIN}")
            queue = chance.choice((*PLAIN, *TRANSACTIONAL, MISSING, "private$\\" + "x" * 110))
            builder = PacketBuilder(
                chance.choice((source, claimed)),
                parse_format_name(f"DIRECT=OS:{victim.name}\\{queue}"),
                admin=admin,
            )
            recoverable = chance.random() < 0.5
            headers = NO_HEADERS
            if recoverable and chance.random() < 0.5:
                identifier = TxSequenceID(chance.getrandbits(32), chance.getrandbits(32))
                headers = OptionalHeaders(transaction=TransactionHeader(2, identifier, 1, 0))
            packet = builder.build(
                recoverable=recoverable,
                message_id=chance.getrandbits(32),
                sent_time=self._wall(victim),
                acknowledge=15,
                journal=chance.random() < 0.5,
                headers=headers,
            )
            found.append((packet, recoverable))
        return found

    def _lie(self, victim: Node, claimed: UUID) -> list[tuple[bytes, bool]]:
        """Say of what was sent here that more of it has come than was ever sent."""
        found = []
        for stream in self._streams.values():
            for number in (stream.number, HIGHEST):
                ack = build_order_ack(
                    order_queue_at(victim.address),
                    OrderAckBody(stream.identifier, number, number - 1),
                    source=claimed,
                    message_id=self._chance.getrandbits(32),
                    sent_time=self._wall(victim),
                )
                found.append((ack, False))
        return found

    def _builder(self, source: UUID, victim: Node, queue: str) -> PacketBuilder:
        return PacketBuilder(source, parse_format_name(f"DIRECT=OS:{victim.name}\\{queue}"))

    def _wall(self, node: Node) -> int:
        return int(node.clock.now())


def _bound(module: ModuleType, name: str) -> int:
    """A bound as this world has set it (`world.TIGHT`)."""
    return int(vars(module)[name])


def check_bounds(node: Node) -> None:
    """Whatever strangers send, what is kept for them is bounded."""
    core, transport = node.core, node.transport
    assert transport is not None
    strangers = core.incoming._stranger_count
    assert strangers <= _bound(incoming, "STRANGER_SEQUENCES_MAX") + 2 * FLOOD, (
        f"{node.name}: {strangers} sequences"
    )
    known = core.duplicates._pools[False]._total
    assert known <= _bound(duplicates, "STRANGER_DUPLICATES_MAX"), (
        f"{node.name} remembers {known} of strangers"
    )
    for purpose, most in (
        (Purpose.UNSOLICITED, _bound(answering, "UNSOLICITED_MAX")),
        (Purpose.ANSWER, _bound(answering, "ANSWERS_MAX")),
    ):
        found = core.acknowledgements.queues(purpose)
        assert len(found) <= most, f"{node.name}: {found} for strangers"
    queues = [queue for queue in core.queues.everything if queue.kind is QueueKind.OUTGOING]
    assert len(transport.peers) <= len(queues) + len(transport.links) + 5


def check_baits(node: Node, ledger: Ledger) -> None:
    """What is for a manager that lies is there, or was sent to it once."""
    sent = {uid for uid, name in ledger.baits.items() if name == node.name}
    left = {
        uid
        for queue in node.core.queues.everything
        if AWAY in queue.name
        for uid in uids(node, queue)
    }
    missing = sent - left - ledger.handed
    assert not missing, f"{node.name}: acknowledged before they were sent: {missing}"
