"""Messages between managers: which connection each outgoing queue uses, and when to try again.

Nothing here knows sockets or waits: connections and timers come from a `Network`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from uuid import UUID

from openmsmq.clock import Clock
from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.arrivals.arrivals import Arriving
from openmsmq.engine.arrivals.incoming import IncomingSequence
from openmsmq.engine.arrivals.peers import Identity, Pin
from openmsmq.engine.manager import LocalManager
from openmsmq.engine.outgoing.confirmations import Confirming
from openmsmq.engine.queues.queue import Purpose, Queue
from openmsmq.names.parts import host_key
from openmsmq.net.wire import Wire
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.runtime.logs import log_event
from openmsmq.transports.mqqb.events import Closed, End
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.network import Network, Timer
from openmsmq.transports.mqqb.order_acks import Ordering
from openmsmq.transports.mqqb.refusals import RefusalLog
from openmsmq.transports.mqqb.resend import Resending
from openmsmq.transports.mqqb.timing import Timing
from openmsmq.transports.peers.sessions import Sessions
from openmsmq.transports.peers.ways import (
    Addresses,
    Way,
    WayKey,
    address_text,
    next_hops,
    way_key_of,
)
from openmsmq.types.outgoing import ConnectionStatus, TransferState

_log: Final = logging.getLogger(__name__)
SESSIONS_MAX: Final = 10_000
"MaxInSessions: connections at a time, beyond which others are refused (Q<57>)."
SWEEP_EVERY: Final = 60.0
UNSENT_MAX: Final = 600.0
"Seconds that what strangers make us send to third machines waits for a connection."
_QUIET: Final = frozenset({End.IDLE, End.STOPPED, End.LOST})
"Ends of sessions that are nobody's fault."


class Transfers:
    """Sends what is in outgoing queues, and takes what other managers send."""

    def __init__(
        self,
        local: LocalManager,
        clock: Clock,
        network: Network,
        *,
        peers: Mapping[str, tuple[str, int]],
        pins: Mapping[str, Pin] = MappingProxyType({}),
        identity: Identity = Identity.ADDRESS,
        timing: Timing | None = None,
        answers_early: bool = True,
        sessions_max: int = SESSIONS_MAX,
    ) -> None:
        """`peers` are computers by name, and where they are if DNS does not say so.

        `pins` are what the configuration says of their managers, `identity` is what is asked of a
        session before it may speak for one.
        """
        self.local = local
        self.network = network
        self.timing = timing or Timing()
        self.answers_early = answers_early
        self._sessions_max = sessions_max
        self.identity = local.core.identity
        self.dispatching = local.dispatching
        self.confirming = Confirming(local.core)
        self.arriving = Arriving(local.core, self.confirming)
        self.ended_by: Counter[str] = Counter()
        "Sessions that ended, by reason."
        self.bytes_received = self.bytes_sent = 0
        self._clock = clock
        self._addresses = Addresses(peers)
        self._ways: dict[WayKey, Way] = {}
        self._links: set[Link] = set()
        self._unsent: dict[Queue, float] = {}
        "Since when what strangers make us send waits for a connection."
        self._sweep_timer: Timer | None = None
        self._unknown = set(self.confirming.unknown())
        "Queues whose destinations are dialled until it is known who answers there."
        self._carriers: dict[Queue, Link] = {}
        "The one connection on which the messages of a queue travel, so that they stay in order."
        self.sessions = Sessions(local.core, self._connect_idle)
        self._ordering = Ordering(local.core, self.sessions.carrier)
        self._order_timer: Timer | None = None
        self._resending = Resending(self.dispatching, network)
        self._is_stopped = False
        self.peers = local.core.peers
        self.peers.configure(identity, {host_key(name): pin for name, pin in pins.items()})
        self.arriving.on_order = self._came
        self.arriving.on_gap = self._log_gap
        self.arriving.on_refused = RefusalLog(self.now).refused
        self.confirming.on_progress = self._resending.progress
        self.confirming.on_unknown = self._dial
        self.dispatching.on_answered = self.confirming.answered
        local.transfers = self
        self.dispatching.connect(self)
        for queue in list(self._unknown):
            self._dial(queue)

    def now(self) -> float:
        """Seconds, counted by what never jumps."""
        return self._clock.elapsed()

    @property
    def links(self) -> set[Link]:
        """All connections."""
        return self._links

    @property
    def ways(self) -> Mapping[WayKey, Way]:
        """All ways that are in use."""
        return self._ways

    def received(self, size: int) -> None:
        """Bytes came."""
        self.bytes_received += size

    def wrote(self, size: int) -> None:
        """Bytes were sent."""
        self.bytes_sent += size

    def way_of(self, queue: Queue) -> Way | None:
        """The way that messages of a queue go, if it is in use."""
        key = way_key_of(queue.name)
        return None if key is None else self._ways.get(key)

    def link_of(self, way: Way, queue: Queue) -> Link | None:
        """An open session by which messages of a queue can go, whoever began it.

        Anybody can say that it is the manager we found at a computer: it must come from there, too.
        What is addressed to a manager by its identity goes only where that manager answered when
        we dialled it; acknowledgements also go by the sessions that brought the messages.
        """
        if way.link is not None and way.link.is_open:
            return way.link
        is_ack = queue.properties.purpose is not Purpose.SEND
        for link in reversed(self.sessions.of(way.peer or NO_GUID)):
            if isinstance(way.key, UUID):
                is_found = link.is_initiator and not self.peers.conflicts(way.key, link.address)
                is_there = is_found or (is_ack and link.origin.is_proven)
            else:
                is_there = link.address == way.found_at
            if is_there and link.is_open and not link.is_superseded:
                return link
        return None

    def resends(self, queue: Queue) -> int:
        """How often in a row transactional messages were sent and nobody answered."""
        return self._resending.count(queue)

    # The port of the rules

    def ready(self, queue: Queue) -> None:
        """An outgoing queue has something to send, or not any more."""
        if self._is_stopped:
            return
        if queue.sequences.all and not queue.messages:
            self.confirming.finish(queue)
        key = way_key_of(queue.name)
        if key is None:
            if queue.transfer is not None:
                queue.transfer.became(TransferState.NEED_VALIDATION)
            return
        way = self._ways.get(key)
        if way is None:
            way = self._ways[key] = Way(key)
        way.queues.add(queue)
        if queue.properties.purpose is Purpose.UNSOLICITED and self._sweep_timer is None:
            self._sweep_timer = self.network.call_later(SWEEP_EVERY, self._sweep)
        self._go(way, queue)

    def _sweep(self) -> None:
        """Drop what strangers make us send to machines that cannot be reached."""
        self._sweep_timer = None
        if self._is_stopped:
            return
        now, waiting = self.now(), self._unsent
        answering = self.local.core.answering
        queues = answering.queues(Purpose.UNSOLICITED)
        self._unsent = {q: waiting.get(q, now) for q in queues if q not in self._carriers}
        for queue, since in list(self._unsent.items()):
            if now - since >= UNSENT_MAX:
                del self._unsent[queue]
                answering.drop(queue)
        if queues:
            self._sweep_timer = self.network.call_later(SWEEP_EVERY, self._sweep)

    def withdrawn(self, queue: Queue) -> None:
        """Nothing more of a queue is to be sent, for now."""
        self._resending.stop(queue)
        link = self._carriers.pop(queue, None)
        if link is not None:
            link.drop(queue)
        way = self.way_of(queue)
        if way is not None:
            way.queues.discard(queue)

    def retry(self, queue: Queue) -> None:
        """Somebody wants the next attempt to be now."""
        way = self.way_of(queue)
        if way is not None and queue in way.queues:
            way.failures = 0
            self._retry(way)
        self.ready(queue)

    # Ways

    def _go(self, way: Way, only: Queue | None = None) -> None:
        """Send by a session that is open, or see that one will be."""
        is_waiting = not way.queues
        for queue in [only] if only is not None else list(way.queues):
            link = self.link_of(way, queue)
            if link is None:
                is_waiting = True
                continue
            if queue.transfer is not None:
                queue.transfer.became(TransferState.CONNECTED)
                queue.transfer.next_hops = next_hops([link.address])
            self._carriers.setdefault(queue, link).serve(queue)
        if is_waiting and not way.is_connecting and way.retry is None and way.link is None:
            self._forget_idle(way)
            if way.queues:
                self._connect(way)
            else:
                self._ways.pop(way.key, None)

    def _dial(self, queue: Queue) -> None:
        """Find out who is at a destination, though there may be nothing to send."""
        key = way_key_of(queue.name)
        if key is not None and not self._is_stopped:
            way = self._ways.setdefault(key, Way(key))
            if way.link is not None and way.link.is_open:
                self.confirming.found(queue, way.link.session.peer)
                return
            self._unknown.add(queue)
            way.queues.add(queue)
            self._connect_idle(key)

    def _connect_idle(self, key: WayKey) -> None:
        way = self._ways.setdefault(key, Way(key))
        if way.link is None and not way.is_connecting and way.retry is None:
            self._connect(way)

    def _connect(self, way: Way) -> None:
        """Try the next address, or all from the first one again ([MS-MQQB] 3.1.5.2, 3.1.6.1)."""
        if not way.candidates:
            way.candidates = self._candidates(way)
            way.lead_to(host for host, _ in way.candidates)
        if not way.candidates:
            way.became(TransferState.NEED_VALIDATION)
            self._failed(way, ConnectionStatus.ROUTING_DATA_NOT_AVAILABLE, "nobody knows where")
            return
        host, port = way.candidates.pop(0)
        way.is_connecting = True
        way.address = address_text(host.lower(), port)
        way.became(TransferState.WAITING)
        way.note(ConnectionStatus.IN_PROCESS, self._wall, way.address)

        def made(wire: Wire) -> Link:
            way.is_connecting = False
            peer = way.key if isinstance(way.key, UUID) else NO_GUID
            link = Link(self, wire, is_initiator=True, peer=peer)
            way.link, link.way = link, way
            link.place = host, port
            self._links.add(link)
            if self._is_stopped:
                link.close(End.STOPPED)
            return link

        def failed(status: ConnectionStatus, error: str) -> None:
            way.is_connecting = False
            self._failed(way, status, f"{way.address}: {error}")

        self.network.connect(host, port, made, failed)

    def _candidates(self, way: Way) -> list[tuple[str, int]]:
        if not isinstance(way.key, UUID):
            return self._addresses.of_host(way.key)
        known, name = self.peers.get(way.key), self.peers.name_of(way.key)
        if known is None and name:
            return self._addresses.of_host(name)  # it is pinned: sessions say nothing about it
        came_from = [link.address for link in self.sessions.of(way.key)]
        came_from += self.local.core.incoming.addresses(way.key)
        return self._addresses.of_manager(known, came_from)

    def _failed(self, way: Way, status: ConnectionStatus, error: str) -> None:
        """An attempt failed: another follows, for as long as there are messages."""
        way.last_error = error
        way.note(status, self._wall, way.address)
        if way.failures == 0:
            log_event(_log, "cannot connect", level=logging.WARNING, to=way.name, reason=error)
        self._try_later(way)

    def _try_later(self, way: Way) -> None:
        """Session Retry Connect Timer ([MS-MQQB] 3.1.2.3), if there is something to send."""
        if self._is_stopped or way.retry is not None or way.is_connecting or way.link is not None:
            return
        self._forget_idle(way)
        if not way.queues:
            self._ways.pop(way.key, None)
            return
        delay = 0.0 if way.candidates else way.delay
        if not way.candidates:
            way.failures += 1
        way.retry_at = self.now() + delay
        way.retry = self.network.call_later(delay, lambda: self._retry(way))

    def _forget_idle(self, way: Way) -> None:
        """Queues that have nothing to send do not keep a way open."""
        wanted = self._unknown
        way.queues = {q for q in way.queues if q.messages or q.express or q in wanted}

    def _retry(self, way: Way) -> None:
        if way.retry is not None:
            way.retry.cancel()
            way.retry, way.retry_at = None, None
        if not self._is_stopped:
            self._go(way)

    # Connections

    @property
    def is_full(self) -> bool:
        """There are as many connections as there may be."""
        return len(self._links) >= self._sessions_max

    @property
    def is_away(self) -> bool:
        """Nobody is let in."""
        return self._is_stopped or not self.dispatching.is_online

    def accept(self, wire: Wire) -> Link:
        """Somebody has connected ([MS-MQQB] 3.1.5.10)."""
        link = Link(self, wire, is_initiator=False, refuses=self.is_full)
        self._links.add(link)
        if self.is_away:
            link.close(End.STOPPED)
        return link

    def answered(self, link: Link) -> None:
        """The other side would have a session ([MS-MQQB] 3.1.5.3.2)."""
        if link.way is not None:
            status = ConnectionStatus.ESTABLISH_PACKET_RECEIVED
            link.way.note(status, self._wall, link.way.address)

    def opened(self, link: Link, peer: UUID) -> None:
        """A session is open: all that goes to this manager may use it."""
        way = link.way
        if way is not None and isinstance(way.key, str):
            pinned = self.peers.pinned_at(way.key)
            if pinned not in (None, peer):
                link.session.close(End.NOT_PINNED, f"{peer} answered, {pinned} is pinned")
                return
        link.open_since = self._wall
        link.log("session open")
        if way is not None:
            way.peer, way.found_at = peer, link.address
            way.candidates = []
            way.last_error = ""
            where = address_text(link.address, link.place[1])
            way.note(ConnectionStatus.ESTABLISHED, self._wall, where)
            self.sessions.learn(link, way)
            for queue in way.queues & self._unknown:
                self._unknown.discard(queue)
                self.confirming.found(queue, peer)
        for queue in self.sessions.add(link, self.now()):
            self._carriers.pop(queue, None)
            self._resending.stop(queue)
            self.dispatching.take_back(queue)
            self.ready(queue)
        for other in list(self._ways.values()):
            if other.link is link or other.peer == peer:
                self._retry(other)
        self._ordering.opened(peer, self.now())
        self._set_order_timer()

    def progressed(self, link: Link) -> None:
        """The other side takes messages: should the connection be lost, it is soon tried again."""
        if link.way is not None:
            link.way.failures = 0

    def ending(self, link: Link) -> None:
        """A connection is being closed from this side ([MS-MQQB] 3.1.5.9)."""
        if link.way is not None:
            link.way.became(TransferState.DISCONNECTING)

    def ended(self, link: Link) -> None:
        """A connection is over: what was sent on it and is not acknowledged goes again."""
        self._links.discard(link)
        peer = link.session.peer
        self.sessions.remove(link)
        end = link.end or Closed(End.LOST)
        self.ended_by[end.reason.value] += 1
        level = logging.INFO if end.reason in _QUIET else logging.WARNING
        link.log("session over", level=level, reason=end.reason.value, detail=end.detail)
        for queue in link.queues:
            del self._carriers[queue]
            self._resending.stop(queue)
            self.dispatching.take_back(queue)
        for way in list(self._ways.values()):
            if way.link is link:
                way.link = None
                if link.open_since is None:
                    self._note_failure(way, end)
                self._lost(way, end)
            elif way.peer == peer and way.queues & link.queues:
                self._lost(way, end)

    def _note_failure(self, way: Way, end: Closed) -> None:
        """Somebody was there, but no session came about ([MS-MQQB] 3.1.5.2)."""
        is_refused = end.reason is End.REFUSED
        refused, unknown = ConnectionStatus.CONNECTION_REFUSED, ConnectionStatus.UNKNOWN_FAILURE
        way.note(refused if is_refused else unknown, self._wall, way.address)

    def _lost(self, way: Way, end: Closed) -> None:
        if end.reason not in _QUIET:
            way.last_error = f"{end.reason.value}: {end.detail}" if end.detail else end.reason.value
        elif end.reason is End.LOST:
            way.last_error = way.last_error or end.reason.value
        if not way.is_connecting:
            way.became(TransferState.DISCONNECTED)
        if any(self.link_of(way, queue) is not None for queue in way.queues):
            self._go(way)
        else:
            self._try_later(way)

    def sent_transactional(self, queue: Queue) -> None:
        """Transactional messages were sent, and are to be acknowledged in order."""
        self._resending.sent(queue)

    # Acknowledgements in order

    def _came(self, origin: Origin, key: bytes, packet: bytes, count: int) -> None:
        self._ordering.came(origin, key, packet, count, self.now())
        self._set_order_timer()

    def _log_gap(self, sequence: IncomingSequence) -> None:
        log_event(
            _log,
            "messages are missing since the restore",
            level=logging.WARNING,
            source=str(UUID(bytes_le=sequence.source)),
            address=sequence.address,
            queue=sequence.name,
            missing=sequence.missing,
        )

    def _set_order_timer(self) -> None:
        at = self._ordering.next_deadline
        if at is not None and self._order_timer is None:
            seconds = max(0.0, at - self.now())
            self._order_timer = self.network.call_later(seconds, self._send_orders)
        elif at is not None and at <= self.now():
            self._send_orders()

    def _send_orders(self) -> None:
        if self._order_timer is not None:
            self._order_timer.cancel()
            self._order_timer = None
        if not self._is_stopped:
            self._ordering.tick(self.now())
            self._set_order_timer()

    # The end

    def stop(self) -> None:
        """Close all sessions ([MS-MQQB] 3.1.4.2)."""
        self._is_stopped = True
        for way in self._ways.values():
            if way.retry is not None:
                way.retry.cancel()
        for timer in (self._order_timer, self._sweep_timer):
            if timer is not None:
                timer.cancel()
        self._resending.stop_all()
        for link in list(self._links):
            link.close(End.STOPPED)

    @property
    def _wall(self) -> int:
        return int(self._clock.now())
