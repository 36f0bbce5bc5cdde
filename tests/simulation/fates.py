"""What became of messages, as the managers tell it: their histories, dead letters and journals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage import history
from openmsmq.engine.storage.history import IDENTIFIER_SIZE, Event
from openmsmq.engine.storage.layout import local_facts
from openmsmq.engine.storage.runs import read_packet, stored
from openmsmq.engine.storage.tables import Table
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass, describe_class
from openmsmq.store.memory import Disk, MemoryStore
from openmsmq.types.queues import QueueKind
from tests.simulation.ledger import Letter
from tests.simulation.node import Node
from tests.simulation.programs import ADMIN

FOREIGN: Final = "manager at 10.0.0.66"
"What histories call the hostile manager."
EVENTS: Final = {item.value: item for item in Event}
WORDS: Final = {describe_class(item): item for item in MessageClass}
LOST: Final = {
    Event.PURGED: MessageClass.NACK_Q_PURGED,
    Event.EXPIRED: MessageClass.NACK_RECEIVE_TIMEOUT,
}
"What happens to messages in their queues beside being received."


@dataclass(slots=True)
class Fate:
    """All that is known of one message at the end."""

    at_source: list[Event]
    "What happened to it on its way out."
    at_target: list[Event]
    "What happened in its queue."
    refusals: list[str]
    "Why the target did not take it."
    dead: list[tuple[str, MessageClass]] = field(default_factory=list)
    "Where it is a dead letter, and why."
    journal: int = 0
    "Copies in its sender's journal."
    acks: list[MessageClass] = field(default_factory=list)
    discarded: list[str] = field(default_factory=list)
    "Managers that had no room for a copy."

    @property
    def refused(self) -> MessageClass | None:
        """Why the target did not take it."""
        return WORDS[self.refusals[0]] if self.refusals else None

    @property
    def is_received(self) -> bool:
        """A program received it."""
        return Event.RECEIVED in self.at_target

    @property
    def lost(self) -> MessageClass | None:
        """Why no program will."""
        return next((LOST[event] for event in self.at_target if event in LOST), None)


class Happened(NamedTuple):
    """One event of a message's life."""

    time: int
    "As the clock there showed."
    event: Event
    queue: int
    lookup: int
    by: str
    why: str


class Fates:
    """Finds out what became of each message."""

    def __init__(self, nodes: dict[str, Node]) -> None:
        self._dead: dict[bytes, list[tuple[str, MessageClass]]] = defaultdict(list)
        self._journal: dict[bytes, int] = defaultdict(int)
        self._acks: dict[bytes, list[MessageClass]] = defaultdict(list)
        self._kinds = {
            name: {queue.number: queue.kind for queue in node.core.queues.everything}
            for name, node in nodes.items()
        }
        "Of the queues of each manager, by number."
        self.happened = {name: _histories(node) for name, node in nodes.items()}
        for node in nodes.values():
            self._gather(node)

    @staticmethod
    def views(node: Node, name: str) -> Iterator[PacketView]:
        """The messages in a queue and its subqueues."""
        assert node.local is not None
        main = node.core.queues.find(name)
        for queue in [queue for queue in node.core.queues.everything if queue.main is main]:
            if queue.kind in (main.kind, QueueKind.SUBQUEUE):
                pending = node.local.receiver.peek(queue, 10_000, node, wait=False)
                if pending.error is None:
                    yield from (PacketView(entry.packet) for entry in pending.result())

    def _gather(self, node: Node) -> None:
        assert node.local is not None
        queues = node.core.queues
        for queue in (queues.dead_letter, queues.transactional_dead_letter):
            pending = node.local.receiver.peek(queue, 10_000, node, wait=False)
            for entry in [] if pending.error is not None else pending.result():
                reason = MessageClass(local_facts(entry.record)[3])
                view = PacketView(entry.packet)
                if view.app_specific:
                    self._dead[view.identifier].append((node.name, reason))
        pending = node.local.receiver.peek(queues.system_journal, 10_000, node, wait=False)
        for entry in [] if pending.error is not None else pending.result():
            self._journal[PacketView(entry.packet).identifier] += 1
        for view in self.views(node, ADMIN):
            self._acks[view.correlation_id].append(MessageClass(view.message_class))

    def of(self, letter: Letter) -> Fate:
        """What became of a message that was stored."""
        at_source: list[Event] = []
        at_target: list[Event] = []
        refusals: list[str] = []
        discarded: list[str] = []
        key = letter.identifier
        places = [(letter.source, at_source), (letter.target, at_target)]
        for name, events in places[letter.source == letter.target :]:  # those stay where they are
            kinds = self._kinds[name]
            for _, event, queue, _, _, why in self.happened[name].get(key, ()):
                if event is Event.DISCARDED:
                    discarded.append(name)
                elif name == letter.target and event is Event.REJECTED:
                    refusals.append(why)
                elif kinds.get(queue) is not QueueKind.SYSTEM:
                    events.append(event)
        dead, acks = self._dead[key], self._acks[key]
        return Fate(at_source, at_target, refusals, dead, self._journal[key], acks, discarded)


