"""Puts messages that came by multicast into the queues of their address ([MC-MQSRM] 3.1.5.1).

Anyone on the network can send to a group: access is checked as for everyone, and what is kept of a
sender is kept for its address and the queue alone.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from ipaddress import IPv4Address
from typing import Final
from typing import Protocol as Interface

from openmsmq.clock import Clock
from openmsmq.engine.arrivals.arrival import ArrivalOutcome, Origin
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import Owed
from openmsmq.errors import Malformed
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.format import MulticastName, parse_format_name
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.runtime.logs import log_event
from openmsmq.soap.addresses import queue_at
from openmsmq.transports.pgm.packets import AnyPacket
from openmsmq.transports.pgm.receiver import MulticastArrival, NakToSend, PgmReceiver, SharedLimits
from openmsmq.transports.pgm.timers import PgmTiming
from openmsmq.transports.srmp.exchange import Senders, read_post
from openmsmq.transports.timer import Alarm, Timers
from openmsmq.types.peers import MulticastInfo

_log: Final = logging.getLogger(__name__)
Address = tuple[IPv4Address, int]


class Requester(Interface):
    """Joins groups, and puts requests for repairs on the network."""

    def join(self, group: IPv4Address) -> None:
        """Receive what is sent to a group."""
        ...

    def leave(self, group: IPv4Address) -> None:
        """Receive it no more."""
        ...

    def send_to(self, data: bytes, address: IPv4Address) -> None:
        """Send to one computer."""
        ...

    def send_near(self, data: bytes, group: IPv4Address) -> None:
        """Send to a group, not beyond this network."""
        ...


class MulticastReception:
    """The queues of a manager that have a group address."""

    def __init__(
        self,
        manager: QueueManager,
        clock: Clock,
        network: Requester,
        timers: Timers,
        draw: Callable[[], float],
        *,
        timing: PgmTiming | None = None,
        senders: Senders | None = None,
        may_relay: bool = False,
    ) -> None:
        """`draw` gives the random wait before a request; `senders` checks signatures."""
        self._manager = manager
        self._clock = clock
        self._network = network
        self._draw = draw
        self._timing = timing or PgmTiming()
        self._senders = senders
        self._may_relay = may_relay
        self._limits = SharedLimits()
        self._receivers: dict[Address, PgmReceiver] = {}
        self._queues: dict[Address, list[ManagedQueue]] = {}
        self._alarm = Alarm(timers, clock, self._tick)
        self.counts: Counter[str] = Counter()
        "Messages by what became of them."
        self._gone: Counter[str] = Counter()
        "Packets of receivers that are gone."
        manager.queues.on_multicast.append(self.rebind)

    @property
    def receivers(self) -> Iterator[PgmReceiver]:
        """The receivers of the addresses that queues have."""
        return iter(self._receivers.values())

    @property
    def packets(self) -> Counter[str]:
        """Packets by what became of them."""
        found = Counter(self._gone)
        for receiver in self._receivers.values():
            found.update(receiver.counts)
            for session in receiver.sessions:
                found.update(session.counts)
        return found

    def infos(self) -> list[MulticastInfo]:
        """The sources that are heard, for people."""
        return [
            session.info() for receiver in self._receivers.values() for session in receiver.sessions
        ]

    def rebind(self) -> None:
        """Receive for the queues that there are: groups are joined and left."""
        bound: dict[Address, list[ManagedQueue]] = {}
        for queue in self._manager.queues:
            if queue.properties.multicast and not queue.deleted:
                name = parse_format_name(f"MULTICAST={queue.properties.multicast}")
                assert isinstance(name, MulticastName), "it was checked when it was set"
                bound.setdefault((name.address, name.port), []).append(queue)
        for address in set(self._receivers) - set(bound):
            gone = self._receivers.pop(address)
            gone.close()
            self._gone.update(gone.counts)
            self._network.leave(address[0])
        for address in set(bound) - set(self._receivers):
            self._receivers[address] = PgmReceiver(
                *address,
                draw=self._draw,
                timing=self._timing,
                limits=self._limits,
                may_relay=self._may_relay,
            )
            self._network.join(address[0])
        self._queues = bound
        self._set_timer()

    def stop(self) -> None:
        """Receive no more."""
        for address, receiver in self._receivers.items():
            receiver.close()
            self._network.leave(address[0])
        self._receivers.clear()
        self._alarm.cancel()

    def receive(
        self,
        packet: AnyPacket,
        source: IPv4Address,
        group: IPv4Address,
    ) -> None:
        """A packet that was sent to a group; none counts while the manager is offline."""
        if not self._manager.transports.is_online:
            self.counts["offline"] += 1
            return
        receiver = self._receivers.get((group, packet.port))
        if receiver is None:
            self.counts["other port"] += 1
            return
        now = self._clock.elapsed()
        for message in receiver.receive(packet, source, now):
            self._take(receiver, message)
        self._request(receiver, receiver.tick(now)[1])
        self._set_timer()

    def _request(self, receiver: PgmReceiver, naks: list[NakToSend]) -> None:
        """Ask the source for repairs, and let other receivers know ([MC-MQSRM] note 3)."""
        for nak in naks:
            data = nak.packet.pack()
            self._network.send_to(data, nak.to)
            self._network.send_near(data, receiver.group)

    def _take(self, receiver: PgmReceiver, message: MulticastArrival) -> None:
        """A message goes to all queues of its address; one that refuses it stops no other."""
        address = receiver.group, receiver.port
        for queue in self._queues.get(address, ()):
            try:
                packet = self._read(message, MulticastName(*address), queue)
            except Malformed as error:
                self.counts["malformed"] += 1
                log_event(_log, "malformed message", address=message.source, error=error)
                return
            if packet is None:
                return
            self._put(queue, packet, message)

    def _read(
        self, message: MulticastArrival, name: MulticastName, queue: ManagedQueue
    ) -> bytes | None:
        """The packet of a message for a queue; None for what is ignored ([MC-MQSRM] 3.1.5.1.3)."""
        post = read_post(
            message.message.content_type,
            message.message.content,
            arrived=int(self._clock.now()),
            senders=self._senders,
            destination=DirectName.from_wire(f"{Protocol.OS}:{self._manager.name}\\{queue.name}"),
        )
        fault = ""
        if post.kind is None or not post.packet or queue_at(post.to, "path.to") != name:
            fault = "not for this address"
        elif post.position is not None:
            fault = "in a stream"
        elif post.bad_signature:
            fault = "bad signature"
        if fault:
            self.counts[fault] += 1
            return None
        return post.packet

    def _put(self, queue: ManagedQueue, packet: bytes, message: MulticastArrival) -> None:
        origin = self._origin(queue, PacketView(packet), message)
        arrivals = self._manager.arrivals
        if PacketView(packet).recoverable:
            arrivals.take(origin, [(packet, None)], self._became)
        else:
            self._became(arrivals.take_express(origin, [packet]))

    def _became(self, outcome: ArrivalOutcome) -> None:
        is_taken = outcome.error is None and not outcome.rejected
        self.counts["stored" if is_taken else "refused"] += 1

    def _origin(self, queue: ManagedQueue, view: PacketView, message: MulticastArrival) -> Origin:
        """Whose a message is: an address proves little, and a message has one copy a queue."""
        guid = view.source_queue_manager
        source = str(message.source)
        proof = guid.bytes if guid != NO_GUID else self._clock.new_guid().bytes
        digest = blake2b(digest_size=16, person=b"multicast")
        digest.update(proof + queue.number.to_bytes(8, "big") + source.encode())
        words = f"multicast {queue.properties.multicast} from {source}"
        origin = Origin(source, words, transport=Owed.SRMP.value)
        origin.isolate(digest.digest(), is_known=False)
        origin.target = queue
        return origin

    # Time

    def _tick(self) -> None:
        now = self._clock.elapsed()
        for receiver in list(self._receivers.values()):
            messages, naks = receiver.tick(now)
            for message in messages:
                self._take(receiver, message)
            self._request(receiver, naks)
        self._set_timer()

    def _set_timer(self) -> None:
        times = (receiver.next_deadline for receiver in self._receivers.values())
        self._alarm.set(min((time for time in times if time is not None), default=None))
