"""Managers on a network with groups, in a time of their own; packets may get lost."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address
from random import Random

from tests.simulation.events import Event, Scheduler
from tests.unit.engine.office import Manager
from tests.unit.engine.world import commit_all
from tests.unit.transports.wires import StationClock

from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.store.memory import MemoryStore
from openmsmq.transports.pgm.packets import ReceiverPacket, decode
from openmsmq.transports.pgm.reception import MulticastReception
from openmsmq.transports.pgm.timers import PgmTiming
from openmsmq.transports.pgm.transport import PgmTransport, SourceSettings
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.access import Access
from openmsmq.types.message import Message

TICKER = "MULTICAST=234.1.1.1:8001"
DELAY = 0.001


class Segment:
    """A network segment, and the time."""

    def __init__(self, loss: float = 0.0) -> None:
        self.scheduler = Scheduler()
        self.random = Random(1)
        self.loss = loss
        self.hosts: list[GroupHost] = []
        self.packets: list[bytes] = []

    @property
    def now(self) -> float:
        return self.scheduler.now

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while self.scheduler.step(end):
            pass
        self.scheduler.now = end
        for host in self.hosts:
            host.enter(lambda: None)

    def carry(self, data: bytes, source: GroupHost, to: IPv4Address) -> None:
        self.packets.append(data)
        for host in self.hosts:
            if (to == host.interface or to in host.groups) and self.random.random() >= self.loss:
                self.scheduler.after(DELAY, host.arrival(data, source.interface, to))


class GroupHost(Manager):
    """A manager that takes part in multicast."""

    needs_membership = False
    mtu = 1500

    def __init__(self, segment: Segment, *, timing: PgmTiming | None = None) -> None:
        number = len(segment.hosts) + 1
        segment.hosts.append(self)
        self._segment = segment
        self.interface = IPv4Address(f"10.0.0.{number}")
        self.groups: list[IPv4Address] = []
        clock = StationClock(segment, number << 8)  # type: ignore[arg-type] # it has the time
        self.local = local = QueueManager(
            MemoryStore(), clock, name=f"host{number}", receipts=RECEIPTS
        )
        timing = timing or PgmTiming()
        self.transport = PgmTransport(
            local, local.dispatcher, clock, self, self, gsi=bytes([number] * 6),
            settings=SourceSettings(timing), draw=segment.random.randint,
        )  # fmt: skip
        self.reception = MulticastReception(local, clock, self, self, lambda: 0.02, timing=timing)
        self.reception.rebind()
        self.transport.reception = self.reception
        self.enter(lambda: None)

    def enter(self, call: Callable[[], None]) -> None:
        call()
        commit_all(self.local)

    def arrival(self, data: bytes, source: IPv4Address, to: IPv4Address) -> Callable[[], None]:
        packet = decode(data)

        def arrive() -> None:
            if isinstance(packet, ReceiverPacket):
                self.transport.receive(packet)
            if to.is_multicast:
                self.reception.receive(packet, source, to)

        return lambda: self.enter(arrive)

    # What its transport and its reception need

    def call_later(self, seconds: float, call: Callable[[], None]) -> Event:
        return self._segment.scheduler.after(seconds, lambda: self.enter(call))

    def send_group(self, data: bytes, group: IPv4Address, *, is_alert: bool) -> bool:
        self._segment.carry(data, self, group)
        return True

    def send_near(self, data: bytes, group: IPv4Address) -> None:
        self._segment.carry(data, self, group)

    def send_to(self, data: bytes, address: IPv4Address) -> None:
        self._segment.carry(data, self, address)

    def join(self, group: IPv4Address) -> None:
        self.groups.append(group)

    def leave(self, group: IPv4Address) -> None:
        self.groups.remove(group)

    # What tests do with it

    def listen(self, name: str, multicast: str = "234.1.1.1:8001", **given: object) -> ManagedQueue:
        return self.create(name, multicast=multicast, **given)

    def publish(self, *messages: Message, to: str = TICKER) -> list[str]:
        return self.send(self.open(to, Access.SEND), *messages)

    def labels(self, queue: ManagedQueue) -> list[str]:
        return [message.label for message in self.peek(queue)]
