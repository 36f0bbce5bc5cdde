"""One connection to another manager: its session, and the messages that travel on it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import groupby
from typing import Final, Protocol, TypeVar
from uuid import UUID

from openmsmq.engine.arrivals.arrival import ArrivalGroup, ArrivalOutcome, Origin
from openmsmq.engine.arrivals.arrivals import Arrivals
from openmsmq.engine.arrivals.examination import ExaminedGroup
from openmsmq.engine.arrivals.sender_cache import SenderPending
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.outgoing.sent import (
    entry_tokens,
    flags_in,
    parts_of,
    size_of,
    slice_tokens,
)
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import Part, RunSlice, expanded
from openmsmq.engine.storage.layout import Owed
from openmsmq.errors import Malformed
from openmsmq.net.wire import Wire
from openmsmq.packet.group import PacketGroup
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.properties.message import MessageClass
from openmsmq.runtime.logs import log_event
from openmsmq.transports.limits import (
    ACKS_MAX,
    ARRIVED_SIZE_MAX,
    IN_FLIGHT_SIZE_MAX,
    TAKE_MAX,
    TAKE_SIZE_MAX,
    UNSAFE_MAX,
)
from openmsmq.transports.mqqb.events import (
    Acknowledged,
    Arrived,
    Closed,
    Event,
    GroupArrived,
    Opened,
    Outgoing,
    SessionEnd,
)
from openmsmq.transports.mqqb.receipts import arrival_of, group_of
from openmsmq.transports.mqqb.received_acks import ReceivedAcks
from openmsmq.transports.mqqb.reports import Reports
from openmsmq.transports.mqqb.session import Session
from openmsmq.transports.mqqb.states import SessionState
from openmsmq.transports.mqqb.timers import SessionTimers
from openmsmq.transports.peers.addresses import address_text
from openmsmq.transports.peers.peer import Peer
from openmsmq.types.peers import SessionDetails, SessionInfo

_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
_UNSAFE: Final = frozenset(
    {
        MessageClass.NACK_BAD_SIGNATURE,
        MessageClass.NACK_BAD_ENCRYPTION,
        MessageClass.NACK_UNSUPPORTED_CRYPTO_PROVIDER,
    }
)
_log: Final = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")
Done = Callable[[BaseException | None], None]


def _kind(part: Part) -> bool | None:
    """Whether a message is express; None for messages of a run."""
    return None if isinstance(part, RunSlice) else part.express


class LinkHost(Protocol):
    """What a link reports to, and what it is given from there."""

    identity: UUID
    local: QueueManager
    timing: SessionTimers
    answers_early: bool
    dispatcher: Dispatcher
    arrivals: Arrivals
    received_acks: ReceivedAcks
    reports: Reports

    def now(self) -> float:
        """Seconds, counted by what never jumps."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """What is taken meanwhile is written by one commit, or all of it fails."""
        ...

    def received(self, size: int) -> None:
        """Bytes came."""
        ...

    def wrote(self, size: int) -> None:
        """Bytes were sent."""
        ...

    def answered(self, link: Link) -> None:
        """The other side answered EstablishConnection."""
        ...

    def opened(self, link: Link, manager: UUID) -> None:
        """A session is open."""
        ...

    def progressed(self, link: Link) -> None:
        """The other side takes messages."""
        ...

    def sent_transactional(self, queue: ManagedQueue, manager: UUID) -> None:
        """Transactional messages were sent, and are to be acknowledged in order."""
        ...

    def arrived(self, link: Link, outcome: ArrivalOutcome) -> None:
        """Messages that came on a link were taken, or not."""
        ...

    def ending(self, link: Link) -> None:
        """A connection is being closed from this side."""
        ...

    def ended(self, link: Link) -> None:
        """A connection is over."""
        ...


class Link:
    """A connection, from either side."""

    def __init__(
        self,
        host: LinkHost,
        wire: Wire,
        *,
        is_initiator: bool,
        peer: UUID = NO_GUID,
        refuses: bool = False,
    ) -> None:
        """`peer` is the manager that an initiator wants to reach, nil for any."""
        self._host = host
        self._wire = wire
        now = host.now()
        self.session = Session(
            host.identity,
            now=now,
            is_initiator=is_initiator,
            peer=peer,
            is_direct=peer == NO_GUID,
            timing=host.timing.of_router() if host.local.routes.is_router else host.timing,
            answers_early=host.answers_early,
            refuses=refuses,
        )
        self.is_initiator = is_initiator
        self.fingerprint = ""
        "What identifies the certificate that the other side showed; empty for none."
        self.dialled: Peer[Link] | None = None
        "The peer that it was made for, if this side made it."
        self.is_superseded = False
        "The same manager has a newer session from the same place: this one may be half open."
        name = f"manager at {wire.address}"
        self.origin = Origin(wire.address, name, peer.bytes_le)
        self._acks: deque[bytes] = deque(maxlen=ACKS_MAX)
        "Acknowledgements to be sent before anything else."
        self._ready: set[ManagedQueue] = set()
        "Queues that this link carries and that may have something to send."
        self.has_served = False
        "It carries queues, or has."
        self._in_flight = 0
        "Bytes sent and not acknowledged."
        self._arrived = 0
        "Bytes that came and are not stored."
        self._singles = 0
        self._has_progressed = False
        self._unsafe = (0.0, 0)
        "When a second began, and how many messages were wrong in it."
        self.place = ("", 0)
        "Where an initiator found the other side."
        self.open_since: int | None = None
        "When the session was established, in seconds since 1970 UTC."
        self.is_lost = False
        self._is_acting = False
        "What the session reports is being dealt with."
        self.end: Closed | None = None
        self._flush()

    @property
    def is_full(self) -> bool:
        """Too much waits to be stored for more to be read."""
        return self._arrived > ARRIVED_SIZE_MAX

    @property
    def is_open(self) -> bool:
        """Messages can be sent."""
        return self.session.is_open

    @property
    def is_known(self) -> bool:
        """The other side is one of the managers that this one knows: it answered when dialled."""
        return self.is_initiator or self.origin.is_known

    @property
    def singles(self) -> int:
        """Messages that have come and are stored one by one, not as a group."""
        return self._singles

    @property
    def pending(self) -> int:
        """Bytes of a packet whose rest has not come."""
        return self.session.pending

    @property
    def address(self) -> str:
        """The IP address of the other side."""
        return self._wire.address

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called; None for never."""
        return None if self.is_lost else self.session.next_deadline

    @property
    def next_hop(self) -> str:
        """Where messages go, for people."""
        port = self.place[1]
        return address_text(self.address, port) if port else self.address

    def details(self, info: SessionInfo) -> SessionDetails:
        """The state of its session, and how much is under way."""
        session, inbound, outbound = self.session, self.session.inbound, self.session.outbound
        room = outbound.window, inbound.window, session.room
        waiting = outbound.waiting, inbound.unacked, round(session.ack_wait)
        return SessionDetails(info, session.state.value, *room, *waiting)

    # What the connection brings

    def receive_data(self, data: bytes, now: float) -> None:
        """Take what the other side sent."""
        before = self.session.state
        self.session.receive_data(data, now)
        self._host.received(len(data))
        if before is SessionState.WAITING_ECR and self.session.state is SessionState.WAITING_CPR:
            self._host.answered(self)
        self._act()

    def resume(self, now: float) -> None:
        """The connection takes more again."""
        self.pump()

    def tick(self, now: float) -> None:
        """Do what is due in the session."""
        self.session.tick(now)
        self._act()

    def lost(self) -> None:
        """The connection is over."""
        if not self.is_lost:
            self.is_lost = True
            self.session.close(SessionEnd.LOST)
            self._act()
            self._host.ended(self)

    def close(self, reason: SessionEnd, detail: str = "") -> None:
        """End the session from this side."""
        self.session.close(reason, detail)
        self._act()
        self._wire.update()

    # What the session reports

    def _act(self) -> None:
        """Do what the session's events ask for: what is done about some may bring others."""
        self._is_acting = True
        while events := self.session.take_events():
            self._acknowledged([event for event in events if isinstance(event, Acknowledged)])
            self._handle(events)
        self._is_acting = False
        self._flush()
        if self.end is not None:
            self._finish()
        elif self._ready or self._acks:
            self.pump()

    def _handle(self, events: list[Event]) -> None:
        packets: list[bytes] = []
        last = 0
        for event in events:
            match event:
                case Arrived(packet, number):
                    if packets and (not number) is not (not last):
                        self._take(packets, last)
                        packets = []
                    packets.append(packet)
                    last = number
                case GroupArrived(group, number):
                    if packets:
                        self._take(packets, last)
                        packets = []
                    self._take_group(group, number)
                case Opened(peer):
                    self._host.opened(self, peer)
                case Closed():
                    self.end = event
        if packets:
            self._take(packets, last)

    def _finish(self) -> None:
        """The session is over: so is the connection, when all is written."""
        if not self.is_lost:
            self._wire.close()
            self._host.ending(self)

    def _take(self, packets: list[bytes], last: int) -> None:
        """Take messages in a row: all express, or up to this number among the others."""
        examined = self._examine(self._host.arrivals.examined, packets)
        if examined is not None:
            self._take_examined(examined, last)

    def _examine(self, look: Callable[[T], R], packets: T) -> R | None:
        """What came of looking at protected messages; None if that ends the session."""
        try:
            return look(packets)
        except Malformed as error:
            self.session.close(SessionEnd.BAD_PACKET, str(error))
        except SenderPending:  # neither taken nor refused: it comes again (MSEC-A18)
            self.origin.is_refused = True
            self.session.close(SessionEnd.SENDER_PENDING)
        return None

    def _take_examined(self, packets: Sequence[bytes], last: int) -> None:
        if last:
            self._take_recoverable(packets, last)
        else:
            self._take_express(packets)

    def _take_group(self, group: PacketGroup, last: int) -> None:
        """Take messages that differ in little; none of them is an acknowledgement."""
        found = self._examine(self._host.arrivals.examined_group, group)
        if isinstance(found, PacketGroup):
            self._take_alike(group, group_of(group), last)
        elif isinstance(found, ExaminedGroup):
            self._take_alike(group, group_of(group, found), last)
        elif found is not None:
            self._take_examined(found, last)

    def _take_alike(self, group: PacketGroup, found: ArrivalGroup, last: int) -> None:
        if last:
            taken = self._stored_later(len(group.packets), last)[1]
            self._host.arrivals.take(self.origin, [found], taken)
        elif self.origin.is_refused:
            self.session.close(SessionEnd.NO_ROOM)
        else:
            self._put_express([found])

    def _take_express(self, packets: Sequence[bytes]) -> None:
        origin = self.origin
        if origin.is_refused:
            self.session.close(SessionEnd.NO_ROOM)
            return
        messages, acks = self._host.received_acks.split(packets)
        for ack in acks:
            self._host.received_acks.take_express(origin, ack)
        if messages:
            self._put_express(messages)

    def _put_express(self, messages: Sequence[bytes | ArrivalGroup]) -> None:
        outcome = self._host.arrivals.take_express(self.origin, messages)
        self._host.arrived(self, outcome)
        if outcome.error is not None:
            self.origin.is_refused = True
            self.session.close(SessionEnd.NO_ROOM)  # at once, so that they are not acknowledged
        self._note_refused(outcome)

    def _stored_later(self, size: int, last: int) -> tuple[Done, Callable[[ArrivalOutcome], None]]:
        """What is to be called when messages are stored, so that they are acknowledged."""
        self._arrived += size

        def done(error: BaseException | None) -> None:
            self._arrived -= size
            if error is None and not self.origin.is_refused:
                self.session.stored(last, self._host.now())
            else:
                self.session.close(SessionEnd.NO_ROOM, str(error or "no room"))
            self._act()
            self._wire.update()

        def taken(outcome: ArrivalOutcome) -> None:
            self._host.arrived(self, outcome)
            done(outcome.error)
            self._note_refused(outcome)

        return done, taken

    def _take_recoverable(self, packets: Sequence[bytes], last: int) -> None:
        """Have messages stored, and acknowledge them when they are."""
        self._singles += len(packets)
        done, taken = self._stored_later(sum(map(len, packets)), last)
        messages, acks = self._host.received_acks.split(packets)
        arrivals, received_acks = self._host.arrivals, self._host.received_acks
        if not acks:
            arrivals.take(self.origin, list(map(arrival_of, messages)), taken)
        elif not messages:
            received_acks.take(self.origin, acks, done)
        else:
            with self._host.together():  # the session acknowledges all of them, or none
                received_acks.take(self.origin, acks, lambda error: None)
                arrivals.take(self.origin, list(map(arrival_of, messages)), taken)

    def _note_refused(self, outcome: ArrivalOutcome) -> None:
        """Close the session if many messages are wrong in a second: each costs RSA (MSEC-A34)."""
        count = sum(reason in _UNSAFE for _, reason in outcome.rejected)
        if not count:
            return
        now = self._host.now()
        since, before = self._unsafe
        self._unsafe = (since, before + count) if now < since + 1 else (now, count)
        if self._unsafe[1] > UNSAFE_MAX:
            self.session.close(SessionEnd.UNSAFE, f"{self._unsafe[1]} in a second")
            if not self._is_acting:
                self._act()

    def send_ack(self, packet: bytes) -> None:
        """Send an acknowledgement of what came here; it is lost with the connection."""
        self._acks.append(packet)
        self.pump()
        self._wire.update()

    def _acknowledged(self, events: list[Acknowledged]) -> None:
        """Messages have reached the peer; transactional ones stay until they are in order.

        Those of several acknowledgements leave together.
        """
        tokens = [token for event in events for token in event.tokens]
        if tokens and not self._has_progressed:
            self._has_progressed = True
            self._host.progressed(self)
        sent = [token for token in tokens if isinstance(token, tuple)]  # for acks nothing waits
        for queue, parts in parts_of(sent):
            self._in_flight -= size_of(parts)
            done = [part for part in parts if not flags_in(part) & _TRANSACTIONAL]
            if done:
                self._host.dispatcher.delivered(queue, done, self.origin.certified)

    # Sending

    def serve(self, queue: ManagedQueue) -> None:
        """Messages of a queue travel here, and there are some."""
        self.has_served = True
        self._ready.add(queue)
        self.pump()
        self._wire.update()

    def pump(self) -> None:
        """Send what can be sent, the most urgent first ([MS-MQDMPR] 3.1.7.3.9)."""
        if self._is_acting:
            return  # nothing is acknowledged along the way before it is dealt with
        session, dispatcher = self.session, self._host.dispatcher
        while self._acks and session.room:
            session.send([Outgoing(self._acks.popleft(), None, False)], self._host.now())
        while self._ready and session.room and not self._wire.write_buffer_full:
            if self._in_flight >= IN_FLIGHT_SIZE_MAX:
                break
            queue = self._most_urgent()
            if queue is None:
                break
            count = min(session.room, TAKE_MAX)
            parts = dispatcher.take_parts(queue, count, TAKE_SIZE_MAX, session.peer)
            if not parts:
                self._ready.discard(queue)
                continue
            self._send(queue, parts)
            self._flush()  # so that the wire can say when it has enough
        self._flush()

    def _most_urgent(self) -> ManagedQueue | None:
        if len(self._ready) == 1:
            return next(iter(self._ready))
        found = []
        for queue in list(self._ready):
            urgency = self._host.dispatcher.first(queue)
            if urgency is None:
                self._ready.discard(queue)
            else:
                found.append((urgency, queue.number, queue))
        return min(found)[2] if found else None

    def _send(self, queue: ManagedQueue, parts: list[Part]) -> None:
        now = self._host.now()
        self._in_flight += size_of(parts)
        for kind, group in groupby(parts, key=_kind):
            if kind is None:
                for part in group:
                    self._send_slice(queue, part, now)
                continue
            alike = expanded(list(group))
            packets = [entry[2] for entry in alike]
            tokens = entry_tokens(queue, alike)
            self.session.send_alike(packets, tokens, now, recoverable=not kind)
            self._host.reports.report(packets, self.address)
        if any([flags_in(part) & _TRANSACTIONAL for part in parts]):
            self._host.sent_transactional(queue, self.session.peer)

    def _send_slice(self, queue: ManagedQueue, part: Part, now: float) -> None:
        assert isinstance(part, RunSlice)
        self.session.send_run(part.packets, part.sizes, slice_tokens(queue, part), now)
        if self._host.reports.are_sent:
            self._host.reports.report(part.split(), self.address)

    def release(self, queue: ManagedQueue) -> None:
        """Messages of a queue do not travel here any longer."""
        self._ready.discard(queue)

    def drop(self, queue: ManagedQueue) -> None:
        """Messages of a queue are not to be sent any longer ([MS-MQQB] 3.1.7.13)."""
        self.release(queue)
        self.session.pause()
        self._flush()
        self._wire.update()

    # The edge

    def _flush(self) -> None:
        """Write what the session has to say; who calls this class tells the wire what changed."""
        data = self.session.data_to_send()
        if data and not self.is_lost:
            self._wire.write(data)
            self._host.wrote(len(data))

    def log(
        self, event: str, level: int = logging.INFO, reason: str = "", detail: str = ""
    ) -> None:
        """Say what happens on this connection."""
        fields = {"address": self._wire.address, "peer": self.session.peer}
        if reason:
            fields |= {"reason": reason, "detail": detail}
        log_event(_log, event, level=level, **fields)  # type: ignore[arg-type] # no error among them
