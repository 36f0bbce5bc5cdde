"""Messages between managers: which connection each outgoing queue uses, and when to try again.

Nothing here knows sockets or waits: connections and timers come from a `Network`.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Final
from uuid import UUID

from openmsmq.clock import Clock
from openmsmq.engine.arrivals.arrival import ArrivalOutcome
from openmsmq.engine.arrivals.peers import Identity, Pin
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.outgoing.transport import AddressKind, PeerSessions, ResendStatus, RouteStatus
from openmsmq.engine.queues.queue import FORWARDED, ManagedQueue, Purpose
from openmsmq.names.parts import host_key
from openmsmq.net.wire import Wire
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.runtime.logs import log_event
from openmsmq.transports.limits import SESSIONS_MAX
from openmsmq.transports.mqqb.arrival_log import ArrivalLog
from openmsmq.transports.mqqb.events import Closed, SessionEnd
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.network import Network
from openmsmq.transports.mqqb.order_acks import OrderAcks
from openmsmq.transports.mqqb.received_acks import ReceivedAcks
from openmsmq.transports.mqqb.reports import Reports
from openmsmq.transports.mqqb.resend import ResendTimers
from openmsmq.transports.mqqb.session_table import SessionTable
from openmsmq.transports.mqqb.timers import SessionTimers
from openmsmq.transports.peers.addresses import Addresses, address_text, next_hops
from openmsmq.transports.peers.hops import Hops
from openmsmq.transports.peers.peer import Peer, PeerKey
from openmsmq.transports.peers.unsent import UnsentQueues
from openmsmq.transports.timer import Timer
from openmsmq.types.outgoing import ConnectionStatus, TransferState

_log: Final = logging.getLogger(__name__)
SWEEP_EVERY: Final = 60.0
_QUIET: Final = frozenset({SessionEnd.IDLE, SessionEnd.STOPPED, SessionEnd.LOST})
"Ends of sessions that are not an error."


class BinaryTransport:
    """Sends what is in outgoing queues, and takes what other managers send."""

    def __init__(
        self,
        local: QueueManager,
        clock: Clock,
        network: Network,
        *,
        peers: Mapping[str, tuple[str, int]],
        pins: Mapping[str, Pin] = MappingProxyType({}),
        identity: Identity = Identity.ADDRESS,
        timing: SessionTimers | None = None,
        answers_early: bool = True,
        sessions_max: int = SESSIONS_MAX,
    ) -> None:
        """`peers` are computers by name, and where they are if DNS does not say so.

        `pins` are what the configuration says of their managers, `identity` is what is asked of a
        session before it may speak for one.
        """
        self.local = local
        self.network = network
        self.timing = timing or SessionTimers()
        self.answers_early = answers_early
        self._sessions_max = sessions_max
        self.identity = local.identity
        self.dispatcher = local.dispatcher
        self.arrivals = local.arrivals
        self.confirmations = local.confirmations
        self.reports = Reports(local)
        self.ended_by: Counter[str] = Counter()
        "Sessions that ended, by reason."
        self.bytes_received = self.bytes_sent = 0
        self._clock = clock
        self.addresses = Addresses(peers)
        self._hops = Hops(local, self.addresses, self.now, self.ready)
        self._peers: dict[PeerKey, Peer[Link]] = {}
        self.links: set[Link] = set()
        "All connections."
        self._unsent = UnsentQueues(local, lambda queue: self._carrier(queue) is not None)
        self._sweep_timer: Timer | None = None
        self._resend_timers = ResendTimers(self.dispatcher, network, self.now)
        self.received_acks = ReceivedAcks(
            local, local.confirmations, self._resend_timers.progress, self._identify
        )
        self._unidentified = set(self.received_acks.unidentified())
        "Queues whose destinations are dialled until it is known who answers there."
        self.session_table = SessionTable(local, self._connect_idle)
        self._order_acks = OrderAcks(local, self.session_table.ack_link)
        self._order_timer: Timer | None = None
        self._orders_at = 0.0
        self._is_stopped = False
        self.known = local.peers
        self.known.configure(identity, {host_key(name): pin for name, pin in pins.items()})
        self._arrival_log = ArrivalLog(self.now)
        local.on_topology.append(lambda: self._hops.route_anew(self._peers.values(), self._drop))
        self.dispatcher.register([AddressKind.BINARY], self)
        for queue in list(self._unidentified):
            self._identify(queue)

    def now(self) -> float:
        """Seconds, counted by what never jumps."""
        return self._clock.elapsed()

    @property
    def peers(self) -> Mapping[PeerKey, Peer[Link]]:
        """All peers that messages go to, or that are dialled."""
        return self._peers

    def together(self) -> AbstractContextManager[None]:
        """What is taken meanwhile is written by one commit, or all of it fails."""
        return self.local.together()

    def received(self, size: int) -> None:
        """Bytes came."""
        self.bytes_received += size

    def wrote(self, size: int) -> None:
        """Bytes were sent."""
        self.bytes_sent += size

    def peer_of(self, queue: ManagedQueue) -> Peer[Link] | None:
        """The peer that messages of a queue go to, while there are some."""
        key = self._hops.key_of(queue)
        return None if key is None else self._peers.get(key)

    def link_of(self, peer: Peer[Link], queue: ManagedQueue) -> Link | None:
        """An open session by which messages of a queue can go, from either side.

        Any peer can claim to be the manager found at a computer: it must come from there, too.
        What is addressed to a manager by its identity goes only where that manager answered when
        we dialled it; acknowledgements also go by the sessions that brought the messages.
        """
        if peer.link is not None and peer.link.is_open:
            return peer.link
        is_ack = queue.properties.purpose not in (Purpose.SEND, *FORWARDED)
        for link in reversed(self.session_table.of(peer.id or NO_GUID)):
            if isinstance(peer.key, UUID):
                is_found = link.is_initiator and not self.known.conflicts(peer.key, link.address)
                is_there = is_found or (is_ack and link.origin.is_proven)
            else:
                is_there = link.address == peer.found_at
            if is_there and link.is_open and not link.is_superseded:
                return link
        return None

    # What the engine says

    def ready(self, queue: ManagedQueue) -> None:
        """An outgoing queue has messages, or its last one left."""
        if self._is_stopped:
            return
        if queue.sequences.all and not queue.messages:
            self.confirmations.finish(queue)
        key = self._hops.key_of(queue)
        assert key is not None, "other addresses have other transports"
        peer = self._peers.get(key)
        if peer is None:
            peer = self._peers[key] = Peer(key)
            peer.failures = self._hops.failures(key)
        peer.queues.setdefault(queue, None)
        if queue.properties.purpose is Purpose.UNSOLICITED and self._sweep_timer is None:
            self._sweep_timer = self.network.call_later(SWEEP_EVERY, self._sweep)
        self._go(peer, queue)

    def _sweep(self) -> None:
        """Drop what strangers make us send to machines that cannot be reached."""
        self._sweep_timer = None
        if not self._is_stopped and self._unsent.sweep(self.now()):
            self._sweep_timer = self.network.call_later(SWEEP_EVERY, self._sweep)

    def withdrawn(self, queue: ManagedQueue) -> None:
        """Nothing more of a queue is to be sent, for now."""
        self._resend_timers.stop(queue)
        peer = self.peer_of(queue)
        link = None if peer is None else peer.queues.pop(queue, None)
        if link is not None:
            link.drop(queue)
        self._hops.forget(queue)

    def offline(self) -> None:
        """End all sessions: what comes on them would be taken ([MS-MQSO] 5.1.1.1)."""
        for link in list(self.links):
            link.close(SessionEnd.STOPPED)

    def retry(self, queue: ManagedQueue) -> None:
        """Make the next attempt to send now."""
        peer = self.peer_of(queue)
        if peer is not None and queue in peer.queues:
            peer.failures = 0
            self._retry(peer)
        self.ready(queue)

    def route(self, queue: ManagedQueue) -> RouteStatus:
        """How the way to the destination of a queue stands."""
        transfer, peer = queue.transfer, self.peer_of(queue)
        assert transfer is not None, "an outgoing queue knows its way"
        state, resends = str(transfer.state), self._resend_timers.count(queue)
        if peer is None:  # there is nothing to send, so no connection is waited for
            is_over = transfer.state is TransferState.WAITING
            return RouteStatus(str(TransferState.INACTIVE) if is_over else state, resends=resends)
        link = self.link_of(peer, queue)
        if link is not None:
            return RouteStatus(state, link.next_hop, link.open_since, resends=resends)
        return peer.route(queue, state, resends, self.now())

    def resend(self, queue: ManagedQueue) -> None:
        """Send transactional messages again that are not acknowledged, now."""
        self._resend_timers.resend(queue)

    def resend_status(self, queue: ManagedQueue) -> ResendStatus:
        """When that is done next."""
        return self._resend_timers.status(queue)

    def sessions(self) -> dict[UUID, PeerSessions]:
        """The managers that are connected, and those with several places at a time."""
        return self.session_table.sessions()

    # Peers

    def _carrier(self, queue: ManagedQueue) -> Link | None:
        """The link on which messages of a queue travel."""
        peer = self.peer_of(queue)
        return None if peer is None else peer.queues.get(queue)

    def _go(self, peer: Peer[Link], only: ManagedQueue | None = None) -> None:
        """Send on a link that is open, or dial."""
        is_waiting = not peer.queues
        for queue in [only] if only is not None else list(peer.queues):
            link = self.link_of(peer, queue)
            if link is None:
                is_waiting = True
            elif queue.transfer is not None:
                queue.transfer.set_state(TransferState.CONNECTED)
                queue.transfer.next_hops = next_hops([link.address])
            carrier = peer.queues[queue] = peer.queues.get(queue) or link
            if carrier is not None:
                carrier.serve(queue)
        if is_waiting and peer.is_idle and self._is_wanted(peer):
            self._connect(peer)

    def _is_wanted(self, peer: Peer[Link]) -> bool:
        """Whether to dial a peer; one that no queue needs is forgotten."""
        peer.forget_idle(self._unidentified)
        if not peer.queues:
            self._peers.pop(peer.key, None)
        return peer.wants_link(self._unidentified)

    def _identify(self, queue: ManagedQueue) -> None:
        """Find out who is at a destination, though there may be nothing to send."""
        key = self._hops.key_of(queue)
        if key is not None and not self._is_stopped:
            peer = self._peers.setdefault(key, Peer(key))
            if peer.link is not None and peer.link.is_open:
                self.received_acks.identified(queue, peer.link.session.peer)
                return
            self._unidentified.add(queue)
            peer.queues.setdefault(queue, None)
            self._connect_idle(key)

    def _connect_idle(self, key: PeerKey) -> None:
        peer = self._peers.setdefault(key, Peer(key))
        if peer.is_idle:
            self._connect(peer)

    def _connect(self, peer: Peer[Link]) -> None:
        """Try the next address, or all from the first one again ([MS-MQQB] 3.1.5.2, 3.1.6.1)."""
        if not peer.candidates:
            peer.candidates = self._candidates(peer.key)
            self._hops.show(peer, self._candidates)
        if not peer.candidates:
            peer.set_state(TransferState.NEED_VALIDATION)
            status = ConnectionStatus.ROUTING_DATA_NOT_AVAILABLE
            self._failed(peer, status, "the address is unknown")
            return
        host, port = peer.candidates.pop(0)
        peer.is_connecting = True
        peer.address = address_text(host.lower(), port)
        peer.set_state(TransferState.WAITING)
        peer.note(ConnectionStatus.IN_PROCESS, self._wall, peer.address)

        def made(wire: Wire) -> Link:
            peer.is_connecting = False
            wanted = peer.key if isinstance(peer.key, UUID) else NO_GUID
            link = Link(self, wire, is_initiator=True, peer=wanted)
            peer.link, link.dialled, link.place = link, peer, (host, port)
            self.links.add(link)
            if self._is_stopped:
                link.close(SessionEnd.STOPPED)
            return link

        def failed(status: ConnectionStatus, error: str) -> None:
            peer.is_connecting = False
            self._failed(peer, status, f"{peer.address}: {error}")

        self.network.connect(host, port, made, failed)

    def _candidates(self, key: PeerKey) -> list[tuple[str, int]]:
        if not isinstance(key, UUID):
            return self.addresses.of_host(key)
        known, name = self.known.get(key), self.known.name_of(key)
        if name and (known is None or self.known.certificate_of(key)):
            return self.addresses.of_host(name)  # it is pinned: sessions say nothing about it
        came_from = [link.address for link in self.session_table.of(key)]
        came_from += self.local.incoming.addresses(key)
        return self.addresses.of_manager(known, came_from)

    def _failed(self, peer: Peer[Link], status: ConnectionStatus, error: str) -> None:
        """An attempt failed: another follows, for as long as there are messages."""
        peer.last_error, peer.was_open = error, False
        peer.note(status, self._wall, peer.address)
        if peer.failures == 0:
            log_event(_log, "cannot connect", level=logging.WARNING, to=peer.name, reason=error)
        self._hops.leave(peer)
        self._try_later(peer)

    def _try_later(self, peer: Peer[Link]) -> None:
        """Session Retry Connect Timer ([MS-MQQB] 3.1.2.3, 3.1.5.9), if something is to be sent."""
        if self._is_stopped or not peer.is_idle or not self._is_wanted(peer):
            return
        delay = 0.0 if peer.candidates else peer.delay
        peer.failures += not peer.candidates
        peer.retry_at = self.now() + delay
        peer.retry = self.network.call_later(delay, lambda: self._retry(peer))

    def _retry(self, peer: Peer[Link]) -> None:
        if peer.retry is not None:
            peer.retry.cancel()
            peer.retry, peer.retry_at = None, None
        if not self._is_stopped:
            self._hops.choose_again(peer)
            self._go(peer)

    def _drop(self, link: Link | None, queue: ManagedQueue) -> None:
        """What a link has of a queue goes another way."""
        if link is not None:
            link.drop(queue)
            self._resend_timers.stop(queue)
            self.dispatcher.take_back(queue)

    # Connections

    @property
    def is_full(self) -> bool:
        """There are as many connections as there may be."""
        return len(self.links) >= self._sessions_max

    @property
    def is_away(self) -> bool:
        """No session is accepted."""
        return self._is_stopped or not self.dispatcher.is_online

    @property
    def refuses_sessions(self) -> bool:
        """No session would be accepted now."""
        return self.is_full or self.is_away

    def accept(self, wire: Wire) -> Link:
        """A peer has connected ([MS-MQQB] 3.1.5.10)."""
        link = Link(self, wire, is_initiator=False, refuses=self.is_full)
        self.links.add(link)
        if self.is_away:
            link.close(SessionEnd.STOPPED)
        return link

    def answered(self, link: Link) -> None:
        """The other side would have a session ([MS-MQQB] 3.1.5.3.2)."""
        if (peer := link.dialled) is not None:
            peer.note(ConnectionStatus.ESTABLISH_PACKET_RECEIVED, self._wall, peer.address)

    def opened(self, link: Link, manager: UUID) -> None:
        """A session is open: all that goes to this manager may use it.

        For the rest it is dialled at once, unless its last session was open: two managers without
        room would dial each other without end.
        """
        peer = link.dialled
        name = peer.key if peer is not None and isinstance(peer.key, str) else ""
        if fault := self.known.identity_fault(manager, name, link.fingerprint):
            link.session.close(SessionEnd.NOT_PINNED, fault)
            return
        link.open_since = self._wall
        link.log("session open")
        if peer is not None:
            peer.id, peer.found_at = manager, link.address
            self._hops.answered(peer.key)
            peer.candidates, peer.last_error = [], ""
            where = address_text(link.address, link.place[1])
            peer.note(ConnectionStatus.ESTABLISHED, self._wall, where)
            self.session_table.learn(link, peer)
            for queue in self._unidentified & peer.queues.keys():
                self._unidentified.discard(queue)
                self.received_acks.identified(queue, manager)
        now = self.now()
        for older in self.session_table.add(link, now):
            for queue in self._release(older):
                self.ready(queue)
        for other in list(self._peers.values()):
            if other.link is link or other.id == manager:
                is_news = other.link is link or not other.was_open
                (self._retry if is_news else self._go)(other)
        self._order_acks.opened(manager, now)
        self._set_order_timer(now)

    def progressed(self, link: Link) -> None:
        """The other side takes messages: should the connection be lost, it is soon tried again."""
        if link.dialled is not None:
            link.dialled.failures = 0

    def ending(self, link: Link) -> None:
        """A connection is being closed from this side ([MS-MQQB] 3.1.5.9)."""
        if link.dialled is not None:
            link.dialled.set_state(TransferState.DISCONNECTING)

    def ended(self, link: Link) -> None:
        """A connection is over: what was sent on it and is not acknowledged goes again."""
        self.links.discard(link)
        self.session_table.remove(link)
        end = link.end or Closed(SessionEnd.LOST)
        self.ended_by[end.reason.value] += 1
        level = logging.INFO if end.reason in _QUIET else logging.WARNING
        link.log("session over", level=level, reason=end.reason.value, detail=end.detail)
        carried = set(self._release(link))
        for peer in list(self._peers.values()):
            if peer.link is link:
                peer.link, peer.was_open = None, link.open_since is not None
                if not peer.was_open:
                    peer.note_end(self._wall, is_refused=end.reason is SessionEnd.REFUSED)
                    self._hops.leave(peer)
                self._lost(peer, end)
            elif not carried.isdisjoint(peer.queues):
                self._lost(peer, end)

    def carried_by(self, link: Link) -> list[tuple[Peer[Link], ManagedQueue]]:
        """The queues whose messages travel on a link, with their peers."""
        peers = self._peers.values() if link.has_served else ()
        return [(one, queue) for one in peers for queue in one.carried_by(link)]

    def _release(self, link: Link) -> list[ManagedQueue]:
        """Take back what a link carries, to be sent again on another; the queues."""
        found = self.carried_by(link)
        for peer, queue in found:
            peer.queues[queue] = None
            link.release(queue)
            self._resend_timers.stop(queue)
            self.dispatcher.take_back(queue)
            self._hops.choose_again(peer, queue)
        return [queue for _, queue in found]

    def _lost(self, peer: Peer[Link], end: Closed) -> None:
        reason = end.reason.value
        if end.reason not in _QUIET:
            peer.last_error = f"{reason}: {end.detail}" if end.detail else reason
        elif end.reason is SessionEnd.LOST:
            peer.last_error = peer.last_error or reason
        if not peer.is_connecting:
            peer.set_state(TransferState.DISCONNECTED)
        is_carried = any(self.link_of(peer, queue) is not None for queue in peer.queues)
        (self._go if is_carried else self._try_later)(peer)

    def sent_transactional(self, queue: ManagedQueue, manager: UUID) -> None:
        """Transactional messages were sent, and are to be acknowledged in order."""
        self._resend_timers.sent(queue)
        self.received_acks.sent(queue, manager)

    # Acknowledgements in order

    def arrived(self, link: Link, outcome: ArrivalOutcome) -> None:
        """Messages of a session were taken: their senders are owed OrderAcks, and people a word."""
        if outcome.progress:
            now = self.now()
            for progress in outcome.progress:
                self._order_acks.came(link, progress, now)
            self._set_order_timer(now)
        for sequence in outcome.gaps:
            self._arrival_log.missing(sequence)
        for refusal in outcome.refusals:
            self._arrival_log.refused(link.origin, *refusal)
        for packet in outcome.traced:
            self.reports.send(packet)

    def _set_order_timer(self, now: float) -> None:
        """One is sent for all that a commit has brought: those due at once wait for the rest."""
        at = self._order_acks.next_deadline
        if at is None or (self._order_timer is not None and self._orders_at <= max(at, now)):
            return
        if self._order_timer is not None:
            self._order_timer.cancel()
        self._orders_at = max(at, now)
        self._order_timer = self.network.call_later(self._orders_at - now, self._send_orders)

    def _send_orders(self) -> None:
        self._order_timer = None
        if not self._is_stopped:
            now = self.now()
            self._order_acks.tick(now)
            self._set_order_timer(now)

    # The end

    def stop(self) -> None:
        """Close all sessions ([MS-MQQB] 3.1.4.2)."""
        self._is_stopped = True
        for peer in self._peers.values():
            if peer.retry is not None:
                peer.retry.cancel()
        for timer in (self._order_timer, self._sweep_timer):
            if timer is not None:
                timer.cancel()
        self._resend_timers.stop_all()
        self.offline()

    @property
    def _wall(self) -> int:
        return int(self._clock.now())
