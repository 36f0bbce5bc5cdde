"""Sends messages of outgoing queues to groups: `MULTICAST=` names ([MC-MQSRM] 3.1.7.9).

A message is delivered when it was handed to PGM: nothing ever confirms it. Each outgoing queue is a
source with a session of its own, which ends when nothing was sent for a while.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from ipaddress import IPv4Address
from random import SystemRandom
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from openmsmq.clock import Clock
from openmsmq.engine.core import Core
from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.outgoing.state import Attempt
from openmsmq.engine.outgoing.transport import AddressKind, PeerSessions, ResendStatus, RouteStatus
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import MQError
from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.names.format import MulticastName, parse_format_name
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.soap.mime import join_content
from openmsmq.soap.packets import from_packet, write_message
from openmsmq.soap.signature import Signer
from openmsmq.transports.pgm.limits import APDU_SIZE_MAX, TAKEN_MAX
from openmsmq.transports.pgm.messages import pack_message
from openmsmq.transports.pgm.packets import ReceiverPacket, Tsi
from openmsmq.transports.pgm.reception import MulticastReception
from openmsmq.transports.pgm.source import PgmSource
from openmsmq.transports.pgm.timers import PgmTiming
from openmsmq.transports.timer import Alarm, Timers
from openmsmq.types.outgoing import ConnectionStatus, TransferState
from openmsmq.types.peers import MulticastInfo

IDLE_S: Final = 300.0
"Seconds without a message after which a session is closed."
_draw_port: Final = SystemRandom().randint


class SourceNetwork(Protocol):
    """Puts packets on the network."""

    @property
    def interface(self) -> IPv4Address:
        """The address that packets come from."""
        ...

    def send_group(self, data: bytes, group: IPv4Address, *, is_alert: bool) -> bool:
        """Send to a group; False if the system cannot take it now."""
        ...

    @property
    def mtu(self) -> int:
        """Bytes that an IP packet may have."""
        ...

    @property
    def needs_membership(self) -> bool:
        """Whether a source hears requests only as a member of its group."""
        ...

    def join(self, group: IPv4Address) -> None:
        """Receive what is sent to a group."""
        ...

    def leave(self, group: IPv4Address) -> None:
        """Receive it no more."""
        ...


class SourceSettings(NamedTuple):
    """What all sources have in common."""

    timing: PgmTiming = PgmTiming()
    signer: Signer | None = None


class MulticastRoute:
    """The way of one outgoing queue."""

    def __init__(self, queue: ManagedQueue, name: MulticastName) -> None:
        self.queue = queue
        self.name = name
        self.source: PgmSource | None = None
        self.last_error = ""
        self.since: int | None = None
        self.used_at = 0.0
        self.is_paused = False


class PgmTransport:
    """Serves `MULTICAST=` addresses."""

    def __init__(
        self,
        core: Core,
        dispatcher: Dispatcher,
        clock: Clock,
        network: SourceNetwork,
        timers: Timers,
        *,
        gsi: bytes,
        settings: SourceSettings | None = None,
        draw: Callable[[int, int], int] = _draw_port,
    ) -> None:
        """`gsi` names this manager in the sessions of its sources; `draw` chooses their ports."""
        self._core = core
        self._dispatcher = dispatcher
        self._clock = clock
        self._network = network
        self._gsi = gsi
        self._settings = settings or SourceSettings()
        self._draw = draw
        self._routes: dict[ManagedQueue, MulticastRoute] = {}
        self._sources: dict[Tsi, PgmSource] = {}
        self._alarm = Alarm(timers, clock, self._tick)
        self._is_stopped = False
        self.counts: Counter[str] = Counter()
        "Packets of sources that are gone."
        self.reception: MulticastReception | None = None
        "What receives beside it."
        dispatcher.register([AddressKind.MULTICAST], self)

    @property
    def sources(self) -> Iterator[PgmSource]:
        """The sources that are not over."""
        return iter(self._sources.values())

    def is_own(self, tsi: Tsi) -> bool:
        """Whether a session is one of ours."""
        return tsi in self._sources

    def stop(self) -> None:
        """Say that nothing more comes; what was lost is repaired no more."""
        self._is_stopped = True
        now = self._clock.elapsed()
        for source in self._sources.values():
            source.close(now)
            self._transmit(source, now)
        self._alarm.cancel()

    # What the engine says

    def ready(self, queue: ManagedQueue) -> None:
        """An outgoing queue has messages, or its last one left."""
        if self._is_stopped:
            return
        route = self._routes.get(queue)
        if route is None:
            name = parse_format_name(queue.name)
            assert isinstance(name, MulticastName), "only these are registered"
            route = self._routes[queue] = MulticastRoute(queue, name)
        route.is_paused = False
        self._go(route)
        self._set_timer()

    def withdrawn(self, queue: ManagedQueue) -> None:
        """Pause Queue: the session ends, what was sent is still repaired."""
        route = self._routes.get(queue)
        if route is not None:
            route.is_paused = True
            self._close(route)
            self._set_timer()

    def offline(self) -> None:
        """There are no sessions: the reception looks with each message."""

    def retry(self, queue: ManagedQueue) -> None:
        """Send what can be sent now."""
        self.ready(queue)

    def route(self, queue: ManagedQueue) -> RouteStatus:
        """How the way to a group stands: it is never connected to anyone."""
        transfer, route = queue.transfer, self._routes.get(queue)
        assert transfer is not None, "an outgoing queue knows its way"
        if route is None:
            return RouteStatus(str(transfer.state))
        hop = f"{route.name.address}:{route.name.port}"
        return RouteStatus(
            str(transfer.state),
            next_hop=hop,
            connected_since=route.since,
            last_error=route.last_error,
            resends=0 if route.source is None else route.source.counts["repairs"],
        )

    def resend(self, queue: ManagedQueue) -> None:
        """Nothing that goes to a group is transactional."""

    def resend_status(self, queue: ManagedQueue) -> ResendStatus:
        """Never."""
        return ResendStatus()

    def sessions(self) -> Mapping[UUID, PeerSessions]:
        """None: receivers say nothing about themselves."""
        return {}

    def groups(self) -> list[MulticastInfo]:
        """The sessions that are sent, then those that are received."""
        sent = [source.info() for source in self._sources.values()]
        return sent if self.reception is None else [*sent, *self.reception.infos()]

    # Messages

    def _go(self, route: MulticastRoute) -> None:
        """Hand over what a source has room for."""
        queue = route.queue
        while not route.is_paused and not self._is_stopped:
            source = route.source
            if source is not None and not source.has_room:
                break
            entries = self._dispatcher.take(queue, TAKEN_MAX, PACKET_SIZE_MAX, NO_GUID)
            if not entries:
                break
            self._submit(route, source or self._open(route), entries)

    def _submit(self, route: MulticastRoute, source: PgmSource, entries: list[Entry]) -> None:
        """Send User Message ([MC-MQSRM] 3.1.7.2); what does not fit is given up."""
        sent: list[Entry] = []
        failed: list[Entry] = []
        held: list[Entry] = []
        for entry in entries:
            try:
                message = self._message(route, entry)
            except MQError as error:
                route.last_error = str(error)
                failed.append(entry)
                continue
            if held or not source.submit(message):
                held.append(entry)
            else:
                sent.append(entry)
        route.used_at = self._clock.elapsed()
        if sent:
            self._dispatcher.delivered(route.queue, sent)
        if failed:
            self._dispatcher.refused(route.queue, failed)
        for entry in reversed(held):
            self._dispatcher.release(route.queue, entry)

    def _message(self, route: MulticastRoute, entry: Entry) -> bytes:
        name, view = route.name, PacketView(entry.packet)
        written = write_message(from_packet(view, receipts_to="", signer=self._settings.signer))
        content = join_content(written, self._core.identity, view.message_id)
        message = pack_message(name.address, name.port, *content)
        if len(message) > APDU_SIZE_MAX:
            raise MQError(f"{len(message)} bytes with its envelope, {APDU_SIZE_MAX} are possible")
        return message

    def _open(self, route: MulticastRoute) -> PgmSource:
        """A new session to the address of the name (RFC 3208, 3.1; [MC-MQSRM] 3.1.7.9)."""
        while True:
            tsi = Tsi(self._gsi, self._draw(1, 65_535))
            if tsi not in self._sources:
                break
        name, settings = route.name, self._settings
        source = route.source = self._sources[tsi] = PgmSource(
            tsi,
            self._network.interface,
            name.address,
            name.port,
            self._clock.elapsed(),
            mtu=self._network.mtu,
            timing=settings.timing,
        )
        if self._network.needs_membership:
            self._network.join(name.address)
        route.since = int(self._clock.now())
        transfer = route.queue.transfer
        if transfer is not None:
            transfer.set_state(TransferState.CONNECTED)
            hop = f"{name.address}:{name.port}"
            attempt = Attempt(ConnectionStatus.ESTABLISHED, route.since, 0, (hop,))
            transfer.attempts.append(attempt)
        return source

    def _close(self, route: MulticastRoute) -> None:
        if route.source is not None:
            route.source.close(self._clock.elapsed())
            route.source = None
            route.since = None
            transfer = route.queue.transfer
            if transfer is not None:
                transfer.set_state(TransferState.DISCONNECTED)

    # Packets

    def receive(self, packet: ReceiverPacket) -> None:
        """A packet that a receiver sent."""
        source = self._sources.get(packet.tsi)
        if source is not None:
            source.receive(packet, self._clock.elapsed())
            self._set_timer()

    def _transmit(self, source: PgmSource, now: float) -> bool:
        """Send what is due; False if the system can take no more now."""
        for one in source.transmit(now):
            if not self._network.send_group(one.data, source.group, is_alert=one.is_alert):
                self.counts["dropped by the system"] += 1  # receivers will ask for it
                return False
        return True

    def _tick(self) -> None:
        now = self._clock.elapsed()
        for tsi, source in list(self._sources.items()):
            deadline = source.next_deadline
            if deadline is not None and deadline <= now:
                self._transmit(source, now)
            if source.is_over:
                del self._sources[tsi]
                self.counts.update(source.counts)
                if self._network.needs_membership:
                    self._network.leave(source.group)
        for queue, route in list(self._routes.items()):
            self._go(route)
            is_unused = route.source is not None and now - route.used_at >= IDLE_S
            if is_unused or queue.deleted:
                self._close(route)
            if queue.deleted:
                del self._routes[queue]
        self._set_timer()

    def _set_timer(self) -> None:
        times = [source.next_deadline for source in self._sources.values()]
        times += [route.used_at + IDLE_S for route in self._routes.values() if route.source]
        at = min((time for time in times if time is not None), default=None)
        self._alarm.set(None if self._is_stopped else at)
