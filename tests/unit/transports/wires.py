"""Managers joined by wires that deliver when asked, in a time of their own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Final, NamedTuple
from uuid import UUID

from tests.simulation.connection import Enter, Side
from tests.simulation.events import Event, Scheduler
from tests.unit.engine.office import Manager
from tests.unit.engine.world import NOW, commit, commit_all

from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.net.wire import Wire
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.packet import Packet, decode_packet
from openmsmq.store.memory import Disk, MemoryStore
from openmsmq.transports.mqqb.events import SessionEnd as Reason
from openmsmq.transports.mqqb.network import PeerMachine
from openmsmq.transports.mqqb.timers import SessionTimers
from openmsmq.transports.mqqb.transport import BinaryTransport
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.outgoing import ConnectionStatus, TransferState
from openmsmq.types.queues import QueueKind

PORT: Final = 1801
Place = tuple[str, int]


class Try(NamedTuple):
    """An attempt to connect."""

    at: float
    host: str
    port: int


class End(Side):
    """One side of a connection: what is written arrives when the net runs."""

    def __init__(self, net: Net, address: str, enter: Enter) -> None:
        super().__init__(net.scheduler, address, enter, lambda: net.now)
        self.write_buffer_full = False
        self.is_held = False
        "What is written does not arrive, for now."
        self.updates = 0
        self._out: list[bytes] = []

    def write(self, data: bytes) -> None:
        assert not self.is_over, "written to a connection that is over"
        self.check_write()
        self._out.append(data)

    def close(self) -> None:
        self.is_closing = True

    def update(self) -> None:
        self.updates += 1
        super().update()

    def deliver(self) -> bool:
        """Bring what was written to the other side, and the end; False if there was nothing."""
        if self.is_held or self.is_over:
            return False
        out, self._out = self._out, []
        for data in out:
            if not self.other.is_closing:
                self.other.receive(data)
        if self.is_closing:
            self.cut()
        return bool(out) or self.is_closing

    def cut(self) -> None:
        """The connection breaks, and both sides know."""
        self.end()
        self.other.end()


class Net:
    """All that passes between managers, and the time."""

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        self.tries: list[Try] = []
        self.stations: dict[Place, Station] = {}
        self.listeners: dict[Place, Callable[[Wire], PeerMachine]] = {}
        "Others that can be reached."
        self.ends: list[End] = []
        self.is_slow = False
        "No one is connected, for now."
        self.is_reachable: Callable[[Station, Place], bool] = lambda station, place: True
        self._asked: list[Callable[[], None]] = []

    @property
    def now(self) -> float:
        """The time."""
        return self.scheduler.now

    @now.setter
    def now(self, now: float) -> None:
        self.scheduler.now = now

    @property
    def timers(self) -> list[float]:
        """Seconds until what is to come."""
        return [event.at - self.now for event in self.scheduler.waiting]

    # Connections

    def ask(
        self,
        station: Station,
        place: Place,
        made: Callable[[Wire], PeerMachine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        """A manager wants to speak to another."""
        self.tries.append(Try(self.now, *place))
        self._asked.append(lambda: self._answer(station, place, made, failed))

    def _answer(
        self,
        station: Station,
        place: Place,
        made: Callable[[Wire], PeerMachine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        there = self.stations.get(place)
        accept: Callable[[Wire], PeerMachine]
        if there is not None and there.is_up and self.is_reachable(station, place):
            accept, enter = there.transport.accept, there.enter
        elif place in self.listeners:
            accept, enter = self.listeners[place], _call
        else:
            status = ConnectionStatus.SOCKET_CONNECT_FAILURE
            station.enter(lambda: failed(status, "no one there"))
            return
        near, far = End(self, place[0], station.enter), End(self, station.host, enter)
        self.join(near, made, far, accept)

    def join(
        self,
        near: End,
        made: Callable[[Wire], PeerMachine],
        far: End,
        accept: Callable[[Wire], PeerMachine],
    ) -> None:
        """Two sides are connected."""
        near.join(far)
        self.ends += [near, far]
        far.begin(accept)
        near.begin(made)

    def dial(self, station: Station, address: str = "10.0.0.9") -> Peer:
        """Someone connects to a manager."""
        peer = Peer()
        near, far = End(self, station.host, _call), End(self, address, station.enter)
        self.join(near, peer.meet, far, station.transport.accept)
        return peer

    def between(self, one: Station, two: Station) -> list[End]:
        """The ends of open connections at `one` that lead to `two`."""
        links = one.transport.links
        ends = [end for end in self.ends if not end.is_over and end.machine in links]
        return [end for end in ends if end.address == two.host]

    # Time

    def run(self) -> None:
        """Let everything happen that takes no time."""
        for _ in range(1000):
            asked = [] if self.is_slow else self._asked
            self._asked = self._asked if self.is_slow else []
            for answer in asked:
                answer()
            delivered = [end.deliver() for end in list(self.ends)]
            due = self.scheduler.step(self.now)
            if not (asked or any(delivered) or due):
                return
        raise AssertionError("it never ends")

    def wait(self, seconds: float) -> None:
        """Let time pass, and everything happen meanwhile."""
        end = self.now + seconds
        self.run()
        while self.scheduler.step(end):
            self.run()
        self.now = end
        for station in self.stations.values():
            if station.is_up:
                station.enter(lambda: None)
        self.run()


class StationClock:
    """The time of a net, and identities of one manager."""

    def __init__(self, net: Net, number: int) -> None:
        self._net = net
        self._guids = count(number << 64 | 1)

    def now(self) -> float:
        return NOW + self._net.now

    def elapsed(self) -> float:
        return self._net.now

    def new_guid(self) -> UUID:
        return UUID(int=next(self._guids))


class Station(Manager):
    """A manager that is connected to others; its network is a `Net`."""

    def __init__(
        self,
        net: Net,
        name: str,
        *,
        disk: Disk | None = None,
        peers: dict[str, Place] | None = None,
        port: int = PORT,
        sessions_max: int = 100,
        timing: SessionTimers | None = None,
        restored: bool = False,
    ) -> None:
        number = "abcdefgh".index(name) + 1
        self.net = net
        self.name = name
        self.host = f"10.0.0.{number}"
        self.port = port
        self.is_up = True
        self.is_slow = False
        "Nothing is committed, for now."
        self.error: BaseException | None = None
        "Why the next commit fails."
        self.store = MemoryStore(disk)
        clock = StationClock(net, number)
        self.local = QueueManager(
            self.store, clock, name=name, restored=restored, receipts=RECEIPTS
        )
        known = {other: (f"10.0.0.{at}", PORT) for at, other in enumerate("abcdefgh", 1)}
        net.stations[self.host, port] = self
        self.transport = BinaryTransport(
            self.local,
            clock,
            self,
            peers=known if peers is None else peers,
            timing=timing,
            sessions_max=sessions_max,
        )
        self._commit()

    # `openmsmq.transports.mqqb.network.Network`

    def connect(
        self,
        host: str,
        port: int,
        made: Callable[[Wire], PeerMachine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        self.net.ask(self, (host, port), made, failed)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Event:
        return self.net.scheduler.after(seconds, lambda: self.enter(call))

    # What a driver does

    def enter(self, call: Callable[[], object]) -> None:
        """Let something happen in this manager, if it runs."""
        if self.is_up:
            self.local.advance(self.local.clock.now(), self.local.clock.elapsed())
            call()
            self._commit()

    def _commit(self) -> None:
        if self.error is not None and self.local.wants_commit:
            error, self.error = self.error, None
            commit(self.local, error)
        if not self.is_slow:
            commit_all(self.local)

    def go_on(self) -> None:
        """Commit what waited for it."""
        self.is_slow = False
        self.enter(lambda: None)

    def die(self) -> None:
        """The process is gone, its connections with it."""
        self.is_up = False
        for end in self.net.ends:
            if end.machine in self.transport.links:
                end.cut()

    def restart_here(self) -> Station:
        """The next process, with what the last one left on its disk."""
        self.die()
        return Station(self.net, self.name, disk=self.store.committed, port=self.port)

    def hold_back(self, queue: ManagedQueue) -> None:
        """Hold a queue back."""
        self.enter(lambda: self.local.dispatcher.pause(queue))

    # What tests look at

    def out(self, name: str) -> ManagedQueue:
        """An outgoing queue, opened."""
        queue = self.open(name)
        assert queue.kind is QueueKind.OUTGOING
        return queue

    def texts(self, name: str) -> list[str]:
        """What is in a queue here."""
        return [body.decode() for body in self.bodies(self.local.find_queue(name))]

    def ended(self, reason: str) -> int:
        """Sessions that ended for a reason."""
        return self.transport.ended_by[reason]

    def count(self, name: str) -> int:
        """What the statistics say."""
        return self.local.statistics.counts.get(name, 0)


class Peer:
    """The other side of a connection, played by a test."""

    is_open = is_known = False
    next_deadline = None
    pending = singles = 0

    def __init__(self) -> None:
        self.is_full = False
        self.is_lost = False
        self.data = b""
        self._wire: Wire | None = None

    def meet(self, wire: Wire) -> Peer:
        """The connection is there."""
        self._wire = wire
        return self

    def receive_data(self, data: bytes, now: float) -> None:
        self.data += data

    def resume(self, now: float) -> None:
        pass

    def tick(self, now: float) -> None:
        pass

    def lost(self) -> None:
        self.is_lost = True

    def send(self, *packets: bytes) -> None:
        """Say something."""
        assert self._wire is not None
        self._wire.write(b"".join(packets))

    def close(self, reason: Reason | None = None, detail: str = "") -> None:
        """Hang up."""
        assert self._wire is not None
        self._wire.close()

    def packets(self) -> list[Packet]:
        """What was said since the last time."""
        framer = PacketFramer()
        framer.receive_data(self.data)
        self.data = b""
        return [decode_packet(packet) for packet in framer.packets()]


def _call(call: Callable[[], object]) -> None:
    call()


def pair(*, transactional: bool = False) -> tuple[Net, Station, Station]:
    """Two managers; the second has a queue `q`."""
    net = Net()
    a, b = Station(net, "a"), Station(net, "b")
    b.create("q", transactional=transactional)
    return net, a, b


def state(queue: ManagedQueue) -> TransferState:
    """The state of an outgoing queue."""
    assert queue.transfer is not None
    return queue.transfer.state


def statuses(queue: ManagedQueue) -> list[ConnectionStatus]:
    """How attempts to connect went, the newest last."""
    assert queue.transfer is not None
    return [attempt.status for attempt in queue.transfer.attempts]
