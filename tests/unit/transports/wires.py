"""Managers joined by wires that deliver when told, in a time of their own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Final, NamedTuple
from uuid import UUID

from tests.unit.engine.office import Manager
from tests.unit.engine.world import NOW, commit, commit_all

from openmsmq.engine.manager import LocalManager
from openmsmq.engine.queues.queue import Queue
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.packet import Packet, decode_packet
from openmsmq.store.memory import Disk, MemoryStore
from openmsmq.transports.mqqb.events import End as Reason
from openmsmq.transports.mqqb.network import Machine, Wire
from openmsmq.transports.mqqb.timing import Timing
from openmsmq.transports.mqqb.transport import Transfers
from openmsmq.types.outgoing import ConnectionStatus, TransferState
from openmsmq.types.queues import QueueKind

PORT: Final = 1801
Place = tuple[str, int]


class Due:
    """Something that will be done (`openmsmq.transports.mqqb.network.Timer`)."""

    def __init__(self, at: float, order: int, call: Callable[[], None]) -> None:
        self.at = at
        self.order = order
        self.call = call
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Try(NamedTuple):
    """An attempt to connect."""

    at: float
    host: str
    port: int


class End:
    """One side of a connection (`openmsmq.transports.mqqb.network.Wire`)."""

    def __init__(self, address: str, enter: Callable[[Callable[[], object]], None]) -> None:
        self.address = address
        self.is_stuck = False
        self.is_held = False
        "What is written does not arrive, for now."
        self.is_closing = False
        self.is_over = False
        self.adjusted = 0
        self.machine: Machine | None = None
        self.other: End
        self.enter = enter
        "How the machine is called."
        self._out: list[bytes] = []

    def write(self, data: bytes) -> None:
        assert not self.is_over, "written to a connection that is over"
        assert not self.is_closing, "written after the end"
        self._out.append(data)

    def close(self) -> None:
        self.is_closing = True

    def adjust(self) -> None:
        self.adjusted += 1

    def deliver(self) -> bool:
        """Bring what was written to the other side, and the end; False if there was nothing."""
        if self.is_held or self.is_over:
            return False
        out, self._out = self._out, []
        machine = self.other.machine
        assert machine is not None
        for data in out:
            if not self.other.is_closing:
                self.other.enter(lambda data=data: machine.receive_data(data))  # type: ignore[misc] # a default keeps it
        if self.is_closing:
            self.cut()
        return bool(out) or self.is_closing

    def cut(self) -> None:
        """The connection breaks, and both sides know."""
        for end in (self, self.other):
            if not end.is_over:
                end.is_over = True
                if end.machine is not None:
                    end.enter(end.machine.lost)


class Net:
    """All that passes between managers, and the time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tries: list[Try] = []
        self.stations: dict[Place, Station] = {}
        self.listeners: dict[Place, Callable[[Wire], Machine]] = {}
        "Others that can be reached."
        self.ends: list[End] = []
        self.is_slow = False
        "Nobody is connected, for now."
        self._asked: list[Callable[[], None]] = []
        self._timers: list[Due] = []
        self._order = count()

    def call_later(self, seconds: float, call: Callable[[], None]) -> Due:
        due = Due(self.now + seconds, next(self._order), call)
        self._timers.append(due)
        return due

    @property
    def timers(self) -> list[float]:
        """Seconds until what is to come."""
        return sorted(due.at - self.now for due in self._timers if not due.is_cancelled)

    # Connections

    def ask(
        self,
        station: Station,
        place: Place,
        made: Callable[[Wire], Machine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        """A manager wants to speak to another."""
        self.tries.append(Try(self.now, *place))
        self._asked.append(lambda: self._answer(station, place, made, failed))

    def _answer(
        self,
        station: Station,
        place: Place,
        made: Callable[[Wire], Machine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        there = self.stations.get(place)
        if there is not None and there.is_up:
            accept, enter = there.transfers.accept, there.enter
        elif place in self.listeners:
            accept, enter = self.listeners[place], _call  # type: ignore[assignment] # as good
        else:
            status = ConnectionStatus.SOCKET_CONNECT_FAILURE
            station.enter(lambda: failed(status, "nobody there"))
            return
        self.join(End(place[0], station.enter), made, End(station.host, enter), accept)

    def join(
        self,
        near: End,
        made: Callable[[Wire], Machine],
        far: End,
        accept: Callable[[Wire], Machine],
    ) -> None:
        """Two sides are connected."""
        near.other, far.other = far, near
        self.ends += [near, far]
        for end, make in ((far, accept), (near, made)):
            end.enter(lambda end=end, make=make: setattr(end, "machine", make(end)))  # type: ignore[misc] # as above

    def dial(self, station: Station, address: str = "10.0.0.9") -> Peer:
        """Somebody connects to a manager."""
        peer = Peer()
        accept = station.transfers.accept
        self.join(End(station.host, _call), peer.meet, End(address, station.enter), accept)
        return peer

    def between(self, one: Station, two: Station) -> list[End]:
        """The ends of open connections at `one` that lead to `two`."""
        links = one.transfers.links
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
            due = self._due(self.now)
            if not (asked or any(delivered) or due):
                return
        raise AssertionError("it never ends")

    def _due(self, until: float) -> bool:
        """Do what is due first, if anything is."""
        self._timers = [due for due in self._timers if not due.is_cancelled]
        if not self._timers:
            return False
        first = min(self._timers, key=lambda due: (due.at, due.order))
        if first.at > until:
            return False
        self.now = max(self.now, first.at)
        self._timers.remove(first)
        first.call()
        return True

    def wait(self, seconds: float) -> None:
        """Let time pass, and everything happen meanwhile."""
        end = self.now + seconds
        self.run()
        while self._due(end):
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
        timing: Timing | None = None,
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
        self.local = LocalManager(self.store, clock, name=name, restored=restored)
        known = {other: (f"10.0.0.{at}", PORT) for at, other in enumerate("abcdefgh", 1)}
        net.stations[self.host, port] = self
        self.transfers = Transfers(
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
        made: Callable[[Wire], Machine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        self.net.ask(self, (host, port), made, failed)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Due:
        return self.net.call_later(seconds, lambda: self.enter(call))

    # What a driver does

    def enter(self, call: Callable[[], object]) -> None:
        """Let something happen in this manager, if it runs."""
        if self.is_up:
            self.local.tick()
            call()
            self._commit()

    def _commit(self) -> None:
        if self.error is not None and self.local.core.wants_commit:
            error, self.error = self.error, None
            commit(self.local.core, error)
        if not self.is_slow:
            commit_all(self.local.core)

    def go_on(self) -> None:
        """Commit what waited for it."""
        self.is_slow = False
        self.enter(lambda: None)

    def die(self) -> None:
        """The process is gone, its connections with it."""
        self.is_up = False
        for end in self.net.ends:
            if end.machine in self.transfers.links:
                end.cut()

    def restart_here(self) -> Station:
        """The next process, with what the last one left on its disk."""
        self.die()
        return Station(self.net, self.name, disk=self.store.committed, port=self.port)

    def hold_back(self, queue: Queue) -> None:
        """Hold a queue back."""
        self.enter(lambda: self.local.dispatching.pause(queue))

    # What tests look at

    def out(self, name: str) -> Queue:
        """An outgoing queue, opened."""
        queue = self.open(name)
        assert queue.kind is QueueKind.OUTGOING
        return queue

    def texts(self, name: str) -> list[str]:
        """What is in a queue here."""
        return [body.decode() for body in self.bodies(self.local.find_queue(name))]

    def ended(self, reason: str) -> int:
        """Sessions that ended for a reason."""
        return self.transfers.ended_by[reason]

    def count(self, name: str) -> int:
        """What the statistics say."""
        return self.local.core.statistics.counts.get(name, 0)


class Peer:
    """The other side of a connection, played by a test."""

    is_open = is_known = False
    pending = 0

    def __init__(self) -> None:
        self.is_full = False
        self.is_lost = False
        self.data = b""
        self._wire: Wire | None = None

    def meet(self, wire: Wire) -> Peer:
        """The connection is there."""
        self._wire = wire
        return self

    def receive_data(self, data: bytes) -> None:
        self.data += data

    def room(self) -> None:
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


def state(queue: Queue) -> TransferState:
    """The state of an outgoing queue."""
    assert queue.transfer is not None
    return queue.transfer.state


def statuses(queue: Queue) -> list[ConnectionStatus]:
    """How attempts to connect went, the newest last."""
    assert queue.transfer is not None
    return [attempt.status for attempt in queue.transfer.attempts]
