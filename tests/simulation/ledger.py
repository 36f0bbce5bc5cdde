"""What programs have sent and got, and what reached the disks: what the checks go by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from openmsmq.engine.arrivals.incoming import transaction_of
from openmsmq.engine.storage.layout import packet_key, packet_place, split_index_key
from openmsmq.engine.storage.runs import MessageRun
from openmsmq.engine.storage.tables import Table
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import Acknowledge
from openmsmq.types.queues import VISIBLE, QueueKind

if TYPE_CHECKING:
    from openmsmq.engine.queues.queue import ManagedQueue
    from openmsmq.store.memory import Disk
    from tests.simulation.events import Scheduler
    from tests.simulation.node import Node

Changes = Sequence[tuple[Table, bytes, bytes | None]]
NORMAL: Final = 0
BAITS: Final = 1_000_000_000
"Identifiers of messages to a hostile manager begin here: nothing is known of those later."


class Sort(StrEnum):
    """How a message is sent."""

    EXPRESS = "express"
    RECOVERABLE = "recoverable"
    TRANSACTIONAL = "transactional"


class State(StrEnum):
    """What its sender knows of a message."""

    SENDING = "sending"
    SENT = "sent"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    "The manager died before it answered."


class Arrival(NamedTuple):
    """A message came into its queue, on disk."""

    lookup: int
    time: float
    stream: int = 0
    "TxSequenceID of a transactional message."
    number: int = 0
    previous: int = 0


@dataclass(slots=True, eq=False)
class Letter:
    """A message that a program sent."""

    uid: int
    source: str
    target: str
    "The manager it goes to."
    queue: str
    sort: Sort
    journal: bool = False
    dead_letter: bool = False
    acknowledge: Acknowledge = Acknowledge.NONE
    reach: int | None = None
    receive: int | None = None
    sent_at: float = 0.0
    state: State = State.SENDING
    program: str = ""
    "Which program sent it, if that used the application protocol."
    is_http: bool = False
    "It goes over HTTP."
    order: tuple[int, int] = (0, 0)
    "When its transaction was committed, and its place there."
    identifier: bytes = b""
    is_out: bool = False
    "It was on its sender's disk, to be sent."
    out_at: float = 0.0
    "When that was."
    arrivals: list[Arrival] = field(default_factory=list)
    "Where it came into its queue, on disk."
    undone: list[Arrival] = field(default_factory=list)
    "The same, but a restore of that manager from a backup has undone it."
    is_forgotten: bool = False
    "Its sender was restored from a backup that does not hold it yet."
    is_touched: bool = False
    "Its sender or receiver was restored after it was sent: what is known of it may be lost."

    def __str__(self) -> str:
        words = [f"m{self.uid}", self.sort, f"{self.source} -> {self.target}\\{self.queue}"]
        words += ["JP"] * self.journal + ["JN"] * self.dead_letter
        words += [f"{self.acknowledge!r}"] if self.acknowledge else []
        words += [f"reach {self.reach}"] if self.reach is not None else []
        words += [f"receive {self.receive}"] if self.receive is not None else []
        return " ".join([*words, self.state, f"out {self.is_out} arrivals {self.arrivals}"])

    @property
    def is_stored(self) -> bool:
        """It must not be lost."""
        return self.sort is not Sort.EXPRESS


class Receipt(NamedTuple):
    """A program has received a message for good."""

    time: float
    on_disk: float
    "When that was committed."
    node: str
    queue: str
    lookup: int
    uid: int


class Coming(NamedTuple):
    """A message that comes into a queue."""

    queue: ManagedQueue
    lookup: int
    packet: bytes


class Ledger:
    """All messages of a simulation."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.letters: dict[int, Letter] = {}
        self.baits: dict[int, str] = {}
        "Messages to a hostile manager that were on their sender's disk, and who that is."
        self.handed: set[int] = set()
        "Messages that were sent, whether they arrived or not."
        self.baited = BAITS
        "The last number that one of these got."
        self.receipts: list[Receipt] = []
        self.repeated: list[Receipt] = []
        "Those that a restore has undone: these messages are in their queue again."
        self.transactions: list[list[Letter]] = []
        "Messages that were to be committed together."
        self.asked: set[int] = set()
        "Messages that programs on connections wanted to be removed."
        self.unsure: set[int] = set()
        "Those of them whose program was disconnected before it had the answer."
        self.purged: set[tuple[str, str]] = set()
        "Queues that were purged at some time."
        self._known: set[tuple[str, int, int]] = set()

    def add(self, letter: Letter) -> None:
        """A program sends something."""
        self.letters[letter.uid] = letter
        letter.sent_at = self._scheduler.now

    def coming(self, node: Node, changes: Changes) -> list[Coming]:
        """The messages that a commit will bring into queues of a manager."""
        packets = {key: row for table, key, row in changes if table is Table.PACKETS and row}
        found = []
        for number, lookup, packet in self._changed(node, changes, packets):
            if (node.name, number, lookup) not in self._known:
                queue = node.core.queues.get(number)
                assert queue is not None, f"a message comes into queue {number}, which is none"
                found.append(Coming(queue, lookup, packet))
        return found

    def _changed(
        self, node: Node, changes: Changes, packets: dict[bytes, bytes]
    ) -> Iterator[tuple[int, int, bytes]]:
        """Queue, lookup identifier and packet of the messages whose rows a commit writes."""
        stored = node.store._disk[Table.PACKETS]
        for table, key, row in changes:
            if table is Table.INDEX and row is not None:
                start = packet_key(packet_place(row)[0], 0)
                yield *split_index_key(key), packets.get(start) or stored[start]
            elif table is Table.RUNS and row is not None:
                run = MessageRun.unpack(key, row)
                blob = b"".join([packets.get(part) or stored[part] for part in run.packet_keys])
                for lookup, _, _ in run.members(0):
                    yield run.queue, lookup, blob[run.offset(lookup - run.first) :]

    def committed(self, node: Node, coming: list[Coming]) -> None:
        """The commit is on the disk of the manager."""
        for queue, lookup, packet in coming:
            self._known.add((node.name, queue.number, lookup))
            self._came(node, queue, lookup, packet)

    def _came(self, node: Node, queue: ManagedQueue, lookup: int, packet: bytes) -> None:
        view = PacketView(packet)
        uid = view.app_specific
        if view.message_class != NORMAL or not uid or node.is_copied:
            return
        now = self._scheduler.now
        if uid >= BAITS:
            self.baits[uid] = node.name
            return
        letter = self.letters[uid]
        letter.identifier = view.identifier
        if queue.kind is QueueKind.OUTGOING:
            assert node.name == letter.source
            letter.is_out = True
            letter.out_at = now
        elif queue.kind in VISIBLE:
            assert (node.name, queue.name) == (letter.target, letter.queue), f"{letter} is astray"
            if letter.source == node.name:
                letter.is_out, letter.out_at = True, now
            is_transactional = letter.sort is Sort.TRANSACTIONAL
            place = transaction_of(packet)[1:] if is_transactional else ()
            letter.arrivals.append(Arrival(lookup, now, *place))

    def died(self, node: Node) -> None:
        """It will not be known what became of what was being sent."""
        for letter in self.letters.values():
            if letter.source == node.name and letter.state is State.SENDING:
                letter.state = State.UNKNOWN

    def restored(self, node: Node, disk: Disk, since: float) -> None:
        """A manager goes on with a disk as it was before: all that happened since is undone."""
        there = {split_index_key(key)[1] for key in disk.tables[Table.INDEX]}
        for key, row in disk.tables[Table.RUNS].items():
            there |= {lookup for lookup, _, _ in MessageRun.unpack(key, row).members(0)}
        # A message that was moved aside is known in its queue, too, where it may come back to.
        self._known = {item for item in self._known if item[0] != node.name or item[2] in there}
        for letter in self.letters.values():
            if node.name not in (letter.source, letter.target):
                continue
            letter.is_touched = True
            if letter.source == node.name and letter.out_at > since:
                letter.is_forgotten = True
            if letter.target == node.name:
                letter.undone += [item for item in letter.arrivals if item.time > since]
                letter.arrivals = [item for item in letter.arrivals if item.time <= since]
        here = [item for item in self.receipts if item.node == node.name and item.on_disk > since]
        self.repeated += here
        self.receipts = [item for item in self.receipts if item not in here]
        self.baits = {uid: name for uid, name in self.baits.items() if name != node.name}
