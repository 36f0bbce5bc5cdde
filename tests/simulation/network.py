"""Connections between simulated managers: slow, in pieces, refused, and cut at any time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final, Protocol

from openmsmq.engine.arrivals.peers import Identity, Pin
from openmsmq.net.wire import Machine, Wire
from openmsmq.transports.mqqb.network import PeerMachine
from openmsmq.types.outgoing import ConnectionStatus
from tests.simulation.connection import Side
from tests.simulation.events import Event, Scheduler
from tests.simulation.trace import Trace

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.web import Links

STUCK: Final = 4096
"Bytes under way at which a slow connection takes no more."
NEVER_HEARS: Final = 400.0
"Seconds after which even the side that no one tells learns that its connection is over."


class Party(Protocol):
    """What has connections."""

    name: str
    address: str
    generation: int

    @property
    def is_up(self) -> bool:
        """It runs."""
        ...

    def enter(self, generation: int, call: Callable[[], object]) -> None:
        """Let something happen in a process, if that is still there."""
        ...

    def elapsed(self) -> float:
        """The time of the machines there."""
        ...


class Host(Party, Protocol):
    """A manager, which others can connect to."""

    def accept(self, wire: Wire) -> Machine:
        """Another computer has connected."""
        ...


class End(Side):
    """One side of a connection, as the manager there sees it: slow, in pieces, cut at times."""

    def __init__(
        self, net: Net, node: Party, other: Party, generation: int, chance: Random
    ) -> None:
        super().__init__(
            net.scheduler, other.address, partial(node.enter, generation), node.elapsed
        )
        self._net = net
        self._chance = chance
        self.node = node
        self.generation = generation
        self.latency = 0.001
        self.rate = 1e7
        "Bytes in a second."
        self._due = 0.0
        "When the last piece that was written arrives."
        self._in_flight = 0
        self._waits: deque[bytes] = deque()
        "What has come while the machine was full."
        self.is_cut = False
        "What is written goes nowhere."

    @property
    def write_buffer_full(self) -> bool:
        """So much waits to be sent that nothing should be added."""
        return self._in_flight > STUCK

    def write(self, data: bytes) -> None:
        """Send bytes, in pieces."""
        self.check_write()
        if self.is_over:
            return  # the machine will hear in a moment
        self._net.trace.bytes(self, data)
        chance = self._chance
        while data:
            size = len(data) if chance.random() < 0.8 else 1 + chance.randrange(len(data))
            self._send(data[:size])
            data = data[size:]

    def _send(self, piece: bytes) -> None:
        scheduler = self._net.scheduler
        jitter = self._chance.random() * self.latency
        wait = max(scheduler.now + self.latency + jitter, self._due) + len(piece) / self.rate
        self._due = wait
        self._in_flight += len(piece)
        scheduler.after(wait - scheduler.now, lambda: self._arrive(piece))

    def _arrive(self, piece: bytes) -> None:
        was_full = self.write_buffer_full
        self._in_flight -= len(piece)
        if not self.is_cut:
            self.other.take(piece)
        if was_full and not self.write_buffer_full:
            self.resume()

    def take(self, piece: bytes) -> None:
        """Bytes have come."""
        self._waits.append(piece)
        self._deliver()

    def _deliver(self) -> None:
        while self._waits and self._can_take:
            self.receive(self._waits.popleft())

    @property
    def _can_take(self) -> bool:
        return self.machine is not None and not self.is_over and not self.machine.is_full

    def update(self) -> None:
        """The machine may take more again, and have another deadline."""
        super().update()
        if self._waits and self._can_take:
            self._net.scheduler.after(0.0, self._deliver)

    def close(self) -> None:
        """Send what was written, then close the connection."""
        if self.is_closing:
            return
        self.is_closing = True
        scheduler = self._net.scheduler
        wait = 0.0 if self.is_cut else max(0.0, self._due - scheduler.now)
        scheduler.after(wait, self.end)
        if not self.is_cut:
            scheduler.after(wait + self.latency, self.other.end)

    def end(self) -> None:
        """The connection is over, and the machine learns it."""
        self._net.forget(self)
        super().end()


class ProgramEnd(End):
    """One side of a connection between a program and its manager.

    What the other side does not read counts as written and not sent.
    """

    certificate: Mapping[str, Any] = {}
    unix = ()
    peer = "its computer"
    received = sent = 0

    @property
    def write_buffer_full(self) -> bool:
        """So much waits to be sent or read that nothing should be added."""
        return self._in_flight + sum(map(len, self.other._waits)) > STUCK

    @property
    def peer_gone(self) -> bool:
        """The other side has closed the connection, though nothing is read."""
        return self.other.is_over and not self.is_cut

    def _deliver(self) -> None:
        was_full = self.other.write_buffer_full
        super()._deliver()
        if was_full and not self.other.write_buffer_full:
            self.other.resume()

    def abort(self) -> None:
        """Close the connection at once."""
        self.is_closing = True
        self._net.scheduler.after(0.0, self.end)
        self._net.scheduler.after(self.latency, self.other.end)


class Net:
    """What connects all managers, and programs with theirs."""

    def __init__(self, scheduler: Scheduler, chance: Random, trace: Trace) -> None:
        self.scheduler = scheduler
        self.chance = chance
        self.trace = trace
        self.nodes: dict[str, Host] = {}
        "By address."
        self.names: dict[str, str] = {}
        "Addresses by name."
        self.identity = Identity.ADDRESS
        self.pins: dict[str, Pin] = {}
        self.is_faulty = True
        self.is_slow = False
        self.links: Links | None = None
        "Which managers send over HTTP; None if none does."
        self._ends: dict[End, None] = {}
        self.program_chance = Random(0)
        "For the connections of programs."
        self._programs: dict[Party, ProgramEnd] = {}
        "The last connection of each."

    def name(self, source: str, target: str, queue: str) -> str:
        """The format name by which one manager sends to a queue of another."""
        if self.links is None:
            return f"DIRECT=OS:{target}\\{queue}"
        return self.links.name(source, target, queue)

    def is_http(self, source: str, target: str) -> bool:
        """Whether one manager sends to another over HTTP."""
        return self.links is not None and self.links.is_http(source, target)

    def connect(
        self,
        node: Host,
        host: str,
        made: Callable[[Wire], PeerMachine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        """One manager wants to speak to another."""
        generation = node.generation
        other = self.nodes.get(host)
        latency = self._latency()

        def fail() -> None:
            node.enter(generation, lambda: failed(ConnectionStatus.SOCKET_CONNECT_FAILURE, "no"))

        def arrive() -> None:
            refused = self.is_faulty and self.chance.random() < 0.1
            if other is None or not other.is_up or refused:
                self.scheduler.after(latency, fail)
            else:
                self._join(node, generation, other, made, fail, latency)

        self.scheduler.after(latency, arrive)

    def _latency(self) -> float:
        if self.is_faulty and self.chance.random() < 0.1:
            return self.chance.random() * 3
        return 0.0005 + self.chance.random() * 0.01

    def _join(
        self,
        node: Host,
        generation: int,
        other: Host,
        made: Callable[[Wire], PeerMachine],
        fail: Callable[[], None],
        latency: float,
    ) -> None:
        here = End(self, node, other, generation, self.chance)
        there = End(self, other, node, other.generation, self.chance)
        here.join(there)
        here.latency = there.latency = latency
        if self.is_slow and self.chance.random() < 0.3:
            here.rate = there.rate = 20_000.0
        self._ends |= {here: None, there: None}

        def establish() -> None:
            if here.is_over:
                fail()
            else:
                here.begin(made)

        there.begin(other.accept)
        self.scheduler.after(latency, establish)
        if self.is_faulty and self.chance.random() < 0.25:
            self.scheduler.after(self.chance.random() ** 2 * 30, lambda: self.cut(here))

    # Programs

    def connect_program(
        self,
        client: Party,
        node: Node,
        made: Callable[[ProgramEnd], Machine],
        failed: Callable[[], None],
        accept: Callable[[ProgramEnd], Machine],
    ) -> None:
        """A program connects to a manager, which accepts it as one of its kind."""
        chance = self.program_chance

        def arrive() -> None:
            if not node.is_up or node.is_stopping:
                failed()
                return
            here = ProgramEnd(self, client, node, 0, chance)
            there = ProgramEnd(self, node, client, node.generation, chance)
            here.join(there)
            if chance.random() < 0.2:
                here.rate = there.rate = 5000.0
            self._ends |= {here: None, there: None}
            self._programs[client] = here
            there.begin(accept)
            here.begin(made)

        self.scheduler.after(chance.random() * 0.01, arrive)

    def is_cut(self, client: Party) -> bool:
        """Whether the connection of a program is broken, though it may not know."""
        end = self._programs[client]
        return any(side.is_cut or side.is_over for side in (end, end.other))

    def cut_program(self, client: Party) -> None:
        """The connection of a program breaks."""
        self.cut(self._programs[client], self.program_chance)

    def cut(self, end: End, chance: Random | None = None) -> None:
        """A connection breaks: what is under way is lost, each side learns of it some time."""
        if end.is_over and end.other.is_over:
            return
        self.trace.note(f"cut {end.node.name} - {end.other.node.name}")
        chance = chance or self.chance
        for side in (end, end.other):
            side.is_cut = side.is_cut or chance.random() < 0.9
            wait = chance.choice((0.01, 1.0, 20.0, NEVER_HEARS)) * chance.random()
            self.scheduler.after(wait, side.end)

    def cut_all(self, node: Host) -> None:
        """A manager is gone, or its wires are."""
        for end in list(self._ends):
            if end.node is node and end.generation == node.generation and not end.is_over:
                end.is_over = True
                self.cut(end)

    def cut_some(self) -> None:
        """Any connection breaks."""
        if self._ends:
            self.cut(self.chance.choice(list(self._ends)))

    def forget(self, end: End) -> None:
        """One side of it is over."""
        self._ends.pop(end, None)


class NodeNetwork:
    """The network of one manager, while it lives (`openmsmq.transports.mqqb.network.Network`)."""

    def __init__(self, net: Net, node: Node) -> None:
        self._net = net
        self._node = node
        self._generation = node.generation

    def connect(
        self,
        host: str,
        port: int,
        made: Callable[[Wire], PeerMachine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        """Connect to a computer."""
        assert port == 1801
        self._net.connect(self._node, host, made, failed)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Event:
        """Have something done later."""
        node, generation = self._node, self._generation
        return self._net.scheduler.after(seconds, lambda: node.enter(generation, call))
