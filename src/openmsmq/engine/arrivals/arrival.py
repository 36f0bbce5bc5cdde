"""A commit's work with messages of one session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from openmsmq.engine.arrivals.duplicates import Owner
from openmsmq.engine.arrivals.examination import ExaminedGroup
from openmsmq.engine.arrivals.incoming import IncomingSequence
from openmsmq.engine.arrivals.limits import SCOPES_MAX
from openmsmq.engine.arrivals.peers import claimant_of, network_of, scope_of
from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.run_rows import NewRun
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.packet.group import PacketGroup
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.origin import is_direct, packed_address, with_origin
from openmsmq.packet.walk import properties_offset, u32
from openmsmq.properties.message import MessageClass
from openmsmq.security.access_check import Token
from openmsmq.security.principals import ANONYMOUS_TOKEN, EVERYONE_TOKEN


class Refused(Exception):
    """There is no room on this machine: the session is closed, and the message comes again."""


class Rejected(NamedTuple):
    """A message that is not accepted, for good."""

    reason: MessageClass
    words: str = ""
    "For the history, where the class of the reason does not say enough."


class ArrivalPosition(NamedTuple):
    """Where a message stands in the stream that its sender sends in order."""

    stream: int
    "Identifies the stream; a later one of the same sender and destination has a larger number."
    number: int
    previous: int
    "The number of the message before it."
    wants_receipt: bool = False
    "Its sender asks for an acknowledgement."
    receipts_to: str = ""
    "The address for receipts of the stream, where its first message names one."
    source: bytes = b""
    "Whose stream it is, where that may not be the source of the message."


Arrival = tuple[bytes, ArrivalPosition | None]
"A packet as a transport brings it, and its place in a stream, if it has one."


class ArrivalGroup(NamedTuple):
    """Messages of one source to one destination that differ in little."""

    group: PacketGroup
    position: ArrivalPosition | None
    "That of the first; each of the others follows the one before. Some may want a receipt."
    arrivals: Callable[[], Iterable[Arrival]]
    "The same one by one."
    examined: ExaminedGroup | None = None
    "What was found out about them; None if they are not protected."


class StreamProgress(NamedTuple):
    """Messages of one stream came, in order or not."""

    key: bytes
    packet: bytes
    "The last of them."
    messages: int
    "How many came."


class RefusedArrival(NamedTuple):
    """A message that was refused without its sender's knowledge."""

    packet: bytes
    reason: MessageClass
    is_kept: bool


class ArrivalOutcome:
    """What became of messages that came together; a transport translates it for their sender."""

    __slots__ = ("error", "gaps", "progress", "refusals", "rejected", "traced")

    def __init__(self) -> None:
        self.error: BaseException | None = None
        "Why the sender must keep some of them: they come again."
        self.progress: list[StreamProgress] = []
        self.gaps: list[IncomingSequence] = []
        "Streams of which messages are missing, since the store was restored."
        self.refusals: list[RefusedArrival] = []
        self.rejected: list[tuple[bytes, MessageClass]] = []
        "Packets that were not accepted, for good, and why."
        self.traced: list[bytes] = []
        "Accepted messages whose route is to be reported."


class Origin:
    """Where messages come from: one session, and for whom it may speak."""

    __slots__ = (
        "_claimants",
        "_owner",
        "_scopes",
        "address",
        "ahead",
        "certified",
        "is_isolated",
        "is_known",
        "is_proven",
        "is_refused",
        "is_relay",
        "name",
        "network",
        "packed",
        "peer",
        "principal",
        "target",
        "transport",
        "waiting",
    )

    def __init__(
        self,
        address: str,
        name: str,
        peer: bytes = bytes(16),
        transport: int = 0,
    ) -> None:
        """`peer` is the identity of the manager that the session says it is of.

        `transport` is the flag of records that names the transport which writes receipts.
        """
        self.address = address
        self.network = network_of(address)
        self.packed = packed_address(address)
        "The address as messages keep it."
        self.name = name
        "For the history of messages."
        self.transport = transport
        self.principal: Token = ANONYMOUS_TOKEN
        "Who sent its messages, to the permissions of queues, unless a signature proves more."
        self.certified = ""
        "The manager whose pinned certificate it showed, as a principal; empty for none."
        self.target: ManagedQueue | None = None
        "The queue that all its messages go to; else the one that each names."
        self.is_isolated = False
        "What it brings has nothing in common with what other sessions bring."
        self.is_refused = False
        "A message was not taken: those behind it must not be, either."
        self.waiting: list[Sequence[Arrival | ArrivalGroup]] = []
        "Messages for the next commit, as long as their queues were not asked for."
        self.ahead: set[ManagedQueue] = set()
        "Queues of others: express messages must not overtake what the next commit puts there."
        self.entitle(peer, is_proven=True)

    def applied(self) -> None:
        """A commit is being written: it has all that was waiting for one."""
        self.waiting.clear()
        self.ahead.clear()

    def entitle(
        self,
        peer: bytes,
        *,
        is_proven: bool,
        is_relay: bool = False,
        is_known: bool = False,
    ) -> None:
        """Say for whom the session may speak (see `peers`)."""
        self.peer = peer
        self.is_proven = is_proven
        self.is_relay = is_relay
        self.is_known = is_known
        "The manager is in the peer table, and the session proves to be of it."
        unproven = claimant_of(peer, self.address)
        self._claimants: tuple[bytes, ...] = (peer, unproven) if is_proven else (unproven,)
        "What it is known by where it may not speak for a source, now and before."
        self._scopes: dict[bytes, tuple[bytes, ...]] = {}
        self._owner = Owner(peer.hex() if is_known else self.network, is_known)

    def isolate(self, scope: bytes, *, is_known: bool) -> None:
        """Keep what comes under a scope of its own, since the protocol proves no manager.

        `is_known` says that the administrator vouches for the sender.
        """
        self.entitle(NO_GUID.bytes_le, is_proven=False, is_known=is_known)
        self.is_isolated = True
        self.principal = EVERYONE_TOKEN  # whatever TLS says ([MC-MQSRM] 3.1.5.1.12)
        self._claimants = (scope,)
        if is_known:
            self._owner = Owner(scope.hex(), is_known)

    def kept(self, packet: bytes) -> bytes:
        """A message as its queue keeps it: one to a direct name says where it came from.

        Remote readers learn that ([MS-MQRR] 2.2.5.1).
        """
        return with_origin(packet, self.packed) if is_direct(packet) else packet

    @property
    def owner(self) -> Owner:
        """Who answers for the memory that its messages take."""
        return self._owner

    def scopes(self, source: bytes) -> tuple[bytes, ...]:
        """What stands for the source of a packet in the keys of order and duplicates.

        What the session brings is kept under the first. If it may speak for the source, that is
        the source itself; else it is kept for this session and source alone, so that nothing it
        brings can harm the source. The others are looked at, too: what came from the source
        itself, or from this manager when it could not prove yet who it is, has come.
        """
        if self.is_isolated:
            return self._claimants
        scopes = self._scopes.get(source)
        if scopes is None:
            claims = [scope_of(claimant, source) for claimant in self._claimants]
            if self.is_relay or (self.is_proven and source == self.peer):
                scopes = (source, *claims)
            else:
                scopes = (claims[0], source, *claims[1:])
            if len(self._scopes) >= SCOPES_MAX:
                self._scopes.clear()
            self._scopes[source] = scopes
        return scopes