def _histories(node: Node) -> dict[bytes, list[Happened]]:
    """What happened to all messages of a manager, also what a restore has undone since.

    What a hostile manager has sent does not count, though it may bear the name of another message.
    """
    found: dict[bytes, list[Happened]] = defaultdict(list)
    foreign: set[int] = set()
    pages = [page for disk in node.past for page in _pages_of(disk)]
    pages += [page for _, page in node.core.snapshot.scan(Table.HISTORY, b"", b"\xff" * 9)]
    for key, happened in _events(pages):
        place = happened.lookup  # which it keeps when it is moved
        if happened.event in (Event.ARRIVED, Event.ARRIVED_EXPRESS):
            # A place can be taken again after a restore.
            foreign.add(place) if happened.by == FOREIGN else foreign.discard(place)
        if place not in foreign and happened.by != FOREIGN:
            found[key].append(happened)
    return found


def _pages_of(disk: Disk) -> list[bytes]:
    rows = disk.tables[Table.HISTORY]
    return [rows[key] for key in sorted(rows)]


def _events(pages: list[bytes]) -> Iterator[tuple[bytes, Happened]]:
    for page in pages:
        at = history._page.size
        time = history._page.unpack_from(page)[0]
        while at < len(page):
            event, queue, count, detail_size, _ = history._event.unpack_from(page, at)
            ids = at + history._event.size
            named = 1 if event & history.RANGE else count
            places = ids + named * IDENTIFIER_SIZE
            detail = places + named * 8
            at = detail + detail_size
            by, _, why = page[detail:at].decode().partition("\x1f")
            for place in range(count):
                key, lookup = _named(page, ids, places, place % named)
                if event & history.RANGE:
                    number = int.from_bytes(key[16:], "little") + place
                    key, lookup = key[:16] + number.to_bytes(4, "little"), lookup + place
                code = EVENTS[event & ~history.RANGE]
                yield key, Happened(time, code, queue, lookup, by, why)


def _named(page: bytes, ids: int, places: int, place: int) -> tuple[bytes, int]:
    """Identifier and lookup identifier of one of the messages that an event names."""
    start = ids + place * IDENTIFIER_SIZE
    lookup = int.from_bytes(page[places + place * 8 : places + place * 8 + 8], "little")
    return page[start : start + IDENTIFIER_SIZE], lookup


def uids(node: Node, queue: ManagedQueue) -> list[int]:
    """Which messages are in a queue."""
    snapshot = MemoryStore(node.store.committed).snapshot
    return [
        PacketView(read_packet(snapshot, raw)).app_specific
        for _, raw, _ in stored(snapshot, queue.number)
    ]