class PacketRun(NamedTuple):
    """What many messages in a row have in common: those need not be looked at one by one."""

    start: bytes
    "BaseHeader.Flags."
    front: bytes
    "From TimeToReachQueue to TimeToBeReceived; the source is among it."
    names: bytes
    "From UserHeader.Flags to the first byte of the MessagePropertiesHeader."
    end: int
    "Where these end."
    queue: ManagedQueue
    scopes: tuple[bytes, ...]
    "What stands for the source, see `Origin.scopes`."
    destination: bytes
    priority: int
    owed: int
    oldest: int
    "What was sent before that has come too late."

    def fits(self, packet: bytes) -> bool:
        """Whether a message is like the others."""
        return (
            packet[60 : self.end] == self.names
            and packet[12:52] == self.front
            and packet[2:4] == self.start
            and u32(packet, 52)[0] >= self.oldest
        )

    def key(self, packet: bytes) -> bytes:
        """By what it is known if it comes twice; see `Head.message_key`."""
        return b"".join((self.scopes[0], packet[56:60], self.destination))


def run_of(
    packet: bytes,
    queue: ManagedQueue,
    scopes: tuple[bytes, ...],
    destination: bytes,
    message: NewMessage,
    oldest: int,
) -> PacketRun:
    """What the next messages may have in common with this one."""
    end = properties_offset(packet) + 1
    return PacketRun(
        packet[2:4],
        packet[12:52],
        packet[60:end],
        end,
        queue,
        scopes,
        destination,
        message.priority,
        message.flags,
        max(0, oldest),
    )


class ArrivalWork:
    """What is done with messages of one session that came together."""

    __slots__ = (
        "batch",
        "found",
        "keys",
        "new",
        "orders",
        "origin",
        "outcome",
        "run",
        "seen",
        "sequences",
        "size",
        "sizes",
    )

    def __init__(self, batch: Batch | None, origin: Origin) -> None:
        """`batch` is the commit that writes them; express messages need none."""
        self.batch = batch
        self.origin = origin
        self.found: dict[tuple[bytes, int], ManagedQueue | Rejected] = {}
        "Where they go, by destination and whether they are transactional."
        self.run: PacketRun | None = None
        "What the last of them were like."
        self.new: dict[ManagedQueue, list[NewMessage | NewRun]] = {}
        "What goes into queues; express messages one by one."
        self.size = 0
        "Bytes of them."
        self.sizes: dict[ManagedQueue, int] = {}
        self.keys: list[bytes] = []
        "Messages to be remembered."
        self.seen: dict[bytes, None] = {}
        "Express messages among them."
        self.sequences: set[bytes] = set()
        "Sequences that have come further."
        self.orders: dict[bytes, tuple[bytes, int]] = {}
        "Sequences of which messages came: the last of these, and how many."
        self.outcome = ArrivalOutcome()

    def add(self, queue: ManagedQueue, messages: Sequence[NewMessage | NewRun], size: int) -> None:
        """Messages go into a queue, some perhaps in one piece."""
        self.size += size
        self.sizes[queue] = self.sizes.get(queue, 0) + size
        self.new.setdefault(queue, []).extend(messages)

    def used(self, queue: ManagedQueue) -> int:
        """The bytes that count against the quota of a queue, with these."""
        own = queue.total_size if self.batch is None else self.batch.size_of(queue)
        return queue.quota_size - queue.total_size + own + self.sizes.get(queue, 0)
